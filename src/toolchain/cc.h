// SPDX-License-Identifier: Apache-2.0
// Private to src/toolchain.
#ifndef TOOLCHAIN_CC_H
#define TOOLCHAIN_CC_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "sandbox/sandbox.h"
#include "toolchain/toolchain.h"

// The absolute path of a compiler's program, looked for as a shell would, in the arena. ASSAY_ERR_ENVIRONMENT when
// there is none.
enum assay_status compiler_find(const char *name, const char *path_env, struct arena *a, char **path,
                                struct assay_error *err);

// Where a compiler that is not under /usr keeps the rest of itself (bin/../lib and so on), NULL-terminated, in the
// arena, with include_dir in front. NULL when memory fails.
const char *const *compiler_read_paths(const char *program, const char *include_dir, struct arena *a);

// Whether the program calls itself clang.
bool compiler_is_clang(const char *program);

// Makes a compiler's messages fit for a verdict: paths below the folders lose their beginning, whatever is not
// printable UTF-8 becomes '?'. Appends to `out`.
void diagnostics_clean(const struct buf *raw, const char *folder, const char *include_dir, struct buf *out);

// Messages of an OpenCL implementation that compiles a temporary copy of the source, with the source's name instead.
// Appends to `out`.
void diagnostics_of_opencl(const char *text, const char *name, struct buf *out);

// Messages of CUDA's compilers about the file `name`, with its lines and, where the source (NUL-terminated; may be
// NULL) shows them, columns, as other compilers write them: "NAME:12:7: error: ...". Appends to `out`.
// (diagnostics_cuda.c)
void diagnostics_of_cuda(const char *text, const char *name, const char *source, struct buf *out);

// What a compiler that failed ran into, by its own account. Lines about the candidate's source do not count, for the
// source can make them say anything.
enum build_outcome diagnostics_outcome(const char *text);

// Whether the linker missed clang's OpenMP runtime.
bool diagnostics_lack_openmp(const char *text);

#endif
