// SPDX-License-Identifier: Apache-2.0
// Private to src/runner: how the worker of a Python candidate is started.
#ifndef RUNNER_PYTHON_START_H
#define RUNNER_PYTHON_START_H

#include "runner/runner.h"
#include "sandbox/sandbox.h"

// Starts o->python's interpreter with the worker; `socket` is its descriptor for the protocol. As sandbox_spawn.
enum assay_status python_start(const struct runner_options *o, int socket, struct sandbox_child *out,
                               struct assay_error *err);

// The worker ended, or was late, before it said that it is ready; `log` is what it printed. Returns the status.
enum assay_status python_start_failed(const struct runner_python *p, const char *log, bool late,
                                      struct assay_error *err);

#endif
