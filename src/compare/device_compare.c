// SPDX-License-Identifier: Apache-2.0
#include "compare/device_compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "compare/device_compare_args.h"
#include "compare/layout.h"
#include "compare/score.h"

extern const char code_formats[], code_device_compare_args[], code_device_compare[];
static const char *const texts[] = {code_formats, code_device_compare_args, code_device_compare, NULL};
const struct device_code device_compare_code = {.name = "compare", .texts = texts, .exact = true};

_Static_assert((int)COMPARE_BINS == (int)COMPARE_HISTOGRAM, "one histogram, said twice");

// THREADS share the elements; their sums are merged by TARGETS threads and then by the host.
enum { THREADS = 1 << 17, TARGETS = 512, RESULTS = 4 };

// A hint uses the whole output up to this many elements, otherwise a part of that many.
enum { HINT_ELEMENTS = 1 << 24 };

struct comparison {
  struct compute *compute;
  const struct compare_device_input *in;
  struct compare_input host; // the same without tensors: for the scorer
  struct scorer scorer;
  struct compare_args args;
  device_ptr z, sums, merged, result;
  struct partial total;
};

static void describe(struct comparison *k) {
  struct small_format small;
  const struct compare_device_input *in = k->in;
  const struct compare_input *terms = &k->host;
  struct compare_args *a = &k->args;
  enum dtype t = terms->type.dtype;
  *a = (struct compare_args){.got = in->got,
                             .want = in->want,
                             .sigma = in->sigma,
                             .n = tensor_type_count(&terms->type),
                             .u_out = terms->u_out,
                             .eta_out = terms->eta_out,
                             .z_limit = k->scorer.z_limit,
                             .sigma_floor = k->scorer.sigma_floor,
                             .overflow = k->scorer.overflow,
                             .rtol = terms->rtol,
                             .atol = terms->atol,
                             .loose = terms->loose,
                             .bytes = (int32_t)dtype_bytes(t),
                             .format_bits = k->scorer.format.bits,
                             .format_min_exponent = k->scorer.format.min_exponent,
                             .no_infinity = k->scorer.no_infinity,
                             .poison = terms->poison,
                             .has_poison = terms->has_poison};
  a->threads = a->n < THREADS ? a->n : THREADS;
  a->storage = t == DTYPE_FLOAT ? COMPARE_F32 : t == DTYPE_DOUBLE ? COMPARE_F64 : COMPARE_INTEGER;
  if (dtype_small_format(t, &small)) {
    a->storage = COMPARE_SMALL;
    a->exponent_bits = small.exponent_bits;
    a->mantissa_bits = small.mantissa_bits;
    a->finite_only = small.finite_only;
  }
  a->is_signed = t == DTYPE_INT8 || t == DTYPE_INT16 || t == DTYPE_INT32 || t == DTYPE_INT64;
  a->is_unsigned64 = t == DTYPE_UINT64;
}

static enum assay_status launch(struct comparison *k, const char *kernel, int64_t n, const void *args, size_t bytes,
                                struct assay_error *err) {
  return compute_launch(k->compute, &device_compare_code, kernel, n, args, bytes, err);
}

// Counts and sums over all elements.
static enum assay_status count(struct comparison *k, struct assay_error *err) {
  struct compare_sums *sums = base_calloc(TARGETS, sizeof *sums);
  struct compare_merge_args m = {.sums = k->sums, .merged = k->merged, .threads = k->args.threads, .targets = TARGETS};
  if (!sums)
    return error_nomem(err, "the facts of a comparison");
  k->args.z = k->z;
  k->args.sums = k->sums;
  enum assay_status status = launch(k, "compare_elements", k->args.threads, &k->args, sizeof k->args, err);
  if (!status)
    status = launch(k, "compare_merge", TARGETS, &m, sizeof m, err);
  if (!status)
    status = compute_download(k->compute, sums, k->merged, TARGETS * sizeof *sums, err);
  for (int i = 0; i < TARGETS && !status; i++) {
    const struct compare_sums *s = &sums[i];
    struct partial p = {.n_nan = (int64_t)s->n_nan,
                        .n_inf = (int64_t)s->n_inf,
                        .n_poison = (int64_t)s->n_poison,
                        .n_exact = (int64_t)s->n_exact,
                        .n_over = (int64_t)s->n_over,
                        .n_not_close = (int64_t)s->n_not_close,
                        .n_not_loose = (int64_t)s->n_not_loose,
                        .first_over = s->first_over,
                        .last_over = s->last_over,
                        .max_abs = s->max_abs,
                        .max_rel = s->max_rel,
                        .z_max = s->z_max,
                        .sum_z = s->sum_z,
                        .sum_z_outward = s->sum_z_outward,
                        .sum_z_size = s->sum_z_size,
                        .sum_size2 = s->sum_size2,
                        .infinite = s->infinite};
    for (int b = 0; b < COMPARE_BINS; b++)
      p.histogram[b] = (int64_t)s->histogram[b];
    merge_partial(&k->total, &p);
  }
  k->total.n = k->args.n;
  base_free(sums);
  return status;
}

static int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// How many groups of `size` the parts of n make together (size 0: one each).
static int64_t groups_of(int64_t n, int64_t parts, int64_t size) {
  int64_t count = 0;
  for (int64_t i = 0; i < parts; i++)
    count += size ? ceil_div(part_begin(n, parts, i + 1) - part_begin(n, parts, i), size) : 1;
  return count;
}

// Mean squares over rows, column blocks and tiles.
static enum assay_status group(struct comparison *k, struct assay_error *err) {
  struct panels l;
  double result[RESULTS];
  panels_init(&l, &k->host.type.shape);
  const int64_t tall[] = {0, l.pooled_rows, 0, l.tile_rows}, wide[] = {0, 0, l.pooled_columns, l.tile_columns};
  enum assay_status status = compute_set32(k->compute, k->result, 0, RESULTS * 2, err);
  for (int slot = 1; slot < RESULTS && !status; slot++) {
    struct compare_group_args a = {.z = k->z,
                                   .result = k->result,
                                   .rows = l.rows,
                                   .columns = l.columns,
                                   .down = l.down,
                                   .across = l.across,
                                   .rows_a_group = tall[slot],
                                   .columns_a_group = wide[slot],
                                   .slots_down = tall[slot] ? ceil_div(l.panel_rows, tall[slot]) : 1,
                                   .slots_across = wide[slot] ? ceil_div(l.panel_columns, wide[slot]) : 1,
                                   .slot = slot,
                                   .add_sum = slot == 1,
                                   .group_min = GROUP_MIN};
    status = launch(k, "compare_groups", l.down * l.across * a.slots_down * a.slots_across, &a, sizeof a, err);
    k->total.n_groups += groups_of(l.rows, l.down, tall[slot]) * groups_of(l.columns, l.across, wide[slot]);
  }
  if (!status)
    status = compute_download(k->compute, result, k->result, sizeof result, err);
  if (status)
    return status;
  k->total.sum_z2 = result[0];
  k->total.row2 = result[1];
  k->total.column2 = result[2];
  k->total.tile2 = result[3];
  k->total.n_rows = l.rows;
  return ASSAY_OK;
}

// The threads that hold the worst elements: the COMPARE_WORST worst lie in as many threads, and each of these has one
// of the largest maxima.
static int worst_threads(const double *worst, int64_t n, int64_t *list) {
  int count = 0;
  for (int64_t i = 0; i < n; i++) {
    if (!(worst[i] > 0) || (count == COMPARE_WORST && worst[i] <= worst[list[count - 1]]))
      continue;
    int at = count < COMPARE_WORST ? count++ : count - 1;
    for (; at > 0 && worst[i] > worst[list[at - 1]]; at--)
      list[at] = list[at - 1];
    list[at] = i;
  }
  return count;
}

struct gathered {
  unsigned char *got;
  uint64_t *want;
  float *sigma;
};

// Scores the gathered elements on the host and keeps the worst.
static void keep_gathered(struct comparison *k, const struct gathered *g, const int64_t *list, int n, int64_t steps) {
  struct compare_input in = k->host;
  in.got = g->got;
  in.want = k->scorer.floating ? (const double *)(const void *)g->want : NULL;
  in.want_int = k->scorer.floating ? NULL : (const int64_t *)(const void *)g->want;
  in.sigma = g->sigma;
  in.has_poison = false; // its phase depends on the element's true place; counted already
  struct scorer s = k->scorer;
  s.in = &in;
  for (int t = 0; t < n; t++)
    for (int64_t step = 0; step < steps; step++) {
      int64_t index = list[t] + step * k->args.threads;
      struct segment one;
      if (index >= k->args.n)
        break;
      score(&s, t * steps + step, 1, &one);
      if (one.z[0] == 0 && !(one.flags[0] & SCORE_OVER))
        continue;
      struct compare_element e = {.index = index, .got = one.got[0], .want = one.want[0], .z = fabs(one.z[0])};
      e.allowed = score_allowed(&s, t * steps + step);
      keep_worst(&k->total, &e, one.flags[0] & (SCORE_NAN | SCORE_INF));
    }
}

static enum assay_status download_gathered(struct comparison *k, const struct compare_gather_args *a, int64_t n,
                                           struct gathered *g, struct assay_error *err) {
  enum assay_status status = launch(k, "compare_gather", n, a, sizeof *a, err);
  if (!status)
    status = compute_download(k->compute, g->got, a->out, (size_t)n * (size_t)k->args.bytes, err);
  if (!status)
    status = compute_download(k->compute, g->want, a->out_want, (size_t)n * sizeof *g->want, err);
  if (!status && k->scorer.floating)
    status = compute_download(k->compute, g->sigma, a->out_sigma, (size_t)n * sizeof *g->sigma, err);
  return status;
}

static enum assay_status find_worst(struct comparison *k, struct assay_error *err) {
  int64_t threads = k->args.threads, steps = ceil_div(k->args.n, threads), list[COMPARE_WORST];
  struct compare_merge_args m = {.sums = k->sums, .merged = k->merged, .threads = threads};
  struct gathered g = {0};
  device_ptr memory = 0;
  double *worst = base_alloc((size_t)threads * sizeof *worst);
  enum assay_status status =
      worst ? launch(k, "compare_worst", threads, &m, sizeof m, err) : error_nomem(err, "the facts of a comparison");
  if (!status)
    status = compute_download(k->compute, worst, k->merged, (size_t)threads * sizeof *worst, err);
  int n = status ? 0 : worst_threads(worst, threads, list);
  if (n > 0) {
    int64_t count = n * steps;
    g.got = base_calloc((size_t)count, (size_t)k->args.bytes);
    g.want = base_calloc((size_t)count, sizeof *g.want);
    g.sigma = base_calloc((size_t)count, sizeof *g.sigma);
    if (!g.got || !g.want || !g.sigma)
      status = error_nomem(err, "the facts of a comparison");
    if (!status)
      status = compute_alloc(k->compute, (size_t)count * 24 + 256, &memory, err);
    if (!status)
      status = compute_upload(k->compute, memory, list, (size_t)n * sizeof *list, err);
    struct compare_gather_args a = {.got = k->in->got,
                                    .want = k->in->want,
                                    .sigma = k->in->sigma,
                                    .threads_list = memory,
                                    .out_want = memory + 256,
                                    .out = memory + 256 + (uint64_t)count * 8,
                                    .out_sigma = memory + 256 + (uint64_t)count * 16,
                                    .n = k->args.n,
                                    .threads = threads,
                                    .listed = n,
                                    .steps = steps,
                                    .bytes = k->args.bytes,
                                    .floating = k->scorer.floating};
    if (!status)
      status = download_gathered(k, &a, count, &g, err);
    if (!status)
      keep_gathered(k, &g, list, n, steps);
  }
  compute_free(k->compute, memory);
  base_free(g.got);
  base_free(g.want);
  base_free(g.sigma);
  base_free(worst);
  return status;
}

// The stretch of the output that a hint is made from: all of it, or whole slices along dimension 0 around the first
// wrong element.
static void choose_stretch(const struct comparison *k, struct shape *shape, int64_t *begin) {
  *shape = k->host.type.shape;
  *begin = 0;
  int64_t n = shape_count(shape), slice = shape->rank > 0 ? n / shape->dims[0] : n;
  if (n <= HINT_ELEMENTS || slice > HINT_ELEMENTS)
    return;
  int64_t keep = HINT_ELEMENTS / slice, first = (k->total.first_over < 0 ? 0 : k->total.first_over) / slice;
  first = first < shape->dims[0] - keep ? first : shape->dims[0] - keep;
  shape->dims[0] = keep;
  *begin = first * slice;
}

// What the error looks like, worked out by the processor on a copy.
static enum assay_status hint(struct comparison *k, struct compare_facts *facts, struct assay_error *err) {
  struct compare_input in = k->host;
  struct compare_facts part;
  int64_t begin, bytes = k->args.bytes;
  choose_stretch(k, &in.type.shape, &begin);
  int64_t n = shape_count(&in.type.shape);
  if (n > 16 * (int64_t)HINT_ELEMENTS)
    return ASSAY_OK; // one slice is larger than what is worth copying
  unsigned char *got = base_alloc((size_t)(n * bytes));
  uint64_t *want = base_alloc((size_t)n * sizeof *want);
  float *sigma = k->scorer.floating ? base_alloc((size_t)n * sizeof *sigma) : NULL;
  enum assay_status status =
      got && want && (sigma || !k->scorer.floating) ? ASSAY_OK : error_nomem(err, "a copy of a wrong output");
  if (!status)
    status = compute_download(k->compute, got, k->in->got + (uint64_t)(begin * bytes), (size_t)(n * bytes), err);
  if (!status)
    status = compute_download(k->compute, want, k->in->want + (uint64_t)begin * 8, (size_t)n * 8, err);
  if (!status && sigma)
    status = compute_download(k->compute, sigma, k->in->sigma + (uint64_t)begin * 4, (size_t)n * 4, err);
  in.got = got;
  in.want = k->scorer.floating ? (const double *)(const void *)want : NULL;
  in.want_int = k->scorer.floating ? NULL : (const int64_t *)(const void *)want;
  in.sigma = sigma;
  in.threads = 4;
  in.has_poison = in.has_poison && begin * bytes % 4 == 0;
  if (!status)
    status = compare_outputs(&in, &part, err);
  if (!status)
    take_hint(facts, &part, begin, n);
  base_free(got);
  base_free(want);
  base_free(sigma);
  return status;
}

static enum assay_status allocate(struct comparison *k, struct assay_error *err) {
  size_t threads = (size_t)k->args.threads, largest = TARGETS * sizeof(struct compare_sums);
  if (largest < threads * sizeof(double))
    largest = threads * sizeof(double);
  enum assay_status status = compute_alloc(k->compute, (size_t)k->args.n * sizeof(float), &k->z, err);
  if (!status)
    status = compute_alloc(k->compute, threads * sizeof(struct compare_sums), &k->sums, err);
  if (!status)
    status = compute_alloc(k->compute, largest, &k->merged, err);
  if (!status)
    status = compute_alloc(k->compute, RESULTS * sizeof(double), &k->result, err);
  return status;
}

// The scales around the worst elements.
static enum assay_status look_near(const struct comparison *k, struct compare_facts *facts, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < facts->n_worst && !status; i++) {
    float sigma[NEAR_MOST];
    struct near_range near = near_of(facts->worst[i].index, facts->n);
    if (k->scorer.floating)
      status = compute_download(k->compute, sigma, k->in->sigma + (uint64_t)near.begin * sizeof *sigma,
                                (size_t)near.n * sizeof *sigma, err);
    if (!status)
      note_near(facts, i, k->scorer.floating ? sigma : NULL, near.n);
  }
  return status;
}

enum assay_status compare_on_device(struct compute *c, const struct compare_device_input *in,
                                    struct compare_facts *facts, struct assay_error *err) {
  struct comparison k = {.compute = c, .in = in, .host = in->terms, .total = {.first_over = -1, .last_over = -1}};
  k.host.got = NULL;
  k.host.want = NULL;
  k.host.want_int = NULL;
  k.host.sigma = NULL;
  k.host.threads = 1;
  scorer_init(&k.scorer, &k.host);
  describe(&k);
  enum assay_status status = ASSAY_OK;
  if (k.args.n > 0) {
    status = allocate(&k, err);
    if (!status)
      status = count(&k, err);
    if (!status)
      status = group(&k, err);
    if (!status)
      status = find_worst(&k, err);
  }
  if (!status)
    facts_finish(&k.scorer, &k.total, facts);
  compute_free(c, k.z);
  compute_free(c, k.sums);
  compute_free(c, k.merged);
  compute_free(c, k.result);
  if (!status && compare_gates_fail(facts))
    status = look_near(&k, facts, err);
  if (!status && compare_gates_fail(facts))
    status = hint(&k, facts, err);
  return status;
}
