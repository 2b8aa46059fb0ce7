// SPDX-License-Identifier: Apache-2.0
#include "task/device_draw.h"

#include "base/alloc.h"
#include "task/device_draw_args.h"
#include "task/drawing.h"
#include "task/given.h"

extern const char code_formats[], code_exact_math[], code_device_draw_args[], code_device_draw[];
static const char *const texts[] = {code_formats, code_exact_math, code_device_draw_args, code_device_draw, NULL};
const struct device_code device_draw_code = {.name = "draw", .texts = texts, .exact = true};

static void describe_storage(enum dtype t, struct draw_args *a) {
  struct small_format small;
  a->bytes = (int32_t)dtype_bytes(t);
  a->storage = t == DTYPE_FLOAT ? DRAW_F32 : t == DTYPE_DOUBLE ? DRAW_F64 : t == DTYPE_BOOL ? DRAW_BOOL : DRAW_INTEGER;
  if (dtype_small_format(t, &small)) {
    a->storage = DRAW_SMALL;
    a->exponent_bits = small.exponent_bits;
    a->mantissa_bits = small.mantissa_bits;
    a->finite_only = small.finite_only;
  }
}

// Three elements at most, encoded on the CPU: a NaN made on a device may have other bits.
static enum assay_status put_special(struct compute *c, const struct drawing *d, device_ptr dst,
                                     struct assay_error *err) {
  int64_t at[N_SPECIAL];
  double values[N_SPECIAL];
  enum assay_status status = ASSAY_OK;
  if (!drawing_special(d, at, values))
    return ASSAY_OK;
  for (int k = 0; k < N_SPECIAL && !status; k++) {
    unsigned char bytes[8];
    size_t size = dtype_bytes(d->r->type.dtype);
    dtype_from_f64(d->r->type.dtype, &values[k], 1, bytes);
    status = compute_upload(c, dst + (uint64_t)at[k] * size, bytes, size, err);
  }
  return status;
}

// The factors that a request has: to `tables`, and how they are found to the arguments.
static enum assay_status put_scales(struct compute *c, const struct drawing *d, device_ptr *tables, struct draw_args *a,
                                    struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  _Static_assert((int)SHAPE_MAX_RANK <= DRAW_MOST_STRIPES, "scales along each dimension");
  a->n_along = d->scales ? d->scales->n : 0;
  for (int i = 0; i < a->n_along && !status; i++) {
    const struct draw_scale *s = &d->scales->along[i];
    const size_t bytes = (size_t)s->extent * sizeof(double);
    status = compute_alloc(c, bytes, &tables[i], err);
    if (!status)
      status = compute_upload(c, tables[i], s->factors, bytes, err);
    a->along[i] = (struct draw_along){s->stride, s->extent, tables[i]};
  }
  return status;
}

enum assay_status device_draw(struct compute *c, const struct draw_request *r, device_ptr dst,
                              struct assay_error *err) {
  struct drawing d;
  int64_t count = shape_count(&r->type.shape);
  device_ptr scales = 0, tables[SHAPE_MAX_RANK] = {0};
  if (count == 0)
    return ASSAY_OK;
  drawing_resolve(r, &d);
  struct draw_args a = {.dst = dst,
                        .key = r->key,
                        .count = count,
                        .columns = d.columns,
                        .rows = d.rows,
                        .a = d.a,
                        .b = d.b,
                        .scale = d.scale,
                        .kind = (int32_t)d.kind,
                        .input = r->input,
                        .fold = (int32_t)d.fold,
                        .fold_lo = r->distribution->fold_lo,
                        .fold_hi = r->distribution->fold_hi,
                        .scaled = d.scaled,
                        .row_scales = d.row_scales,
                        .inner = d.inner,
                        .row = d.row,
                        .factors = d.factors,
                        .matrices = d.matrices,
                        .symmetric = r->distribution->symmetric,
                        .regular = r->distribution->regular,
                        .definite = r->distribution->definite,
                        .triu = r->distribution->triu,
                        .tril = r->distribution->tril};
  _Static_assert((int)SHAPE_MAX_RANK <= DRAW_MOST_STRIPES, "a stripe of each dimension");
  a.striped = d.striped;
  a.n_stripes = d.n_stripes;
  a.stripes_factor = d.stripes_factor;
  for (int i = 0; i < d.n_stripes; i++)
    a.stripes[i] = (struct draw_stripe){d.stripes[i].stride, d.stripes[i].extent, d.stripes[i].index};
  describe_storage(r->type.dtype, &a);
  enum assay_status status = put_scales(c, &d, tables, &a, err);
  if (d.row_scales && !status) {
    status = compute_alloc(c, (size_t)d.factors * sizeof(double), &scales, err);
    a.scales = scales;
    if (!status)
      status = compute_launch(c, &device_draw_code, "draw_factors", d.factors, &a, sizeof a, err);
  }
  if (!status && r->distribution->softmax)
    status = compute_launch(c, &device_draw_code, "draw_softmax_rows", count / d.columns, &a, sizeof a, err);
  else if (!status)
    status = compute_launch(c, &device_draw_code, "draw_elements", (count + 3) / 4, &a, sizeof a, err);
  if (!status)
    status = put_special(c, &d, dst, err);
  compute_free(c, scales);
  for (int i = 0; i < a.n_along; i++)
    compute_free(c, tables[i]);
  return status;
}

// Input i as it was given, in pieces.
static enum assay_status upload_given(const struct task *t, int i, const struct array *input, struct compute *c,
                                      device_ptr to, struct assay_error *err) {
  const int64_t piece = 1 << 22, count = shape_count(&input->shape);
  const size_t size = dtype_bytes(input->dtype);
  void *room = base_alloc((size_t)(count < piece ? count : piece) * size);
  enum assay_status status = room ? ASSAY_OK : error_nomem(err, "weights on their way to a device");
  for (int64_t first = 0; first < count && !status; first += piece) {
    int64_t n = count - first < piece ? count - first : piece;
    status = task_give(t, i, first, n, room, err);
    if (!status)
      status = compute_upload(c, to + (uint64_t)first * size, room, (size_t)n * size, err);
  }
  base_free(room);
  return status;
}

enum assay_status task_make_inputs_on_device(const struct task *t, const struct workload *w, enum probe probe,
                                             uint64_t key, struct compute *c, const device_ptr *buffers,
                                             struct assay_error *err) {
  struct arena arena = {0};
  struct draw_plan plan;
  enum assay_status status = draw_plan_make(t, w, probe, key, &arena, &plan, err);
  for (int i = 0; i < t->n_inputs && !status; i++) {
    const struct draw_request r = draw_plan_request(&plan, i);
    const struct array *input = &plan.inputs[i];
    status = task_is_given(t, i, &input->shape, probe) ? upload_given(t, i, input, c, buffers[i], err)
                                                       : device_draw(c, &r, buffers[i], err);
  }
  arena_release(&arena);
  return status;
}
