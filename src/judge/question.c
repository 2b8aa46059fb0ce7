#include "judge/question.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parallel.h"
#include "compare/compare.h"

// Beyond this many elements a question is large: answered alone, by all processors, with fewer passes.
enum { LARGE_ELEMENTS = 1 << 22 };

// What older versions of the published suites allowed, relative and absolute.
static const double LOOSE_TOLERANCE = 1e-2;

// What sums may lose to flushing, sixteen times the smallest normal float: atomic additions of floats to a GPU's global
// memory take subnormal terms and results for zero and cannot be told otherwise (PTX ISA, atom and red), and sixteen is
// as many partial sums as usually meet in one. Sums are floats under all contracts; for results in half precision this
// is less than their type can tell.
static const double FLUSHED_SUMS = 0x1p-122;

enum assay_status layout_make(const struct task *t, const struct workload *w, struct layout *out,
                              struct assay_error *err) {
  struct layout l = {.workload = w, .n_in = t->n_inputs, .n_out = t->n_outputs};
  struct graph_shapes shapes;
  l.in = arena_calloc(&l.arena, (size_t)l.n_in, sizeof *l.in);
  l.in_tensors = arena_calloc(&l.arena, (size_t)l.n_in, sizeof *l.in_tensors);
  l.out_tensors = arena_calloc(&l.arena, (size_t)l.n_out, sizeof *l.out_tensors);
  enum assay_status status = ASSAY_OK;
  if (!l.in || !l.in_tensors || !l.out_tensors)
    status = error_nomem(err, "a workload's buffers");
  if (!status)
    status = task_input_shapes(t, w, l.in, err);
  if (!status)
    status = oracle_infer(&t->model.flat, l.in, &l.arena, &shapes, err);
  if (status) {
    layout_release(&l);
    return error_prefix(err, status, "%s, workload %s: ", t->name, w->name);
  }
  for (int i = 0; i < l.n_in; i++)
    l.in_tensors[i] = (struct runner_tensor){l.in[i].dtype, l.in[i].shape};
  for (int i = 0; i < l.n_out; i++) {
    const struct array *a = &shapes.values[t->model.flat.outputs[i]];
    l.out_tensors[i] = (struct runner_tensor){a->dtype, a->shape};
    l.output_bytes += shape_count(&a->shape) * (int64_t)dtype_bytes(a->dtype);
  }
  *out = l;
  return ASSAY_OK;
}

void layout_release(struct layout *l) {
  arena_release(&l->arena);
  memset(l, 0, sizeof *l);
}

int64_t layout_output_bytes(const struct layout *l, int o) {
  return shape_count(&l->out_tensors[o].shape) * (int64_t)dtype_bytes(l->out_tensors[o].dtype);
}

// The inputs as the oracle wants them, from the bytes that the candidate gets.
static enum assay_status oracle_inputs(const struct task *t, const struct layout *l, enum probe probe, uint64_t key,
                                       int threads, struct array *inputs, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  void **bytes = base_calloc((size_t)l->n_in + 1, sizeof *bytes);
  if (!bytes)
    return error_nomem(err, "a question's inputs");
  for (int i = 0; i < l->n_in && !status; i++) {
    bytes[i] = base_alloc((size_t)shape_count(&l->in[i].shape) * dtype_bytes(l->in[i].dtype));
    if (!bytes[i])
      status = error_nomem(err, "a question's inputs");
  }
  if (!status)
    status = task_make_inputs(t, l->workload, probe, key, threads, bytes, err);
  for (int i = 0; i < l->n_in && !status; i++) {
    struct tensor view = {.dtype = l->in[i].dtype, .shape = l->in[i].shape, .data = bytes[i]};
    status = array_from_tensor(&view, &inputs[i], err);
    base_free(bytes[i]);
    bytes[i] = NULL;
  }
  for (int i = 0; i < l->n_in; i++)
    base_free(bytes[i]);
  base_free(bytes);
  return status;
}

enum assay_status question_make(const struct task *t, const struct layout *l, enum probe probe, uint64_t key,
                                int replicas, int threads, struct question *out, struct assay_error *err) {
  struct question q = {.layout = l, .probe = probe, .key = key};
  struct array *inputs = base_calloc((size_t)l->n_in + 1, sizeof *inputs);
  if (!inputs)
    return error_nomem(err, "a question");
  enum assay_status status = oracle_inputs(t, l, probe, key, threads, inputs, err);
  if (!status) {
    struct arith contract = t->contract.arith;
    contract.key = rng_derive(key, ORACLE_NOISE); // noise apart from the inputs' streams
    status = oracle_answer_make(&t->model.flat, inputs, &contract, replicas, threads, &q.answer, err);
  }
  for (int i = 0; i < l->n_in; i++)
    array_release(&inputs[i]);
  base_free(inputs);
  if (!status)
    *out = q;
  return status;
}

struct answering {
  const struct task *task;
  struct question *questions;
  enum assay_status *statuses;
  struct assay_error *errors;
  int replicas;
};

static int64_t layout_elements(const struct layout *l) {
  int64_t n = l->output_bytes / 4;
  for (int i = 0; i < l->n_in; i++)
    n += shape_count(&l->in[i].shape);
  return n;
}

// Passes for the error scale. With large tensors every pass costs as much as the truth itself. Not fewer than eight: an
// error that a whole row shares (the sum of a softmax) is the same for all neighbours, pooling does not help, and four
// passes are all small by chance once in some ten thousand rows.
static int replicas_for(const struct layout *l, int replicas) {
  enum { FEW = 8 };
  return layout_elements(l) > LARGE_ELEMENTS && replicas > FEW ? FEW : replicas;
}

static void answer_range(void *arg, int64_t begin, int64_t end) {
  struct answering *a = arg;
  for (int64_t i = begin; i < end; i++) {
    struct question *q = &a->questions[i];
    if (!q->in_place && layout_elements(q->layout) <= LARGE_ELEMENTS)
      a->statuses[i] = question_make(a->task, q->layout, q->probe, q->key, replicas_for(q->layout, a->replicas), 1, q,
                                     &a->errors[i]);
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
    if (!q->in_place && layout_elements(q->layout) > LARGE_ELEMENTS)
      a.statuses[i] =
          question_make(t, q->layout, q->probe, q->key, replicas_for(q->layout, replicas), threads, q, &a.errors[i]);
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
  c->max_abs = f->max_abs;
  c->max_rel = f->max_rel;
  c->allclose_bad = f->n_allclose_bad;
  c->allclose_loose_bad = f->n_loose_bad;
  snprintf(c->hint, sizeof c->hint, "%s", f->hint_text);
}

struct compare_input question_terms(const struct task *t, int output, enum dtype dtype, const struct shape *shape,
                                    uint32_t poison) {
  struct float_format format = {0};
  bool floating = dtype_float_format(dtype, &format);
  struct compare_input in = {.dtype = dtype,
                             .shape = *shape,
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

// Few elements, and not so far off that no error of the scale explains it (integers that differ are infinitely far). A
// running product hands one error on to hundreds of elements, so that few are more than one.
static bool fails_at_few(const struct assay_check *c) {
  enum { FEW = 64, PART = 1 << 12, FAR = 64 };
  int64_t few = c->n / PART > FEW ? c->n / PART : FEW;
  bool by_value = c->reason == ASSAY_REASON_WRONG_VALUE || c->reason == ASSAY_REASON_LOW_PRECISION;
  return by_value && c->wrong > 0 && c->wrong <= few && c->z_max <= FAR * c->z_limit;
}

bool question_drop_doubtful(const struct assay_judge_options *o, struct assay_check *checks, int n) {
  bool doubtful = false;
  for (int i = 0; i < n && o->rule == ASSAY_RULE_CONTRACT; i++)
    doubtful = doubtful || fails_at_few(&checks[i]);
  for (int i = 0; doubtful && i < n; i++) {
    base_free(checks[i].description);
    checks[i] = (struct assay_check){.looked_again = true};
  }
  return doubtful;
}

enum assay_status question_check(const struct task *t, const struct question *q, const void *const *outputs,
                                 uint32_t poison, const struct assay_judge_options *o, struct assay_check *checks,
                                 struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < q->layout->n_out && !status; i++) {
    const struct array *y = &q->answer.y[i];
    bool floating = dtype_is_float(y->dtype);
    struct compare_input in = question_terms(t, i, y->dtype, &y->shape, poison);
    struct compare_facts facts;
    in.got = outputs[i];
    in.want = floating ? y->f64 : NULL;
    in.want_int = floating ? NULL : y->i64;
    in.sigma = q->answer.sigma[i];
    in.threads = o->threads;
    status = compare_outputs(&in, &facts, err);
    if (!status)
      status = question_record(q, i, &facts, &in.shape, o, &checks[i], err);
  }
  return status;
}
