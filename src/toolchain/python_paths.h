// SPDX-License-Identifier: Apache-2.0
// Private to src/toolchain: where an interpreter's own files are.
#ifndef TOOLCHAIN_PYTHON_PATHS_H
#define TOOLCHAIN_PYTHON_PATHS_H

#include "base/arena.h"

// The folders and files that a sandboxed interpreter has to read: a virtual environment's, those of the Python that it
// was made from, the system's packages, folders of packages that a .pth file of one of these adds (those named
// site-packages or dist-packages, and those with PyTorch in them: a project's own folder is not a candidate's affair),
// and `more`. NULL-terminated, in the arena; NULL when memory fails. `interpreter`: absolute.
const char *const *python_paths_find(const char *interpreter, const char *const *more, struct arena *a);

#endif
