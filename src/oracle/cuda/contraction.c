// SPDX-License-Identifier: Apache-2.0
// Matrix products on the device: MatMul, Gemm, MatMulInteger.
#include "oracle/cuda/contraction.h"

#include "oracle/cuda/gpu_table.h"
#include "ops/matmul.h"

// Batch dimensions as one index into an operand whose matrices have `size` elements.
static struct product_group batch_group(const struct shape *own, const struct shape *batch, int64_t size) {
  struct product_group g = {.n = batch->rank};
  int64_t strides[SHAPE_MAX_RANK];
  shape_broadcast_strides(own, batch, strides);
  for (int d = 0; d < batch->rank; d++) {
    g.extent[d] = batch->dims[d];
    g.stride[d] = strides[d] * size;
  }
  return g;
}

static void integer_sides(const struct gpu_eval *c, const struct matmul *s, struct product_integer_args *a) {
  a->a = gpu_ref_of(c->in[0]);
  a->b = gpu_ref_of(c->in[1]);
  a->out = c->out[0].data;
  a->batches = shape_count(&s->batch);
  a->m = s->m;
  a->n = s->n;
  a->k = s->k;
  product_wrap(c->out[0].dtype, &a->wrap_bits, &a->wrap_signed);
}

// The offsets of every batch's matrices, as a table made on the device.
static enum assay_status batch_table(struct gpu_eval *c, const struct product_group *g, struct product_axis *out,
                                     struct assay_error *err) {
  struct product_table_args t = {.count = product_count(g), .n = g->n};
  for (int d = 0; d < g->n; d++) {
    t.extent[d] = g->extent[d];
    t.stride[d] = g->stride[d];
  }
  enum assay_status status = gpu_temporary(c, (size_t)(t.count + 1) * 8, &t.table, err);
  out->table = t.table;
  return status ? status : compute_launch(c->compute, &product_code, "product_table", t.count, &t, sizeof t, err);
}

static enum assay_status integer_run(struct gpu_eval *c, const struct matmul *s, struct product_integer_args *a,
                                     struct assay_error *err) {
  struct product_group a_batch = batch_group(&s->a_batch, &s->batch, s->m * s->k);
  struct product_group b_batch = batch_group(&s->b_batch, &s->batch, s->k * s->n);
  integer_sides(c, s, a);
  enum assay_status status = batch_table(c, &a_batch, &a->a_batch, err);
  if (!status)
    status = batch_table(c, &b_batch, &a->b_batch, err);
  return status ? status
                : compute_launch(c->compute, &product_code, "product_integer", a->batches * s->m * s->n, a, sizeof *a,
                                 err);
}

enum assay_status gpu_matmul_eval(struct gpu_eval *c, struct assay_error *err) {
  struct matmul s;
  enum assay_status status = matmul_split(c->node, &c->in[0]->shape, &c->in[1]->shape, &s, err);
  if (status)
    return status;
  if (dtype_is_integer(c->in[0]->dtype)) {
    struct product_integer_args a = {0};
    return integer_run(c, &s, &a, err);
  }
  struct product p = {.batches = shape_count(&s.batch),
                      .m = s.m,
                      .n = s.n,
                      .k = s.k,
                      .a = gpu_ref_of(c->in[0]),
                      .b = gpu_ref_of(c->in[1]),
                      .a_batch = batch_group(&s.a_batch, &s.batch, s.m * s.k),
                      .a_line = product_line(s.m, s.k),
                      .a_depth = product_line(s.k, 1),
                      .b_batch = batch_group(&s.b_batch, &s.batch, s.k * s.n),
                      .b_line = product_line(s.n, 1),
                      .b_depth = product_line(s.k, s.n),
                      .arith = gpu_arith_of(&c->arith),
                      .out = c->out[0].data,
                      .sigma = c->sigma,
                      .products = true,
                      .sums = true,
                      .alpha = 1};
  gpu_start_init(&p.start, c, 1);
  c->has_sigma = c->sigma != 0;
  if (shape_count(&s.b_batch) == 1 && shape_equal(&s.a_batch, &s.batch)) {
    // One right-hand side for all: the batch is only more rows.
    p.m *= p.batches;
    p.batches = 1;
    p.a_line = product_line(p.m, s.k);
    p.a_batch = p.b_batch = product_line(1, 0);
  }
  return product_run(c, &p, err);
}

enum assay_status gpu_gemm_eval(struct gpu_eval *c, struct assay_error *err) {
  struct gemm g;
  int64_t k_b;
  gemm_extents(c->node, &c->in[0]->shape, &c->in[1]->shape, &g, &k_b);
  struct product p = {.batches = 1,
                      .m = g.m,
                      .n = g.n,
                      .k = g.k,
                      .a = gpu_ref_of(c->in[0]),
                      .b = gpu_ref_of(c->in[1]),
                      .a_batch = product_line(1, 0),
                      .a_line = product_line(g.m, g.a_row),
                      .a_depth = product_line(g.k, g.a_col),
                      .b_batch = product_line(1, 0),
                      .b_line = product_line(g.n, g.b_col),
                      .b_depth = product_line(g.k, g.b_row),
                      .arith = gpu_arith_of(&c->arith),
                      .out = c->out[0].data,
                      .products = true,
                      .sums = true,
                      .alpha = node_float(c->node, "alpha", 1),
                      .beta = node_float(c->node, "beta", 1)};
  double part = p.alpha != 0 ? 1 / p.alpha : 0; // as on the CPU
  gpu_start_init(&p.start, c, part);
  if (c->n_in > 2 && c->in[2]) {
    int64_t strides[SHAPE_MAX_RANK];
    shape_broadcast_strides(&c->in[2]->shape, &c->out[0].shape, strides);
    p.c = gpu_ref_of(c->in[2]);
    p.c_row = strides[0];
    p.c_column = strides[1];
    gpu_start_add(&p.start, c->in[2], &c->in[2]->shape, part * p.beta);
  }
  return product_run(c, &p, err);
}

static void zero_point(const struct gpu_eval *c, int i, struct gpu_ref *ref, int64_t *step) {
  if (i >= c->n_in || !c->in[i])
    return;
  *ref = gpu_ref_of(c->in[i]);
  *step = shape_count(&c->in[i]->shape) > 1;
}

enum assay_status gpu_matmul_integer_eval(struct gpu_eval *c, struct assay_error *err) {
  struct matmul s;
  enum assay_status status = matmul_split(c->node, &c->in[0]->shape, &c->in[1]->shape, &s, err);
  if (status)
    return status;
  struct product_integer_args a = {0};
  zero_point(c, 2, &a.a_zero, &a.a_zero_step);
  zero_point(c, 3, &a.b_zero, &a.b_zero_step);
  return integer_run(c, &s, &a, err);
}
