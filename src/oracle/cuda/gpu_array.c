// SPDX-License-Identifier: Apache-2.0
// Arrays on a device: storage, references for kernels, values brought to the host.
#include <string.h>

#include "base/alloc.h"
#include "ops/start.h"
#include "oracle/cuda/gpu_run.h"

// One row a storage: the type whose bytes it holds.
static const struct {
  enum dtype dtype;
  uint8_t bytes;
} storages[] = {
    [GPU_F64] = {DTYPE_DOUBLE, 8},
    [GPU_I64] = {DTYPE_INT64, 8},
    [GPU_F32] = {DTYPE_FLOAT, 4},
    [GPU_F16] = {DTYPE_FLOAT16, 2},
    [GPU_BF16] = {DTYPE_BFLOAT16, 2},
    [GPU_I32] = {DTYPE_INT32, 4},
    [GPU_U8] = {DTYPE_UINT8, 1},
    [GPU_I8] = {DTYPE_INT8, 1},
    [GPU_BOOL] = {DTYPE_BOOL, 1},
    [GPU_U16] = {DTYPE_UINT16, 2},
    [GPU_I16] = {DTYPE_INT16, 2},
    [GPU_U32] = {DTYPE_UINT32, 4},
    [GPU_F8E4M3FN] = {DTYPE_FLOAT8E4M3FN, 1},
    [GPU_F8E5M2] = {DTYPE_FLOAT8E5M2, 1},
};

enum assay_status gpu_storage_of(enum dtype dtype, enum gpu_storage *out, struct assay_error *err) {
  if (dtype == DTYPE_UINT64)
    dtype = DTYPE_INT64;
  for (int s = 0; s < (int)(sizeof storages / sizeof *storages); s++)
    if (storages[s].dtype == dtype) {
      *out = (enum gpu_storage)s;
      return ASSAY_OK;
    }
  return error_set(err, ASSAY_ERR_UNSUPPORTED, "tensors of type %s cannot be computed with", dtype_name(dtype));
}

size_t gpu_storage_bytes(enum gpu_storage s) {
  return storages[s].bytes;
}

struct gpu_ref gpu_ref_of(const struct gpu_array *a) {
  return (struct gpu_ref){.data = a->data, .storage = (int32_t)a->storage};
}

struct gpu_arith gpu_arith_of(const struct arith *a) {
  return (struct gpu_arith){.exact = a->exact,
                            .bits = a->bits,
                            .min_exponent = a->min_exponent,
                            .product_bits = a->product_bits,
                            .block = a->block,
                            .cut_bits = a->cut_bits,
                            .cut_steps = a->cut_steps,
                            .max = a->max,
                            .key = a->key};
}

_Static_assert((int)GPU_START_PARTS == (int)START_PARTS && (int)GPU_START_DIMS >= (int)SHAPE_MAX_RANK,
               "all starts of all shapes fit");

void gpu_start_init(struct gpu_start *s, const struct gpu_eval *c, double factor) {
  memset(s, 0, sizeof *s);
  s->rank = c->out[0].shape.rank;
  for (int d = 0; d < s->rank; d++)
    s->extent[d] = c->out[0].shape.dims[d];
  for (int i = 0; i < c->n_starts; i++)
    gpu_start_add(s, c->starts[i].of, &c->starts[i].of->shape, factor * c->starts[i].factor);
}

void gpu_start_add(struct gpu_start *s, const struct gpu_array *of, const struct shape *shape, double factor) {
  struct shape output = {.rank = s->rank};
  for (int d = 0; d < s->rank; d++)
    output.dims[d] = s->extent[d];
  s->from[s->n] = gpu_ref_of(of);
  s->factor[s->n] = factor;
  shape_broadcast_strides(shape, &output, s->stride[s->n]);
  s->n++;
}

void gpu_array_release(struct compute *c, struct gpu_array *a) {
  if (a->owned)
    compute_free(c, a->data);
  memset(a, 0, sizeof *a);
}

enum assay_status gpu_array_create(struct compute *c, enum dtype dtype, const struct shape *shape,
                                   struct gpu_array *out, struct assay_error *err) {
  enum assay_status status = shape_check(shape, err);
  if (status)
    return status;
  if (!dtype_is_float(dtype) && !dtype_is_integer(dtype))
    return error_set(err, ASSAY_ERR_UNSUPPORTED, "tensors of type %s cannot be computed with", dtype_name(dtype));
  struct gpu_array a = {
      .dtype = dtype, .shape = *shape, .storage = dtype_is_float(dtype) ? GPU_F64 : GPU_I64, .owned = true};
  status = compute_alloc(c, (size_t)shape_count(shape) * sizeof(uint64_t), &a.data, err);
  if (status) {
    char text[SHAPE_TEXT_BYTES];
    return error_prefix(err, status, "a %s tensor of the oracle: ", shape_text(shape, text));
  }
  *out = a;
  return ASSAY_OK;
}

// Types that candidates are never given have no storage of their own.
static enum assay_status upload_widened(struct compute *c, const struct tensor *t, struct gpu_array *out,
                                        struct assay_error *err) {
  int64_t n = shape_count(&t->type.shape);
  struct gpu_array a = {0};
  uint64_t *values = base_alloc((size_t)n * sizeof *values);
  enum assay_status status = values ? ASSAY_OK : error_nomem(err, "a constant");
  if (!status)
    status = gpu_array_create(c, t->type.dtype, &t->type.shape, &a, err);
  if (!status && dtype_is_float(t->type.dtype))
    dtype_to_f64(t->type.dtype, t->data, n, (double *)values);
  else if (!status)
    dtype_to_i64(t->type.dtype, t->data, n, (int64_t *)values);
  if (!status)
    status = compute_upload(c, a.data, values, (size_t)n * sizeof *values, err);
  base_free(values);
  if (status)
    gpu_array_release(c, &a);
  else
    *out = a;
  return status;
}

enum assay_status gpu_array_upload(struct compute *c, const struct tensor *t, struct gpu_array *out,
                                   struct assay_error *err) {
  if (dtype_bits(t->type.dtype) && !dtype_is_exchanged(t->type.dtype))
    return upload_widened(c, t, out, err);
  struct gpu_array a = {.dtype = t->type.dtype, .shape = t->type.shape, .owned = true};
  enum assay_status status = gpu_storage_of(t->type.dtype, &a.storage, err);
  if (status)
    return status;
  size_t bytes = (size_t)shape_count(&t->type.shape) * gpu_storage_bytes(a.storage);
  status = compute_alloc(c, bytes, &a.data, err);
  if (!status)
    status = compute_upload(c, a.data, t->data, bytes, err);
  if (status)
    gpu_array_release(c, &a);
  else
    *out = a;
  return status;
}

enum assay_status gpu_array_download(struct compute *c, const struct gpu_array *a, uint64_t **out,
                                     struct assay_error *err) {
  int64_t n = shape_count(&a->shape);
  size_t bytes = (size_t)n * gpu_storage_bytes(a->storage);
  bool wide = a->storage == GPU_F64 || a->storage == GPU_I64;
  uint64_t *values = base_alloc((size_t)n * sizeof *values);
  void *raw = wide ? values : base_alloc(bytes);
  enum assay_status status = values && raw ? ASSAY_OK : error_nomem(err, "a tensor's values on the host");
  if (!status)
    status = compute_download(c, raw, a->data, bytes, err);
  if (!status && !wide) {
    if (dtype_is_float(storages[a->storage].dtype))
      dtype_to_f64(storages[a->storage].dtype, raw, n, (double *)values);
    else
      dtype_to_i64(storages[a->storage].dtype, raw, n, (int64_t *)values);
  }
  if (!wide)
    base_free(raw);
  if (status)
    base_free(values);
  else
    *out = values;
  return status;
}

enum assay_status gpu_host_values(struct gpu_eval *c, int i, uint64_t **out, struct assay_error *err) {
  const struct gpu_array *a = c->in[i];
  if (!a->host)
    return gpu_array_download(c->compute, a, out, err);
  size_t bytes = (size_t)shape_count(&a->shape) * sizeof **out;
  uint64_t *values = base_alloc(bytes);
  if (!values)
    return error_nomem(err, "a tensor's values on the host");
  memcpy(values, a->host, bytes);
  *out = values;
  return ASSAY_OK;
}

enum assay_status gpu_temporary(struct gpu_eval *c, size_t bytes, device_ptr *out, struct assay_error *err) {
  if (c->n_temporaries == (int)(sizeof c->temporaries / sizeof *c->temporaries))
    return error_set(err, ASSAY_ERR_LIMIT, "an operator on the device wants more than %d temporary arrays",
                     c->n_temporaries);
  enum assay_status status = compute_alloc(c->compute, bytes, out, err);
  if (!status)
    c->temporaries[c->n_temporaries++] = *out;
  return status;
}
