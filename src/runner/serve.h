// The runner's side of the protocol, for any kind of candidate: a shared library in assay-runner, a Python module in
// the worker. Runs in the process of the candidate.
#ifndef RUNNER_SERVE_H
#define RUNNER_SERVE_H

#include <stdbool.h>
#include <stddef.h>

#include "assay/candidate.h"

// What runs a candidate. A function that returns false leaves why in the message, one line of `bytes` at most.
struct serve_host {
  void *arg;
  bool (*load)(void *arg, char *message, size_t bytes);
  // Buffers have come, for a workload that the sheet describes (runner_set_sheet). NULL: nothing to do.
  bool (*bind)(void *arg, const struct assay_args *args, const char *sheet, char *message, size_t bytes);
  bool (*call)(void *arg, const struct assay_args *args, char *message, size_t bytes);
};

// Answers the judge until it hangs up; the process has then nothing more to do but exit with what is returned. Before
// the candidate is loaded the process locks itself down (sandbox_lock_runner).
int serve(const struct serve_host *host, int threads);

#endif
