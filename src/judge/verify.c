// SPDX-License-Identifier: Apache-2.0
// Timing, and the verification of the secretly chosen calls against the oracle's answers.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "judge/baseline.h"
#include "judge/session.h"
#include "judge/workbench.h"

enum { VERIFY_REPLICAS = 8 }; // question_passes in question.c says why not fewer

// A candidate that takes less than this fraction of the floor did not do the work: the hardware cannot be faster than
// the floor.
static const double SUSPICIOUS_PART_OF_FLOOR = 0.7;

// What the check of a timed call means for the verdict.
static void weigh(struct session *s, enum assay_reason reason) {
  if (reason != ASSAY_REASON_PASS && s->v->reason == ASSAY_REASON_PASS) {
    const struct assay_check *c = &s->v->checks[s->v->n_checks - 1];
    s->v->worst_check = s->v->n_checks - 1;
    s->v->scope = ASSAY_SCOPE_NONE;
    session_decide(s, ASSAY_REASON_CHANGED_BEHAVIOUR,
                   "a timed call was wrong (%s) though the checked ones were right%s%s", assay_reason_code(reason),
                   c->hint[0] ? ": " : "", c->hint);
  }
}

// Wall clock without the waits for other judges, which count as opening the device.
static int64_t clock_without_waits_ns(const struct session *s) {
  return clock_monotonic_ns() - s->subject->found.open_ns;
}

static struct question question_of(struct session *s, enum probe probe, uint64_t key) {
  return (struct question){.layout = &s->layouts[0],
                           .probe = probe,
                           .key = key,
                           .scale = probe == PROBE_DECLARED ? SCALE_BORROW : SCALE_FEW,
                           .in_place = subject_answers(s->subject, &s->layouts[0]),
                           .kept = session_answers(s)};
}

// Verifies the last call, in place.
static enum assay_status verify_now(void *arg, enum probe probe, uint64_t key, uint32_t poison,
                                    struct assay_error *err) {
  struct session *s = arg;
  struct question q = question_of(s, probe, key);
  enum assay_reason reason = ASSAY_REASON_PASS;
  int64_t start = clock_without_waits_ns(s);
  const bool rests = question_takes_long(&q);
  if (rests)
    subject_rest(s->subject);
  enum assay_status status = questions_answer(&s->task, &q, 1, VERIFY_REPLICAS, s->o->threads, err);
  if (rests)
    subject_resume(s->subject);
  if (!status)
    status = subject_has_turn(s->subject, err);
  if (!status && question_is_asked(&q))
    status = session_check_now(s, &q, poison, true, &reason, err);
  question_release(&q);
  workbench_settle(s->o->workbench); // while this rested, a process that is to record may have begun to come up
  if (!status)
    weigh(s, reason);
  s->v->durations.verify_ns += clock_without_waits_ns(s) - start;
  return status;
}

// Verifies a kept call, and releases the answer.
static enum assay_status verify_call(struct session *s, struct question *q, const struct timed_call *call,
                                     struct assay_error *err) {
  enum assay_reason reason = ASSAY_REASON_PASS;
  enum assay_status status = question_answer_late(&s->task, q, VERIFY_REPLICAS, s->o->threads, err);
  if (!status && question_is_asked(q)) {
    status = session_check(s, q, (const void *const *)call->outputs, call->poison, true, &reason, err);
    if (!status)
      weigh(s, reason);
  }
  question_release(q);
  return status;
}

// Verifies the kept calls, all together.
static enum assay_status verify_kept(struct session *s, const struct timed_call *calls, int slots,
                                     struct assay_error *err) {
  int64_t start = clock_monotonic_ns();
  struct question *questions = base_calloc((size_t)slots + 1, sizeof *questions);
  const struct timed_call **made = base_calloc((size_t)slots + 1, sizeof *made);
  int n = 0;
  if (!questions || !made) {
    base_free(questions);
    base_free(made);
    return error_nomem(err, "the verification of timed calls");
  }
  for (int i = 0; i < slots; i++)
    if (calls[i].used && calls[i].outputs) { // none when they were verified at once
      made[n] = &calls[i];
      questions[n++] = question_of(s, calls[i].probe, calls[i].key);
    }
  questions_postpone(questions, n);
  enum assay_status status = questions_answer(&s->task, questions, n, VERIFY_REPLICAS, s->o->threads, err);
  bool answered = !status;
  for (int i = 0; i < n && !status; i++)
    status = verify_call(s, &questions[i], made[i], err);
  for (int i = 0; i < n && answered; i++)
    question_release(&questions[i]);
  base_free(questions);
  base_free(made);
  s->v->durations.verify_ns += clock_monotonic_ns() - start;
  return status;
}

static enum assay_status make_comparisons(struct session *s, struct assay_error *err) {
  int n = baselines_count(s->o->baselines);
  size_t most = (size_t)s->o->max_samples + 1;
  s->v->comparisons = base_calloc((size_t)n + 1, sizeof *s->v->comparisons);
  s->v->n_comparisons = s->v->comparisons ? n : 0;
  bool made = s->v->comparisons != NULL;
  for (int k = 0; k < s->v->n_comparisons; k++) {
    struct assay_comparison *c = &s->v->comparisons[k];
    c->samples_ns = base_calloc(most, sizeof *c->samples_ns);
    c->candidate_ns = base_calloc(most, sizeof *c->candidate_ns);
    made = made && c->samples_ns && c->candidate_ns;
  }
  return made ? ASSAY_OK : error_nomem(err, "comparisons");
}

enum assay_status session_time(struct session *s, struct assay_error *err) {
  struct assay_timing *t = &s->v->timing;
  struct runner_report report = {0};
  enum assay_status status = make_comparisons(s, err);
  struct timing_session timing = {.subject = s->subject,
                                  .baselines = s->o->baselines,
                                  .comparisons = s->v->comparisons,
                                  .layout = &s->layouts[0],
                                  .options = s->o,
                                  .left_ns = session_left_ns(s),
                                  .key = rng_derive(s->v->secret, STREAM_TIMED),
                                  .secret = rng_derive(s->v->secret, STREAM_SECRET),
                                  .probes = s->o->probes ? s->task.probes & ~(1u << PROBE_DECLARED) : 0,
                                  .overhead_ns = s->overhead_ns,
                                  .timing = t,
                                  .verify = verify_now,
                                  .verify_arg = s};
  workbench_settle(s->o->workbench);
  subject_turn(s->subject, TURN_ALONE);
  int64_t start = clock_without_waits_ns(s);
  if (!status)
    status = subject_has_turn(s->subject, err);
  if (!status)
    status = subject_bind(s->subject, &s->layouts[0], &report, err);
  if (!status && report.event == RUNNER_OK) {
    workbench_settle(s->o->workbench);
    status = timing_run(&timing, &report, err);
  }
  s->v->durations.timing_ns = clock_without_waits_ns(s) - start - s->v->durations.verify_ns;
  s->v->durations.kernel_ns += timing.kernel_ns;
  s->queueing_ns = timing.stamps.queueing_ns;
  s->hot_high_ns = timing.hot_high_ns;
  t->prepare_ns = s->subject->found.prepare_ns;
  if (!status && report.event != RUNNER_OK)
    session_decide_event(s, &report);
  else if (!status && !t->measured && session_is_good(s))
    session_decide(s, ASSAY_REASON_PASS, "no time: %s", t->stop);
  struct load_look after;
  load_look(s->o->paths->proc, &after);
  t->load = load_between(&s->load, &after);
  s->kept = timing.kept;
  s->kept_slots = s->o->verified_calls;
  return status;
}

// The verdict stays a pass. A time that is none has no interval either.
static void take_no_time(struct session *s, const char *stop, const char *more) {
  struct assay_timing *t = &s->v->timing;
  t->measured = t->suspicious = t->unstable = false;
  t->median_ns = t->low_ns = t->high_ns = t->hot_ns = NAN;
  t->stop = stop;
  session_decide(s, ASSAY_REASON_PASS, "no time: %s%s", stop, more);
}

// Decides whether the time counts, once the calls are verified. A time is suspicious because of what a kernel did; what
// the machine did leaves none.
static void weigh_time(struct session *s) {
  struct assay_timing *t = &s->v->timing;
  const struct stamps_facts stamps = {.wall_ns = t->wall_ns,
                                      .queueing_ns = s->queueing_ns,
                                      .excess_ns = t->stamps_excess_ns,
                                      .n_compared = t->stamps_compared,
                                      .n_apart = t->stamps_apart};
  char busy[128], text[160];
  t->measured = t->measured && session_is_good(s); // the times of a wrong kernel mean nothing
  bool too_fast = t->high_ns < SUSPICIOUS_PART_OF_FLOOR * t->floor_ns ||
                  s->hot_high_ns < SUSPICIOUS_PART_OF_FLOOR * s->hot_floor_ns;
  bool hosts = load_shows_in(s->v);
  if (session_is_good(s) && s->o->timing && hosts && load_is_too_much(&t->load)) {
    snprintf(text, sizeof text, " (%s)", load_text(&t->load, busy, sizeof busy));
    take_no_time(s, "machine too busy", text);
  } else if (t->measured && !too_fast && stamps_say_elsewhere(&stamps, t->median_ns) && load_is_felt(&t->load)) {
    // The judge's clock saw more than the events: the kernel's work, or a host that was late. Nobody can tell.
    snprintf(text, sizeof text, " (%s)", load_text(&t->load, busy, sizeof busy));
    take_no_time(s, "machine too busy", text);
  } else if (t->measured && t->median_ns <= 0) { // less than a call without work
    take_no_time(s, "the calls took no longer than calls without a kernel", "");
  } else {
    t->suspicious = t->measured && (too_fast || stamps_are_suspicious(&stamps, t->median_ns));
    t->unstable = t->unstable || (t->measured && hosts && load_is_felt(&t->load));
  }
}

enum assay_status session_verify(struct session *s, struct assay_error *err) {
  bool wanted = session_is_good(s) && s->kept;
  enum assay_status status = wanted ? verify_kept(s, s->kept, s->kept_slots, err) : ASSAY_OK;
  if (!status)
    weigh_time(s);
  return status;
}
