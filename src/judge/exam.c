// The exam: what is asked, and what the candidate answers.
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "judge/session.h"

static int64_t layout_elements(const struct layout *l) {
  int64_t n = 0;
  for (int i = 0; i < l->n_in; i++)
    n += shape_count(&l->in[i].shape);
  return n;
}

static void add_question(struct session *s, const struct layout *l, enum probe probe) {
  if (s->n_questions == MAX_QUESTIONS)
    return;
  uint64_t number = (uint64_t)(s->n_dropped_exams * MAX_QUESTIONS + s->n_questions);
  uint64_t key = rng_secret(rng_derive(s->v->seed, STREAM_CHECKS), number);
  bool timed = l == &s->layouts[0] && probe == PROBE_DECLARED && s->o->timing && s->o->verified_calls > 0;
  s->questions[s->n_questions++] = (struct question){.layout = l,
                                                     .probe = probe,
                                                     .key = key,
                                                     .scale = timed ? SCALE_KEEP : SCALE_OWN,
                                                     .in_place = s->subject->answers && s->subject->answers(s, l)};
}

void session_drop_exam(struct session *s) {
  for (int i = 0; i < s->n_questions; i++)
    question_release(&s->questions[i]);
  for (int i = 0; i < s->n_layouts; i++)
    layout_release(&s->layouts[i]);
  for (int i = 0; i < s->v->n_checks; i++)
    base_free(s->v->checks[i].description);
  s->n_questions = s->n_layouts = s->v->n_checks = s->v->n_skipped_probes = 0;
  s->v->worst_check = -1;
  s->bound = NULL;
  s->n_dropped_exams++;
}

// Probes that no straightforward implementation survives are no questions.
static void drop_impossible(struct session *s) {
  int kept = 0;
  for (int i = 0; i < s->n_questions; i++) {
    struct question *q = &s->questions[i];
    if (q->in_place || q->answer.representable || q->probe == PROBE_DECLARED) {
      s->questions[kept++] = *q;
    } else {
      question_release(q);
      s->v->n_skipped_probes++;
    }
  }
  s->n_questions = kept;
}

static enum assay_status add_layout(struct session *s, const struct workload *w, struct assay_error *err) {
  enum assay_status status = layout_make(&s->task, w, &s->layouts[s->n_layouts], err);
  s->n_layouts += !status;
  return status;
}

// Asks under one probe at two ragged shapes: the largest, where there is most to see, and another that the seed
// chooses.
static void add_probe(struct session *s, enum probe probe) {
  int ragged = s->n_layouts - 1, largest = 1;
  if (ragged < 1 || !(s->task.probes & 1u << probe))
    return;
  for (int i = 2; i <= ragged; i++)
    if (layout_elements(&s->layouts[i]) > layout_elements(&s->layouts[largest]))
      largest = i;
  add_question(s, &s->layouts[largest], probe);
  uint64_t pick = rng_secret(rng_derive(s->v->seed, STREAM_PROBE_SHAPES), (uint64_t)probe);
  int other = 1 + (int)(pick % (uint64_t)ragged);
  if (other != largest)
    add_question(s, &s->layouts[other], probe);
}

// The exam: the declared distribution at the timed workload first, then every ragged shape, then the probes, then the
// timed workload again, because state kept from other shapes shows there.
enum assay_status session_make_exam(struct session *s, struct assay_error *err) {
  enum assay_status status = add_layout(s, &s->workload, err);
  for (int i = 1; i < s->o->declared_checks && !status; i++)
    add_question(s, &s->layouts[0], PROBE_DECLARED);
  for (int i = 0; i < s->task.n_workloads && s->o->probes && s->n_layouts < MAX_LAYOUTS && !status; i++) {
    if (strncmp(s->task.workloads[i].name, "ragged", 6) != 0)
      continue;
    status = add_layout(s, &s->task.workloads[i], err);
    if (!status)
      add_question(s, &s->layouts[s->n_layouts - 1], PROBE_DECLARED);
  }
  if (status)
    return status;
  for (int p = PROBE_DECLARED + 1; p < PROBE_COUNT; p++)
    add_probe(s, (enum probe)p);
  add_question(s, &s->layouts[0], PROBE_DECLARED);
  status = questions_answer(&s->task, s->questions, s->n_questions, s->o->replicas, s->o->threads, err);
  if (status)
    s->n_questions = 0; // released
  else
    drop_impossible(s);
  return status;
}

enum assay_status session_bind(struct session *s, const struct layout *l, struct runner_report *report,
                               struct assay_error *err) {
  if (s->bound == l)
    return ASSAY_OK;
  enum assay_status status = s->subject->bind(s, l, report, err);
  s->bound = status || report->event != RUNNER_OK ? NULL : l;
  return status;
}

static enum assay_status grow_checks(struct session *s, int more, struct assay_error *err) {
  struct assay_verdict *v = s->v;
  if (v->n_checks + more <= s->capacity_checks)
    return ASSAY_OK;
  int capacity = 2 * (v->n_checks + more);
  struct assay_check *checks = base_realloc(v->checks, (size_t)capacity * sizeof *checks);
  if (!checks)
    return error_nomem(err, "the list of checks");
  v->checks = checks;
  s->capacity_checks = capacity;
  return ASSAY_OK;
}

// Against the answer; and once more, against a better known error scale, where few elements decide.
static enum assay_status check_twice(struct session *s, const struct question *q, const void *const *outputs,
                                     uint32_t poison, struct assay_check *c, struct assay_error *err) {
  struct question again = {0};
  enum assay_status status = question_check(&s->task, q, outputs, poison, s->o, c, err);
  if (status || !question_drop_doubtful(s->o, c, q->layout->n_out))
    return status;
  status = question_make(&s->task, q->layout, q->probe, q->key, QUESTION_MORE, s->o->threads, &again, err);
  if (status)
    return status;
  status = question_check(&s->task, &again, outputs, poison, s->o, c, err);
  question_release(&again);
  return status;
}

enum assay_status session_check(struct session *s, const struct question *q, const void *const *outputs,
                                uint32_t poison, bool timed, enum assay_reason *reason, struct assay_error *err) {
  int n_out = q->layout->n_out;
  enum assay_status status = grow_checks(s, n_out, err);
  if (status)
    return status;
  struct assay_check *c = &s->v->checks[s->v->n_checks];
  memset(c, 0, (size_t)n_out * sizeof *c);
  status = q->in_place ? s->subject->check(s, q, poison, c, err) : check_twice(s, q, outputs, poison, c, err);
  s->v->n_checks += n_out;
  *reason = ASSAY_REASON_PASS;
  for (int i = 0; i < n_out && !status; i++) {
    c[i].timed = timed;
    if (*reason == ASSAY_REASON_PASS)
      *reason = c[i].reason;
  }
  return status;
}

enum assay_status session_check_now(struct session *s, const struct question *q, uint32_t poison, bool timed,
                                    enum assay_reason *reason, struct assay_error *err) {
  const struct layout *l = q->layout;
  if (q->in_place)
    return session_check(s, q, NULL, poison, timed, reason, err);
  const void **outputs = base_calloc((size_t)l->n_out + 1, sizeof *outputs);
  void **copies = base_calloc((size_t)l->n_out + 1, sizeof *copies);
  enum assay_status status = outputs && copies ? ASSAY_OK : error_nomem(err, "a call's outputs");
  for (int i = 0; i < l->n_out && !status; i++) {
    outputs[i] = s->subject->output(s, i);
    if (outputs[i])
      continue;
    outputs[i] = copies[i] = base_alloc((size_t)layout_output_bytes(l, i));
    status = copies[i] ? s->subject->read_output(s, i, copies[i], err) : error_nomem(err, "a call's outputs");
  }
  if (!status)
    status = session_check(s, q, outputs, poison, timed, reason, err);
  for (int i = 0; copies && i < l->n_out; i++)
    base_free(copies[i]);
  base_free(copies);
  base_free(outputs);
  return status;
}

// The check that says most: the first that failed, or the pass that came closest to its limit.
static int worst_check(const struct assay_verdict *v) {
  int worst = -1;
  for (int i = 0; i < v->n_checks; i++) {
    if (v->checks[i].reason != ASSAY_REASON_PASS)
      return i;
    if (worst < 0 || v->checks[i].z_max / v->checks[i].z_limit > v->checks[worst].z_max / v->checks[worst].z_limit)
      worst = i;
  }
  return worst;
}

// One call on the question's inputs, and the comparison. *reason stays PASS when the runner has an event to report.
// `last` of its layout: the bands are looked at, too.
static enum assay_status ask(struct session *s, const struct question *q, int number, bool last,
                             struct runner_report *report, enum assay_reason *reason, struct assay_error *err) {
  const struct layout *l = q->layout;
  uint64_t call = (uint64_t)(s->n_dropped_exams * MAX_QUESTIONS + number);
  uint32_t poison = POISON_NAN | (uint32_t)(rng_secret(rng_derive(s->v->seed, STREAM_POISON), call) & POISON_PAYLOAD);
  enum assay_status status = session_bind(s, l, report, err);
  if (!status && report->event == RUNNER_OK)
    status = s->subject->fill(s, q->probe, q->key, poison, err);
  if (!status && report->event == RUNNER_OK)
    status = s->subject->call(s, CALL_COLD, report, err);
  if (!status && report->event == RUNNER_OK && last && s->subject->inspect)
    status = s->subject->inspect(s, report, err);
  if (status || report->event != RUNNER_OK)
    return status;
  s->v->durations.kernel_ns += report->elapsed_ns;
  return session_check_now(s, q, poison, false, reason, err);
}

// The order of asking: layout by layout, since another layout means other buffers and another plan; the timed
// workload's last question, behind all others, stays there.
static void order_questions(const struct session *s, int order[MAX_QUESTIONS]) {
  int n = 0;
  for (int l = 0; l < s->n_layouts; l++)
    for (int i = 0; i < s->n_questions - 1; i++)
      if (s->questions[i].layout == &s->layouts[l])
        order[n++] = i;
  if (s->n_questions > 0)
    order[n] = s->n_questions - 1;
}

// Brings the checks, which stand as they were asked, into the order of the questions.
static enum assay_status sort_checks(struct session *s, const int order[MAX_QUESTIONS], int n_asked,
                                     struct assay_error *err) {
  struct assay_verdict *v = s->v;
  int n_out = n_asked > 0 ? v->n_checks / n_asked : 0, n = 0;
  struct assay_check *sorted = base_calloc((size_t)s->capacity_checks + 1, sizeof *sorted);
  if (!sorted)
    return error_nomem(err, "the list of checks");
  for (int q = 0; q < s->n_questions; q++)
    for (int i = 0; i < n_asked; i++)
      if (order[i] == q) {
        memcpy(sorted + n, v->checks + i * n_out, (size_t)n_out * sizeof *sorted);
        n += n_out;
      }
  base_free(v->checks);
  v->checks = sorted;
  return ASSAY_OK;
}

// Every question is asked, also after a wrong answer: where a kernel is right and where it is not helps its author.
// Only a candidate that broke its process ends the exam early.
enum assay_status session_take_exam(struct session *s, bool *good, struct assay_error *err) {
  int64_t start = clock_monotonic_ns();
  enum assay_status status = ASSAY_OK;
  struct runner_report report = {0};
  int order[MAX_QUESTIONS], n_asked = 0;
  *good = true;
  order_questions(s, order);
  for (int i = 0; i < s->n_questions && !status && report.event == RUNNER_OK; i++) {
    const struct question *q = &s->questions[order[i]];
    enum assay_reason reason = ASSAY_REASON_PASS;
    bool last = i + 1 == s->n_questions || s->questions[order[i + 1]].layout != q->layout;
    status = ask(s, q, order[i], last, &report, &reason, err);
    n_asked += !status && report.event == RUNNER_OK;
    *good = *good && reason == ASSAY_REASON_PASS;
  }
  if (!status)
    status = sort_checks(s, order, n_asked, err);
  s->v->durations.checks_ns = clock_monotonic_ns() - start;
  if (status)
    return status;
  s->v->worst_check = worst_check(s->v);
  if (report.event != RUNNER_OK) {
    *good = false;
    session_decide_event(s, &report);
  } else if (!*good) {
    const struct assay_check *c = &s->v->checks[s->v->worst_check];
    session_decide(s, c->reason, "%s inputs, workload %s, output %d%s%s", c->probe, c->workload, c->output,
                   c->hint[0] ? ": " : "", c->hint);
  }
  return ASSAY_OK;
}
