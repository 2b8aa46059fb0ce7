// Private to src/runner: how the worker of a Python candidate is started.
#ifndef RUNNER_PYTHON_START_H
#define RUNNER_PYTHON_START_H

#include "base/arena.h"
#include "runner/runner.h"

struct python_start {
  char **argv, **envp;
  const char **read_paths;
  struct arena arena;
};

// For o->python. Some strings are the options'; `threads` is borrowed too. Release it also after a failure.
enum assay_status python_start_make(const struct runner_options *o, char *threads, struct python_start *out,
                                    struct assay_error *err);
void python_start_release(struct python_start *p);

// The worker ended, or was late, before it said that it is ready; `log` is what it printed. Returns the status.
enum assay_status python_start_failed(const struct runner_python *p, const char *log, bool late,
                                      struct assay_error *err);

#endif
