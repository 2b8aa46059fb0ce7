// SPDX-License-Identifier: Apache-2.0
// Which GPU a child process sees: the one that this process knows by a number, whatever that number counts.
#ifndef SANDBOX_GPU_VISIBLE_H
#define SANDBOX_GPU_VISIBLE_H

struct gpu_visible {
  char devices[160]; // "CUDA_VISIBLE_DEVICES=...", of one GPU, which is number 0 there; of none if there is none
  char order[64];    // "CUDA_DEVICE_ORDER=...", CUDA's own default where nobody has set another
};

// What the environment says of CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER, NULL where it says nothing; they stay the
// caller's, and have to stay. Once, before there are threads; without it neither is set.
void gpu_visible_from(const char *devices, const char *order);

// The number counts what CUDA shows this process: the entries of its own CUDA_VISIBLE_DEVICES where that is set, else
// the GPUs in the order that CUDA_DEVICE_ORDER names.
void gpu_visible(int index, struct gpu_visible *out);

#endif
