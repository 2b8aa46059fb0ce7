// SPDX-License-Identifier: Apache-2.0
// Resampling of images. Every axis is a small table: for each output index the source indices and their weights. The
// axes are resampled one after another, which is what interpolation in several dimensions means in ONNX.
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "ops/pytorch.h"
#include "ops/families.h"
#include "ops/indices.h"
#include "ops/resize.h"
#include "ops/strided.h"

enum { GRAIN_ELEMENTS = 1 << 13, MAX_RADIUS = 1 << 20 };

static enum assay_status choice(const struct node *node, const char *name, const char *fallback,
                                const char *const *names, int n, int *out, struct assay_error *err) {
  const char *text = node_string(node, name, fallback);
  for (int i = 0; i < n; i++)
    if (strcmp(text, names[i]) == 0) {
      *out = i;
      return ASSAY_OK;
    }
  return op_unsupported(node, err, "%s is \"%s\"", name, text);
}

// Up to version 10, and in Upsample, nothing can be chosen: output index i comes from i / scale.
static bool is_legacy(const struct node *node) {
  return node->op->since < 11;
}

static enum assay_status read_attrs(const struct node *node, struct resize_plan *r, struct assay_error *err) {
  static const char *const coordinates[] = {"half_pixel",          "half_pixel_symmetric", "pytorch_half_pixel",
                                            "align_corners",       "asymmetric",           "tf_crop_and_resize",
                                            "tf_half_pixel_for_nn"};
  static const char *const modes[] = {"nearest", "linear", "cubic"};
  static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  bool legacy = is_legacy(node);
  int c = 0, m = 0, n = 0;
  enum assay_status status =
      choice(node, "coordinate_transformation_mode", legacy ? "asymmetric" : "half_pixel", coordinates, 7, &c, err);
  if (status == ASSAY_OK)
    status = choice(node, "mode", "nearest", modes, 3, &m, err);
  if (status == ASSAY_OK)
    status = choice(node, "nearest_mode", legacy ? "floor" : "round_prefer_floor", roundings, 4, &n, err);
  if (status != ASSAY_OK)
    return status;
  *r = (struct resize_plan){.coordinates = (enum resize_coordinates)c,
                            .mode = (enum resize_mode)m,
                            .nearest = (enum resize_nearest)n,
                            .antialias = node_int(node, "antialias", 0) != 0,
                            .exclude_outside = node_int(node, "exclude_outside", 0) != 0,
                            .cubic_a = node_float(node, "cubic_coeff_a", -0.75),
                            .extrapolation = node_float(node, "extrapolation_value", 0)};
  return ASSAY_OK;
}

static bool given(const struct op_infer *c, int i) {
  return op_has(c, i) && shape_count(&c->in[i]->shape) > 0;
}

// A scaled extent, kept within what an integer holds; the output's shape is checked later.
static int64_t extent(double scaled) {
  return (int64_t)fmin(floor(scaled), 2.0 * (double)SHAPE_MAX_ELEMENTS);
}

// One scale for all axes, the largest that does not exceed (or the smallest that reaches) the sizes asked for.
static void keep_aspect(const struct node *node, struct resize_plan *r, const int *axes, int n) {
  const char *policy = node_string(node, "keep_aspect_ratio_policy", "stretch");
  bool smaller = strcmp(policy, "not_larger") == 0;
  if (!smaller && strcmp(policy, "not_smaller") != 0)
    return;
  double scale = r->axes[axes[0]].scale;
  for (int i = 1; i < n; i++)
    scale = smaller ? fmin(scale, r->axes[axes[i]].scale) : fmax(scale, r->axes[axes[i]].scale);
  for (int i = 0; i < n; i++) {
    struct resize_axis *a = &r->axes[axes[i]];
    a->scale = scale;
    a->out = extent(scale * (double)a->in + 0.5);
  }
}

// Scales or sizes, and regions, for n axes. In legacy versions the scales are the second input.
static enum assay_status read_axes(const struct op_infer *c, struct resize_plan *r, const int *axes, int n,
                                   struct assay_error *err) {
  int scales = is_legacy(c->node) ? 1 : 2, sizes = 3, roi = 1;
  bool by_size = !is_legacy(c->node) && given(c, sizes);
  if (!by_size && !given(c, scales))
    return op_invalid(c->node, err, "neither scales nor sizes are given");
  const struct array *from = c->in[by_size ? sizes : scales];
  if (!from->bits)
    return op_unsupported(c->node, err, "scales or sizes must be a constant, because the output's shape depends on it");
  if (shape_count(&from->shape) != n)
    return op_invalid(c->node, err, "%lld scales or sizes for %d axes", (long long)shape_count(&from->shape), n);
  for (int i = 0; i < n; i++) {
    struct resize_axis *a = &r->axes[axes[i]];
    a->scale = by_size ? (double)from->i64[i] / (double)a->in : from->f64[i];
    if (!(a->scale > 0) || a->scale > (double)SHAPE_MAX_ELEMENTS)
      return op_invalid(c->node, err, "the scale of axis %d is %g", axes[i], a->scale);
    a->out = by_size ? from->i64[i] : extent((double)a->in * a->scale);
    if (!is_legacy(c->node) && given(c, roi) && c->in[roi]->bits && shape_count(&c->in[roi]->shape) == 2 * n) {
      a->roi_start = c->in[roi]->f64[i];
      a->roi_end = c->in[roi]->f64[i + n];
    }
  }
  if (by_size)
    keep_aspect(c->node, r, axes, n);
  return ASSAY_OK;
}

enum assay_status resize_read(const struct op_infer *c, struct resize_plan *r, struct assay_error *err) {
  const struct shape *s = &c->in[0]->shape;
  int64_t listed[SHAPE_MAX_RANK];
  int n, axes[SHAPE_MAX_RANK];
  enum assay_status status = read_attrs(c->node, r, err);
  if (status == ASSAY_OK)
    status = op_ints(c, -1, "axes", listed, &n, SHAPE_MAX_RANK, err);
  if (status != ASSAY_OK)
    return status;
  n = n < 0 ? s->rank : n;
  for (int i = 0; i < n; i++) {
    status = op_axis(c->node, node_attr(c->node, "axes") ? listed[i] : i, s->rank, &axes[i], err);
    if (status != ASSAY_OK)
      return status;
  }
  for (int d = 0; d < s->rank; d++)
    r->axes[d] = (struct resize_axis){.in = s->dims[d], .out = s->dims[d], .scale = 1, .roi_end = 1};
  if (r->mode != RESIZE_NEAREST && !dtype_is_float(c->in[0]->dtype))
    return op_unsupported(c->node, err, "integers can be resized by mode nearest only");
  status = n == 0 ? ASSAY_OK : read_axes(c, r, axes, n, err);
  for (int d = 0; d < s->rank; d++)
    r->axes[d].active =
        r->axes[d].scale != 1 || r->axes[d].in != r->axes[d].out || r->coordinates == RESIZE_CROP_AND_RESIZE;
  return status;
}

static enum assay_status infer_resize(struct op_infer *c, struct assay_error *err) {
  struct resize_plan r;
  int64_t dims[SHAPE_MAX_RANK];
  enum assay_status status = resize_read(c, &r, err);
  if (status != ASSAY_OK)
    return status;
  for (int d = 0; d < c->in[0]->shape.rank; d++)
    dims[d] = r.axes[d].out;
  return op_output(c, 0, c->in[0]->dtype, c->in[0]->shape.rank, dims, err);
}

// ---- tables

// Where output index i lies among the input's indices. Rounded like any other arithmetic: an implementation works this
// out in the contract's precision too, and its error moves the weights.
static double source_position(const struct resize_plan *r, const struct resize_axis *a, int64_t i,
                              const struct arith *arith, struct noise *noise) {
  double x = (double)i, in = (double)a->in, out = a->scale * in, at = 0;
  switch (r->coordinates) {
  case RESIZE_HALF_PIXEL:
    at = arith_round(arith, noise, (x + 0.5) / a->scale) - 0.5;
    break;
  case RESIZE_HALF_PIXEL_SYMMETRIC:
    at = in / 2 * (1 - (double)a->out / out) + arith_round(arith, noise, (x + 0.5) / a->scale) - 0.5;
    break;
  case RESIZE_PYTORCH_HALF_PIXEL:
    at = a->out > 1 ? arith_round(arith, noise, (x + 0.5) / a->scale) - 0.5 : 0;
    break;
  case RESIZE_ALIGN_CORNERS:
    at = out == 1 ? 0 : arith_round(arith, noise, x * (in - 1) / (out - 1));
    break;
  case RESIZE_ASYMMETRIC:
    at = arith_round(arith, noise, x / a->scale);
    break;
  case RESIZE_CROP_AND_RESIZE:
    at = out == 1 ? (a->roi_end - a->roi_start) * (in - 1) / 2 : x * (a->roi_end - a->roi_start) * (in - 1) / (out - 1);
    at = arith_round(arith, noise, at + a->roi_start * (in - 1));
    break;
  case RESIZE_HALF_PIXEL_FOR_NN:
    at = arith_round(arith, noise, (x + 0.5) / a->scale);
    break;
  }
  return at;
}

static int64_t clamp(int64_t i, int64_t n) {
  return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static int64_t nearest_index(enum resize_nearest how, double at) {
  double low = floor(at), part = at - low;
  bool up = how == RESIZE_PREFER_FLOOR  ? part > 0.5
            : how == RESIZE_PREFER_CEIL ? part >= 0.5
                                        : how == RESIZE_CEIL && part > 0;
  return (int64_t)low + up;
}

// Keys' cubic kernel (1981) with parameter a; the triangle for linear.
static double kernel(const struct resize_plan *r, double x) {
  double a = r->cubic_a;
  x = fabs(x);
  if (r->mode == RESIZE_LINEAR)
    return x < 1 ? 1 - x : 0;
  if (x <= 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

enum assay_status resize_table_make(const struct resize_plan *r, int d, const struct node *node,
                                    const struct arith *arith, struct arena *arena, struct resize_table *t,
                                    struct assay_error *err) {
  const struct resize_axis *a = &r->axes[d];
  double stretch = r->antialias && a->scale < 1 ? a->scale : 1;
  double reach = ceil((r->mode == RESIZE_LINEAR ? 1 : 2) / stretch);
  if (reach > MAX_RADIUS)
    return op_unsupported(node, err, "axis %d shrinks by more than %d", d, MAX_RADIUS / 2);
  int radius = (int)reach;
  *t = (struct resize_table){.taps = 2 * radius};
  t->index = arena_calloc(arena, (size_t)(a->out * t->taps) + 1, sizeof *t->index);
  t->weight = arena_calloc(arena, (size_t)(a->out * t->taps) + 1, sizeof *t->weight);
  t->outside = arena_calloc(arena, (size_t)a->out + 1, sizeof *t->outside);
  if (!t->index || !t->weight || !t->outside)
    return error_nomem(err, "the weights of Resize");
  struct noise noise = noise_at(arith->key, (uint64_t)d);
  for (int64_t i = 0; i < a->out; i++) {
    double at = source_position(r, a, i, arith, &noise), low = floor(at), sum = 0;
    t->outside[i] = r->coordinates == RESIZE_CROP_AND_RESIZE && (at < 0 || at > (double)(a->in - 1));
    double *weight = &t->weight[i * t->taps];
    for (int k = 0; k < t->taps; k++) {
      double source = low + k - radius + 1;
      bool beyond = source < 0 || source >= (double)a->in;
      weight[k] = beyond && r->exclude_outside ? 0 : kernel(r, (source - at) * stretch);
      t->index[i * t->taps + k] = clamp((int64_t)fmin(fmax(source, -1), (double)a->in), a->in);
      sum += weight[k];
    }
    for (int k = 0; k < t->taps && (stretch < 1 || r->exclude_outside) && sum != 0; k++)
      weight[k] /= sum;
  }
  return ASSAY_OK;
}

int64_t *resize_nearest_map(const struct resize_plan *r, int d, int64_t stride, const struct arith *arith,
                            struct arena *arena) {
  const struct resize_axis *a = &r->axes[d];
  int64_t *map = arena_calloc(arena, (size_t)a->out + 1, sizeof *map);
  struct noise noise = noise_at(arith->key, (uint64_t)d);
  for (int64_t i = 0; map && i < a->out; i++) {
    double at = a->active ? source_position(r, a, i, arith, &noise) : (double)i;
    bool outside = r->coordinates == RESIZE_CROP_AND_RESIZE && (at < 0 || at > (double)(a->in - 1));
    at = fmin(fmax(at, -1), (double)a->in); // so that it can be an integer
    map[i] = outside ? -1 : clamp(nearest_index(r->nearest, at), a->in) * stride;
  }
  return map;
}

// ---- evaluation

static enum assay_status eval_nearest(struct op_eval *c, const struct resize_plan *r, struct assay_error *err) {
  int64_t strides[SHAPE_MAX_RANK];
  const int64_t *tables[SHAPE_MAX_RANK] = {0};
  shape_strides(&c->in[0]->shape, strides);
  for (int d = 0; d < c->out[0].shape.rank; d++) {
    tables[d] = resize_nearest_map(r, d, strides[d], &c->arith, c->scratch);
    if (!tables[d])
      return error_nomem(err, "the indices of Resize");
  }
  uint64_t fill = (uint64_t)(int64_t)r->extrapolation;
  if (dtype_is_float(c->in[0]->dtype))
    memcpy(&fill, &r->extrapolation, sizeof fill);
  strided_gather(&c->out[0].shape, tables, fill, c->out[0].bits, c->in[0]->bits, c->threads);
  return ASSAY_OK;
}

struct pass {
  const struct op_eval *c;
  const struct resize_table *table;
  int64_t in, out, inner;
  const double *from;
  double *to;
  int d;
};

// Unit: one output index of one outer position; all its inner elements share the weights.
static void run_pass(void *arg, int64_t begin, int64_t end) {
  const struct pass *p = arg;
  int taps = p->table->taps;
  for (int64_t u = begin; u < end; u++) {
    struct noise noise = noise_at(p->c->arith.key + (uint64_t)p->d + 1, (uint64_t)u);
    const int64_t *index = &p->table->index[u % p->out * taps];
    const double *weight = &p->table->weight[u % p->out * taps], *from = p->from + u / p->out * p->in * p->inner;
    for (int64_t i = 0; i < p->inner; i++) {
      double sum = 0, squares = 0;
      int terms = 0;
      for (int k = 0; k < taps; k++) {
        double term = weight[k] * from[index[k] * p->inner + i];
        sum += term;
        squares += term * term;
        terms += weight[k] != 0;
      }
      p->to[u * p->inner + i] = arith_sum(&p->c->arith, &noise, sum, squares, terms, false);
    }
  }
}

static void extrapolate(struct op_eval *c, const struct resize_plan *r, const struct resize_table *tables) {
  const struct shape *s = &c->out[0].shape;
  struct index_walk w = {.shape = s};
  for (int64_t i = 0; i < shape_count(s); i++, index_walk_next(&w))
    for (int d = 0; d < s->rank; d++)
      if (tables[d].outside && tables[d].outside[w.index[d]])
        c->out[0].f64[i] = r->extrapolation;
}

static enum assay_status eval_weighted(struct op_eval *c, const struct resize_plan *r, struct assay_error *err) {
  struct resize_table tables[SHAPE_MAX_RANK] = {{0}};
  struct shape now = c->in[0]->shape;
  const double *from = c->in[0]->f64;
  for (int d = now.rank - 1; d >= 0; d--) {
    if (!r->axes[d].active)
      continue;
    enum assay_status status = resize_table_make(r, d, c->node, &c->arith, c->scratch, &tables[d], err);
    if (status != ASSAY_OK)
      return status;
    struct shape next = now;
    next.dims[d] = r->axes[d].out;
    int64_t outer = shape_span(&now, 0, d), inner = shape_span(&now, d + 1, now.rank);
    double *to = arena_calloc(c->scratch, (size_t)shape_count(&next) + 1, sizeof *to);
    if (!to)
      return error_nomem(err, "an intermediate image of Resize");
    struct pass p = {c, &tables[d], now.dims[d], next.dims[d], inner, from, to, d};
    parallel_for(c->threads, outer * p.out, GRAIN_ELEMENTS / (inner * tables[d].taps + 1) + 1, run_pass, &p);
    now = next;
    from = to;
  }
  memcpy(c->out[0].f64, from, (size_t)shape_count(&now) * sizeof *from);
  if (r->coordinates == RESIZE_CROP_AND_RESIZE)
    extrapolate(c, r, tables);
  return ASSAY_OK;
}

static enum assay_status eval_resize(struct op_eval *c, struct assay_error *err) {
  struct resize_plan r;
  struct op_infer infer = op_infer_of(c);
  enum assay_status status = resize_read(&infer, &r, err);
  if (status != ASSAY_OK || shape_count(&c->out[0].shape) == 0)
    return status;
  if (shape_count(&c->in[0]->shape) == 0)
    return op_invalid(c->node, err, "an empty image cannot be made larger");
  return r.mode == RESIZE_NEAREST ? eval_nearest(c, &r, err) : eval_weighted(c, &r, err);
}

#define RESIZE_ATTRS                                                                                                   \
  {"coordinate_transformation_mode", ATTR_STRING, false, "half_pixel"}, {"cubic_coeff_a", ATTR_FLOAT, false, "-0.75"}, \
      {"exclude_outside", ATTR_INT, false, "0"}, {"extrapolation_value", ATTR_FLOAT, false, "0.0"},                    \
      {"mode", ATTR_STRING, false, "nearest"}, {                                                                       \
    "nearest_mode", ATTR_STRING, false, "round_prefer_floor"                                                           \
  }

static const struct op_attr legacy_attrs[] = {{"mode", ATTR_STRING, false, "nearest"}, {0}};
static const struct op_attr resize11_attrs[] = {RESIZE_ATTRS, {0}};
static const struct op_attr resize18_attrs[] = {{"antialias", ATTR_INT, false, "0"},
                                                {"axes", ATTR_INTS, false, "all"},
                                                {"keep_aspect_ratio_policy", ATTR_STRING, false, "stretch"},
                                                RESIZE_ATTRS,
                                                {0}};

#define DOC_RESIZE                                                                                                     \
  "The input resampled to other extents, given as scales or as sizes: nearest, linear or cubic, with the ways to "     \
  "relate output to input coordinates that ONNX defines."

// Linear and cubic round coordinates, weights and sums. Nearest rounds coordinates too: next to a boundary between two
// pixels it may take either. A row cannot say more than one thing for its modes, so this holds for all.
#define RESIZE_ERRORS                                                                                                  \
  { OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM }

static const struct op_def rows[] = {
    {OP_ROW("Upsample", 9, 2, 2, 1, 1, OP_MOVEMENT), .attrs = legacy_attrs, .infer = infer_resize, .eval = eval_resize,
     .errors = RESIZE_ERRORS, .pytorch = {.none = "PyTorch has some of ONNX's ways to relate coordinates only"},
     .doc = "The input resampled by scales; output index i comes from i / scale. Deprecated: use Resize.",
     .example = "(float[1,2,2] a) => (float[1,4,4] b) {"
                " s = Constant<value = float[3] {1.0, 2.0, 2.0}>() b = Upsample(a, s) }"},
    {OP_ROW("Resize", 10, 2, 2, 1, 1, OP_MOVEMENT), .attrs = legacy_attrs, .infer = infer_resize, .eval = eval_resize,
     .errors = RESIZE_ERRORS, .pytorch = {.none = "PyTorch has some of ONNX's ways to relate coordinates only"},
     .doc = "The input resampled by scales; output index i comes from i / scale."},
    {OP_ROW("Resize", 11, 1, 4, 1, 1, OP_MOVEMENT), .attrs = resize11_attrs, .infer = infer_resize, .eval = eval_resize,
     .errors = RESIZE_ERRORS, .pytorch = {.write = pytorch_resize}, .doc = DOC_RESIZE},
    {OP_ROW("Resize", 18, 1, 4, 1, 1, OP_MOVEMENT), .attrs = resize18_attrs, .infer = infer_resize, .eval = eval_resize,
     .errors = RESIZE_ERRORS, .pytorch = {.write = pytorch_resize},
     .doc = DOC_RESIZE " With antialias a shrunken image takes all of its source into account.",
     .example = "(float[1,3,4] a) => (float[1,5,6] b) {"
                " n = Constant<value = int64[3] {1, 5, 6}>() b = Resize<mode = \"linear\">(a, , , n) }\n"
                "(float[1,4,4] a) => (float[1,2,2] b) {"
                " s = Constant<value = float[3] {1.0, 0.5, 0.5}>() b = Resize(a, , s) }"},
};

const struct op_family ops_resize_family = {"Resizing", rows, sizeof rows / sizeof rows[0]};
