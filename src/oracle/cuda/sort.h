// SPDX-License-Identifier: Apache-2.0
// Sorting on a device, for TopK and for scattering.
#ifndef ORACLE_CUDA_SORT_H
#define ORACLE_CUDA_SORT_H

#include "oracle/cuda/gpu.h"

// The least power of two that is not below n, at least 1.
int64_t gpu_sort_padded(int64_t n);

// Sorts `rows` rows of `padded` pairs (uint64 keys, int64 values, two arrays), each row by itself: the least key first,
// of equal keys the lesser value.
enum assay_status gpu_sort(struct gpu_eval *c, device_ptr keys, device_ptr values, int64_t rows, int64_t padded,
                           struct assay_error *err);

#endif
