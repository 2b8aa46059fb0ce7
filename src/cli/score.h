// Private to src/cli: the parts of `assay score`.
#ifndef CLI_SCORE_H
#define CLI_SCORE_H

#include "store/store.h"

// Prints where the run's verdicts and KernelBench's results (an eval_results.json) differ, or with `json` all of both.
enum assay_status score_beside(struct store *store, const char *run, int level, const char *path, bool json,
                               struct assay_error *err);

#endif
