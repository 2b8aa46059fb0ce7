// SPDX-License-Identifier: Apache-2.0
// The contract between Assay and a CUDA kernel with host code. A candidate in this form is an ordinary .cu file:
//
//   // assay: task kernelbench/1/19
//   #include <assay/cuda.h>
//   __global__ void relu(const float *x, float *y, long long n) { ... }
//   extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
//     const float *x = (const float *)args->inputs[0].data;
//     float *y = (float *)args->outputs[0].data;
//     long long n = assay_count(&args->inputs[0]);
//     relu<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, n);
//   }
//
// The entry runs once for each workload, on a machine part without a GPU, and leaves a launch plan: kernels, arguments,
// memsets, copies and allocations are noted, not carried out. `data` are addresses of the device: host code cannot read
// what is there, and decisions that depend on data belong in kernels. All work must be ordered before the end of
// `stream` when the entry returns. Memory from cudaMalloc and cudaMallocAsync becomes scratch of the plan. What cannot
// be recorded is refused with the call's name. (The other form, device code with `// assay: launch` lines and no host
// code, builds faster: docs/writing-cuda-kernels.md.)
#ifndef ASSAY_CUDA_H
#define ASSAY_CUDA_H

#include <cuda_runtime.h>

#include "assay/candidate.h"

#ifdef __cplusplus
extern "C" {
#endif
void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream);
#ifdef __cplusplus
}
#endif

#endif
