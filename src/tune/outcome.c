// SPDX-License-Identifier: Apache-2.0
#include "tune/outcome.h"

#include <math.h>

#include "judge/load.h"

bool tune_is_doubtful(const struct assay_verdict *v, const struct tune_limits *limits) {
  return (load_shows_in(v) && load_is_felt(&v->timing.load)) || v->timing.low_ns <= limits->best_high_ns;
}

static enum store_trial_status timed(const struct assay_verdict *v, const struct tune_limits *limits) {
  if (!v->timing.measured)
    return STORE_TRIAL_FAILED;
  if (!(limits->give_up_ns > 0) || v->timing.median_ns <= limits->give_up_ns)
    return STORE_TRIAL_OK;
  return tune_is_doubtful(v, limits) ? STORE_TRIAL_FAILED : STORE_TRIAL_SLOW;
}

bool tune_was_cut_in_vain(const struct store_trial *t, double best_ns, double give_up) {
  static const double near = 1.1;
  return t->status == STORE_TRIAL_SLOW && !(t->time_ns > fmin(near, give_up) * best_ns);
}

enum store_trial_status tune_outcome(const struct assay_verdict *v, const struct tune_limits *limits) {
  switch (v->reason) {
  case ASSAY_REASON_PASS:
    return timed(v, limits);
  case ASSAY_REASON_BUILD_FAILED:
  case ASSAY_REASON_BUILD_LIMIT:
    return STORE_TRIAL_COMPILE_ERROR;
  case ASSAY_REASON_BUILD_TIMEOUT:
  case ASSAY_REASON_TIMEOUT:
    return STORE_TRIAL_TIMEOUT;
  case ASSAY_REASON_UNWRITTEN:
  case ASSAY_REASON_WRONG_CLASS:
  case ASSAY_REASON_WRONG_VALUE:
  case ASSAY_REASON_LOW_PRECISION:
  case ASSAY_REASON_CHANGED_BEHAVIOUR:
  case ASSAY_REASON_WROTE_INPUT:
  case ASSAY_REASON_OUT_OF_BOUNDS:
    return STORE_TRIAL_WRONG;
  default:
    return STORE_TRIAL_LAUNCH_ERROR;
  }
}
