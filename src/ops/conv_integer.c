// SPDX-License-Identifier: Apache-2.0
// ConvInteger: eight-bit images and weights minus their zero points, sums in int32. In double precision such sums are
// exact, so the work is Conv's.
#include "base/alloc.h"
#include "ops/conv_core.h"
#include "ops/families.h"
#include "ops/loops.h"
#include "ops/pointwise.h"
#include "ops/pytorch.h"

// The node as Conv sees it: two floating inputs of the same shapes.
static enum assay_status setup(const struct op_infer *c, struct conv *conv, struct assay_error *err) {
  struct array as_float[2] = {{.dtype = DTYPE_FLOAT, .shape = c->in[0]->shape},
                              {.dtype = DTYPE_FLOAT, .shape = c->in[1]->shape}};
  struct op_infer plain = {
      .node = c->node, .n_in = 2, .in = (const struct array *[]){&as_float[0], &as_float[1], NULL}};
  return conv_setup(&plain, false, conv, err);
}

static enum assay_status infer(struct op_infer *c, struct assay_error *err) {
  struct conv conv;
  for (int i = 0; i < c->n_in; i++)
    if (c->in[i] && c->in[i]->dtype != DTYPE_INT8 && c->in[i]->dtype != DTYPE_UINT8)
      return op_invalid(c->node, err, "input %d must be int8 or uint8, not %s", i, dtype_name(c->in[i]->dtype));
  enum assay_status status = setup(c, &conv, err);
  if (status)
    return status;
  for (int i = 2; i < c->n_in; i++) {
    int64_t n = c->in[i] ? shape_count(&c->in[i]->shape) : 1, channels = i == 2 ? 1 : conv.groups * conv.m;
    if (n != 1 && n != channels)
      return op_invalid(c->node, err, "the zero point (input %d) has %lld elements, not 1%s", i, (long long)n,
                        i == 2 ? "" : " or one for each channel that is written");
  }
  int64_t dims[SHAPE_MAX_RANK] = {conv.batch, conv.groups * conv.m};
  for (int i = 0; i < conv.window.n; i++)
    dims[i + 2] = conv.window.d[i].out;
  return op_output(c, 0, DTYPE_INT32, conv.window.n + 2, dims, err);
}

// Input i less its zero point; there is one for all, or one for each index of the first dimension. Heap.
static double *less_zero(const struct op_eval *c, int i) {
  const struct array *x = c->in[i], *zero = c->n_in > i + 2 ? c->in[i + 2] : NULL;
  int64_t n = shape_count(&x->shape), each = x->shape.dims[0] > 0 ? n / x->shape.dims[0] : 1;
  bool many = zero && shape_count(&zero->shape) > 1;
  double *y = base_alloc((size_t)(n + 1) * sizeof *y);
  for (int64_t k = 0; k < n && y; k++)
    y[k] = (double)(x->i64[k] - (zero ? zero->i64[many ? k / each : 0] : 0));
  return y;
}

static enum assay_status eval(struct op_eval *c, struct assay_error *err) {
  struct op_infer as_infer = op_infer_of(c);
  struct arith exact = c->arith;
  struct conv conv;
  enum assay_status status = setup(&as_infer, &conv, err);
  if (status)
    return status;
  int64_t n = shape_count(&c->out[0].shape);
  double *x = less_zero(c, 0), *w = less_zero(c, 1), *y = base_alloc((size_t)(n + 1) * sizeof *y);
  exact.exact = true;
  conv.x = x;
  conv.w = w;
  conv.y = y;
  conv.arith = &exact;
  conv.threads = c->threads;
  status = x && w && y ? conv_run(&conv, CONV_BEST, err) : error_nomem(err, "a convolution of integers");
  for (int64_t k = 0; k < n && !status; k++)
    c->out[0].i64[k] = pointwise_wrap(DTYPE_INT32, (int64_t)y[k]);
  base_free(x);
  base_free(w);
  base_free(y);
  return status;
}

static void cost(const struct op_infer *c, struct op_cost *cost) {
  const struct shape *w = &c->in[1]->shape;
  cost->contraction_flops = 2 * (double)shape_count(&c->out[0].shape) * (double)shape_span(w, 1, w->rank);
}

static const struct op_def rows[] = {
    {OP_ROW("ConvInteger", 10, 2, 4, 1, 1, OP_CONTRACTION), .attrs = conv_attrs, .infer = infer, .eval = eval,
     .cost = cost, .errors = {OP_EXACT, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.text = "conv", .write = pytorch_conv},
     .doc = "Conv of eight-bit integers, each minus its zero point (input 2 of the images, a scalar; input 3 of the "
            "weights, a scalar or one for each channel that is written), with sums in int32. Borders are zero points.",
     .example =
         "(uint8[2,3,6,6] x, int8[4,3,3,3] w) => (int32[2,4,6,6] y) { y = ConvInteger<pads = [1,1,1,1]>(x, w) }\n"
         "(uint8[1,2,5,5] x, uint8[2,2,2,2] w) => (int32[1,2,4,4] y) <uint8 a = {3}, uint8[2] b = {1, 2}>"
         " { y = ConvInteger(x, w, a, b) }"},
};

const struct op_family ops_conv_integer_family = {"Convolution of integers", rows, sizeof rows / sizeof rows[0]};
