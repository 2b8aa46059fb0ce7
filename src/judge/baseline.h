// SPDX-License-Identifier: Apache-2.0
// Baselines while candidates are judged (assay/judge.h: struct assay_baselines).
#ifndef JUDGE_BASELINE_H
#define JUDGE_BASELINE_H

#include "assay/judge.h"
#include "judge/workbench.h"

enum { MOST_BASELINES = WORKBENCH_BESIDE };

// Loads the baselines for what these options judge, unless they are loaded already. A baseline that fails its exam, or
// has no plan, is left out, and its comparison says why.
enum assay_status baselines_use(struct assay_baselines *b, const struct assay_judge_options *o,
                                struct assay_error *err);
int baselines_count(const struct assay_baselines *b);               // 0 for NULL
const char *baselines_name(const struct assay_baselines *b, int i); // as the user gave it

// Makes one cold call of each on fresh inputs. samples_ns: with the protocol's cost; NaN: does not count.
enum assay_status baselines_call(struct assay_baselines *b, double samples_ns[MOST_BASELINES], struct assay_error *err);

// Where the judge's own clock times calls: measures the protocol's cost of each baseline again by a call without a
// kernel, as is done for the candidate. Before and after a kernel is loaded it is not the same, and a kernel beside
// itself must be as fast as itself.
enum assay_status baselines_null_call(struct assay_baselines *b, struct assay_error *err);

// Fills *out for baseline i, except the pairs and what follows from them.
void baselines_describe(const struct assay_baselines *b, int i, struct assay_comparison *out);
double baselines_overhead_ns(const struct assay_baselines *b, int i);

#endif
