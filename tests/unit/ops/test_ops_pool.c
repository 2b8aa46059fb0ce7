// SPDX-License-Identifier: Apache-2.0
// Pooling against loops over every window, in two spatial dimensions (one: an extent of 1), plus ONNX's own examples.
#include "op_case.h"

struct problem {
  int spatial; // of the case as ONNX sees it; the loops always run over two
  int64_t n, c, in[2], k[2], stride[2], dilation[2], begin[2], end[2];
  bool ceil_mode, include_pad;
};

static const struct problem problems[] = {
    {2, 2, 3, {8, 9}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, false, false},
    {2, 1, 2, {8, 9}, {2, 4}, {1, 3}, {1, 1}, {1, 2}, {0, 1}, false, true},
    {2, 1, 2, {10, 7}, {3, 2}, {2, 2}, {1, 1}, {1, 0}, {1, 1}, true, true},
    {2, 1, 2, {10, 12}, {3, 2}, {2, 3}, {2, 3}, {2, 1}, {1, 0}, true, false},
    {2, 1, 1, {5, 1300}, {2, 5}, {1, 1}, {1, 2}, {0, 4}, {1, 4}, false, false},
    {1, 3, 2, {1, 17}, {1, 8}, {1, 1}, {1, 2}, {0, 4}, {0, 4}, false, true},
    {1, 3, 2, {1, 16}, {1, 3}, {1, 2}, {1, 1}, {0, 0}, {0, 0}, true, true},
};

static void problem_case(const struct problem *p, const char *op, bool average, struct op_case *c) {
  int from = 2 - p->spatial;
  int64_t dims[4] = {p->n, p->c, p->in[from], p->in[1]};
  int64_t pads[4] = {p->begin[from], p->spatial == 2 ? p->begin[1] : p->end[1], p->end[from], p->end[1]};
  case_begin(c, "", op, 19);
  case_float_input(c, 3, -1, 1, p->spatial + 2, dims);
  case_ints(c, "kernel_shape", p->spatial, p->k + from);
  case_ints(c, "strides", p->spatial, p->stride + from);
  case_ints(c, "dilations", p->spatial, p->dilation + from);
  case_ints(c, "pads", 2 * p->spatial, pads);
  case_int(c, "ceil_mode", p->ceil_mode);
  if (average)
    case_int(c, "count_include_pad", p->include_pad);
}

struct window_facts {
  double max, sum, squares;
  int64_t index, inside, padded;
};

static struct window_facts look(const struct problem *p, const double *x, int64_t plane, int64_t oy, int64_t ox) {
  struct window_facts f = {.max = -INFINITY, .index = -1};
  for (int64_t ky = 0; ky < p->k[0]; ky++)
    for (int64_t kx = 0; kx < p->k[1]; kx++) {
      int64_t y = oy * p->stride[0] + ky * p->dilation[0] - p->begin[0];
      int64_t xx = ox * p->stride[1] + kx * p->dilation[1] - p->begin[1];
      f.padded += y < p->in[0] + p->end[0] && xx < p->in[1] + p->end[1];
      if (y < 0 || xx < 0 || y >= p->in[0] || xx >= p->in[1])
        continue;
      int64_t at = (plane * p->in[0] + y) * p->in[1] + xx;
      f.inside++;
      f.sum += x[at];
      f.squares += x[at] * x[at];
      if (x[at] > f.max) {
        f.max = x[at];
        f.index = at;
      }
    }
  return f;
}

static void out_extents(const struct problem *p, int64_t *out) {
  for (int i = 0; i < 2; i++) {
    int64_t room = p->in[i] + p->begin[i] + p->end[i] - (p->k[i] - 1) * p->dilation[i] - 1;
    out[i] = room / p->stride[i] + 1;
    if (p->ceil_mode && room % p->stride[i] && out[i] * p->stride[i] < p->in[i] + p->begin[i])
      out[i]++;
  }
}

static void check_problem(const struct problem *p) {
  struct op_case max, average, power;
  int64_t out[2];
  problem_case(p, "MaxPool", false, &max);
  problem_case(p, "AveragePool", true, &average);
  problem_case(p, "LpPool", false, &power);
  max.node.n_outputs = 2;
  case_run(&max, case_exact(), 2);
  case_run(&average, case_exact(), 2);
  case_run(&power, case_exact(), 2);
  out_extents(p, out);
  assert_int_equal(shape_count(&max.out[0].shape), p->n * p->c * out[0] * out[1]);
  for (int64_t i = 0; i < p->n * p->c * out[0] * out[1]; i++) {
    struct window_facts f = look(p, max.in[0].f64, i / out[0] / out[1], i / out[1] % out[0], i % out[1]);
    assert_true(max.out[0].f64[i] == f.max);
    assert_int_equal(max.out[1].i64[i], f.index);
    double mean = f.sum / (double)(p->include_pad ? f.padded : f.inside), norm = sqrt(f.squares);
    assert_close(&average.out[0].f64[i], &mean, 1, 1e-14);
    assert_close(&power.out[0].f64[i], &norm, 1, 1e-14);
  }
  // Without indices another loop does the work.
  double *with_index = max.out[0].f64;
  max.node.n_outputs = 1;
  case_run(&max, case_fp32(1), 2);
  assert_memory_equal(with_index, max.out[0].f64, (size_t)shape_count(&max.out[0].shape) * 8);
  case_check_threads(&max);
  case_check_threads(&average);
  case_check_threads(&power);
  case_end(&max);
  case_end(&average);
  case_end(&power);
}

static void test_windows(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++)
    check_problem(&problems[i]);
}

static void test_three_dimensions(void **state) {
  (void)state;
  struct op_case c;
  case_begin(&c, "", "MaxPool", 12);
  case_float_input(&c, 3, -1, 1, DIMS(1, 2, 6, 7, 8));
  case_ints(&c, "kernel_shape", 3, (const int64_t[]){3, 3, 3});
  case_ints(&c, "strides", 3, (const int64_t[]){2, 2, 2});
  case_ints(&c, "dilations", 3, (const int64_t[]){1, 2, 3});
  case_ints(&c, "pads", 6, (const int64_t[]){1, 1, 1, 1, 1, 1});
  case_run(&c, case_exact(), 2);
  struct shape want = shape_of(DIMS(1, 2, 3, 3, 2));
  assert_true(shape_equal(&c.out[0].shape, &want));
  for (int64_t i = 0; i < 36; i++) {
    int64_t plane = i / 18, o[3] = {i / 6 % 3, i / 2 % 3, i % 2};
    double max = -INFINITY;
    for (int64_t k = 0; k < 27; k++) {
      int64_t z = o[0] * 2 + k / 9 - 1, y = o[1] * 2 + k / 3 % 3 * 2 - 1, x = o[2] * 2 + k % 3 * 3 - 1;
      if (z >= 0 && y >= 0 && x >= 0 && z < 6 && y < 7 && x < 8)
        max = fmax(max, c.in[0].f64[((plane * 6 + z) * 7 + y) * 8 + x]);
    }
    assert_true(c.out[0].f64[i] == max);
  }
  case_end(&c);
}

// ONNX's test_maxpool_with_argmax_2d_precomputed_strides, which is column-major.
static void test_storage_order(void **state) {
  (void)state;
  struct op_case c;
  case_begin(&c, "", "MaxPool", 12);
  struct array *x = case_input(&c, DTYPE_FLOAT, DIMS(1, 1, 5, 5));
  for (int i = 0; i < 25; i++)
    x->f64[i] = i + 1;
  case_ints(&c, "kernel_shape", 2, (const int64_t[]){2, 2});
  case_ints(&c, "strides", 2, (const int64_t[]){2, 2});
  case_int(&c, "storage_order", 1);
  c.node.n_outputs = 2;
  case_run(&c, case_exact(), 1);
  static const int64_t want[] = {6, 16, 8, 18};
  assert_memory_equal(c.out[1].i64, want, sizeof want);
  case_end(&c);
}

static void test_special_values(void **state) {
  (void)state;
  struct op_case c;
  case_begin(&c, "", "MaxPool", 12);
  struct array *x = case_input(&c, DTYPE_FLOAT, DIMS(1, 1, 6));
  const double values[] = {-INFINITY, -5, NAN, 1, -2, -3};
  memcpy(x->f64, values, sizeof values);
  case_ints(&c, "kernel_shape", 1, (const int64_t[]){2});
  case_run(&c, case_exact(), 1);
  const double want[] = {-5, NAN, NAN, 1, -2};
  assert_close(c.out[0].f64, want, 5, 0);
  case_end(&c);

  case_begin(&c, "", "MaxPool", 12);
  x = case_input(&c, DTYPE_UINT8, DIMS(1, 1, 4));
  memcpy(x->i64, (const int64_t[]){3, 200, 7, 9}, 4 * 8);
  case_ints(&c, "kernel_shape", 1, (const int64_t[]){2});
  case_run(&c, case_exact(), 1);
  assert_memory_equal(c.out[0].i64, ((const int64_t[]){200, 200, 9}), 3 * 8);
  case_end(&c);
}

static void test_global(void **state) {
  (void)state;
  for (int op = 0; op < 4; op++) {
    struct op_case c;
    case_begin(&c, "", op == 0 ? "GlobalAveragePool" : op == 1 ? "GlobalMaxPool" : "GlobalLpPool", 13);
    struct array *x = case_float_input(&c, 4, -1, 1, DIMS(2, 3, 5, 7));
    if (op == 3)
      case_int(&c, "p", 3);
    case_run(&c, case_exact(), 2);
    struct shape shape = shape_of(DIMS(2, 3, 1, 1));
    assert_true(shape_equal(&c.out[0].shape, &shape));
    for (int i = 0; i < 6; i++) {
      double sum = 0, max = -INFINITY, squares = 0, cubes = 0;
      for (int j = 0; j < 35; j++) {
        double v = x->f64[i * 35 + j];
        sum += v;
        squares += v * v;
        cubes += fabs(v * v * v);
        max = fmax(max, v);
      }
      double want = op == 0 ? sum / 35 : op == 1 ? max : op == 2 ? sqrt(squares) : cbrt(cubes);
      assert_close(&c.out[0].f64[i], &want, 1, 1e-14);
    }
    case_check_threads(&c);
    case_end(&c);
  }
}

static void test_honest_fp32(void **state) {
  (void)state;
  struct op_case c;
  float y[30 * 30];
  case_begin(&c, "", "AveragePool", 19);
  struct array *x = case_float_input(&c, 5, -1, 1, DIMS(1, 1, 40, 40));
  case_ints(&c, "kernel_shape", 2, (const int64_t[]){11, 11});
  for (int i = 0; i < 30 * 30; i++) {
    y[i] = 0;
    for (int k = 0; k < 121; k++)
      y[i] += (float)x->f64[(i / 30 + k / 11) * 40 + i % 30 + k % 11];
    y[i] /= 121;
  }
  double ratio;
  assert_true(case_honest_z(&c, 0, y, &ratio) < 6);
  assert_true(ratio < 20);
  case_end(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_windows),       cmocka_unit_test(test_three_dimensions),
      cmocka_unit_test(test_storage_order), cmocka_unit_test(test_special_values),
      cmocka_unit_test(test_global),        cmocka_unit_test(test_honest_fp32),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
