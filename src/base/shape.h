// SPDX-License-Identifier: Apache-2.0
// Concrete shapes: at most SHAPE_MAX_RANK extents, row-major, no strides (oracle tensors are dense).
#ifndef BASE_SHAPE_H
#define BASE_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum { SHAPE_MAX_RANK = 8 };
#define SHAPE_MAX_ELEMENTS ((int64_t)1 << 40)

struct shape {
  int rank; // 0: a scalar, one element
  int64_t dims[SHAPE_MAX_RANK];
};

struct shape shape_of(int rank, const int64_t *dims);
bool shape_equal(const struct shape *a, const struct shape *b);

// The number of elements; a shape that was validated never overflows.
int64_t shape_count(const struct shape *s);

// The product of extents [from, to).
int64_t shape_span(const struct shape *s, int from, int to);

// ASSAY_ERR_LIMIT when an extent is negative or the count is beyond SHAPE_MAX_ELEMENTS.
enum assay_status shape_check(const struct shape *s, struct assay_error *err);

// NumPy broadcasting of two shapes (ONNX, "Broadcasting in ONNX"). ASSAY_ERR_INVALID names both shapes.
enum assay_status shape_broadcast(const struct shape *a, const struct shape *b, struct shape *out,
                                  struct assay_error *err);

// Row-major strides in elements; with `to`, strides of `s` broadcast to the shape `to` (0 where an extent is
// stretched), right-aligned: strides has to->rank entries.
void shape_strides(const struct shape *s, int64_t *strides);
void shape_broadcast_strides(const struct shape *s, const struct shape *to, int64_t *strides);

// "[2,3]"; returns text. `text` has room for SHAPE_TEXT_BYTES.
enum { SHAPE_TEXT_BYTES = 192 };
const char *shape_text(const struct shape *s, char *text);

// Turns a possibly negative axis into 0..rank-1. ASSAY_ERR_INVALID names both.
enum assay_status shape_axis(int64_t axis, int rank, int *out, struct assay_error *err);

#endif
