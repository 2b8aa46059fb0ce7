// SPDX-License-Identifier: Apache-2.0
#include "judge/slabs.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "task/check.h"

// A slab takes so much, if a longer one is not needed: larger ones are no faster.
static const int64_t GOAL_BYTES = (int64_t)1 << 30;

// What the oracle needs for this many members, and the answer's last slabs beside it.
static enum assay_status bytes_for(const struct task *t, const struct layout *l, int64_t members, int64_t *bytes,
                                   struct assay_error *err) {
  struct arena arena = {0};
  struct graph_shapes shapes;
  struct oracle_bytes need;
  struct array *inputs = arena_calloc(&arena, (size_t)l->n_in + 1, sizeof *inputs);
  enum assay_status status = inputs ? ASSAY_OK : error_nomem(err, "a workload's slabs");
  for (int i = 0; i < l->n_in && !status; i++) {
    inputs[i] = (struct array){.dtype = l->in[i].dtype, .shape = l->in[i].shape};
    if (l->apart.inputs[i])
      inputs[i].shape.dims[0] = members;
  }
  if (!status)
    status = oracle_infer(task_oracle_graph(t), inputs, &arena, &shapes, err);
  if (!status)
    status = oracle_answer_bytes(task_oracle_graph(t), shapes.values, &t->contract.arith, &need, err);
  if (!status)
    *bytes = 2 * need.answer + need.working;
  arena_release(&arena);
  return status;
}

// A softmax over the batch itself can only be drawn whole, and a check takes outputs as they are whole.
static bool is_sliceable(const struct task *t, const struct layout *l) {
  bool can = l->apart.members > 1 && !task_has_check(t);
  for (int i = 0; i < l->n_in && can; i++)
    can = !l->apart.inputs[i] || !t->inputs[i].distribution.softmax || l->in[i].shape.rank > 1;
  return can;
}

// What a judgement takes besides the oracle.
static int64_t other_bytes(const struct layout *l, const struct assay_judge_options *o) {
  struct layout sliced = *l;
  sliced.slab = 1;
  sliced.slab_bytes = 0;
  return layout_judging_bytes(&sliced, o);
}

// Half of a slab is in its middle, at least, and made once.
static int64_t least_slab(const struct layout *l) {
  return 4 * l->apart.halo + 1;
}

enum assay_status slabs_choose(const struct task *t, struct layout *l, const struct assay_judge_options *o,
                               int64_t budget_bytes, struct assay_error *err) {
  enum { WORTH = 8 }; // times the halo: less than a third is made twice
  const int64_t most = budget_bytes - other_bytes(l, o), goal = most < GOAL_BYTES ? most : GOAL_BYTES;
  const int64_t least = least_slab(l), worth = 2 * WORTH * l->apart.halo;
  int64_t members = l->apart.members, bytes = INT64_MAX;
  enum assay_status status = ASSAY_OK;
  l->slab = 0;
  if (!is_sliceable(t, l))
    return ASSAY_OK;
  while (!status && members > least && (bytes > most || (bytes > goal && members / 2 > worth))) {
    members = members / 2 > least ? members / 2 : least;
    status = bytes_for(t, l, members, &bytes, err);
  }
  if (!status && bytes <= most) {
    l->slab = members;
    l->slab_bytes = bytes;
  }
  return status;
}

enum assay_status slabs_least_bytes(const struct task *t, const struct layout *l, const struct assay_judge_options *o,
                                    int64_t *bytes, struct assay_error *err) {
  *bytes = 0;
  if (!is_sliceable(t, l) || least_slab(l) >= l->apart.members)
    return ASSAY_OK;
  enum assay_status status = bytes_for(t, l, least_slab(l), bytes, err);
  *bytes += other_bytes(l, o);
  return status;
}

// The part of an output's answer that is made but not compared yet.
struct window {
  struct compare_steps *steps;
  int64_t inner;      // elements of a member
  int64_t first, end; // elements that are there
  int64_t capacity;
  uint64_t *bits;
  float *sigma;
};

struct slabs {
  const struct task *t;
  const struct question *q;
  const struct slabs_call *call;
  struct window *windows;
};

static void slabs_release(struct slabs *s) {
  for (int o = 0; s->windows && o < s->q->layout->n_out; o++) {
    compare_end(s->windows[o].steps);
    base_free(s->windows[o].bits);
    base_free(s->windows[o].sigma);
  }
  base_free(s->windows);
}

static enum assay_status slabs_begin(struct slabs *s, struct assay_error *err) {
  const struct layout *l = s->q->layout;
  s->windows = base_calloc((size_t)l->n_out + 1, sizeof *s->windows);
  enum assay_status status = s->windows ? ASSAY_OK : error_nomem(err, "a comparison");
  for (int o = 0; o < l->n_out && !status; o++) {
    struct compare_input in = question_terms(s->t, o, &l->out[o], s->call->poison);
    in.got = s->call->outputs[o];
    in.threads = s->call->o->threads;
    question_set_draws(s->t, l, s->q->again, &in);
    s->windows[o].inner = shape_span(&l->out[o].shape, 1, l->out[o].shape.rank);
    status = compare_begin(&in, &s->windows[o].steps, err);
  }
  return status;
}

// The answer for members [first, first + count), as it is among all.
static enum assay_status answer_members(const struct slabs *s, int64_t first, int64_t count, struct oracle_answer *out,
                                        struct assay_error *err) {
  const struct question *q = s->q;
  const struct layout *l = q->layout;
  const struct task_members members = {.apart = l->apart.inputs, .first = first, .count = count};
  const struct task_draw draw = {
      .workload = l->workload, .probe = q->probe, .key = q->key, .threads = s->call->o->threads, .members = &members};
  const struct arith_part part = {.first = first, .whole = l->apart.members, .apart = l->apart.values};
  struct arith contract = question_arith(s->t, q->key, q->again);
  struct array *inputs = base_calloc((size_t)l->n_in + 1, sizeof *inputs);
  enum assay_status status = inputs ? task_draw_members(s->t, &draw, inputs, err) : error_nomem(err, "a question");
  contract.part = &part;
  if (!status)
    status = oracle_answer_make(task_oracle_graph(s->t), inputs, &contract, s->call->replicas, s->call->o->threads, out,
                                err);
  for (int i = 0; i < l->n_in && inputs; i++)
    array_release(&inputs[i]);
  base_free(inputs);
  return status;
}

// Drops what was compared and makes room for n more elements.
static enum assay_status window_room(struct window *w, int64_t n, bool floating, struct assay_error *err) {
  int64_t begin, end;
  if (!compare_needs(w->steps, &begin, &end))
    begin = w->end;
  int64_t kept = w->end - begin;
  if (begin > w->first && w->bits) {
    memmove(w->bits, w->bits + (begin - w->first), (size_t)kept * sizeof *w->bits);
    if (floating)
      memmove(w->sigma, w->sigma + (begin - w->first), (size_t)kept * sizeof *w->sigma);
    w->first = begin;
  }
  if (kept + n <= w->capacity)
    return ASSAY_OK;
  uint64_t *bits = base_realloc(w->bits, (size_t)(kept + n) * sizeof *bits);
  w->bits = bits ? bits : w->bits;
  float *sigma = bits && floating ? base_realloc(w->sigma, (size_t)(kept + n) * sizeof *sigma) : NULL;
  w->sigma = sigma ? sigma : w->sigma;
  if (!bits || (floating && !sigma))
    return error_nomem(err, "a slab of the oracle's answer");
  w->capacity = kept + n;
  return ASSAY_OK;
}

static struct compare_answer window_answer(const struct window *w, bool floating) {
  return (struct compare_answer){.want = floating ? (const double *)(const void *)w->bits : NULL,
                                 .want_int = floating ? NULL : (const int64_t *)(const void *)w->bits,
                                 .sigma = floating ? w->sigma : NULL,
                                 .first = w->first,
                                 .end = w->end};
}

// Of an answer for the members from `first` on, takes [from, to) and compares.
static enum assay_status window_take(struct window *w, const struct oracle_answer *a, int output, int64_t first,
                                     int64_t from, int64_t to, struct assay_error *err) {
  const bool floating = dtype_is_float(a->y[output].dtype);
  const int64_t n = (to - from) * w->inner, at = (from - first) * w->inner;
  enum assay_status status = window_room(w, n, floating, err);
  if (status)
    return status;
  int64_t have = w->end - w->first;
  memcpy(w->bits + have, a->y[output].bits + at, (size_t)n * sizeof *w->bits);
  if (floating)
    memcpy(w->sigma + have, a->sigma[output] + at, (size_t)n * sizeof *w->sigma);
  w->end += n;
  const struct compare_answer answer = window_answer(w, floating);
  compare_some(w->steps, &answer);
  return ASSAY_OK;
}

// Members [*from, *to) of a slab that begins at `first` are as they are among all.
static void clean_members(const struct layout *l, int64_t first, int64_t count, int64_t *from, int64_t *to) {
  *from = first == 0 ? 0 : first + l->apart.halo;
  *to = first + count == l->apart.members ? l->apart.members : first + count - l->apart.halo;
}

static enum assay_status compare_all(struct slabs *s, bool *representable, struct assay_error *err) {
  const struct layout *l = s->q->layout;
  enum assay_status status = ASSAY_OK;
  *representable = true;
  for (int64_t done = 0, from, to; done < l->apart.members && !status && *representable; done = to) {
    struct oracle_answer answer = {0};
    int64_t first = done > l->apart.halo ? done - l->apart.halo : 0, left = l->apart.members - first;
    int64_t count = l->slab < left ? l->slab : left;
    clean_members(l, first, count, &from, &to);
    from = done; // what is before was compared
    status = answer_members(s, first, count, &answer, err);
    *representable = status || answer.representable || s->q->probe == PROBE_DECLARED;
    for (int o = 0; o < l->n_out && !status; o++)
      status = window_take(&s->windows[o], &answer, o, first, from, to, err);
    oracle_answer_release(&answer);
  }
  return status;
}

// The slab with the first wrong element, or with the worst one, once more.
static enum assay_status find_hint(const struct slabs *s, int output, struct compare_facts *f,
                                   struct assay_error *err) {
  const struct layout *l = s->q->layout;
  const struct window *w = &s->windows[output];
  struct oracle_answer a = {0};
  int64_t element = f->first_over >= 0 ? f->first_over : f->n_worst > 0 ? f->worst[0].index : 0, from, to;
  int64_t first = element / w->inner - l->slab / 2, last = l->apart.members - l->slab;
  first = first < 0 ? 0 : first > last ? last : first;
  enum assay_status status = answer_members(s, first, l->slab, &a, err);
  if (status)
    return status;
  const bool floating = dtype_is_float(a.y[output].dtype);
  const struct compare_answer answer = {.want = floating ? a.y[output].f64 : NULL,
                                        .want_int = floating ? NULL : a.y[output].i64,
                                        .sigma = a.sigma[output],
                                        .first = first * w->inner,
                                        .end = (first + l->slab) * w->inner};
  clean_members(l, first, l->slab, &from, &to);
  status = compare_hint(w->steps, &answer, from, to - from, f, err);
  oracle_answer_release(&a);
  return status;
}

static enum assay_status record(const struct slabs *s, int output, struct assay_check *c, struct assay_error *err) {
  struct compare_facts facts;
  enum assay_status status = ASSAY_OK;
  compare_facts_of(s->windows[output].steps, &facts);
  if (compare_verdict(&facts, COMPARE_CONTRACT) != COMPARE_PASS)
    status = find_hint(s, output, &facts, err);
  if (!status)
    status = question_record(s->q, output, &facts, &s->q->layout->out[output].shape, s->call->o, c, err);
  return status;
}

enum assay_status slabs_check(const struct task *t, const struct question *q, const struct slabs_call *call,
                              struct assay_check *checks, struct assay_error *err) {
  struct slabs s = {.t = t, .q = q, .call = call};
  bool representable;
  enum assay_status status = slabs_begin(&s, err);
  if (!status)
    status = compare_all(&s, &representable, err);
  for (int o = 0; o < q->layout->n_out && !status; o++) {
    checks[o].skipped = !representable;
    if (representable)
      status = record(&s, o, &checks[o], err);
  }
  slabs_release(&s);
  return status;
}
