// SPDX-License-Identifier: Apache-2.0
// Reductions, scans, extremes and losses against plain loops.
#include "op_case.h"

static const char *const reductions[] = {"ReduceSum",    "ReduceMean",     "ReduceMax", "ReduceMin",
                                         "ReduceProd",   "ReduceL1",       "ReduceL2",  "ReduceSumSquare",
                                         "ReduceLogSum", "ReduceLogSumExp"};
enum { REDUCTIONS = sizeof reductions / sizeof reductions[0] };

static double naive_reduction(int op, const double *x, int64_t n) {
  long double sum = 0, max = -INFINITY, min = INFINITY, product = 1, magnitudes = 0, squares = 0, exponentials = 0;
  for (int64_t i = 0; i < n; i++) {
    sum += x[i];
    max = fmaxl(max, x[i]);
    min = fminl(min, x[i]);
    product *= x[i];
    magnitudes += fabs(x[i]);
    squares += (long double)x[i] * x[i];
    exponentials += expl(x[i]);
  }
  const long double results[] = {sum,        sum / n,        max,     min,       product,
                                 magnitudes, sqrtl(squares), squares, logl(sum), logl(exponentials)};
  return (double)results[op];
}

// Collects each output's elements by walking the input once, whatever the axes.
static void check_reduction(int op, int version, int rank, const int64_t *dims, unsigned axes, bool keep) {
  struct op_case c;
  case_begin(&c, "", reductions[op], version);
  struct array *x = case_float_input(&c, 1, op == 4 ? 0.9 : 0.1, op == 4 ? 1.1 : 2, rank, dims);
  int64_t list[8], n_list = 0;
  for (int i = 0; i < rank; i++)
    if (axes >> i & 1)
      list[n_list++] = i % 2 ? i : i - rank;
  if (version >= 18 || (op == 0 && version >= 13))
    case_int64_input(&c, (int)n_list, list);
  else
    case_ints(&c, "axes", (int)n_list, list);
  case_int(&c, "keepdims", keep);
  case_run(&c, case_exact(), 2);
  int64_t outputs = 1, length = 1;
  struct shape want_shape = {.rank = 0};
  for (int i = 0; i < rank; i++) {
    *(axes >> i & 1 ? &length : &outputs) *= dims[i];
    if (keep || !(axes >> i & 1))
      want_shape.dims[want_shape.rank++] = axes >> i & 1 ? 1 : dims[i];
  }
  assert_true(shape_equal(&c.out[0].shape, &want_shape));
  double *rows = arena_calloc(&c.arena, (size_t)(outputs * length), sizeof *rows);
  int64_t *used = arena_calloc(&c.arena, (size_t)outputs, sizeof *used);
  for (int64_t i = 0; i < outputs * length; i++) {
    int64_t rest = i, row = 0, step = 1;
    for (int d = rank - 1; d >= 0; d--) {
      if (!(axes >> d & 1)) {
        row += rest % dims[d] * step;
        step *= dims[d];
      }
      rest /= dims[d];
    }
    rows[row * length + used[row]++] = x->f64[i];
  }
  for (int64_t i = 0; i < outputs; i++) {
    double want = naive_reduction(op, rows + i * length, length);
    assert_close(&c.out[0].f64[i], &want, 1, 1e-12);
  }
  case_check_threads(&c);
  case_end(&c);
}

static void test_reductions(void **state) {
  (void)state;
  static const int64_t dims[] = {3, 5, 4, 11};
  for (int op = 0; op < REDUCTIONS; op++) {
    for (unsigned axes = 1; axes < 16; axes++)
      check_reduction(op, axes % 2 ? 18 : op == 0 ? 11 : 13, 4, dims, axes, axes % 3 == 0);
    check_reduction(op, 18, 2, (const int64_t[]){2, 150001}, 2, true); // several parts to a row
    check_reduction(op, 18, 2, (const int64_t[]){70000, 3}, 1, false);
    check_reduction(op, 18, 3, (const int64_t[]){2, 700, 21}, 2, false);
  }
}

static void test_empty_axes(void **state) {
  (void)state;
  for (int noop = 0; noop < 2; noop++) {
    struct op_case c;
    case_begin(&c, "", "ReduceSum", 13);
    struct array *x = case_float_input(&c, 1, -1, 1, DIMS(2, 3));
    case_int64_input(&c, 0, NULL);
    case_int(&c, "noop_with_empty_axes", noop);
    case_run(&c, case_exact(), 1);
    assert_int_equal(shape_count(&c.out[0].shape), noop ? 6 : 1);
    if (noop)
      assert_memory_equal(c.out[0].f64, x->f64, 48);
    case_end(&c);
  }
  // A reduction of nothing.
  static const double want[] = {0, NAN, -INFINITY, INFINITY, 1, 0, 0, 0, -INFINITY, -INFINITY};
  for (int op = 0; op < REDUCTIONS; op++) {
    struct op_case c;
    case_begin(&c, "", reductions[op], 18);
    case_input(&c, DTYPE_FLOAT, DIMS(2, 0));
    case_int64_input(&c, 1, (const int64_t[]){1});
    case_run(&c, case_exact(), 1);
    for (int i = 0; i < 2; i++)
      assert_close(&c.out[0].f64[i], &want[op], 1, 0);
    case_end(&c);
  }
}

static void test_special_values(void **state) {
  (void)state;
  for (int op = 2; op < 4; op++) {
    struct op_case c;
    case_begin(&c, "", reductions[op], 18);
    struct array *x = case_float_input(&c, 1, -1, 1, DIMS(3, 5));
    x->f64[2] = NAN;
    x->f64[7] = op == 2 ? INFINITY : -INFINITY;
    case_int64_input(&c, 1, (const int64_t[]){1});
    case_run(&c, case_exact(), 1);
    assert_true(isnan(c.out[0].f64[0]));
    assert_true(isinf(c.out[0].f64[1]));
    assert_true(isfinite(c.out[0].f64[2]));
    case_end(&c);
  }
  struct op_case c;
  case_begin(&c, "", "ReduceLogSumExp", 18);
  struct array *x = case_input(&c, DTYPE_FLOAT, DIMS(3, 2));
  memcpy(x->f64, (const double[]){1e4, 1e4, -INFINITY, -INFINITY, INFINITY, 0}, 48);
  case_int64_input(&c, 1, (const int64_t[]){1});
  case_run(&c, case_exact(), 1);
  assert_close(c.out[0].f64, (const double[]){1e4 + log(2), -INFINITY, INFINITY}, 3, 1e-15);
  case_end(&c);
}

static void test_integer_reductions(void **state) {
  (void)state;
  static const struct {
    int op;
    enum dtype dtype;
    int64_t x[3], want;
  } cases[] = {
      {0, DTYPE_INT32, {INT32_MAX, 1, 0}, INT32_MIN},
      {0, DTYPE_INT64, {((int64_t)1 << 53) + 1, 2, 0}, ((int64_t)1 << 53) + 3},
      {1, DTYPE_INT32, {7, -2, 3}, 2},
      {2, DTYPE_UINT64, {-1, 5, 3}, -1}, // 2^64 - 1
      {3, DTYPE_UINT64, {-1, 5, 9}, 5},
      {3, DTYPE_INT8, {-128, 5, 9}, -128},
      {4, DTYPE_INT64, {3, -4, 5}, -60},
      {5, DTYPE_INT32, {3, -4, 5}, 12},
      {7, DTYPE_INT32, {3, -4, 5}, 50},
      {2, DTYPE_BOOL, {0, 1, 0}, 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct op_case c;
    case_begin(&c, "", reductions[cases[i].op], 18);
    memcpy(case_input(&c, cases[i].dtype, DIMS(3))->i64, cases[i].x, sizeof cases[i].x);
    case_run(&c, case_fp32(1), 1);
    assert_int_equal(c.out[0].i64[0], cases[i].want);
    case_end(&c);
  }
}

static void test_reduction_errors(void **state) {
  (void)state;
  struct op_case c;
  case_begin(&c, "", "ReduceSum", 13);
  case_float_input(&c, 1, 0, 1, DIMS(2, 3));
  case_int64_input(&c, 2, (const int64_t[]){1, -1});
  assert_int_equal(case_infer(&c), ASSAY_ERR_INVALID);
  assert_non_null(strstr(c.err.message, "given twice"));
  case_end(&c);
  case_begin(&c, "", "ReduceL2", 18);
  case_input(&c, DTYPE_INT32, DIMS(2, 3));
  assert_int_equal(case_infer(&c), ASSAY_ERR_INVALID);
  case_end(&c);
}

// Real fp32: one running sum, and sixteen lanes; over signed and positive values.
static void test_honest_reductions(void **state) {
  (void)state;
  static const int ops[] = {0, 1, 5, 6, 7, 9};
  enum { N = 40, L = 3000 };
  for (size_t o = 0; o < sizeof ops / sizeof ops[0]; o++)
    for (int form = 0; form < 4; form++) {
      int op = ops[o], lanes = form & 1 ? 16 : 1;
      struct op_case c;
      float y[N];
      double ratio;
      case_begin(&c, "", reductions[op], 18);
      struct array *x = case_float_input(&c, 9, form & 2 ? 0 : -1, 1, DIMS(N, L));
      case_int64_input(&c, 1, (const int64_t[]){1});
      for (int i = 0; i < N; i++) {
        float sum[16] = {0}, max = -INFINITY;
        for (int j = 0; j < L; j++)
          max = fmaxf(max, (float)x->f64[i * L + j]);
        for (int j = 0; j < L; j++) {
          float v = (float)x->f64[i * L + j];
          sum[j % lanes] += op == 5 ? fabsf(v) : op == 6 || op == 7 ? v * v : op == 9 ? expf(v - max) : v;
        }
        for (int l = 1; l < lanes; l++)
          sum[0] += sum[l];
        y[i] = op == 1 ? sum[0] / L : op == 6 ? sqrtf(sum[0]) : op == 9 ? max + logf(sum[0]) : sum[0];
      }
      double z = case_honest_z(&c, 0, y, &ratio);
      if (z >= 6)
        fail_msg("%s form %d: z %g, ratio %g", reductions[op], form, z, ratio);
      y[3] = nextafterf(y[3] * 1.001f, INFINITY);
      assert_true(case_honest_z(&c, 0, y, NULL) > 6);
      case_end(&c);
    }
}

static void check_scan(const char *op, int version, int rank, const int64_t *dims, int axis, bool exclusive,
                       bool reverse) {
  struct op_case c;
  case_begin(&c, "", op, version);
  bool product = strcmp(op, "CumProd") == 0;
  struct array *x = case_float_input(&c, 1, product ? 0.9 : -1, product ? 1.1 : 1, rank, dims);
  case_int64_input(&c, 1, (const int64_t[]){axis});
  case_int(&c, "exclusive", exclusive);
  case_int(&c, "reverse", reverse);
  case_run(&c, case_exact(), 2);
  int64_t step = 1, length = dims[axis];
  for (int i = axis + 1; i < rank; i++)
    step *= dims[i];
  for (int64_t i = 0; i < shape_count(&x->shape); i++) {
    int64_t at = i / step % length, first = i - at * step;
    int64_t from = reverse ? at + exclusive : 0, to = reverse ? length : at + !exclusive;
    long double want = product;
    for (int64_t k = from; k < to; k++)
      want = product ? want * x->f64[first + k * step] : want + x->f64[first + k * step];
    double w = (double)want;
    assert_close(&c.out[0].f64[i], &w, 1, 1e-12);
  }
  case_check_threads(&c);
  case_end(&c);
}

static void test_scans(void **state) {
  (void)state;
  static const int64_t dims[] = {3, 17, 10};
  for (int form = 0; form < 4; form++) {
    for (int axis = 0; axis < 3; axis++) {
      check_scan("CumSum", 14, 3, dims, axis, form & 1, form & 2);
      check_scan("CumProd", 26, 3, dims, axis, form & 1, form & 2);
    }
    check_scan("CumSum", 14, 2, (const int64_t[]){2, 1300}, 1, form & 1, form & 2); // several chunks
    check_scan("CumSum", 14, 2, (const int64_t[]){1300, 3}, 0, form & 1, form & 2);
  }
  struct op_case c;
  case_begin(&c, "", "CumSum", 14);
  memcpy(case_input(&c, DTYPE_INT32, DIMS(3))->i64, (const int64_t[]){INT32_MAX, 1, 5}, 24);
  case_int64_input(&c, 1, (const int64_t[]){0});
  case_run(&c, case_exact(), 1);
  assert_int_equal(c.out[0].i64[1], INT32_MIN);
  assert_int_equal(c.out[0].i64[2], INT32_MIN + 5);
  case_end(&c);
}

static void test_honest_scan(void **state) {
  (void)state;
  enum { N = 4, L = 2000 };
  static float y[N * L];
  struct op_case c;
  double ratio;
  case_begin(&c, "", "CumSum", 14);
  struct array *x = case_float_input(&c, 9, -1, 1, DIMS(N, L));
  case_int64_input(&c, 1, (const int64_t[]){1});
  for (int i = 0; i < N; i++) {
    float sum = 0;
    for (int j = 0; j < L; j++)
      y[i * L + j] = sum += (float)x->f64[i * L + j];
  }
  double z = case_honest_z(&c, 0, y, &ratio);
  if (z >= 6 || ratio > 20)
    fail_msg("z %g, ratio %g", z, ratio);
  case_end(&c);
}

static void test_arg(void **state) {
  (void)state;
  static const int64_t dims[] = {3, 13, 10};
  for (int form = 0; form < 12; form++) {
    int axis = form / 4, last = form & 1, min = form >> 1 & 1;
    struct op_case c;
    case_begin(&c, "", min ? "ArgMin" : "ArgMax", 13);
    struct array *x = case_input(&c, DTYPE_FLOAT, 3, dims);
    uint64_t seed = 5;
    for (int i = 0; i < 390; i++)
      x->f64[i] = (double)(case_random(&seed) % 7); // many ties
    case_int(&c, "axis", axis - 3);
    case_int(&c, "select_last_index", last);
    case_int(&c, "keepdims", 0);
    case_run(&c, case_exact(), 2);
    int64_t step = axis == 0 ? 130 : axis == 1 ? 10 : 1, length = dims[axis];
    for (int64_t i = 0; i < 390; i++) {
      if (i / step % length)
        continue;
      int64_t best = 0;
      for (int64_t k = 1; k < length; k++) {
        double v = x->f64[i + k * step], b = x->f64[i + best * step];
        if ((min ? v < b : v > b) || (last && v == b))
          best = k;
      }
      assert_int_equal(c.out[0].i64[i / step / length * step + i % step], best);
    }
    case_check_threads(&c);
    case_end(&c);
  }
  struct op_case c;
  case_begin(&c, "", "ArgMin", 13);
  memcpy(case_input(&c, DTYPE_FLOAT, DIMS(1, 4))->f64, (const double[]){1, NAN, -INFINITY, NAN}, 32);
  case_int(&c, "axis", 1);
  case_run(&c, case_exact(), 1);
  assert_int_equal(c.out[0].i64[0], 1);
  case_end(&c);
}

static void test_top_k(void **state) {
  (void)state;
  for (int form = 0; form < 8; form++) {
    bool smallest = form & 1, integers = form & 2, inner = form & 4;
    int64_t rows = 6, length = 40, k = 11;
    struct op_case c;
    case_begin(&c, "", "TopK", 11);
    struct array *x =
        case_input(&c, integers ? DTYPE_INT64 : DTYPE_FLOAT, DIMS(inner ? length : rows, inner ? rows : length));
    uint64_t seed = 5;
    for (int i = 0; i < rows * length; i++) {
      int64_t v = (int64_t)(case_random(&seed) % 25) - 12;
      if (integers)
        x->i64[i] = v;
      else
        x->f64[i] = (double)v;
    }
    case_int64_input(&c, 1, &k);
    case_int(&c, "axis", inner ? 0 : -1);
    case_int(&c, "largest", !smallest);
    c.node.n_outputs = 2;
    c.outputs[1] = 1;
    case_run(&c, case_exact(), 2);
    for (int64_t r = 0; r < rows; r++) {
      bool taken[40] = {false};
      for (int64_t j = 0; j < k; j++) {
        int64_t best = -1; // selection by repeated search
        for (int64_t i = 0; i < length; i++) {
          int64_t at = inner ? i * rows + r : r * length + i, b = inner ? best * rows + r : r * length + best;
          double v = integers ? (double)x->i64[at] : x->f64[at];
          double w = best < 0 ? 0 : integers ? (double)x->i64[b] : x->f64[b];
          if (!taken[i] && (best < 0 || (smallest ? v < w : v > w)))
            best = i;
        }
        taken[best] = true;
        int64_t to = inner ? j * rows + r : r * k + j, from = inner ? best * rows + r : r * length + best;
        assert_int_equal(c.out[1].i64[to], best);
        assert_true(c.out[0].bits[to] == x->bits[from]);
      }
    }
    case_check_threads(&c);
    case_end(&c);
  }
  struct op_case c;
  case_begin(&c, "", "TopK", 11);
  case_float_input(&c, 1, 0, 1, DIMS(2, 3));
  case_int64_input(&c, 1, (const int64_t[]){4});
  assert_int_equal(case_infer(&c), ASSAY_ERR_INVALID);
  case_end(&c);
}

static void check_loss(bool softmax, int form) {
  enum { N = 5, C = 9, D = 4 };
  static const char *const kinds[] = {"none", "sum", "mean"};
  bool weighted = form & 1, ignores = form & 2, spatial = form & 4;
  int kind = form >> 3;
  int64_t d = spatial ? D : 1, labels[N * D];
  struct op_case c;
  case_begin(&c, "", softmax ? "SoftmaxCrossEntropyLoss" : "NegativeLogLikelihoodLoss", 13);
  struct array *x = case_float_input(&c, 1, -3, 3, spatial ? 3 : 2, (const int64_t[]){N, C, D});
  struct array *t = case_input(&c, DTYPE_INT64, spatial ? 2 : 1, (const int64_t[]){N, D});
  struct array *w = weighted ? case_float_input(&c, 2, 0.5, 2, DIMS(C)) : NULL;
  uint64_t seed = 11;
  for (int64_t i = 0; i < N * d; i++)
    t->i64[i] = labels[i] = ignores && i % 3 == 0 ? -7 : (int64_t)(case_random(&seed) % C);
  if (ignores)
    case_int(&c, "ignore_index", -7);
  case_string(&c, "reduction", kinds[kind]);
  c.node.n_outputs = softmax && weighted ? 2 : 1;
  c.outputs[1] = 1;
  case_run(&c, case_exact(), 2);
  long double sum = 0, total = 0;
  for (int64_t i = 0; i < N * d; i++) {
    long double exponentials = 0;
    const double *scores = x->f64 + i / d * C * d + i % d;
    for (int64_t k = 0; k < C; k++)
      exponentials += expl(scores[k * d]);
    long double shift = softmax ? logl(exponentials) : 0, loss = 0, weight = 0;
    for (int64_t k = 0; k < C && c.node.n_outputs == 2; k++) {
      double want = (double)(scores[k * d] - shift);
      assert_close(&c.out[1].f64[i / d * C * d + k * d + i % d], &want, 1, 1e-13);
    }
    if (labels[i] >= 0) {
      weight = w ? w->f64[labels[i]] : 1;
      loss = weight * (shift - scores[labels[i] * d]);
    }
    double want = (double)loss;
    if (kind == 0)
      assert_close(&c.out[0].f64[i], &want, 1, 1e-13);
    sum += loss;
    total += weight;
  }
  double want = (double)(kind == 2 ? sum / total : sum);
  if (kind)
    assert_close(c.out[0].f64, &want, 1, 1e-13);
  case_check_threads(&c);
  case_end(&c);
}

static void test_losses(void **state) {
  (void)state;
  for (int form = 0; form < 24; form++) {
    check_loss(false, form);
    check_loss(true, form);
  }
  struct op_case c;
  case_begin(&c, "", "SoftmaxCrossEntropyLoss", 13);
  case_float_input(&c, 1, -3, 3, DIMS(2, 4));
  case_int64_input(&c, 2, (const int64_t[]){1, 4});
  assert_int_equal(case_try(&c, case_exact(), 1), ASSAY_ERR_INVALID);
  assert_non_null(strstr(c.err.message, "label 4"));
  case_end(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_reductions),
      cmocka_unit_test(test_empty_axes),
      cmocka_unit_test(test_special_values),
      cmocka_unit_test(test_integer_reductions),
      cmocka_unit_test(test_reduction_errors),
      cmocka_unit_test(test_honest_reductions),
      cmocka_unit_test(test_scans),
      cmocka_unit_test(test_honest_scan),
      cmocka_unit_test(test_arg),
      cmocka_unit_test(test_top_k),
      cmocka_unit_test(test_losses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
