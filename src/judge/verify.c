// Timing and what follows it: the oracle's answers to the calls that were chosen in secret.
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "judge/baseline.h"
#include "judge/session.h"
#include "judge/workbench.h"

// The judge's own clock may see this much more than the device's did, relative and absolute, in its best call.
static const double SUSPICIOUS_EXCESS = 1.25, SUSPICIOUS_NS = 100000;

// Stamps of events that others contradict in more than this part of the calls were forged.
static const double SUSPICIOUS_STAMPS = 0.2;

enum { VERIFY_REPLICAS = 8 }; // not fewer: see replicas_for in question.c

// A candidate below this part of the floor did not do the work: the floor is what the hardware can do at best.
static const double SUSPICIOUS_PART_OF_FLOOR = 0.7;

// What the check of a timed call means for the verdict.
static void weigh(struct session *s, enum assay_reason reason) {
  if (reason != ASSAY_REASON_PASS && s->v->reason == ASSAY_REASON_PASS) {
    const struct assay_check *c = &s->v->checks[s->v->n_checks - 1];
    s->v->worst_check = s->v->n_checks - 1;
    session_decide(s, ASSAY_REASON_CHANGED_BEHAVIOUR,
                   "a timed call was wrong (%s) though the checked ones were right%s%s", assay_reason_code(reason),
                   c->hint[0] ? ": " : "", c->hint);
  }
}

static struct question question_of(struct session *s, uint64_t key) {
  return (struct question){.layout = &s->layouts[0],
                           .probe = PROBE_DECLARED,
                           .key = key,
                           .scale = SCALE_BORROW,
                           .in_place = s->subject->answers && s->subject->answers(s, &s->layouts[0])};
}

// The call that was just made, in place.
static enum assay_status verify_now(struct session *s, uint64_t key, uint32_t poison, struct assay_error *err) {
  struct question q = question_of(s, key);
  enum assay_reason reason = ASSAY_REASON_PASS;
  int64_t start = clock_monotonic_ns();
  enum assay_status status = questions_answer(&s->task, &q, 1, VERIFY_REPLICAS, s->o->threads, err);
  if (!status) {
    status = session_check_now(s, &q, poison, true, &reason, err);
    question_release(&q);
  }
  if (!status)
    weigh(s, reason);
  s->v->durations.verify_ns += clock_monotonic_ns() - start;
  return status;
}

// The calls that were kept, together.
static enum assay_status verify_kept(struct session *s, const struct timed_call *calls, int n,
                                     struct assay_error *err) {
  int64_t start = clock_monotonic_ns();
  struct question *questions = base_calloc((size_t)n + 1, sizeof *questions);
  if (!questions)
    return error_nomem(err, "the verification of timed calls");
  for (int i = 0; i < n; i++)
    questions[i] = question_of(s, calls[i].key);
  enum assay_status status = questions_answer(&s->task, questions, n, VERIFY_REPLICAS, s->o->threads, err);
  bool answered = !status;
  for (int i = 0; i < n && !status; i++) {
    enum assay_reason reason = ASSAY_REASON_PASS;
    status =
        session_check(s, &questions[i], (const void *const *)calls[i].outputs, calls[i].poison, true, &reason, err);
    if (!status)
      weigh(s, reason);
  }
  for (int i = 0; i < n && answered; i++)
    question_release(&questions[i]);
  base_free(questions);
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

enum assay_status session_time(struct session *s, bool *good, struct assay_error *err) {
  struct assay_timing *t = &s->v->timing;
  struct runner_report report = {0};
  enum assay_status status = make_comparisons(s, err);
  struct timing_session timing = {.session = s,
                                  .baselines = s->o->baselines,
                                  .comparisons = s->v->comparisons,
                                  .layout = &s->layouts[0],
                                  .options = s->o,
                                  .key = rng_derive(s->v->seed, STREAM_TIMED),
                                  .secret = rng_derive(s->v->seed, STREAM_SECRET),
                                  .overhead_ns = s->overhead_ns,
                                  .timing = t,
                                  .kernel_ns = &s->v->durations.kernel_ns,
                                  .verify = verify_now};
  int64_t start = clock_monotonic_ns();
  if (!status)
    status = session_bind(s, &s->layouts[0], &report, err);
  if (!status && report.event == RUNNER_OK) {
    workbench_settle(s->o->workbench);
    status = timing_run(&timing, &report, err);
  }
  s->v->durations.timing_ns = clock_monotonic_ns() - start - s->v->durations.verify_ns;
  if (!status && report.event != RUNNER_OK)
    session_decide_event(s, &report);
  s->kept = timing.kept;
  s->kept_slots = s->o->verified_calls;
  while (s->kept && s->n_kept < timing.n_kept && s->n_kept < s->kept_slots && s->kept[s->n_kept].outputs)
    s->n_kept++; // none when they were verified at once
  *good = s->v->reason == ASSAY_REASON_PASS;
  return status;
}

enum assay_status session_verify(struct session *s, bool good, struct assay_error *err) {
  struct assay_timing *t = &s->v->timing;
  enum assay_status status = good && s->n_kept > 0 ? verify_kept(s, s->kept, s->n_kept, err) : ASSAY_OK;
  good = good && s->v->reason == ASSAY_REASON_PASS;
  t->measured = t->measured && good; // the times of a wrong kernel mean nothing
  bool too_fast = t->high_ns < SUSPICIOUS_PART_OF_FLOOR * t->floor_ns;
  bool elsewhere = t->wall_ns > SUSPICIOUS_EXCESS * t->median_ns + SUSPICIOUS_NS + s->queueing_ns;
  bool forged = t->stamps_apart > SUSPICIOUS_STAMPS * t->stamps_compared || t->stamps_excess_ns > 0;
  bool nothing = t->median_ns <= 0; // less than a call without work
  t->suspicious = t->measured && (too_fast || elsewhere || forged || nothing);
  return status;
}
