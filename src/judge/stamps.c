// SPDX-License-Identifier: Apache-2.0
#include "judge/stamps.h"

#include <math.h>

#include "stats/stats.h"

// How much the time by the stamps outside scatters around that by the events: 99 % of calls within 1 us, medians of 30
// within 0.1 us. (On some machines the differences form two groups, 0.5 us apart, and with many launches most calls may
// be in the upper one.) The stamps outside replace the events' time of one call only if they differ by more than the
// first limit, and that of the median only if they differ by more than the second and by more than a fraction of the
// time. What lies between is a clock's step as often as a forgery, and pays neither: it is added, and is no suspicion.
static const double CALL_APART_NS = 1000, MEDIAN_APART_NS = 300, MEDIAN_APART_PART = 0.001;

// Where the stream began early, the time also includes the host's work between the second event and the stamp.
static const double LATE_STAMP_NS = 50000;

// How long queueing a step may take by the judge's clock, which starts before the first is queued. Usual: 4 us.
static const double QUEUEING_NS = 10000;

// How much longer than the device's time the judge's may be in the median call, relative and absolute.
static const double SUSPICIOUS_EXCESS = 1.25, SUSPICIOUS_NS = 100000;

// If the events report too short a time in more than this fraction of the calls, they were forged.
static const double SUSPICIOUS_PART = 0.2;

// Two events with nothing between them: 2 to 4 us on every GPU so far. More than this is a disturbed machine. (A device
// without such stamps is no GPU, and may take longer.)
static const double MOST_NULL_NS = 20000, MOST_HOSTED_NULL_NS = 1e6;

void stamps_null_add(struct stamps_nulls *all, double events_ns, double outside_ns, double wall_ns) {
  if (all->n == STAMPS_NULLS)
    return;
  overhead_add(&all->events, events_ns);
  all->walls_ns[all->n++] = wall_ns;
  if (outside_ns > 0)
    all->apart_ns[all->n_outside++] = outside_ns - events_ns;
}

struct stamps_null stamps_null_of(const struct stamps_nulls *all) {
  const double most_ns = all->n_outside > 0 ? MOST_NULL_NS : MOST_HOSTED_NULL_NS;
  struct stamps_null null = {.events_ns = overhead_of(&all->events, most_ns),
                             .wall_ns = stats_median(all->walls_ns, all->n)};
  if (all->n_outside > 0) // with the events of the same calls, so that what is taken off them adds no difference
    null.outside_ns = null.events_ns + stats_median(all->apart_ns, all->n_outside);
  return null;
}

void stamps_null_again(struct stamps_null *null, const struct stamps_null *after) {
  if (after->events_ns < null->events_ns) {
    null->outside_ns -= null->outside_ns > 0 ? null->events_ns - after->events_ns : 0;
    null->events_ns = after->events_ns;
  }
  null->wall_ns = fmax(null->wall_ns, after->wall_ns);
}

double stamps_take(struct stamps *s, const struct stamps_null *null, const struct stamps_call *c, bool *counts) {
  *counts = !c->repeated && (c->as_called || c->outside_ns > 0);
  if (c->as_called)
    return c->events_ns;
  if (c->cold && !c->repeated && s->n_walls < STAMPS_MOST)
    s->walls_ns[s->n_walls++] = c->wall_ns;
  if (c->outside_ns <= 0 || null->outside_ns <= 0)
    return c->events_ns;
  double outside_ns = c->outside_ns - null->outside_ns + null->events_ns;
  double excess_ns = outside_ns - c->events_ns;
  s->n_compared++;
  if (excess_ns > CALL_APART_NS) {
    s->n_apart += !c->let_go_early || excess_ns > LATE_STAMP_NS;
    return trunc(outside_ns);
  }
  if (c->cold && !c->let_go_early && s->n_excess < STAMPS_MOST)
    s->excess_ns[s->n_excess++] = excess_ns;
  return c->events_ns;
}

struct stamps_facts stamps_judge(const struct stamps *s, const struct stamps_null *null, const double *samples, int n,
                                 int n_queued) {
  struct stamps_facts f = {
      .wall_ns = NAN, .queueing_ns = QUEUEING_NS * n_queued, .n_compared = s->n_compared, .n_apart = s->n_apart};
  if (s->n_walls > 0)
    f.wall_ns = fmax(0, stats_median(s->walls_ns, s->n_walls) - null->wall_ns);
  double excess_ns = s->n_excess > 0 ? stats_median(s->excess_ns, s->n_excess) : 0;
  double time_ns = n > 0 ? stats_median(samples, n) : 0;
  if (excess_ns > MEDIAN_APART_NS + MEDIAN_APART_PART * time_ns)
    f.excess_ns = excess_ns;
  return f;
}

bool stamps_say_elsewhere(const struct stamps_facts *f, double median_ns) {
  return f->wall_ns > SUSPICIOUS_EXCESS * median_ns + SUSPICIOUS_NS + f->queueing_ns;
}

void stamps_time_again(struct stamps *s) {
  s->n_walls = s->n_excess = 0;
}

bool stamps_are_suspicious(const struct stamps_facts *f, double median_ns) {
  bool forged = f->n_apart > SUSPICIOUS_PART * f->n_compared;
  return forged || stamps_say_elsewhere(f, median_ns);
}
