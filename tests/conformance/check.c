// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "oracle/oracle.h"

// How far from the exact answer a reference may be: they were computed with numpy in the models' own types, and their
// rounding is part of them. ONNX's own runner allows 1e-3 and 1e-7 for every type; this is tighter. Integers are
// compared exactly.
static void tolerance(enum dtype t, const char *folder, double *rtol, double *atol) {
  switch (t) {
  case DTYPE_DOUBLE:
    *rtol = 1e-7, *atol = 1e-9;
    break;
  case DTYPE_FLOAT16:
    *rtol = 1e-3, *atol = 1e-6;
    break;
  case DTYPE_BFLOAT16:
    *rtol = 1e-2, *atol = 1e-6;
    break;
  default:
    *rtol = 1e-5, *atol = 1e-7;
  }
  // The window functions' references were made with 3.1415 for pi (element 1 of the Hann window of 10 is
  // 0.5 - 0.5 cos(2 * 3.1415 / 10)), so they need ONNX's own tolerance.
  if (strstr(folder, "window_"))
    *rtol = 1e-3;
  // Its reference has four decimals.
  if (strstr(folder, "/test_gridsample_bicubic/"))
    *rtol = 1e-3;
  // Its reference was made in single precision: it has 1.9e-7 where the result is 0.
  if (strstr(folder, "/test_dft_inverse"))
    *atol = 1e-6;
  // Its references round scores and weights to half precision, too: two units of it.
  if (t == DTYPE_FLOAT16 && strstr(folder, "attention_4d_gqa_with_past"))
    *rtol = 0x1p-9;
}

// Of integers. DynamicQuantizeLinear's example as a function: its references divide by a scale that was rounded to
// float, and by the exact one -2.5 is a tie, which goes to the other side.
static int64_t integer_tolerance(const char *folder) {
  return strstr(folder, "dynamicquantizelinear_expanded") ? 1 : 0;
}

static bool close_enough(double got, double want, double rtol, double atol) {
  if (isnan(want) || isinf(want))
    return isnan(want) ? isnan(got) : got == want;
  return fabs(got - want) <= atol + rtol * fabs(want); // false for a NaN
}

static enum assay_status compare(const struct array *got, const struct array *want, int output, const char *folder,
                                 struct assay_error *err) {
  char a[SHAPE_TEXT_BYTES], b[SHAPE_TEXT_BYTES];
  double rtol, atol;
  if (got->dtype != want->dtype || !shape_equal(&got->shape, &want->shape))
    return error_set(err, ASSAY_ERR_INVALID, "output %d is %s%s, expected %s%s", output, dtype_name(got->dtype),
                     shape_text(&got->shape, a), dtype_name(want->dtype), shape_text(&want->shape, b));
  int64_t n = shape_count(&want->shape);
  tolerance(want->dtype, folder, &rtol, &atol);
  for (int64_t i = 0; i < n; i++) {
    if (dtype_is_float(want->dtype) && !close_enough(got->f64[i], want->f64[i], rtol, atol))
      return error_set(err, ASSAY_ERR_INVALID, "output %d, element %lld is %.9g, expected %.9g", output, (long long)i,
                       got->f64[i], want->f64[i]);
    if (!dtype_is_float(want->dtype) && llabs(got->i64[i] - want->i64[i]) > integer_tolerance(folder))
      return error_set(err, ASSAY_ERR_INVALID, "output %d, element %lld is %lld, expected %lld", output, (long long)i,
                       (long long)got->i64[i], (long long)want->i64[i]);
  }
  return ASSAY_OK;
}

static enum assay_status read_array(const char *folder, const char *kind, int index, enum dtype declared,
                                    struct array *out, struct assay_error *err) {
  char path[4096], *bytes = NULL;
  size_t len;
  struct arena arena = {0};
  struct tensor t;
  snprintf(path, sizeof path, "%s/%s_%d.pb", folder, kind, index);
  enum assay_status status = file_read(path, (size_t)1 << 30, &bytes, &len, err);
  if (!status)
    status = onnx_read_tensor(bytes, len, path, &arena, &t, err);
  // numpy has no bfloat16: the data's makers stored the bit patterns of such tensors as uint16.
  if (!status && declared == DTYPE_BFLOAT16 && t.type.dtype == DTYPE_UINT16)
    t.type.dtype = DTYPE_BFLOAT16;
  if (!status)
    status = array_from_tensor(&t, out, err);
  base_free(bytes);
  arena_release(&arena);
  return status;
}

static enum assay_status read_arrays(const char *folder, const char *kind, const struct graph *g, const int *values,
                                     int n, struct array *out, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < n && !status; i++)
    status = read_array(folder, kind, i, g->values[values[i]].dtype, &out[i], err);
  return status;
}

static void release_arrays(struct array *a, int n) {
  for (int i = 0; i < n && a; i++)
    array_release(&a[i]);
  base_free(a);
}

// *refused: an operator says that it cannot do this.
static enum assay_status check_set(const struct model *m, const char *folder, bool *refused, struct assay_error *err) {
  const struct graph *g = &m->flat;
  struct array *in = base_calloc((size_t)g->n_inputs + 1, sizeof *in);
  struct array *want = base_calloc((size_t)g->n_outputs + 1, sizeof *want);
  struct array *got = base_calloc((size_t)g->n_outputs + 1, sizeof *got);
  struct oracle_request r = {.graph = g, .inputs = in, .arith = arith_exact(), .threads = 1};
  enum assay_status status = in && want && got ? ASSAY_OK : error_nomem(err, "a test");
  if (!status)
    status = read_arrays(folder, "input", g, g->inputs, g->n_inputs, in, err);
  if (!status)
    status = read_arrays(folder, "output", g, g->outputs, g->n_outputs, want, err);
  if (!status) {
    status = oracle_eval(&r, got, err);
    *refused = status == ASSAY_ERR_UNSUPPORTED;
  }
  for (int i = 0; i < g->n_outputs && !status; i++)
    status = compare(&got[i], &want[i], i, folder, err);
  release_arrays(in, g->n_inputs);
  release_arrays(want, g->n_outputs);
  release_arrays(got, g->n_outputs);
  return status;
}

enum outcome check_data(const struct model *m, const char *folder, struct assay_error *err) {
  char set[4096];
  int sets = 0;
  for (;; sets++) {
    bool refused = false;
    snprintf(set, sizeof set, "%s/test_data_set_%d", folder, sets);
    if (access(set, F_OK) != 0)
      break;
    if (check_set(m, set, &refused, err))
      return refused ? OUTCOME_UNSUPPORTED : OUTCOME_FAILED;
  }
  if (sets)
    return OUTCOME_PASSED;
  error_set(err, ASSAY_ERR_NOT_FOUND, "%s has no test data", folder);
  return OUTCOME_FAILED;
}

enum outcome check_round_trip(const struct model *m, struct assay_error *err) {
  struct model again = {0}, from_text = {0};
  struct buf once, twice, text, text2;
  buf_init(&once), buf_init(&twice), buf_init(&text), buf_init(&text2);
  bool same = !onnx_write_binary(m, &once, err) && !onnx_read_binary(once.data, once.len, "again", &again, err) &&
              !onnx_write_binary(&again, &twice, err) && !onnx_print_text(m, &text, err) &&
              !onnx_parse_text(text.data, text.len, "text", &from_text, err) &&
              !onnx_print_text(&from_text, &text2, err);
  if (same && (once.len != twice.len || memcmp(once.data, twice.data, once.len) != 0 || text.len != text2.len)) {
    same = false;
    error_set(err, ASSAY_ERR_INVALID, "the model changes when it is written and read again");
  }
  buf_release(&once), buf_release(&twice), buf_release(&text), buf_release(&text2);
  model_release(&again);
  model_release(&from_text);
  return same ? OUTCOME_PASSED : OUTCOME_FAILED;
}
