// SPDX-License-Identifier: Apache-2.0
// Splitting a loop over threads. No pool and no globals: threads live as long as one call.
#ifndef BASE_PARALLEL_H
#define BASE_PARALLEL_H

#include <stdint.h>

// Called with disjoint ranges [begin, end) that together cover [0, n). Ranges never depend on the number of threads
// in a way that changes results, as long as the body treats every index on its own.
typedef void parallel_body(void *arg, int64_t begin, int64_t end);

// Runs body over [0, n) on up to `threads` threads (the caller's among them), in pieces of at least `grain` indices.
// If a thread cannot be started, the caller does its part: the call cannot fail.
void parallel_for(int threads, int64_t n, int64_t grain, parallel_body *body, void *arg);

// The number of processors this process may run on (at least 1).
int parallel_cpus(void);

#endif
