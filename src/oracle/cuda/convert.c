// SPDX-License-Identifier: Apache-2.0
// Casts, and copies from any storage to the one that the oracle computes with.
#include "oracle/cuda/convert.h"

#include <assert.h>

#include "base/alloc.h"
#include "ops/bitcast.h"
#include "oracle/cuda/gpu_table.h"
#include "oracle/cuda/gpu_run.h"
#include "oracle/cuda/rows.h"

extern const char code_convert_args[], code_convert_device[], code_narrow[], code_convert[];

static const struct device_code program = {
    "convert",
    (const char *const[]){GPU_COMMON_TEXTS, code_convert_args, code_convert_device, code_narrow, code_convert, NULL},
    false};

struct convert_type convert_type_of(enum dtype t) {
  struct float_format f;
  if (dtype_float_format(t, &f))
    return (struct convert_type){.is_float = 1, .bits = f.bits, .min_exponent = f.min_exponent, .max = f.max};
  return (struct convert_type){.bits = t == DTYPE_BOOL ? 1 : dtype_bits(t),
                               .is_unsigned = !dtype_is_signed(t) && t != DTYPE_BOOL};
}

enum assay_status gpu_array_widen(struct compute *c, const struct gpu_array *from, struct gpu_array *to,
                                  struct assay_error *err) {
  int64_t n = shape_count(&from->shape);
  if (from->storage == GPU_F64 || from->storage == GPU_I64)
    return compute_copy(c, to->data, from->data, (size_t)n * sizeof(uint64_t), err);
  struct widen_args args = {.in = gpu_ref_of(from), .out = to->data, .n = n};
  return compute_launch(c, &program, "widen", n, &args, sizeof args, err);
}

bool gpu_array_can_store(enum dtype t) {
  struct small_format small;
  return dtype_is_exchanged(t) &&
         (dtype_is_integer(t) || t == DTYPE_FLOAT || t == DTYPE_DOUBLE || dtype_small_format(t, &small));
}

enum assay_status gpu_array_store(struct compute *c, const struct gpu_array *from, bool others,
                                  const struct tensor_type *type, device_ptr to, struct assay_error *err) {
  struct small_format small = {0};
  struct store_args args = {.from = from->data,
                            .to = to,
                            .n = tensor_type_count(type),
                            .is_float = dtype_is_float(type->dtype),
                            .is_bool = type->dtype == DTYPE_BOOL,
                            .bytes = (int32_t)dtype_bytes(type->dtype),
                            .others = others};
  assert(gpu_array_can_store(type->dtype) && from->storage == (args.is_float ? GPU_F64 : GPU_I64));
  assert(shape_count(&from->shape) == args.n);
  if (dtype_small_format(type->dtype, &small)) {
    args.exponent_bits = small.exponent_bits;
    args.mantissa_bits = small.mantissa_bits;
    args.finite_only = small.finite_only;
  }
  return compute_launch(c, &program, "store", args.n, &args, sizeof args, err);
}

enum assay_status gpu_array_same(struct compute *c, const struct gpu_array *a, const struct gpu_array *b, bool *same,
                                 struct assay_error *err) {
  struct same_args args = {.a = a->data, .b = b->data, .n = shape_count(&a->shape)};
  uint32_t differ = 0;
  assert(shape_equal(&a->shape, &b->shape));
  enum assay_status status = compute_alloc(c, sizeof differ, &args.differ, err);
  if (!status)
    status = compute_set32(c, args.differ, 0, 1, err);
  if (!status)
    status = compute_launch(c, &program, "find_difference", args.n, &args, sizeof args, err);
  if (!status)
    status = compute_download(c, &differ, args.differ, sizeof differ, err);
  compute_free(c, args.differ);
  *same = !status && !differ;
  return status;
}

struct gpu_narrowing gpu_narrowing_of(const struct narrowing *n) {
  _Static_assert(NARROW_UP == (int)POWER_UP && NARROW_DOWN == (int)POWER_DOWN, "as in ops/narrow.h");
  return (struct gpu_narrowing){.arith = gpu_arith_of(&n->arith),
                                .to = convert_type_of(n->to),
                                .saturate = n->saturate,
                                .no_infinity = n->format.no_infinity,
                                .no_nan = n->format.no_nan,
                                .no_minus_zero = n->format.no_minus_zero,
                                .powers_alone = n->format.powers_alone,
                                .power = (int32_t)n->power};
}

struct gpu_narrowing gpu_storing_of(const struct arith *storing, enum dtype dtype) {
  return (struct gpu_narrowing){.arith = gpu_arith_of(storing),
                                .to = convert_type_of(dtype),
                                .no_overflow = storing->exact}; // as store_nearest of ops/arith.c
}

// From n doubles, held as they are or as floats of fewer bits, to doubles.
static enum assay_status round_to(struct compute *c, struct gpu_ref from, enum dtype dtype, device_ptr to, int64_t n,
                                  const struct arith *storing, struct assay_error *err) {
  struct cast_args args = {.in = from,
                           .out = to,
                           .n = n,
                           .from = convert_type_of(DTYPE_DOUBLE),
                           .to = convert_type_of(dtype),
                           .narrows = 1,
                           .narrowing = gpu_storing_of(storing, dtype)};
  return compute_launch(c, &program, "cast", n, &args, sizeof args, err);
}

enum assay_status gpu_round(struct compute *c, enum dtype dtype, device_ptr values, int64_t n,
                            const struct arith *storing, struct assay_error *err) {
  return round_to(c, gpu_ref_f64(values), dtype, values, n, storing, err);
}

enum assay_status gpu_array_round(struct compute *c, const struct gpu_array *from, const struct arith *storing,
                                  struct gpu_array *out, struct assay_error *err) {
  struct gpu_array to;
  enum assay_status status = gpu_array_create(c, from->dtype, &from->shape, &to, err);
  if (status)
    return status;
  status = round_to(c, gpu_ref_of(from), from->dtype, to.data, shape_count(&from->shape), storing, err);
  if (status)
    gpu_array_release(c, &to);
  else
    *out = to;
  return status;
}

enum assay_status gpu_cast_eval(struct gpu_eval *c, struct assay_error *err) {
  enum dtype from = c->in[0]->dtype, to = c->out[0].dtype;
  int64_t n = shape_count(&c->out[0].shape);
  struct narrowing narrowing;
  enum assay_status status = narrowing_read(c->node, to, &c->arith, &narrowing, err);
  if (status)
    return status;
  struct cast_args args = {.in = gpu_ref_of(c->in[0]),
                           .out = c->out[0].data,
                           .n = n,
                           .from = convert_type_of(from),
                           .to = convert_type_of(to),
                           .narrows = narrowing_needed(from, to) && narrowing.format.bits != c->arith.stored.bits,
                           .other = c->arith.other_casts,
                           .from_float = from == DTYPE_FLOAT,
                           .narrowing = gpu_narrowing_of(&narrowing)};
  return compute_launch(c->compute, &program, "cast", n, &args, sizeof args, err);
}

static bool is_word(enum dtype t) {
  return t == DTYPE_FLOAT || t == DTYPE_DOUBLE || (!dtype_is_float(t) && dtype_bits(t) >= 32);
}

// On the host but for the types that matter: the others are many, and graphs that need them are rare.
enum assay_status gpu_bitcast_eval(struct gpu_eval *c, struct assay_error *err) {
  const enum dtype from = c->in[0]->dtype, to = c->out[0].dtype;
  int64_t n = shape_count(&c->out[0].shape);
  if (is_word(from) && is_word(to)) {
    struct bitcast_args args = {.in = gpu_ref_of(c->in[0]),
                                .out = c->out[0].data,
                                .n = n,
                                .bits = dtype_bits(to),
                                .from_float = dtype_is_float(from),
                                .to_float = dtype_is_float(to),
                                .to_unsigned = !dtype_is_signed(to)};
    return compute_launch(c->compute, &program, "bitcast", n, &args, sizeof args, err);
  }
  uint64_t *words = NULL;
  enum assay_status status = gpu_host_values(c, 0, &words, err);
  if (!status) {
    bitcast_words(from, to, n, words, words);
    status = compute_upload(c->compute, c->out[0].data, words, (size_t)n * sizeof *words, err);
  }
  base_free(words);
  return status;
}
