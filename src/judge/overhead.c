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
