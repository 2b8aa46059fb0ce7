// SPDX-License-Identifier: Apache-2.0
// OpenBLAS against the loops in a fixed order: sums, sums of squares, every layout, extreme magnitudes; and that
// results do not depend on the number of threads.
#include "op_case.h"

#include "ops/gemm.h"

struct layout {
  bool a_transposed, b_transposed;
  int64_t pad; // extra elements between lines
};

static void make(const struct layout *l, int64_t m, int64_t n, int64_t k, double *a, double *b, struct gemm *g) {
  *g = (struct gemm){.m = m, .n = n, .k = k, .a = a, .b = b, .a_col = 1, .b_col = 1};
  g->a_row = k + l->pad;
  g->b_row = n + l->pad;
  if (l->a_transposed) {
    g->a_row = 1;
    g->a_col = m + l->pad;
  }
  if (l->b_transposed) {
    g->b_row = 1;
    g->b_col = k + l->pad;
  }
}

static double *random_matrix(int64_t n, uint64_t seed, double lo, double hi) {
  double *x = calloc((size_t)n, sizeof *x);
  for (int64_t i = 0; i < n; i++)
    x[i] = case_uniform(&seed, lo, hi);
  return x;
}

// Sums within a few rounding errors of sums of magnitudes; squares within single precision.
static void check(const struct gemm *g) {
  size_t count = (size_t)(g->m * (g->n + 3));
  double *c = calloc(count, 8), *t2 = calloc(count, 8), *ref = calloc(count, 8), *ref_t2 = calloc(count, 8);
  assert_true(gemm_blas_can(g));
  int64_t ld = g->n + 3; // a block of a wider matrix
  for (size_t i = 0; i < count; i++)
    c[i] = t2[i] = 12345;
  assert_int_equal(gemm_blas(g, c, t2, ld, NULL), ASSAY_OK);
  gemm_loops(g, ref, ref_t2, ld);
  for (int64_t i = 0; i < g->m; i++) {
    for (int64_t j = 0; j < g->n; j++) {
      double got = c[i * ld + j], want = ref[i * ld + j], squares = ref_t2[i * ld + j];
      // Cauchy and Schwarz: the magnitudes of k terms sum to at most sqrt(k * t2).
      double slack = 0x1p-50 * sqrt((double)g->k) * sqrt((double)g->k * squares);
      if (!(fabs(got - want) <= slack) || !(fabs(t2[i * ld + j] - squares) <= 1e-5 * squares))
        fail_msg("[%d,%d] of %dx%dx%d: %.17g for %.17g, squares %.17g for %.17g", (int)i, (int)j, (int)g->m, (int)g->n,
                 (int)g->k, got, want, t2[i * ld + j], squares);
    }
    for (int64_t j = g->n; j < ld; j++)
      assert_true(c[i * ld + j] == 12345 && t2[i * ld + j] == 12345);
  }
  free(c), free(t2), free(ref), free(ref_t2);
}

static void test_layouts(void **state) {
  (void)state;
  static const int64_t sizes[][3] = {{1, 1, 1},    {1, 7, 9},    {7, 1, 9},    {8, 9, 1},
                                     {33, 65, 17}, {64, 64, 64}, {5, 6, 3000}, {130, 257, 96}};
  for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
    for (int form = 0; form < 8; form++) {
      int64_t m = sizes[s][0], n = sizes[s][1], k = sizes[s][2];
      struct layout l = {form & 1, form & 2, form & 4 ? 5 : 0};
      double *a = random_matrix((m + 5) * (k + 5), 1, -1, 1), *b = random_matrix((k + 5) * (n + 5), 2, -1, 1);
      struct gemm g;
      make(&l, m, n, k, a, b, &g);
      check(&g);
      free(a), free(b);
    }
}

// Rows and columns of wildly different magnitude: single precision alone would not hold their squares.
static void test_magnitudes(void **state) {
  (void)state;
  enum { M = 40, N = 50, K = 60 };
  static const double scales[] = {1, 1e30, 1e-30, 1e-40, 1e38, 0};
  double *a = random_matrix(M * K, 1, -1, 1), *b = random_matrix(K * N, 2, -1, 1);
  for (int i = 0; i < M * K; i++)
    a[i] *= scales[i / K % 6];
  for (int i = 0; i < K * N; i++)
    b[i] *= scales[i % N % 6];
  struct gemm g;
  make(&(struct layout){false, false, 0}, M, N, K, a, b, &g);
  check(&g);
  // Infinities and NaN reach the sums that contain them and no others.
  double c[M * N], t2[M * N], ref[M * N], ref_t2[M * N];
  a[3 * K + 5] = INFINITY;
  b[7 * N + 9] = NAN;
  assert_int_equal(gemm_blas(&g, c, t2, N, NULL), ASSAY_OK);
  gemm_loops(&g, ref, ref_t2, N);
  for (int i = 0; i < M * N; i++) {
    assert_int_equal(isfinite(c[i]), isfinite(ref[i]));
    if (isfinite(ref[i]))
      assert_true(fabs(t2[i] - ref_t2[i]) <= 1e-5 * ref_t2[i]);
  }
  free(a), free(b);
}

static void test_strides_that_blas_cannot_read(void **state) {
  (void)state;
  double x[64] = {0};
  struct gemm g = {.m = 4, .n = 4, .k = 4, .a = x, .b = x, .a_row = 8, .a_col = 2, .b_row = 4, .b_col = 1};
  assert_false(gemm_blas_can(&g)); // no stride is 1
  g.a_col = 1;
  assert_true(gemm_blas_can(&g));
  g.a_row = 2; // lines overlap
  assert_false(gemm_blas_can(&g));
  g.a_row = 0; // the same line again and again
  assert_false(gemm_blas_can(&g));
}

// The same bits for any number of threads, in both passes, for shapes that are cut in different ways.
static void test_threads(void **state) {
  (void)state;
  static const int64_t sizes[][4] = {{1, 600, 700, 150}, {3, 70, 1100, 64}, {40, 16, 16, 300}, {1, 64, 64, 4000}};
  for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
    struct op_case c;
    case_begin(&c, "", "MatMul", 13);
    case_float_input(&c, 1, -1, 1, DIMS(sizes[s][0], sizes[s][1], sizes[s][3]));
    case_float_input(&c, 2, -1, 1, DIMS(sizes[s][0], sizes[s][3], sizes[s][2]));
    case_check_threads(&c);
    case_end(&c);
  }
}

// Contract passes spread by what arith_sum_variance says for the loops' sums of squares, blocks or not.
static void test_spread(void **state) {
  (void)state;
  enum { M = 70, N = 80, K = 200, PASSES = 24 };
  struct op_case c;
  case_begin(&c, "", "MatMul", 13);
  struct array *a = case_float_input(&c, 1, -1, 1, DIMS(M, K)), *b = case_float_input(&c, 2, -1, 1, DIMS(K, N));
  struct gemm g;
  make(&(struct layout){false, false, 0}, M, N, K, a->f64, b->f64, &g);
  static double y[M * N], t2[M * N];
  gemm_loops(&g, y, t2, N);
  double ratio = 0;
  for (uint64_t pass = 0; pass < PASSES; pass++) {
    struct arith arith = case_fp32(pass);
    case_run(&c, arith, 2);
    for (int i = 0; i < M * N; i++) {
      double variance = arith_sum_variance(&arith, y[i], t2[i], K, true), unit = 0x1p-24 * fabs(y[i]);
      variance += unit * unit * 2 / 3; // stochastic rounding of the result, on average
      ratio += (c.out[0].f64[i] - y[i]) * (c.out[0].f64[i] - y[i]) / variance / (M * N * PASSES);
    }
  }
  assert_true(ratio > 0.97 && ratio < 1.03);
  case_end(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_layouts),
      cmocka_unit_test(test_magnitudes),
      cmocka_unit_test(test_strides_that_blas_cannot_read),
      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_spread),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
