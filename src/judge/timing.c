// SPDX-License-Identifier: Apache-2.0
// The sampling loop. Every sample is one call on fresh inputs with poisoned outputs; which samples are verified is
// decided by a secret that the candidate's process never holds.
#include "judge/timing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "judge/baseline.h"
#include "stats/stats.h"

// A time whose interval is wider than this, relative to the time, is marked unstable.
static const double UNSTABLE_WIDTH = 0.05;

enum { WARM_UP_CALLS = 3, AS_CALLED_SAMPLES = 9, NULL_CALLS = 8, RESAMPLES_SEED = 20260101 };

// So many of the calls that are verified are probes. A kernel that works with fewer bits on what it knows to be the
// usual inputs, but only once it is timed, is right in all others.
enum { PROBE_CALLS = 2 };

// Long calls scatter little. For them, as many calls are enough as take this time together, and at least this many, if
// they agree this well. The warm-up calls show how long one takes.
enum { FEW_SAMPLES = 10, FEW_OTHERS = 5 };
static const double LONG_NS = 500e6, FEW_WIDTH = 0.005;

// The calls that are ranked, and all others but those of the warm-up. Those to verify are chosen in each by itself: a
// kernel that is lazy in half of the ranked calls would otherwise be missed where others are chosen.
enum group { RANKED, OTHERS, N_GROUPS };
enum { OTHERS_PART = 4 }; // one in so many of the verified calls

struct loop {
  struct timing_session *s;
  struct runner_report *report;
  uint64_t calls; // timed calls so far, dropped ones included, probes not
  uint64_t made[N_GROUPS];
  int verified[N_GROUPS];
  int cold, hot, called; // calls of the usual run, after the warm-up
  bool warming_up;
  bool keep;              // outputs are small enough to be copied
  bool catch_up;          // verify every call from now on: chance left too few of them
  struct timed_call late; // to be verified in place, once its pair is complete; unused: none
};

void timed_calls_release(struct timed_call *calls, int n, int n_out) {
  for (int i = 0; calls && i < n; i++) {
    for (int o = 0; calls[i].outputs && o < n_out; o++)
      base_free(calls[i].outputs[o]);
    base_free(calls[i].outputs);
  }
  base_free(calls);
}

// Copies a call's outputs to the host: the last call's, or those that the subject keeps in a slot. The memory is reused
// when another call takes the slot.
static enum assay_status copy_outputs(struct timing_session *s, struct timed_call *call, int slot,
                                      struct assay_error *err) {
  const struct subject_ops *ops = s->subject->ops;
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
    status = ops->keep_outputs ? ops->read_kept(s->subject, slot, o, call->outputs[o], err)
                               : ops->read_output(s->subject, o, call->outputs[o], err);
  }
  return status;
}

static enum assay_status keep_call(struct loop *l, int slot, const struct timed_call *made, struct assay_error *err) {
  const struct subject_ops *ops = l->s->subject->ops;
  struct timed_call *call = &l->s->kept[slot];
  call->used = true;
  call->probe = made->probe;
  call->key = made->key;
  call->poison = made->poison;
  return ops->keep_outputs ? ops->keep_outputs(l->s->subject, slot, err) : copy_outputs(l->s, call, slot, err);
}

// Copies what the subject kept to the host, now that no call waits.
static enum assay_status fetch_kept(struct loop *l, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  if (!l->keep || !l->s->subject->ops->keep_outputs)
    return ASSAY_OK;
  for (int i = 0; i < l->s->options->verified_calls && !status; i++)
    if (l->s->kept[i].used)
      status = copy_outputs(l->s, &l->s->kept[i], i, err);
  return status;
}

// How many of the verified calls are probes.
static int probes_wanted(const struct timing_session *s) {
  return s->probes && s->options->verified_calls > PROBE_CALLS ? PROBE_CALLS : 0;
}

static int declared_wanted(const struct timing_session *s) {
  return s->options->verified_calls - probes_wanted(s);
}

// How many calls of a group are verified. There are always so many.
static int wanted_of(const struct loop *l, enum group g) {
  const bool as_called = l->s->subject->ops->has_as_called;
  const int least = (int)fmin(FEW_OTHERS, l->s->options->hot_samples) + (as_called ? FEW_OTHERS : 0);
  const int all = declared_wanted(l->s), others = all / OTHERS_PART < least ? all / OTHERS_PART : least;
  return g == OTHERS ? others : all - others;
}

static int usual_of(const struct loop *l, enum group g) {
  return g == OTHERS ? l->hot + l->called : l->cold;
}

// The chance that the call after `made` ones is one of so many: exactly so many of the usual ones (Knuth's algorithm
// S), and a few more of a longer run.
static double chance(int wanted, int have, uint64_t made, int usual) {
  return made < (uint64_t)usual ? (double)(wanted - have) / (double)((uint64_t)usual - made) : wanted / (double)made;
}

// Reservoir sampling (Vitter 1985, algorithm R): after any number of a group's calls, each is kept with the same
// probability.
static enum assay_status choose_call(struct loop *l, enum group g, const struct timed_call *made,
                                     struct assay_error *err) {
  struct timing_session *s = l->s;
  const int wanted = wanted_of(l, g), have = l->verified[g];
  const uint64_t before = l->made[g];
  l->made[g] += !l->warming_up;
  uint64_t slot = before;
  if (wanted == 0 || l->warming_up)
    return ASSAY_OK;
  if (l->keep) {
    if (have == wanted)
      slot = rng_derive(s->secret, l->calls) % (before + 1);
    if (slot >= (uint64_t)wanted)
      return ASSAY_OK;
    l->verified[g] += slot == (uint64_t)have;
    s->n_kept = l->verified[RANKED] + l->verified[OTHERS];
    return keep_call(l, (g == OTHERS ? wanted_of(l, RANKED) : 0) + (int)slot, made, err);
  }
  // Too large to keep. What is missing in the end catch_up makes good.
  if (!l->catch_up && rng_unit(rng_derive(s->secret, l->calls)) > chance(wanted, have, before, usual_of(l, g)))
    return ASSAY_OK;
  l->verified[g]++;
  s->n_kept++;
  l->late = *made;
  l->late.used = true;
  return ASSAY_OK;
}

// Verifies the last call in place, if it was chosen. That may take minutes, in which others have the device: no call
// that is compared with it in time may come after.
static enum assay_status verify_late(struct loop *l, struct assay_error *err) {
  const struct timed_call made = l->late;
  l->late.used = false;
  return made.used ? l->s->verify(l->s->verify_arg, made.probe, made.key, made.poison, err) : ASSAY_OK;
}

// Which probe the next one is: half of them tell precisions apart, the others may be any.
static enum probe choose_probe(const struct timing_session *s, uint64_t number) {
  const unsigned precise =
      s->probes & (1u << PROBE_ZERO_MEAN | 1u << PROBE_ROW_SCALES | 1u << PROBE_STRIPES | 1u << PROBE_OPPOSED);
  unsigned among = s->n_probed % 2 == 0 && precise ? precise : s->probes;
  int pick = (int)(rng_secret(number, 1) % (uint64_t)__builtin_popcount(among));
  enum probe p = PROBE_DECLARED;
  while (!(among >> p & 1) || pick-- > 0)
    p++;
  return p;
}

// Now and then, before a call that is timed, makes one on a probe's inputs, in the same way. Its result is verified;
// its time is no sample, since it may depend on the data.
static enum assay_status ask_probe(struct loop *l, enum call_mode mode, struct assay_error *err) {
  struct timing_session *s = l->s;
  const struct subject_ops *ops = s->subject->ops;
  const int wanted = probes_wanted(s), usual = WARM_UP_CALLS + usual_of(l, RANKED) + usual_of(l, OTHERS);
  uint64_t number = rng_secret(~s->secret, l->calls);
  if (!wanted || (!l->catch_up && rng_unit(number) > chance(wanted, s->n_probed, l->calls, usual)))
    return ASSAY_OK;
  struct timed_call made = {.probe = choose_probe(s, number), .key = rng_secret(~s->key, l->calls)};
  made.poison = POISON_NAN | (uint32_t)(rng_secret(made.key, 1) & POISON_PAYLOAD);
  enum assay_status status = ops->fill(s->subject, made.probe, made.key, made.poison, err);
  if (!status)
    status = ops->call(s->subject, mode, l->report, err);
  if (status || l->report->event != RUNNER_OK)
    return status;
  s->kernel_ns += l->report->elapsed_ns;
  int slot = s->n_probed < wanted ? s->n_probed : (int)(rng_secret(number, 2) % (uint64_t)wanted);
  s->n_probed++;
  return l->keep ? keep_call(l, declared_wanted(s) + slot, &made, err)
                 : s->verify(s->verify_arg, made.probe, made.key, made.poison, err);
}

// One timed call. *sample is NaN when the clock was not steady around it.
static enum assay_status begin_sample(struct loop *l, enum call_mode mode, struct assay_error *err) {
  const struct timing_session *s = l->s;
  enum assay_status status = subject_has_turn(s->subject, err);
  if (status)
    return status;
  if (s->kernel_ns > s->left_ns) {
    l->report->event = RUNNER_TIMED_OUT;
    snprintf(l->report->detail, sizeof l->report->detail,
             "while it was timed it used up the rest of its budget of %.0f s (--budget)",
             (double)s->options->budget_ns * 1e-9);
    return ASSAY_OK;
  }
  status = ask_probe(l, mode, err);
  return status ? status : subject_has_turn(s->subject, err);
}

static enum assay_status make_sample(struct loop *l, enum call_mode mode, double *sample, struct assay_error *err) {
  struct timing_session *s = l->s;
  const struct subject_ops *ops = s->subject->ops;
  // The candidate sees the inputs that are drawn with the key, and the poison.
  struct timed_call made = {.probe = PROBE_DECLARED, .key = rng_secret(s->key, l->calls)};
  made.poison = POISON_NAN | (uint32_t)(rng_secret(made.key, 1) & POISON_PAYLOAD);
  enum assay_status status = ops->fill(s->subject, PROBE_DECLARED, made.key, made.poison, err);
  if (!status)
    status = ops->call(s->subject, mode, l->report, err);
  if (status || l->report->event != RUNNER_OK)
    return status;
  *sample = ops->steady(s->subject) ? (double)l->report->elapsed_ns : NAN;
  s->kernel_ns += l->report->elapsed_ns;
  status = choose_call(l, mode == CALL_COLD ? RANKED : OTHERS, &made, err);
  l->calls++;
  return status;
}

static bool failed(const struct loop *l) {
  return l->report->event != RUNNER_OK;
}

// One call that is timed, and what is verified before it and after it.
static enum assay_status take_sample(struct loop *l, enum call_mode mode, double *sample, struct assay_error *err) {
  enum assay_status status = begin_sample(l, mode, err);
  if (!status && !failed(l))
    status = make_sample(l, mode, sample, err);
  return status || failed(l) ? status : verify_late(l, err);
}

static bool is_slower(const struct assay_timing *t, double ns) {
  for (int i = 0; i < t->n_samples; i++)
    if (t->samples_ns[i] <= ns)
      return false;
  return true;
}

// After the i-th cold call. The bootstrap of the stopping rule costs more than a short sample, so it is asked only
// now and then; too many dropped samples end the run as well.
static enum stop should_stop(const struct loop *l, int i, int64_t spent_ns) {
  const struct assay_judge_options *o = l->s->options;
  const struct assay_timing *t = l->s->timing;
  int64_t most_ns = o->timing_ns > 0 ? o->timing_ns : l->s->subject->ops->timing_ns;
  if (o->give_up_ns > 0 && t->n_samples >= FEW_OTHERS && is_slower(t, o->give_up_ns + l->s->overhead_ns))
    return STOP_SLOW;
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
                               .width = 2 * l->s->subject->ops->tick_ns,
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

// Makes one call of the candidate and one of each baseline. They take turns in going first. Nothing is verified between
// them, and so nobody rests there; but of a candidate whose work may outlast its call (subject_ops.idle) the outputs
// are looked at as soon as they can be.
static enum assay_status take_pair(struct loop *l, int i, double *sample, double *beside, struct assay_error *err) {
  bool candidate_first = i % 2 == 0;
  enum assay_status status = begin_sample(l, CALL_COLD, err);
  if (!status && !failed(l) && !candidate_first)
    status = call_baselines(l, beside, err);
  if (!status && !failed(l))
    status = make_sample(l, CALL_COLD, sample, err);
  if (!status && !failed(l) && l->s->subject->ops->idle)
    status = verify_late(l, err);
  if (!status && !failed(l) && candidate_first)
    status = call_baselines(l, beside, err);
  return status || failed(l) ? status : verify_late(l, err);
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

// Warm-up calls, none of which is a sample, settle how many calls there will be. The calls to verify are chosen among
// that many.
static void plan_calls(struct loop *l, double warm_up_ns) {
  const struct assay_judge_options *o = l->s->options;
  double calls = warm_up_ns > 0 ? ceil(LONG_NS / warm_up_ns) : INFINITY;
  l->cold = clamp_calls(calls, FEW_SAMPLES, o->min_samples);
  l->hot = clamp_calls(calls, FEW_OTHERS, o->hot_samples);
  l->called = l->s->subject->ops->has_as_called ? clamp_calls(calls, FEW_OTHERS, AS_CALLED_SAMPLES) : 0;
}

static enum assay_status sample_series(struct loop *l, struct assay_error *err) {
  struct assay_timing *t = l->s->timing;
  enum assay_status status = ASSAY_OK;
  enum stop stop = STOP_CONTINUE;
  const int64_t *waited_ns = &l->s->subject->found.open_ns; // for others, who have the device meanwhile
  const int64_t start = clock_monotonic_ns() - *waited_ns;
  double sample, beside[MOST_BASELINES];
  for (int i = 0; stop == STOP_CONTINUE && !status && !failed(l); i++) {
    status = take_pair(l, i, &sample, beside, err);
    if (status || failed(l))
      break;
    keep_pair(l, sample, beside);
    if (isnan(sample))
      t->n_dropped++;
    else
      t->samples_ns[t->n_samples++] = sample;
    stop = should_stop(l, i, clock_monotonic_ns() - *waited_ns - start);
  }
  t->stop = stop_name(stop);
  return status;
}

// Whether calls took longer by the judge's clock than by the device's. Work that runs outside the events does so, and a
// machine that is busy with something else. *seen: what the series was.
static bool took_longer(const struct loop *l, struct assay_left_out *seen) {
  const struct timing_session *s = l->s;
  const struct assay_timing *t = s->timing;
  if (!s->subject->ops->stamps || t->n_samples == 0)
    return false;
  const struct stamps_facts facts = s->subject->ops->stamps(s->subject, t->samples_ns, t->n_samples);
  seen->n_samples = t->n_samples;
  seen->median_ns = fmax(stats_median(t->samples_ns, t->n_samples) - s->overhead_ns, 0);
  seen->wall_ns = facts.wall_ns;
  return stamps_say_elsewhere(&facts, seen->median_ns);
}

static void forget_series(struct timing_session *s) {
  s->timing->n_samples = s->timing->n_dropped = 0;
  for (int k = 0; k < baselines_count(s->baselines); k++)
    s->comparisons[k].n_pairs = 0;
  s->subject->ops->time_again(s->subject);
}

// What a machine was busy with is over, most often; what a kernel does outside the events is there again. So a series
// in which the clocks disagree is taken once more, and the second one counts; the verdict says so. Calls of both are
// verified.
static enum assay_status sample_cold(struct loop *l, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  double sample, beside[MOST_BASELINES], shortest = INFINITY;
  struct assay_left_out first;
  plan_calls(l, NAN);
  l->warming_up = true;
  for (int i = 0; i < WARM_UP_CALLS && !status && !failed(l); i++) {
    status = take_pair(l, i, &sample, beside, err);
    shortest = isnan(sample) ? 0 : fmin(shortest, sample); // 0: the clock was not steady
  }
  l->warming_up = false;
  if (!status && !failed(l))
    plan_calls(l, shortest);
  if (!status && !failed(l))
    status = sample_series(l, err);
  if (!status && !failed(l) && took_longer(l, &first)) {
    l->s->timing->left_out = first;
    forget_series(l->s);
    status = sample_series(l, err);
  }
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

// Times calls with the host's part of launching. A few are enough: this time is shown but not ranked.
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

// Makes more calls after the samples, until as many are verified as was promised.
static enum assay_status catch_up(struct loop *l, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  l->catch_up = true;
  while (!status && !failed(l) && (l->s->n_kept < declared_wanted(l->s) || l->s->n_probed < probes_wanted(l->s))) {
    double ignored;
    status = take_sample(l, CALL_COLD, &ignored, err);
  }
  return status;
}

// The ratio is of calls that are next to each other in time: what slows the machine down for a while is in both.
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

// Measures the protocol's cost again, while the machine is as it was for the samples: baselines are called in between.
static enum assay_status measure_null(struct loop *l, struct assay_error *err) {
  const struct subject_ops *ops = l->s->subject->ops;
  enum assay_status status = ASSAY_OK;
  double beside[MOST_BASELINES];
  for (int i = 0; i < NULL_CALLS && ops->null_call && !status && !failed(l); i++) {
    status = call_baselines(l, beside, err);
    if (!status)
      status = ops->null_call(l->s->subject, &l->s->overhead_ns, l->report, err);
    if (!status && l->s->baselines)
      status = baselines_null_call(l->s->baselines, err);
  }
  if (!status && !failed(l) && ops->recheck)
    status = ops->recheck(l->s->subject, &l->s->excess_ns, &l->s->doubt_ns, err);
  return status;
}

// Subtracts the protocol's own cost. NaN stays NaN; fmax would turn it into 0.
static double without(double less_ns, double time_ns) {
  return isnan(time_ns) ? NAN : fmax(time_ns - less_ns, 0);
}

static void take_stamps(struct timing_session *s) {
  struct assay_timing *t = s->timing;
  if (!s->subject->ops->stamps)
    return;
  s->stamps = s->subject->ops->stamps(s->subject, t->samples_ns, t->n_samples);
  t->wall_ns = s->stamps.wall_ns;
  t->stamps_apart = s->stamps.n_apart;
  t->stamps_compared = s->stamps.n_compared;
  t->stamps_excess_ns = s->stamps.excess_ns;
}

// A hot time that is nothing is none, as a cold one.
static void summarise_hot(struct timing_session *s, double less_ns) {
  struct assay_timing *t = s->timing;
  struct interval ci;
  t->hot_ns = without(less_ns, stats_median(t->hot_samples_ns, t->n_hot));
  if (t->hot_ns <= 0)
    t->hot_ns = NAN;
  if (!isnan(t->hot_ns) && stats_median_interval(t->hot_samples_ns, t->n_hot, 0.95, 1000, RESAMPLES_SEED, &ci))
    s->hot_high_ns = without(less_ns, ci.high);
}

static void summarise(struct loop *l) {
  struct assay_timing *t = l->s->timing;
  struct interval ci = {NAN, NAN};
  t->overhead_ns = l->s->overhead_ns;
  double less_ns = t->overhead_ns - t->stamps_excess_ns - l->s->excess_ns;
  t->measured = stats_median_interval(t->samples_ns, t->n_samples, 0.95, 1000, RESAMPLES_SEED, &ci);
  if (!t->measured) { // no interval, so no time
    t->stop = "the clock was not steady around enough of the calls";
    return;
  }
  t->median_ns = without(less_ns, stats_median(t->samples_ns, t->n_samples));
  summarise_hot(l->s, less_ns);
  t->low_ns = without(less_ns, ci.low);
  t->high_ns = without(less_ns, ci.high);
  // Unstable: the interval is too wide to rank by, or the clock was unsteady for a good part of the run, or while the
  // judge's own part was measured.
  t->unstable = !(ci.high - ci.low <= UNSTABLE_WIDTH * t->median_ns) || t->n_dropped * 4 > t->n_samples ||
                l->s->excess_ns + l->s->doubt_ns > UNSTABLE_WIDTH * t->median_ns;
  for (int k = 0; k < baselines_count(l->s->baselines); k++)
    compare(l->s, k, less_ns);
}

enum assay_status timing_run(struct timing_session *s, struct runner_report *report, struct assay_error *err) {
  const struct assay_judge_options *o = s->options;
  const struct layout *layout = s->layout;
  struct loop l = {.s = s, .report = report, .keep = layout_keeps_outputs(layout, o)};
  s->hot_high_ns = NAN;
  const struct subject_ops *ops = s->subject->ops;
  if (subject_answers(s->subject, layout))
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
  if (!status && !failed(&l) && ops->inspect)
    status = ops->inspect(s->subject, report, err);
  if (!status && !failed(&l))
    status = measure_null(&l, err);
  if (!status && !failed(&l)) {
    take_stamps(s);
    summarise(&l);
  }
out:
  return status;
}
