// SPDX-License-Identifier: Apache-2.0
// The process of a Python candidate on a GPU: PyTorch, NVIDIA's driver, and the compilers that Triton, torch.compile
// and extensions run. How it is started, for every purpose.
#ifndef SANDBOX_GPU_PYTHON_H
#define SANDBOX_GPU_PYTHON_H

#include "base/arena.h"
#include "sandbox/sandbox.h"

struct gpu_python {
  const char *path_env;                // the PATH
  const char *folder;                  // its own: everything that is cached goes there
  const char *const *read_paths;       // where the interpreter's files are; NULL-terminated, as the next two
  const char *const *more_paths;       // and what else it may read
  const char *const *more_environment; // NAME=VALUE; may be NULL
  int device_index;                    // the one GPU that it sees
  bool without_landlock;
};

// Its environment, and what it may read in addition to the driver's; in the arena, NULL when memory fails.
char *const *gpu_python_environment(const struct gpu_python *p, struct arena *a);
const char *const *gpu_python_read_paths(const struct gpu_python *p, struct arena *a);

// The i-th of the other parts of worker.py, which lie next to it; in the arena, NULL when memory fails.
enum { PYTHON_OTHER_PARTS = 3 };
const char *python_other_part(const char *script, int i, struct arena *a);

// gpu_process_spawn with both.
enum assay_status gpu_python_spawn(const struct gpu_python *p, char *const argv[], int socket,
                                   struct sandbox_child *out, struct assay_error *err);

#endif
