// SPDX-License-Identifier: Apache-2.0
// Shared memory on a GPU: the allocation that is exported (shared.c maps it with compute_map).
#ifndef DEVICE_SHARED_CUDA_H
#define DEVICE_SHARED_CUDA_H

#include "compute/compute.h"

// The unit in which memory of the compute's device is mapped, 2 MiB on all of today's GPUs.
enum assay_status shared_cuda_granularity(struct compute *c, size_t *bytes, struct assay_error *err);

// Exported memory of map_bytes, a multiple of the granularity; the descriptor is the caller's and keeps it alive.
enum assay_status shared_cuda_create(struct compute *c, size_t map_bytes, int *fd, struct assay_error *err);

#endif
