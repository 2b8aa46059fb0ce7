// SPDX-License-Identifier: Apache-2.0
// The exam: chooses the questions, and calls the candidate on each.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/memory.h"
#include "judge/hold_out.h"
#include "judge/session.h"
#include "judge/slabs.h"

// The size of a shape, for choosing among several.
static int64_t input_elements(const struct layout *l) {
  int64_t n = 0;
  for (int i = 0; i < l->n_in; i++)
    n += tensor_type_count(&l->in[i]);
  return n;
}

// A number that no candidate knows before it is asked.
static uint64_t secret_number(const struct session *s, uint64_t stream, uint64_t number) {
  return rng_secret(rng_derive(s->v->secret, stream), (uint64_t)(s->n_dropped_exams * MAX_QUESTIONS) + number);
}

// Whether the judged shape alone decides. Without other questions there is nothing to keep apart.
static bool is_narrow(const struct session *s) {
  return s->o->shapes == ASSAY_SHAPES_JUDGED && s->o->probes;
}

static bool is_drawn(const struct session *s, const struct layout *l) {
  return l > &s->layouts[0] && l <= &s->layouts[s->n_shapes];
}

// One more; NULL where there is no room. session_make_exam then refuses the exam.
static struct question *next_question(struct session *s) {
  if (s->n_questions < MAX_QUESTIONS)
    return &s->questions[s->n_questions++];
  s->n_without_room++;
  return NULL;
}

static void add_question(struct session *s, const struct layout *l, enum probe probe) {
  uint64_t number = (uint64_t)(s->n_dropped_exams * MAX_QUESTIONS + s->n_questions);
  uint64_t key = rng_secret(rng_derive(s->v->seed, STREAM_CHECKS), number);
  bool timed = l == &s->layouts[0] && probe == PROBE_DECLARED && s->o->timing && s->o->verified_calls > 0;
  struct question *q = next_question(s);
  if (q)
    *q = (struct question){.layout = l,
                           .probe = probe,
                           .key = key,
                           .passes = is_drawn(s, l) ? QUESTION_FEW : 0,
                           .scale = timed ? SCALE_KEEP : SCALE_OWN,
                           .in_place = subject_answers(s->subject, l),
                           .kept = session_answers(s)};
}

void session_drop_exam(struct session *s) {
  for (int i = 0; i < s->n_questions; i++)
    question_release(&s->questions[i]);
  for (int i = 0; i < s->n_layouts; i++)
    layout_release(&s->layouts[i]);
  for (int i = 0; i < s->v->n_checks; i++)
    base_free(s->v->checks[i].description);
  s->n_questions = s->n_without_room = s->n_layouts = s->n_shapes = s->v->n_shapes = s->v->n_checks =
      s->v->n_skipped_probes = 0;
  s->v->worst_check = -1;
  s->n_dropped_exams++;
}

// Probes at which every straightforward implementation fails are skipped.
static void drop_impossible(struct session *s) {
  int kept = 0;
  for (int i = 0; i < s->n_questions; i++) {
    struct question *q = &s->questions[i];
    if (question_is_asked(q)) {
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

static void shuffle(const struct session *s, enum probe *list, int n, int stream) {
  for (int i = n - 1; i > 0; i--) {
    int other = (int)(secret_number(s, STREAM_JUDGED, (uint64_t)(stream + i)) % (uint64_t)(i + 1));
    enum probe kept = list[i];
    list[i] = list[other];
    list[other] = kept;
  }
}

// How much work a shape may be that is drawn. A neighbour may be as much as the judged shape itself, if that is not too
// large for one more question; the others are small next to it, so that the exam takes little longer for them.
static double most_work(enum shape_kind kind, double judged) {
  static const double least = 1 << 16, large = 3e8, reduced = 1e8;
  double most = kind == SHAPE_NEIGHBOUR ? fmin(1.1 * judged, large) : fmin(judged / 8, reduced);
  return fmax(most, least);
}

static void note_shape(struct session *s, const struct workload *w) {
  struct assay_shape *to = &s->v->shapes[s->v->n_shapes];
  const char *text = workload_text(w, &s->arena);
  snprintf(to->name, sizeof to->name, "%s", w->name);
  snprintf(to->extents, sizeof to->extents, "%s", text ? text : "");
  s->v->n_shapes++;
}

// Draws shapes that stand in no file. Without any the exam has only the file's, and the verdict shows that.
static enum assay_status add_drawn(struct session *s, struct assay_error *err) {
  struct shape_request r = {.task = &s->task,
                            .ranges = &s->ranges,
                            .judged = &s->workload,
                            .key = secret_number(s, STREAM_SHAPES, 0),
                            .arena = &s->arena};
  double judged = shape_work(&s->task, &s->workload);
  enum assay_status status = shape_ranges_find(&s->task, &s->arena, &s->ranges, err);
  _Static_assert((int)SHAPE_KIND_COUNT == (int)ASSAY_MOST_SHAPES, "one of each kind");
  s->n_shapes = s->v->n_shapes = 0;
  for (int kind = 0; kind < SHAPE_KIND_COUNT && !status; kind++) {
    bool found;
    struct workload *w = &s->shapes[s->n_shapes];
    if (hold_out_shape(s->o->hold_out, (enum shape_kind)kind))
      continue;
    r.most_work = most_work((enum shape_kind)kind, judged);
    status = shape_draw(&r, (enum shape_kind)kind, w, &found, err);
    if (status || !found)
      continue;
    note_shape(s, w);
    s->n_shapes++;
    status = add_layout(s, w, err);
    if (!status)
      add_question(s, &s->layouts[s->n_layouts - 1], PROBE_DECLARED);
  }
  return status;
}

static enum assay_status add_ragged(struct session *s, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < s->task.n_workloads && !status; i++) {
    if (strncmp(s->task.workloads[i].name, "ragged", 6) != 0)
      continue;
    if (s->n_layouts == MAX_LAYOUTS)
      return error_set(err, ASSAY_ERR_LIMIT, "%s: workload %s: a task has at most %d ragged workloads", s->task.name,
                       s->task.workloads[i].name, MAX_LAYOUTS - 1 - (int)SHAPE_KIND_COUNT);
    status = add_layout(s, &s->task.workloads[i], err);
    if (!status)
      add_question(s, &s->layouts[s->n_layouts - 1], PROBE_DECLARED);
  }
  return status;
}

static bool is_kind(const struct session *s, int layout, enum shape_kind kind) {
  return strcmp(s->layouts[layout].workload->name, shape_kind_name(kind)) == 0;
}

// The shape at which every probe is asked: long sums and rows, and little else. Where there is none, the largest of the
// others that is not as large as the judged one.
static int probed_layout(const struct session *s) {
  int best = -1;
  for (int i = 1; i < s->n_layouts; i++) {
    const struct layout *l = &s->layouts[i];
    if (is_kind(s, i, SHAPE_REDUCED))
      return i;
    if (is_kind(s, i, SHAPE_NEIGHBOUR))
      continue;
    if (best < 0 || input_elements(l) > input_elements(&s->layouts[best]))
      best = i;
  }
  return best;
}

// A secret one of the shapes. (Not the neighbour: it is as large as the judged one.) Numbers that are 0 or nearly so
// make kernels on tensor cores take another way, and those begin where extents are multiples of some number, which few
// shapes' are: three times of four these probes go there. A mean far above the spread always does, where extents are
// short but not 1: roundings of squares average over a long row, and a row of one has no spread.
static int other_layout(const struct session *s, enum probe probe) {
  const uint64_t secret = secret_number(s, STREAM_PROBE_SHAPES, (uint64_t)probe);
  int other = 1 + (int)(secret % (uint64_t)(s->n_layouts - 1));
  const bool zeros = probe == PROBE_TINY || probe == PROBE_SUBNORMAL;
  const bool round = probe == PROBE_HEAVY_MEAN || (zeros && secret >> 62);
  for (int i = 1; i < s->n_layouts && round; i++)
    if (is_kind(s, i, SHAPE_MULTIPLES))
      other = i;
  return is_kind(s, other, SHAPE_NEIGHBOUR) ? s->n_layouts - 1 : other;
}

// Whether what a network makes is fed back to it. A wrong number in the middle of a long run is forgotten by its end,
// so that functions which are wrong far from zero (a tanh that is 1 beyond 6) show in short runs of few numbers, and
// there only if a row's factor is about right.
static bool feeds_back(const struct session *s) {
  const struct graph *g = &s->task.model.flat;
  for (int i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op->feeds_back)
      return true;
  return false;
}

// Asks one probe at that shape and at another. (A kernel may have an epsilon for each of its ways.)
static void add_probe(struct session *s, enum probe probe) {
  int at = probed_layout(s), other;
  if (at < 0 || !(s->task.probes & 1u << probe))
    return;
  add_question(s, &s->layouts[at], probe);
  other = other_layout(s, probe);
  if (other != at)
    add_question(s, &s->layouts[other], probe);
  if (probe == PROBE_ROW_SCALES && feeds_back(s))
    for (int i = 1 + s->n_shapes; i < s->n_layouts; i++)
      for (int k = 0; k < 2; k++)
        add_question(s, &s->layouts[i], probe);
}

// Questions at the judged workload: one of its own distribution, and probes: zero means and scaled rows always, then
// any. (At small shapes alone a kernel could be exact that is not where it counts: what is lost to fewer bits
// disappears beside the rounding of a long sum of positive numbers.)
static void add_judged(struct session *s) {
  enum probe list[PROBE_COUNT];
  int n = 0, first = 0;
  for (int p = PROBE_DECLARED + 1; p < PROBE_COUNT && s->o->probes; p++)
    if (p != PROBE_STRIPES && p != PROBE_OPPOSED && s->task.probes & 1u << p) {
      const bool always = p == PROBE_ZERO_MEAN || p == PROBE_ROW_SCALES;
      list[n] = (enum probe)p;
      if (always) {
        list[n] = list[first];
        list[first++] = (enum probe)p;
      }
      n++;
    }
  shuffle(s, list, first, 0);
  shuffle(s, list + first, n - first, PROBE_COUNT);
  // One more where one is asked after the timing.
  for (int i = 1; i < s->o->declared_checks + is_narrow(s); i++)
    add_question(s, &s->layouts[0], i - 1 < n ? list[i - 1] : PROBE_DECLARED);
}

// Data that are as declared almost everywhere, so that a look at some of them does not tell them from others. Twice at
// the judged shape, along other dimensions, since a look may meet the very slice.
static void add_stripes(struct session *s) {
  add_probe(s, PROBE_STRIPES);
  const bool judged = s->o->probes && s->o->declared_checks > 1 && s->task.probes & 1u << PROBE_STRIPES;
  const int first = s->n_questions;
  for (int i = 0; i < 2 && judged; i++)
    add_question(s, &s->layouts[0], PROBE_STRIPES);
  if (s->n_questions == first + 2)
    s->questions[first + 1].key = distribution_other_stripes(s->questions[first].key);
}

// Whether it has so many products that questions take long: some are asked at the judged shape alone then, where a
// kernel would gain by them.
static bool is_network(const struct session *s) {
  enum { MOST_PRODUCTS = 2 };
  return task_products(&s->task) > MOST_PRODUCTS;
}

// A product of integers with one scale for a row is as good as one of floats where the elements of rows are alike; so
// it is asked where they are not, and what they are multiplied by makes up for it.
static void add_opposed(struct session *s) {
  if (!is_network(s))
    add_probe(s, PROBE_OPPOSED);
  if (s->o->probes && s->o->declared_checks > 1 && s->task.probes & 1u << PROBE_OPPOSED)
    add_question(s, &s->layouts[0], PROBE_OPPOSED);
}

// What the machine has no memory for is answered in slabs, or refused before any work: otherwise the kernel ends some
// process, maybe another one's, when memory is gone.
static enum assay_status check_memory(struct session *s, struct assay_error *err) {
  struct layout *l = &s->layouts[0];
  int64_t total, available = memory_available("", &total), need = layout_judging_bytes(l, s->o), least;
  if (subject_answers(s->subject, l) || need <= available)
    return ASSAY_OK;
  enum assay_status status = slabs_least_bytes(&s->task, l, s->o, &least, err);
  if (!status && least > 0 && least <= available)
    status = slabs_choose(&s->task, l, s->o, available, err);
  if (status || l->slab > 0)
    return status;
  return error_set(err, ASSAY_ERR_ENVIRONMENT,
                   "%s at workload %s takes about %.1f GB of memory to judge on the CPU%s, and %.1f GB of %.1f GB are "
                   "available: use a smaller workload (--workload small, or extents as in N=64), a machine with more "
                   "memory, or a GPU",
                   s->task.name, s->workload.name, (double)(least > 0 ? least : need) / 1e9,
                   least > 0 ? ", its batch in parts" : "", (double)available / 1e9, (double)total / 1e9);
}

// At every third shape, from a secret one on, nothing is mapped in front of the inputs; at the others, nothing behind
// them, which is where most kernels go wrong. The judged shape's inputs lie as they always do: times depend on it.
static void place_inputs(struct session *s) {
  const uint64_t first = secret_number(s, STREAM_PLACES, 0);
  for (int i = 1; i < s->n_layouts; i++)
    s->layouts[i].inputs_first = (first + (uint64_t)i) % 3 == 0;
}

// The exam: the declared distribution at the timed workload first, then at shapes that were drawn and every ragged
// shape, then the probes, then those at the timed workload. They are asked in another order (order_questions).
enum assay_status session_make_exam(struct session *s, struct assay_error *err) {
  enum assay_status status = add_layout(s, &s->workload, err);
  if (!status)
    status = check_memory(s, err);
  if (!status)
    add_question(s, &s->layouts[0], PROBE_DECLARED);
  if (!status && s->o->probes)
    status = add_drawn(s, err);
  if (!status && s->o->probes)
    status = add_ragged(s, err);
  if (status)
    return status;
  place_inputs(s);
  for (int p = PROBE_DECLARED + 1; p < PROBE_COUNT; p++)
    if (p != PROBE_STRIPES && p != PROBE_OPPOSED)
      add_probe(s, (enum probe)p);
  add_judged(s);
  struct question *again = draws_in(&s->task) ? next_question(s) : NULL;
  if (again) // the same seeds once more, after others
    *again = s->questions[0];
  add_stripes(s);
  add_opposed(s);
  if (s->n_without_room > 0) {
    int n = s->n_questions + s->n_without_room;
    s->n_questions = 0; // nothing is answered yet
    return error_set(err, ASSAY_ERR_LIMIT,
                     "%s: %d questions would be asked, and %d are the most: fewer --checks (now %d), or a task with "
                     "fewer ragged workloads",
                     s->task.name, n, MAX_QUESTIONS, s->o->declared_checks);
  }
  questions_postpone(s->questions, s->n_questions);
  status = questions_answer(&s->task, s->questions, s->n_questions, s->o->replicas, s->o->threads, err);
  if (status)
    s->n_questions = 0; // released
  else
    drop_impossible(s);
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

// The same with an answer that is made in slabs.
static enum assay_status check_slabs(struct session *s, const struct question *q, const void *const *outputs,
                                     uint32_t poison, struct assay_check *c, struct assay_error *err) {
  struct question again = *q;
  struct slabs_call call = {outputs, poison, s->o, question_passes(q, s->o->replicas)};
  enum assay_status status = slabs_check(&s->task, q, &call, c, err);
  if (status || c[0].skipped || !question_drop_doubtful(s->o, c, q->layout->n_out))
    return status;
  again.again = true;
  call.replicas = QUESTION_MORE;
  return slabs_check(&s->task, &again, &call, c, err);
}

// Compares with the answer, which is then released. Where few elements decide, asks once more for a better estimate of
// the error scale.
static enum assay_status check_twice(struct session *s, struct question *q, const void *const *outputs, uint32_t poison,
                                     struct assay_check *c, struct assay_error *err) {
  struct question again = {.layout = q->layout, .probe = q->probe, .key = q->key, .again = true, .kept = q->kept};
  enum assay_status status = question_check(&s->task, q, outputs, poison, s->o, c, err);
  question_release(q);
  if (status || !question_drop_doubtful(s->o, c, q->layout->n_judged))
    return status;
  subject_rest(s->subject); // so many passes take long
  status = question_answer(&s->task, &again, QUESTION_MORE, s->o->threads, err);
  subject_resume(s->subject);
  if (status)
    return status;
  status = question_check(&s->task, &again, outputs, poison, s->o, c, err);
  question_release(&again);
  return status;
}

// The device has nothing to do meanwhile.
static enum assay_status check_on_host(struct session *s, struct question *q, const void *const *outputs,
                                       uint32_t poison, struct assay_check *c, struct assay_error *err) {
  const bool rests = s->subject && question_takes_long(q);
  if (rests)
    subject_rest(s->subject);
  enum assay_status status =
      q->layout->slab > 0 ? check_slabs(s, q, outputs, poison, c, err) : check_twice(s, q, outputs, poison, c, err);
  if (rests)
    subject_resume(s->subject);
  return status;
}

// Of numbers of chance: whether they go with those of other calls. The first value stands for all; what is wrong by
// itself says more (of an element that was not written, every call has another pattern).
static enum assay_status check_draws(struct session *s, const struct question *q, struct assay_check *c,
                                     struct assay_error *err) {
  const char *fault = NULL;
  enum assay_status status = draws_note(&s->draws, q, q->rows, &fault, err);
  for (int i = 0; i < q->layout->n_judged && fault; i++)
    if (c[i].reason != ASSAY_REASON_PASS)
      fault = NULL;
  if (status || !fault)
    return status;
  c->reason = ASSAY_REASON_WRONG_VALUE;
  snprintf(c->hint, sizeof c->hint, "%s", fault);
  c->description = base_strndup(fault, strlen(fault));
  return c->description ? ASSAY_OK : error_nomem(err, "a check's description");
}

enum assay_status session_check(struct session *s, struct question *q, const void *const *outputs, uint32_t poison,
                                bool timed, enum assay_reason *reason, struct assay_error *err) {
  int n_judged = q->layout->n_judged;
  enum assay_status status = grow_checks(s, n_judged, err);
  if (status)
    return status;
  struct assay_check *c = &s->v->checks[s->v->n_checks];
  memset(c, 0, (size_t)n_judged * sizeof *c);
  q->rows = draws_in(&s->task) ? base_calloc((size_t)draws_rows(q->layout) + 1, sizeof *q->rows) : NULL;
  if (draws_in(&s->task) && !q->rows)
    return error_nomem(err, "a call's rows");
  status = q->in_place ? s->subject->ops->check(s->subject, q, poison, c, err)
                       : check_on_host(s, q, outputs, poison, c, err);
  if (!status && q->rows && !q->in_place)
    draws_hash(q->layout, outputs, q->rows);
  if (!status && q->rows && !c[0].skipped)
    status = check_draws(s, q, c, err);
  base_free(q->rows);
  q->rows = NULL;
  *reason = ASSAY_REASON_PASS;
  if (!status && c[0].skipped) {
    s->v->n_skipped_probes++;
    return ASSAY_OK;
  }
  s->v->n_checks += n_judged;
  for (int i = 0; i < n_judged && !status; i++) {
    c[i].timed = timed;
    if (*reason == ASSAY_REASON_PASS)
      *reason = c[i].reason;
  }
  return status;
}

enum assay_status session_check_now(struct session *s, struct question *q, uint32_t poison, bool timed,
                                    enum assay_reason *reason, struct assay_error *err) {
  const struct layout *l = q->layout;
  if (q->in_place)
    return session_check(s, q, NULL, poison, timed, reason, err);
  const void **outputs = base_calloc((size_t)l->n_out + 1, sizeof *outputs);
  void **copies = base_calloc((size_t)l->n_out + 1, sizeof *copies);
  enum assay_status status = outputs && copies ? ASSAY_OK : error_nomem(err, "a call's outputs");
  for (int i = 0; i < l->n_out && !status; i++) {
    outputs[i] = s->subject->ops->output(s->subject, i);
    if (outputs[i])
      continue;
    outputs[i] = copies[i] = base_alloc((size_t)layout_output_bytes(l, i));
    status =
        copies[i] ? s->subject->ops->read_output(s->subject, i, copies[i], err) : error_nomem(err, "a call's outputs");
  }
  if (!status)
    status = session_check(s, q, outputs, poison, timed, reason, err);
  for (int i = 0; copies && i < l->n_out; i++)
    base_free(copies[i]);
  base_free(copies);
  base_free(outputs);
  return status;
}

static bool is_judged(const struct session *s, const struct assay_check *c) {
  return s->n_layouts > 0 && strncmp(c->workload, s->layouts[0].workload->name, sizeof c->workload - 1) == 0;
}

// The check to show: the first that failed, or the pass that came closest to its limit. `judged`: of those at the
// judged workload alone.
static int worst_check(const struct session *s, bool judged) {
  const struct assay_verdict *v = s->v;
  int worst = -1;
  for (int i = 0; i < v->n_checks; i++) {
    if (judged && !is_judged(s, &v->checks[i]))
      continue;
    if (v->checks[i].reason != ASSAY_REASON_PASS)
      return i;
    if (worst < 0 || v->checks[i].z_max / v->checks[i].z_limit > v->checks[worst].z_max / v->checks[worst].z_limit)
      worst = i;
  }
  return worst;
}

// One call on the question's inputs, and the comparison. *reason stays PASS when the runner has an event to report.
// `last` of its layout: the bands are checked, too. A late question is answered before the call: what a candidate left
// running has no more time to write than in any other.
static enum assay_status ask(struct session *s, struct question *q, int number, bool last, struct runner_report *report,
                             enum assay_reason *reason, struct assay_error *err) {
  const struct layout *l = q->layout;
  uint64_t call = (uint64_t)(s->n_dropped_exams * MAX_QUESTIONS + number);
  uint32_t poison = POISON_NAN | (uint32_t)(rng_secret(rng_derive(s->v->secret, STREAM_POISON), call) & POISON_PAYLOAD);
  const struct subject_ops *ops = s->subject->ops;
  s->asked = q;
  const bool late = q->late;
  if (late)
    subject_rest(s->subject);
  else
    subject_give_way(s->subject);
  enum assay_status status = question_answer_late(&s->task, q, s->o->replicas, s->o->threads, err);
  if (late)
    subject_resume(s->subject);
  if (!status)
    status = subject_has_turn(s->subject, err);
  const bool asked = !status && question_is_asked(q);
  if (!status)
    status = subject_bind(s->subject, l, report, err);
  if (!status && report->event == RUNNER_OK && asked)
    status = ops->fill(s->subject, q->probe, q->key, poison, err);
  if (!status && report->event == RUNNER_OK && asked)
    status = ops->call(s->subject, CALL_COLD, report, err);
  if (!status && report->event == RUNNER_OK && last && ops->inspect)
    status = ops->inspect(s->subject, report, err);
  if (!status && !asked) {
    question_release(q);
    s->v->n_skipped_probes++;
  }
  if (status || report->event != RUNNER_OK || !asked)
    return status;
  s->v->durations.kernel_ns += report->elapsed_ns;
  return session_check_now(s, q, poison, false, reason, err);
}

static void shuffle_questions(const struct session *s, int *list, int n) {
  for (int i = n - 1; i > 0; i--) {
    int other = (int)(secret_number(s, STREAM_JUDGED, (uint64_t)(2 * PROBE_COUNT + i)) % (uint64_t)(i + 1));
    int kept = list[i];
    list[i] = list[other];
    list[other] = kept;
  }
}

// The order of asking: layout by layout, since another layout means other buffers and another plan. Those at the timed
// workload come in a secret order, and the last of them after all others, because state kept from other shapes shows
// there. Where only the judged shape counts, what comes after its own questions is asked once it was timed.
static void order_questions(struct session *s) {
  int judged[MAX_QUESTIONS], n_judged = 0, n = 0;
  for (int i = 0; i < s->n_questions; i++)
    if (s->questions[i].layout == &s->layouts[0])
      judged[n_judged++] = i;
  shuffle_questions(s, judged, n_judged);
  if (is_narrow(s) && n_judged > 1 && judged[n_judged - 1] == 0) { // the declared draw decides, so it comes before
    judged[n_judged - 1] = judged[0];
    judged[0] = 0;
  }
  for (int i = 0; i + 1 < n_judged; i++)
    s->order[n++] = judged[i];
  s->n_counted = is_narrow(s) ? n : s->n_questions;
  for (int l = 1; l < s->n_layouts; l++)
    for (int i = 0; i < s->n_questions; i++)
      if (s->questions[i].layout == &s->layouts[l])
        s->order[n++] = i;
  if (n_judged > 0)
    s->order[n] = judged[n_judged - 1];
}

// Sorts the checks, which are in the order of asking, into the order of the questions. `first`: of each question, its
// first check; -1 without any.
static enum assay_status sort_checks(struct session *s, const int first[MAX_QUESTIONS], struct assay_error *err) {
  struct assay_verdict *v = s->v;
  int n = 0;
  struct assay_check *sorted = base_calloc((size_t)s->capacity_checks + 1, sizeof *sorted);
  if (!sorted)
    return error_nomem(err, "the list of checks");
  for (int q = 0; q < s->n_questions; q++)
    if (first[q] >= 0) {
      int n_judged = s->questions[q].layout->n_judged;
      memcpy(sorted + n, v->checks + first[q], (size_t)n_judged * sizeof *sorted);
      n += n_judged;
    }
  base_free(v->checks);
  v->checks = sorted;
  return ASSAY_OK;
}

// The extents of a drawn shape; NULL: the workload is another one.
static const char *extents_of(const struct assay_verdict *v, const char *workload) {
  for (int i = 0; i < v->n_shapes; i++)
    if (strcmp(v->shapes[i].name, workload) == 0)
      return v->shapes[i].extents;
  return NULL;
}

// What a failed check says, in one line.
static void check_text(const struct assay_verdict *v, const struct assay_check *c, char *text, size_t size) {
  const char *extents = extents_of(v, c->workload);
  char gate[64] = "";
  if (c->gate[0])
    snprintf(gate, sizeof gate, ": %s error %.3g of %.3g allowed", c->gate, c->gate_z, c->gate_limit);
  snprintf(text, size, "%s inputs, workload %s%s%s%s, output %d%s%s%s", c->probe, c->workload, extents ? " (" : "",
           extents ? extents : "", extents ? ")" : "", c->output, gate, c->hint[0] ? ": " : "", c->hint);
}

// What the runner reported, and which question it was asked then.
static void event_text(const struct session *s, const struct runner_report *report, char *text, size_t size) {
  const struct question *q = s->asked;
  const char *workload = q ? q->layout->workload->name : "", *extents = extents_of(s->v, workload);
  if (q)
    snprintf(text, size, "%s; %s inputs, workload %s%s%s%s", report->detail, probe_name(q->probe), workload,
             extents ? " (" : "", extents ? extents : "", extents ? ")" : "");
  else
    snprintf(text, size, "%s", report->detail);
}

static bool failed(const struct session *s, int check) {
  return check >= 0 && s->v->checks[check].reason != ASSAY_REASON_PASS;
}

// Nothing more is asked of it then, and no question is to blame.
static bool overdrawn(struct session *s, struct runner_report *report) {
  if (!session_overdrawn(s, report))
    return false;
  s->asked = NULL;
  return true;
}

// Asks the questions [from, to) of the order, also after a wrong answer: it helps the author to see where the kernel is
// right and where not. Only a candidate whose process ended stops early. `first`: as of sort_checks.
static enum assay_status ask_all(struct session *s, int from, int to, int first[MAX_QUESTIONS],
                                 struct runner_report *report, struct assay_error *err) {
  const int64_t *waited_ns = &s->subject->found.open_ns; // for other judges
  int64_t start = clock_monotonic_ns() - *waited_ns;
  enum assay_status status = ASSAY_OK;
  for (int i = from; i < to && !status && report->event == RUNNER_OK && !overdrawn(s, report); i++) {
    struct question *q = &s->questions[s->order[i]];
    enum assay_reason reason = ASSAY_REASON_PASS;
    bool last = i + 1 == to || s->questions[s->order[i + 1]].layout != q->layout;
    int n_before = s->v->n_checks;
    status = ask(s, q, s->order[i], last, report, &reason, err);
    if (s->v->n_checks > n_before)
      first[s->order[i]] = n_before;
  }
  s->v->durations.checks_ns += clock_monotonic_ns() - *waited_ns - start;
  return status;
}

// What was found elsewhere, of a candidate that is right at the judged shape.
static void note_elsewhere(struct session *s, const struct runner_report *report) {
  struct assay_verdict *v = s->v;
  char text[512];
  int worst = worst_check(s, false);
  if (report->event != RUNNER_OK) {
    event_text(s, report, text, sizeof text);
    snprintf(v->elsewhere, sizeof v->elsewhere, "%s: %.250s", assay_reason_code(session_event_reason(report)), text);
  } else if (failed(s, worst)) {
    check_text(v, &v->checks[worst], text, sizeof text);
    snprintf(v->elsewhere, sizeof v->elsewhere, "%s: %.250s", assay_reason_code(v->checks[worst].reason), text);
  }
  v->scope = v->elsewhere[0] ? ASSAY_SCOPE_JUDGED : ASSAY_SCOPE_GENERAL;
}

// Whether there is no plan of a Python candidate, or none that works. What one at another shape answered does not count
// then: the recording may be what was wrong, and a process can be asked instead.
static bool lacks_plan(const struct session *s, const struct runner_report *report) {
  const bool lacks = report->event == RUNNER_UNRECORDABLE ||
                     (report->event == RUNNER_OUT_OF_BOUNDS && s->subject->found.libraries_fault);
  return lacks && s->kind->without_plan && s->choice.form->python;
}

// Otherwise a wrong answer at the judged shape comes first, also where the candidate's process ended at another one.
static void decide(struct session *s, const struct runner_report *report) {
  struct assay_verdict *v = s->v;
  char text[512];
  const bool all = s->n_counted == s->n_questions, elsewhere = s->subject->bound && s->subject->bound != &s->layouts[0];
  int judged = worst_check(s, true), worst = failed(s, judged) ? judged : worst_check(s, false);
  v->worst_check = worst;
  if (s->o->probes && judged >= 0 && !failed(s, judged) && (report->event == RUNNER_OK || elsewhere) && all)
    note_elsewhere(s, report);
  if (lacks_plan(s, report)) {
    session_decide_event(s, report);
  } else if (report->event != RUNNER_OK && !failed(s, judged)) {
    event_text(s, report, text, sizeof text);
    session_decide(s, session_event_reason(report), "%s", text);
  } else if (failed(s, worst)) {
    check_text(v, &v->checks[worst], text, sizeof text);
    session_decide(s, v->checks[worst].reason, "%s", text);
  }
}

enum assay_status session_take_exam(struct session *s, struct assay_error *err) {
  struct runner_report report = {0};
  int first[MAX_QUESTIONS];
  memset(first, -1, sizeof first);
  s->v->durations.checks_ns = 0;
  s->asked = NULL;
  order_questions(s);
  enum assay_status status = ask_all(s, 0, s->n_counted, first, &report, err);
  if (!status)
    status = sort_checks(s, first, err);
  if (!status)
    decide(s, &report);
  return status;
}

enum assay_status session_look_elsewhere(struct session *s, struct assay_error *err) {
  struct runner_report report = {0};
  int first[MAX_QUESTIONS], judged;
  if (s->n_counted == s->n_questions)
    return ASSAY_OK;
  enum assay_status status = ask_all(s, s->n_counted, s->n_questions, first, &report, err);
  if (status)
    return status;
  judged = worst_check(s, true);
  s->v->worst_check = judged;
  if (failed(s, judged)) { // it was right before the others were asked
    char text[256];
    check_text(s->v, &s->v->checks[judged], text, sizeof text);
    session_decide(s, s->v->checks[judged].reason, "after calls at other shapes: %s", text);
  } else {
    note_elsewhere(s, &report);
  }
  return ASSAY_OK;
}
