// SPDX-License-Identifier: Apache-2.0
#include "judge/question.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parallel.h"
#include "compare/compare.h"
#include "judge/answers.h"
#include "judge/judged.h"
#include "task/check.h"

// A question with more elements than this is large: it is answered alone, by all threads, with fewer passes.
enum { LARGE_ELEMENTS = 1 << 22 };

// Outputs of timed calls are kept for later up to this many bytes, all together.
#define KEEP_LIMIT_BYTES ((int64_t)1 << 30)

// Answers that wait for their question are held up to this many bytes, all together.
#define HELD_LIMIT_BYTES ((int64_t)512 << 20)

// The random stream of the oracle's contract passes, under a question's key.
static const uint64_t ORACLE_NOISE = 0x6f7261636c65u;

// The tolerance of older versions of the published suites, relative and absolute.
static const double LOOSE_TOLERANCE = 1e-2;

// What sums may lose to flushing: sixteen times the smallest normal float. Atomic additions of floats to a GPU's global
// memory always flush subnormal terms and results to zero (PTX ISA, atom and red), and a sum usually has at most
// sixteen such partial sums. Sums are floats under all contracts; in results of half precision this is too small to
// show.
static const double FLUSHED_SUMS = 0x1p-122;

// Inputs and outputs as they are computed with, what the check makes of them, and that as bytes. Where shapes depend on
// the outputs' data nobody knows.
static enum assay_status measure_check(const struct task *t, const struct array *inputs, struct layout *l,
                                       struct assay_error *err) {
  struct arena arena = {0};
  struct graph_shapes shapes;
  struct oracle_bytes bytes = {0};
  struct array *all = arena_calloc(&arena, (size_t)(l->n_in + l->n_out) + 1, sizeof *all);
  enum assay_status status = all ? ASSAY_OK : error_nomem(err, "a workload's check");
  for (int i = 0; i < l->n_in + l->n_out && !status; i++)
    all[i] = i < l->n_in ? inputs[i]
                         : (struct array){.dtype = l->out[i - l->n_in].dtype, .shape = l->out[i - l->n_in].shape};
  struct assay_error unknown = {0};
  if (!status)
    status = oracle_infer(&t->check.flat, all, &arena, &shapes, &unknown);
  if (!status)
    status = oracle_answer_bytes(&t->check.flat, shapes.values, NULL, &bytes, &unknown);
  if (!status)
    l->check_bytes = bytes.working;
  for (int i = 0; i < l->n_judged && !status; i++)
    l->check_bytes += (int64_t)tensor_type_bytes(&l->judged[i]);
  arena_release(&arena);
  if (status == ASSAY_ERR_NOMEM && err && unknown.status)
    *err = unknown;
  return status == ASSAY_ERR_NOMEM ? status : ASSAY_OK;
}

enum assay_status layout_make(const struct task *t, const struct workload *w, struct layout *out,
                              struct assay_error *err) {
  struct layout l = {.workload = w, .n_in = t->n_inputs, .n_out = t->n_outputs};
  struct graph_shapes shapes;
  struct array *inputs = arena_calloc(&l.arena, (size_t)l.n_in, sizeof *inputs);
  l.in = arena_calloc(&l.arena, (size_t)l.n_in, sizeof *l.in);
  l.out = arena_calloc(&l.arena, (size_t)l.n_out, sizeof *l.out);
  l.n_judged = task_oracle_graph(t)->n_outputs;
  l.judged = arena_calloc(&l.arena, (size_t)l.n_judged + 1, sizeof *l.judged);
  enum assay_status status = ASSAY_OK;
  if (!inputs || !l.in || !l.out || !l.judged)
    status = error_nomem(err, "a workload's buffers");
  if (!status)
    status = task_input_shapes(t, w, inputs, err);
  if (!status)
    status = oracle_infer(task_oracle_graph(t), inputs, &l.arena, &shapes, err);
  if (!status)
    status = oracle_answer_bytes(task_oracle_graph(t), shapes.values, &t->contract.arith, &l.oracle, err);
  if (!status)
    status = oracle_find_apart(task_oracle_graph(t), shapes.values, &t->contract.arith, &l.arena, &l.apart, err);
  if (!status)
    status = oracle_moments(task_oracle_graph(t), shapes.values, &l.arena, &l.moments, err);
  if (status) {
    layout_release(&l);
    return error_prefix(err, status, "%s, workload %s: ", t->name, w->name);
  }
  for (int i = 0; i < l.n_in; i++) {
    l.in[i] = array_type(&inputs[i]);
    l.input_bytes += (int64_t)tensor_type_bytes(&l.in[i]);
  }
  for (int i = 0; i < l.n_judged; i++)
    l.judged[i] = array_type(&shapes.values[task_oracle_graph(t)->outputs[i]]);
  for (int i = 0; i < l.n_out; i++) { // the oracle's graph begins with the values of the task's
    l.out[i] = array_type(&shapes.values[t->model.flat.outputs[i]]);
    l.output_bytes += (int64_t)tensor_type_bytes(&l.out[i]);
  }
  status = task_has_check(t) ? measure_check(t, inputs, &l, err) : ASSAY_OK;
  if (status)
    layout_release(&l);
  else
    *out = l;
  return status;
}

void layout_release(struct layout *l) {
  arena_release(&l->arena);
  memset(l, 0, sizeof *l);
}

int64_t layout_output_bytes(const struct layout *l, int o) {
  return (int64_t)tensor_type_bytes(&l->out[o]);
}

bool layout_keeps_outputs(const struct layout *l, const struct assay_judge_options *o) {
  return l->output_bytes * o->verified_calls <= KEEP_LIMIT_BYTES;
}

int64_t layout_judging_bytes(const struct layout *l, const struct assay_judge_options *o) {
  const bool kept = o->timing && layout_keeps_outputs(l, o);
  const int64_t verified = !o->timing ? 0 : kept ? o->verified_calls : 1;
  const int64_t buffers = l->input_bytes + l->output_bytes + (kept ? o->verified_calls * l->output_bytes : 0);
  if (l->slab > 0)
    return l->slab_bytes + buffers;
  const int64_t checks = o->declared_checks, most = checks > verified ? checks : verified;
  const int64_t held = questions_held(l->oracle.answer, (int)most), at_once = held < most ? held + 1 : held;
  const int64_t working = l->oracle.working > l->check_bytes ? l->oracle.working : l->check_bytes;
  return at_once * l->oracle.answer + working + buffers;
}

struct arith question_arith(const struct task *t, uint64_t key, bool again) {
  struct arith contract = t->contract.arith;
  contract.key = rng_derive(key, ORACLE_NOISE); // noise apart from the inputs' streams
  contract.one_lane = again;
  return contract;
}

enum assay_status question_answer(const struct task *t, struct question *q, int replicas, int threads,
                                  struct assay_error *err) {
  const struct layout *l = q->layout;
  if (q->kept && answers_find(q->kept, t, q, replicas))
    return ASSAY_OK;
  struct array *inputs = base_calloc((size_t)l->n_in + 1, sizeof *inputs);
  if (!inputs)
    return error_nomem(err, "a question");
  enum assay_status status = task_draw_inputs(t, l->workload, q->probe, q->key, threads, inputs, err);
  if (!status) {
    struct arith contract = question_arith(t, q->key, q->again);
    status = oracle_answer_make(task_oracle_graph(t), inputs, &contract, replicas, threads, &q->answer, err);
  }
  if (!status && q->kept)
    answers_keep(q->kept, t, q, replicas);
  for (int i = 0; i < l->n_in; i++)
    array_release(&inputs[i]);
  base_free(inputs);
  return status;
}

struct answering {
  const struct task *task;
  struct question *questions;
  enum assay_status *statuses;
  struct assay_error *errors;
  int replicas;
};

// Roughly how many elements the oracle works on; a quarter of the output bytes stands for the output elements.
static int64_t oracle_elements(const struct layout *l) {
  int64_t n = l->output_bytes / 4;
  for (int i = 0; i < l->n_in; i++)
    n += tensor_type_count(&l->in[i]);
  return n;
}

// Passes for the error scale. With large tensors every pass costs as much as the truth itself. But eight is the least:
// where a whole row shares one error (the sum of a softmax), pooling neighbours does not help, and four passes would
// all be small by chance once in some ten thousand rows.
int question_passes(const struct question *q, int replicas) {
  int few = q->passes > 0 && q->passes < replicas ? q->passes : replicas;
  return oracle_elements(q->layout) > LARGE_ELEMENTS && replicas > QUESTION_FEW ? QUESTION_FEW : few;
}

bool question_takes_long(const struct question *q) {
  return !q->in_place && oracle_elements(q->layout) > LARGE_ELEMENTS;
}

int questions_held(int64_t answer_bytes, int n) {
  return answer_bytes * n <= HELD_LIMIT_BYTES ? n : (int)(HELD_LIMIT_BYTES / answer_bytes);
}

void questions_postpone(struct question *questions, int n) {
  int64_t held = 0;
  for (int i = 0; i < n; i++) {
    struct question *q = &questions[i];
    const int64_t bytes = question_is_open(q) ? 0 : q->layout->oracle.answer;
    q->late = held + bytes > HELD_LIMIT_BYTES;
    held += q->late ? 0 : bytes;
  }
}

enum assay_status question_answer_late(const struct task *t, struct question *q, int replicas, int threads,
                                       struct assay_error *err) {
  enum assay_status status = q->late ? question_answer(t, q, question_passes(q, replicas), threads, err) : ASSAY_OK;
  q->late = q->late && status;
  return status;
}

static void answer_range(void *arg, int64_t begin, int64_t end) {
  struct answering *a = arg;
  for (int64_t i = begin; i < end; i++) {
    struct question *q = &a->questions[i];
    if (!question_is_open(q) && !q->late && oracle_elements(q->layout) <= LARGE_ELEMENTS)
      a->statuses[i] = question_answer(a->task, q, question_passes(q, a->replicas), 1, &a->errors[i]);
  }
}

enum assay_status questions_answer(const struct task *t, struct question *questions, int n, int replicas, int threads,
                                   struct assay_error *err) {
  struct answering a = {.task = t, .questions = questions, .replicas = replicas};
  a.statuses = base_calloc((size_t)n + 1, sizeof *a.statuses);
  a.errors = base_calloc((size_t)n + 1, sizeof *a.errors);
  enum assay_status status = a.statuses && a.errors ? ASSAY_OK : error_nomem(err, "the oracle's answers");
  if (!status)
    parallel_for(threads, n, 1, answer_range, &a);
  for (int i = 0; i < n && !status; i++) {
    struct question *q = &questions[i];
    if (!question_is_open(q) && !q->late && oracle_elements(q->layout) > LARGE_ELEMENTS)
      a.statuses[i] = question_answer(t, q, question_passes(q, replicas), threads, &a.errors[i]);
    status = a.statuses[i];
    if (status && err)
      *err = a.errors[i];
  }
  for (int i = 0; i < n && status; i++)
    question_release(&questions[i]);
  base_free(a.statuses);
  base_free(a.errors);
  return status;
}

void question_release(struct question *q) {
  oracle_answer_release(&q->answer);
}

bool question_is_open(const struct question *q) {
  return q->in_place || q->layout->slab > 0;
}

bool question_is_asked(const struct question *q) {
  return question_is_open(q) || q->late || q->answer.representable || q->probe == PROBE_DECLARED;
}

static enum assay_reason reason_of(enum compare_outcome outcome) {
  switch (outcome) {
  case COMPARE_PASS:
    return ASSAY_REASON_PASS;
  case COMPARE_UNWRITTEN:
    return ASSAY_REASON_UNWRITTEN;
  case COMPARE_WRONG_CLASS:
    return ASSAY_REASON_WRONG_CLASS;
  case COMPARE_WRONG_VALUE:
    return ASSAY_REASON_WRONG_VALUE;
  case COMPARE_LOW_PRECISION:
    return ASSAY_REASON_LOW_PRECISION;
  }
  return ASSAY_REASON_WRONG_VALUE;
}

static void fill_check(const struct question *q, int output, const struct compare_facts *f, enum assay_reason reason,
                       struct assay_check *c) {
  snprintf(c->workload, sizeof c->workload, "%s", q->layout->workload->name);
  snprintf(c->probe, sizeof c->probe, "%s", probe_name(q->probe));
  c->output = output;
  c->reason = reason;
  c->n = f->n;
  c->wrong = f->n_over;
  c->z_max = f->z_max;
  c->z_limit = f->z_limit;
  c->z_rms = f->z_rms;
  struct compare_decision decision = compare_decide(f);
  snprintf(c->gate, sizeof c->gate, "%s", compare_gate_word(decision.gate));
  c->gate_z = decision.z;
  c->gate_limit = decision.limit;
  c->doubtful = compare_doubtful(f);
  c->max_abs = f->max_abs;
  c->max_rel = f->max_rel;
  c->allclose_bad = f->n_allclose_bad;
  c->allclose_loose_bad = f->n_loose_bad;
  snprintf(c->hint, sizeof c->hint, "%s", f->hint_text);
}

struct compare_input question_terms(const struct task *t, int output, const struct tensor_type *type, uint32_t poison) {
  struct float_format format = {0};
  bool floating = dtype_float_format(type->dtype, &format);
  struct compare_input in = {.type = *type,
                             .u_out = floating ? ldexp(1, -format.bits) : 0,
                             .eta_out = floating ? ldexp(1, format.min_exponent - format.bits + 1) : 0,
                             .poison = poison,
                             .has_poison = true,
                             .rtol = t->rtol,
                             .atol = t->atol,
                             .loose = LOOSE_TOLERANCE,
                             .threads = 1};
  // A contract may be coarser than the output's own type: tf32 results stored in fp32, flushed subnormals.
  in.u_out = fmax(in.u_out, t->contract.u_out);
  in.eta_out = fmax(in.eta_out, t->contract.eta_out);
  if (floating && t->adds[output])
    in.eta_out = fmax(in.eta_out, FLUSHED_SUMS);
  return in;
}

void question_set_draws(const struct task *t, const struct layout *l, bool again, struct compare_input *in) {
  in->single_draws = again && (l->moments > 0 || oracle_has_steep_sums(task_oracle_graph(t)));
  in->shared = l->moments;
}

enum assay_status question_record(const struct question *q, int output, const struct compare_facts *facts,
                                  const struct shape *shape, const struct assay_judge_options *o, struct assay_check *c,
                                  struct assay_error *err) {
  enum compare_rule rule = o->rule == ASSAY_RULE_ALLCLOSE ? COMPARE_ALLCLOSE : COMPARE_CONTRACT;
  fill_check(q, output, facts, reason_of(compare_verdict(facts, rule)), c);
  if (c->reason == ASSAY_REASON_PASS)
    return ASSAY_OK;
  struct buf text = {0};
  compare_describe(facts, shape, &text);
  c->description = base_strndup(buf_str(&text), text.len);
  buf_release(&text);
  return c->description ? ASSAY_OK : error_nomem(err, "a check's description");
}

bool question_drop_doubtful(const struct assay_judge_options *o, struct assay_check *checks, int n) {
  bool doubtful = false;
  for (int i = 0; i < n && o->rule == ASSAY_RULE_CONTRACT; i++)
    doubtful = doubtful || checks[i].doubtful;
  for (int i = 0; doubtful && i < n; i++) {
    base_free(checks[i].description);
    checks[i] = (struct assay_check){.looked_again = true};
  }
  return doubtful;
}

enum assay_status question_name_judged(const struct task *t, int i, struct assay_check *c, struct assay_error *err) {
  const struct graph *g = task_oracle_graph(t);
  struct buf text = {0};
  if (!c->description)
    return ASSAY_OK;
  buf_printf(&text, "%s: %s", g->values[g->outputs[i]].name, c->description);
  if (text.failed)
    return error_nomem(err, "a check's description");
  base_free(c->description);
  c->description = text.data;
  return ASSAY_OK;
}

enum assay_status question_check(const struct task *t, const struct question *q, const void *const *outputs,
                                 uint32_t poison, const struct assay_judge_options *o, struct assay_check *checks,
                                 struct assay_error *err) {
  struct judged judged;
  enum assay_status status = judged_make(t, q, outputs, poison, o->threads, &judged, err);
  for (int i = 0; i < q->layout->n_judged && !status; i++) {
    const struct array *y = &q->answer.y[i];
    bool floating = dtype_is_float(y->dtype);
    struct tensor_type type = array_type(y);
    struct compare_input in = question_terms(t, i, &type, poison);
    struct compare_facts facts;
    in.got = judged.got[i];
    in.want = floating ? y->f64 : NULL;
    in.want_int = floating ? NULL : y->i64;
    in.sigma = q->answer.sigma[i];
    in.threads = o->threads;
    question_set_draws(t, q->layout, q->again, &in);
    in.has_poison = !judged.own;
    status = compare_outputs(&in, &facts, err);
    if (!status && judged.unwritten > 0 && compare_verdict(&facts, COMPARE_CONTRACT) != COMPARE_PASS)
      facts.n_poisoned = judged.unwritten;
    if (!status)
      status = question_record(q, i, &facts, &in.type.shape, o, &checks[i], err);
    if (!status && judged.own)
      status = question_name_judged(t, i, &checks[i], err);
  }
  judged_release(&judged);
  return status;
}
