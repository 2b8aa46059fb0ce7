#include "oracle/cuda/gpu_families.h"

#include <string.h>

#include "ops/op.h"

static const struct gpu_family *const families[] = {
#define GPU_FAMILY_ROW(name) &name,
    GPU_FAMILIES(GPU_FAMILY_ROW)
#undef GPU_FAMILY_ROW
};

gpu_eval_fn *gpu_find(const struct op_def *op) {
  const struct gpu_op *best = NULL;
  for (size_t f = 0; f < sizeof families / sizeof *families; f++)
    for (int i = 0; i < families[f]->n_ops; i++) {
      const struct gpu_op *o = &families[f]->ops[i];
      if (strcmp(o->name, op->name) == 0 && strcmp(o->domain, op->domain) == 0 && o->since <= op->since &&
          (!best || o->since > best->since))
        best = o;
    }
  return best ? best->eval : op->expr ? gpu_pointwise_eval : NULL;
}
