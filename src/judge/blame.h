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

// Bytes of a GPU that other processes have, once nothing of ours is kept there; 0: no more than is usual (an eighth, or
// 4 GiB), which a candidate has to live with.
size_t blame_others(const struct compute_memory *m);

#endif
