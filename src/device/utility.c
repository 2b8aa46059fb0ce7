// SPDX-License-Identifier: Apache-2.0
#include "device/utility.h"

#include "compute/cuda.h"

extern const char code_utility[];

enum assay_status utility_make(struct compute *c, void **cubin, size_t *bytes, struct assay_error *err) {
  return compute_cuda_compile(c, "utility.cu", code_utility, cubin, bytes, err);
}
