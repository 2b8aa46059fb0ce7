// SPDX-License-Identifier: Apache-2.0
#include "oracle/cuda/gpu_table.h"

#include <string.h>

#include "ops/op.h"

static const struct gpu_entry entries[] = {
#define GPU_ENTRY(name, function) {name, function},
    GPU_TABLE(GPU_ENTRY)
#undef GPU_ENTRY
};
enum { N_ENTRIES = sizeof entries / sizeof *entries };

const struct gpu_entry *gpu_entries(int *count) {
  *count = N_ENTRIES;
  return entries;
}

bool gpu_entry_is_for(const struct gpu_entry *e, const struct op_def *op) {
  size_t n = strlen(op->domain);
  if (n == 0)
    return strcmp(e->name, op->name) == 0;
  return strncmp(e->name, op->domain, n) == 0 && e->name[n] == '.' && strcmp(e->name + n + 1, op->name) == 0;
}

gpu_eval_fn *gpu_find(const struct op_def *op) {
  for (int i = 0; i < N_ENTRIES; i++)
    if (gpu_entry_is_for(&entries[i], op))
      return entries[i].eval;
  return op->expr ? gpu_pointwise_eval : NULL;
}

bool gpu_runs_all(const struct graph *g) {
  for (int i = 0; i < g->n_nodes; i++) {
    gpu_eval_fn *eval = gpu_find(g->nodes[i].op);
    if (!eval || eval == gpu_host_eval)
      return false;
  }
  return true;
}
