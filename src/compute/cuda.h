// SPDX-License-Identifier: Apache-2.0
// Inside of the cuda backend of compute/compute.h, for the files of this folder that work with it on the same
// context: shared memory, the runner's helper code, the peaks.
#ifndef COMPUTE_CUDA_H
#define COMPUTE_CUDA_H

#include "compute/compute.h"
#include "compute/cuda_driver.h"

// Borrowed from the compute, for as long as it is open.
struct compute_cuda_part {
  const struct cuda_driver *driver;
  CUdevice device;
  CUcontext context;
  CUstream stream;
  char target[16];                       // "sm_90a": the architecture-specific target
  const char *nvrtc_path, *cache_folder; // may be NULL
};

// Makes the context current in the calling thread. ASSAY_ERR_INVALID when the compute is not a GPU's.
enum assay_status compute_cuda_part(struct compute *c, struct compute_cuda_part *out, struct assay_error *err);

// Compiles CUDA C++ as it is (without the dialect) to a cubin for the device, or takes it from the cache; heap
// (base_free).
enum assay_status compute_cuda_compile(struct compute *c, const char *name, const char *source, void **cubin,
                                       size_t *bytes, struct assay_error *err);

#endif
