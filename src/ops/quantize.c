// SPDX-License-Identifier: Apache-2.0
// Quantization: numbers as small integers or floats, times a scale.
#include "ops/quantize.h"

#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "ops/families.h"
#include "ops/pytorch.h"

enum { BLOCK = 256, GRAIN_BLOCKS = 32 };

enum { IN_X, IN_SCALE, IN_ZERO };

void quantize_range(enum dtype t, double *low, double *high) {
  int bits = dtype_bits(t);
  *low = dtype_is_signed(t) ? -ldexp(1, bits - 1) : 0;
  *high = ldexp(1, dtype_is_signed(t) ? bits - 1 : bits) - 1;
}

static bool same_but(const struct shape *a, const struct shape *b, int axis) {
  bool same = a->rank == b->rank;
  for (int d = 0; d < a->rank && same; d++)
    same = d == axis || a->dims[d] == b->dims[d];
  return same;
}

// The last of several blocks may be smaller, but not empty. Without block_size it follows from the shapes where they
// leave no choice.
static enum assay_status read_block(const struct op_infer *c, int64_t groups, int64_t extent, int64_t *block,
                                    struct assay_error *err) {
  *block = node_int(c->node, "block_size", 0);
  if (*block == 0 && groups > 0 && extent % groups == 0)
    *block = extent / groups;
  if (*block < 1 && extent > 0)
    return op_invalid(c->node, err, "block_size must be given: %lld scales for %lld elements", (long long)groups,
                      (long long)extent);
  *block = *block < 1 ? 1 : *block;
  if (groups != (extent + *block - 1) / *block)
    return op_invalid(c->node, err, "%lld elements in blocks of %lld need %lld scales, not %lld", (long long)extent,
                      (long long)*block, (long long)((extent + *block - 1) / *block), (long long)groups);
  return ASSAY_OK;
}

enum assay_status quantize_groups_read(const struct op_infer *c, struct quantize_groups *out, struct assay_error *err) {
  const struct shape *x = &c->in[IN_X]->shape, *s = &c->in[IN_SCALE]->shape;
  char a[SHAPE_TEXT_BYTES], b[SHAPE_TEXT_BYTES];
  *out = (struct quantize_groups){0};
  if (op_has(c, IN_ZERO) && !shape_equal(&c->in[IN_ZERO]->shape, s) &&
      (shape_count(s) != 1 || shape_count(&c->in[IN_ZERO]->shape) != 1))
    return op_invalid(c->node, err, "the scale has the shape %s, the zero point %s", shape_text(s, a),
                      shape_text(&c->in[IN_ZERO]->shape, b));
  if (s->rank == 0 || (s->rank == 1 && s->dims[0] == 1 && node_int(c->node, "block_size", 0) == 0))
    return ASSAY_OK;
  int axis;
  enum assay_status status = op_axis(c->node, node_int(c->node, "axis", 1), x->rank, &axis, err);
  if (status)
    return status;
  out->inner = shape_span(x, axis + 1, x->rank);
  out->extent = x->dims[axis];
  out->block = 1;
  // A vector that is quantized in blocks has a vector of scales, too.
  bool blocked = s->rank == x->rank && (x->rank > 1 || node_int(c->node, "block_size", 0) > 0);
  out->per_axis = !blocked;
  out->groups = s->dims[blocked ? axis : 0];
  if (blocked ? !same_but(x, s, axis) : s->rank != 1 || s->dims[0] != x->dims[axis])
    return op_invalid(c->node, err,
                      "a scale of shape %s fits neither axis %d of %s nor, but for that axis, the whole of it",
                      shape_text(s, a), axis, shape_text(x, b));
  if (blocked)
    return read_block(c, out->groups, out->extent, &out->block, err);
  return ASSAY_OK;
}

static enum assay_status read_dtype(const struct op_infer *c, const char *attribute, enum dtype *out,
                                    struct assay_error *err) {
  int64_t number = node_int(c->node, attribute, 0);
  if (number == 0)
    return ASSAY_OK;
  if (!dtype_by_number(number, out) || dtype_bits(*out) == 0)
    return op_unsupported(c->node, err, "%s is type number %lld", attribute, (long long)number);
  return ASSAY_OK;
}

// Types of 32 bits at most: integers but bool, and the floats of less than 16 bits.
static bool is_quantized(enum dtype t) {
  return dtype_is_float(t) ? dtype_bits(t) <= 8 && t != DTYPE_FLOAT8E8M0
                           : dtype_is_integer(t) && t != DTYPE_BOOL && dtype_bits(t) <= 32;
}

static enum assay_status quantize_infer(struct op_infer *c, struct assay_error *err) {
  struct quantize_groups g;
  enum dtype given = DTYPE_UNDEFINED, t = DTYPE_UINT8;
  enum assay_status status = quantize_groups_read(c, &g, err);
  if (!status)
    status = read_dtype(c, "output_dtype", &given, err);
  if (status)
    return status;
  t = op_has(c, IN_ZERO) ? c->in[IN_ZERO]->dtype : given ? given : t;
  if (given && given != t)
    return op_invalid(c->node, err, "output_dtype is %s, but the zero point is %s", dtype_name(given), dtype_name(t));
  if (!is_quantized(t) || dtype_bits(t) > 16)
    return op_invalid(c->node, err, "%s is not a type that numbers are quantized to", dtype_name(t));
  return op_output(c, 0, t, c->in[IN_X]->shape.rank, c->in[IN_X]->shape.dims, err);
}

static enum assay_status dequantize_infer(struct op_infer *c, struct assay_error *err) {
  struct quantize_groups g;
  enum dtype t = c->in[IN_SCALE]->dtype, x = c->in[IN_X]->dtype;
  enum assay_status status = quantize_groups_read(c, &g, err);
  if (!status)
    status = read_dtype(c, "output_dtype", &t, err);
  if (status)
    return status;
  if (!is_quantized(x) || (op_has(c, IN_ZERO) && c->in[IN_ZERO]->dtype != x))
    return op_invalid(c->node, err, "%s cannot be dequantized%s", dtype_name(x),
                      is_quantized(x) ? " with a zero point of another type" : "");
  if (!dtype_is_float(t) || dtype_bits(t) < 16)
    return op_invalid(c->node, err, "the result would be %s; it must be float, float16 or bfloat16", dtype_name(t));
  return op_output(c, 0, t, c->in[IN_X]->shape.rank, c->in[IN_X]->shape.dims, err);
}

struct quantize {
  const struct op_eval *c;
  struct quantize_groups g;
  const struct array *x, *scale, *zero; // zero: NULL where there is none
  struct narrowing quotient;            // the precision of the division, in the exact pass
  struct narrowing narrowing;           // of a floating result
  double low, high;                     // of an integer result
};

static double element(const struct array *a, int64_t i) {
  return dtype_is_float(a->dtype) ? a->f64[i] : (double)a->i64[i];
}

// The quotient has a precision of its own, says ONNX: that of the scale's type, or of the attribute. It is rounded to
// it in the exact pass, too: what is then a tie is one for everybody. Elsewhere it has the contract's precision: near a
// tie, honest implementations differ.
static void quantize_one(const struct quantize *q, int64_t i, struct noise *noise) {
  int64_t at = quantize_scale_index(&q->g, i);
  struct array *y = &q->c->out[0];
  double v = element(q->x, i) / element(q->scale, at);
  v = q->c->arith.exact ? narrowing_apply(&q->quotient, noise, v) : arith_round(&q->c->arith, noise, v);
  double zero = q->zero ? element(q->zero, at) : 0;
  if (dtype_is_float(y->dtype)) {
    v = q->zero ? arith_round(&q->c->arith, noise, v + zero) : v;
    y->f64[i] = narrowing_apply(&q->narrowing, noise, v);
  } else {
    v = isnan(v) ? zero : rint(v) + zero;
    y->i64[i] = (int64_t)fmin(fmax(v, q->low), q->high);
  }
}

static void dequantize_one(const struct quantize *q, int64_t i, struct noise *noise) {
  int64_t at = quantize_scale_index(&q->g, i);
  double v = element(q->x, i);
  if (q->zero)
    v = arith_round(&q->c->arith, noise, v - element(q->zero, at));
  q->c->out[0].f64[i] = arith_round(&q->c->arith, noise, v * element(q->scale, at));
}

typedef void one_fn(const struct quantize *q, int64_t i, struct noise *noise);

static void blocks(const struct quantize *q, one_fn *one, int64_t first, int64_t last) {
  int64_t n = shape_count(&q->x->shape);
  for (int64_t b = first; b < last; b++) {
    struct noise noise = noise_at(q->c->arith.key, (uint64_t)b);
    int64_t end = (b + 1) * BLOCK < n ? (b + 1) * BLOCK : n;
    for (int64_t i = b * BLOCK; i < end; i++)
      one(q, i, &noise);
  }
}

static void quantize_blocks(void *arg, int64_t first, int64_t last) {
  blocks(arg, quantize_one, first, last);
}
static void dequantize_blocks(void *arg, int64_t first, int64_t last) {
  blocks(arg, dequantize_one, first, last);
}

enum assay_status quantize_precision(const struct op_infer *c, enum dtype *out, struct assay_error *err) {
  enum dtype scale = c->in[IN_SCALE]->dtype;
  *out = dtype_is_float(scale) && dtype_bits(scale) >= 16 ? scale : DTYPE_FLOAT;
  enum assay_status status = read_dtype(c, "precision", out, err);
  if (!status && !dtype_is_float(*out))
    return op_invalid(c->node, err, "the division cannot have the precision of %s", dtype_name(*out));
  return status;
}

static enum assay_status run(struct op_eval *c, parallel_body *body, struct assay_error *err) {
  struct op_infer infer = op_infer_of(c);
  struct quantize q = {
      .c = c, .x = c->in[IN_X], .scale = c->in[IN_SCALE], .zero = op_has(&infer, IN_ZERO) ? c->in[IN_ZERO] : NULL};
  enum dtype precision = DTYPE_FLOAT;
  enum assay_status status = quantize_groups_read(&infer, &q.g, err);
  if (!status)
    status = quantize_precision(&infer, &precision, err);
  if (status)
    return status;
  q.quotient = narrowing_of(precision, false, &c->arith);
  if (dtype_is_float(c->out[0].dtype))
    q.narrowing = narrowing_of(c->out[0].dtype, node_int(c->node, "saturate", 1) != 0, &c->arith);
  else
    quantize_range(c->out[0].dtype, &q.low, &q.high);
  int64_t n = shape_count(&q.x->shape);
  parallel_for(c->threads, (n + BLOCK - 1) / BLOCK, GRAIN_BLOCKS, body, &q);
  return ASSAY_OK;
}

static enum assay_status quantize_eval(struct op_eval *c, struct assay_error *err) {
  return run(c, quantize_blocks, err);
}
static enum assay_status dequantize_eval(struct op_eval *c, struct assay_error *err) {
  return run(c, dequantize_blocks, err);
}

static void quantize_cost(const struct op_infer *c, struct op_cost *cost) { // a division, a sum, two bounds
  cost->flops = 4 * (double)shape_count(&c->in[IN_X]->shape);
}
static void dequantize_cost(const struct op_infer *c, struct op_cost *cost) {
  cost->flops = (op_has(c, IN_ZERO) ? 2 : 1) * (double)shape_count(&c->in[IN_X]->shape);
}

// ---- DynamicQuantizeLinear

static enum assay_status dynamic_infer(struct op_infer *c, struct assay_error *err) {
  if (c->in[0]->dtype != DTYPE_FLOAT)
    return op_invalid(c->node, err, "the input is %s; it must be float", dtype_name(c->in[0]->dtype));
  enum assay_status status = op_output(c, 0, DTYPE_UINT8, c->in[0]->shape.rank, c->in[0]->shape.dims, err);
  if (!status)
    status = op_output(c, 1, DTYPE_FLOAT, 0, NULL, err);
  return status ? status : op_output(c, 2, DTYPE_UINT8, 0, NULL, err);
}

// The scale is a float also in the exact pass: everybody divides by that float, and with few different numbers in the
// input quotients may be ties by the exact scale (-2.5 by 5 / 255).
double quantize_dynamic(const struct arith *a, double least, double most, double *zero) {
  least = least > 0 ? 0 : least;
  most = most < 0 ? 0 : most;
  struct noise noise = noise_at(a->key, UINT64_MAX);
  double scale = arith_round(a, &noise, arith_round(a, &noise, most - least) / 255);
  struct narrowing stored = narrowing_of(DTYPE_FLOAT, false, a);
  if (a->exact)
    scale = narrowing_apply(&stored, &noise, scale);
  double from = scale > 0 ? (0 - least) / scale : 0;
  from = a->exact ? narrowing_apply(&stored, &noise, from) : arith_round(a, &noise, from);
  *zero = rint(fmin(fmax(from, 0), 255));
  return scale;
}

// A tensor of nothing but zeros has the scale 0 by the formula; its quotients, NaN, are quantized to the zero point.
static enum assay_status dynamic_eval(struct op_eval *c, struct assay_error *err) {
  int64_t n = shape_count(&c->in[0]->shape);
  double least = 0, most = 0, zero;
  for (int64_t i = 0; i < n; i++) {
    double x = c->in[0]->f64[i];
    least = x < least || isnan(x) ? x : least;
    most = x > most || isnan(x) ? x : most;
  }
  double scale = quantize_dynamic(&c->arith, least, most, &zero);
  int64_t zero_word = (int64_t)zero;
  struct array scales = {.dtype = DTYPE_FLOAT, .f64 = &scale}, zeros = {.dtype = DTYPE_UINT8, .i64 = &zero_word};
  struct quantize q = {.c = c,
                       .x = c->in[0],
                       .scale = &scales,
                       .zero = &zeros,
                       .quotient = narrowing_of(DTYPE_FLOAT, false, &c->arith),
                       .high = 255};
  (void)err;
  parallel_for(c->threads, (n + BLOCK - 1) / BLOCK, GRAIN_BLOCKS, quantize_blocks, &q);
  if (c->n_out > 1 && c->out[1].bits)
    c->out[1].f64[0] = scale;
  if (c->n_out > 2 && c->out[2].bits)
    c->out[2].i64[0] = zero_word;
  return ASSAY_OK;
}

#define AXIS_ATTR                                                                                                      \
  { "axis", ATTR_INT, false, "1" }
#define BLOCK_ATTR                                                                                                     \
  { "block_size", ATTR_INT, false, "0: none" }
#define SATURATE_ATTR                                                                                                  \
  { "saturate", ATTR_INT, false, "1" }
static const struct op_attr axis_attrs[] = {AXIS_ATTR, {0}};
static const struct op_attr quantize19_attrs[] = {AXIS_ATTR, SATURATE_ATTR, {0}};
static const struct op_attr quantize21_attrs[] = {
    AXIS_ATTR, BLOCK_ATTR, {"output_dtype", ATTR_INT, false, "the zero point's type, or uint8"}, SATURATE_ATTR, {0}};
static const struct op_attr quantize23_attrs[] = {AXIS_ATTR,
                                                  BLOCK_ATTR,
                                                  {"output_dtype", ATTR_INT, false, "the zero point's type, or uint8"},
                                                  {"precision", ATTR_INT, false, "the scale's type"},
                                                  SATURATE_ATTR,
                                                  {0}};
static const struct op_attr dequantize21_attrs[] = {AXIS_ATTR, BLOCK_ATTR, {0}};
static const struct op_attr dequantize23_attrs[] = {
    AXIS_ATTR, BLOCK_ATTR, {"output_dtype", ATTR_INT, false, "the scale's type"}, {0}};

// Between the bounds the result stands still while its input moves, and beyond them, too.
#define QUANTIZE(SINCE, ATTRS, EXAMPLE)                                                                                \
  {                                                                                                                    \
    OP_ROW("QuantizeLinear", SINCE, 2, 3, 1, 1, OP_ELEMENTWISE),                                                       \
        .attrs = (ATTRS), .infer = quantize_infer, .eval = quantize_eval, .cost = quantize_cost,                       \
        .errors = {OP_MAY_ROUND, OP_KINK, OP_NO_SUM}, .steps = true, .pytorch = {.none = PYTORCH_NOT_WRITTEN},         \
        .doc = "The input divided by the scale (input 1), rounded to the nearest whole number (halves to the even "    \
               "one), plus the zero point (input 2), and kept within the range of the zero point's type; floating "    \
               "types round to their nearest number instead. There is one scale for all, one for each index of the "   \
               "axis, or one for each block of block_size elements along it.",                                         \
        .example = (EXAMPLE)                                                                                           \
  }
#define DEQUANTIZE(SINCE, ATTRS, EXAMPLE)                                                                              \
  {                                                                                                                    \
    OP_ROW("DequantizeLinear", SINCE, 2, 3, 1, 1, OP_ELEMENTWISE),                                                     \
        .attrs = (ATTRS), .infer = dequantize_infer, .eval = dequantize_eval, .cost = dequantize_cost,                 \
        .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.none = PYTORCH_NOT_WRITTEN},                      \
        .doc = "The input minus the zero point (input 2), times the scale (input 1); scales as in QuantizeLinear.",    \
        .example = (EXAMPLE)                                                                                           \
  }

static const struct op_def rows[] = {
    QUANTIZE(10, NULL, NULL),
    QUANTIZE(13, axis_attrs, NULL),
    QUANTIZE(19, quantize19_attrs, NULL),
    QUANTIZE(21, quantize21_attrs, NULL),
    QUANTIZE(23, quantize23_attrs,
             "(float[2,3] x) => (int8[2,3] y) <float[3] s = {0.25, 0.5, 0.125}, int8[3] z = {0, 3, -100}>"
             " { y = QuantizeLinear(x, s, z) }\n"
             "(float[2,5] x) => (int8[2,5] y) <float[2,3] s = {0.25, 0.5, 0.1, 1, 2, 3}>"
             " { q = QuantizeLinear<block_size = 2, output_dtype = 22>(x, s) y = Cast<to = 3>(q) }"),
    DEQUANTIZE(10, NULL, NULL),
    DEQUANTIZE(13, axis_attrs, NULL),
    DEQUANTIZE(21, dequantize21_attrs, NULL),
    DEQUANTIZE(23, dequantize23_attrs,
               "(int8[3,2] x) => (float[3,2] y) <float[3] s = {0.1, 0.2, 0.3}, int8[3] z = {0, 3, -100}>"
               " { y = DequantizeLinear<axis = 0>(x, s, z) }\n"
               "(uint8[2] x) => (float16[2] y) <float s = {0.3}> { y = DequantizeLinear<output_dtype = 10>(x, s) }"),
    {OP_ROW("DynamicQuantizeLinear", 11, 1, 1, 3, 3, OP_ELEMENTWISE), .infer = dynamic_infer, .eval = dynamic_eval,
     .cost = quantize_cost, .errors = {OP_MAY_ROUND, OP_KINK, OP_NO_SUM}, .steps = true,
     .pytorch = {.none = PYTORCH_NOT_WRITTEN},
     .doc = "The input quantized to uint8, with its scale and its zero point: the scale is what lies between the least "
            "and the greatest element, 0 included, divided by 255; the zero point is what 0 becomes.",
     .example = "(float[2,3] x) => (uint8[2,3] y, float s, uint8 z) { y, s, z = DynamicQuantizeLinear(x) }"},
};

const struct op_family ops_quantize_family = {"Quantization", rows, sizeof rows / sizeof rows[0]};
