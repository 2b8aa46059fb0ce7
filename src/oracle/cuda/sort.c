// SPDX-License-Identifier: Apache-2.0
#include "oracle/cuda/sort.h"

#include "oracle/cuda/sort_args.h"

extern const char code_sort_args[], code_sort[];
static const struct device_code program = {
    "sort", (const char *const[]){GPU_COMMON_TEXTS, code_sort_args, code_sort, NULL}, true};

int64_t gpu_sort_padded(int64_t n) {
  int64_t padded = 1;
  while (padded < n)
    padded *= 2;
  return padded;
}

enum assay_status gpu_sort(struct gpu_eval *c, device_ptr keys, device_ptr values, int64_t rows, int64_t padded,
                           struct assay_error *err) {
  struct sort_args a = {.keys = keys, .values = values, .pairs = rows * padded / 2, .padded = padded};
  enum assay_status status = ASSAY_OK;
  for (a.run = 2; a.run <= padded && !status; a.run *= 2)
    for (a.apart = a.run / 2; a.apart > 0 && !status; a.apart /= 2)
      status = compute_launch(c->compute, &program, "sort_step", a.pairs, &a, sizeof a, err);
  return status;
}
