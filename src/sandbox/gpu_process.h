// SPDX-License-Identifier: Apache-2.0
// A process with NVIDIA's driver: what it may read, and which devices are its.
#ifndef SANDBOX_GPU_PROCESS_H
#define SANDBOX_GPU_PROCESS_H

#include "sandbox/sandbox.h"

struct gpu_process {
  char *const *argv, *const *envp;
  const char *folder;            // its own
  const char *const *read_paths; // in addition to the driver's; NULL-terminated
  bool without_landlock;
};

// As sandbox_spawn, with one descriptor. It is a SANDBOX_DEVICE: without a system call filter, for a driver needs ioctl
// and compilers are programs.
enum assay_status gpu_process_spawn(const struct gpu_process *p, int socket, struct sandbox_child *out,
                                    struct assay_error *err);

#endif
