// SPDX-License-Identifier: Apache-2.0
// MatMul, Gemm and their kin against plain loops in long double, and against arithmetic really done in fp32.
#include "op_case.h"

#include "ops/gemm.h"

static void naive_matmul(const double *a, const double *b, int64_t m, int64_t k, int64_t n, double *y) {
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      long double sum = 0;
      for (int64_t l = 0; l < k; l++)
        sum += (long double)a[i * k + l] * b[l * n + j];
      y[i * n + j] = (double)sum;
    }
}

static void test_matmul(void **state) {
  (void)state;
  static const int64_t sizes[][3] = {{1, 1, 1},     {3, 5, 7},    {17, 65, 33}, {64, 64, 64},
                                     {130, 70, 90}, {5, 2000, 3}, {4, 0, 3}};
  for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
    int64_t m = sizes[s][0], k = sizes[s][1], n = sizes[s][2];
    struct op_case c;
    case_begin(&c, "", "MatMul", 13);
    struct array *a = case_float_input(&c, 1, -1, 1, DIMS(m, k)), *b = case_float_input(&c, 2, -1, 1, DIMS(k, n));
    double *want = arena_calloc(&c.arena, (size_t)(m * n) + 1, sizeof *want);
    naive_matmul(a->f64, b->f64, m, k, n, want);
    case_run(&c, case_exact(), 2);
    assert_int_equal(c.out[0].shape.rank, 2);
    assert_close(c.out[0].f64, want, m * n, 1e-13);
    case_check_threads(&c);
    case_end(&c);
  }
}

static void test_matmul_batches(void **state) {
  (void)state;
  struct op_case c;
  case_begin(&c, "", "MatMul", 13);
  struct array *a = case_float_input(&c, 1, -1, 1, DIMS(2, 1, 3, 4)),
               *b = case_float_input(&c, 2, -1, 1, DIMS(5, 4, 2));
  case_run(&c, case_exact(), 2);
  struct shape want_shape = shape_of(DIMS(2, 5, 3, 2));
  assert_true(shape_equal(&c.out[0].shape, &want_shape));
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 5; j++) {
      double want[6];
      naive_matmul(a->f64 + i * 12, b->f64 + j * 8, 3, 4, 2, want);
      assert_close(c.out[0].f64 + (i * 5 + j) * 6, want, 6, 1e-14);
    }
  case_end(&c);

  // A shared right-hand side folds the batch into the rows.
  case_begin(&c, "", "MatMul", 13);
  a = case_float_input(&c, 1, -1, 1, DIMS(6, 30, 40));
  b = case_float_input(&c, 2, -1, 1, DIMS(40, 50));
  case_run(&c, case_exact(), 2);
  double *want = arena_calloc(&c.arena, 6 * 30 * 50, sizeof *want);
  naive_matmul(a->f64, b->f64, 6 * 30, 40, 50, want);
  assert_close(c.out[0].f64, want, 6 * 30 * 50, 1e-13);
  case_end(&c);

  // Vectors on either side lose their extent of 1.
  case_begin(&c, "", "MatMul", 13);
  a = case_float_input(&c, 1, -1, 1, DIMS(4));
  b = case_float_input(&c, 2, -1, 1, DIMS(4));
  case_run(&c, case_exact(), 2);
  assert_int_equal(c.out[0].shape.rank, 0);
  double dot = 0;
  for (int i = 0; i < 4; i++)
    dot += a->f64[i] * b->f64[i];
  assert_close(c.out[0].f64, &dot, 1, 1e-15);
  case_end(&c);
}

static void test_matmul_errors(void **state) {
  (void)state;
  struct op_case c;
  case_begin(&c, "", "MatMul", 13);
  case_float_input(&c, 1, -1, 1, DIMS(3, 4));
  case_float_input(&c, 2, -1, 1, DIMS(5, 4));
  assert_int_equal(case_infer(&c), ASSAY_ERR_INVALID);
  assert_non_null(strstr(c.err.message, "4 columns meet 5 rows"));
  case_end(&c);
  case_begin(&c, "", "MatMul", 13);
  case_float_input(&c, 1, -1, 1, DIMS(2, 3, 4));
  case_float_input(&c, 2, -1, 1, DIMS(3, 4, 5));
  assert_int_equal(case_infer(&c), ASSAY_ERR_INVALID);
  case_end(&c);
}

static void test_matmul_integers_wrap(void **state) {
  (void)state;
  struct op_case c;
  case_begin(&c, "", "MatMul", 13);
  struct array *a = case_input(&c, DTYPE_INT32, DIMS(1, 2)), *b = case_input(&c, DTYPE_INT32, DIMS(2, 1));
  a->i64[0] = 65536;
  a->i64[1] = 3;
  b->i64[0] = 65536;
  b->i64[1] = -7;
  case_run(&c, case_exact(), 1);
  assert_int_equal(c.out[0].i64[0], -21);
  case_end(&c);
}

static void test_matmul_integer(void **state) {
  (void)state;
  static const int64_t av[] = {11, 7, 3, 10, 6, 2, 9, 5, 1, 8, 4, 0}, bv[] = {1, 4, 2, 5, 3, 6};
  static const int64_t want[] = {-38, -83, -44, -98, -50, -113, -56, -128}; // onnx's test_matmulinteger
  struct op_case c;
  case_begin(&c, "", "MatMulInteger", 13);
  memcpy(case_input(&c, DTYPE_UINT8, DIMS(4, 3))->i64, av, sizeof av);
  memcpy(case_input(&c, DTYPE_UINT8, DIMS(3, 2))->i64, bv, sizeof bv);
  case_input(&c, DTYPE_UINT8, DIMS(1))->i64[0] = 12;
  case_input(&c, DTYPE_UINT8, DIMS(1))->i64[0] = 0;
  case_run(&c, case_exact(), 1);
  assert_memory_equal(c.out[0].i64, want, sizeof want);
  case_end(&c);
}

static void test_gemm(void **state) {
  (void)state;
  for (int form = 0; form < 4; form++) {
    int64_t m = 23, k = 41, n = 37;
    bool ta = form & 1, tb = form & 2;
    struct op_case c;
    case_begin(&c, "", "Gemm", 13);
    struct array *a = case_float_input(&c, 1, -1, 1, DIMS(ta ? k : m, ta ? m : k));
    struct array *b = case_float_input(&c, 2, -1, 1, DIMS(tb ? n : k, tb ? k : n));
    struct array *bias = case_float_input(&c, 3, -1, 1, DIMS(m, 1));
    case_int(&c, "transA", ta);
    case_int(&c, "transB", tb);
    case_float(&c, "alpha", 0.5);
    case_float(&c, "beta", -2);
    case_run(&c, case_exact(), 2);
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++) {
        long double sum = 0;
        for (int64_t l = 0; l < k; l++)
          sum += (long double)a->f64[ta ? l * m + i : i * k + l] * b->f64[tb ? j * k + l : l * n + j];
        double want = (double)(0.5L * sum - 2 * bias->f64[i]);
        assert_close(&c.out[0].f64[i * n + j], &want, 1, 1e-13);
      }
    case_check_threads(&c);
    case_end(&c);
  }
}

static void test_gemm_errors(void **state) {
  (void)state;
  struct op_case c;
  case_begin(&c, "", "Gemm", 13);
  case_float_input(&c, 1, -1, 1, DIMS(3, 4));
  case_float_input(&c, 2, -1, 1, DIMS(4, 5));
  case_float_input(&c, 2, -1, 1, DIMS(2, 3, 5));
  assert_int_equal(case_infer(&c), ASSAY_ERR_INVALID);
  assert_non_null(strstr(c.err.message, "does not broadcast"));
  case_end(&c);
}

// What fp32 kernels really do: one running sum, and blocks of eight lanes.
static void fp32_matmul(const struct array *a, const struct array *b, int64_t m, int64_t k, int64_t n, int lanes,
                        float *y) {
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      float sum[8] = {0};
      for (int64_t l = 0; l < k; l++) {
        float p = (float)a->f64[i * k + l] * (float)b->f64[l * n + j];
        sum[l % lanes] += p;
      }
      for (int l = 1; l < lanes; l++)
        sum[0] += sum[l];
      y[i * n + j] = sum[0];
    }
}

static void test_honest_fp32(void **state) {
  (void)state;
  enum { M = 24, N = 40 };
  static const int64_t depths[] = {3, 64, 1024};
  for (int positive = 0; positive < 2; positive++)
    for (size_t d = 0; d < 3; d++)
      for (int lanes = 1; lanes <= 8; lanes *= 8) {
        struct op_case c;
        float y[M * N];
        double ratio;
        case_begin(&c, "", "MatMul", 13);
        struct array *a = case_float_input(&c, 5 + d, positive ? 0 : -1, 1, DIMS(M, depths[d]));
        struct array *b = case_float_input(&c, 50 + d, positive ? 0 : -1, 1, DIMS(depths[d], N));
        fp32_matmul(a, b, M, depths[d], N, lanes, y);
        double z = case_honest_z(&c, 0, y, &ratio);
        assert_true(z < 6);
        assert_true(ratio < 40); // and not because the scale is so wide
        // Half the terms missing is far outside.
        y[5] *= 0.5f;
        assert_true(case_honest_z(&c, 0, y, NULL) > 100);
        case_end(&c);
      }
}

// Every assignment of numbers to letters, one product each: nothing in common with pairwise matrix products.
static void naive_einsum(const struct op_case *c, const char *equation, double *y, int64_t n) {
  int64_t extent[128] = {0}, value[128] = {0}, total = 1;
  const char *at = equation;
  for (int i = 0; i < c->node.n_inputs; i++, at++)
    for (int d = 0; *at != ',' && *at != '-'; at++, d++)
      extent[(int)*at] = c->in[i].shape.dims[d];
  for (int l = 0; l < 128; l++)
    total *= extent[l] ? extent[l] : 1;
  long double *sum = calloc((size_t)n, sizeof *sum);
  for (int64_t t = 0; t < total; t++) {
    int64_t rest = t;
    for (int l = 0; l < 128; l++)
      if (extent[l]) {
        value[l] = rest % extent[l];
        rest /= extent[l];
      }
    long double product = 1;
    at = equation;
    for (int i = 0; i < c->node.n_inputs; i++, at++) {
      int64_t offset = 0;
      for (; *at != ',' && *at != '-'; at++)
        offset = offset * extent[(int)*at] + value[(int)*at];
      product *= c->in[i].f64[offset];
    }
    int64_t to = 0;
    for (at++; *at; at++)
      to = to * extent[(int)*at] + value[(int)*at];
    sum[to] += product;
  }
  for (int64_t i = 0; i < n; i++)
    y[i] = (double)sum[i];
  free(sum);
}

static void test_einsum(void **state) {
  (void)state;
  static const char *const equations[] = {
      "ij->ji",        "ii->i",       "ij->",        "ij->i",        "iji->j",       "ij,jk->ik",
      "ij,jk->ki",     "ij,ij->ij",   "ij,ij->",     "i,j->ij",      "bij,bjk->bik", "bijl,lk->bijk",
      "ijb,kjb->bki",  "ij,kl->il",   "aib,bja->ji", "ij,jk,kl->il", "ijk,j,k->i",   "bclhn,bcshn,bhcls,bcshp->bclhp",
      "ab,bc,cd,da->", "jbi,kjb->ki",
  };
  for (size_t e = 0; e < sizeof equations / sizeof equations[0]; e++) {
    struct op_case c;
    case_begin(&c, "", "Einsum", 12);
    const char *at = equations[e];
    for (uint64_t seed = 1; seed == 1 || at[-1] == ','; seed++, at++) {
      int64_t dims[SHAPE_MAX_RANK];
      int rank = 0;
      for (; *at != ',' && *at != '-'; at++)
        dims[rank++] = 2 + (*at * 7) % 4;
      case_float_input(&c, seed, -1, 1, rank, dims);
    }
    case_string(&c, "equation", equations[e]);
    case_run(&c, case_exact(), 2);
    int64_t n = shape_count(&c.out[0].shape);
    double *want = arena_calloc(&c.arena, (size_t)n, sizeof *want);
    assert_int_equal(c.out[0].shape.rank, strlen(strchr(equations[e], '>') + 1));
    naive_einsum(&c, equations[e], want, n);
    assert_close(c.out[0].f64, want, n, 1e-13);
    case_check_threads(&c);
    case_end(&c);
  }
}

static void test_einsum_forms(void **state) {
  (void)state;
  // An ellipsis and spaces; no arrow: letters that occur once, in order.
  struct op_case c, plain;
  case_begin(&c, "", "Einsum", 12);
  case_float_input(&c, 1, -1, 1, DIMS(5, 1, 2, 3));
  case_float_input(&c, 2, -1, 1, DIMS(4, 3, 2));
  case_string(&c, "equation", " ...ij , ...jk");
  case_run(&c, case_exact(), 1);
  struct shape want = shape_of(DIMS(5, 4, 2, 2));
  assert_true(shape_equal(&c.out[0].shape, &want));
  case_begin(&plain, "", "MatMul", 13);
  case_float_input(&plain, 1, -1, 1, DIMS(5, 1, 2, 3));
  case_float_input(&plain, 2, -1, 1, DIMS(4, 3, 2));
  case_run(&plain, case_exact(), 1);
  assert_close(c.out[0].f64, plain.out[0].f64, shape_count(&want), 1e-15);
  case_end(&c);
  case_end(&plain);

  case_begin(&c, "", "Einsum", 12);
  memcpy(case_input(&c, DTYPE_INT64, DIMS(2, 2))->i64, (const int64_t[]){1, 2, 3, 4}, 32);
  memcpy(case_input(&c, DTYPE_INT64, DIMS(2))->i64, (const int64_t[]){10, 100}, 16);
  case_string(&c, "equation", "ij,j->i");
  case_run(&c, case_exact(), 1);
  assert_int_equal(c.out[0].i64[0], 210);
  assert_int_equal(c.out[0].i64[1], 430);
  case_end(&c);

  static const char *const wrong[] = {"ij,jk->ikx", "ij->ij",    "i,jk->ik", "ij,jk,kl->il",
                                      "ij,j?->i",   "ij,ik->jk", "...,->",   ""};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    case_begin(&c, "", "Einsum", 12);
    case_float_input(&c, 1, -1, 1, DIMS(2, 3));
    case_float_input(&c, 2, -1, 1, DIMS(3, 4));
    case_string(&c, "equation", wrong[i]);
    assert_int_equal(case_infer(&c), ASSAY_ERR_INVALID);
    case_end(&c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_matmul),         cmocka_unit_test(test_matmul_batches),
      cmocka_unit_test(test_matmul_errors),  cmocka_unit_test(test_matmul_integers_wrap),
      cmocka_unit_test(test_matmul_integer), cmocka_unit_test(test_gemm),
      cmocka_unit_test(test_gemm_errors),    cmocka_unit_test(test_honest_fp32),
      cmocka_unit_test(test_einsum),         cmocka_unit_test(test_einsum_forms),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
