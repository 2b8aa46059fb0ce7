// SPDX-License-Identifier: Apache-2.0
// Private to src/toolchain: what a sandboxed interpreter may read.
#ifndef TOOLCHAIN_PYTHON_ASK_H
#define TOOLCHAIN_PYTHON_ASK_H

#include "toolchain/python.h"

// The interpreter's paths and worker.py, NULL-terminated, in the arena; NULL when memory fails.
const char *const *python_builder_paths(const struct python_place *p, struct arena *a);

#endif
