// SPDX-License-Identifier: Apache-2.0
// Images sampled where a grid says.
#include "ops/grid.h"

#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "ops/families.h"
#include "ops/loops.h"
#include "ops/pointwise.h"
#include "ops/pytorch.h"

enum { GRAIN = 1 << 8 };

// Opset 16 has two dimensions of space, and names that say so.
static enum assay_status read_modes(const struct node *node, struct grid *g, struct assay_error *err) {
  static const char *const modes[][2] = {{"nearest", "nearest"}, {"bilinear", "linear"}, {"bicubic", "cubic"}};
  static const char *const paddings[] = {"zeros", "border", "reflection"};
  bool any = node->op->since >= 20, found_mode = false, found_padding = false;
  const char *mode = node_string(node, "mode", modes[GRID_LINEAR][any]);
  const char *padding = node_string(node, "padding_mode", "zeros");
  for (int i = 0; i < 3; i++) {
    if (strcmp(mode, modes[i][any]) == 0)
      g->mode = (enum grid_mode)i, found_mode = true;
    if (strcmp(padding, paddings[i]) == 0)
      g->padding = (enum grid_padding)i, found_padding = true;
  }
  if (!found_mode || !found_padding)
    return op_invalid(node, err, "%s is \"%s\"", found_mode ? "padding_mode" : "mode", found_mode ? padding : mode);
  g->align_corners = node_int(node, "align_corners", 0) != 0;
  return ASSAY_OK;
}

enum assay_status grid_read(const struct op_infer *c, struct grid *g, struct assay_error *err) {
  const struct shape *x = &c->in[0]->shape, *at = &c->in[1]->shape;
  char a[SHAPE_TEXT_BYTES], b[SHAPE_TEXT_BYTES];
  *g = (struct grid){.dims = x->rank - 2};
  enum assay_status status = read_modes(c->node, g, err);
  if (!status)
    status = loops_need_float(c, 1, err);
  if (status)
    return status;
  if (x->rank < 3 || at->rank != x->rank || at->dims[0] != x->dims[0] || at->dims[at->rank - 1] != g->dims ||
      (c->node->op->since < 20 && g->dims != 2))
    return op_invalid(c->node, err, "a grid of shape %s does not fit an input of shape %s", shape_text(at, b),
                      shape_text(x, a));
  if (c->in[0]->dtype == DTYPE_BOOL)
    return op_unsupported(c->node, err, "samples of bool");
  int64_t strides[SHAPE_MAX_RANK];
  shape_strides(x, strides);
  g->batch = x->dims[0];
  g->channels = x->dims[1];
  g->space = shape_span(x, 2, x->rank);
  g->places = shape_span(at, 1, at->rank - 1);
  for (int d = 0; d < g->dims; d++) {
    g->extent[d] = x->dims[2 + d];
    g->stride[d] = strides[2 + d];
  }
  if (g->space == 0 && g->batch * g->channels * g->places > 0)
    return op_invalid(c->node, err, "an empty image cannot be sampled");
  return ASSAY_OK;
}

static enum assay_status grid_infer(struct op_infer *c, struct assay_error *err) {
  struct grid g;
  int64_t dims[SHAPE_MAX_RANK];
  enum assay_status status = grid_read(c, &g, err);
  if (status)
    return status;
  dims[0] = g.batch;
  dims[1] = g.channels;
  for (int d = 0; d < g.dims; d++)
    dims[2 + d] = c->in[1]->shape.dims[1 + d];
  return op_output(c, 0, c->in[0]->dtype, g.dims + 2, dims, err);
}

// Where along one dimension of `n` pixels a coordinate lies, -1 and 1 being its ends: the corner pixels' centres or
// outer edges.
static double position(const struct grid *g, const struct arith *a, struct noise *noise, double at, int64_t n) {
  double ahead = arith_round(a, noise, at + 1);
  if (g->align_corners)
    return arith_round(a, noise, ahead / 2 * (double)(n - 1));
  return arith_round(a, noise, arith_round(a, noise, ahead * (double)n) - 1) / 2;
}

// Mirrored at the ends, however often, until it lies between them.
static double reflect(double x, double low, double high) {
  double range = high - low, over = x < low ? low - x : x - high;
  if (over <= 0)
    return x;
  double times = range > 0 && isfinite(over) ? floor(over / range) : 0, rest = range > 0 ? over - times * range : 0;
  if (!isfinite(rest))
    return high;
  return (x < low) == (fmod(times, 2) == 0) ? low + rest : high - rest;
}

static void ends(const struct grid *g, int64_t n, double *low, double *high) {
  *low = g->align_corners ? 0 : -0.5;
  *high = (double)n - (g->align_corners ? 1 : 0.5);
}

// A position outside, brought to where padding finds it. Far outside of zeros, or of a border that goes on, is as good
// as just outside. (ONNX's reference moves the place itself to the border, which for cubic is another number than that
// of a border that goes on; PyTorch and onnxruntime do not.)
static double place(const struct grid *g, double x, int64_t n) {
  double low, high;
  ends(g, n, &low, &high);
  return g->padding == GRID_REFLECTION ? reflect(x, low, high) : fmin(fmax(x, -3), (double)n + 2);
}

// The pixel of index i, a whole number; -1: none.
static int64_t pixel(const struct grid *g, double i, int64_t n) {
  double low, high;
  if (g->padding == GRID_ZEROS)
    return i >= 0 && i < (double)n ? (int64_t)i : -1;
  ends(g, n, &low, &high);
  if (g->padding == GRID_REFLECTION)
    i = reflect(i, low, high);
  return (int64_t)fmin(fmax(i, 0), (double)n - 1);
}

// Keys' kernel (1981) with -0.75.
static double cubic(double x) {
  static const double a = -0.75;
  x = fabs(x);
  return x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

// What is read along every dimension for one place of the output.
struct taps {
  int n; // along each
  int64_t index[GRID_MAX_DIMS][GRID_TAPS];
  double weight[GRID_MAX_DIMS][GRID_TAPS];
};

static void find_taps(const struct grid *g, const struct arith *a, struct noise *noise, const double *at,
                      struct taps *t) {
  t->n = g->mode == GRID_NEAREST ? 1 : g->mode == GRID_LINEAR ? 2 : 4;
  for (int d = 0; d < g->dims; d++) {
    int64_t n = g->extent[d];
    double x = position(g, a, noise, at[g->dims - 1 - d], n); // coordinates come last dimension first
    bool nowhere = isnan(x);
    x = nowhere ? 0 : place(g, g->mode == GRID_NEAREST ? rint(x) : x, n);
    double low = floor(x), first = low - (t->n == 4);
    for (int k = 0; k < t->n; k++) {
      double off = fabs(x - (first + k));
      double weight = t->n == 1 ? 1 : arith_round(a, noise, t->n == 2 ? 1 - off : cubic(off));
      t->index[d][k] = pixel(g, first + k, n);
      t->weight[d][k] = nowhere && t->n > 1 ? NAN : weight;
    }
  }
}

// The sum over all combinations of taps.
static double sample(const struct grid *g, const struct taps *t, const struct arith *a, struct noise *noise,
                     const struct array *x, int64_t channel) {
  double sum = 0, squares = 0;
  int chosen[GRID_MAX_DIMS] = {0}, terms = 0;
  for (int d = 0; d >= 0;) {
    int64_t offset = channel;
    double weight = 1;
    bool outside = false;
    for (int k = 0; k < g->dims; k++) {
      int64_t i = t->index[k][chosen[k]];
      outside = outside || i < 0;
      offset += i * g->stride[k];
      weight = k ? arith_round(a, noise, weight * t->weight[k][chosen[k]]) : t->weight[k][chosen[k]];
    }
    double v = outside ? 0 : dtype_is_float(x->dtype) ? x->f64[offset] : (double)x->i64[offset];
    double term = weight * v;
    sum += term;
    squares += term * term;
    terms += weight != 0;
    for (d = g->dims - 1; d >= 0 && ++chosen[d] == t->n; d--)
      chosen[d] = 0;
  }
  return t->n == 1 ? sum : arith_sum(a, noise, sum, squares, terms, false);
}

struct job {
  const struct op_eval *c;
  struct grid g;
};

// Unit: a place of all channels of a batch.
static void sample_places(void *arg, int64_t begin, int64_t end) {
  const struct job *j = arg;
  const struct grid *g = &j->g;
  const struct array *x = j->c->in[0];
  struct array *y = &j->c->out[0];
  for (int64_t u = begin; u < end; u++) {
    struct noise noise = noise_at(j->c->arith.key, (uint64_t)u);
    struct taps t;
    int64_t first = u / g->places * g->channels, at = u % g->places;
    find_taps(g, &j->c->arith, &noise, j->c->in[1]->f64 + u * g->dims, &t);
    for (int64_t ch = first; ch < first + g->channels; ch++) {
      double v = sample(g, &t, &j->c->arith, &noise, x, ch * g->space);
      if (dtype_is_float(y->dtype))
        y->f64[ch * g->places + at] = v;
      else
        y->i64[ch * g->places + at] = pointwise_truncate(y->dtype, v);
    }
  }
}

static enum assay_status grid_eval(struct op_eval *c, struct assay_error *err) {
  struct op_infer infer = op_infer_of(c);
  struct job j = {.c = c};
  enum assay_status status = grid_read(&infer, &j.g, err);
  if (!status && shape_count(&c->out[0].shape) > 0)
    parallel_for(c->threads, j.g.batch * j.g.places, GRAIN / (j.g.channels + 1) + 1, sample_places, &j);
  return status;
}

// A multiplication and an addition for every tap, in all combinations.
static void grid_cost(const struct op_infer *c, struct op_cost *cost) {
  struct grid g;
  if (grid_read(c, &g, NULL) != ASSAY_OK)
    return;
  double taps = g.mode == GRID_NEAREST ? 0 : pow(g.mode == GRID_LINEAR ? 2 : 4, g.dims);
  cost->flops = 2 * taps * (double)(g.batch * g.channels * g.places) + 4 * (double)(g.batch * g.places * g.dims);
}

static const struct op_attr attrs16[] = {{"align_corners", ATTR_INT, false, "0"},
                                         {"mode", ATTR_STRING, false, "bilinear"},
                                         {"padding_mode", ATTR_STRING, false, "zeros"},
                                         {0}};
static const struct op_attr attrs20[] = {{"align_corners", ATTR_INT, false, "0"},
                                         {"mode", ATTR_STRING, false, "linear"},
                                         {"padding_mode", ATTR_STRING, false, "zeros"},
                                         {0}};

// As Resize: coordinates, weights and sums round, and next to a boundary nearest may take either pixel.
#define GRID_SAMPLE(SINCE, ATTRS, EXAMPLE)                                                                             \
  {                                                                                                                    \
    OP_ROW("GridSample", SINCE, 2, 2, 1, 1, OP_GATHER),                                                                \
        .attrs = (ATTRS), .infer = grid_infer, .eval = grid_eval, .cost = grid_cost,                                   \
        .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.write = pytorch_grid_sample},                     \
        .doc = "The image (input 0: batch, channels, space) sampled at the places that the grid (input 1: batch, "     \
               "places, coordinates) names; coordinates run from -1 to 1, that of the last dimension first. Beyond "   \
               "the border lie zeros, the border going on, or the image mirrored.",                                    \
        .example = (EXAMPLE)                                                                                           \
  }

static const struct op_def rows[] = {
    GRID_SAMPLE(16, attrs16, NULL),
    GRID_SAMPLE(20, attrs20,
                "(float[1,2,3,4] x, float[1,2,2,2] g) => (float[1,2,2,2] y) { y = GridSample(x, g) }\n"
                "(float[2,1,5] x, float[2,3,1] g) => (float[2,1,3] y) { y = GridSample<mode = \"cubic\","
                " padding_mode = \"reflection\", align_corners = 1>(x, g) }\n"
                "(float[1,1,2,3,2] x, float[1,2,1,1,3] g) => (float[1,1,2,1,1] y) { y = GridSample<"
                "padding_mode = \"border\">(x, g) }"),
};

const struct op_family ops_grid_family = {"Sampling", rows, sizeof rows / sizeof rows[0]};
