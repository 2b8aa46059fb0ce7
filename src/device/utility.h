// SPDX-License-Identifier: Apache-2.0
// Trusted helper code for a device in the runner's process: reading through more memory than the last-level cache
// holds (clean lines, so that no write-back falls into the timed part), an empty kernel, garbage in shared memory. CUDA
// C, compiled by NVRTC in the judge and handed to the runner as a cubin.
#ifndef DEVICE_UTILITY_H
#define DEVICE_UTILITY_H

#include "compute/compute.h"

// The cubin for the compute's device (from the cache where possible); heap.
enum assay_status utility_make(struct compute *c, void **cubin, size_t *bytes, struct assay_error *err);

#endif
