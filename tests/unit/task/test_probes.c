// SPDX-License-Identifier: Apache-2.0
// Which probes tasks are asked that say nothing of them, and how small PROBE_TINY makes what goes into products.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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

// How one index along the summed dimension is scaled: in a task's input of that number, where the dimension is that
// one.
static double scale_of(const struct task *t, const struct array *shapes, int input, int along, int64_t index,
                       uint64_t key) {
  static float x[1 << 20];
  struct draw_request r = task_draw_request(t, task_workload(t, "ragged2"), shapes, input, PROBE_OPPOSED, key);
  const int64_t *dims = shapes[input].shape.dims, columns = dims[1], n = dims[!along];
  double sum = 0;
  assert_true(r.along == along && shape_count(&shapes[input].shape) <= (int64_t)(sizeof x / sizeof *x));
  distribution_draw(&r, x);
  for (int64_t i = 0; i < n; i++) {
    double v = (double)(along ? x[i * columns + index] : x[index * columns + i]);
    sum += v * v;
  }
  return sqrt(sum / (double)n);
}

// Along the dimension that is summed over, what one factor is larger the other is smaller, weights included.
static void test_opposed(void **state) {
  static const struct {
    const char *name;
    int along[2];
    double usual; // the product of both inputs' usual magnitudes
  } rows[] = {{"kernelbench/1/2", {1, 0}, 1}, {"kernelbench/1/17", {1, 1}, 1}, {"kernelbench/2/76", {1, 1}, 0.0065}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct task t;
    struct array shapes[4] = {0};
    struct assay_error err = {0};
    double least = INFINITY, most = 0;
    read_task(rows[i].name, &t);
    assert_true(asks(&t, PROBE_OPPOSED) && t.n_inputs <= 4);
    assert_int_equal(task_input_shapes(&t, task_workload(&t, "ragged2"), shapes, &err), ASSAY_OK);
    const int64_t n = shapes[0].shape.dims[rows[i].along[0]];
    for (int64_t k = 0; k < n; k++) {
      const double a = scale_of(&t, shapes, 0, rows[i].along[0], k, 7),
                   b = scale_of(&t, shapes, 1, rows[i].along[1], k, 7) / rows[i].usual;
      assert_true(a * b > 0.2 && a * b < 5);
      least = fmin(least, a);
      most = fmax(most, a);
    }
    assert_true(n > 8 && most / least > 0x1p14);
    task_release(&t);
  }
  struct task softmax;
  read_task("kernelbench/1/23", &softmax);
  assert_false(asks(&softmax, PROBE_OPPOSED));
  task_release(&softmax);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_defaults), cmocka_unit_test(test_whole_suite),
                                     cmocka_unit_test(test_product), cmocka_unit_test(test_opposed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
