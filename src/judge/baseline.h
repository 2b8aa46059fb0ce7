// Baselines while candidates are judged (assay/judge.h: struct assay_baselines).
#ifndef JUDGE_BASELINE_H
#define JUDGE_BASELINE_H

#include "judge/session.h"
#include "judge/workbench.h"

enum { MOST_BASELINES = WORKBENCH_BESIDE };

// Brings up the baselines for what these options judge, unless they are the ones at hand. One that fails its exam, or
// has no plan, is told apart in its comparison and takes no part.
enum assay_status baselines_use(struct assay_baselines *b, const struct assay_judge_options *o,
                                struct assay_error *err);
int baselines_count(const struct assay_baselines *b);               // 0 for NULL
const char *baselines_name(const struct assay_baselines *b, int i); // as the user gave it

// One cold call of each on fresh inputs: the time with the protocol's cost, NaN where it does not count.
enum assay_status baselines_call(struct assay_baselines *b, double samples_ns[MOST_BASELINES], struct assay_error *err);

// What is known of baseline i: all of *out but the pairs and what follows from them.
void baselines_describe(const struct assay_baselines *b, int i, struct assay_comparison *out);
double baselines_overhead_ns(const struct assay_baselines *b, int i);

#endif
