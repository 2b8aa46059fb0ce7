// SPDX-License-Identifier: Apache-2.0
// Attention: softmax(Q K' scale + bias) V for every head, in blocks of queries, so that the scores of a whole
// sequence never exist at once.
#include <cblas.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parallel.h"
#include "ops/attention.h"
#include "ops/families.h"
#include "ops/gemm.h"
#include "ops/loops.h"
#include "ops/pytorch.h"

enum { QUERIES = 32 }; // in a block

enum { IN_Q, IN_K, IN_V, IN_MASK, IN_PAST_KEY, IN_PAST_VALUE, IN_LENGTHS };
enum { OUT_Y, OUT_KEY, OUT_VALUE, OUT_SCORES };
enum { SCORES_RAW, SCORES_CAPPED, SCORES_MASKED, SCORES_SOFTMAX }; // qk_matmul_output_mode

// [batch][head][position][element] somewhere in memory.
struct heads {
  const double *values;
  int64_t count, length, size; // heads, positions, elements of one
  int64_t batch_step, head_step, step;
};

struct attention {
  const struct arith *arith;
  enum dtype dtype; // of the result
  int64_t batch, past;
  struct heads q, k, v, y; // y.values is written
  double scale, softcap;
  bool causal;
  int64_t left, right; // window; -1: open
  const struct array *mask;
  int64_t mask_strides[4], mask_length;
  const int64_t *lengths; // valid keys of each batch, or NULL
  double *scores;         // output 3, or NULL
  int64_t scores_mode;
  atomic_bool failed;
};

// Heads of an input: four dimensions as they are, three split by the number of heads.
static bool heads_of(const struct array *a, int64_t count, struct heads *h) {
  const int64_t *d = a->shape.dims;
  if (a->shape.rank == 4) {
    *h = (struct heads){a->f64, d[1], d[2], d[3], d[1] * d[2] * d[3], d[2] * d[3], d[3]};
    return true;
  }
  if (a->shape.rank != 3 || count < 1 || d[2] % count != 0)
    return false;
  int64_t size = d[2] / count;
  *h = (struct heads){a->f64, count, d[1], size, d[1] * d[2], size, d[2]};
  return true;
}

static enum assay_status check_extents(const struct op_infer *c, const struct attention *a, struct assay_error *err) {
  if (a->k.count < 1 || a->q.count % a->k.count != 0 || a->v.count != a->k.count || a->k.size != a->q.size ||
      a->v.length != a->k.length)
    return op_invalid(c->node, err, "%lld query heads of %lld, %lld key heads of %lld and %lld value heads do not fit",
                      (long long)a->q.count, (long long)a->q.size, (long long)a->k.count, (long long)a->k.size,
                      (long long)a->v.count);
  for (int i = IN_Q; i <= IN_V; i++)
    if (c->in[i]->shape.dims[0] != a->batch)
      return op_invalid(c->node, err, "input %d has another batch than the queries", i);
  for (int i = IN_PAST_KEY; i <= IN_PAST_VALUE && a->past >= 0; i++) {
    const struct shape *s = &c->in[i]->shape;
    const struct heads *h = i == IN_PAST_KEY ? &a->k : &a->v;
    if (s->rank != 4 || s->dims[0] != a->batch || s->dims[1] != h->count || s->dims[2] != a->past ||
        s->dims[3] != h->size)
      return op_invalid(c->node, err, "input %d does not have the batch, heads and size of what it precedes", i);
  }
  return ASSAY_OK;
}

// The mask broadcasts to [batch, heads, queries, keys]; keys that it does not reach are masked.
static enum assay_status check_mask(const struct op_infer *c, struct attention *a, struct assay_error *err) {
  if (!op_has(c, IN_MASK))
    return ASSAY_OK;
  const struct array *mask = c->in[IN_MASK];
  char text[SHAPE_TEXT_BYTES];
  int rank = mask->shape.rank;
  a->mask = mask;
  a->mask_length = rank ? mask->shape.dims[rank - 1] : 0;
  struct shape joint, to = {.rank = 4, .dims = {a->batch, a->q.count, a->q.length, a->mask_length}};
  if (rank < 1 || rank > 4 || a->mask_length > a->k.length + (a->past > 0 ? a->past : 0) ||
      (!dtype_is_float(mask->dtype) && mask->dtype != DTYPE_BOOL) ||
      shape_broadcast(&mask->shape, &to, &joint, NULL) != ASSAY_OK || !shape_equal(&joint, &to))
    return op_invalid(c->node, err, "the mask of shape %s does not broadcast to the scores",
                      shape_text(&mask->shape, text));
  shape_broadcast_strides(&mask->shape, &to, a->mask_strides);
  return ASSAY_OK;
}

static enum assay_status attention_setup(const struct op_infer *c, struct attention *a, struct assay_error *err) {
  const struct node *node = c->node;
  enum assay_status status = ASSAY_OK;
  memset(a, 0, sizeof *a);
  for (int i = IN_Q; i <= IN_V && !status; i++) {
    status = loops_need_float(c, i, err);
    int64_t count = node_int(node, i == IN_Q ? "q_num_heads" : "kv_num_heads", 0);
    if (!status && !heads_of(c->in[i], count, i == IN_Q ? &a->q : i == IN_K ? &a->k : &a->v))
      return op_invalid(node, err,
                        "input %d must be [batch, heads, length, size], or [batch, length, heads * size] "
                        "with q_num_heads and kv_num_heads given",
                        i);
  }
  if (status)
    return status;
  a->batch = c->in[IN_Q]->shape.dims[0];
  a->past = -1;
  if (op_has(c, IN_PAST_KEY) != op_has(c, IN_PAST_VALUE) || (op_has(c, IN_PAST_KEY) && op_has(c, IN_LENGTHS)))
    return op_invalid(node, err, "past_key and past_value come together, and not with nonpad_kv_seqlen");
  if (op_has(c, IN_PAST_KEY))
    a->past = c->in[IN_PAST_KEY]->shape.rank == 4 ? c->in[IN_PAST_KEY]->shape.dims[2] : 0;
  if (op_has(c, IN_LENGTHS) &&
      (c->in[IN_LENGTHS]->dtype != DTYPE_INT64 || shape_count(&c->in[IN_LENGTHS]->shape) != a->batch))
    return op_invalid(node, err, "nonpad_kv_seqlen must hold one int64 for each of %lld batches", (long long)a->batch);
  status = check_extents(c, a, err);
  if (!status)
    status = check_mask(c, a, err);
  a->scale = node_float(node, "scale", 1 / sqrt((double)(a->q.size ? a->q.size : 1)));
  a->softcap = node_float(node, "softcap", 0);
  a->causal = node_int(node, "is_causal", 0) != 0;
  a->left = node_int(node, "left_window_size", -1);
  a->right = node_int(node, "right_window_size", -1);
  a->scores_mode = node_int(node, "qk_matmul_output_mode", 0);
  return status;
}

static enum assay_status attention_infer(struct op_infer *c, struct assay_error *err) {
  struct attention a;
  enum assay_status status = attention_setup(c, &a, err);
  if (status)
    return status;
  enum dtype t = c->in[IN_Q]->dtype;
  int64_t keys = a.k.length + (a.past > 0 ? a.past : 0);
  bool split = c->in[IN_Q]->shape.rank == 3;
  if (split)
    status = op_output(c, OUT_Y, t, 3, (const int64_t[]){a.batch, a.q.length, a.q.count * a.v.size}, err);
  else
    status = op_output(c, OUT_Y, t, 4, (const int64_t[]){a.batch, a.q.count, a.q.length, a.v.size}, err);
  if (!status)
    status = op_output(c, OUT_KEY, c->in[IN_K]->dtype, 4, (const int64_t[]){a.batch, a.k.count, keys, a.k.size}, err);
  if (!status)
    status = op_output(c, OUT_VALUE, c->in[IN_V]->dtype, 4, (const int64_t[]){a.batch, a.v.count, keys, a.v.size}, err);
  if (!status)
    status = op_output(c, OUT_SCORES, t, 4, (const int64_t[]){a.batch, a.q.count, a.q.length, keys}, err);
  return status;
}

static void attention_cost(const struct op_infer *c, struct op_cost *cost) {
  struct attention a;
  if (attention_setup(c, &a, NULL) != ASSAY_OK)
    return;
  double keys = (double)(a.k.length + (a.past > 0 ? a.past : 0));
  double scores = (double)a.batch * (double)a.q.count * (double)a.q.length * keys;
  cost->contraction_flops = 2 * scores * (double)(a.q.size + a.v.size);
  cost->flops = 7 * scores; // scale, mask, softmax
}

// Past and new positions, dense, in `to`; the heads then lie there.
static void append(struct heads *h, int64_t batch, const struct array *past, double *to) {
  int64_t old = past ? past->shape.dims[2] : 0;
  double *at = to;
  for (int64_t b = 0; b < batch; b++)
    for (int64_t i = 0; i < h->count; i++) {
      if (past)
        memcpy(at, past->f64 + (b * h->count + i) * old * h->size, (size_t)(old * h->size) * sizeof *at);
      at += old * h->size;
      for (int64_t p = 0; p < h->length; p++, at += h->size)
        memcpy(at, h->values + b * h->batch_step + i * h->head_step + p * h->step, (size_t)h->size * sizeof *at);
    }
  h->values = to;
  h->length += old;
  h->step = h->size;
  h->head_step = h->length * h->size;
  h->batch_step = h->count * h->head_step;
}

// One block of queries of one head.
struct block {
  const struct attention *a;
  int64_t batch, head, first, n;
  struct noise noise;
  double *scores, *t2, *bias; // [n][keys]
  double *sum, *sum_t2;       // [n][size of a value]
};

static bool visible(const struct block *b, int64_t query, int64_t key) {
  const struct attention *a = b->a;
  int64_t offset = a->past >= 0 ? a->past : a->lengths ? a->lengths[b->batch] - a->q.length : 0;
  int64_t at = query + offset;
  return (!a->causal || key <= at) && (a->left < 0 || at - key <= a->left) && (a->right < 0 || key - at <= a->right) &&
         (!a->lengths || key < a->lengths[b->batch]);
}

static double bias_of(const struct block *b, int64_t query, int64_t key) {
  const struct attention *a = b->a;
  if (!visible(b, query, key) || (a->mask && key >= a->mask_length))
    return -INFINITY;
  if (!a->mask)
    return 0;
  const int64_t *s = a->mask_strides;
  int64_t at = b->batch * s[0] + b->head * s[1] + query * s[2] + key * s[3];
  return dtype_is_float(a->mask->dtype) ? a->mask->f64[at] : a->mask->i64[at] ? 0 : -INFINITY;
}

static void expose(const struct block *b, int64_t mode) {
  const struct attention *a = b->a;
  int64_t keys = a->k.length;
  if (a->scores && a->scores_mode == mode)
    memcpy(a->scores + ((b->batch * a->q.count + b->head) * a->q.length + b->first) * keys, b->scores,
           (size_t)(b->n * keys) * sizeof(double));
}

// PyTorch's own stores products, scaled and masked scores, and weights.
static void store(struct block *b, int place) {
  const struct attention *a = b->a;
  if (!arith_stores_inside(a->arith, place, a->dtype))
    return;
  const struct arith storing = arith_storing_inside(a->arith, place);
  int64_t first = ((b->batch * a->q.count + b->head) * a->q.length + b->first) * a->k.length;
  for (int64_t i = 0; i < b->n * a->k.length; i++)
    b->scores[i] = arith_store(&storing, (uint64_t)(first + i), b->scores[i]);
}

// Kernels that go through the keys once store weights before they are divided by their sum, which they do not know yet,
// so that other ones lie near the type's numbers: hence a factor for the row.
static void store_weights(struct block *b) {
  const struct attention *a = b->a;
  int64_t keys = a->k.length, first = ((b->batch * a->q.count + b->head) * a->q.length + b->first) * keys;
  if (!arith_stores_inside(a->arith, ATTENTION_WEIGHTS, a->dtype))
    return;
  const struct arith storing = arith_storing_inside(a->arith, ATTENTION_WEIGHTS);
  for (int64_t r = 0; r < b->n; r++) {
    double factor = storing.exact ? 1 : 0.5 + 0.5 * rng_unit(noise_next(&b->noise));
    for (int64_t i = r * keys; i < (r + 1) * keys; i++)
      b->scores[i] = arith_store(&storing, (uint64_t)(first + i), b->scores[i] * factor) / factor;
  }
}

static void scores_finish(struct block *b) {
  const struct attention *a = b->a;
  int64_t n = b->n * a->k.length;
  for (int64_t i = 0; i < n; i++) {
    double y = b->scores[i];
    if (!a->arith->exact)
      y = arith_sum(a->arith, &b->noise, y, b->t2[i], (double)a->q.size, true);
    b->scores[i] = y;
  }
  store(b, ATTENTION_PRODUCT);
  for (int64_t i = 0; i < n; i++)
    b->scores[i] = arith_round(a->arith, &b->noise, b->scores[i] * a->scale);
  store(b, ATTENTION_SCORES);
  expose(b, SCORES_RAW);
  for (int64_t i = 0; i < n && a->softcap > 0; i++) {
    double y = tanh(arith_round(a->arith, &b->noise, b->scores[i] / a->softcap));
    y = arith_round_ulps(a->arith, &b->noise, y, 2);
    b->scores[i] = arith_round(a->arith, &b->noise, y * a->softcap);
  }
  expose(b, SCORES_CAPPED);
  for (int64_t i = 0; i < n; i++) {
    b->bias[i] = bias_of(b, b->first + i / a->k.length, i % a->k.length);
    if (b->bias[i] != 0)
      b->scores[i] = arith_round(a->arith, &b->noise, b->scores[i] + b->bias[i]);
  }
  if (a->softcap > 0 || a->mask)
    store(b, ATTENTION_MASKED);
  expose(b, SCORES_MASKED);
}

// In place; a row whose bias hides every key becomes zeros.
static void row_softmax(struct block *b, double *row, const double *bias) {
  const struct arith *a = b->a->arith;
  int64_t keys = b->a->k.length;
  double max = -INFINITY, open = -INFINITY;
  for (int64_t i = 0; i < keys; i++) {
    max = row[i] > max || isnan(row[i]) ? row[i] : max;
    open = fmax(open, bias[i]);
  }
  for (int64_t i = 0; i < keys; i++)
    row[i] = open == -INFINITY ? 0 : arith_round_power(a, &b->noise, exp(arith_round(a, &b->noise, row[i] - max)));
  if (open == -INFINITY)
    return;
  struct total t = loops_total(row, keys);
  double sum = arith_sum(a, &b->noise, t.y, t.t2, (double)keys, false);
  for (int64_t i = 0; i < keys; i++)
    row[i] = arith_round(a, &b->noise, row[i] / sum);
}

static enum assay_status block_run(struct block *b) {
  const struct attention *a = b->a;
  int64_t keys = a->k.length, kv = b->head / (a->q.count / a->k.count);
  bool exact = a->arith->exact;
  struct gemm qk = {
      .m = b->n, .n = keys, .k = a->q.size, .a_row = a->q.step, .a_col = 1, .b_row = 1, .b_col = a->k.step};
  qk.a = a->q.values + b->batch * a->q.batch_step + b->head * a->q.head_step + b->first * a->q.step;
  qk.b = a->k.values + b->batch * a->k.batch_step + kv * a->k.head_step;
  enum assay_status status = gemm_block(&qk, b->scores, exact ? NULL : b->t2, keys, NULL);
  if (status)
    return status;
  scores_finish(b);
  for (int64_t i = 0; i < b->n; i++)
    row_softmax(b, b->scores + i * keys, b->bias + i * keys);
  store_weights(b);
  expose(b, SCORES_SOFTMAX);
  struct gemm pv = {
      .m = b->n, .n = a->v.size, .k = keys, .a = b->scores, .a_row = keys, .a_col = 1, .b_row = a->v.step, .b_col = 1};
  pv.b = a->v.values + b->batch * a->v.batch_step + kv * a->v.head_step;
  status = gemm_block(&pv, b->sum, exact ? NULL : b->sum_t2, a->v.size, NULL);
  double *y = (double *)a->y.values + b->batch * a->y.batch_step + b->head * a->y.head_step + b->first * a->y.step;
  for (int64_t i = 0; i < b->n * a->v.size && !status; i++) {
    double sum = b->sum[i];
    if (!exact)
      sum = arith_sum(a->arith, &b->noise, sum, b->sum_t2[i], (double)keys, true);
    y[i / a->v.size * a->y.step + i % a->v.size] = sum;
  }
  return status;
}

// Queries or keys as they are where they were scaled and stored before their product: all of them, in their layout.
static enum assay_status store_scaled(struct op_eval *c, const struct attention *a, struct heads *h, int place,
                                      struct assay_error *err) {
  if (!arith_stores_inside(a->arith, place, a->dtype))
    return ASSAY_OK;
  const struct arith storing = arith_storing_inside(a->arith, place);
  double factor = attention_half_scale(a->scale), *to;
  int64_t n = a->batch * h->count * h->length * h->size;
  if (!(to = arena_calloc(c->scratch, (size_t)n + 1, sizeof *to)))
    return error_nomem(err, "scaled queries and keys");
  for (int64_t i = 0; i < n; i++)
    to[i] = arith_store(&storing, (uint64_t)i, h->values[i] * factor) / factor;
  h->values = to;
  return ASSAY_OK;
}

// Items: [batch][head][block of queries].
static void attention_range(void *arg, int64_t begin, int64_t end) {
  struct attention *a = arg;
  int64_t blocks = (a->q.length + QUERIES - 1) / QUERIES;
  size_t scores = (size_t)(QUERIES * a->k.length), sums = (size_t)(QUERIES * a->v.size);
  double *memory = base_alloc((3 * scores + 2 * sums + 1) * sizeof *memory);
  if (!memory)
    a->failed = true;
  for (int64_t item = begin; item < end && !a->failed; item++) {
    struct block b = {.a = a, .batch = item / blocks / a->q.count, .head = item / blocks % a->q.count};
    b.first = item % blocks * QUERIES;
    b.n = a->q.length - b.first < QUERIES ? a->q.length - b.first : QUERIES;
    b.noise = noise_at(a->arith->key, (uint64_t)item);
    b.scores = memory;
    b.t2 = memory + scores;
    b.bias = memory + 2 * scores;
    b.sum = memory + 3 * scores;
    b.sum_t2 = b.sum + sums;
    if (block_run(&b) != ASSAY_OK)
      a->failed = true;
  }
  base_free(memory);
}

static enum assay_status attention_eval(struct op_eval *c, struct assay_error *err) {
  struct op_infer as_infer = op_infer_of(c);
  struct attention a;
  enum assay_status status = attention_setup(&as_infer, &a, err);
  if (status)
    return status;
  for (int i = IN_K; i <= IN_V; i++) {
    struct heads *h = i == IN_K ? &a.k : &a.v;
    const struct array *past = a.past >= 0 ? c->in[i - IN_K + IN_PAST_KEY] : NULL;
    double *to = i < c->n_out ? c->out[i].f64 : NULL; // outputs 1 and 2 belong to inputs 1 and 2
    size_t n = (size_t)(a.batch * h->count * (h->length + (past ? a.past : 0)) * h->size);
    if (past && !to && !(to = arena_calloc(c->scratch, n + 1, sizeof *to)))
      return error_nomem(err, "keys and values");
    if (to)
      append(h, a.batch, past, to);
  }
  a.y = a.q;
  a.y.values = c->out[OUT_Y].f64;
  a.y.size = a.v.size;
  bool split = c->in[IN_Q]->shape.rank == 3;
  a.y.step = split ? a.q.count * a.v.size : a.v.size;
  a.y.head_step = split ? a.v.size : a.q.length * a.v.size;
  a.y.batch_step = a.q.length * a.q.count * a.v.size;
  a.arith = &c->arith;
  a.dtype = c->out[OUT_Y].dtype;
  a.lengths = op_has(&as_infer, IN_LENGTHS) ? c->in[IN_LENGTHS]->i64 : NULL;
  a.scores = c->n_out > OUT_SCORES ? c->out[OUT_SCORES].f64 : NULL;
  status = store_scaled(c, &a, &a.q, ATTENTION_QUERIES, err);
  if (!status)
    status = store_scaled(c, &a, &a.k, ATTENTION_KEYS, err);
  if (status)
    return status;
  openblas_set_num_threads(1);
  parallel_for(c->threads, a.batch * a.q.count * ((a.q.length + QUERIES - 1) / QUERIES), 1, attention_range, &a);
  return a.failed ? error_nomem(err, "attention scores") : ASSAY_OK;
}

#define ATTENTION_ATTRS                                                                                                \
  {"is_causal", ATTR_INT, false, "0"}, {"kv_num_heads", ATTR_INT, false, "the keys' second dimension"},                \
      {"q_num_heads", ATTR_INT, false, "the queries' second dimension"},                                               \
      {"qk_matmul_output_mode", ATTR_INT, false, "0"}, {"scale", ATTR_FLOAT, false, "1 / sqrt(size of a head)"},       \
      {"softcap", ATTR_FLOAT, false, "0: none"}, {                                                                     \
    "softmax_precision", ATTR_INT, false, "ignored: the contract decides"                                              \
  }

static const struct op_attr attention_attrs[] = {ATTENTION_ATTRS, {NULL, 0, false, NULL}};
static const struct op_attr attention_attrs_25[] = {
    ATTENTION_ATTRS,
    {"left_window_size", ATTR_INT, false, "-1: open"},
    {"right_window_size", ATTR_INT, false, "-1: open"},
    {NULL, 0, false, NULL},
};

// Of queries and keys. Past keys would stay as they are.
static bool attention_contracted(const struct op_infer *c, int which, struct op_contracted *out) {
  *out = (struct op_contracted){.axis = {c->in[IN_Q]->shape.rank - 1, c->in[IN_K]->shape.rank - 1}};
  return which == 0 && !node_has_input(c->node, IN_PAST_KEY);
}

#define ATTENTION(version, inputs, attributes)                                                                         \
  .name = "Attention", .domain = "", .since = version, .min_in = 3, .max_in = inputs, .min_out = 1, .max_out = 4,      \
  .class = OP_CONTRACTION, .attrs = attributes, .infer = attention_infer, .eval = attention_eval,                      \
  .cost = attention_cost, .contracted = attention_contracted, .factors = 3, .factors_inside = true,                    \
  .errors = {OP_MAY_ROUND, OP_STEEP, OP_SUM_OF_MANY}, .stores_inside = true, .pytorch = {.write = pytorch_attention}

static const struct op_def attention_rows[] = {
    {ATTENTION(23, 6, attention_attrs),
     .doc = "softmax(Q K' scale + mask) V for every head; several query heads may share one key and value head. Output "
            "3 exposes the scores: raw, after softcap, after the mask, or after the softmax, by qk_matmul_output_mode.",
     .example = "(float[2,3,4,8] q, float[2,3,6,8] k, float[2,3,6,5] v) => (float[2,3,4,5] y) "
                "{ y = Attention<is_causal = 1>(q, k, v) }\n"
                "(float[2,4,24] q, float[2,6,8] k, float[2,6,8] v, float[4,6] m) => (float[2,4,24] y) "
                "{ y = Attention<q_num_heads = 3, kv_num_heads = 1, softcap = 2.0>(q, k, v, m) }"},
    {ATTENTION(24, 7, attention_attrs),
     .doc = "As in version 23; nonpad_kv_seqlen (input 6) says how many keys of each batch are valid."},
    {ATTENTION(25, 7, attention_attrs_25),
     .doc = "As in version 24, with a window of keys around each query's own position.",
     .example = "(float[1,2,6,8] q, float[1,2,6,8] k, float[1,2,6,8] v) => (float[1,2,6,8] y) "
                "{ y = Attention<left_window_size = 2, right_window_size = 0>(q, k, v) }"},
};

const struct op_family ops_attention_family = {
    .name = "Attention", .rows = attention_rows, .n_rows = sizeof attention_rows / sizeof attention_rows[0]};
