// SPDX-License-Identifier: Apache-2.0
// The type of a dense tensor: its element type and its shape. All interfaces that pass tensors use this struct. Formats
// between processes have fields of a fixed width (runner/protocol.h, toolchain/record/format.h).
#ifndef BASE_TENSOR_TYPE_H
#define BASE_TENSOR_TYPE_H

#include <stddef.h>

#include "base/dtype.h"
#include "base/shape.h"

struct tensor_type {
  enum dtype dtype;
  struct shape shape;
};

bool tensor_type_equal(const struct tensor_type *a, const struct tensor_type *b);

// Elements and bytes of a type whose shape was checked (shape_check). Of a dtype without arithmetic: 0 bytes.
int64_t tensor_type_count(const struct tensor_type *t);
size_t tensor_type_bytes(const struct tensor_type *t);

// The bytes of a type that comes from outside and was not checked. False when no buffer can have it: a dtype without
// arithmetic, a rank out of range, an extent below 0, or more than INT64_MAX bytes.
bool tensor_type_measure(const struct tensor_type *t, uint64_t *bytes);

// "float[2, 3]", as in ONNX's textual syntax; returns text. `text` has room for TENSOR_TYPE_TEXT_BYTES.
enum { TENSOR_TYPE_TEXT_BYTES = 256 };
const char *tensor_type_text(const struct tensor_type *t, char *text);

#endif
