// SPDX-License-Identifier: Apache-2.0
// The libraries' baseline: a candidate that is not code, but the name of a library that computes the task.
//
//   # assay: task kernelbench/1/1
//   cublaslt
//
// Lines of a .library file are comments and at most one word: cublaslt, cudnn, or any, which is also meant when there
// is none.
#ifndef TOOLCHAIN_LIBRARY_H
#define TOOLCHAIN_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "assay/paths.h"
#include "base/arena.h"
#include "base/buf.h"

enum library_choice { LIBRARY_ANY, LIBRARY_CUBLASLT, LIBRARY_CUDNN };

// What the file says. ASSAY_ERR_SYNTAX names the line (not the file).
enum assay_status library_read(const char *source, size_t n, enum library_choice *out, struct assay_error *err);
const char *library_choice_name(enum library_choice c);

// Where the libraries are. Strings are the arena's or those of the paths.
struct library_place {
  const char *program, *lift;
  const char *cublaslt, *cudnn, *cupti; // "": the loader's search
  const char *search;                   // LD_LIBRARY_PATH: folders where such libraries are used to be
  const char *const *read_paths;        // NULL-terminated
};

// ASSAY_ERR_ENVIRONMENT when Assay's own files are not there, or a library that the paths name.
enum assay_status library_find(const struct assay_paths *p, struct arena *a, struct library_place *out,
                               struct assay_error *err);

// Which libraries are there, as one line ("cuBLASLt 130000, no cuDNN, CUPTI"); *all: none is missing. Asks
// assay-library, in a process of its own; needs no GPU.
enum assay_status library_ask(const struct library_place *p, const char *folder, struct buf *text, bool *all,
                              struct assay_error *err);

#endif
