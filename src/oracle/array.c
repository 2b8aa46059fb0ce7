// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/alloc.h"
#include "oracle/oracle.h"

enum assay_status array_create(enum dtype dtype, const struct shape *shape, struct array *out,
                               struct assay_error *err) {
  enum assay_status status = shape_check(shape, err);
  if (status)
    return status;
  if (!dtype_is_float(dtype) && !dtype_is_integer(dtype))
    return error_set(err, ASSAY_ERR_UNSUPPORTED, "tensors of type %s cannot be computed with", dtype_name(dtype));
  struct array a = {.dtype = dtype, .shape = *shape};
  a.bits = base_alloc((size_t)shape_count(shape) * sizeof *a.bits);
  if (!a.bits) {
    char text[SHAPE_TEXT_BYTES];
    return error_set(err, ASSAY_ERR_NOMEM, "out of memory for a %s tensor of the oracle (%lld bytes)",
                     shape_text(shape, text), (long long)shape_count(shape) * 8);
  }
  *out = a;
  return ASSAY_OK;
}

enum assay_status array_from_tensor(const struct tensor *t, struct array *out, struct assay_error *err) {
  enum assay_status status = array_create(t->type.dtype, &t->type.shape, out, err);
  if (status)
    return status;
  if (dtype_is_float(t->type.dtype))
    dtype_to_f64(t->type.dtype, t->data, shape_count(&t->type.shape), out->f64);
  else
    dtype_to_i64(t->type.dtype, t->data, shape_count(&t->type.shape), out->i64);
  return ASSAY_OK;
}

void array_release(struct array *a) {
  base_free(a->bits);
  memset(a, 0, sizeof *a);
}
