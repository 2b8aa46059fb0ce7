// Casts, and copies from any storage to the one that the oracle computes with.
#include "oracle/cuda/convert.h"
#include "oracle/cuda/gpu_table.h"
#include "oracle/cuda/gpu_run.h"

extern const char code_convert_args[], code_convert_device[], code_convert[];

static const struct device_code program = {
    "convert", (const char *const[]){GPU_COMMON_TEXTS, code_convert_args, code_convert_device, code_convert, NULL},
    false};

struct convert_type convert_type_of(enum dtype t) {
  struct float_format f;
  if (dtype_float_format(t, &f))
    return (struct convert_type){.is_float = 1, .bits = f.bits, .min_exponent = f.min_exponent, .max = f.max};
  bool is_unsigned = t == DTYPE_UINT8 || t == DTYPE_UINT16 || t == DTYPE_UINT32 || t == DTYPE_UINT64;
  return (struct convert_type){.bits = t == DTYPE_BOOL ? 1 : 8 * (int32_t)dtype_bytes(t), .is_unsigned = is_unsigned};
}

enum assay_status gpu_array_widen(struct compute *c, const struct gpu_array *from, struct gpu_array *to,
                                  struct assay_error *err) {
  int64_t n = shape_count(&from->shape);
  if (from->storage == GPU_F64 || from->storage == GPU_I64)
    return compute_copy(c, to->data, from->data, (size_t)n * sizeof(uint64_t), err);
  struct widen_args args = {.in = gpu_ref_of(from), .out = to->data, .n = n};
  return compute_launch(c, &program, "widen", n, &args, sizeof args, err);
}

enum assay_status gpu_array_round(struct compute *c, const struct gpu_array *from, const struct arith *storing,
                                  struct gpu_array *out, struct assay_error *err) {
  struct gpu_array to;
  enum assay_status status = gpu_array_create(c, from->dtype, &from->shape, &to, err);
  if (status)
    return status;
  struct cast_args args = {.in = gpu_ref_of(from),
                           .out = to.data,
                           .n = shape_count(&from->shape),
                           .from = convert_type_of(DTYPE_DOUBLE),
                           .to = convert_type_of(from->dtype),
                           .narrows = 1,
                           .no_infinity = storing->exact, // as store_nearest of oracle/boundary.c
                           .arith = gpu_arith_of(storing)};
  status = compute_launch(c, &program, "cast", args.n, &args, sizeof args, err);
  if (status)
    gpu_array_release(c, &to);
  else
    *out = to;
  return status;
}

static bool format_narrows(const struct convert_type *from, const struct convert_type *to) {
  if (!to->is_float)
    return false;
  if (!from->is_float)
    return to->bits != 53;
  return to->bits < from->bits || to->min_exponent > from->min_exponent || to->max < from->max;
}

enum assay_status gpu_cast_eval(struct gpu_eval *c, struct assay_error *err) {
  enum dtype to = c->out[0].dtype;
  int64_t n = shape_count(&c->out[0].shape);
  struct cast_args args = {.in = gpu_ref_of(c->in[0]),
                           .out = c->out[0].data,
                           .n = n,
                           .from = convert_type_of(c->in[0]->dtype),
                           .to = convert_type_of(to),
                           .no_infinity = to == DTYPE_FLOAT8E4M3FN};
  args.narrows = format_narrows(&args.from, &args.to) && args.to.bits != c->arith.stored.bits;
  bool float8 = to == DTYPE_FLOAT8E4M3FN || to == DTYPE_FLOAT8E5M2;
  args.saturate = float8 && node_int(c->node, "saturate", 1) != 0;
  args.arith = (struct gpu_arith){.exact = c->arith.exact,
                                  .bits = args.to.bits,
                                  .min_exponent = args.to.min_exponent,
                                  .max = args.to.max,
                                  .key = c->arith.key};
  return compute_launch(c->compute, &program, "cast", n, &args, sizeof args, err);
}
