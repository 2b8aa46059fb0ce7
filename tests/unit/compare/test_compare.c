// SPDX-License-Identifier: Apache-2.0
// link: -Wl,--wrap=base_realloc
// The comparison against facts that are known because the test planted them.
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "compare/compare.h"

#define assert_near(a, b, tol) assert_true(fabs((a) - (b)) <= (tol))

static int64_t allocations_left = -1; // -1: no limit

void *__real_base_realloc(void *p, size_t n);
void *__wrap_base_realloc(void *p, size_t n);
void *__wrap_base_realloc(void *p, size_t n) {
  if (allocations_left == 0)
    return NULL;
  if (allocations_left > 0)
    allocations_left--;
  return __real_base_realloc(p, n);
}

// An output of floats with its oracle. want is random; got starts as its correct rounding.
struct trial {
  struct compare_input in;
  int64_t n;
  float *got;
  double *want;
  float *sigma;
};

static double normal(uint64_t key, int64_t i) {
  double u = 1 - rng_unit(rng_mix64(rng_derive(key, (uint64_t)(2 * i))));
  double v = rng_unit(rng_mix64(rng_derive(key, (uint64_t)(2 * i + 1))));
  return sqrt(-2 * log(u)) * cos(6.283185307179586477 * v);
}

static void trial_init(struct trial *t, int rank, const int64_t *dims) {
  memset(t, 0, sizeof *t);
  t->in.type.dtype = DTYPE_FLOAT;
  t->in.type.shape = shape_of(rank, dims);
  t->n = shape_count(&t->in.type.shape);
  t->got = malloc((size_t)t->n * sizeof *t->got + 1);
  t->want = malloc((size_t)t->n * sizeof *t->want + 1);
  t->sigma = malloc((size_t)t->n * sizeof *t->sigma + 1);
  for (int64_t i = 0; i < t->n; i++) {
    t->want[i] = normal(1, i);
    t->got[i] = (float)t->want[i];
    t->sigma[i] = 1e-6f;
  }
  t->in.got = t->got;
  t->in.want = t->want;
  t->in.sigma = t->sigma;
  t->in.u_out = 0x1p-24;
  t->in.eta_out = 0x1p-149;
  t->in.rtol = t->in.atol = 1e-4;
  t->in.threads = 2;
}

static void trial_release(struct trial *t) {
  free(t->got);
  free(t->want);
  free(t->sigma);
}

static struct compare_facts facts_of(const struct trial *t) {
  struct compare_facts f;
  struct assay_error err = {0};
  assert_int_equal(compare_outputs(&t->in, &f, &err), ASSAY_OK);
  return f;
}

static enum compare_outcome contract(const struct compare_facts *f) {
  return compare_verdict(f, COMPARE_CONTRACT);
}

static void exact_answers_pass(void **state) {
  (void)state;
  static const int64_t shapes[][4] = {{1}, {5}, {1000003}, {300, 7}, {7, 3000}, {70, 1}, {2, 3, 5, 7}, {3, 64, 33, 1}};
  static const int ranks[] = {1, 1, 1, 2, 2, 2, 4, 4};
  for (int i = 0; i < 8; i++) {
    struct trial t;
    trial_init(&t, ranks[i], shapes[i]);
    struct compare_facts f = facts_of(&t);
    assert_int_equal(f.n, t.n);
    assert_int_equal(f.n_exact, t.n);
    assert_int_equal(f.histogram[0], t.n);
    assert_true(f.z_max == 0 && f.z_rms == 0 && f.z_row_rms == 0 && f.n_over == 0);
    assert_int_equal(f.first_over, -1);
    assert_int_equal(f.hint, HINT_NONE);
    assert_int_equal(contract(&f), COMPARE_PASS);
    assert_int_equal(compare_verdict(&f, COMPARE_ALLCLOSE), COMPARE_PASS);
    trial_release(&t);
  }
  struct trial t;
  trial_init(&t, 0, NULL); // a scalar
  struct compare_facts f = facts_of(&t);
  assert_int_equal(f.n, 1);
  assert_int_equal(contract(&f), COMPARE_PASS);
  trial_release(&t);
  trial_init(&t, 2, (const int64_t[]){0, 4}); // nothing at all
  f = facts_of(&t);
  assert_int_equal(f.n, 0);
  assert_int_equal(contract(&f), COMPARE_PASS);
  trial_release(&t);
}

static void gate_limit(void **state) {
  (void)state;
  assert_near(compare_z_limit(10000000), 15.67, 0.05); // facts: about 16 at 1e7 and 14 at 1e5
  assert_near(compare_z_limit(100000), 14.43, 0.01);
  assert_true(isfinite(compare_z_limit(0)) && isfinite(compare_z_limit((int64_t)1 << 40)));
}

static void one_wrong_element(void **state) {
  (void)state;
  struct trial t;
  trial_init(&t, 2, (const int64_t[]){100, 90});
  double limit = compare_z_limit(t.n);
  t.want[4567] = 1;
  double out = 0x1p-24 + 0x1p-149;
  t.got[4567] = (float)(1 + 0.98 * limit * 1e-6);
  struct compare_facts f = facts_of(&t);
  assert_int_equal(f.n_over, 0);
  assert_near(f.z_max, (((double)t.got[4567] - 1) - out) / (double)1e-6f, 1e-9);
  assert_int_equal(f.worst[0].index, 4567);
  assert_int_equal(f.n_worst, 1);
  assert_int_equal(contract(&f), COMPARE_PASS);
  t.got[4567] = (float)(1 + 1.02 * limit * 1e-6 + 2 * out);
  f = facts_of(&t);
  assert_int_equal(f.n_over, 1);
  assert_int_equal(f.first_over, 4567);
  assert_int_equal(f.last_over, 4567);
  assert_int_equal(contract(&f), COMPARE_WRONG_VALUE);
  assert_int_equal(compare_verdict(&f, COMPARE_ALLCLOSE), COMPARE_PASS);
  assert_near(f.worst[0].allowed, out + limit * (double)1e-6f, 1e-12);
  // No scale: only the rounding of the output is excused.
  for (int64_t i = 0; i < t.n; i++)
    t.sigma[i] = 0;
  t.got[4567] = nextafterf(1, 2);
  f = facts_of(&t);
  assert_true(f.z_max > 1e30 && f.z_rms > 1e30);
  assert_int_equal(contract(&f), COMPARE_WRONG_VALUE);
  // A scale that is NaN excuses nothing either, and an infinite one not everything.
  t.sigma[4567] = NAN;
  f = facts_of(&t);
  assert_int_equal(contract(&f), COMPARE_WRONG_VALUE);
  trial_release(&t);
}

static void moderate_errors_fail_by_root_mean_square(void **state) {
  (void)state;
  struct trial t;
  trial_init(&t, 2, (const int64_t[]){512, 300});
  // Everywhere 2.2 sigma with random sign: no element is over gate B, the tensor is over gate C.
  for (int64_t i = 0; i < t.n; i++)
    t.got[i] = (float)(t.want[i] + (rng_mix64((uint64_t)i) & 1 ? 2.2e-6 : -2.2e-6));
  struct compare_facts f = facts_of(&t);
  assert_int_equal(f.n_over, 0);
  assert_true(f.z_rms > 1.9 && f.z_rms < 2.3);
  assert_int_not_equal(contract(&f), COMPARE_PASS);
  for (int64_t i = 0; i < t.n; i++) // 1.2 sigma passes
    t.got[i] = (float)(t.want[i] + (rng_mix64((uint64_t)i) & 1 ? 1.2e-6 : -1.2e-6));
  f = facts_of(&t);
  assert_int_equal(contract(&f), COMPARE_PASS);
  trial_release(&t);
}

// Errors of 5 sigma, confined: no element and not the tensor, but the group gives them away.
static void confined_errors_fail_by_group(void **state) {
  (void)state;
  struct region {
    int64_t row0, row1, column0, column1;
  } regions[] = {{17, 18, 0, 700}, {0, 640, 123, 124}, {320, 336, 400, 416}, {333, 349, 391, 407}};
  for (int k = 0; k < 4; k++) {
    struct trial t;
    trial_init(&t, 2, (const int64_t[]){640, 700});
    for (int64_t r = regions[k].row0; r < regions[k].row1; r++)
      for (int64_t c = regions[k].column0; c < regions[k].column1; c++) {
        int64_t i = r * 700 + c;
        t.got[i] = (float)(t.want[i] + (rng_mix64((uint64_t)i) & 1 ? 7e-6 : -7e-6));
      }
    struct compare_facts f = facts_of(&t);
    assert_int_equal(f.n_over, 0);
    assert_true(f.z_rms < 1.5);
    assert_true(fmax(f.z_row_rms, fmax(f.z_column_rms, f.z_tile_rms)) > 3);
    assert_int_equal(contract(&f), COMPARE_WRONG_VALUE);
    if (k == 0)
      assert_near(f.z_row_rms, 7, 0.2);
    if (k == 1)
      assert_near(f.z_column_rms, 7, 0.2);
    trial_release(&t);
  }
}

// Rows that are one draw each, as where one score's error moves all of a row of attention. In a fifth of the rows,
// while the others are exact, a row may be as far off as among rows that all err; alone it may not.
static void exact_rows_are_no_draws(void **state) {
  (void)state;
  enum { ROWS = 400, COLUMNS = 64, FAR_ROW = 35 };
  for (int k = 0; k < 3; k++) {
    struct trial t;
    trial_init(&t, 2, (const int64_t[]){ROWS, COLUMNS});
    for (int64_t i = 0; i < t.n; i++) {
      int64_t row = i / COLUMNS;
      double draw = row == FAR_ROW ? 7 : k == 0 ? normal(3, row) : k == 1 && row % 5 == 0 ? normal(3, row) : 0;
      t.got[i] = (float)(t.want[i] + draw * 1e-6);
    }
    struct compare_facts f = facts_of(&t);
    assert_near(f.z_row_rms, 7, 0.2);
    assert_int_equal(contract(&f), k < 2 ? COMPARE_PASS : COMPARE_WRONG_VALUE);
    assert_near(f.z_group_limit, k == 0 ? 13 : k == 1 ? 15 : 4.4, k < 2 ? 2 : 0.5);
    trial_release(&t);
  }
}

// Where a row may be a single draw, five of its standard deviations are no evidence, and eight are.
static void a_row_may_be_a_single_draw(void **state) {
  (void)state;
  enum { ROWS = 400, COLUMNS = 64, FAR_ROW = 35 };
  static const struct {
    double far;
    bool single, passes;
  } cases[] = {{5, false, false}, {5, true, true}, {8, true, false}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    struct trial t;
    trial_init(&t, 2, (const int64_t[]){ROWS, COLUMNS});
    t.in.single_draws = cases[k].single;
    for (int64_t i = FAR_ROW * COLUMNS; i < (FAR_ROW + 1) * COLUMNS; i++)
      t.got[i] = (float)(t.want[i] + cases[k].far * 1e-6);
    struct compare_facts f = facts_of(&t);
    assert_int_equal(f.n_over, 0);
    assert_int_equal(f.rows, ROWS);
    assert_int_equal(contract(&f) == COMPARE_PASS, cases[k].passes);
    trial_release(&t);
  }
}

// A norm that feeds every element is off by 3 sigma: one draw, not a thousand.
static void common_errors_are_one_draw(void **state) {
  (void)state;
  struct trial t;
  trial_init(&t, 2, (const int64_t[]){256, 256});
  for (int64_t i = 0; i < t.n; i++) {
    t.sigma[i] = (float)(1e-5 * fabs(t.want[i]));
    t.got[i] = (float)(t.want[i] * (1 + 3e-5));
  }
  struct compare_facts f = facts_of(&t);
  assert_true(f.z_rms > 2.9);
  assert_near(f.z_common, 3, 0.1);
  assert_int_equal(contract(&f), COMPARE_PASS);
  for (int64_t i = 0; i < t.n; i++)
    t.got[i] = (float)(t.want[i] * (1 + 8e-5));
  f = facts_of(&t);
  assert_int_equal(contract(&f), COMPARE_WRONG_VALUE);
  // The same where scales are pooled, and large values err by more of them than small ones.
  double square = 0;
  for (int64_t i = 0; i < t.n; i++)
    square += t.want[i] * t.want[i] / (double)t.n;
  for (int k = 0; k < 2; k++) {
    for (int64_t i = 0; i < t.n; i++) {
      t.sigma[i] = (float)(1e-5 * sqrt(square));
      t.got[i] = (float)(t.want[i] * (1 + (k ? 8e-5 : 3e-5)));
    }
    f = facts_of(&t);
    assert_near(f.z_common, f.z_rms, 0.05);
    assert_int_equal(contract(&f), k ? COMPARE_WRONG_VALUE : COMPARE_PASS);
  }
  trial_release(&t);
}

// The gate that fails, what it saw and what it allows; and a sentence of it.
static void expect_decision(const struct trial *t, enum compare_gate gate, double z, double limit, const char *text) {
  struct compare_facts f = facts_of(t);
  struct compare_decision d = compare_decide(&f);
  struct buf b;
  buf_init(&b);
  compare_describe(&f, &t->in.type.shape, &b);
  assert_int_not_equal(contract(&f), COMPARE_PASS);
  assert_int_equal(d.gate, gate);
  assert_near(d.z, z, 0.1 * z);
  assert_near(d.limit, limit, 0.1 * limit);
  assert_non_null(strstr(buf_str(&b), text));
  buf_release(&b);
}

static void the_gate_that_decides(void **state) {
  (void)state;
  struct trial t;
  trial_init(&t, 2, (const int64_t[]){256, 256});
  struct compare_facts f = facts_of(&t);
  assert_int_equal(compare_decide(&f).gate, GATE_ELEMENT);
  assert_true(compare_decide(&f).z == f.z_max && compare_decide(&f).limit == f.z_limit);
  for (int64_t i = 0; i < t.n; i++)
    t.got[i] = (float)(t.want[i] + (normal(3, i) > 0 ? 2.5e-6 : -2.5e-6));
  expect_decision(&t, GATE_OUTPUT, 2.5, 1.5, "the root mean square error of the output is 2.");
  for (int64_t i = 0; i < t.n; i++)
    t.got[i] = (float)(t.want[i] + 7e-6);
  expect_decision(&t, GATE_COMMON, 7, 5.4, "the error that all elements share is ");
  for (int64_t i = 0; i < t.n; i++)
    t.got[i] = (float)(t.want[i] + (i / 256 == 9 ? 7e-6 : 0));
  expect_decision(&t, GATE_ROW, 7, 5.5, "the root mean square error of the worst row is ");
  for (int64_t i = 0; i < t.n; i++)
    t.got[i] = (float)(t.want[i] + (i % 256 == 9 ? 7e-6 : 0));
  expect_decision(&t, GATE_COLUMN, 7, 5.5, "the root mean square error of the worst column is ");
  t.got[300] = (float)(t.want[300] + 100e-6);
  expect_decision(&t, GATE_ELEMENT, 100, 14.3, "1 of 65536 elements are wrong");
  trial_release(&t);
}

// Of one element, the root mean square is that element's error: no limit of its own, stricter than the element's.
// Moderate errors of few elements are a few draws, also where all have the same one; larger ones are errors.
static void few_elements(void **state) {
  (void)state;
  static const struct {
    int64_t n, columns;
    double passes, fails; // errors with one sign, in units of the scale
  } cases[] = {{1, 1, 10.5, 11}, {3, 1, 10.5, 11}, {8, 8, 10.5, 11}, {64, 64, 10.5, 11}, {64, 2, 10.5, 11}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    struct trial t;
    trial_init(&t, 2, (const int64_t[]){cases[k].n / cases[k].columns, cases[k].columns});
    for (int fails = 0; fails < 2; fails++) {
      for (int64_t i = 0; i < t.n; i++) {
        t.want[i] = 0x1p-8 * (double)(1 + i);
        t.got[i] = (float)(t.want[i] + 1e-6 * (fails ? cases[k].fails : cases[k].passes));
      }
      struct compare_facts f = facts_of(&t);
      assert_int_equal(contract(&f), fails ? COMPARE_WRONG_VALUE : COMPARE_PASS);
      assert_true(f.z_rms_limit <= f.z_limit && f.z_common_limit <= f.z_limit);
    }
    trial_release(&t);
  }
  // Errors of either sign share nothing: those of 32 rows average.
  struct trial t;
  trial_init(&t, 2, (const int64_t[]){32, 2});
  for (int fails = 0; fails < 2; fails++) {
    for (int64_t i = 0; i < t.n; i++)
      t.got[i] = (float)(t.want[i] + (i % 2 ? 1e-6 : -1e-6) * (fails ? 3.8 : 3.3));
    struct compare_facts f = facts_of(&t);
    assert_int_equal(contract(&f) == COMPARE_PASS, !fails);
    assert_near(f.z_rms_limit, 3.556, 1e-3);
    assert_true(f.few_draws);
  }
  trial_release(&t);
}

// All passes were alike at one element, whose scale is at its floor: it is looked at again if it is right by its
// neighbours' scales, not if it is wrong by them, or has none. Integers never are.
static void a_scale_below_its_neighbours(void **state) {
  (void)state;
  static const struct {
    double error;
    float around;
    bool doubtful;
  } cases[] = {{3e-6, 1e-6f, true}, {500e-6, 1e-6f, true}, {2e-3, 1e-6f, false}, {3e-6, 1e-14f, false}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
    for (int64_t at = 0; at < 4200; at += 4199) {
      struct trial t;
      trial_init(&t, 2, (const int64_t[]){60, 70});
      for (int64_t i = 0; i < t.n && k == 3; i++)
        t.sigma[i] = cases[k].around;
      t.sigma[at] = 1e-14f;
      t.got[at] = (float)(t.want[at] + cases[k].error);
      struct compare_facts f = facts_of(&t);
      assert_int_not_equal(contract(&f), COMPARE_PASS);
      assert_true(f.n_over == 1 && f.z_max > 64 * f.z_limit);
      assert_near(f.z_near, cases[k].error / (double)cases[k].around, 0.3 * f.z_near);
      assert_int_equal(compare_doubtful(&f), cases[k].doubtful);
      f.rows = 1 << 19; // of as many rows the worst is farther off
      assert_int_equal(compare_doubtful(&f), k < 3);
      trial_release(&t);
    }
  const int64_t want[3] = {1, 2, 3}, got[3] = {1, 2, 4};
  const struct compare_input in = {
      .type = {DTYPE_INT64, shape_of(1, (const int64_t[]){3})}, .got = got, .want_int = want, .threads = 1};
  struct compare_facts f;
  assert_int_equal(compare_outputs(&in, &f, NULL), ASSAY_OK);
  assert_true(f.n_over == 1 && isinf(f.z_near) && !compare_doubtful(&f));
}

static void classes(void **state) {
  (void)state;
  const double values[] = {NAN, INFINITY, -INFINITY, 1};
  for (int w = 0; w < 4; w++)
    for (int g = 0; g < 4; g++) {
      struct trial t;
      trial_init(&t, 1, (const int64_t[]){100});
      t.want[42] = values[w];
      t.got[42] = (float)values[g];
      struct compare_facts f = facts_of(&t);
      assert_int_equal(contract(&f), w == g ? COMPARE_PASS : COMPARE_WRONG_CLASS);
      bool nan = (w == 0) != (g == 0);
      assert_int_equal(f.n_nan_mismatch, nan);
      assert_int_equal(f.n_inf_mismatch, w != g && !nan);
      // torch.allclose: a NaN equals nothing
      assert_int_equal(f.n_allclose_bad, w != g || w == 0);
      if (w != g)
        assert_int_equal(f.worst[0].index, 42);
      assert_true(f.z_rms == 0);
      trial_release(&t);
    }
}

static void overflow_band(void **state) {
  (void)state;
  struct trial t;
  trial_init(&t, 1, (const int64_t[]){10});
  const double max = (double)FLT_MAX;
  struct {
    double want, got;
    float sigma;
    enum compare_outcome outcome;
  } cases[] = {
      {max * 1.5, INFINITY, 0, COMPARE_PASS}, // rounds to infinity
      {-max * 1.5, -INFINITY, 0, COMPARE_PASS},
      {max * 1.5, -INFINITY, 0, COMPARE_WRONG_CLASS},
      {max * 1.5, max, 0, COMPARE_WRONG_VALUE}, // finite where infinity is due: judged as a value
      {max, INFINITY, 0, COMPARE_PASS},         // within one rounding of the threshold
      {max, max, 0, COMPARE_PASS},
      {max * 0.9, INFINITY, 0, COMPARE_WRONG_CLASS},
      {max * 0.9, INFINITY, 1e37f, COMPARE_PASS}, // an error that is allowed reaches the threshold
      {INFINITY, max, 0, COMPARE_WRONG_CLASS},    // an infinite answer is infinite
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    t.want[3] = cases[i].want;
    t.got[3] = (float)cases[i].got;
    t.sigma[3] = cases[i].sigma;
    struct compare_facts f = facts_of(&t);
    assert_int_equal(contract(&f), cases[i].outcome);
  }
  trial_release(&t);
}

static void poison(void **state) {
  (void)state;
  const uint32_t pattern = 0x7fc5a5c3; // a NaN as a float
  struct trial t;
  trial_init(&t, 2, (const int64_t[]){20, 50});
  t.in.poison = pattern;
  t.in.has_poison = true;
  for (int64_t r = 0; r < 20; r++)
    for (int64_t c = 47; c < 50; c++)
      memcpy(&t.got[r * 50 + c], &pattern, 4);
  struct compare_facts f = facts_of(&t);
  assert_int_equal(f.n_poisoned, 60);
  assert_int_equal(contract(&f), COMPARE_UNWRITTEN);
  assert_int_equal(f.hint, HINT_UNWRITTEN);
  assert_non_null(strstr(f.hint_text, "60 elements were never written"));
  assert_non_null(strstr(f.hint_text, "in the last 3 of dimension 1"));
  t.in.has_poison = false;
  f = facts_of(&t);
  assert_int_equal(f.n_poisoned, 0);
  assert_int_equal(contract(&f), COMPARE_WRONG_CLASS);
  t.in.has_poison = true; // a NaN is expected, and the poison is one: still unwritten
  for (int64_t i = 0; i < t.n; i++)
    t.want[i] = NAN;
  f = facts_of(&t);
  assert_int_equal(contract(&f), COMPARE_UNWRITTEN);
  trial_release(&t);
}

static void poison_of_small_elements(void **state) {
  (void)state;
  enum { N = 1000 };
  static uint8_t got[N];
  static int64_t want[N];
  const uint32_t pattern = 0x7fc5a501;
  uint8_t bytes[4];
  memcpy(bytes, &pattern, 4);
  struct compare_input in = {.type = {DTYPE_UINT8, shape_of(1, (const int64_t[]){N})},
                             .got = got,
                             .want_int = want,
                             .poison = pattern,
                             .has_poison = true,
                             .threads = 1};
  struct compare_facts f;
  struct assay_error err = {0};
  for (int i = 0; i < N; i++) {
    want[i] = (int64_t)(rng_mix64((uint64_t)i) & 0xff);
    got[i] = i < 900 ? (uint8_t)want[i] : bytes[i % 4];
  }
  assert_int_equal(compare_outputs(&in, &f, &err), ASSAY_OK);
  assert_int_equal(compare_verdict(&f, COMPARE_CONTRACT), COMPARE_UNWRITTEN);
  assert_true(f.n_poisoned > 95 && f.n_poisoned <= 100); // some answers are the pattern
  for (int i = 0; i < N; i++)                            // wrong at random: some bytes are the pattern by chance
    got[i] = (uint8_t)rng_mix64((uint64_t)i + 777);
  assert_int_equal(compare_outputs(&in, &f, &err), ASSAY_OK);
  assert_int_equal(compare_verdict(&f, COMPARE_CONTRACT), COMPARE_WRONG_VALUE);
  // A bool is 0 or 1; the poison's bytes are not true.
  in.type.dtype = DTYPE_BOOL;
  for (int i = 0; i < N; i++) {
    want[i] = 1;
    got[i] = i == 7 ? bytes[7 % 4] : 1;
  }
  assert_int_equal(compare_outputs(&in, &f, &err), ASSAY_OK);
  assert_int_equal(f.n_poisoned, 1);
  in.has_poison = false;
  got[7] = 2;
  assert_int_equal(compare_outputs(&in, &f, &err), ASSAY_OK);
  assert_int_equal(compare_verdict(&f, COMPARE_CONTRACT), COMPARE_WRONG_VALUE);
}

static void integers(void **state) {
  (void)state;
  int64_t got[40], want[40];
  for (int i = 0; i < 40; i++)
    got[i] = want[i] = (int64_t)rng_mix64((uint64_t)i);
  struct compare_input in = {.type = {DTYPE_INT64, shape_of(2, (const int64_t[]){5, 8})},
                             .got = got,
                             .want_int = want,
                             .rtol = 1e-2,
                             .threads = 1};
  struct compare_facts f;
  struct assay_error err = {0};
  assert_int_equal(compare_outputs(&in, &f, &err), ASSAY_OK);
  assert_int_equal(compare_verdict(&f, COMPARE_CONTRACT), COMPARE_PASS);
  got[17]++; // far below a double's resolution here
  assert_int_equal(compare_outputs(&in, &f, &err), ASSAY_OK);
  assert_int_equal(f.n_over, 1);
  assert_int_equal(f.first_over, 17);
  assert_true(f.max_abs == 1);
  assert_int_equal(compare_verdict(&f, COMPARE_CONTRACT), COMPARE_WRONG_VALUE);
  assert_int_equal(compare_verdict(&f, COMPARE_ALLCLOSE), COMPARE_PASS);
  got[17] = INT64_MIN;
  want[17] = INT64_MAX;
  assert_int_equal(compare_outputs(&in, &f, &err), ASSAY_OK);
  assert_true(f.max_abs > 1.8e19);
  assert_int_equal(compare_verdict(&f, COMPARE_ALLCLOSE), COMPARE_WRONG_VALUE);
}

static void allclose_rule(void **state) {
  (void)state;
  struct trial t;
  trial_init(&t, 1, (const int64_t[]){4});
  t.in.rtol = 0.01;
  t.in.atol = 0.1;
  const double want[] = {100, -100, 0, 1};
  const float got[] = {101.05f, -98.95f, 0.0999f, 1.12f}; // allowed: 1.1, 1.1, 0.1, 0.11
  memcpy(t.want, want, sizeof want);
  memcpy(t.got, got, sizeof got);
  struct compare_facts f = facts_of(&t);
  assert_int_equal(f.n_allclose_bad, 1);
  t.in.loose = 0.0105; // allowed: 1.0605, 1.0605, 0.0105, 0.021
  f = facts_of(&t);
  assert_int_equal(f.n_allclose_bad, 1);
  assert_int_equal(f.n_loose_bad, 2);
  trial_release(&t);
}

static void threads_do_not_matter(void **state) {
  (void)state;
  struct trial t;
  trial_init(&t, 3, (const int64_t[]){7, 111, 1700});
  for (int64_t i = 0; i < t.n; i++)
    t.got[i] += (float)(1e-6 * normal(9, i) * (i % 5000 == 3 ? 40 : 1));
  t.in.threads = 1;
  struct compare_facts one = facts_of(&t);
  assert_true(one.n_over > 0 && one.z_rms > 0.5);
  for (int threads = 2; threads < 9; threads += 3) {
    t.in.threads = threads;
    struct compare_facts f = facts_of(&t);
    assert_memory_equal(&one, &f, sizeof f);
  }
  int64_t counted = 0;
  for (int i = 0; i < COMPARE_HISTOGRAM; i++)
    counted += one.histogram[i];
  assert_int_equal(counted, t.n);
  for (int i = 1; i < one.n_worst; i++)
    assert_true(one.worst[i - 1].z >= one.worst[i].z);
  trial_release(&t);
}

// The root mean squares against plain loops over the whole matrix.
static void groups_match_plain_loops(void **state) {
  (void)state;
  struct trial t;
  trial_init(&t, 2, (const int64_t[]){32, 48}); // one panel: rows of 48, columns of 32, tiles of 16 x 16
  for (int64_t i = 0; i < t.n; i++)
    t.got[i] += (float)(1e-6 * normal(5, i));
  struct compare_facts f = facts_of(&t);
  double z2[32][48], total = 0, row = 0, column = 0, tile = 0;
  for (int r = 0; r < 32; r++)
    for (int c = 0; c < 48; c++) {
      double w = t.want[r * 48 + c], e = fabs((double)t.got[r * 48 + c] - w) - 0x1p-24 * fabs(w) - 0x1p-149;
      double z = e > 0 ? e / (double)t.sigma[0] : 0;
      z2[r][c] = z * z;
      total += z2[r][c];
    }
  for (int r = 0; r < 32; r++) {
    double sum = 0;
    for (int c = 0; c < 48; c++)
      sum += z2[r][c];
    row = fmax(row, sum / 48);
  }
  for (int c = 0; c < 48; c++) {
    double sum = 0;
    for (int r = 0; r < 32; r++)
      sum += z2[r][c];
    column = fmax(column, sum / 32);
  }
  for (int r = 0; r < 32; r += 16)
    for (int c = 0; c < 48; c += 16) {
      double sum = 0;
      for (int k = 0; k < 256; k++)
        sum += z2[r + k / 16][c + k % 16];
      tile = fmax(tile, sum / 256);
    }
  assert_near(f.z_rms, sqrt(total / (32 * 48)), 1e-9);
  assert_near(f.z_row_rms, sqrt(row), 1e-9);
  assert_near(f.z_column_rms, sqrt(column), 1e-9);
  assert_near(f.z_tile_rms, sqrt(tile), 1e-9);
  trial_release(&t);
}

static void expect_hint(struct trial *t, enum compare_hint hint, const char *text) {
  struct compare_facts f = facts_of(t);
  assert_int_not_equal(contract(&f), COMPARE_PASS);
  if (f.hint != hint || !strstr(f.hint_text, text))
    print_error("hint %d \"%s\", expected %d \"%s\"\n", f.hint, f.hint_text, hint, text);
  assert_int_equal(f.hint, hint);
  assert_non_null(strstr(f.hint_text, text));
  trial_release(t);
}

static const int64_t MATRIX[] = {60, 70};

static void hints_of_place(void **state) {
  (void)state;
  struct trial t;
  trial_init(&t, 2, MATRIX);
  for (int64_t i = 0; i < t.n; i++)
    if (i % 70 >= 65 && i / 70 % 2 == 0)
      t.got[i] = 5;
  expect_hint(&t, HINT_PERIODIC, "repeat every 2 along dimension 0");
  trial_init(&t, 2, MATRIX);
  for (int64_t i = 0; i < t.n; i++)
    if (i % 70 >= 65)
      t.got[i] += (float)normal(3, i);
  expect_hint(&t, HINT_LAST_TILE, "all 300 wrong elements are in the last 5 of dimension 1");
  trial_init(&t, 2, MATRIX);
  for (int64_t i = 0; i < 4 * 70; i++)
    t.got[i] += (float)normal(3, i);
  expect_hint(&t, HINT_FIRST_ROWS, "in the first 4 of dimension 0");
  trial_init(&t, 2, MATRIX);
  for (int64_t i = 31 * 70; i < 32 * 70; i++)
    t.got[i] += (float)normal(3, i);
  expect_hint(&t, HINT_REGION, "at index 31 of dimension 0");
  trial_init(&t, 2, MATRIX);
  t.got[t.n - 1] += 1;
  expect_hint(&t, HINT_LAST_TILE, "the only wrong element is [59,69]");
  trial_init(&t, 1, (const int64_t[]){10007});
  for (int64_t i = 3; i < t.n; i += 32)
    t.got[i] += 1;
  expect_hint(&t, HINT_PERIODIC, "repeat every 32 along dimension 0, beginning at 3");
  trial_init(&t, 2, (const int64_t[]){100, 77});
  for (int64_t i = 5; i < t.n; i += 8) // no row length that 8 divides
    t.got[i] += (float)(1 + normal(3, i));
  expect_hint(&t, HINT_PERIODIC, "repeat every 8 elements, beginning at flat index 5");
  trial_init(&t, 2, MATRIX); // scattered: no hint
  for (int64_t i = 0; i < t.n; i++)
    if (rng_mix64((uint64_t)i) % 50 == 0)
      t.got[i] += (float)normal(3, i);
  expect_hint(&t, HINT_NONE, "");
}

// Answers of many sizes, infinite from `end` on.
static void trial_overflow(struct trial *t, double end) {
  trial_init(t, 2, MATRIX);
  for (int64_t i = 0; i < t->n; i++) {
    t->want[i] = (double)(float)ldexp(1 + fabs(t->want[i]), (int)(rng_mix64((uint64_t)i) % 40) - 10);
    t->got[i] = fabs(t->want[i]) < end ? (float)t->want[i] : INFINITY;
    t->sigma[i] = (float)(1e-7 * fabs(t->want[i]));
  }
}

static void hint_of_half_range(void **state) {
  (void)state;
  struct trial t;
  trial_overflow(&t, 65520);
  struct compare_facts f = facts_of(&t);
  assert_int_equal(f.hint, HINT_HALF_RANGE);
  assert_non_null(strstr(f.hint_text, "beyond 65504, and only there: float16 ends there"));
  assert_int_equal(compare_verdict(&f, COMPARE_CONTRACT), COMPARE_LOW_PRECISION); // not only another class
  t.got[5] = NAN;
  f = facts_of(&t);
  assert_int_equal(compare_verdict(&f, COMPARE_CONTRACT), COMPARE_WRONG_CLASS);
  t.got[5] = (float)t.want[5];
  for (int64_t i = 0; i < t.n; i += 10) // small ones, too: something else is wrong
    t.got[i] = INFINITY;
  f = facts_of(&t);
  assert_int_equal(compare_verdict(&f, COMPARE_CONTRACT), COMPARE_WRONG_CLASS);
  trial_release(&t);
  const double others[] = {1024, 0x1p20};
  for (int k = 0; k < 2; k++) {
    trial_overflow(&t, others[k]);
    f = facts_of(&t);
    assert_int_equal(compare_verdict(&f, COMPARE_CONTRACT), COMPARE_WRONG_CLASS);
    trial_release(&t);
  }
}

static void hints_of_relation(void **state) {
  (void)state;
  struct trial t;
  trial_init(&t, 2, MATRIX);
  memset(t.got, 0, (size_t)t.n * sizeof *t.got);
  expect_hint(&t, HINT_ALL_ZERO, "every element is zero");
  trial_init(&t, 2, MATRIX); // half of the answers are subnormal, and none of those is there; all are at least zero
  for (int64_t i = 0; i < t.n; i++) {
    t.want[i] = i % 2 ? 0 : 1e-39 * (1 + fabs(t.want[i]));
    t.got[i] = 0;
    t.sigma[i] = 1e-45f;
  }
  expect_hint(&t, HINT_FLUSHED, "subnormal numbers are taken for zero, as --use_fast_math");
  trial_init(&t, 2, MATRIX);
  for (int64_t i = 0; i < t.n; i++)
    t.got[i] = 0.25f;
  expect_hint(&t, HINT_CONSTANT, "every element is 0.25");
  trial_init(&t, 2, MATRIX);
  for (int64_t i = 0; i < t.n; i++)
    t.got[i] = (float)(2 * t.want[i]);
  expect_hint(&t, HINT_CONSTANT_FACTOR, "off by a constant factor 2.000");
  trial_init(&t, 2, MATRIX);
  for (int64_t i = 0; i < t.n; i++)
    t.got[i] = (float)(t.want[i] * 1.000978);
  expect_hint(&t, HINT_CONSTANT_FACTOR, "off by a constant factor 1.000978");
  trial_init(&t, 2, MATRIX);
  for (int64_t i = 0; i < t.n; i++)
    t.got[i] = (float)(i % 2 ? t.want[i] = 0 : -t.want[i]); // half of the elements are zero and right
  expect_hint(&t, HINT_NEGATED, "the sign is flipped");
  trial_init(&t, 2, MATRIX);
  for (int64_t i = 0; i < t.n; i++)
    t.got[i] = (float)(t.want[i] + 0.5);
  expect_hint(&t, HINT_CONSTANT_OFFSET, "0.5 is added everywhere");
  trial_init(&t, 2, MATRIX);
  for (int64_t i = 0; i < t.n; i++)
    t.got[i] = (float)t.want[i % 60 * 70 + i / 60];
  expect_hint(&t, HINT_TRANSPOSED, "transpose of the last two dimensions");
  trial_init(&t, 3, (const int64_t[]){12, 15, 20});
  for (int64_t i = 0; i < t.n; i++) // written as [15][12][20]
    t.got[i] = (float)t.want[(i / 20 % 12 * 15 + i / 240) * 20 + i % 20];
  expect_hint(&t, HINT_TRANSPOSED, "dimensions 0 and 1 were exchanged");
  trial_init(&t, 2, MATRIX);
  for (int64_t i = 0; i < t.n; i++)
    t.got[i] = i >= 70 ? (float)t.want[i - 70] : 0;
  expect_hint(&t, HINT_SHIFTED, "shifted by 1 along dimension 0");
  trial_init(&t, 2, MATRIX);
  for (int64_t i = 0; i < t.n; i++)
    t.got[i] = i % 70 < 68 ? (float)t.want[i + 2] : 9;
  expect_hint(&t, HINT_SHIFTED, "shifted by -2 along dimension 1");
}

// x rounded to so many significand bits.
static double to_bits(double x, int bits) {
  int e;
  double m = frexp(x, &e);
  return ldexp(nearbyint(ldexp(m, bits)), e - bits);
}

static void hints_of_precision(void **state) {
  (void)state;
  struct trial t;
  trial_init(&t, 2, MATRIX);
  for (int64_t i = 0; i < t.n; i++)
    t.got[i] = (float)to_bits(t.want[i], 8);
  struct compare_facts f = facts_of(&t);
  assert_int_equal(contract(&f), COMPARE_LOW_PRECISION);
  expect_hint(&t, HINT_LOW_PRECISION, "values carry only 8 significand bits: bfloat16");
  trial_init(&t, 2, MATRIX);
  for (int64_t i = 0; i < t.n; i++)
    t.got[i] = (float)to_bits(t.want[i], 11);
  expect_hint(&t, HINT_LOW_PRECISION, "values carry only 11 significand bits: float16 or tf32");
  // A result rounded properly from noisy work: dot products with errors of rounded inputs.
  trial_init(&t, 2, MATRIX);
  for (int64_t i = 0; i < t.n; i++)
    t.got[i] = (float)(t.want[i] + 0.6 * 0x1p-8 * normal(4, i));
  f = facts_of(&t);
  assert_int_equal(contract(&f), COMPARE_LOW_PRECISION);
  expect_hint(&t, HINT_LOW_PRECISION, "about 8 significand bits (bfloat16 has 8");
  // A running sum kept in bfloat16: errors of some percent, but the values show it.
  trial_init(&t, 2, MATRIX);
  for (int64_t i = 0; i < t.n; i++)
    t.got[i] = (float)to_bits(t.want[i] * (1 + 0.03 * normal(4, i)), 8);
  expect_hint(&t, HINT_LOW_PRECISION, "values carry only 8 significand bits: bfloat16");
  trial_init(&t, 2, MATRIX); // coarse values that are far off are wrong
  for (int64_t i = 0; i < t.n; i++)
    t.got[i] = (float)to_bits(normal(4, i), 8);
  expect_hint(&t, HINT_NONE, "");
  trial_init(&t, 0, NULL); // a lone element has no place worth telling
  t.got[0] += 1;
  expect_hint(&t, HINT_NONE, "");
  // The other formula of GELU: as small an error, but a function of the answer, so no rounding.
  trial_init(&t, 2, MATRIX);
  for (int64_t i = 0; i < t.n; i++) {
    double x = normal(8, i) * 2;
    t.want[i] = 0.5 * x * (1 + erf(x * 0.70710678118654752440));
    t.got[i] = (float)(0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x))));
  }
  f = facts_of(&t);
  assert_int_equal(contract(&f), COMPARE_WRONG_VALUE);
  trial_release(&t);
  // One dropped term of 64: noise, too, but too large for any precision in use.
  trial_init(&t, 2, MATRIX);
  for (int64_t i = 0; i < t.n; i++)
    t.got[i] = (float)(t.want[i] + 0.125 * normal(4, i));
  f = facts_of(&t);
  assert_int_equal(contract(&f), COMPARE_WRONG_VALUE);
  trial_release(&t);
  // Right values from coarse inputs (a copy, a maximum) with a wrong row are not accused of precision.
  trial_init(&t, 2, MATRIX);
  for (int64_t i = 0; i < t.n; i++) {
    t.want[i] = to_bits(t.want[i], 8);
    t.got[i] = (float)t.want[i];
  }
  for (int64_t i = 140; i < 210; i++)
    t.got[i] = (float)t.want[i - 70];
  f = facts_of(&t);
  assert_int_equal(contract(&f), COMPARE_WRONG_VALUE);
  expect_hint(&t, HINT_REGION, "at index 2 of dimension 0");
}

static void description(void **state) {
  (void)state;
  struct trial t;
  struct buf b;
  buf_init(&b);
  trial_init(&t, 2, MATRIX);
  t.want[3 * 70 + 17] = 0.25;
  t.got[3 * 70 + 17] = 0.5;
  struct compare_facts f = facts_of(&t);
  compare_describe(&f, &t.in.type.shape, &b);
  assert_non_null(strstr(buf_str(&b), "1 of 4200 elements are wrong"));
  assert_non_null(strstr(buf_str(&b), "worst: [3,17] got 0.5, want 0.25, allowed "));
  buf_release(&b);
  trial_release(&t);
}

static void every_type(void **state) {
  (void)state;
  const enum dtype types[] = {DTYPE_DOUBLE, DTYPE_FLOAT16, DTYPE_BFLOAT16, DTYPE_FLOAT8E4M3FN, DTYPE_FLOAT8E5M2};
  enum { N = 3000 };
  static double want[N];
  static float sigma[N];
  static uint8_t got[N * 8];
  for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
    struct float_format format;
    dtype_float_format(types[k], &format);
    for (int i = 0; i < N; i++)
      want[i] = normal(2, i);
    dtype_from_f64(types[k], want, N, got);
    struct compare_input in = {.type = {types[k], shape_of(1, (const int64_t[]){N})},
                               .got = got,
                               .want = want,
                               .sigma = sigma,
                               .u_out = ldexp(1, -format.bits),
                               .eta_out = ldexp(1, format.min_exponent - format.bits + 1),
                               .threads = 1};
    struct compare_facts f;
    struct assay_error err = {0};
    assert_int_equal(compare_outputs(&in, &f, &err), ASSAY_OK);
    assert_int_equal(f.n_exact, N);
    assert_int_equal(compare_verdict(&f, COMPARE_CONTRACT), COMPARE_PASS);
    want[5] = 2 * format.max; // overflows: infinity, or NaN where the format has none
    dtype_from_f64(types[k], want, N, got);
    assert_int_equal(compare_outputs(&in, &f, &err), ASSAY_OK);
    assert_int_equal(compare_verdict(&f, COMPARE_CONTRACT), COMPARE_PASS);
    want[7] = want[7] * 1.5 + 1;
    assert_int_equal(compare_outputs(&in, &f, &err), ASSAY_OK);
    assert_int_equal(f.n_over, 1);
  }
}

static void out_of_memory(void **state) {
  (void)state;
  struct trial t;
  struct compare_facts f;
  struct assay_error err = {0};
  trial_init(&t, 2, MATRIX);
  t.got[0] = 99;
  int failures = 0;
  for (int64_t n = 0; n < 20; n++) {
    allocations_left = n;
    enum assay_status status = compare_outputs(&t.in, &f, &err);
    allocations_left = -1;
    if (status == ASSAY_OK)
      break;
    assert_int_equal(status, ASSAY_ERR_NOMEM);
    failures++;
  }
  assert_true(failures > 0 && failures < 20);
  trial_release(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exact_answers_pass),
      cmocka_unit_test(gate_limit),
      cmocka_unit_test(one_wrong_element),
      cmocka_unit_test(moderate_errors_fail_by_root_mean_square),
      cmocka_unit_test(confined_errors_fail_by_group),
      cmocka_unit_test(exact_rows_are_no_draws),
      cmocka_unit_test(a_row_may_be_a_single_draw),
      cmocka_unit_test(common_errors_are_one_draw),
      cmocka_unit_test(the_gate_that_decides),
      cmocka_unit_test(few_elements),
      cmocka_unit_test(a_scale_below_its_neighbours),
      cmocka_unit_test(classes),
      cmocka_unit_test(overflow_band),
      cmocka_unit_test(poison),
      cmocka_unit_test(poison_of_small_elements),
      cmocka_unit_test(integers),
      cmocka_unit_test(allclose_rule),
      cmocka_unit_test(threads_do_not_matter),
      cmocka_unit_test(groups_match_plain_loops),
      cmocka_unit_test(hints_of_place),
      cmocka_unit_test(hint_of_half_range),
      cmocka_unit_test(hints_of_relation),
      cmocka_unit_test(hints_of_precision),
      cmocka_unit_test(description),
      cmocka_unit_test(every_type),
      cmocka_unit_test(out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
