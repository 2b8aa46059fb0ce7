// SPDX-License-Identifier: Apache-2.0
// Private to src/cli: the parts of `assay score`.
#ifndef CLI_SCORE_H
#define CLI_SCORE_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/table.h"
#include "report/report.h"
#include "score/spread.h"

enum { SCORE_MOST_RUNS = 64 };

// score_print.c: a level of a run as a row of the table, and as an element of the list.
void score_row(struct table *t, const struct score *s, bool stable);
json_t *score_json(const struct score *s);

// score_expected.c: the names of a suite's tasks, or of a level's. ASSAY_ERR_NOT_FOUND.
struct score_expected {
  struct score_names names;
  struct arena arena;
};
enum assay_status score_expect(const char *root, const char *suite, struct score_expected *out,
                               struct assay_error *err);
void score_expected_release(struct score_expected *e);

// score_plot.c: draws the runs into a file, and says in a line what is in it. ASSAY_ERR_USAGE for a form, a file or a
// number of runs that does not fit; ASSAY_ERR_UNSUPPORTED: this build writes no PNG.
struct score_plot {
  const char *form, *file; // "distribution", "fast_p", "roofline"; *.svg or *.png
  char *const *runs;
  int n_runs;
  struct score_options options;
  const char *png; // the program that makes a PNG
};
enum assay_status score_plot_check(const struct score_plot *p, struct assay_error *err);
enum assay_status score_plot(struct store *store, const struct score_plot *p, struct assay_error *err);

// Prints where the run's verdicts and KernelBench's results (an eval_results.json) differ; with `json` all of both.
enum assay_status score_compare(struct store *store, const char *run, int level, const char *path, bool json,
                                struct assay_error *err);

// score_compare_x.c: the same with a metrics.json or summary.json of KernelBench-X's harness. tasks: the folder.
enum assay_status score_compare_x(struct store *store, const char *run, const char *tasks, const char *path, bool json,
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

// score_rounds.c: a spread on one line ("15: mean 1.158 [0.9, 1.5], median ..."), and as an object.
const char *score_spread_text(const struct score_spread *s, char *text, size_t size);
json_t *score_spread_json(const struct score_spread *s);

// Prints what became of each task from a run to the next: rescued, persistent, lost, failing; with a baseline their
// speeds. The statuses of score_read().
enum assay_status score_rounds(struct store *store, char *const *runs, int n, const struct score_options *o,
                               bool as_json, struct assay_error *err);
// Prints for each kernel that the runs have on several devices its largest speed over its least (without a baseline:
// its times).
enum assay_status score_devices(struct store *store, char *const *runs, int n, const struct score_options *o,
                                bool as_json, struct assay_error *err);

// score_published.c: prints what the suite's own tolerance would have said of the same outputs, next to the verdicts.
enum assay_status score_published(struct store *store, char *const *runs, int n, bool as_json, struct assay_error *err);

// score_corpus.c: prints the figures of KernelBench-X's published corpus and timings, in a checkout of it, next to
// those that its paper states. ASSAY_ERR_NOT_FOUND, _SYNTAX, _INVALID.
enum assay_status score_corpus(const char *checkout, bool as_json, struct assay_error *err);

#endif
