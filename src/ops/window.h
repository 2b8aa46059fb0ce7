// SPDX-License-Identifier: Apache-2.0
// Sliding windows over the spatial dimensions of [N, C, D1, ...]: the geometry that convolution and pooling share.
#ifndef OPS_WINDOW_H
#define OPS_WINDOW_H

#include "ops/op.h"

enum { WINDOW_MAX_DIMS = SHAPE_MAX_RANK - 2 };

struct window_dim {
  int64_t in, out; // extents
  int64_t kernel, stride, dilation;
  int64_t pad_begin, pad_end;
};

struct window {
  int n; // spatial dimensions
  struct window_dim d[WINDOW_MAX_DIMS];
};

// Reads strides, dilations, pads, auto_pad and ceil_mode of a node over input 0 and works out the output's extents.
// `kernel` gives the window's extents; NULL: the attribute kernel_shape does. ONNX, "Conv" and "MaxPool".
enum assay_status window_read(const struct op_infer *c, const int64_t *kernel, struct window *w,
                              struct assay_error *err);

// The same for a transposed convolution, with output_padding and output_shape. ONNX, "ConvTranspose".
enum assay_status window_read_transposed(const struct op_infer *c, const int64_t *kernel, struct window *w,
                                         struct assay_error *err);

// One dimension of a set of outputs that all see the same taps: output start + q * step, for q in [0, count), reads
// input q * in_step + offset[i] for each tap i, where that exists. A convolution is one such set; a transposed one,
// seen from its outputs, is one for each residue modulo the stride.
struct taps {
  int64_t count, start, step, in_step, in;
  int64_t n;       // taps
  int64_t *kernel; // which kernel element
  int64_t *offset; // ascending for convolutions
};

// In the arena; false when there is no memory.
bool taps_forward(const struct window_dim *d, struct arena *arena, struct taps *t);
bool taps_transposed(const struct window_dim *d, int64_t residue, struct arena *arena, struct taps *t);

// The q in [begin, end) for which tap i reads inside the input: [*from, *to), possibly empty. begin <= *from <= *to <=
// end, so that all before *from and all from *to on are elements outside.
void taps_range(const struct taps *t, int64_t i, int64_t begin, int64_t end, int64_t *from, int64_t *to);

// How many taps of output q read inside the input.
int64_t taps_inside(const struct taps *t, int64_t q);

#endif
