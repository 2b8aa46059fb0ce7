// SPDX-License-Identifier: Apache-2.0
// The drawing kernels' arguments. Read by the C compiler (after <stdint.h>) and by the device's compiler.
#ifndef TASK_DEVICE_DRAW_ARGS_H
#define TASK_DEVICE_DRAW_ARGS_H

// How an element is stored.
#define DRAW_F32 0
#define DRAW_F64 1
#define DRAW_SMALL 2 // a floating format of 8 or 16 bits
#define DRAW_INTEGER 3
#define DRAW_BOOL 4

#define DRAW_MOST_STRIPES 8

struct draw_stripe {
  int64_t stride, extent, index;
};

struct draw_along { // as struct draw_scale
  int64_t stride, extent;
  uint64_t factors; // double
};

struct draw_args {
  uint64_t dst, key, scales;                         // scales: factors (double), with row_scales
  int64_t count, columns, rows, inner, row, factors; // as in struct drawing
  double a, b, scale, fold_lo, fold_hi;
  int32_t kind, input, fold; // enum distribution_kind; enum fold
  int32_t scaled, row_scales, symmetric, triu, tril, regular, definite, matrices;
  int32_t storage, bytes, exponent_bits, mantissa_bits, finite_only;
  int32_t striped, n_stripes, n_along;
  double stripes_factor;
  struct draw_stripe stripes[DRAW_MOST_STRIPES];
  struct draw_along along[DRAW_MOST_STRIPES];
};

#endif
