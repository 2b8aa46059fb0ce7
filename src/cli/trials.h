// Private to src/cli: what the trials of tuners come to, as text and as JSON.
#ifndef CLI_TRIALS_H
#define CLI_TRIALS_H

#include <jansson.h>
#include <stdio.h>

#include "store/trial.h"

// The curves of a run (NULL: of all): for each task, workload, device and maker the best so far, and what it cost.
// known_ns: the best that anybody has, for T10, T5 and T2; NaN: the least time of the same task, workload and device in
// the store, trials and judgements.
void cli_trials_print(struct store *s, const char *run, double known_ns, FILE *to);
json_t *cli_trials_json(struct store *s, const char *run, double known_ns);

#endif
