// SPDX-License-Identifier: Apache-2.0
// Attention on a device: the two products of contraction.c with a softmax between them, for as many heads at once as
// their scores fit into a part of the memory.
#include "oracle/cuda/move.h"
#include "oracle/cuda/norm.h"
#include "ops/attention.h"

#include <math.h>
#include <string.h>

#include "oracle/cuda/attention_args.h"
#include "oracle/cuda/contraction.h"
#include "oracle/cuda/gpu_run.h"
#include "oracle/cuda/gpu_table.h"

extern const char code_attention_args[], code_attention[];
static const struct device_code program = {
    "attention", (const char *const[]){GPU_COMMON_TEXTS, code_attention_args, code_attention, NULL}, false};

enum { IN_Q, IN_K, IN_V, IN_MASK, IN_PAST_KEY, IN_PAST_VALUE, IN_LENGTHS };
enum { OUT_Y, OUT_KEY, OUT_VALUE, OUT_SCORES };
enum { SCORES_SOFTMAX = 3 };                               // qk_matmul_output_mode
enum { SCORES_SHARE = 8 };                                 // of the free memory
enum { PHASES = 8, PHASE_QK = 4, PHASE_SCORES, PHASE_PV }; // of a slab; softmax takes the first ones

// [batch][head][position][element] somewhere in memory.
struct heads {
  struct gpu_ref values;
  int64_t count, length, size; // heads, positions, elements of one
  int64_t batch_step, head_step, step;
};

struct attention {
  struct heads q, k, v;
  int64_t batch, past;
  double scale;
  bool split; // heads lie within the last dimension of queries and result
};

// Heads of an input: four dimensions as they are, three split by the number of heads.
static struct heads heads_of(const struct gpu_array *a, int64_t count) {
  const int64_t *d = a->shape.dims;
  struct gpu_ref r = gpu_ref_of(a);
  if (a->shape.rank == 4)
    return (struct heads){r, d[1], d[2], d[3], d[1] * d[2] * d[3], d[2] * d[3], d[3]};
  return (struct heads){r, count, d[1], d[2] / count, d[1] * d[2], d[2] / count, d[2]};
}

static const struct gpu_array *input(const struct gpu_eval *c, int i) {
  return i < c->n_in ? c->in[i] : NULL;
}
static device_ptr output(const struct gpu_eval *c, int i) {
  return i < c->n_out ? c->out[i].data : 0;
}

// Copies past and new positions, dense, to `to`; the heads are then read from there.
static enum assay_status append(struct gpu_eval *c, struct heads *h, int64_t batch, const struct gpu_array *now,
                                const struct gpu_array *past, device_ptr to, struct assay_error *err) {
  int64_t old = past ? past->shape.dims[2] : 0, length = old + h->length, n = h->size;
  int64_t to_steps[4] = {h->count * length * n, length * n, n, 1};
  struct gpu_strided s = {.rank = 4,
                          .dims = {batch, h->count, h->length, n},
                          .from = {h->batch_step, h->head_step, h->step, 1},
                          .y_begin = old * n};
  memcpy(s.to, to_steps, sizeof to_steps);
  enum assay_status status = gpu_strided_copy(c, &s, now, to, err);
  if (!status && past) {
    struct gpu_strided p = {.rank = 4, .dims = {batch, h->count, old, n}, .from = {h->count * old * n, old * n, n, 1}};
    memcpy(p.to, to_steps, sizeof to_steps);
    status = gpu_strided_copy(c, &p, past, to, err);
  }
  *h = (struct heads){gpu_ref_f64(to), h->count, length, n, to_steps[0], to_steps[1], n};
  return status;
}

static enum assay_status setup(struct gpu_eval *c, struct attention *a, struct assay_error *err) {
  int64_t kv = node_int(c->node, "kv_num_heads", 0);
  *a = (struct attention){.q = heads_of(c->in[IN_Q], node_int(c->node, "q_num_heads", 0)),
                          .k = heads_of(c->in[IN_K], kv),
                          .v = heads_of(c->in[IN_V], kv),
                          .batch = c->in[IN_Q]->shape.dims[0],
                          .past = -1,
                          .split = c->in[IN_Q]->shape.rank == 3};
  a->scale = node_float(c->node, "scale", 1 / sqrt((double)(a->q.size ? a->q.size : 1)));
  if (input(c, IN_PAST_KEY))
    a->past = c->in[IN_PAST_KEY]->shape.dims[2];
  enum assay_status status = ASSAY_OK;
  for (int i = IN_K; i <= IN_V && !status; i++) {
    struct heads *h = i == IN_K ? &a->k : &a->v;
    const struct gpu_array *past = input(c, i - IN_K + IN_PAST_KEY);
    device_ptr to = output(c, i - IN_K + OUT_KEY);
    if (past && !to)
      status = gpu_scratch(c, a->batch * h->count * (h->length + a->past) * h->size, &to, err);
    if (!status && to)
      status = append(c, h, a->batch, c->in[i], past, to, err);
  }
  return status;
}

// A slab: whole batches, or some of the heads of one: those of key heads [first_kv, first_kv + n_kv).
struct slab {
  int64_t first_batch, batches, first_kv, n_kv, number;
};

static struct gpu_ref ahead(const struct heads *h, int64_t batch, int64_t head) {
  struct gpu_ref r = h->values;
  r.data += (uint64_t)(batch * h->batch_step + head * h->head_step) * gpu_storage_bytes((enum gpu_storage)r.storage);
  return r;
}

static struct gpu_arith slab_arith(const struct gpu_eval *c, const struct slab *s, int phase) {
  return gpu_arith_phase(c, (uint64_t)(s->number * PHASES + phase));
}

// Each of the operands' heads for each batch; `times` heads of the result share one.
static struct product_group slab_batches(const struct slab *s, const struct heads *h, int64_t n_heads, int64_t times) {
  return (struct product_group){
      .n = 3, .extent = {s->batches, n_heads, times}, .stride = {h->batch_step, h->head_step, 0}};
}

static bool stores(const struct gpu_eval *c, int place) {
  return arith_stores_inside(&c->arith, place, c->out[OUT_Y].dtype);
}

// As store_scaled() of ops/attention.c: queries or keys, dense, as they are where they were scaled and stored.
static enum assay_status store_scaled(struct gpu_eval *c, const struct attention *a, struct heads *h, int place,
                                      struct assay_error *err) {
  if (!stores(c, place))
    return ASSAY_OK;
  const struct arith storing = arith_storing_inside(&c->arith, place);
  int64_t n = a->batch * h->count * h->length * h->size;
  struct gpu_array from = {
      .dtype = DTYPE_DOUBLE, .storage = (enum gpu_storage)h->values.storage, .data = h->values.data};
  struct gpu_strided s = {.rank = 1, .dims = {n}, .from = {1}, .to = {1}};
  struct attention_args g = {.arith = gpu_arith_phase(c, 0), .batches = 1, .heads = 1, .queries = n, .keys = 1};
  enum assay_status status = gpu_scratch(c, n, &g.scores, err);
  if (!status)
    status = gpu_strided_copy(c, &s, &from, g.scores, err);
  g.arith.exact = true; // this scale is no step of the operator's
  for (int back = 0; back < 2 && !status; back++) {
    double factor = attention_half_scale(a->scale);
    g.scale = back ? 1 / factor : factor;
    status = compute_launch(c->compute, &program, "attention_scale", n, &g, sizeof g, err);
    if (!status && !back)
      status = gpu_round(c->compute, c->out[OUT_Y].dtype, g.scores, n, &storing, err);
  }
  h->values = gpu_ref_f64(g.scores);
  return status;
}

static enum assay_status scores(struct gpu_eval *c, const struct attention *a, const struct slab *s, device_ptr to,
                                struct assay_error *err) {
  int64_t times = a->q.count / a->k.count, heads = s->n_kv * times;
  struct product p = {.batches = s->batches * heads,
                      .m = a->q.length,
                      .n = a->k.length,
                      .k = a->q.size,
                      .a = ahead(&a->q, s->first_batch, s->first_kv * times),
                      .b = ahead(&a->k, s->first_batch, s->first_kv),
                      .a_batch = slab_batches(s, &a->q, heads, 1),
                      .a_line = product_line(a->q.length, a->q.step),
                      .a_depth = product_line(a->q.size, 1),
                      .b_batch = slab_batches(s, &a->k, s->n_kv, times),
                      .b_line = product_line(a->k.length, a->k.step),
                      .b_depth = product_line(a->k.size, 1),
                      .arith = slab_arith(c, s, PHASE_QK),
                      .out = to,
                      .products = true,
                      .sums = true,
                      .alpha = stores(c, ATTENTION_PRODUCT) ? 1 : a->scale,
                      .beta = 1};
  return product_run(c, &p, err);
}

// The result, [batches][heads][queries][size].
static enum assay_status values(struct gpu_eval *c, const struct attention *a, const struct slab *s, device_ptr weights,
                                device_ptr to, struct assay_error *err) {
  int64_t times = a->q.count / a->k.count, heads = s->n_kv * times, keys = a->k.length;
  struct product p = {.batches = s->batches * heads,
                      .m = a->q.length,
                      .n = a->v.size,
                      .k = keys,
                      .a = gpu_ref_f64(weights),
                      .b = ahead(&a->v, s->first_batch, s->first_kv),
                      .a_batch = product_line(s->batches * heads, a->q.length * keys),
                      .a_line = product_line(a->q.length, keys),
                      .a_depth = product_line(keys, 1),
                      .b_batch = slab_batches(s, &a->v, s->n_kv, times),
                      .b_line = product_line(a->v.size, 1),
                      .b_depth = product_line(keys, a->v.step),
                      .arith = slab_arith(c, s, PHASE_PV),
                      .out = to,
                      .products = true,
                      .sums = true,
                      .alpha = 1,
                      .beta = 1};
  return product_run(c, &p, err);
}

static struct attention_args slab_args(const struct gpu_eval *c, const struct attention *a, const struct slab *s,
                                       device_ptr to) {
  int64_t times = a->q.count / a->k.count;
  const struct gpu_array *mask = input(c, IN_MASK), *lengths = input(c, IN_LENGTHS);
  struct attention_args g = {.arith = slab_arith(c, s, PHASE_SCORES),
                             .scores = to,
                             .exposed = output(c, OUT_SCORES),
                             .batches = s->batches,
                             .heads = s->n_kv * times,
                             .queries = a->q.length,
                             .keys = a->k.length,
                             .first_batch = s->first_batch,
                             .first_head = s->first_kv * times,
                             .all_heads = a->q.count,
                             .past = a->past,
                             .left = node_int(c->node, "left_window_size", -1),
                             .right = node_int(c->node, "right_window_size", -1),
                             .softcap = node_float(c->node, "softcap", 0),
                             .scale = a->scale,
                             .causal = node_int(c->node, "is_causal", 0) != 0,
                             .exposed_mode = (int32_t)node_int(c->node, "qk_matmul_output_mode", 0)};
  if (mask) {
    g.mask = gpu_ref_of(mask);
    g.mask_length = mask->shape.dims[mask->shape.rank - 1];
    struct shape all = {.rank = 4, .dims = {a->batch, a->q.count, a->q.length, g.mask_length}};
    shape_broadcast_strides(&mask->shape, &all, g.mask_strides);
  }
  if (lengths)
    g.lengths = gpu_ref_of(lengths);
  return g;
}

// As store() of ops/attention.c; each slab has random numbers of its own.
static enum assay_status store(struct gpu_eval *c, const struct slab *s, int place, device_ptr values, int64_t n,
                               struct assay_error *err) {
  if (!stores(c, place))
    return ASSAY_OK;
  struct arith storing = arith_storing_inside(&c->arith, place);
  storing.key = noise_derive(storing.key, (uint64_t)s->number);
  return gpu_round(c->compute, c->out[OUT_Y].dtype, values, n, &storing, err);
}

// As store_weights() there: times a factor for the row, rounded, divided by it.
static enum assay_status store_weights(struct gpu_eval *c, const struct slab *s, const struct attention_args *like,
                                       int64_t n, struct assay_error *err) {
  const struct arith storing = arith_storing_inside(&c->arith, ATTENTION_WEIGHTS);
  bool stretched = stores(c, ATTENTION_WEIGHTS) && !storing.exact;
  struct attention_args g = *like;
  g.arith.key = noise_derive(noise_derive(storing.key, (uint64_t)s->number), 1);
  enum assay_status status = ASSAY_OK;
  if (stretched)
    status = compute_launch(c->compute, &program, "attention_stretch", n, &g, sizeof g, err);
  if (!status)
    status = store(c, s, ATTENTION_WEIGHTS, g.scores, n, err);
  if (!status && stretched)
    status = compute_launch(c->compute, &program, "attention_shrink", n, &g, sizeof g, err);
  return status;
}

// From products to weights, in place: cap, mask, softmax; a row whose positions are all masked becomes zero.
static enum assay_status weigh(struct gpu_eval *c, const struct attention *a, const struct slab *s, device_ptr to,
                               struct assay_error *err) {
  struct attention_args g = slab_args(c, a, s, to);
  int64_t rows = g.batches * g.heads * g.queries, n = rows * g.keys;
  bool hides = g.mask.data || g.lengths.data || g.causal || g.left >= 0 || g.right >= 0;
  struct gpu_softmax m = {.shape = {.rank = 2, .dims = {rows, g.keys}},
                          .axes = 1u << 1,
                          .x = gpu_ref_f64(to),
                          .y = to,
                          .phase = (uint64_t)(s->number * PHASES)};
  enum assay_status status = store(c, s, ATTENTION_PRODUCT, to, n, err);
  if (!status && stores(c, ATTENTION_PRODUCT))
    status = compute_launch(c->compute, &program, "attention_scale", n, &g, sizeof g, err);
  if (!status)
    status = store(c, s, ATTENTION_SCORES, to, n, err);
  if (!status && (hides || g.softcap > 0 || (g.exposed && g.exposed_mode != SCORES_SOFTMAX)))
    status = compute_launch(c->compute, &program, "attention_scores", n, &g, sizeof g, err);
  if (!status && (g.softcap > 0 || g.mask.data))
    status = store(c, s, ATTENTION_MASKED, to, n, err);
  if (!status && n > 0)
    status = gpu_softmax(c, &m, err);
  if (!status && n > 0)
    status = store_weights(c, s, &g, n, err);
  if (!status && hides)
    status = compute_launch(c->compute, &program, "attention_hidden", rows, &g, sizeof g, err);
  if (!status && g.exposed && g.exposed_mode == SCORES_SOFTMAX)
    status = compute_launch(c->compute, &program, "attention_weights", n, &g, sizeof g, err);
  return status;
}

// Copies [batches][heads][queries][size] to the slab's place in a result whose heads lie within its last dimension.
static enum assay_status place_split(struct gpu_eval *c, const struct attention *a, const struct slab *s,
                                     device_ptr from, struct assay_error *err) {
  int64_t times = a->q.count / a->k.count, heads = s->n_kv * times, all = a->q.count * a->v.size, n = a->v.size;
  struct gpu_array x = {.dtype = DTYPE_DOUBLE, .storage = GPU_F64, .data = from};
  struct gpu_strided t = {
      .rank = 4,
      .dims = {s->batches, heads, a->q.length, n},
      .from = {heads * a->q.length * n, a->q.length * n, n, 1},
      .to = {a->q.length * all, n, all, 1},
      .y_begin = s->first_batch * a->q.length * all + s->first_kv * times * n,
  };
  return gpu_strided_copy(c, &t, &x, c->out[OUT_Y].data, err);
}

static enum assay_status run_slab(struct gpu_eval *c, const struct attention *a, const struct slab *s, device_ptr to,
                                  device_ptr result, struct assay_error *err) {
  int64_t head = s->first_batch * a->q.count + s->first_kv * (a->q.count / a->k.count);
  device_ptr y = result ? result : c->out[OUT_Y].data + (uint64_t)(head * a->q.length * a->v.size) * 8;
  enum assay_status status = scores(c, a, s, to, err);
  if (!status)
    status = weigh(c, a, s, to, err);
  if (!status)
    status = values(c, a, s, to, y, err);
  return status || !result ? status : place_split(c, a, s, result, err);
}

// How many batches, or key heads of one, go at once.
static struct slab slab_size(struct gpu_eval *c, const struct attention *a) {
  struct compute_memory memory;
  compute_memory(c->compute, &memory);
  int64_t one = (a->q.count / a->k.count) * a->q.length * (a->k.length + a->v.size) * 8 + 1; // of a key head
  int64_t most = (int64_t)(memory.available / SCORES_SHARE) / one;
  struct slab s = {.batches = most / a->k.count, .n_kv = a->k.count};
  if (s.batches < 1) {
    s.batches = 1;
    s.n_kv = most < 1 ? 1 : most < a->k.count ? most : a->k.count;
  }
  s.batches = s.batches > a->batch ? a->batch : s.batches;
  return s;
}

enum assay_status gpu_attention_eval(struct gpu_eval *c, struct assay_error *err) {
  struct attention a;
  device_ptr to = 0, result = 0;
  enum assay_status status = setup(c, &a, err);
  if (status || a.batch == 0)
    return status;
  status = store_scaled(c, &a, &a.q, ATTENTION_QUERIES, err);
  if (!status)
    status = store_scaled(c, &a, &a.k, ATTENTION_KEYS, err);
  if (status)
    return status;
  struct slab size = slab_size(c, &a), s = {0};
  int64_t queries = size.batches * size.n_kv * (a.q.count / a.k.count) * a.q.length;
  status = gpu_scratch(c, queries * a.k.length, &to, err);
  if (!status && a.split)
    status = gpu_scratch(c, queries * a.v.size, &result, err);
  for (s.first_batch = 0; s.first_batch < a.batch && !status; s.first_batch += size.batches)
    for (s.first_kv = 0; s.first_kv < a.k.count && !status; s.first_kv += size.n_kv, s.number++) {
      s.batches = a.batch - s.first_batch < size.batches ? a.batch - s.first_batch : size.batches;
      s.n_kv = a.k.count - s.first_kv < size.n_kv ? a.k.count - s.first_kv : size.n_kv;
      status = run_slab(c, &a, &s, to, result, err);
    }
  return status;
}
