// SPDX-License-Identifier: Apache-2.0
// Normalizations and softmax against textbook formulas in long double, and against fp32 kernels as people write them.
#include "op_case.h"

// The moments of n values `step` apart.
static void moments(const double *x, int64_t n, int64_t step, double *mean, double *variance) {
  long double sum = 0, squares = 0;
  for (int64_t i = 0; i < n; i++)
    sum += x[i * step];
  long double m = sum / n;
  for (int64_t i = 0; i < n; i++)
    squares += (x[i * step] - m) * (x[i * step] - m);
  *mean = (double)m;
  *variance = (double)(squares / n);
}

static void test_layer_norm(void **state) {
  (void)state;
  enum { N = 5, A = 6, B = 130 };
  struct op_case c;
  case_begin(&c, "", "LayerNormalization", 17);
  struct array *x = case_float_input(&c, 1, 2, 5, DIMS(N, A, B)), *s = case_float_input(&c, 2, -1, 1, DIMS(A, B)),
               *b = case_float_input(&c, 3, -1, 1, DIMS(B));
  case_int(&c, "axis", -2);
  case_float(&c, "epsilon", 0.01);
  c.node.n_outputs = 3;
  c.outputs[0] = 0, c.outputs[1] = 1, c.outputs[2] = 2;
  case_run(&c, case_exact(), 2);
  struct shape want_shape = shape_of(DIMS(N, 1, 1));
  assert_true(shape_equal(&c.out[1].shape, &want_shape));
  for (int i = 0; i < N; i++) {
    double mean, variance;
    moments(x->f64 + i * A * B, A * B, 1, &mean, &variance);
    double inverse = 1 / sqrt(variance + 0.01);
    assert_close(&c.out[1].f64[i], &mean, 1, 1e-14);
    assert_close(&c.out[2].f64[i], &inverse, 1, 1e-14);
    for (int j = 0; j < A * B; j++) {
      double want = (x->f64[i * A * B + j] - mean) * inverse * s->f64[j] + b->f64[j % B];
      assert_close(&c.out[0].f64[i * A * B + j], &want, 1, 1e-13);
    }
  }
  case_check_threads(&c);
  case_end(&c);
}

// One formula for every operator whose rows are (image, group of channels): batch norm has one group row over images.
static void check_channels(const char *op, int version, int rank, int groups) {
  enum { N = 3, C = 6 };
  static const int64_t dims[] = {N, C, 5, 7, 2};
  struct op_case c;
  case_begin(&c, "", op, version);
  int64_t inner = 1;
  for (int i = 2; i < rank; i++)
    inner *= dims[i];
  struct array *x = case_float_input(&c, 1, -1, 3, rank, dims);
  bool per_group = strcmp(op, "GroupNormalization") == 0 && version < 21;
  struct array *s = case_float_input(&c, 2, -1, 1, DIMS(per_group ? groups : C));
  struct array *b = case_float_input(&c, 3, -1, 1, DIMS(per_group ? groups : C));
  if (op[0] == 'G')
    case_int(&c, "num_groups", groups);
  case_run(&c, case_exact(), 2);
  int64_t member = C / groups * inner;
  for (int64_t r = 0; r < N * groups; r++) {
    double mean, variance;
    moments(x->f64 + r * member, member, 1, &mean, &variance);
    for (int64_t i = 0; i < member; i++) {
      int64_t channel = r % groups * (C / groups) + i / inner, k = per_group ? r % groups : channel;
      double want = (x->f64[r * member + i] - mean) / sqrt(variance + 1e-5) * s->f64[k] + b->f64[k];
      assert_close(&c.out[0].f64[r * member + i], &want, 1, 1e-13);
    }
  }
  case_check_threads(&c);
  case_end(&c);
}

static void test_group_and_instance(void **state) {
  (void)state;
  for (int rank = 3; rank <= 5; rank++) {
    check_channels("InstanceNormalization", 13, rank, 6);
    check_channels("GroupNormalization", 18, rank, 3);
    check_channels("GroupNormalization", 21, rank, 2);
  }
  check_channels("GroupNormalization", 21, 2, 2);
}

static void check_batch_norm(int version, int rank, bool train) {
  enum { N = 4, C = 9 };
  static const int64_t dims[] = {N, C, 3, 5, 2};
  struct op_case c;
  case_begin(&c, "", "BatchNormalization", version);
  int64_t inner = 1;
  for (int i = 2; i < rank; i++)
    inner *= dims[i];
  struct array *x = case_float_input(&c, 1, -1, 3, rank, dims);
  struct array *s = case_float_input(&c, 2, -1, 1, DIMS(C)), *b = case_float_input(&c, 3, -1, 1, DIMS(C));
  struct array *m = case_float_input(&c, 4, -1, 1, DIMS(C)), *v = case_float_input(&c, 5, 0.5, 2, DIMS(C));
  case_float(&c, "momentum", 0.75);
  if (version >= 14)
    case_int(&c, "training_mode", train);
  if (train) {
    c.node.n_outputs = version >= 14 ? 3 : 5;
    for (int i = 0; i < 5; i++)
      c.outputs[i] = i;
  }
  case_run(&c, case_exact(), 2);
  for (int64_t k = 0; k < C; k++) {
    double row[N * 30], mean, variance;
    for (int64_t i = 0; i < N * inner; i++)
      row[i] = x->f64[(i / inner * C + k) * inner + i % inner];
    moments(row, N * inner, 1, &mean, &variance);
    if (train) {
      double running_mean = 0.75 * m->f64[k] + 0.25 * mean, running_variance = 0.75 * v->f64[k] + 0.25 * variance;
      assert_close(&c.out[1].f64[k], &running_mean, 1, 1e-14);
      assert_close(&c.out[2].f64[k], &running_variance, 1, 1e-14);
      if (version < 14) {
        assert_close(&c.out[3].f64[k], &mean, 1, 1e-14);
        assert_close(&c.out[4].f64[k], &variance, 1, 1e-14);
      }
    } else {
      mean = m->f64[k];
      variance = v->f64[k];
    }
    for (int64_t i = 0; i < N * inner; i++) {
      double want = (row[i] - mean) / sqrt(variance + 1e-5) * s->f64[k] + b->f64[k];
      assert_close(&c.out[0].f64[(i / inner * C + k) * inner + i % inner], &want, 1, 1e-13);
    }
  }
  case_check_threads(&c);
  case_end(&c);
}

static void test_batch_norm(void **state) {
  (void)state;
  for (int rank = 2; rank <= 5; rank++)
    for (int train = 0; train < 2; train++) {
      check_batch_norm(9, rank, train);
      check_batch_norm(15, rank, train);
    }
}

static void test_rms_norm(void **state) {
  (void)state;
  struct op_case c;
  case_begin(&c, "", "RMSNormalization", 23);
  struct array *x = case_float_input(&c, 1, -1, 3, DIMS(7, 33)), *s = case_float_input(&c, 2, -1, 1, DIMS(33));
  case_run(&c, case_exact(), 2);
  for (int i = 0; i < 7; i++) {
    double squares = 0;
    for (int j = 0; j < 33; j++)
      squares += x->f64[i * 33 + j] * x->f64[i * 33 + j];
    for (int j = 0; j < 33; j++) {
      double want = x->f64[i * 33 + j] / sqrt(squares / 33 + 1e-5) * s->f64[j];
      assert_close(&c.out[0].f64[i * 33 + j], &want, 1, 1e-13);
    }
  }
  case_check_threads(&c);
  case_end(&c);
}

static void test_mean_variance(void **state) {
  (void)state;
  struct op_case c;
  case_begin(&c, "", "MeanVarianceNormalization", 13);
  struct array *x = case_float_input(&c, 1, -1, 3, DIMS(4, 5, 6));
  case_ints(&c, "axes", 2, (const int64_t[]){0, -1});
  case_run(&c, case_exact(), 2);
  for (int k = 0; k < 5; k++) {
    double row[24], mean, variance;
    for (int i = 0; i < 24; i++)
      row[i] = x->f64[(i / 6 * 5 + k) * 6 + i % 6];
    moments(row, 24, 1, &mean, &variance);
    for (int i = 0; i < 24; i++) {
      double want = (row[i] - mean) / (sqrt(variance) + 1e-9);
      assert_close(&c.out[0].f64[(i / 6 * 5 + k) * 6 + i % 6], &want, 1, 1e-13);
    }
  }
  case_check_threads(&c);
  case_end(&c);
}

static void test_lp_norm(void **state) {
  (void)state;
  for (int p = 1; p <= 2; p++)
    for (int axis = 0; axis < 3; axis++) {
      static const int64_t dims[] = {3, 11, 9};
      struct op_case c;
      case_begin(&c, "", "LpNormalization", 1);
      struct array *x = case_float_input(&c, 1, -1, 3, 3, dims);
      case_int(&c, "p", p);
      case_int(&c, "axis", axis);
      case_run(&c, case_exact(), 2);
      int64_t step = axis == 2 ? 1 : axis == 1 ? 9 : 99, length = dims[axis];
      for (int64_t i = 0; i < 3 * 11 * 9; i++) {
        int64_t first = i - i / step % length * step;
        double norm = 0;
        for (int64_t k = 0; k < length; k++)
          norm += p == 1 ? fabs(x->f64[first + k * step]) : x->f64[first + k * step] * x->f64[first + k * step];
        double want = x->f64[i] / (p == 1 ? norm : sqrt(norm));
        assert_close(&c.out[0].f64[i], &want, 1, 1e-13);
      }
      case_check_threads(&c);
      case_end(&c);
    }
}

static void test_lrn(void **state) {
  (void)state;
  for (int size = 1; size <= 4; size++) {
    enum { N = 2, C = 7, I = 6 };
    struct op_case c;
    case_begin(&c, "", "LRN", 13);
    struct array *x = case_float_input(&c, 1, -1, 3, DIMS(N, C, 2, 3));
    case_int(&c, "size", size);
    case_float(&c, "alpha", 0.5);
    case_float(&c, "beta", 0.6);
    case_float(&c, "bias", 1.5);
    case_run(&c, case_exact(), 2);
    for (int64_t i = 0; i < N * C * I; i++) {
      int64_t channel = i / I % C;
      double squares = 0;
      // ONNX: max(0, c - floor((size - 1) / 2)) .. min(C - 1, c + ceil((size - 1) / 2))
      for (int64_t k = 0; k < C; k++)
        if (k >= channel - (size - 1) / 2 && k <= channel + size / 2) {
          double v = x->f64[i + (k - channel) * I];
          squares += v * v;
        }
      double want = x->f64[i] / pow(1.5 + 0.5 / size * squares, 0.6);
      assert_close(&c.out[0].f64[i], &want, 1, 1e-13);
    }
    case_check_threads(&c);
    case_end(&c);
  }
}

// op: 0 Softmax, 1 LogSoftmax, 2 Hardmax.
static void check_softmax(int op, int version, int axis) {
  static const char *const names[] = {"Softmax", "LogSoftmax", "Hardmax"};
  static const int64_t dims[] = {4, 13, 11};
  struct op_case c;
  case_begin(&c, "", names[op], version);
  struct array *x = case_float_input(&c, 1, -20, 20, 3, dims);
  case_int(&c, "axis", axis);
  case_run(&c, case_exact(), 2);
  int64_t step = 1, length = 1;
  for (int i = version >= 13 ? axis + 1 : 3; i < 3; i++)
    step *= dims[i];
  for (int i = axis; i < (version >= 13 ? axis + 1 : 3); i++)
    length *= dims[i];
  for (int64_t i = 0; i < 4 * 13 * 11; i++) {
    int64_t first = i - i / step % length * step;
    long double sum = 0, max = -INFINITY;
    for (int64_t k = 0; k < length; k++) {
      sum += expl(x->f64[first + k * step]);
      max = fmaxl(max, x->f64[first + k * step]);
    }
    double want = op == 0   ? (double)(expl(x->f64[i]) / sum)
                  : op == 1 ? (double)(x->f64[i] - logl(sum))
                            : x->f64[i] == (double)max;
    assert_close(&c.out[0].f64[i], &want, 1, 1e-13);
  }
  case_check_threads(&c);
  case_end(&c);
}

static void test_softmax(void **state) {
  (void)state;
  for (int op = 0; op < 3; op++)
    for (int axis = 0; axis < 3; axis++) {
      check_softmax(op, 13, axis);
      check_softmax(op, 11, axis);
    }
}

static void test_softmax_extremes(void **state) {
  (void)state;
  struct op_case c;
  case_begin(&c, "", "Softmax", 13);
  struct array *x = case_input(&c, DTYPE_FLOAT, DIMS(4, 3));
  const double values[] = {1e4, 1e4, -1e4, -INFINITY, 0, 0, NAN, 0, 1, -INFINITY, -INFINITY, -INFINITY};
  memcpy(x->f64, values, sizeof values);
  const double want[] = {0.5, 0.5, 0, 0, 0.5, 0.5, NAN, NAN, NAN, NAN, NAN, NAN};
  case_run(&c, case_exact(), 1);
  assert_close(c.out[0].f64, want, 12, 0);
  case_end(&c);
}

// Kernels in real fp32.

static void test_honest_softmax(void **state) {
  (void)state;
  enum { N = 20, L = 1000 };
  static float y[N * L];
  for (int log = 0; log < 2; log++)
    for (int wide = 0; wide < 2; wide++) {
      struct op_case c;
      double ratio;
      case_begin(&c, "", log ? "LogSoftmax" : "Softmax", 13);
      struct array *x = case_float_input(&c, 1, wide ? -10 : 0, wide ? 10 : 1, DIMS(N, L));
      for (int i = 0; i < N; i++) {
        const double *row = x->f64 + i * L;
        float max = (float)row[0], sum = 0;
        for (int j = 1; j < L; j++)
          max = fmaxf(max, (float)row[j]);
        for (int j = 0; j < L; j++)
          sum += expf((float)row[j] - max);
        float log_sum = logf(sum);
        for (int j = 0; j < L; j++)
          y[i * L + j] = log ? (float)row[j] - max - log_sum : expf((float)row[j] - max) / sum;
      }
      double z = case_honest_z(&c, 0, y, &ratio);
      if (z >= 6 || ratio > 20)
        fail_msg("%s: z %g, ratio %g", c.node.op_type, z, ratio);
      case_end(&c);
    }
}

static void test_honest_layer_norm(void **state) {
  (void)state;
  enum { N = 12, L = 700 };
  static float y[N * L];
  for (int heavy = 0; heavy < 2; heavy++) {
    struct op_case c;
    double ratio;
    case_begin(&c, "", "LayerNormalization", 17);
    struct array *x = case_float_input(&c, 1, heavy ? 99 : -1, heavy ? 101 : 1, DIMS(N, L));
    struct array *s = case_float_input(&c, 2, 0.5, 2, DIMS(L)), *b = case_float_input(&c, 3, -1, 1, DIMS(L));
    for (int i = 0; i < N; i++) {
      float sum = 0, squares = 0;
      for (int j = 0; j < L; j++)
        sum += (float)x->f64[i * L + j];
      float mean = sum / L;
      for (int j = 0; j < L; j++) {
        float d = (float)x->f64[i * L + j] - mean;
        squares += d * d;
      }
      float inverse = 1 / sqrtf(squares / L + 1e-5f);
      for (int j = 0; j < L; j++)
        y[i * L + j] = ((float)x->f64[i * L + j] - mean) * inverse * (float)s->f64[j] + (float)b->f64[j];
    }
    double z = case_honest_z(&c, 0, y, &ratio);
    if (z >= 6 || ratio > 20)
      fail_msg("heavy %d: z %g, ratio %g", heavy, z, ratio);
    case_end(&c);
  }
}

// A one-pass variance of data whose mean is far above its spread is not an honest kernel.
static void test_one_pass_variance_is_caught(void **state) {
  (void)state;
  enum { L = 700 };
  static float y[L];
  struct op_case c;
  case_begin(&c, "", "LayerNormalization", 17);
  struct array *x = case_float_input(&c, 1, 999, 1001, DIMS(1, L)), *s = case_float_input(&c, 2, 1, 1, DIMS(L));
  (void)s;
  float sum = 0, squares = 0;
  for (int j = 0; j < L; j++) {
    sum += (float)x->f64[j];
    squares += (float)x->f64[j] * (float)x->f64[j];
  }
  float mean = sum / L, inverse = 1 / sqrtf(fmaxf(squares / L - mean * mean, 0) + 1e-5f);
  for (int j = 0; j < L; j++)
    y[j] = ((float)x->f64[j] - mean) * inverse;
  assert_true(case_honest_z(&c, 0, y, NULL) > 20);
  case_end(&c);
}

static void test_errors(void **state) {
  (void)state;
  struct op_case c;
  case_begin(&c, "", "LayerNormalization", 17);
  case_float_input(&c, 1, 0, 1, DIMS(2, 3));
  case_float_input(&c, 1, 0, 1, DIMS(2));
  assert_int_equal(case_infer(&c), ASSAY_ERR_INVALID);
  case_end(&c);
  case_begin(&c, "", "GroupNormalization", 21);
  case_float_input(&c, 1, 0, 1, DIMS(2, 6, 4));
  case_float_input(&c, 1, 0, 1, DIMS(6));
  case_float_input(&c, 1, 0, 1, DIMS(6));
  case_int(&c, "num_groups", 4);
  assert_int_equal(case_infer(&c), ASSAY_ERR_INVALID);
  case_end(&c);
  case_begin(&c, "", "Softmax", 13);
  case_float_input(&c, 1, 0, 1, DIMS(2, 6, 4));
  case_int(&c, "axis", 3);
  assert_int_equal(case_infer(&c), ASSAY_ERR_INVALID);
  case_end(&c);
  case_begin(&c, "", "Softmax", 13);
  case_input(&c, DTYPE_INT32, DIMS(2, 6));
  assert_int_equal(case_infer(&c), ASSAY_ERR_INVALID);
  case_end(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_layer_norm),
      cmocka_unit_test(test_group_and_instance),
      cmocka_unit_test(test_batch_norm),
      cmocka_unit_test(test_rms_norm),
      cmocka_unit_test(test_mean_variance),
      cmocka_unit_test(test_lp_norm),
      cmocka_unit_test(test_lrn),
      cmocka_unit_test(test_softmax),
      cmocka_unit_test(test_softmax_extremes),
      cmocka_unit_test(test_honest_softmax),
      cmocka_unit_test(test_honest_layer_norm),
      cmocka_unit_test(test_one_pass_variance_is_caught),
      cmocka_unit_test(test_errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
