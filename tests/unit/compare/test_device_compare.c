// SPDX-License-Identifier: Apache-2.0
// The facts that the device's code finds are those of the CPU's, for outputs that are right, nearly right and
// wrong in all the ways that have names.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "compare/device_compare.h"
#include "host_device.h"

static struct compute *compute;

static int open_compute(void **state) {
  struct assay_error err = {0};
  struct compute_options o = host_device_options();
  (void)state;
  if (compute_open_host(&o, &compute, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  return 0;
}

static int close_compute(void **state) {
  (void)state;
  compute_close(compute);
  return 0;
}

struct output {
  struct compare_input in;
  int64_t n;
  unsigned char *got;
  double *want;
  int64_t *want_int;
  float *sigma;
};

static double deviate(uint64_t key, int64_t i) {
  double sum = 0;
  for (uint64_t k = 0; k < 12; k++)
    sum += rng_unit(rng_derive(rng_derive(key, (uint64_t)i), k));
  return sum - 6;
}

// An honest output: want + sigma * deviate, stored in its type.
static void output_make(struct output *o, enum dtype dtype, const struct shape *shape, uint64_t key) {
  struct float_format format = {0};
  bool floating = dtype_float_format(dtype, &format);
  memset(o, 0, sizeof *o);
  o->n = shape_count(shape);
  size_t n = (size_t)o->n;
  o->got = base_calloc(n + 1, dtype_bytes(dtype));
  o->want = base_calloc(n + 1, sizeof *o->want);
  o->want_int = base_calloc(n + 1, sizeof *o->want_int);
  o->sigma = base_calloc(n + 1, sizeof *o->sigma);
  for (int64_t i = 0; i < o->n; i++) {
    double y = 3 * deviate(key, i);
    if (!floating) {
      o->want_int[i] = dtype == DTYPE_BOOL ? y > 0 : (int64_t)(10 * fabs(y));
      dtype_from_i64(dtype, &o->want_int[i], 1, o->got + (size_t)i * dtype_bytes(dtype));
      continue;
    }
    o->want[i] = y;
    o->sigma[i] = (float)(ldexp(1, -format.bits) * (1 + fabs(y)));
    double stored = y + o->sigma[i] * deviate(key + 1, i);
    dtype_from_f64(dtype, &stored, 1, o->got + (size_t)i * dtype_bytes(dtype));
  }
  o->in = (struct compare_input){.type = {dtype, *shape},
                                 .got = o->got,
                                 .want = floating ? o->want : NULL,
                                 .want_int = floating ? NULL : o->want_int,
                                 .sigma = floating ? o->sigma : NULL,
                                 .u_out = floating ? ldexp(1, -format.bits) : 0,
                                 .eta_out = floating ? ldexp(1, format.min_exponent - format.bits + 1) : 0,
                                 .poison = 0x7fc12345u,
                                 .has_poison = true,
                                 .rtol = 1e-4,
                                 .atol = 1e-4,
                                 .loose = 1e-2,
                                 .threads = 2};
}

static void output_release(struct output *o) {
  base_free(o->got);
  base_free(o->want);
  base_free(o->want_int);
  base_free(o->sigma);
}

static void put(struct output *o, int64_t i, double value) {
  int64_t whole = isfinite(value) ? (int64_t)value : 0;
  unsigned char *at = o->got + (size_t)i * dtype_bytes(o->in.type.dtype);
  if (o->in.want)
    dtype_from_f64(o->in.type.dtype, &value, 1, at);
  else
    dtype_from_i64(o->in.type.dtype, &whole, 1, at);
}

static device_ptr upload(const void *from, size_t bytes) {
  struct assay_error err = {0};
  device_ptr p = 0;
  assert_int_equal(compute_alloc(compute, bytes ? bytes : 1, &p, &err), ASSAY_OK);
  assert_int_equal(compute_upload(compute, p, from, bytes, &err), ASSAY_OK);
  return p;
}

static void near(double a, double b, const char *what) {
  // The device keeps z as a float; what lies beyond its range is wrong by any measure.
  if (a == b || (isnan(a) && isnan(b)) || (a > 1e30 && b > 1e30))
    return;
  if (!(fabs(a - b) <= 1e-6 * (fabs(a) + fabs(b)) + 1e-9))
    fail_msg("%s: %.17g on the processor, %.17g on the device", what, a, b);
}

static void hold(const struct output *o) {
  struct assay_error err = {0};
  struct compare_facts want, got;
  size_t n = (size_t)o->n;
  assert_int_equal(compare_outputs(&o->in, &want, &err), ASSAY_OK);
  struct compare_device_input in = {.terms = o->in,
                                    .got = upload(o->got, n * dtype_bytes(o->in.type.dtype)),
                                    .want = o->in.want ? upload(o->want, n * 8) : upload(o->want_int, n * 8),
                                    .sigma = o->in.want ? upload(o->sigma, n * 4) : 0};
  if (compare_on_device(compute, &in, &got, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  compute_free(compute, in.got);
  compute_free(compute, in.want);
  compute_free(compute, in.sigma);
  assert_int_equal(got.n, want.n);
  assert_int_equal(got.n_nan_mismatch, want.n_nan_mismatch);
  assert_int_equal(got.n_inf_mismatch, want.n_inf_mismatch);
  assert_int_equal(got.n_poisoned, want.n_poisoned);
  assert_int_equal(got.n_exact, want.n_exact);
  assert_int_equal(got.n_over, want.n_over);
  assert_int_equal(got.n_allclose_bad, want.n_allclose_bad);
  assert_int_equal(got.n_loose_bad, want.n_loose_bad);
  assert_int_equal(got.first_over, want.first_over);
  assert_int_equal(got.last_over, want.last_over);
  assert_memory_equal(got.histogram, want.histogram, sizeof got.histogram);
  near(want.max_abs, got.max_abs, "max_abs");
  near(want.max_rel, got.max_rel, "max_rel");
  near(want.z_max, got.z_max, "z_max");
  near(want.z_rms, got.z_rms, "z_rms");
  near(want.z_row_rms, got.z_row_rms, "z_row_rms");
  near(want.z_column_rms, got.z_column_rms, "z_column_rms");
  near(want.z_tile_rms, got.z_tile_rms, "z_tile_rms");
  near(want.z_common, got.z_common, "z_common");
  near(want.z_rms_limit, got.z_rms_limit, "z_rms_limit");
  near(want.z_group_limit, got.z_group_limit, "z_group_limit");
  assert_int_equal(got.hint, want.hint);
  assert_string_equal(got.hint_text, want.hint_text);
  assert_int_equal(got.n_worst, want.n_worst);
  int same = 0; // of errors beyond all numbers any may be listed
  while (same < got.n_worst && isfinite(want.worst[same].z)) {
    assert_int_equal(got.worst[same].index, want.worst[same].index);
    same++;
  }
  if (same == got.n_worst)
    near(want.z_near, got.z_near, "z_near");
  assert_int_equal(compare_verdict(&got, COMPARE_CONTRACT), compare_verdict(&want, COMPARE_CONTRACT));
  assert_int_equal(compare_verdict(&got, COMPARE_ALLCLOSE), compare_verdict(&want, COMPARE_ALLCLOSE));
}

// One way to be wrong.
static void spoil(struct output *o, int way) {
  int64_t n = o->n, columns = o->in.type.shape.rank ? o->in.type.shape.dims[o->in.type.shape.rank - 1] : 1;
  switch (way) {
  case 1: // a single element, a little
    put(o, n / 2, o->in.want ? o->want[n / 2] * 1.001 + 0.001 : (double)o->want_int[n / 2] + 1);
    break;
  case 2: // NaN and infinity
    put(o, n / 3, NAN);
    put(o, n / 2, INFINITY);
    break;
  case 3: // the answer has them
    if (!o->in.want)
      break;
    o->want[n / 3] = NAN;
    put(o, n / 3, NAN);
    o->want[n / 2] = -INFINITY;
    put(o, n / 2, -INFINITY);
    o->want[n - 1] = 1e300;
    put(o, n - 1, INFINITY);
    break;
  case 4: // unwritten tail
    for (int64_t i = n - n / 5; i < n; i++)
      for (size_t b = 0, w = dtype_bytes(o->in.type.dtype); b < w; b++) {
        size_t at = (size_t)i * w + b;
        o->got[at] = (unsigned char)(o->in.poison >> (8 * (at % 4)));
      }
    break;
  case 5: // last column zero
    for (int64_t i = columns - 1; i < n; i += columns)
      put(o, i, 0);
    break;
  case 6: // everything scaled
    for (int64_t i = 0; i < n && o->in.want; i++)
      put(o, i, o->want[i] * (1 + 1e-3));
    break;
  case 7: // zeros
    memset(o->got, 0, (size_t)n * dtype_bytes(o->in.type.dtype));
    break;
  case 8: // errors of a lower precision
    for (int64_t i = 0; i < n && o->in.want; i++)
      put(o, i, o->want[i] + 0.001 * deviate(7, i));
    break;
  case 9: // scales that are NaN or zero
    for (int64_t i = 0; i < n; i += 7)
      o->sigma[i] = i % 2 ? 0 : NAN;
    break;
  default:
    break;
  }
}

static void every_type_and_error(void **state) {
  static const enum dtype types[] = {DTYPE_FLOAT, DTYPE_DOUBLE, DTYPE_FLOAT16, DTYPE_BFLOAT16, DTYPE_FLOAT8E4M3FN,
                                     DTYPE_INT64, DTYPE_INT32,  DTYPE_UINT8,   DTYPE_INT8,     DTYPE_BOOL};
  static const struct shape shapes[] = {{.rank = 0},
                                        {.rank = 1, .dims = {1}},
                                        {.rank = 1, .dims = {5000}},
                                        {.rank = 2, .dims = {37, 131}},
                                        {.rank = 2, .dims = {3, 2500}},
                                        {.rank = 3, .dims = {700, 3, 2}},
                                        {.rank = 2, .dims = {0, 4}},
                                        {.rank = 4, .dims = {2, 3, 70, 1}}};
  (void)state;
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
      for (int way = 0; way < 10; way++) {
        struct output o;
        output_make(&o, types[t], &shapes[s], 1000 * t + 10 * s);
        if (o.n > 0)
          spoil(&o, way);
        hold(&o);
        output_release(&o);
      }
}

// More elements than threads: strides, merging and the search for the worst.
static void large(void **state) {
  static const struct shape shape = {.rank = 2, .dims = {1031, 701}};
  (void)state;
  for (int way = 0; way < 10; way++) {
    struct output o;
    output_make(&o, DTYPE_FLOAT, &shape, 5);
    spoil(&o, way);
    hold(&o);
    output_release(&o);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_type_and_error), cmocka_unit_test(large)};
  return cmocka_run_group_tests(tests, open_compute, close_compute);
}
