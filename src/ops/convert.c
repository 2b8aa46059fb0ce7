// SPDX-License-Identifier: Apache-2.0
// Operators that pass values on: unchanged, or as another type.
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "ops/apart.h"
#include "ops/bitcast.h"
#include "ops/families.h"
#include "ops/narrow.h"
#include "ops/pointwise.h"
#include "ops/pytorch.h"

enum { BLOCK = 256, GRAIN_BLOCKS = 64 };

// ---- identity

static void copy_elements(const struct array *from, struct array *to) {
  memcpy(to->bits, from->bits, (size_t)shape_count(&from->shape) * sizeof *to->bits);
}

static enum assay_status eval_identity(struct op_eval *c, struct assay_error *err) {
  (void)err;
  copy_elements(c->in[0], &c->out[0]);
  return ASSAY_OK;
}

// ---- casts

struct cast {
  const struct array *in;
  struct array *out;
  bool narrows; // the target cannot hold every value of the source
  bool other;   // arith.other_casts
  struct narrowing narrowing;
  uint64_t key;
  int64_t first; // elements of a whole batch before these
};

// What a kernel truncates is a number of single precision: just below a whole number that is the whole number. Sums of
// whole numbers beyond 2^23 stay exact.
static double as_float(enum dtype from, double x) {
  return from == DTYPE_FLOAT && fabs(x) < 0x1p23 ? (double)(float)x : x;
}

static int64_t truncated(const struct cast *k, double exact) {
  enum dtype to = k->out->dtype;
  double x = to == DTYPE_BOOL ? exact : as_float(k->in->dtype, exact);
  int64_t v = pointwise_truncate(to, x);
  return k->other && !pointwise_holds(to, x) ? pointwise_wrap(to, ~v) : v;
}

// A cast is the one operator that says "lose precision here", so the exact pass rounds too. A cast to the contract's
// storage type says less: every value of that type is one that may be rounded where it goes to another operator.
// (PyTorch's exporter casts what it reduces, there and back.)
static void cast_block(const struct cast *k, int64_t begin, int64_t end, struct noise *noise) {
  enum dtype from = k->in->dtype, to = k->out->dtype;
  for (int64_t i = begin; i < end; i++) {
    if (!dtype_is_float(to)) {
      k->out->i64[i] = dtype_is_float(from) ? truncated(k, k->in->f64[i]) : pointwise_wrap(to, k->in->i64[i]);
      continue;
    }
    double x = dtype_is_float(from)   ? k->in->f64[i]
               : from == DTYPE_UINT64 ? (double)(uint64_t)k->in->i64[i]
                                      : (double)k->in->i64[i];
    k->out->f64[i] = k->narrows ? narrowing_apply(&k->narrowing, noise, x) : x;
  }
}

static void cast_blocks(void *arg, int64_t first, int64_t last) {
  const struct cast *k = arg;
  int64_t n = shape_count(&k->in->shape);
  for (int64_t b = first; b < last; b++) {
    struct noise noise = noise_at(k->key, (uint64_t)(k->first / BLOCK + b));
    int64_t begin = b * BLOCK - k->first % BLOCK, end = begin + BLOCK;
    cast_block(k, begin < 0 ? 0 : begin, end < n ? end : n, &noise);
  }
}

static enum assay_status eval_cast(struct op_eval *c, struct assay_error *err) {
  struct cast k = {.in = c->in[0], .out = &c->out[0], .other = c->arith.other_casts, .key = c->arith.key};
  enum dtype to = k.out->dtype;
  enum assay_status status = narrowing_read(c->node, to, &c->arith, &k.narrowing, err);
  k.narrows = narrowing_needed(k.in->dtype, to) && k.narrowing.format.bits != c->arith.stored.bits;
  int64_t n = shape_count(&k.in->shape);
  k.first = arith_first(&c->arith, n, k.in->shape.dims[0]);
  if (!status)
    parallel_for(c->threads, (k.first % BLOCK + n + BLOCK - 1) / BLOCK, GRAIN_BLOCKS, cast_blocks, &k);
  return status;
}

static enum assay_status infer_cast_to(struct op_infer *c, int64_t number, struct assay_error *err) {
  enum dtype t;
  if (!dtype_by_number(number, &t) || dtype_bytes(t) == 0)
    return op_unsupported(c->node, err, "no cast to type number %lld", (long long)number);
  if (dtype_bytes(c->in[0]->dtype) == 0)
    return op_unsupported(c->node, err, "no cast from %s", dtype_name(c->in[0]->dtype));
  c->out[0].dtype = t;
  c->out[0].shape = c->in[0]->shape;
  return ASSAY_OK;
}

static enum assay_status infer_cast(struct op_infer *c, struct assay_error *err) {
  return infer_cast_to(c, node_int(c->node, "to", 0), err);
}

static enum assay_status infer_cast_like(struct op_infer *c, struct assay_error *err) {
  return infer_cast_to(c, c->in[1]->dtype, err);
}

// ---- dropout

// Random elements cannot be compared with a candidate's; without any to drop, dropout is the identity.
static enum assay_status check_dropout(const struct op_infer *c, struct assay_error *err) {
  bool training = op_has(c, 2) && c->in[2]->bits && c->in[2]->i64[0] != 0;
  double ratio = !op_has(c, 1) ? 0.5 : c->in[1]->bits ? c->in[1]->f64[0] : 0;
  if (training && ratio != 0)
    return op_unsupported(c->node, err, "dropout in training mode is random; set training_mode to false or ratio to 0");
  return ASSAY_OK;
}

static enum assay_status infer_dropout(struct op_infer *c, struct assay_error *err) {
  op_infer_same(c, err);
  if (c->n_out > 1) {
    c->out[1].dtype = c->node->op->since < 10 ? c->in[0]->dtype : DTYPE_BOOL;
    c->out[1].shape = c->in[0]->shape;
  }
  return check_dropout(c, err);
}

static enum assay_status eval_dropout(struct op_eval *c, struct assay_error *err) {
  struct op_infer infer = op_infer_of(c);
  enum assay_status status = check_dropout(&infer, err);
  if (status != ASSAY_OK)
    return status;
  copy_elements(c->in[0], &c->out[0]);
  for (int64_t i = 0; c->n_out > 1 && c->out[1].bits && i < shape_count(&c->out[1].shape); i++) {
    if (dtype_is_float(c->out[1].dtype))
      c->out[1].f64[i] = 1;
    else
      c->out[1].i64[i] = 1;
  }
  return ASSAY_OK;
}

static const struct op_attr cast_attrs[] = {{"to", ATTR_INT, true, NULL}, {0}};
static const struct op_attr cast19_attrs[] = {{"saturate", ATTR_INT, false, "1"}, {"to", ATTR_INT, true, NULL}, {0}};
static const struct op_attr like19_attrs[] = {{"saturate", ATTR_INT, false, "1"}, {0}};
static const struct op_attr cast24_attrs[] = {
    {"round_mode", ATTR_STRING, false, "up"}, {"saturate", ATTR_INT, false, "1"}, {"to", ATTR_INT, true, NULL}, {0}};
static const struct op_attr like24_attrs[] = {
    {"round_mode", ATTR_STRING, false, "up"}, {"saturate", ATTR_INT, false, "1"}, {0}};
static const struct op_attr ratio_attrs[] = {{"ratio", ATTR_FLOAT, false, "0.5"}, {0}};
static const struct op_attr seed_attrs[] = {{"seed", ATTR_INT, false, NULL}, {0}};

static void pytorch_bit_cast(struct pytorch_writer *w, const struct node *n) {
  enum dtype t = DTYPE_FLOAT;
  dtype_by_number(node_int(n, "to", 1), &t);
  w->complete = w->complete && t != DTYPE_BOOL && w->values[n->inputs[0]].dtype != DTYPE_BOOL;
  pytorch_put_input(w, n, 0);
  buf_printf(w->out, ".view(torch.%s)", pytorch_dtype(t));
}

#define CAST(SINCE, ATTRS, EXAMPLE)                                                                                    \
  {                                                                                                                    \
    OP_ROW("Cast", SINCE, 1, 1, 1, 1, OP_ELEMENTWISE),                                                                 \
        .attrs = (ATTRS), .infer = infer_cast, .eval = eval_cast, .casts = true, .apart = op_apart_each,               \
        .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.write = pytorch_cast},                            \
        .doc =                                                                                                         \
            "The input as another type, given by its number in ONNX's TensorProto.DataType. Floating types round to "  \
            "nearest (float8 to its largest value beyond its range unless saturate = 0; float8e8m0 as round_mode "     \
            "says); to integers towards zero, wrapping, from float what single precision holds; to bool by comparing " \
            "with 0.",                                                                                                 \
        .example = (EXAMPLE)                                                                                           \
  }
#define CAST_LIKE(SINCE, ATTRS, EXAMPLE)                                                                               \
  {                                                                                                                    \
    OP_ROW("CastLike", SINCE, 2, 2, 1, 1, OP_ELEMENTWISE),                                                             \
        .attrs = (ATTRS), .infer = infer_cast_like, .eval = eval_cast, .casts = true,                                  \
        .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.text = "$0.to($1.dtype)"},                        \
        .doc = "The first input as the type of the second; see Cast.", .example = (EXAMPLE)                            \
  }
#define DROPOUT(SINCE, MAX_IN, ATTRS, EXAMPLE)                                                                         \
  {                                                                                                                    \
    OP_ROW("Dropout", SINCE, 1, MAX_IN, 1, 2, OP_MOVEMENT),                                                            \
        .attrs = (ATTRS), .infer = infer_dropout, .eval = eval_dropout, .cost = op_cost_none,                          \
        .errors = {OP_EXACT, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.none = PYTORCH_NOT_WRITTEN},                          \
        .doc =                                                                                                         \
            "The input unchanged, and a mask that is true everywhere: dropout as at inference. In training mode only " \
            "with ratio 0, because random elements cannot be compared.",                                               \
        .example = (EXAMPLE)                                                                                           \
  }

static const struct op_def rows[] = {
    {OP_ROW("Identity", 1, 1, 1, 1, 1, OP_MOVEMENT), .infer = op_infer_same, .eval = eval_identity,
     .cost = op_cost_none, .expr = "x", .errors = {OP_EXACT, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.text = "$0"},
     .doc = "The input unchanged.", .example = "(float[2,3] a) => (float[2,3] b) { b = Identity(a) }"},
    CAST(6, cast_attrs, NULL),
    CAST(19, cast19_attrs, NULL),
    CAST(24, cast24_attrs, "(float[2,3] a) => (float16[2,3] b) { b = Cast<to = 10>(a) }"),
    CAST_LIKE(15, NULL, NULL),
    CAST_LIKE(19, like19_attrs, NULL),
    CAST_LIKE(24, like24_attrs, "(float[2,3] a, int32[1] b) => (int32[2,3] c) { c = CastLike(a, b) }"),
    {OP_ROW("BitCast", 26, 1, 1, 1, 1, OP_ELEMENTWISE), .attrs = cast_attrs, .infer = bitcast_infer,
     .eval = bitcast_eval, .cost = op_cost_none, .errors = {OP_EXACT, OP_SMOOTH, OP_NO_SUM}, .steps = true,
     .pytorch = {.write = pytorch_bit_cast},
     .doc =
         "The input's bits read as another type of the same width, given by its number; a bool is 1 where any bit is.",
     .example = "(float[2,3] a) => (int32[2,3] b) { b = BitCast<to = 6>(a) }\n"
                "(int16[4] a) => (float[4] b) { c = BitCast<to = 10>(a) b = Cast<to = 1>(c) }\n"
                "(double[2,3] a) => (int64[2,3] b) { b = BitCast<to = 7>(a) }\n"
                "(int32[2,3] a, int32[1] s) => (float[2,3] b) { c = Mul(a, s) b = BitCast<to = 1>(c) }"},
    DROPOUT(7, 1, ratio_attrs, NULL),
    DROPOUT(10, 1, ratio_attrs, NULL),
    DROPOUT(12, 3, seed_attrs, "(float[2,3] a) => (float[2,3] b) { b, mask = Dropout(a) }"),
};

const struct op_family ops_convert_family = {"Identity and casts", rows, sizeof rows / sizeof rows[0]};
