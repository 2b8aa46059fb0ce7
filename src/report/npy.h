// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files (numpy.lib.format, versions 1.0 to 3.0), which `assay oracle` reads and writes.
#ifndef REPORT_NPY_H
#define REPORT_NPY_H

#include "base/buf.h"
#include "ops/op.h"

// The file's array, row-major, in the file's type; heap memory (array_release). Floating-point elements of 2, 4 and 8
// bytes, integers of 1 to 8, bool; little-endian. `name` is for messages. ASSAY_ERR_SYNTAX (not a .npy file, or
// cut short), _UNSUPPORTED (another type, big-endian, Fortran order), _LIMIT (rank, extents), _NOMEM.
enum assay_status npy_read(const void *bytes, size_t len, const char *name, struct array *out, struct assay_error *err);

// Appends the array as a .npy file (version 1.0) with elements of type `as`: of the array's kind, and one of the types
// above. ASSAY_ERR_UNSUPPORTED, _NOMEM.
enum assay_status npy_write(const struct array *a, enum dtype as, struct buf *out, struct assay_error *err);

// The type in which npy_write stores every value of `t`: `t` itself, or float for the small formats that NumPy lacks.
enum dtype npy_dtype(enum dtype t);

#endif
