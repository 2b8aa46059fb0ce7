// SPDX-License-Identifier: Apache-2.0
// Attention against loops over every query and key, and against fp32 done as people write it.
#include "op_case.h"

enum { B = 2, S = 37, T = 41, E = 16, V = 5 };

struct form {
  int64_t heads, kv_heads;
  bool split, causal, mask;
  double softcap;
};

// The rows of head h: four dimensions, or three with heads side by side.
static const double *row(const struct array *a, bool split, int64_t heads, int64_t length, int64_t size, int64_t b,
                         int64_t h, int64_t i) {
  return a->f64 + (split ? ((b * length + i) * heads + h) * size : ((b * heads + h) * length + i) * size);
}

static void form_case(const struct form *f, struct op_case *c) {
  case_begin(c, "", "Attention", 24);
  if (f->split) {
    case_float_input(c, 1, -2, 2, DIMS(B, S, f->heads * E));
    case_float_input(c, 2, -2, 2, DIMS(B, T, f->kv_heads * E));
    case_float_input(c, 3, -1, 1, DIMS(B, T, f->kv_heads * V));
    case_int(c, "q_num_heads", f->heads);
    case_int(c, "kv_num_heads", f->kv_heads);
  } else {
    case_float_input(c, 1, -2, 2, DIMS(B, f->heads, S, E));
    case_float_input(c, 2, -2, 2, DIMS(B, f->kv_heads, T, E));
    case_float_input(c, 3, -1, 1, DIMS(B, f->kv_heads, T, V));
  }
  if (f->mask)
    case_float_input(c, 4, -1, 1, DIMS(f->heads, S, T));
  case_int(c, "is_causal", f->causal);
  case_float(c, "softcap", f->softcap);
}

// `single`: every intermediate value in fp32.
static void naive(const struct form *f, const struct op_case *c, bool single, double *y) {
  for (int64_t b = 0; b < B; b++)
    for (int64_t h = 0; h < f->heads; h++)
      for (int64_t i = 0; i < S; i++) {
        int64_t g = h / (f->heads / f->kv_heads);
        const double *q = row(&c->in[0], f->split, f->heads, S, E, b, h, i);
        double p[T], max = -INFINITY, sum = 0, out[V] = {0};
#define R(x) (single ? (double)(float)(x) : (x))
        for (int64_t j = 0; j < T; j++) {
          const double *k = row(&c->in[1], f->split, f->kv_heads, T, E, b, g, j);
          double s = 0;
          for (int e = 0; e < E; e++)
            s = R(s + R(q[e] * k[e]));
          s = R(s * 0.25);
          if (f->softcap > 0)
            s = R(R(tanh(R(s / f->softcap))) * f->softcap);
          if (f->mask)
            s = R(s + c->in[3].f64[(h * S + i) * T + j]);
          p[j] = f->causal && j > i ? -INFINITY : s;
          max = fmax(max, p[j]);
        }
        for (int64_t j = 0; j < T; j++) {
          p[j] = R(exp(R(p[j] - max)));
          sum = R(sum + p[j]);
        }
        for (int64_t j = 0; j < T; j++)
          for (int e = 0; e < V; e++)
            out[e] = R(out[e] + R(R(p[j] / sum) * row(&c->in[2], f->split, f->kv_heads, T, V, b, g, j)[e]));
#undef R
        for (int e = 0; e < V; e++)
          y[(f->split ? ((b * S + i) * f->heads + h) * V : ((b * f->heads + h) * S + i) * V) + e] = out[e];
      }
}

static void test_forms(void **state) {
  (void)state;
  static const struct form forms[] = {
      {3, 3, false, false, false, 0}, {4, 2, false, true, true, 0},  {6, 1, true, true, false, 1.5},
      {2, 2, true, false, true, 0},   {4, 4, false, false, true, 3},
  };
  for (size_t n = 0; n < sizeof forms / sizeof forms[0]; n++) {
    const struct form *f = &forms[n];
    struct op_case c;
    form_case(f, &c);
    case_run(&c, case_exact(), 2);
    int64_t count = B * S * f->heads * V;
    assert_int_equal(shape_count(&c.out[0].shape), count);
    double *want = arena_calloc(&c.arena, (size_t)count, sizeof *want);
    float *honest = arena_calloc(&c.arena, (size_t)count, sizeof *honest);
    naive(f, &c, false, want);
    assert_close(c.out[0].f64, want, count, 1e-13);
    case_check_threads(&c);
    naive(f, &c, true, want);
    for (int64_t i = 0; i < count; i++)
      honest[i] = (float)want[i];
    double ratio, z = case_honest_z(&c, 0, honest, &ratio);
    if (z >= 6 || ratio > 20)
      fail_msg("form %d: z %g, ratio %g", (int)n, z, ratio);
    case_end(&c);
  }
}

// Keys seen before plus one new query is the last row of the whole thing; and it hands on what it saw.
static void test_past(void **state) {
  (void)state;
  enum { H = 2, L = 9 };
  struct op_case whole, step;
  case_begin(&whole, "", "Attention", 23);
  for (uint64_t i = 0; i < 3; i++)
    case_float_input(&whole, i, -1, 1, DIMS(1, H, L, E));
  case_int(&whole, "is_causal", 1);
  case_run(&whole, case_exact(), 1);
  case_begin(&step, "", "Attention", 23);
  for (int i = 0; i < 6; i++) {
    if (i == 3) {
      case_no_input(&step);
      continue;
    }
    bool past = i > 3;
    int64_t n = past ? L - 1 : 1;
    struct array *a = case_input(&step, DTYPE_FLOAT, DIMS(1, H, n, E));
    const double *from = whole.in[past ? i - 3 : i].f64;
    for (int h = 0; h < H; h++)
      memcpy(a->f64 + h * n * E, from + (h * L + (past ? 0 : L - 1)) * E, (size_t)(n * E) * 8);
  }
  case_int(&step, "is_causal", 1);
  step.node.n_outputs = 3;
  step.outputs[1] = 1, step.outputs[2] = 2;
  case_run(&step, case_exact(), 1);
  for (int h = 0; h < H; h++)
    assert_close(step.out[0].f64 + h * E, whole.out[0].f64 + (h * L + L - 1) * E, E, 1e-15);
  assert_memory_equal(step.out[1].f64, whole.in[1].f64, H * L * E * 8);
  assert_memory_equal(step.out[2].f64, whole.in[2].f64, H * L * E * 8);
  case_end(&whole);
  case_end(&step);
}

// A query that may look at nothing gives zeros, not NaN.
static void test_masked_row(void **state) {
  (void)state;
  struct op_case c;
  case_begin(&c, "", "Attention", 23);
  for (uint64_t i = 0; i < 3; i++)
    case_float_input(&c, i, -1, 1, DIMS(1, 1, 3, 4));
  struct array *mask = case_input(&c, DTYPE_BOOL, DIMS(3, 3));
  for (int i = 0; i < 9; i++)
    mask->i64[i] = i / 3 != 1;
  case_run(&c, case_exact(), 1);
  for (int i = 0; i < 12; i++)
    assert_true(i / 4 == 1 ? c.out[0].f64[i] == 0 : isfinite(c.out[0].f64[i]) && c.out[0].f64[i] != 0);
  case_end(&c);
}

static void test_errors(void **state) {
  (void)state;
  struct op_case c;
  case_begin(&c, "", "Attention", 23);
  for (uint64_t i = 0; i < 3; i++)
    case_float_input(&c, i, -1, 1, DIMS(1, 3, 8));
  assert_int_equal(case_infer(&c), ASSAY_ERR_INVALID); // three dimensions and no number of heads
  case_end(&c);
  case_begin(&c, "", "Attention", 23);
  case_float_input(&c, 1, -1, 1, DIMS(1, 3, 4, 8));
  case_float_input(&c, 1, -1, 1, DIMS(1, 2, 4, 8));
  case_float_input(&c, 1, -1, 1, DIMS(1, 2, 4, 8));
  assert_int_equal(case_infer(&c), ASSAY_ERR_INVALID); // 2 does not divide 3
  case_end(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_forms),
      cmocka_unit_test(test_past),
      cmocka_unit_test(test_masked_row),
      cmocka_unit_test(test_errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
