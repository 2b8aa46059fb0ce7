// SPDX-License-Identifier: Apache-2.0
// Private to src/toolchain: which compilers a Python candidate's extensions, Triton and torch.compile get.
//
// The user's PATH is not theirs: what lies on it differs from shell to shell, and verdicts with it. They get the
// interpreter's own folder, the system's and CUDA's. What a user says on purpose, by CC, CXX, CUDA_HOME and
// TORCH_CUDA_ARCH_LIST, is kept if it means something, and named if it does not. So is MAX_JOBS, which no result
// depends on: it is no part of the summary.
#ifndef TOOLCHAIN_PYTHON_SETTINGS_H
#define TOOLCHAIN_PYTHON_SETTINGS_H

#include "assay/paths.h"
#include "base/arena.h"
#include "base/error.h"

struct python_settings {
  const char *path_env;           // the PATH
  const char *const *environment; // NAME=VALUE, as they were kept; NULL-terminated
  const char *const *read_paths;  // where those compilers' files are; NULL-terminated
  const char *summary;            // "CXX=/usr/bin/clang++; not kept: CC=tcc (no such program)"; "": there are none
};

// In the arena. ASSAY_ERR_NOMEM.
enum assay_status python_settings_make(const struct assay_paths *p, const char *interpreter, struct arena *a,
                                       struct python_settings *out, struct assay_error *err);

#endif
