// SPDX-License-Identifier: Apache-2.0
// The runner's side of the protocol, for any kind of candidate: a shared library in assay-runner, a Python module in
// the worker. Runs in the process of the candidate.
#ifndef RUNNER_SERVE_H
#define RUNNER_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "assay/candidate.h"

// A buffer's memory in this process: `bytes` from `base` on, in the middle of reserved addresses without memory.
struct serve_mapping {
  uint64_t reserved, reserved_bytes, base, bytes;
};

// What runs a candidate. A function that returns false leaves why in the message, one line of `bytes` at most.
struct serve_host {
  void *arg;
  bool (*load)(void *arg, char *message, size_t bytes);
  // Buffers have come, for the workload that this text describes (runner_set_workload). NULL: nothing to do.
  bool (*bind)(void *arg, const struct assay_args *args, const char *workload, char *message, size_t bytes);
  bool (*call)(void *arg, const struct assay_args *args, char *message, size_t bytes);
  // The part of a call that is the protocol's and not the candidate's. NULL: nothing.
  bool (*null_call)(void *arg, char *message, size_t bytes);
  // Maps map_bytes of the memory that the descriptor stands for; whole pages or granules. The descriptor stays the
  // caller's. NULL, both: ordinary memory.
  bool (*map)(void *arg, int fd, uint64_t map_bytes, bool writable, struct serve_mapping *out, char *message,
              size_t bytes);
  void (*unmap)(void *arg, struct serve_mapping *m);
};

// Answers the judge until it hangs up; the process then exits with the result. Before the candidate is loaded, the
// judge may order the process to lock itself down (sandbox_lock_runner).
int serve(const struct serve_host *host, int threads);

#endif
