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

gpu_eval_fn *gpu_find(const struct op_def *op) {
  for (int i = 0; i < N_ENTRIES && !*op->domain; i++)
    if (strcmp(entries[i].name, op->name) == 0)
      return entries[i].eval;
  return op->expr ? gpu_pointwise_eval : NULL;
}
