// SPDX-License-Identifier: Apache-2.0
// Which probes tasks are asked that say nothing of them, and how small PROBE_TINY makes what goes into products.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "task/drawing.h"
#include "task/task.h"

#define ROOT ASSAY_SOURCE_DIR "/tasks"

static void read_task(const char *name, struct task *t) {
  struct assay_error err = {0};
  char *path = NULL;
  if (task_find(ROOT, name, &path, &err) != ASSAY_OK || task_read(path, false, t, &err) != ASSAY_OK)
    fail_msg("%s: %s", name, err.message);
  base_free(path);
}

static bool asks(const struct task *t, enum probe p) {
  return t->probes >> p & 1;
}

static void test_defaults(void **state) {
  (void)state;
  static const struct {
    const char *name, *what;
    bool tiny, small_spread;
  } rows[] = {
      {"kernelbench/1/1", "a product", true, false},
      {"kernelbench/1/14", "a product and Trilu", true, false},
      {"kernelbench/1/50", "a convolution", true, false},
      {"kernelbench/1/86", "two convolutions", true, false},
      {"kernelbench/1/26", "GELU", false, false},
      {"kernelbench/1/23", "softmax", false, false},
      {"kernelbench/1/42", "a maximum", false, false},
      {"kernelbench/1/44", "a mean of windows", false, false},
      {"kernelbench/1/33", "batch normalisation", false, true},
      {"kernelbench/1/34", "instance normalisation", false, true},
      {"kernelbench/1/35", "group normalisation", false, true},
      {"kernelbench/1/36", "a root mean square, written out", false, true},
      {"kernelbench/1/40", "layer normalisation", false, true},
      {"kernelbench/2/99", "a product, GELU and softmax", false, false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct task t;
    read_task(rows[i].name, &t);
    if (asks(&t, PROBE_TINY) != rows[i].tiny || asks(&t, PROBE_SMALL_SPREAD) != rows[i].small_spread)
      fail_msg("%s, %s: tiny %d, small_spread %d", rows[i].name, rows[i].what, asks(&t, PROBE_TINY),
               asks(&t, PROBE_SMALL_SPREAD));
    assert_true(asks(&t, PROBE_ZERO_MEAN) && asks(&t, PROBE_DECLARED));
    task_release(&t);
  }
}

static void test_whole_suite(void **state) {
  struct assay_error err = {0};
  char **paths;
  int n, tiny = 0, spread = 0, opposed = 0;
  (void)state;
  assert_int_equal(task_list(ROOT, "kernelbench", &paths, &n, &err), ASSAY_OK);
  for (int i = 0; i < n; i++) {
    struct task t;
    if (task_read(paths[i], false, &t, &err) != ASSAY_OK)
      fail_msg("%s", err.message);
    tiny += asks(&t, PROBE_TINY);
    spread += asks(&t, PROBE_SMALL_SPREAD);
    opposed += asks(&t, PROBE_OPPOSED);
    if (asks(&t, PROBE_TINY) && asks(&t, PROBE_SMALL_SPREAD))
      fail_msg("%s is asked both", t.name);
    task_release(&t);
  }
  print_message("of %d tasks %d are asked tiny, %d small_spread, %d opposed\n", n, tiny, spread, opposed);
  assert_true(tiny > 40 && spread > 30 && opposed > 100);
  task_list_release(paths, n);
}

// The product of all free inputs is near 2^-106, whether there are one or two; weights stay as they are.
static void test_product(void **state) {
  static const char *const names[] = {"kernelbench/1/1", "kernelbench/1/50", "kernelbench/1/13"};
  (void)state;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    struct task t;
    read_task(names[i], &t);
    struct array shapes[4] = {0};
    struct assay_error err = {0};
    assert_true(t.n_inputs <= 4);
    assert_int_equal(task_input_shapes(&t, &t.workloads[0], shapes, &err), ASSAY_OK);
    for (uint64_t key = 1; key <= 50; key++) {
      double exponent = 0;
      for (int k = 0; k < t.n_inputs; k++) {
        struct draw_request r = task_draw_request(&t, &t.workloads[0], shapes, k, PROBE_TINY, key);
        struct drawing d;
        drawing_resolve(&r, &d);
        if (t.inputs[k].distribution.is_static)
          assert_true(d.kind == t.inputs[k].distribution.kind);
        else
          assert_true(d.kind == DIST_NORMAL && d.a == 0);
        exponent += t.inputs[k].distribution.is_static ? 0 : log2(d.b);
      }
      assert_true(exponent >= -0.88 * 126 - 0.1 && exponent <= -0.8 * 126 + 0.3);
    }
    task_release(&t);
  }
}

// How each index along a dimension is scaled in an input: the root of its mean square.
static void scales_of(const struct task *t, const struct array *shapes, int input, uint64_t key, double *out) {
  static float x[1 << 20];
  struct draw_request r = task_draw_request(t, task_workload(t, "ragged2"), shapes, input, PROBE_OPPOSED, key);
  const struct shape *s = &shapes[input].shape;
  const int64_t extent = s->dims[r.along], inner = shape_span(s, r.along + 1, s->rank), count = shape_count(s);
  assert_true(count <= (int64_t)(sizeof x / sizeof *x) && array_type(&shapes[input]).dtype == DTYPE_FLOAT);
  distribution_draw(&r, x);
  memset(out, 0, (size_t)extent * sizeof *out);
  for (int64_t i = 0; i < count; i++)
    out[i / inner % extent] += (double)x[i] * (double)x[i];
  for (int64_t i = 0; i < extent; i++)
    out[i] = sqrt(out[i] / (double)count * (double)extent);
}

enum { MOST_EXTENT = 256 };

// Of a key: a pair of inputs is scaled along the right dimensions, and products of both scales are alike.
static void check_key(const struct task *t, const struct array *shapes, const int along[2], uint64_t key, int *signs) {
  const bool few = t->inputs[0].distribution.triu || t->inputs[0].distribution.tril; // elements of some indices
  double scales[2][MOST_EXTENT], least = INFINITY, most = 0, small = INFINITY, large = 0;
  int sum = 0;
  for (int i = 0; i < t->n_inputs; i++) {
    struct draw_request r = task_draw_request(t, task_workload(t, "ragged2"), shapes, i, PROBE_OPPOSED, key);
    if (i > 1 ? r.opposed != 0 : abs(r.opposed) != 12 || r.along != along[i])
      fail_msg("%s, key %d, input %d: %d along %d", t->name, (int)key, i, r.opposed, r.along);
    sum += r.opposed;
    if (i == 0)
      signs[r.opposed > 0]++;
  }
  assert_int_equal(sum, 0);
  const int64_t n = shapes[0].shape.dims[along[0]];
  assert_true(n <= MOST_EXTENT && n == shapes[1].shape.dims[along[1]]);
  for (int i = 0; i < 2; i++)
    scales_of(t, shapes, i, key, scales[i]);
  for (int64_t k = 0; k < n; k++) {
    least = fmin(least, scales[0][k]);
    most = fmax(most, scales[0][k]);
    small = fmin(small, scales[0][k] * scales[1][k]);
    large = fmax(large, scales[0][k] * scales[1][k]);
  }
  if (!(large / small < 1000 || few) || !(most / least > 0x1p10))
    fail_msg("%s, key %d: products %g to %g, scales %g to %g", t->name, (int)key, small, large, least, most);
}

// Along the dimension that is summed over, what one factor is larger the other is smaller, weights included. Whatever
// else is in the task has no such scales.
static void test_opposed(void **state) {
  static const struct {
    const char *name;
    int along[2];
  } rows[] = {
      {"kernelbench/1/1", {1, 0}},  // all dimensions have one symbol
      {"kernelbench/1/2", {1, 0}},  //
      {"kernelbench/1/11", {3, 0}}, // Einsum
      {"kernelbench/1/14", {1, 0}}, // triangles
      {"kernelbench/1/15", {1, 0}}, //
      {"kernelbench/1/17", {1, 1}}, // transposed before
      {"kernelbench/1/18", {0, 1}}, //
      {"kernelbench/1/97", {3, 3}}, // Q and K', not V
      {"kernelbench/2/18", {1, 1}}, // a bias
      {"kernelbench/2/45", {1, 1}}, // of two products the first
      {"kernelbench/2/76", {1, 1}}, //
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct task t;
    struct array shapes[8] = {0};
    struct assay_error err = {0};
    int signs[2] = {0};
    read_task(rows[i].name, &t);
    if (!asks(&t, PROBE_OPPOSED) || t.n_inputs > 8)
      fail_msg("%s is not asked, of %d inputs", t.name, t.n_inputs);
    assert_int_equal(task_input_shapes(&t, task_workload(&t, "ragged2"), shapes, &err), ASSAY_OK);
    for (uint64_t key = 1; key <= 40; key++)
      check_key(&t, shapes, rows[i].along, key, signs);
    assert_true(signs[0] > 4 && signs[1] > 4);
    task_release(&t);
  }
}

// A symmetric matrix stays symmetric: element (i, j) has the scales of i and j.
static void test_opposed_symmetric(void **state) {
  static float x[MOST_EXTENT * MOST_EXTENT];
  struct task t;
  struct array shapes[2] = {0};
  struct assay_error err = {0};
  (void)state;
  read_task("kernelbench/1/13", &t);
  assert_true(asks(&t, PROBE_OPPOSED));
  assert_int_equal(task_input_shapes(&t, task_workload(&t, "ragged2"), shapes, &err), ASSAY_OK);
  const int64_t n = shapes[0].shape.dims[0];
  double scales[2][MOST_EXTENT];
  for (int i = 0; i < 2; i++) {
    struct draw_request r = task_draw_request(&t, task_workload(&t, "ragged2"), shapes, i, PROBE_OPPOSED, 5);
    distribution_draw(&r, x);
    scales_of(&t, shapes, i, 5, scales[i]);
    for (int64_t k = 0; k < n * n; k++)
      assert_true(x[k] == x[k % n * n + k / n]);
  }
  double least = INFINITY, most = 0;
  for (int64_t k = 0; k < n; k++) {
    least = fmin(least, scales[0][k] * scales[1][k]);
    most = fmax(most, scales[0][k] * scales[1][k]);
  }
  assert_true(most / least < 100);
  task_release(&t);
}

static int reach(const char *name) {
  struct task t;
  read_task(name, &t);
  const int r = t.n_opposed ? t.opposed[0].reach : 0;
  assert_int_equal(asks(&t, PROBE_OPPOSED), r > 0);
  task_release(&t);
  return r;
}

// Scales that the type has room for; and what is not asked.
static void test_opposed_reach(void **state) {
  (void)state;
  assert_int_equal(reach("fusedops/matmul/bf16_matmul"), 12);
  assert_int_equal(reach("fusedops/matmul/fp16_matmul"), 12);
  assert_int_equal(reach("fusedops/matmul/fp8_matmul"), 4);
  assert_int_equal(reach("fusedops/attention/bf16_attention"), 12);
  assert_int_equal(reach("fusedops/attention/bf16_attention_gqa"), 12);
  assert_int_equal(reach("kernelbench/1/23"), 0); // softmax
  assert_int_equal(reach("kernelbench/1/82"), 0); // a convolution of each channel on its own
}

// All numbers of fp8 are finite.
static void test_opposed_fp8(void **state) {
  static unsigned char x[1 << 16];
  static double v[1 << 16];
  struct task t;
  struct array shapes[2] = {0};
  struct assay_error err = {0};
  (void)state;
  read_task("fusedops/matmul/fp8_matmul", &t);
  assert_int_equal(task_input_shapes(&t, &t.workloads[0], shapes, &err), ASSAY_OK);
  for (uint64_t key = 1; key < 20; key++)
    for (int i = 0; i < 2; i++) {
      struct draw_request r = task_draw_request(&t, &t.workloads[0], shapes, i, PROBE_OPPOSED, key);
      const int64_t n = shape_count(&shapes[i].shape);
      assert_true(n <= (int64_t)sizeof x);
      distribution_draw(&r, x);
      dtype_to_f64(r.type.dtype, x, n, v);
      for (int64_t k = 0; k < n; k++)
        assert_true(isfinite(v[k]));
    }
  task_release(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_defaults),          cmocka_unit_test(test_whole_suite),
                                     cmocka_unit_test(test_product),           cmocka_unit_test(test_opposed),
                                     cmocka_unit_test(test_opposed_symmetric), cmocka_unit_test(test_opposed_reach),
                                     cmocka_unit_test(test_opposed_fp8)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
