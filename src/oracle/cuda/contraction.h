// SPDX-License-Identifier: Apache-2.0
// Sums of products on the device: what MatMul, Gemm and Einsum come down to, and the parts that convolutions share.
#ifndef ORACLE_CUDA_CONTRACTION_H
#define ORACLE_CUDA_CONTRACTION_H

#include "oracle/cuda/gpu.h"

#include "oracle/cuda/contraction_args.h"

extern const char code_contraction_args[], code_contraction[], code_product_mma[];

// An index made of several, row-major, and how far apart neighbours along each lie in an operand. n = 0: one element.
struct product_group {
  int n;
  int64_t extent[PRODUCT_LABELS], stride[PRODUCT_LABELS];
};
struct product_group product_line(int64_t extent, int64_t stride); // of one index
int64_t product_count(const struct product_group *g);

// How much is done at a time; a large product is cut into pieces. Tests make it small.
struct product_budget {
  int64_t pack_elements; // of one operand's panels
  int64_t part_elements; // of the sums before they are finished
  int64_t columns;       // of one piece
};
extern const struct product_budget product_budget;

// out[b,i,j] = sum over l of a[b,i,l] b[b,j,l]: dense in out, anywhere in a and b.
struct product {
  int64_t batches, m, n, k;
  struct gpu_ref a, b; // b.data = 0: ones
  struct product_group a_batch, a_line, a_depth, b_batch, b_line, b_depth;
  struct gpu_arith arith;
  struct gpu_start start; // what the sums may begin with; not added
  device_ptr out;
  device_ptr sigma; // where not 0: out stays exact, and this gets the standard deviation of every element's error
  bool products;    // terms are products: their inputs may be rounded (arith_sum)
  bool sums;        // there is something to round at all; false: out is the exact sum
  double alpha, beta;
  struct gpu_ref c; // alpha * sum + beta * c; data 0: none
  int64_t c_row, c_column;
  const struct product_budget *budget; // NULL: product_budget
};
enum assay_status product_run(struct gpu_eval *c, const struct product *p, struct assay_error *err);

// Fills in wrap_bits and wrap_signed of a kernel's arguments: how integers of this type wrap.
void product_wrap(enum dtype t, int32_t *bits, int32_t *is_signed);

// The pieces, for other users of the wide product. `a` and `b` are packed panels.

extern const struct device_code product_code;
extern const struct device_code product_mma_code; // tensor cores; CUDA alone

// Lines of a panel of A and of one of B; with `squares`, where sums of squared terms are wanted too. `mma`: for the
// kernels of product_mma.cu, otherwise for those of contraction.cu, which every device has.
struct product_panels {
  int a, b;
  bool mma, squares;
};
struct product_panels product_panels_for(struct compute *c, bool squares);
struct product_panels product_panels_make(bool mma, bool squares);

// Into how many splits K is best cut where there are `tiles` pairs of panels; *depth: terms of each.
int64_t product_splits(const struct product_panels *p, int64_t tiles, int64_t k, int64_t *depth);

// One operand.
struct product_source {
  struct gpu_ref from;
  struct product_axis batch, line, depth;
};

// Lines [first_line, +lines) of batches [first_batch, +batches), each of k elements.
struct product_piece {
  int64_t first_batch, batches, first_line, lines, k;
};
// Packs a piece of an operand into panels of `width`.
enum assay_status product_pack(struct compute *c, const struct product_source *s, const struct product_piece *p,
                               int width, device_ptr to, struct assay_error *err);

// y and, where the panels are for squares, t2.
enum assay_status product_tiles(struct compute *c, const struct product_panels *p, const struct product_tile_args *t,
                                struct assay_error *err);

#endif
