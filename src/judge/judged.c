// SPDX-License-Identifier: Apache-2.0
#include "judge/judged.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "task/check.h"

static int64_t count_poison(const struct tensor_type *type, const void *bytes, uint32_t poison) {
  const size_t words = tensor_type_bytes(type) / sizeof poison;
  int64_t n = 0;
  if (dtype_bytes(type->dtype) < sizeof poison) // small elements meet the pattern by chance
    return 0;
  for (size_t i = 0; i < words; i++) {
    uint32_t word;
    memcpy(&word, (const char *)bytes + i * sizeof word, sizeof word);
    n += word == poison;
  }
  return n;
}

// The inputs, drawn again, and the outputs as the check's graph takes them.
static enum assay_status read_all(const struct task *t, const struct question *q, const void *const *outputs,
                                  int threads, struct array *all, struct assay_error *err) {
  const struct layout *l = q->layout;
  enum assay_status status = task_draw_inputs(t, l->workload, q->probe, q->key, threads, all, err);
  for (int i = 0; i < l->n_out && !status; i++) {
    const struct tensor view = {.type = l->out[i], .data = outputs[i]};
    status = array_from_tensor(&view, &all[l->n_in + i], err);
  }
  return status;
}

// Element i of what is never the answer, since whatever a check refuses must be wrong: NaN, or 0 where that is what the
// type makes of the answer.
static void put_other(const struct array *y, int64_t i, void *at) {
  struct float_format format;
  if (dtype_float_format(y->dtype, &format)) {
    double other;
    dtype_from_f64(y->dtype, &y->f64[i], 1, at);
    dtype_to_f64(y->dtype, at, 1, &other);
    other = !format.no_nan ? isnan(other) ? 0 : NAN : other > 0 ? -1 : 1;
    dtype_from_f64(y->dtype, &other, 1, at);
  } else {
    const int64_t other = y->dtype == DTYPE_BOOL ? !y->i64[i] : ~y->i64[i];
    dtype_from_i64(y->dtype, &other, 1, at);
  }
}

// As bytes of the answer's type; without `from` none of the answer's elements.
static void *bytes_of(const struct array *y, const struct array *from) {
  const int64_t n = shape_count(&y->shape);
  void *bytes = base_calloc((size_t)n + 1, dtype_bytes(y->dtype));
  for (int64_t i = 0; i < n && bytes && !from; i++)
    put_other(y, i, (char *)bytes + (size_t)i * dtype_bytes(y->dtype));
  if (bytes && from && dtype_is_float(y->dtype))
    dtype_from_f64(y->dtype, from->f64, n, bytes);
  else if (bytes && from)
    dtype_from_i64(y->dtype, from->i64, n, bytes);
  return bytes;
}

static enum assay_status take_values(const struct question *q, const struct array *values, struct judged *j,
                                     struct assay_error *err) {
  for (int i = 0; i < j->n; i++) {
    const struct array *y = &q->answer.y[i], *from = values ? &values[i] : NULL;
    if (from && (from->dtype != y->dtype || !shape_equal(&from->shape, &y->shape)))
      from = NULL;
    j->own[i] = bytes_of(y, from);
    if (!j->own[i])
      return error_nomem(err, "a check's values");
  }
  j->got = (const void *const *)j->own;
  return ASSAY_OK;
}

enum assay_status judged_make(const struct task *t, const struct question *q, const void *const *outputs,
                              uint32_t poison, int threads, struct judged *out, struct assay_error *err) {
  const struct layout *l = q->layout;
  struct judged j = {.n = l->n_judged, .got = outputs, .own = NULL};
  *out = j;
  if (!task_has_check(t))
    return ASSAY_OK;
  struct array *all = base_calloc((size_t)(l->n_in + l->n_out + j.n) + 1, sizeof *all),
               *values = all + l->n_in + l->n_out;
  j.own = base_calloc((size_t)j.n + 1, sizeof *j.own);
  enum assay_status status = all && j.own ? read_all(t, q, outputs, threads, all, err) : error_nomem(err, "a check");
  for (int i = 0; i < l->n_out && !status; i++)
    j.unwritten += count_poison(&l->out[i], outputs[i], poison);
  if (!status) {
    status = check_eval(t, all, all + l->n_in, threads, values, err);
    const bool refused = status == ASSAY_ERR_INVALID || status == ASSAY_ERR_UNSUPPORTED;
    if (!status || refused)
      status = take_values(q, refused ? NULL : values, &j, err);
  }
  for (int i = 0; all && i < l->n_in + l->n_out + j.n; i++)
    array_release(&all[i]);
  base_free(all);
  if (status)
    judged_release(&j);
  else
    *out = j;
  return status;
}

void judged_release(struct judged *j) {
  for (int i = 0; i < j->n && j->own; i++)
    base_free(j->own[i]);
  base_free(j->own);
  memset(j, 0, sizeof *j);
}
