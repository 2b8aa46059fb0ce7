// SPDX-License-Identifier: Apache-2.0
// Whether an answer depends on casts that have no result which everybody agrees on; find_open_casts of oracle/scale.c.
#include <string.h>

#include "base/alloc.h"
#include "oracle/cuda/gpu_run.h"
#include "oracle/oracle.h"

enum assay_status gpu_find_open_casts(const struct gpu_request *base, bool *settled, struct assay_error *err) {
  struct gpu_request r = *base;
  const int n = r.graph->n_outputs;
  r.cache = NULL;
  r.arith = arith_exact();
  struct gpu_array *usual = base_calloc(2 * (size_t)n + 1, sizeof *usual), *other = usual + n;
  if (!usual)
    return error_nomem(err, "the oracle's answer");
  enum assay_status status = gpu_oracle_eval(&r, usual, err);
  r.arith.other_casts = true;
  if (!status)
    status = gpu_oracle_eval(&r, other, err);
  bool same = true;
  for (int i = 0; i < n && !status && same; i++)
    status = gpu_array_same(r.compute, &usual[i], &other[i], &same, err);
  for (int i = 0; i < 2 * n; i++)
    gpu_array_release(r.compute, &usual[i]);
  base_free(usual);
  if (status == ASSAY_ERR_INVALID) { // an index that is out of its table
    same = false;
    status = ASSAY_OK;
    memset(err, 0, sizeof *err);
  }
  *settled = *settled && same;
  return status;
}
