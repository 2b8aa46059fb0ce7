// SPDX-License-Identifier: Apache-2.0
// Conv and ConvTranspose: what their attributes and shapes mean. The work is in conv_core.c.
#include "ops/conv_core.h"
#include "ops/apart.h"
#include "ops/families.h"
#include "ops/loops.h"
#include "ops/pytorch.h"

static enum assay_status check_operands(const struct op_infer *c, struct assay_error *err) {
  const struct shape *x = &c->in[0]->shape, *w = &c->in[1]->shape;
  char tx[SHAPE_TEXT_BYTES], tw[SHAPE_TEXT_BYTES];
  for (int i = 0; i < 3; i++) {
    enum assay_status status = loops_need_float(c, i, err);
    if (!status)
      status = loops_need_same(c, i, err);
    if (status)
      return status;
  }
  if (x->rank < 3 || w->rank != x->rank)
    return op_invalid(c->node, err,
                      "input %s and weights %s must both have the dimensions (channels, channels, spatial...)",
                      shape_text(x, tx), shape_text(w, tw));
  int64_t groups = node_int(c->node, "group", 1);
  if (groups < 1 || x->dims[1] % groups != 0)
    return op_invalid(c->node, err, "group = %lld does not divide the %lld channels of the input", (long long)groups,
                      (long long)x->dims[1]);
  return ASSAY_OK;
}

static enum assay_status check_bias(const struct op_infer *c, int64_t channels, struct assay_error *err) {
  char text[SHAPE_TEXT_BYTES];
  if (op_has(c, 2) && (c->in[2]->shape.rank != 1 || c->in[2]->shape.dims[0] != channels))
    return op_invalid(c->node, err, "the bias has shape %s, not [%lld]", shape_text(&c->in[2]->shape, text),
                      (long long)channels);
  return ASSAY_OK;
}

enum assay_status conv_setup(const struct op_infer *c, bool transposed, struct conv *out, struct assay_error *err) {
  enum assay_status status = check_operands(c, err);
  if (status)
    return status;
  const struct shape *x = &c->in[0]->shape, *w = &c->in[1]->shape;
  char tw[SHAPE_TEXT_BYTES];
  *out = (struct conv){.batch = x->dims[0], .groups = node_int(c->node, "group", 1), .transposed = transposed};
  out->c = x->dims[1] / out->groups;
  if (transposed) {
    out->m = w->dims[1];
    if (w->dims[0] != x->dims[1])
      return op_invalid(c->node, err, "weights %s do not fit %lld channels", shape_text(w, tw), (long long)x->dims[1]);
  } else {
    if (w->dims[1] != out->c || w->dims[0] % out->groups != 0)
      return op_invalid(c->node, err, "weights %s do not fit %lld channels in %lld groups", shape_text(w, tw),
                        (long long)x->dims[1], (long long)out->groups);
    out->m = w->dims[0] / out->groups;
  }
  status = check_bias(c, out->groups * out->m, err);
  if (!status)
    status = transposed ? window_read_transposed(c, w->dims + 2, &out->window, err)
                        : window_read(c, w->dims + 2, &out->window, err);
  return status;
}

static enum assay_status infer(struct op_infer *c, bool transposed, struct assay_error *err) {
  struct conv conv;
  enum assay_status status = conv_setup(c, transposed, &conv, err);
  if (status)
    return status;
  int64_t dims[SHAPE_MAX_RANK] = {conv.batch, conv.groups * conv.m};
  for (int i = 0; i < conv.window.n; i++)
    dims[i + 2] = conv.window.d[i].out;
  return op_output(c, 0, c->in[0]->dtype, conv.window.n + 2, dims, err);
}

static enum assay_status eval(struct op_eval *c, bool transposed, struct assay_error *err) {
  struct op_infer as_infer = op_infer_of(c);
  struct conv conv;
  enum assay_status status = conv_setup(&as_infer, transposed, &conv, err);
  if (status)
    return status;
  conv.x = c->in[0]->f64;
  conv.w = c->in[1]->f64;
  conv.bias = op_has(&as_infer, 2) ? c->in[2]->f64 : NULL;
  conv.y = c->out[0].f64;
  struct start start;
  start_init(&start, c, 1);
  if (conv.bias) {
    struct shape channels = start_channels(conv.groups * conv.m, c->out[0].shape.rank);
    start_add(&start, conv.bias, &channels, 1);
  }
  conv.start = &start;
  conv.arith = &c->arith;
  conv.threads = c->threads;
  conv.sigma = c->sigma;
  c->has_sigma = c->sigma != NULL;
  return conv_run(&conv, CONV_BEST, err);
}

static enum assay_status conv_infer(struct op_infer *c, struct assay_error *err) {
  return infer(c, false, err);
}
static enum assay_status conv_eval(struct op_eval *c, struct assay_error *err) {
  return eval(c, false, err);
}
static enum assay_status conv_transpose_infer(struct op_infer *c, struct assay_error *err) {
  return infer(c, true, err);
}
static enum assay_status conv_transpose_eval(struct op_eval *c, struct assay_error *err) {
  return eval(c, true, err);
}

// Every element of the side that is not strided over meets a whole kernel: outputs of Conv, inputs of ConvTranspose.
static void cost_of(const struct op_infer *c, const struct shape *side, struct op_cost *cost) {
  const struct shape *w = &c->in[1]->shape;
  double kernel = (double)shape_span(w, 1, w->rank);
  cost->contraction_flops = 2 * (double)shape_count(side) * kernel;
  cost->flops = op_has(c, 2) ? (double)shape_count(&c->out[0].shape) : 0;
}

static void conv_cost(const struct op_infer *c, struct op_cost *cost) {
  cost_of(c, &c->out[0].shape, cost);
}
static void conv_transpose_cost(const struct op_infer *c, struct op_cost *cost) {
  cost_of(c, &c->in[0]->shape, cost);
}

const struct op_attr conv_attrs[] = {
    {"auto_pad", ATTR_STRING, false, "NOTSET"},
    {"dilations", ATTR_INTS, false, "1 everywhere"},
    {"group", ATTR_INT, false, "1"},
    {"kernel_shape", ATTR_INTS, false, "from the weights"},
    {"pads", ATTR_INTS, false, "0 everywhere"},
    {"strides", ATTR_INTS, false, "1 everywhere"},
    {NULL, 0, false, NULL},
};

static const struct op_attr conv_transpose_attrs[] = {
    {"auto_pad", ATTR_STRING, false, "NOTSET"},
    {"dilations", ATTR_INTS, false, "1 everywhere"},
    {"group", ATTR_INT, false, "1"},
    {"kernel_shape", ATTR_INTS, false, "from the weights"},
    {"output_padding", ATTR_INTS, false, "0 everywhere"},
    {"output_shape", ATTR_INTS, false, "from the input and the padding"},
    {"pads", ATTR_INTS, false, "0 everywhere"},
    {"strides", ATTR_INTS, false, "1 everywhere"},
    {NULL, 0, false, NULL},
};

// Dimension d of the window: input i lies under tap k of output o where i + pad = o stride + k dilation, of a
// transposed one where o + pad = i stride + k dilation.
static struct op_contracted window_contracted(const struct window_dim *d, int axis, bool transposed) {
  struct op_contracted c = {.axis = {axis, axis}, .times = 1, .plus = d->pad_begin, .step = -d->stride};
  if (transposed) {
    c.times = -d->stride;
    c.step = 1;
  }
  c.over = d->dilation;
  c.period = d->kernel;
  c.outs = d->out;
  return c;
}

// Channels, which are the same for each group of inputs; then the window, one dimension after the other. Not where
// transforms of tiles are as good as sums (conv_small_tiles): what they multiply meets the window as a whole.
static bool contracted(const struct op_infer *c, bool transposed, int which, struct op_contracted *out) {
  struct conv conv;
  struct assay_error unsaid = {0};
  if (conv_setup(c, transposed, &conv, &unsaid))
    return false;
  if (which == 0) {
    *out = (struct op_contracted){.axis = {1, transposed ? 0 : 1}, .times = 1, .over = 1};
    out->period = transposed || conv.groups == 1 ? 0 : conv.c;
    return true;
  }
  if (conv_small_tiles(&conv) || which > conv.window.n)
    return false;
  *out = window_contracted(&conv.window.d[which - 1], which + 1, transposed);
  return true;
}

static bool conv_contracted(const struct op_infer *c, int which, struct op_contracted *out) {
  return contracted(c, false, which, out);
}

static bool conv_transpose_contracted(const struct op_infer *c, int which, struct op_contracted *out) {
  return contracted(c, true, which, out);
}

static const struct op_def conv_rows[] = {
    {.name = "Conv",
     .domain = "",
     .since = 1,
     .min_in = 2,
     .max_in = 3,
     .min_out = 1,
     .max_out = 1,
     .class = OP_CONTRACTION,
     .attrs = conv_attrs,
     .infer = conv_infer,
     .eval = conv_eval,
     .cost = conv_cost,
     .apart = op_apart_first,
     .contracted = conv_contracted,
     .factors = 2,
     .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_MANY},
     .pytorch = {.text = "conv", .write = pytorch_conv},
     .doc = "Convolution (without flipping the kernel) of [N, C, D1, ...] with weights [M, C / group, K1, ...], plus a "
            "bias [M]; 1, 2 or more spatial dimensions.",
     .example = "(float[2,3,8,8] x, float[4,3,3,3] w) => (float[2,4,6,6] y) { y = Conv<pads = [0,0,0,0]>(x, w) }\n"
                "(float[1,4,9] x, float[6,2,3] w, float[6] b) => (float[1,6,4] y) "
                "{ y = Conv<group = 2, strides = [2], dilations = [2], pads = [1,1]>(x, w, b) }\n"
                "(float[1,2,4,5,6] x, float[3,2,3,3,3] w) => (float[1,3,4,5,6] y) { y = Conv<auto_pad = "
                "\"SAME_UPPER\">(x, w) }"},
    {.name = "ConvTranspose",
     .domain = "",
     .since = 1,
     .min_in = 2,
     .max_in = 3,
     .min_out = 1,
     .max_out = 1,
     .class = OP_CONTRACTION,
     .attrs = conv_transpose_attrs,
     .infer = conv_transpose_infer,
     .eval = conv_transpose_eval,
     .cost = conv_transpose_cost,
     .apart = op_apart_first,
     .contracted = conv_transpose_contracted,
     .factors = 2,
     .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_MANY},
     .pytorch = {.text = "conv_transpose", .write = pytorch_conv},
     .doc = "Transposed convolution of [N, C, D1, ...] with weights [C, M / group, K1, ...], plus a bias [M]: every "
            "input element spreads over a kernel of outputs.",
     .example = "(float[1,3,4,4] x, float[3,2,3,3] w) => (float[1,2,9,9] y) "
                "{ y = ConvTranspose<strides = [2,2]>(x, w) }\n"
                "(float[1,4,5] x, float[4,3,3] w, float[6] b) => (float[1,6,10] y) "
                "{ y = ConvTranspose<group = 2, strides = [2], pads = [1,1], output_padding = [1]>(x, w, b) }"},
};

const struct op_family ops_conv_family = {
    .name = "Convolutions", .rows = conv_rows, .n_rows = sizeof conv_rows / sizeof conv_rows[0]};
