// SPDX-License-Identifier: Apache-2.0
// A convolution of every channel with its own taps, over what came before: of a call, and of the calls before it.
#include "ops/causal_conv.h"

#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "ops/families.h"
#include "ops/loops.h"
#include "ops/pytorch.h"
#include "ops/start.h"

enum { GRAIN_PRODUCTS = 1 << 14 };

enum assay_status causal_conv_read(const struct op_infer *c, struct causal_conv *v, struct assay_error *err) {
  const struct shape *x = &c->in[CAUSAL_X]->shape, *w = &c->in[CAUSAL_W]->shape;
  const char *activation = node_string(c->node, "activation", "none");
  enum assay_status status = loops_need_float(c, CAUSAL_X, err);
  for (int i = CAUSAL_W; i <= CAUSAL_PAST && !status; i++)
    status = loops_need_same(c, i, err);
  if (status)
    return status;
  *v = (struct causal_conv){.swish = strcmp(activation, "none") != 0};
  if (v->swish && strcmp(activation, "silu") != 0 && strcmp(activation, "swish") != 0)
    return op_invalid(c->node, err, "activation is \"%s\"; it must be none, silu or swish", activation);
  if (x->rank != 3 || w->rank != 3 || w->dims[0] != x->dims[1] || w->dims[1] != 1 || w->dims[2] < 1)
    return op_invalid(c->node, err, "the input must be [batch, channels, length] and the taps [channels, 1, taps]");
  v->batch = x->dims[0];
  v->channels = x->dims[1];
  v->length = x->dims[2];
  v->taps = w->dims[2];
  struct shape bias = {.rank = 1, .dims = {v->channels}};
  struct shape past = {.rank = 3, .dims = {v->batch, v->channels, v->taps - 1}};
  char text[SHAPE_TEXT_BYTES];
  if (op_has(c, CAUSAL_BIAS) && !shape_equal(&c->in[CAUSAL_BIAS]->shape, &bias))
    return op_invalid(c->node, err, "the bias must have the shape %s", shape_text(&bias, text));
  if (op_has(c, CAUSAL_PAST) && !shape_equal(&c->in[CAUSAL_PAST]->shape, &past))
    return op_invalid(c->node, err, "the past state must have the shape %s", shape_text(&past, text));
  return ASSAY_OK;
}

static enum assay_status causal_infer(struct op_infer *c, struct assay_error *err) {
  struct causal_conv v;
  enum dtype t = c->in[CAUSAL_X]->dtype;
  enum assay_status status = causal_conv_read(c, &v, err);
  if (!status)
    status = op_output(c, 0, t, 3, c->in[CAUSAL_X]->shape.dims, err);
  return status ? status : op_output(c, 1, t, 3, (const int64_t[]){v.batch, v.channels, v.taps - 1}, err);
}

struct job {
  const struct op_eval *c;
  struct causal_conv v;
  const double *bias, *past; // NULL: none
  struct start start;        // of the sums, where nothing comes between them and the output
};

// Element `at` of a channel's input, which begins with the state.
static double padded(const struct job *j, int64_t channel, int64_t at) {
  int64_t before = j->v.taps - 1;
  if (at < before)
    return j->past ? j->past[channel * before + at] : 0;
  return j->c->in[CAUSAL_X]->f64[channel * j->v.length + at - before];
}

static double finish(const struct job *j, struct noise *noise, double sum) {
  const struct arith *a = &j->c->arith;
  if (!j->v.swish)
    return sum;
  double below = arith_round(a, noise, 1 + arith_round_power(a, noise, exp(-sum)));
  return arith_round(a, noise, sum / below);
}

// Unit: a channel of a batch.
static void convolve(void *arg, int64_t begin, int64_t end) {
  const struct job *j = arg;
  const struct causal_conv *v = &j->v;
  const struct arith *a = &j->c->arith;
  for (int64_t u = begin; u < end; u++) {
    struct noise noise = noise_at(a->key, (uint64_t)u);
    const double *w = j->c->in[CAUSAL_W]->f64 + u % v->channels * v->taps;
    double bias = j->bias ? j->bias[u % v->channels] : 0;
    for (int64_t t = 0; t < v->length; t++) {
      double sum = 0, squares = 0, start = 0;
      for (int64_t k = 0; k < v->taps; k++) {
        double term = w[k] * padded(j, u, t + k);
        sum += term;
        squares += term * term;
      }
      if (!a->exact)
        start_fill(&j->start, u * v->length + t, 1, 1, &start);
      sum = arith_sum_from(a, &noise, start, sum, squares, (double)v->taps, true);
      sum = j->bias ? arith_round(a, &noise, sum + bias) : sum;
      j->c->out[0].f64[u * v->length + t] = finish(j, &noise, sum);
    }
    for (int64_t k = 0; k < v->taps - 1 && j->c->n_out > 1 && j->c->out[1].bits; k++)
      j->c->out[1].f64[u * (v->taps - 1) + k] = padded(j, u, v->length + k);
  }
}

static enum assay_status causal_eval(struct op_eval *c, struct assay_error *err) {
  struct op_infer infer = op_infer_of(c);
  struct job j = {.c = c};
  enum assay_status status = causal_conv_read(&infer, &j.v, err);
  if (status)
    return status;
  j.bias = op_has(&infer, CAUSAL_BIAS) ? c->in[CAUSAL_BIAS]->f64 : NULL;
  j.past = op_has(&infer, CAUSAL_PAST) ? c->in[CAUSAL_PAST]->f64 : NULL;
  struct shape channels = start_channels(j.v.channels, 3);
  if (j.v.swish)
    j.start.shape = c->out[0].shape;
  else
    start_init(&j.start, c, 1);
  if (j.bias)
    start_add(&j.start, j.bias, &channels, 1);
  parallel_for(c->threads, j.v.batch * j.v.channels, GRAIN_PRODUCTS / (j.v.length * j.v.taps + 1) + 1, convolve, &j);
  return ASSAY_OK;
}

static void causal_cost(const struct op_infer *c, struct op_cost *cost) {
  struct causal_conv v;
  if (causal_conv_read(c, &v, NULL) != ASSAY_OK)
    return;
  double n = (double)v.batch * (double)v.channels * (double)v.length;
  cost->contraction_flops = 2 * n * (double)v.taps;
  cost->flops = n * ((op_has(c, CAUSAL_BIAS) ? 1 : 0) + (v.swish ? 4 : 0));
}

static const struct op_attr attrs[] = {{"activation", ATTR_STRING, false, "none"}, {0}};

static const struct op_def rows[] = {
    {OP_ROW("CausalConvWithState", 27, 2, 4, 1, 2, OP_CONTRACTION), .attrs = attrs, .infer = causal_infer,
     .eval = causal_eval, .cost = causal_cost, .factors = 2, .factors_inside = true,
     .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_MANY}, .pytorch = {.none = PYTORCH_NOT_WRITTEN},
     .doc =
         "Every channel (input 0: batch, channels, length) convolved with taps of its own (input 1), the last of which "
         "meets the present position; input 2 is a bias, input 3 what came before, or zeros. With activation silu or "
         "swish the result is multiplied by its logistic function. Output 1 is what the next call needs as input 3.",
     .example = "(float[2,3,5] x, float[3,1,4] w, float[3] b) => (float[2,3,5] y, float[2,3,3] s)"
                " { y, s = CausalConvWithState<activation = \"silu\">(x, w, b) }\n"
                "(float[1,2,1] x, float[2,1,3] w, float[1,2,2] p) => (float[1,2,1] y)"
                " { y = CausalConvWithState(x, w, , p) }"},
};

const struct op_family ops_causal_conv_family = {"Causal convolution", rows, sizeof rows / sizeof rows[0]};
