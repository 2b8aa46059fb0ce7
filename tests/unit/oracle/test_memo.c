// SPDX-License-Identifier: Apache-2.0
// modules: onnx oracle
// link: -Wl,--wrap=memory_available,--wrap=oracle_eval
// What the passes of one answer share of a factorization, and large matrices, whose blocks are spread over threads: the
// same numbers as passes that share nothing, whatever the number of threads.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/memory.h"
#include "onnx/onnx.h"
#include "ops/blocked.h"
#include "oracle/run.h"

enum { REPLICAS = 8, N = 300, COLUMNS = 3 };

static const struct arith fp32 = {
    .bits = 24, .min_exponent = -126, .max = 0x1.fffffep127, .product_bits = 53, .block = 1, .key = 5};

struct example {
  const char *text;
  int n, columns;
};
static const struct example examples[] = {
    {"(float[2,21,21] a) => (float[2,21,21] y) { y = ai.assay.Inverse(a) }", 21, 0},
    {"(float[2,21,21] a) => (float[2] y) { y = Det(a) }", 21, 0},
    {"(float[2,21,21] a) => (float[2] s, float[2] y) { s, y = ai.assay.SlogDet(a) }", 21, 0},
    {"(float[2,21,21] a, float[2,21,3] b) => (float[2,21,3] y) { y = ai.assay.Solve(a, b) }", 21, 3},
    {"(float[2,21,21] a) => (float[2,21,21] p, float[2,21,21] l, float[2,21,21] u) { p, l, u = ai.assay.LU(a) }", 21,
     0},
    {"(float[2,21,21] a) => (float[2,21,21] y) { y = ai.assay.Cholesky(a) }", 21, 0},
    {"(float[2,21,21] a) => (float[2,21,21] q, float[2,21,21] r) { q, r = ai.assay.QR(a) }", 21, 0},
    {"(float[2,21,21] a) => (float[2,21,21] u, float[2,21] s, float[2,21,21] v) { u, s, v = ai.assay.SVD(a) }", 21, 0},
    {"(float[1,300,300] a) => (float[1,300,300] y) { y = ai.assay.Inverse(a) }", N, 0},
    {"(float[1,300,300] a) => (float[1,300,300] y) { y = ai.assay.Cholesky(a) }", N, 0},
    {"(float[1,300,300] a) => (float[1,300,300] q, float[1,300,300] r) { q, r = ai.assay.QR(a) }", N, 0},
    {"(float[1,300,300] a, float[1,300,3] b) => (float[1,300,3] y) { y = ai.assay.SolveTriangular<upper = 1>(a, b) }",
     N, 3},
};
enum { EXAMPLES = sizeof examples / sizeof examples[0] };

// Definite, so that all of them have an answer; the second matrix of a batch is another one.
static void fill(struct array *a, int n) {
  struct noise noise = noise_at(1, (uint64_t)n);
  for (int64_t i = 0; i < shape_count(&a->shape); i++) {
    const int64_t row = i / n % n, column = i % n;
    a->f64[i] = (double)(float)(noise_normal(&noise) / n + (row == column ? 2 + (double)row / n : 0));
  }
  for (int64_t i = 0; i < shape_count(&a->shape) && a->shape.dims[2] == n; i++) {
    const int64_t row = i / n % n, column = i % n, first = i - row * n - column;
    if (column > row)
      a->f64[i] = a->f64[first + column * n + row];
  }
}

static void begin(const struct example *e, struct model *m, struct array in[2]) {
  struct assay_error err = {0};
  const int batch = e->n == N ? 1 : 2;
  const struct shape a = {.rank = 3, .dims = {batch, e->n, e->n}}, b = {.rank = 3, .dims = {batch, e->n, COLUMNS}};
  memset(in, 0, 2 * sizeof *in);
  if (onnx_parse_graph(e->text, strlen(e->text), "shared", m, &err))
    fail_msg("%s", err.message);
  assert_int_equal(array_create(DTYPE_FLOAT, &a, &in[0], NULL), ASSAY_OK);
  fill(&in[0], e->n);
  if (e->columns)
    assert_int_equal(array_create(DTYPE_FLOAT, &b, &in[1], NULL), ASSAY_OK);
  for (int64_t i = 0; e->columns && i < shape_count(&b); i++)
    in[1].f64[i] = cos((double)i);
}

static void end(struct model *m, struct array in[2]) {
  array_release(&in[0]);
  array_release(&in[1]);
  model_release(m);
}

static void eval(const struct oracle_request *r, struct array *y) {
  struct assay_error err = {0};
  if (oracle_eval(r, y, &err))
    fail_msg("%s", err.message);
}

static void expect_same(const struct graph *g, const struct array *a, const struct array *b) {
  for (int o = 0; o < g->n_outputs; o++)
    assert_memory_equal(a[o].bits, b[o].bits, (size_t)shape_count(&a[o].shape) * sizeof *a[o].bits);
}

static void release(const struct graph *g, struct array *y) {
  for (int o = 0; o < g->n_outputs; o++)
    array_release(&y[o]);
}

// A pass after the exact one gives what it gives alone; and there was something to share, but of a triangle.
static void test_passes_share(void **state) {
  (void)state;
  for (int i = 0; i < EXAMPLES; i++) {
    struct model m;
    struct array in[2], truth[3] = {0}, alone[3] = {0}, after[3] = {0};
    begin(&examples[i], &m, in);
    struct oracle_request r = {.graph = &m.flat, .inputs = in, .arith = fp32, .threads = 2};
    eval(&r, alone);
    r.memos = run_memos_make(&m.flat);
    assert_non_null(r.memos);
    r.arith = arith_truth(&fp32);
    eval(&r, truth);
    assert_true((r.memos[0].kept == NULL) == (strstr(examples[i].text, "Triangular") != NULL));
    const void *kept = r.memos[0].kept;
    r.arith = fp32;
    eval(&r, after);
    assert_ptr_equal(r.memos[0].kept, kept);
    expect_same(&m.flat, alone, after);
    release(&m.flat, alone);
    release(&m.flat, truth);
    release(&m.flat, after);
    run_memos_release(&m.flat, r.memos);
    end(&m, in);
  }
}

// Passes at once, and blocks over threads.
static void test_threads(void **state) {
  (void)state;
  for (int i = 0; i < EXAMPLES; i++) {
    struct model m;
    struct array in[2];
    struct oracle_answer one, many;
    begin(&examples[i], &m, in);
    assert_int_equal(oracle_answer_make(&m.flat, in, &fp32, REPLICAS, 1, &one, NULL), ASSAY_OK);
    assert_int_equal(oracle_answer_make(&m.flat, in, &fp32, REPLICAS, 5, &many, NULL), ASSAY_OK);
    assert_true(one.representable && many.representable);
    expect_same(&m.flat, one.y, many.y);
    for (int o = 0; o < m.flat.n_outputs; o++)
      assert_memory_equal(one.sigma[o], many.sigma[o], (size_t)shape_count(&one.y[o].shape) * sizeof *one.sigma[o]);
    oracle_answer_release(&one);
    oracle_answer_release(&many);
    end(&m, in);
  }
}

static int64_t available_bytes; // 0: what the machine has

int64_t __real_memory_available(const char *root, int64_t *total);
int64_t __wrap_memory_available(const char *root, int64_t *total);
int64_t __wrap_memory_available(const char *root, int64_t *total) {
  const int64_t available = __real_memory_available(root, total);
  return available_bytes ? available_bytes : available;
}

static int64_t pass_bytes; // what the last answer's passes were said to take
static bool shared;        // one of its passes had a memo to read

enum assay_status __real_oracle_eval(const struct oracle_request *r, struct array *outputs, struct assay_error *err);
enum assay_status __wrap_oracle_eval(const struct oracle_request *r, struct array *outputs, struct assay_error *err);
enum assay_status __wrap_oracle_eval(const struct oracle_request *r, struct array *outputs, struct assay_error *err) {
  enum assay_status status = __real_oracle_eval(r, outputs, err);
  if (r->memos) {
    pass_bytes = r->pass_bytes;
    shared = shared || r->memos[0].kept;
  }
  return status;
}

// Where memory is nearly used up nothing is kept.
static void test_no_room(void **state) {
  (void)state;
  available_bytes = 1024;
  for (int i = 0; i < EXAMPLES; i++) {
    struct model m;
    struct array in[2], truth[3] = {0}, alone[3] = {0}, after[3] = {0};
    begin(&examples[i], &m, in);
    struct oracle_request r = {.graph = &m.flat, .inputs = in, .arith = fp32, .threads = 2};
    eval(&r, alone);
    r.arith = arith_truth(&fp32);
    r.memos = run_memos_make(&m.flat);
    assert_non_null(r.memos);
    eval(&r, truth);
    assert_null(r.memos[0].kept);
    r.arith = fp32;
    eval(&r, after);
    expect_same(&m.flat, alone, after);
    release(&m.flat, truth);
    release(&m.flat, alone);
    release(&m.flat, after);
    run_memos_release(&m.flat, r.memos);
    end(&m, in);
  }
  available_bytes = 0;
}

// What passes take stays free: a judgement whose need is just there has it to the end. Only what is spare beside that
// is for memos, also where they would be a small part of all.
static void test_only_what_is_spare(void **state) {
  (void)state;
  static const char text[] = "(float[1,100,100] a, float[1000000] b) => (float[1,100,100] y, float[1000000] z) "
                             "{ y = ai.assay.Inverse(a) z = Exp(b) }";
  const struct shape a = {.rank = 3, .dims = {1, 100, 100}}, b = {.rank = 1, .dims = {1000000}};
  struct assay_error err = {0};
  struct model m;
  struct array in[2] = {0};
  assert_int_equal(onnx_parse_graph(text, strlen(text), "spare", &m, &err), ASSAY_OK);
  assert_int_equal(array_create(DTYPE_FLOAT, &a, &in[0], NULL), ASSAY_OK);
  assert_int_equal(array_create(DTYPE_FLOAT, &b, &in[1], NULL), ASSAY_OK);
  fill(&in[0], 100);
  memset(in[1].bits, 0, (size_t)shape_count(&b) * sizeof *in[1].bits);
  const int64_t values = (2 * 8 + 8 + 4) * shape_count(&b), memo = 4 * 100 * 100 * 8;
  for (int ample = 1; ample >= 0; ample--) {
    struct oracle_answer y;
    available_bytes = ample ? 8 * values : pass_bytes + memo;
    shared = false;
    assert_int_equal(oracle_answer_make(&m.flat, in, &fp32, REPLICAS, 1, &y, &err), ASSAY_OK);
    assert_true(pass_bytes > values && pass_bytes > 64 * memo);
    assert_true(shared == ample);
    oracle_answer_release(&y);
  }
  available_bytes = 0;
  end(&m, in);
}

// What a factorization works in is part of the need that is looked at before any work: the factors, and what their
// errors are drawn from. A triangular system is solved in its right-hand side.
static void test_need(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int matrices; // in all, at least and not above one half more
  } needs[] = {
      {"(float[1,100,100] a) => (float[1] y) { y = Det(a) }", 8},
      {"(float[100,100] a) => (float[100,100] y) { y = ai.assay.Cholesky(a) }", 5},
      {"(float[100,100] a, float[100,1] b) => (float[100,1] y) { y = ai.assay.SolveTriangular(a, b) }", 1},
  };
  for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
    struct model m;
    struct arena arena = {0};
    struct graph_shapes shapes;
    struct oracle_bytes bytes;
    struct assay_error err = {0};
    assert_int_equal(onnx_parse_graph(needs[i].text, strlen(needs[i].text), "need", &m, &err), ASSAY_OK);
    const bool flat = !strstr(needs[i].text, "[1,100,100]");
    const struct array in[] = {{.dtype = DTYPE_FLOAT,
                                .shape = flat ? (struct shape){.rank = 2, .dims = {100, 100}}
                                              : (struct shape){.rank = 3, .dims = {1, 100, 100}}},
                               {.dtype = DTYPE_FLOAT, .shape = {.rank = 2, .dims = {100, 1}}}};
    assert_int_equal(oracle_infer(&m.flat, in, &arena, &shapes, &err), ASSAY_OK);
    assert_int_equal(oracle_answer_bytes(&m.flat, shapes.values, NULL, &bytes, &err), ASSAY_OK);
    const int64_t least = needs[i].matrices * 100 * 100 * (int64_t)sizeof(double);
    assert_in_range(bytes.working, least, least * 3 / 2);
    arena_release(&arena);
    model_release(&m);
  }
}

// Passes of empty tensors take no memory, of which there is room for any number.
static void test_empty(void **state) {
  (void)state;
  static const char text[] = "(float[0,3,3] a) => (float[0] y) { y = Det(a) }";
  const struct shape a = {.rank = 3, .dims = {0, 3, 3}};
  struct assay_error err = {0};
  struct model m;
  struct array in[1] = {0};
  struct oracle_answer y;
  assert_int_equal(onnx_parse_graph(text, strlen(text), "empty", &m, &err), ASSAY_OK);
  assert_int_equal(array_create(DTYPE_FLOAT, &a, &in[0], NULL), ASSAY_OK);
  assert_int_equal(oracle_answer_make(&m.flat, in, &fp32, REPLICAS, 5, &y, &err), ASSAY_OK);
  assert_int_equal(shape_count(&y.y[0].shape), 0);
  oracle_answer_release(&y);
  array_release(&in[0]);
  model_release(&m);
}

// ---- blocks, by what defines them

static double element(const double *a, int i, int j) {
  return a[(size_t)j * N + (size_t)i];
}

static double *random_matrix(uint64_t key) {
  struct noise noise = noise_at(key, 0);
  double *a = base_alloc((size_t)N * N * sizeof *a);
  assert_non_null(a);
  for (int i = 0; i < N * N; i++)
    a[i] = noise_normal(&noise);
  return a;
}

static void test_elimination(void **state) {
  (void)state;
  double *a = random_matrix(1), *lu = random_matrix(1), worst = 0;
  int pivots[N], rows[N];
  assert_true(blocked_lu(N, lu, pivots, 3));
  for (int i = 0; i < N; i++)
    rows[i] = i;
  for (int i = 0; i < N; i++) {
    const int other = pivots[i] - 1, row = rows[i];
    assert_in_range(other, i, N - 1);
    rows[i] = rows[other];
    rows[other] = row;
  }
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      double sum = 0;
      for (int k = 0; k <= i && k <= j; k++)
        sum += (k == i ? 1 : element(lu, i, k)) * element(lu, k, j);
      worst = fmax(worst, fabs(sum - element(a, rows[i], j)));
      assert_true(i <= j || fabs(element(lu, i, j)) <= 1);
    }
  assert_true(worst < 1e-12);
  for (int i = 0; i < N; i++) // two equal columns
    a[200 * N + i] = a[i];
  assert_true(!blocked_lu(N, a, pivots, 3) || fabs(element(a, 200, 200)) < 1e-12);
  memset(a + (size_t)N * 250, 0, N * sizeof *a);
  assert_false(blocked_lu(N, a, pivots, 3));
  base_free(a);
  base_free(lu);
}

static void test_cholesky(void **state) {
  (void)state;
  double *a = random_matrix(2), *u, *squares = random_matrix(3), *products = random_matrix(4), worst = 0;
  for (int j = 0; j < N; j++)
    for (int i = 0; i < N; i++)
      a[j * N + i] = i == j ? N + fabs(element(a, i, j)) : i < j ? element(a, i, j) : 1e9; // the latter is not read
  u = base_alloc((size_t)N * N * sizeof *u);
  assert_non_null(u);
  memcpy(u, a, (size_t)N * N * sizeof *u);
  assert_true(blocked_cholesky(N, u, 3));
  for (int j = 0; j < N; j++)
    for (int i = 0; i <= j; i++) {
      double sum = 0;
      for (int k = 0; k <= i; k++)
        sum += element(u, k, i) * element(u, k, j);
      worst = fmax(worst, fabs(sum - element(a, i, j)));
    }
  assert_true(worst < 1e-11);
  for (int j = 0; j < N; j++) // as rows it is the lower triangle
    memset(u + (size_t)j * N + j + 1, 0, (size_t)(N - j - 1) * sizeof *u);
  blocked_square_products(N, u, squares, products, 3);
  for (int i = 0; i < N; i++)
    for (int j = 0; j <= i; j++) {
      double sum = 0;
      for (int k = 0; k <= j; k++)
        sum += pow(u[i * N + k] * u[j * N + k], 2);
      assert_true(fabs(products[i * N + j] - sum) <= 1e-12 * sum);
    }
  a[250 * N + 250] = -1;
  assert_false(blocked_cholesky(N, a, 3));
  base_free(a);
  base_free(u);
  base_free(squares);
  base_free(products);
}

static void test_reflections(void **state) {
  (void)state;
  enum { M = N + 70 };
  static const int shapes[][2] = {{M, N}, {N, N}, {200, N}};
  for (int i = 0; i < 3; i++) {
    const int m = shapes[i][0], n = shapes[i][1], k = m < n ? m : n;
    struct noise noise = noise_at(9, (uint64_t)i);
    double *a = base_alloc((size_t)m * (size_t)n * sizeof *a), *f = base_alloc((size_t)m * (size_t)n * sizeof *f);
    double *q = base_alloc((size_t)m * (size_t)k * sizeof *q), tau[N], worst = 0, askew = 0;
    assert_true(a && f && q);
    for (int l = 0; l < m * n; l++)
      a[l] = f[l] = noise_normal(&noise);
    assert_true(blocked_qr(m, n, f, tau, 3) && blocked_q(m, k, f, tau, q, 3));
    for (int row = 0; row < m; row++)
      for (int j = 0; j < n; j++) {
        double sum = 0;
        for (int l = 0; l < k && l <= j; l++)
          sum += q[l * m + row] * f[j * m + l];
        worst = fmax(worst, fabs(sum - a[j * m + row]));
      }
    for (int one = 0; one < k; one++)
      for (int two = 0; two <= one; two++) {
        double sum = 0;
        for (int row = 0; row < m; row++)
          sum += q[one * m + row] * q[two * m + row];
        askew = fmax(askew, fabs(sum - (one == two)));
      }
    assert_true(worst < 1e-12 && askew < 1e-13);
    base_free(a);
    base_free(f);
    base_free(q);
  }
}

static double of_triangle(const struct blocked_triangle *t, int i, int j) {
  const double v = t->by_rows ? t->t[i * N + j] : t->t[j * N + i];
  return i == j && t->unit ? 1 : (t->upper ? i > j : i < j) ? 0 : v;
}

static void test_triangles(void **state) {
  (void)state;
  double *a = random_matrix(6), x[COLUMNS * N], b[COLUMNS * N], y[COLUMNS * N];
  for (int i = 0; i < N * N; i++)
    a[i] = i % (N + 1) == 0 ? 2 : a[i] / N;
  for (int kind = 0; kind < 8; kind++) {
    const struct blocked_triangle t = {N, a, kind & 1, kind & 2, kind & 4};
    for (int i = 0; i < COLUMNS * N; i++)
      x[i] = b[i] = sin((double)i);
    blocked_substitute(&t, COLUMNS, x, 3);
    assert_true(blocked_square_sums(&t, COLUMNS, b, y, 3));
    for (int c = 0; c < COLUMNS; c++)
      for (int i = 0; i < N; i++) {
        double sum = 0, squares = 0;
        for (int j = 0; j < N; j++) {
          sum += of_triangle(&t, i, j) * x[c * N + j];
          squares += of_triangle(&t, i, j) * of_triangle(&t, i, j) * b[c * N + j];
        }
        assert_true(fabs(sum - b[c * N + i]) < 1e-12 && fabs(squares - y[c * N + i]) < 1e-12);
      }
  }
  base_free(a);
}

static void test_load(void **state) {
  (void)state;
  double *a = random_matrix(7), *to = random_matrix(8);
  for (int turned = 0; turned < 2; turned++) {
    blocked_load(N, a, turned ? 1 : N, turned ? N : 1, to, 3);
    for (int i = 0; i < N * N; i++)
      assert_true(to[i] == (turned ? a[i] : a[i % N * N + i / N]));
  }
  base_free(a);
  base_free(to);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_passes_share),       cmocka_unit_test(test_threads),   cmocka_unit_test(test_elimination),
      cmocka_unit_test(test_cholesky),           cmocka_unit_test(test_triangles), cmocka_unit_test(test_load),
      cmocka_unit_test(test_reflections),        cmocka_unit_test(test_empty),     cmocka_unit_test(test_no_room),
      cmocka_unit_test(test_only_what_is_spare), cmocka_unit_test(test_need),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
