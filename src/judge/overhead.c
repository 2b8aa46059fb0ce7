// SPDX-License-Identifier: Apache-2.0
#include "judge/overhead.h"

#include <math.h>

#include "stats/stats.h"

static const double LOW_QUANTILE = 0.1, ARMING_QUANTILE = 0.25, ARMING_SLACK = 1.25;

void overhead_add(struct overhead *o, double ns) {
  if (o->n < OVERHEAD_MOST_CALLS)
    o->spent_ns[o->n++] = ns;
}

double overhead_of(const struct overhead *o, double most_ns) {
  return o->n > 0 ? fmin(stats_quantile(o->spent_ns, o->n, LOW_QUANTILE), most_ns) : NAN;
}

double overhead_both(double before_ns, double after_ns) {
  return fmin(before_ns, after_ns); // of a NaN and a number fmin gives the number
}

double overhead_allowance(const double *arming_ns, int n, double most_ns) {
  return ARMING_SLACK * fmin(stats_quantile(arming_ns, n, ARMING_QUANTILE), most_ns);
}

double overhead_work_allowance(const double *first_ns, int n, double most_ns) {
  return ARMING_SLACK * fmin(stats_quantile(first_ns, n, LOW_QUANTILE), most_ns);
}

// Others had a processor that was needed for longer than this: some times what the two take to make room for each
// other.
static const double DISTURBED_NS = 100000;

// What a quiet machine takes at most (half of it is usual), and from how many calls more is believed.
const struct overhead_limits overhead_quiet = {.spent_ns = 5000, .arming_ns = 32000, .first_ns = 20000};
enum { ENOUGH_COLD = 4, ENOUGH_HOT = 2 };

enum kind { SPENT, ARMING, FIRST };
enum caches { COLD = 1, HOT = 2 };

static double figure(const struct overhead_call *c, enum kind kind) {
  return kind == SPENT ? c->spent_ns : kind == ARMING ? c->arming_ns : c->first_ns;
}

// The figures of these calls, in `out` of OVERHEAD_MOST_CALLS: of all of them, or of those that nobody disturbed.
static int figures(const struct overhead_call *calls, int n, enum kind kind, int caches, bool all, double *out) {
  int m = 0;
  for (int i = 0; i < n && m < OVERHEAD_MOST_CALLS; i++)
    if ((caches & (calls[i].hot ? HOT : COLD)) && (all || calls[i].waited_ns <= DISTURBED_NS))
      out[m++] = figure(&calls[i], kind);
  return m;
}

// The least of all calls, and never more than a quiet machine takes.
static double least_of(const struct overhead_call *calls, int n, enum kind kind, int caches, double quiet_ns) {
  double all[OVERHEAD_MOST_CALLS];
  const int m = figures(calls, n, kind, caches, true, all);
  for (int i = 0; i < m; i++)
    quiet_ns = fmin(quiet_ns, all[i]);
  return quiet_ns;
}

static double arming_of(const struct overhead_call *calls, int n, bool hot, double most_ns, double quiet_ns,
                        bool *doubtful) {
  double kept[OVERHEAD_MOST_CALLS];
  const int m = figures(calls, n, ARMING, hot ? HOT : COLD, false, kept);
  if (m >= (hot ? ENOUGH_HOT : ENOUGH_COLD))
    return overhead_allowance(kept, m, most_ns);
  *doubtful = true;
  return ARMING_SLACK * least_of(calls, n, ARMING, hot ? HOT : COLD, quiet_ns);
}

struct overhead_usual overhead_usual_of(const struct overhead_call *calls, int n, const struct overhead_limits *most,
                                        const struct overhead_limits *quiet) {
  double kept[OVERHEAD_MOST_CALLS];
  struct overhead_usual u = {0};
  const bool some_hot = figures(calls, n, SPENT, HOT, true, kept) > 0;
  u.arming_ns = arming_of(calls, n, false, most->arming_ns, quiet->arming_ns, &u.doubtful);
  u.hot_arming_ns = some_hot ? arming_of(calls, n, true, most->arming_ns, quiet->arming_ns, &u.doubtful) : u.arming_ns;
  int m = figures(calls, n, FIRST, COLD | HOT, false, kept);
  u.first_ns = m >= ENOUGH_COLD + ENOUGH_HOT ? overhead_work_allowance(kept, m, most->first_ns)
                                             : ARMING_SLACK * least_of(calls, n, FIRST, COLD | HOT, quiet->first_ns);
  m = figures(calls, n, SPENT, COLD, false, kept);
  u.spent_ns = m >= ENOUGH_COLD ? fmin(stats_quantile(kept, m, LOW_QUANTILE), most->spent_ns)
                                : least_of(calls, n, SPENT, COLD, quiet->spent_ns);
  return u;
}

double overhead_most_allowed(const struct overhead_usual *u) {
  return fmax(u->first_ns, fmax(u->arming_ns, u->hot_arming_ns));
}

bool overhead_is_dear(const struct overhead_usual *u) {
  return u->first_ns > ARMING_SLACK * overhead_quiet.first_ns ||
         fmax(u->arming_ns, u->hot_arming_ns) > ARMING_SLACK * overhead_quiet.arming_ns;
}

double overhead_excess(const double *too_little_ns, int n) {
  return n > 0 ? fmax(0, stats_median(too_little_ns, n)) : 0;
}
