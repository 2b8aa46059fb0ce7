// SPDX-License-Identifier: Apache-2.0
// Copying between dense arrays through strides: what most movement operators come down to.
#ifndef OPS_STRIDED_H
#define OPS_STRIDED_H

#include <stdint.h>

#include "base/shape.h"

enum { STRIDED_MAX_RANK = 2 * SHAPE_MAX_RANK };

// Element (i0, i1, ...) of `dims` goes from from[sum i * from] to to[sum i * to]. Strides may be zero (source) or
// negative.
struct strided {
  int rank;
  int64_t dims[STRIDED_MAX_RANK], to[STRIDED_MAX_RANK], from[STRIDED_MAX_RANK];
};

// Copies eight-byte elements, on up to `threads` threads. Target elements must be distinct.
void strided_copy(const struct strided *s, uint64_t *to, const uint64_t *from, int threads);

// Every dimension d of the target is indexed through a table: map[d][i] is the offset that index i contributes in the
// source, or -1 where the element is `fill` instead.
void strided_gather(const struct shape *target, const int64_t *const *map, uint64_t fill, uint64_t *to,
                    const uint64_t *from, int threads);

#endif
