// SPDX-License-Identifier: Apache-2.0
// Private to src/toolchain: the process that hosts PyTorch on a GPU (worker.py lift). It imports PyTorch, which takes
// seconds and no device, before it has its order.
#ifndef TOOLCHAIN_PYTHON_WORKER_H
#define TOOLCHAIN_PYTHON_WORKER_H

#include "toolchain/lift_worker.h"

struct python_worker_options {
  const struct python_place *python; // borrowed
  const struct assay_paths *paths;   // borrowed
  int device_index;
  bool without_landlock;
};

// One that waits in `standby`, where it fits and lives, else a new one. `standby` may be NULL.
enum assay_status python_worker_start(struct python_standby *standby, const struct python_worker_options *o,
                                      struct lift_worker **out, struct assay_error *err);

// Starts workers there that wait for candidates to come, as many as the cores allow. Without them a
// candidate waits longer, so there is no error.
void python_standby_fill(struct python_standby *s, const struct python_worker_options *o);

#endif
