// SPDX-License-Identifier: Apache-2.0
// Movement on a device: strided copies.
#ifndef ORACLE_CUDA_MOVE_H
#define ORACLE_CUDA_MOVE_H

#include "oracle/cuda/rows.h"

#include "oracle/cuda/move_args.h"

extern const struct device_code gpu_move_program;

// Element (i0, i1, ...) of dims goes from x[x_begin + sum i * from] to y[y_begin + sum i * to], eight bytes each.
struct gpu_strided {
  int rank;
  int64_t dims[16], to[16], from[16];
  int64_t y_begin, x_begin;
};
enum assay_status gpu_strided_copy(struct gpu_eval *c, const struct gpu_strided *s, const struct gpu_array *x,
                                   device_ptr y, struct assay_error *err);

// The same elements in the same order.
enum assay_status gpu_copy_all(struct gpu_eval *c, const struct gpu_array *x, device_ptr y, struct assay_error *err);
enum assay_status gpu_fill(struct gpu_eval *c, device_ptr y, int64_t n, uint64_t word, struct assay_error *err);

#endif
