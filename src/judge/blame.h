// SPDX-License-Identifier: Apache-2.0
// Whose fault it is that a candidate found no memory on a GPU.
#ifndef JUDGE_BLAME_H
#define JUDGE_BLAME_H

#include <stdbool.h>
#include <stddef.h>

#include "assay/judge.h"
#include "compute/compute.h"

// Whether what PyTorch, cuDNN, cuBLAS or the recorder said is about memory that was not there.
bool blame_lacks_memory(enum assay_reason reason, const char *detail);

// How many threads must start here for this verdict to stand: the kernel's own, and where something is said of threads
// also the judge's, which may have been there at the same time. A container may have room for the kernel's alone, and a
// wrong kernel crashes there as elsewhere. Of a build that ran into a limit: those of a compiler and the judge, where
// it speaks of processes. `log`: what the candidate printed. 0: the verdict has nothing to do with threads.
int blame_threads_asked(const struct assay_verdict *v, const char *log, int threads);

// Bytes of a GPU that other processes have, once nothing of ours is kept there; 0: no more than is usual (an eighth, or
// 4 GiB), which a candidate has to live with.
size_t blame_others(const struct compute_memory *m);

#endif
