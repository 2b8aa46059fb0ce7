// The sampling loop. Every sample is one call on fresh inputs with poisoned outputs; which samples are verified is
// decided by a secret that the candidate's process never holds.
#include "judge/timing.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "judge/baseline.h"
#include "judge/session.h"
#include "stats/stats.h"

// An interval this wide, relative to the time itself, is said to be unstable.
static const double UNSTABLE_WIDTH = 0.05;

enum { WARM_UP_CALLS = 3, AS_CALLED_SAMPLES = 9, RESAMPLES_SEED = 20260101 };

// Calls that take long scatter little: as many as take this time together do, and so many at least, if they agree as
// well as this. The warm-up calls say how long one takes.
enum { FEW_SAMPLES = 10, FEW_OTHERS = 5 };
static const double LONG_NS = 500e6, FEW_WIDTH = 0.005;
#define KEEP_LIMIT_BYTES ((int64_t)1 << 30)

struct loop {
  struct timing_session *s;
  struct runner_report *report;
  uint64_t calls;        // timed calls so far, dropped ones included
  int cold, hot, called; // calls of the usual run, behind the warm-up
  bool keep;             // outputs are small enough to be copied
  bool catch_up;         // verify every call from now on: chance left too few of them
};

void timed_calls_release(struct timed_call *calls, int n, int n_out) {
  for (int i = 0; calls && i < n; i++) {
    for (int o = 0; calls[i].outputs && o < n_out; o++)
      base_free(calls[i].outputs[o]);
    base_free(calls[i].outputs);
  }
  base_free(calls);
}

// Copies a call's outputs to the host: the last one's, or what the subject keeps in a slot. A call keeps its memory
// when another takes its place.
static enum assay_status copy_outputs(struct timing_session *s, struct timed_call *call, int slot,
                                      struct assay_error *err) {
  const struct subject_ops *subject = s->session->subject;
  const struct layout *layout = s->layout;
  if (!call->outputs)
    call->outputs = base_calloc((size_t)layout->n_out, sizeof *call->outputs);
  if (!call->outputs)
    return error_nomem(err, "copies of outputs");
  enum assay_status status = ASSAY_OK;
  for (int o = 0; o < layout->n_out && !status; o++) {
    size_t bytes = (size_t)layout_output_bytes(layout, o);
    if (!call->outputs[o] && !(call->outputs[o] = base_alloc(bytes)))
      return error_nomem(err, "copies of outputs");
    status = subject->keep_outputs ? subject->read_kept(s->session, slot, o, call->outputs[o], err)
                                   : subject->read_output(s->session, o, call->outputs[o], err);
  }
  return status;
}

static enum assay_status keep_call(struct loop *l, int slot, uint64_t key, uint32_t poison, struct assay_error *err) {
  const struct subject_ops *subject = l->s->session->subject;
  struct timed_call *call = &l->s->kept[slot];
  call->key = key;
  call->poison = poison;
  return subject->keep_outputs ? subject->keep_outputs(l->s->session, slot, err) : copy_outputs(l->s, call, slot, err);
}

// Brings what the subject kept, now that no call waits for it.
static enum assay_status fetch_kept(struct loop *l, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  if (!l->keep || !l->s->session->subject->keep_outputs)
    return ASSAY_OK;
  for (int i = 0; i < l->s->n_kept && !status; i++)
    status = copy_outputs(l->s, &l->s->kept[i], i, err);
  return status;
}

// Reservoir sampling (Vitter 1985, algorithm R): after any number of calls, each is kept with the same probability.
static enum assay_status choose_call(struct loop *l, uint64_t key, uint32_t poison, struct assay_error *err) {
  struct timing_session *s = l->s;
  uint64_t slot = l->calls;
  if (s->n_kept == s->options->verified_calls)
    slot = rng_derive(s->secret, l->calls) % (l->calls + 1);
  if (l->keep) {
    if (slot >= (uint64_t)s->options->verified_calls)
      return ASSAY_OK;
    s->n_kept += slot == (uint64_t)s->n_kept;
    return keep_call(l, (int)slot, key, poison, err);
  }
  // Too large to keep: as many as wanted of the usual run's calls (Knuth's algorithm S), and a few more of a longer
  // one. What is missing in the end catch_up makes good.
  int usual = WARM_UP_CALLS + l->cold + l->hot + l->called;
  double wanted = l->calls < (uint64_t)usual
                      ? (double)(s->options->verified_calls - s->n_kept) / (double)((uint64_t)usual - l->calls)
                      : s->options->verified_calls / (double)l->calls;
  if (!l->catch_up && rng_unit(rng_derive(s->secret, l->calls)) > wanted)
    return ASSAY_OK;
  s->n_kept++;
  return s->verify(s->session, key, poison, err);
}

// One timed call. *sample is NaN when the clock was not steady around it.
static enum assay_status take_sample(struct loop *l, enum call_mode mode, double *sample, struct assay_error *err) {
  struct timing_session *s = l->s;
  const struct subject_ops *subject = s->session->subject;
  uint64_t key = rng_secret(s->key, l->calls); // the candidate sees what is drawn with it, and the poison
  uint32_t poison = POISON_NAN | (uint32_t)(rng_secret(key, 1) & POISON_PAYLOAD);
  enum assay_status status = subject->fill(s->session, PROBE_DECLARED, key, poison, err);
  if (!status)
    status = subject->call(s->session, mode, l->report, err);
  if (status || l->report->event != RUNNER_OK)
    return status;
  *sample = subject->steady(s->session) ? (double)l->report->elapsed_ns : NAN;
  *s->kernel_ns += l->report->elapsed_ns;
  status = choose_call(l, key, poison, err);
  l->calls++;
  return status;
}

static bool failed(const struct loop *l) {
  return l->report->event != RUNNER_OK;
}

// After the i-th cold call. The bootstrap behind the stopping rule costs more than a short sample, so it is asked only
// now and then; too many dropped samples end the run as well.
static enum stop should_stop(const struct loop *l, int i, int64_t spent_ns) {
  const struct assay_judge_options *o = l->s->options;
  const struct assay_timing *t = l->s->timing;
  int64_t most_ns = o->timing_ns > 0 ? o->timing_ns : l->s->session->subject->timing_ns;
  const struct stopping_rule few = {.min_samples = l->cold,
                                    .max_samples = o->max_samples,
                                    .relative_width = fmin(o->relative_width, FEW_WIDTH),
                                    .max_ns = INT64_MAX};
  if (t->n_samples >= l->cold && t->n_samples < o->min_samples &&
      stats_stop(&few, t->samples_ns, t->n_samples, 0, RESAMPLES_SEED) == STOP_PRECISE)
    return STOP_PRECISE;
  struct stopping_rule rule = {.min_samples = o->min_samples,
                               .max_samples = o->max_samples,
                               .relative_width = o->relative_width,
                               .width = 2 * l->s->session->subject->tick_ns,
                               .max_ns = most_ns};
  if (t->n_samples < o->min_samples)
    return t->n_samples + t->n_dropped >= 2 * o->max_samples ? STOP_SAMPLES : STOP_CONTINUE;
  if (i % 8 != 7 && t->n_samples < o->max_samples && spent_ns < most_ns)
    return STOP_CONTINUE;
  return stats_stop(&rule, t->samples_ns, t->n_samples, spent_ns, RESAMPLES_SEED);
}

static enum assay_status call_baselines(struct loop *l, double *beside, struct assay_error *err) {
  return l->s->baselines ? baselines_call(l->s->baselines, beside, err) : ASSAY_OK;
}

// A call of the candidate and one of each baseline, either first in turn.
static enum assay_status take_pair(struct loop *l, int i, double *sample, double *beside, struct assay_error *err) {
  bool candidate_first = i % 2 == 0;
  enum assay_status status = candidate_first ? ASSAY_OK : call_baselines(l, beside, err);
  if (!status)
    status = take_sample(l, CALL_COLD, sample, err);
  if (!status && !failed(l) && candidate_first)
    status = call_baselines(l, beside, err);
  return status;
}

static void keep_pair(struct loop *l, double sample, const double *beside) {
  for (int k = 0; k < baselines_count(l->s->baselines); k++) {
    struct assay_comparison *c = &l->s->comparisons[k];
    if (isnan(sample) || isnan(beside[k]) || c->n_pairs == l->s->options->max_samples)
      continue;
    c->samples_ns[c->n_pairs] = beside[k];
    c->candidate_ns[c->n_pairs++] = sample;
  }
}

static int clamp_calls(double calls, int least, int most) {
  return (int)fmin(fmax(calls, least), most);
}

// How many calls there will be is settled here, by calls of which none is a sample: which of them are verified is
// chosen among as many.
static void plan_calls(struct loop *l, double warm_up_ns) {
  const struct assay_judge_options *o = l->s->options;
  double calls = warm_up_ns > 0 ? ceil(LONG_NS / warm_up_ns) : INFINITY;
  l->cold = clamp_calls(calls, FEW_SAMPLES, o->min_samples);
  l->hot = clamp_calls(calls, FEW_OTHERS, o->hot_samples);
  l->called = l->s->session->subject->has_as_called ? clamp_calls(calls, FEW_OTHERS, AS_CALLED_SAMPLES) : 0;
}

static enum assay_status sample_cold(struct loop *l, struct assay_error *err) {
  struct assay_timing *t = l->s->timing;
  enum assay_status status = ASSAY_OK;
  enum stop stop = STOP_CONTINUE;
  int64_t start = clock_monotonic_ns();
  double sample, beside[MOST_BASELINES], shortest = INFINITY;
  plan_calls(l, NAN);
  for (int i = 0; i < WARM_UP_CALLS && !status && !failed(l); i++) {
    status = take_pair(l, i, &sample, beside, err);
    shortest = isnan(sample) ? 0 : fmin(shortest, sample); // 0: the clock was not steady
  }
  if (!status && !failed(l))
    plan_calls(l, shortest);
  for (int i = 0; stop == STOP_CONTINUE && !status && !failed(l); i++) {
    status = take_pair(l, i, &sample, beside, err);
    if (status || failed(l))
      break;
    keep_pair(l, sample, beside);
    if (isnan(sample))
      t->n_dropped++;
    else
      t->samples_ns[t->n_samples++] = sample;
    stop = should_stop(l, i, clock_monotonic_ns() - start);
  }
  t->stop = stop_name(stop);
  return status;
}

static enum assay_status sample_hot(struct loop *l, struct assay_error *err) {
  struct assay_timing *t = l->s->timing;
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < l->hot && !status && !failed(l); i++) {
    double sample = NAN;
    status = take_sample(l, CALL_HOT, &sample, err);
    if (!status && !failed(l) && !isnan(sample))
      t->hot_samples_ns[t->n_hot++] = sample;
  }
  return status;
}

// With the host's part of launching. A few calls say enough: this is for information, nothing is ranked by it.
static enum assay_status sample_as_called(struct loop *l, struct assay_error *err) {
  double samples[AS_CALLED_SAMPLES];
  int n = 0;
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < l->called && !status && !failed(l); i++) {
    double sample = NAN;
    status = take_sample(l, CALL_AS_CALLED, &sample, err);
    if (!status && !failed(l) && !isnan(sample))
      samples[n++] = sample;
  }
  if (n > 0)
    l->s->timing->called_ns = stats_median(samples, n);
  return status;
}

// Calls beyond the samples, until as many are verified as was promised.
static enum assay_status catch_up(struct loop *l, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  l->catch_up = true;
  while (!status && !failed(l) && l->s->n_kept < l->s->options->verified_calls) {
    double ignored;
    status = take_sample(l, CALL_COLD, &ignored, err);
  }
  return status;
}

// The ratio is that of neighbours in time: what slows the machine down for a while is in both.
static void compare(struct timing_session *s, int k, double candidate_less_ns) {
  struct assay_comparison *c = &s->comparisons[k];
  double less_ns = baselines_overhead_ns(s->baselines, k);
  double *ratios = base_calloc((size_t)c->n_pairs + 1, sizeof *ratios);
  struct interval ci = {NAN, NAN}, ratio_ci = {NAN, NAN};
  int n = 0;
  baselines_describe(s->baselines, k, c);
  c->median_ns = c->low_ns = c->high_ns = c->ratio = c->ratio_low = c->ratio_high = NAN;
  if (c->reason != ASSAY_REASON_PASS) // it may have failed after some calls
    c->n_pairs = 0;
  for (int i = 0; i < c->n_pairs && ratios; i++) {
    double candidate = c->candidate_ns[i] - candidate_less_ns, baseline = c->samples_ns[i] - less_ns;
    if (candidate > 0)
      ratios[n++] = fmax(baseline, 0) / candidate;
  }
  if (n > 0) {
    c->median_ns = fmax(stats_median(c->samples_ns, c->n_pairs) - less_ns, 0);
    c->ratio = stats_median(ratios, n);
  }
  if (stats_median_interval(c->samples_ns, c->n_pairs, 0.95, 1000, RESAMPLES_SEED, &ci)) {
    c->low_ns = fmax(ci.low - less_ns, 0);
    c->high_ns = fmax(ci.high - less_ns, 0);
  }
  if (stats_median_interval(ratios, n, 0.95, 1000, RESAMPLES_SEED, &ratio_ci)) {
    c->ratio_low = ratio_ci.low;
    c->ratio_high = ratio_ci.high;
  }
  base_free(ratios);
}

static void summarise(struct loop *l) {
  struct assay_timing *t = l->s->timing;
  struct interval ci = {NAN, NAN};
  t->overhead_ns = l->s->overhead_ns;
  double less_ns = t->overhead_ns - t->stamps_excess_ns;
  t->median_ns = fmax(stats_median(t->samples_ns, t->n_samples) - less_ns, 0);
  t->hot_ns = fmax(stats_median(t->hot_samples_ns, t->n_hot) - less_ns, 0);
  if (stats_median_interval(t->samples_ns, t->n_samples, 0.95, 1000, RESAMPLES_SEED, &ci)) {
    t->low_ns = fmax(ci.low - less_ns, 0);
    t->high_ns = fmax(ci.high - less_ns, 0);
  }
  // Unstable: the interval is too wide to rank by, or the clock was unsteady for a good part of the run.
  t->unstable =
      t->n_samples < 5 || !(ci.high - ci.low <= UNSTABLE_WIDTH * t->median_ns) || t->n_dropped * 4 > t->n_samples;
  t->measured = t->n_samples > 0;
  for (int k = 0; k < baselines_count(l->s->baselines); k++)
    compare(l->s, k, less_ns);
}

enum assay_status timing_run(struct timing_session *s, struct runner_report *report, struct assay_error *err) {
  const struct assay_judge_options *o = s->options;
  const struct layout *layout = s->layout;
  struct loop l = {.s = s, .report = report, .keep = layout->output_bytes * o->verified_calls <= KEEP_LIMIT_BYTES};
  const struct subject_ops *subject = s->session->subject;
  if (subject->answers && subject->answers(s->session, layout))
    l.keep = false;
  enum assay_status status = ASSAY_OK;
  memset(report, 0, sizeof *report);
  s->kept = base_calloc((size_t)o->verified_calls + 1, sizeof *s->kept);
  s->timing->samples_ns = base_calloc((size_t)o->max_samples + 8, sizeof *s->timing->samples_ns);
  s->timing->hot_samples_ns = base_calloc((size_t)o->hot_samples + 1, sizeof *s->timing->hot_samples_ns);
  if (!s->kept || !s->timing->samples_ns || !s->timing->hot_samples_ns) {
    status = error_nomem(err, "the samples");
    goto out;
  }
  status = sample_cold(&l, err);
  if (!status && !failed(&l))
    status = sample_hot(&l, err);
  if (!status && !failed(&l))
    status = sample_as_called(&l, err);
  if (!status && !failed(&l))
    status = catch_up(&l, err);
  if (!status && !failed(&l))
    status = fetch_kept(&l, err);
  if (!status && !failed(&l) && subject->inspect)
    status = subject->inspect(s->session, report, err);
  if (!status && !failed(&l))
    summarise(&l);
out:
  return status;
}
