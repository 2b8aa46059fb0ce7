// SPDX-License-Identifier: Apache-2.0
// Distributions: their text, the elements they draw (against a reference written in Python from the documentation in
// distribution.h, whose digests stand below), their statistics, the probes.
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

#include "base/hash.h"
#include "base/rng.h"
#include "task/distribution.h"
#include "task/exact_math.h"

#define KEY UINT64_C(0x0123456789ABCDEF)

static struct distribution parse(struct arena *a, const char *text) {
  struct distribution d;
  struct assay_error err = {0};
  if (distribution_parse(text, a, &d, &err) != ASSAY_OK)
    fail_msg("%s: %s", text, err.message);
  return d;
}

struct setup {
  const char *text;
  enum dtype dtype;
  struct shape shape;
  enum probe probe;
  uint64_t key;
  int input, threads;
};

static void draw(const struct setup *s, void *out) {
  struct arena a = {0};
  struct distribution d = parse(&a, s->text);
  struct draw_request r = {.distribution = &d,
                           .a = d.a,
                           .b = d.b,
                           .type = {s->dtype, s->shape},
                           .probe = s->probe,
                           .near_overflow = 1e30,
                           .key = s->key,
                           .input = s->input,
                           .threads = s->threads ? s->threads : 1};
  distribution_draw(&r, out);
  arena_release(&a);
}

static struct shape vector(int64_t n) {
  return shape_of(1, &n);
}
static struct shape matrix(int64_t m, int64_t n) {
  return shape_of(2, (int64_t[]){m, n});
}

// ---- text -----------------------------------------------------------------------------------------------------------

static void test_text(void **state) {
  (void)state;
  struct arena a = {0};
  struct distribution d = parse(&a, "uniform(-0.5, 2e3)");
  assert_int_equal(d.kind, DIST_UNIFORM);
  assert_true(d.a == -0.5 && d.b == 2000 && !d.scaled && !d.is_static && !d.fixed);
  d = parse(&a, " normal ( 1 , 2 ) * uniform_scalar(0.25, 4) static symmetric ");
  assert_int_equal(d.kind, DIST_NORMAL);
  assert_true(d.scaled && d.scale_lo == 0.25 && d.scale_hi == 4 && d.is_static && d.symmetric && !d.triu);
  d = parse(&a, "labels(C) fixed");
  assert_int_equal(d.kind, DIST_INTEGERS);
  assert_true(d.a == 0 && !d.a_symbol && d.fixed);
  assert_string_equal(d.b_symbol, "C");
  d = parse(&a, "normal(0, 1.5 / sqrt( E )) static");
  assert_true(d.kind == DIST_NORMAL && !d.a_symbol && d.b == 1.5 && d.b_root && !d.a_root);
  assert_string_equal(d.b_symbol, "E");
  d = parse(&a, "signs()");
  assert_int_equal(d.kind, DIST_SIGNS);
  d = parse(&a, "slash(1) tril");
  assert_true(d.kind == DIST_SLASH && d.tril && d.fold == FOLD_NONE);
  d = parse(&a, "uniform(1, 2) above( 0.5 ) static");
  assert_true(d.fold == FOLD_ABOVE && d.fold_lo == 0.5 && d.is_static);
  d = parse(&a, "uniform(0, 1) between(-1, 3)");
  assert_true(d.fold == FOLD_BETWEEN && d.fold_lo == -1 && d.fold_hi == 3);
  arena_release(&a);
}

static void test_bad_text(void **state) {
  (void)state;
  static const char *const bad[] = {"",
                                    "uniform",
                                    "uniform(",
                                    "uniform(1)",
                                    "uniform(1, 0)",
                                    "uniform(0, 1",
                                    "unifrom(0,1)",
                                    "normal(0, -1)",

                                    "uniform(0,1) x",
                                    "uniform(0,1) above",
                                    "uniform(0,1) above()",
                                    "uniform(0,1) between(1)",
                                    "uniform(0,1) between(1, 1)",
                                    "uniform(0,1) above(0) above(0)",
                                    "uniform(0,1) above(0) fixed",
                                    "uniform(0,1) softmax between(0, 1)",
                                    "uniform(0,1) *",
                                    "bernoulli(2)",
                                    "integers(3, 3)",
                                    "integers(0.5, 3)",
                                    "labels()",
                                    "signs(1)",
                                    "constant(1, 2)",
                                    "uniform(0, 1) static static",
                                    "uniform(0, 1) triu tril",
                                    "uniform(0, 1) * uniform_scalar(2, 1)",
                                    "uniform(0, 1) * 3",
                                    "integers(0, 1e18)",
                                    "uniform(0,, 1)",
                                    "normal(0, 1/2)",
                                    "normal(0, 1/E)",
                                    "normal(0, 1/sqrt(4))",
                                    "normal(0, 1/sqrt(E)",
                                    "normal(0, 1/cbrt(E))",
                                    "partition(1.5)",
                                    "partition(-1)",
                                    "partition(3, 4)",
                                    "uniform(0x, 1)"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct arena a = {0};
    struct distribution d;
    struct assay_error err = {0};
    if (distribution_parse(bad[i], &a, &d, &err) == ASSAY_OK)
      fail_msg("'%s' was read", bad[i]);
    assert_true(strlen(err.message) > 10);
    arena_release(&a);
  }
}

static void test_check(void **state) {
  (void)state;
  struct arena a = {0};
  struct assay_error err = {0};
  struct distribution uniform = parse(&a, "uniform(0, 1)"), labels = parse(&a, "integers(0, 4)"),
                      triangle = parse(&a, "uniform(0, 1) triu");
  assert_int_equal(distribution_check(&uniform, DTYPE_FLOAT, 0, &err), ASSAY_OK);
  assert_int_equal(distribution_check(&uniform, DTYPE_INT64, 1, &err), ASSAY_ERR_INVALID);
  assert_int_equal(distribution_check(&labels, DTYPE_INT64, 1, &err), ASSAY_OK);
  assert_int_equal(distribution_check(&triangle, DTYPE_FLOAT, 1, &err), ASSAY_ERR_INVALID);
  assert_int_equal(distribution_check(&uniform, DTYPE_STRING, 1, &err), ASSAY_ERR_UNSUPPORTED);
  arena_release(&a);
}

// ---- elements -------------------------------------------------------------------------------------------------------

static void test_exact_math(void **state) {
  (void)state;
  for (int i = 1; i < 200000; i++) {
    uint64_t bits = rng_mix64((uint64_t)i);
    double u = ((double)(uint32_t)bits + 1) * 0x1p-32, c, s;
    assert_true(fabs(exact_log(u) - log(u)) <= 4e-16 * fmax(1, fabs(log(u))));
    exact_cos_sin((uint32_t)bits, &c, &s);
    double angle = 6.283185307179586 * ((double)(uint32_t)bits * 0x1p-32);
    assert_true(fabs(c - cos(angle)) < 2e-15 && fabs(s - sin(angle)) < 2e-15);
    double x = -800 * u;
    assert_true(fabs(exact_exp(x) - exp(x)) <= 1e-13 * exp(x) || x < -700);
  }
  assert_true(exact_exp(0) == 1 && exact_log(1) == 0 && exact_exp(-INFINITY) == 0);
}

// The digests are of little-endian elements that a Python program made from the formulas in distribution.h alone.
static void test_against_reference(void **state) {
  (void)state;
  enum { N = 1000 };
  static const struct {
    struct setup s;
    const char *digest;
  } rows[] = {
      {{"uniform(-1, 1)", DTYPE_FLOAT, {1, {N}}, PROBE_DECLARED, KEY, 2, 1},
       "7ae77bbe0aa2da484974a0b7c04cf928d754189c1a1f28d69ed377b2ee2ec79f"},
      {{"normal(0.5, 2)", DTYPE_FLOAT, {1, {N}}, PROBE_DECLARED, KEY, 1, 1},
       "2c430323dc01768843d54fe4b17d9451ee911add68bc180ec23810a578e6773a"},
      {{"slash(3)", DTYPE_FLOAT, {1, {N}}, PROBE_DECLARED, KEY, 0, 1},
       "32615e2a06c5791a0afe921a0262cb0d29292e1692955e1c5b5f61f7ecc9a312"},
      {{"uniform(0, 1) * uniform_scalar(0.25, 4)", DTYPE_FLOAT, {1, {N}}, PROBE_DECLARED, KEY, 0, 1},
       "353c951769b65f1020a12524f6e36474ad169da5c2e4d5fcb7c377f127dd4ee0"},
      {{"uniform(0, 1)", DTYPE_FLOAT, {2, {27, 37}}, PROBE_ROW_SCALES, KEY, 3, 1},
       "3ad9d6c8dd5729cac9213a761981bc332e72f6b19225e405260a22478c268f0c"},
      {{"uniform(0, 1)", DTYPE_FLOAT, {1, {N}}, PROBE_ROW_SCALES, KEY, 3, 1},
       "a93b28d07a4b97424b5361405b9a0797d3606413762caf12dea762ddb7c5ca8b"},
      {{"uniform(0, 1)", DTYPE_FLOAT, {1, {N}}, PROBE_SMALL_SPREAD, KEY, 2, 1},
       "0873c13e37c67a1bfe2de832f7f2d1048c2be11e85e6af21627957282904429a"},
      {{"uniform(0, 1)", DTYPE_FLOAT, {1, {N}}, PROBE_TINY, KEY, 2, 1},
       "c0dd75b5bf8405bb3b4233f1f99468930a5e449541757c51297215318fd9a8d2"},
      {{"integers(-7, 13)", DTYPE_INT64, {1, {N}}, PROBE_DECLARED, KEY, 4, 1},
       "f52df8c19624e832f7b79c5c4c51517abe7a679b03ce62241a495fb2846a3b1c"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    static union {
      float f[N];
      int64_t i[N];
    } out;
    char hex[HASH_HEX_BYTES];
    draw(&rows[i].s, &out);
    hash_sha256_hex(&out, (size_t)shape_count(&rows[i].s.shape) * dtype_bytes(rows[i].s.dtype), hex);
    assert_string_equal(hex, rows[i].digest);
  }
}

static void test_threads_do_not_matter(void **state) {
  (void)state;
  enum { M = 301, N = 211 };
  static const char *const texts[] = {"normal(0, 1)", "uniform(0, 1) symmetric", "slash(1) triu",
                                      "normal(0, 3) * uniform_scalar(1, 2) softmax"};
  float *one = malloc(sizeof(float[M * N])), *many = malloc(sizeof(float[M * N]));
  for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
    struct setup s = {texts[t], DTYPE_FLOAT, matrix(M, N), PROBE_DECLARED, KEY + t, 0, 1};
    draw(&s, one);
    s.threads = 5;
    draw(&s, many);
    assert_memory_equal(one, many, sizeof(float[M * N]));
    s.key++;
    draw(&s, many);
    assert_memory_not_equal(one, many, sizeof(float[M * N]));
    s.key--;
    s.input = 1;
    draw(&s, many);
    assert_memory_not_equal(one, many, sizeof(float[M * N]));
  }
  free(one);
  free(many);
}

// Four numbers of 52 bits, two pairs of neighbours that differ above their low 32 bits; other ones under another key.
static void test_seeds(void **state) {
  (void)state;
  int64_t x[64], other[64], low = INT64_MAX, high = 0;
  int near_low = 0, near_high = 0;
  struct setup s = {"seeds()", DTYPE_INT64, vector(64), PROBE_DECLARED, KEY, 0, 1};
  draw(&s, x);
  s.key++;
  draw(&s, other);
  for (int i = 0; i < 64; i++) {
    assert_true(x[i] >= 0 && x[i] < INT64_C(1) << 52);
    low = x[i] < low ? x[i] : low;
    high = x[i] > high ? x[i] : high;
    assert_int_not_equal(x[i], other[i]);
  }
  for (int i = 0; i < 64; i++) {
    near_low += x[i] == low || x[i] == low + 1;
    near_high += x[i] == high || x[i] == high - 1;
  }
  assert_true((high - 1 - low) % (INT64_C(1) << 32) == 0 && high - 1 > low);
  assert_int_equal(near_low + near_high, 64);
  assert_in_range(near_low, 12, 52);
}

// Along the first dimension no number twice, each about as often as the others.
static void test_permutations(void **state) {
  (void)state;
  static const int64_t counts[] = {1, 2, 3, 4, 5, 16, 17, 64, 1021};
  enum { ROWS = 1021, COLUMNS = 50 };
  static int64_t x[ROWS][COLUMNS];
  int sum = 0;
  for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
    char text[32];
    int64_t n = counts[k];
    snprintf(text, sizeof text, "permutation(%lld)", (long long)n);
    draw(&(struct setup){text, DTYPE_INT64, matrix(n, COLUMNS), PROBE_DECLARED, KEY, 0, 2}, x);
    for (int j = 0; j < COLUMNS; j++) {
      bool seen[ROWS] = {false};
      for (int64_t i = 0; i < n; i++) {
        int64_t v = (&x[0][0])[i * COLUMNS + j];
        assert_true(v >= 0 && v < n && !seen[v]);
        seen[v] = true;
        sum += n == 17 && v == i;
      }
    }
  }
  assert_in_range(sum, 20, 85); // fixed points: 50 of 50 permutations, five deviations
  draw(&(struct setup){"permutation(3)", DTYPE_INT64, vector(5), PROBE_DECLARED, KEY, 0, 1}, x);
  assert_true(x[0][3] == x[0][0] && x[0][4] == x[0][1]); // longer than it can be: from the start again
}

// Rows rise to the total; sizes of groups are as often large as small, and some groups are empty.
static void test_partitions(void **state) {
  (void)state;
  enum { ROWS = 2000, GROUPS = 5 };
  static int32_t x[ROWS][GROUPS];
  double sum[GROUPS] = {0};
  int empty = 0, large = 0;
  draw(&(struct setup){"partition(40)", DTYPE_INT32, matrix(ROWS, GROUPS), PROBE_ZERO_MEAN, KEY, 0, 2}, x);
  for (int r = 0; r < ROWS; r++)
    for (int g = 0; g < GROUPS; g++) {
      const int32_t size = x[r][g] - (g ? x[r][g - 1] : 0);
      assert_true(size >= 0);
      sum[g] += size;
      empty += size == 0;
      large += size > 20;
    }
  for (int r = 0; r < ROWS; r++)
    assert_int_equal(x[r][GROUPS - 1], 40);
  for (int g = 0; g < GROUPS; g++)
    assert_in_range((int)sum[g], 8 * ROWS - 1500, 8 * ROWS + 1500); // a fifth of 40 each, five deviations of 290
  assert_in_range(empty, 300, 800);                                 // the chance is 1 - (1 - 1/80)^4 of each: 490
  assert_in_range(large, 400, 850);                                 // about (1 - 20.5/40)^4 of each: 564
  draw(&(struct setup){"partition(0)", DTYPE_INT32, vector(3), PROBE_DECLARED, KEY, 0, 1}, x);
  assert_true(x[0][0] == 0 && x[0][2] == 0);
}

// ---- statistics -----------------------------------------------------------------------------------------------------

struct moments {
  double mean, variance, fourth, low, high, lag;
};

static struct moments measure(const float *x, int64_t n) {
  struct moments m = {.low = INFINITY, .high = -INFINITY};
  for (int64_t i = 0; i < n; i++) {
    m.mean += (double)x[i] / (double)n;
    m.low = fmin(m.low, x[i]);
    m.high = fmax(m.high, x[i]);
  }
  for (int64_t i = 0; i < n; i++) {
    double e = (double)x[i] - m.mean;
    m.variance += e * e / (double)n;
    m.fourth += e * e * e * e / (double)n;
    m.lag += i ? e * ((double)x[i - 1] - m.mean) / (double)n : 0;
  }
  return m;
}

static int by_value(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

static void test_statistics(void **state) {
  (void)state;
  enum { N = 1 << 20 };
  float *x = malloc(N * sizeof *x);
  draw(&(struct setup){"normal(3, 2)", DTYPE_FLOAT, vector(N), PROBE_DECLARED, KEY, 0, 2}, x);
  struct moments m = measure(x, N);
  // Five standard errors each; the largest of a million normals lies between 4.4 and 6.8 deviations.
  assert_true(fabs(m.mean - 3) < 0.01 && fabs(m.variance - 4) < 0.03 && fabs(m.fourth / 16 - 3) < 0.05);
  assert_true(fabs(m.lag) < 0.02 && m.high > 3 + 2 * 4.4 && m.high < 3 + 2 * 6.8);
  qsort(x, N, sizeof *x, by_value);
  double worst = 0; // Kolmogorov and Smirnov
  for (int i = 0; i < N; i++)
    worst = fmax(worst, fabs(0.5 * erfc(-((double)x[i] - 3) / 2 / sqrt(2)) - (i + 0.5) / N));
  assert_true(worst < 1.95 / sqrt(N));
  draw(&(struct setup){"uniform(-2, 6)", DTYPE_FLOAT, vector(N), PROBE_DECLARED, KEY, 0, 2}, x);
  m = measure(x, N);
  assert_true(fabs(m.mean - 2) < 0.012 && fabs(m.variance - 64.0 / 12) < 0.03 && fabs(m.lag) < 0.03);
  assert_true(m.low >= -2 && m.low < -1.999 && m.high <= 6 && m.high > 5.999);
  draw(&(struct setup){"bernoulli(0.3)", DTYPE_FLOAT, vector(N), PROBE_DECLARED, KEY, 0, 2}, x);
  m = measure(x, N);
  assert_true(fabs(m.mean - 0.3) < 0.003 && m.low == 0 && m.high == 1);
  draw(&(struct setup){"signs()", DTYPE_FLOAT, vector(N), PROBE_DECLARED, KEY, 0, 2}, x);
  m = measure(x, N);
  assert_true(fabs(m.mean) < 0.005 && m.low == -1 && m.high == 1);
  // Heavy tails: a few elements carry the norm.
  draw(&(struct setup){"slash(1)", DTYPE_FLOAT, vector(N), PROBE_DECLARED, KEY, 0, 2}, x);
  double squares = 0, greatest = 0;
  for (int i = 0; i < N; i++) {
    squares += (double)x[i] * (double)x[i];
    greatest = fmax(greatest, fabs((double)x[i]));
  }
  assert_true(greatest / sqrt(squares) > 0.05);
  free(x);
}

// The one element of each row and column that is near one; the rest is small. -1: there is none.
static int one_of_row(const float *row, int n) {
  int at = -1;
  for (int j = 0; j < n; j++)
    if (row[j] > 0.6F)
      at = at < 0 ? j : n;
  return at;
}

static void test_matrices(void **state) {
  (void)state;
  enum { N = 64 };
  static float x[2][N][N];
  struct setup s = {"uniform(-1, 1) regular", DTYPE_FLOAT, {3, {2, N, N}}, PROBE_DECLARED, KEY, 0, 1};
  draw(&s, x);
  bool other = false;
  for (int b = 0; b < 2; b++) {
    bool seen[N] = {false};
    for (int i = 0; i < N; i++) {
      int at = one_of_row(x[b][i], N);
      assert_in_range(at, 0, N - 1);
      assert_false(seen[at]);
      seen[at] = true;
      other = other || at != one_of_row(x[0][i], N);
    }
    assert_true(x[b][0][0] == 0 || x[b][0][0] > 0.6F);
  }
  assert_true(other);
  s.text = "uniform(-1, 1) symmetric regular";
  draw(&s, x);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      assert_true(x[1][i][j] == x[1][j][i] && (x[1][i][j] > 0.6F) == (i + j == N - 1));
  assert_true(x[1][0][0] == 0);
  s.text = "uniform(-1, 1) triu regular";
  draw(&s, x);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      assert_true((i != j || x[1][i][j] > 0.6F) && (i <= j || x[1][i][j] == 0));
  s.text = "uniform(-1, 1) definite";
  draw(&s, x);
  for (int k = 0; k < N; k++) // Cholesky's factor exists
    for (int i = k; i < N; i++)
      for (int j = k; j <= i; j++) {
        if (i == k && j == k) {
          assert_true(x[0][k][k] > 0.05F);
          x[0][k][k] = sqrtf(x[0][k][k]);
        } else if (j == k) {
          x[0][i][k] /= x[0][k][k];
        } else {
          assert_true(x[0][i][j] == x[0][j][i] || k > 0);
          x[0][i][j] -= x[0][i][k] * x[0][j][k];
        }
      }
}

// ---- modifiers and probes -------------------------------------------------------------------------------------------

static void test_modifiers(void **state) {
  (void)state;
  enum { N = 37 };
  static float x[2][N][N], plain[2][N][N];
  struct setup s = {"uniform(1, 2)", DTYPE_FLOAT, {3, {2, N, N}}, PROBE_DECLARED, KEY, 0, 1};
  draw(&s, plain);
  s.text = "uniform(1, 2) symmetric";
  draw(&s, x);
  for (int b = 0; b < 2; b++)
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) {
        assert_true(x[b][i][j] == x[b][j][i]);
        assert_true(fabsf(x[b][i][j] - (plain[b][i][j] + plain[b][j][i]) / 2) < 1e-6F);
      }
  s.text = "uniform(1, 2) triu";
  draw(&s, x);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      assert_true(x[1][i][j] == (j >= i ? plain[1][i][j] : 0));
  s.text = "uniform(1, 2) tril";
  draw(&s, x);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      assert_true(x[1][i][j] == (j <= i ? plain[1][i][j] : 0));
  s.text = "uniform(1, 2) softmax";
  draw(&s, x);
  for (int i = 0; i < N; i++) {
    double sum = 0, direct = 0;
    for (int j = 0; j < N; j++) {
      sum += (double)x[1][i][j];
      direct += exp((double)plain[1][i][j]);
    }
    assert_true(fabs(sum - 1) < 1e-6);
    assert_true(fabs((double)x[1][i][3] - exp((double)plain[1][i][3]) / direct) < 1e-7);
  }
}

// What a probe draws lies in the function's domain, and is otherwise the probe's; the declared draw stays.
static void test_folds(struct setup *s) {
  float plain[13 * 33], above[13 * 33], between[13 * 33];
  for (s->probe = PROBE_DECLARED; s->probe < PROBE_COUNT; s->probe++) {
    s->text = "uniform(5, 6)";
    draw(s, plain);
    s->text = "uniform(5, 6) above(1)";
    draw(s, above);
    s->text = "uniform(5, 6) between(2, 4)";
    draw(s, between);
    for (int i = 0; i < 13 * 33 && s->probe != PROBE_SPECIAL; i++) {
      const double size = fabs((double)plain[i]), share = size / (1 + size);
      const bool declared = s->probe == PROBE_DECLARED || (s->probe == PROBE_STRIPES && above[i] == plain[i]);
      const bool folded = !declared;
      assert_true(fabs((double)above[i] - (folded ? 1 + size : size)) <= 1e-6 * (1 + size));
      assert_true(fabs((double)between[i] - (folded ? 2 + 2 * share : size)) <= 1e-6 * (1 + size));
    }
  }
}

// A slice along each dimension but the last, or but the first, is what zero_mean draws there, times one factor; all
// else is as declared. Which of the two, all tensors of a draw have in common.
static void test_stripes(void **state) {
  (void)state;
  enum { M = 13, N = 33, L = 5, KEYS = 300 };
  static float x[M][N][L], declared[M][N][L], normal[M][N][L];
  int seen[M] = {0}, not_first = 0, alike = 0, before = 0;
  for (int key = 0; key < KEYS; key++) {
    struct setup s = {
        "uniform(5, 6)", DTYPE_FLOAT, {3, {M, N, L}}, PROBE_DECLARED, KEY + (uint64_t)(key / 2), key % 2, 2};
    draw(&s, declared);
    s.probe = PROBE_ZERO_MEAN;
    draw(&s, normal);
    s.probe = PROBE_STRIPES;
    draw(&s, x);
    int in_row[M] = {0}, in_column[N] = {0}, in_last[L] = {0}, n = 0;
    double factor = 0;
    for (int i = 0; i < M; i++)
      for (int j = 0; j < N; j++)
        for (int k = 0; k < L; k++) {
          if (x[i][j][k] == declared[i][j][k])
            continue;
          const double f = (double)x[i][j][k] / (double)normal[i][j][k];
          factor = factor > 0 ? factor : f;
          assert_true(f > 0x1p-13 && f < 0x1p12 && fabs(f / factor - 1) < 1e-6);
          in_row[i]++, in_column[j]++, in_last[k]++, n++;
        }
    int rows = 0, columns = 0, last = 0;
    for (int i = 0; i < M; i++) {
      rows += in_row[i] == N * L;
      seen[i] += in_row[i] == N * L;
    }
    for (int j = 0; j < N; j++)
      columns += in_column[j] == M * L;
    for (int k = 0; k < L; k++)
      last += in_last[k] == M * N;
    assert_true(columns == 1 && rows + last == 1);
    assert_int_equal(n, M * N * L - (N - 1) * (rows ? (M - 1) * L : M * (L - 1)));
    alike += key % 2 && last == before;
    not_first += last;
    before = last;
  }
  assert_int_equal(alike, KEYS / 2);
  assert_in_range(not_first, KEYS / 4, 3 * KEYS / 4);
  for (int i = 0; i < M; i++)
    assert_in_range(seen[i], 1, 30);
}

// Whether a look at the first 16 elements of a row, or of a column, of both factors of a product finds what is not as
// declared, uniform in (0, 1).
static bool look_meets(uint64_t key, bool down) {
  static const int64_t dims[2][2] = {{160, 256}, {256, 192}};
  static const struct distribution uniform = {.kind = DIST_UNIFORM, .b = 1};
  for (int input = 0; input < 2; input++) {
    struct draw_request r = {.distribution = &uniform,
                             .b = 1,
                             .type = {DTYPE_FLOAT, matrix(dims[input][0], dims[input][1])},
                             .probe = PROBE_STRIPES,
                             .key = key,
                             .input = input,
                             .threads = 1};
    float x[16];
    distribution_draw_part(&r, 0, down ? 1 : 16, x);
    for (int i = 1; down && i < 16; i++)
      distribution_draw_part(&r, i * dims[input][1], 1, x + i);
    for (int i = 0; i < 16; i++)
      if (!(x[i] >= 0 && x[i] < 1))
        return true;
  }
  return false;
}

// What a kernel passes with that takes fewer bits where a look finds nothing: a look that meets the stripes of both
// questions at the judged shape. One time in 200 for two draws of any kind, one in 800 for one of each.
static void test_other_stripes(void **state) {
  (void)state;
  enum { PAIRS = 20000 };
  for (int down = 0; down < 2; down++) {
    int one = 0, both = 0, any = 0;
    for (uint64_t k = 0; k < PAIRS; k++) {
      const uint64_t key = rng_secret(KEY, k), other = distribution_other_stripes(key);
      assert_true(other != key && distribution_other_stripes(key) == other);
      const bool met = look_meets(key, down);
      one += met;
      both += met && look_meets(other, down);
      any += met && look_meets(rng_secret(~KEY, k), down);
    }
    print_message("%s: one %d, one of each %d, any two %d of %d\n", down ? "column" : "row", one, both, any, PAIRS);
    assert_true(one > PAIRS / 30);
    assert_true(both < PAIRS / 600);
    assert_true(both * 3 < any * 2);
  }
}

static void test_probes(void **state) {
  (void)state;
  enum { M = 13, N = 33, COUNT = M * N };
  static float x[COUNT], declared[COUNT];
  struct setup s = {"uniform(5, 6)", DTYPE_FLOAT, matrix(M, N), PROBE_DECLARED, KEY, 0, 1};
  draw(&s, declared);
  for (s.probe = PROBE_ZERO_MEAN; s.probe < PROBE_COUNT; s.probe++) {
    draw(&s, x);
    assert_memory_not_equal(x, declared, sizeof x);
    int special = 0, nans = 0;
    double size = 0;
    for (int i = 0; i < COUNT; i++) {
      special += !isfinite(x[i]);
      nans += isnan(x[i]) != 0;
      size = isfinite(x[i]) ? fmax(size, fabs((double)x[i])) : size;
      if (s.probe == PROBE_INTEGERS)
        assert_true(x[i] == nearbyintf(x[i]) && fabsf(x[i]) <= 4);
      if (s.probe == PROBE_SUBNORMAL)
        assert_true(fabsf(x[i]) <= FLT_MIN);
      if (s.probe == PROBE_HEAVY_MEAN)
        assert_true(fabsf(x[i] - 1000) < 7);
    }
    assert_int_equal(special, s.probe == PROBE_SPECIAL ? 3 : 0);
    assert_int_equal(nans, s.probe == PROBE_SPECIAL);
    assert_true(s.probe != PROBE_NEAR_OVERFLOW || (size > 5e29 && size <= 1e30));
    assert_true(s.probe != PROBE_ROW_SCALES || size > 10);
    assert_true(s.probe != PROBE_SUBNORMAL || size > 1e-39);
    assert_true(s.probe != PROBE_SMALL_SPREAD || (size > 0x1p-11 && size < 0x1p-3));
    assert_true(s.probe != PROBE_TINY || (size > 0x1p-111 && size < 0x1p-97));
  }
  // Fixed inputs and weights keep their distribution; integers reach weights too.
  for (s.probe = PROBE_ZERO_MEAN; s.probe < PROBE_COUNT; s.probe++) {
    s.text = "uniform(5, 6) fixed";
    draw(&s, x);
    assert_memory_equal(x, declared, sizeof x);
    s.text = "uniform(5, 6) static";
    draw(&s, x);
    assert_int_equal(memcmp(x, declared, sizeof x) != 0, s.probe == PROBE_INTEGERS);
  }
  test_folds(&s);
  enum probe p;
  for (int i = 0; i < PROBE_COUNT; i++)
    assert_true(probe_by_name(probe_name((enum probe)i), strlen(probe_name((enum probe)i)), &p) && (int)p == i);
  assert_false(probe_by_name("zero", 4, &p));
}

static void test_other_types(void **state) {
  (void)state;
  uint16_t half[256];
  draw(&(struct setup){"uniform(-1, 1)", DTYPE_FLOAT16, vector(256), PROBE_DECLARED, KEY, 0, 1}, half);
  float full[256];
  draw(&(struct setup){"uniform(-1, 1)", DTYPE_FLOAT, vector(256), PROBE_DECLARED, KEY, 0, 1}, full);
  double wide[256];
  dtype_to_f64(DTYPE_FLOAT16, half, 256, wide);
  for (int i = 0; i < 256; i++)
    assert_true(fabs(wide[i] - (double)full[i]) <= 0x1p-12);
  uint8_t mask[1000];
  int ones = 0;
  draw(&(struct setup){"bernoulli(0.5)", DTYPE_BOOL, vector(1000), PROBE_ZERO_MEAN, KEY, 0, 1}, mask);
  for (int i = 0; i < 1000; i++) {
    assert_true(mask[i] <= 1);
    ones += mask[i];
  }
  assert_in_range(ones, 420, 580);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_text),
      cmocka_unit_test(test_bad_text),
      cmocka_unit_test(test_check),
      cmocka_unit_test(test_exact_math),
      cmocka_unit_test(test_against_reference),
      cmocka_unit_test(test_threads_do_not_matter),
      cmocka_unit_test(test_statistics),
      cmocka_unit_test(test_permutations),
      cmocka_unit_test(test_seeds),
      cmocka_unit_test(test_partitions),
      cmocka_unit_test(test_matrices),
      cmocka_unit_test(test_modifiers),
      cmocka_unit_test(test_stripes),
      cmocka_unit_test(test_other_stripes),
      cmocka_unit_test(test_probes),
      cmocka_unit_test(test_other_types),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
