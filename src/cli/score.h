// Private to src/cli: the parts of `assay score`.
#ifndef CLI_SCORE_H
#define CLI_SCORE_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/table.h"
#include "store/store.h"

// Prints where the run's verdicts and KernelBench's results (an eval_results.json) differ; with `json` all of both.
enum assay_status score_compare(struct store *store, const char *run, int level, const char *path, bool json,
                                struct assay_error *err);

// score_steps.c: the attempts of a run of `assay make`: its funnel, pass@k, cost. A row and an element of the array,
// and *any is set, unless the run has none. baseline: NULL, or the name of one that was timed in turn with the
// candidates.
struct table *score_steps_table(void);
enum assay_status score_steps(struct store *store, const char *run, const char *baseline, struct table *table,
                              json_t *array, bool *any, struct assay_error *err);

// Prints which of two such runs got more tasks right with as many requests, or that no difference is shown.
// ASSAY_ERR_NOT_FOUND, ASSAY_ERR_USAGE.
enum assay_status score_against(struct store *store, const char *run, const char *other, bool as_json,
                                struct assay_error *err);

// Prints how much of the binomial deviance of "a kernel of the task is right" the kind of task and the run explain
// (stats/success.h). ASSAY_ERR_USAGE where all outcomes are alike.
enum assay_status score_deviance(struct store *store, char *const *runs, int n, bool as_json, struct assay_error *err);

#endif
