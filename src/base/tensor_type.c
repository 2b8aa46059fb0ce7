// SPDX-License-Identifier: Apache-2.0
#include "base/tensor_type.h"

#include <inttypes.h>
#include <stdio.h>

bool tensor_type_equal(const struct tensor_type *a, const struct tensor_type *b) {
  return a->dtype == b->dtype && shape_equal(&a->shape, &b->shape);
}

int64_t tensor_type_count(const struct tensor_type *t) {
  return shape_count(&t->shape);
}

size_t tensor_type_bytes(const struct tensor_type *t) {
  return (size_t)shape_count(&t->shape) * dtype_bytes(t->dtype);
}

bool tensor_type_measure(const struct tensor_type *t, uint64_t *bytes) {
  uint64_t n = dtype_bytes(t->dtype);
  if (n == 0 || t->shape.rank < 0 || t->shape.rank > SHAPE_MAX_RANK)
    return false;
  for (int i = 0; i < t->shape.rank; i++)
    if (t->shape.dims[i] < 0 || __builtin_mul_overflow(n, (uint64_t)t->shape.dims[i], &n))
      return false;
  *bytes = n;
  return n <= INT64_MAX;
}

const char *tensor_type_text(const struct tensor_type *t, char *text) {
  int used = snprintf(text, TENSOR_TYPE_TEXT_BYTES, "%s[", dtype_name(t->dtype));
  for (int i = 0; i < t->shape.rank && i < SHAPE_MAX_RANK; i++) // 22 bytes each at most
    used +=
        snprintf(text + used, TENSOR_TYPE_TEXT_BYTES - (size_t)used, i ? ", %" PRId64 : "%" PRId64, t->shape.dims[i]);
  snprintf(text + used, TENSOR_TYPE_TEXT_BYTES - (size_t)used, "]");
  return text;
}
