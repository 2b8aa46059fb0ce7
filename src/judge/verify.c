// Timing and what follows it: the oracle's answers to the calls that were chosen in secret.
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "judge/session.h"

enum { VERIFY_REPLICAS = 8 };

// A candidate below this part of the floor did not do the work: the floor is what the hardware can do at best.
static const double SUSPICIOUS_PART_OF_FLOOR = 0.7;

static enum assay_status verify_call(void *arg, const struct timed_call *call, struct assay_error *err) {
  struct session *s = arg;
  struct question q;
  enum assay_reason reason = ASSAY_REASON_PASS;
  int64_t start = clock_monotonic_ns();
  enum assay_status status =
      question_make(&s->task, &s->layouts[0], PROBE_DECLARED, call->key, VERIFY_REPLICAS, s->o->threads, &q, err);
  if (status)
    return status;
  status = session_check(s, &q, (const void *const *)call->outputs, call->poison, true, &reason, err);
  question_release(&q);
  if (!status && reason != ASSAY_REASON_PASS && s->v->reason == ASSAY_REASON_PASS) {
    const struct assay_check *c = &s->v->checks[s->v->n_checks - 1];
    s->v->worst_check = s->v->n_checks - 1;
    session_decide(s, ASSAY_REASON_CHANGED_BEHAVIOUR,
                   "a timed call was wrong (%s) though the checked ones were right%s%s", assay_reason_code(reason),
                   c->hint[0] ? ": " : "", c->hint);
  }
  s->v->durations.verify_ns += clock_monotonic_ns() - start;
  return status;
}

enum assay_status session_time(struct session *s, bool *good, struct assay_error *err) {
  struct assay_timing *t = &s->v->timing;
  struct runner_report report = {0};
  struct timing_session timing = {.task = &s->task,
                                  .layout = &s->layouts[0],
                                  .runner = s->runner,
                                  .options = s->o,
                                  .key = rng_derive(s->v->seed, STREAM_TIMED),
                                  .secret = rng_derive(s->v->seed, STREAM_SECRET),
                                  .timing = t,
                                  .kernel_ns = &s->v->durations.kernel_ns,
                                  .verify = verify_call,
                                  .verify_arg = s};
  int64_t start = clock_monotonic_ns();
  enum assay_status status = session_bind(s, &s->layouts[0], &report, err);
  if (!status && report.event == RUNNER_OK)
    status = timing_run(&timing, &report, err);
  s->v->durations.timing_ns = clock_monotonic_ns() - start - s->v->durations.verify_ns;
  if (!status && report.event != RUNNER_OK)
    session_decide_event(s, &report);
  for (int i = 0; i < timing.n_kept && timing.kept && timing.kept[i].outputs && !status; i++)
    status = verify_call(s, &timing.kept[i], err);
  timed_calls_release(timing.kept, s->o->verified_calls, s->layouts[0].n_out);
  *good = s->v->reason == ASSAY_REASON_PASS;
  t->measured = t->measured && *good; // the times of a wrong kernel mean nothing
  t->suspicious = t->measured && t->high_ns < SUSPICIOUS_PART_OF_FLOOR * t->floor_ns;
  return status;
}
