// SPDX-License-Identifier: Apache-2.0
// Functions of matrices and factors by elimination, by what defines them.
#include "op_case.h"

enum { N = 13, M = 7 };

static double product_at(const double *a, const double *b, int inner, int columns, int i, int j) {
  double sum = 0;
  for (int k = 0; k < inner; k++)
    sum += a[i * inner + k] * b[k * columns + j];
  return sum;
}

// The root of B B' times itself is B B'; what stands above the diagonal is not read.
static void test_power(void **state) {
  (void)state;
  struct op_case c;
  double full[N][N];
  case_begin(&c, "ai.assay", "SymmetricPower", 1);
  struct array *a = case_float_input(&c, 1, -1, 1, DIMS(2, N, N));
  double b[N][N];
  memcpy(b, a->f64 + N * N, sizeof b);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      full[i][j] = i == j;
      for (int k = 0; k < N; k++)
        full[i][j] += b[i][k] * b[j][k];
    }
  memcpy(a->f64 + N * N, full, sizeof full);
  for (int i = 0; i < N; i++)
    for (int j = i + 1; j < N; j++)
      a->f64[N * N + i * N + j] = 1e9;
  for (int i = 0; i < N * N; i++)
    a->f64[i] = i % (N + 1) == 0 ? 4 : 0;
  case_float(&c, "k", 0.5);
  case_run(&c, case_exact(), 2);
  const double *root = c.out[0].f64 + N * N;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      assert_true(fabs(product_at(root, root, N, N, i, j) - full[i][j]) < 1e-12 * N);
      assert_true(fabs(c.out[0].f64[i * N + j] - (i == j ? 2 : 0)) < 1e-14);
    }
  case_check_threads(&c);
  case_end(&c);
}

// A rotation times 3 has eigenvalues 3i and -3i; a triangle has those on its diagonal.
static void test_radius(void **state) {
  (void)state;
  static const double v[] = {0, -3, 3, 0, -5, 100, 0, 2};
  struct op_case c;
  case_begin(&c, "ai.assay", "SpectralRadius", 1);
  memcpy(case_input(&c, DTYPE_FLOAT, DIMS(2, 2, 2))->f64, v, sizeof v);
  case_run(&c, case_exact(), 1);
  assert_true(fabs(c.out[0].f64[0] - 3) < 1e-14 && fabs(c.out[0].f64[1] - 5) < 1e-14);
  case_end(&c);
}

// The nearest matrix of rank 2 to U diag(9, 4, 1) V', whose vectors are columns of reflections: without the 1.
static void test_low_rank(void **state) {
  (void)state;
  for (int form = 0; form < 3; form++) {
    int m = form == 0 ? N : M, n = form == 1 ? N : M;
    struct op_case c;
    case_begin(&c, "ai.assay", "LowRank", 1);
    struct array *a = case_input(&c, DTYPE_FLOAT, DIMS(m, n));
    double want[N * N];
    for (int i = 0; i < m; i++)
      for (int j = 0; j < n; j++) {
        double all = 0;
        static const double s[] = {9, 4, 1};
        for (int k = 0; k < 3; k++) {
          double u = (i == k) - 2.0 / m, v = (j == k) - 2.0 / n;
          all += s[k] * u * v;
          if (k < 2)
            want[i * n + j] = all;
        }
        a->f64[i * n + j] = all;
      }
    case_int(&c, "rank", 2);
    case_run(&c, case_exact(), 1);
    for (int i = 0; i < m * n; i++)
      assert_true(fabs(c.out[0].f64[i] - want[i]) < 1e-13);
    case_end(&c);
  }
}

// A X A = A, and A X and X A are symmetric: of a tall matrix and of a wide one.
static void test_pseudo_inverse(void **state) {
  (void)state;
  for (int form = 0; form < 2; form++) {
    int m = form ? M : N, n = form ? N : M;
    struct op_case c;
    case_begin(&c, "ai.assay", "PseudoInverse", 1);
    const double *a = case_float_input(&c, 3, -1, 1, DIMS(m, n))->f64;
    case_run(&c, case_exact(), 1);
    const double *x = c.out[0].f64;
    double ax[N * N], xa[N * N];
    for (int i = 0; i < m; i++)
      for (int j = 0; j < m; j++)
        ax[i * m + j] = product_at(a, x, n, m, i, j);
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++)
        xa[i * n + j] = product_at(x, a, m, n, i, j);
    for (int i = 0; i < m; i++)
      for (int j = 0; j < n; j++)
        assert_true(fabs(product_at(ax, a, m, n, i, j) - a[i * n + j]) < 1e-12);
    for (int i = 0; i < m; i++)
      for (int j = 0; j < m; j++)
        assert_true(fabs(ax[i * m + j] - ax[j * m + i]) < 1e-12);
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++)
        assert_true(fabs(xa[i * n + j] - xa[j * n + i]) < 1e-12);
    case_end(&c);
  }
}

// P L U is the matrix, no number of L is above 1.
static void test_factors(void **state) {
  (void)state;
  struct op_case c;
  double pl[N * N];
  case_begin(&c, "ai.assay", "LU", 1);
  struct array *a = case_float_input(&c, 5, -1, 1, DIMS(N, N));
  a->f64[0] = 0;
  c.node.n_outputs = 3;
  case_run(&c, case_exact(), 1);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      pl[i * N + j] = product_at(c.out[0].f64, c.out[1].f64, N, N, i, j);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      double l = c.out[1].f64[i * N + j], u = c.out[2].f64[i * N + j];
      assert_true(fabs(product_at(pl, c.out[2].f64, N, N, i, j) - a->f64[i * N + j]) < 1e-13);
      assert_true(fabs(l) <= 1 && (i >= j || l == 0) && (i != j || l == 1) && (i <= j || u == 0));
    }
  case_end(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_power), cmocka_unit_test(test_radius),
                                     cmocka_unit_test(test_low_rank), cmocka_unit_test(test_pseudo_inverse),
                                     cmocka_unit_test(test_factors)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
