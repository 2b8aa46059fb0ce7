// SPDX-License-Identifier: Apache-2.0
// The threads of assay_args.parallel, made before the candidate is loaded. Between loops they wait in a futex.
#ifndef RUNNER_POOL_H
#define RUNNER_POOL_H

#include <stdint.h>

#include "base/error.h"

struct pool;

enum assay_status pool_create(int threads, struct pool **out, struct assay_error *err);

// Runs body over [0, n) on all threads, the caller's included; returns when all is done.
void pool_run(struct pool *p, int64_t n, void (*body)(void *arg, int64_t begin, int64_t end), void *arg);

// Before its next loop each helper leaves numbers on its stack (residue.h); `round` is another one than before, not 0.
void pool_leave(struct pool *p, unsigned round);

#endif
