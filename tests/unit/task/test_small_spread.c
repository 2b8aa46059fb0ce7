// SPDX-License-Identifier: Apache-2.0
// What PROBE_SMALL_SPREAD scales: weights on the way to a normalisation, so that its epsilon tells.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "task/drawing.h"
#include "task/task.h"

// A task of these inputs: "ids" are whole numbers, "x" is free, "v" a variance, all others are weights.
static void parse(const char *inputs, const char *body, struct task *t) {
  struct buf text = {0};
  struct assay_error err = {0};
  buf_printf(&text, "<ir_version: 10, opset_import: [\"\" : 23], metadata_props: [\"assay.task\" : \"t\", "
                    "\"assay.contract\" : \"fp32\", \"assay.workload.small\" : \"N=4\", \"assay.workload.full\" : "
                    "\"N=4\"");
  for (const char *p = inputs; (p = strchr(p, ']')); p++) {
    char name[32] = "";
    assert_int_equal(sscanf(p, "] %31[a-z0-9]", name), 1);
    buf_printf(&text, ", \"assay.input.%s\" : \"%s\"", name,
               strcmp(name, "ids") == 0 ? "integers(0, 8) fixed"
               : strcmp(name, "x") == 0 ? "normal(0, 1)"
               : strcmp(name, "v") == 0 ? "uniform(0.5, 1.5) static above(0)"
                                        : "normal(0, 0.1) static");
  }
  buf_printf(&text, "]>\ng (%s) => (float y) { %s }\n", inputs, body);
  assert_int_equal(buf_status(&text, &err), ASSAY_OK);
  if (task_parse(text.data, text.len, "t.onnxtxt", false, t, &err) != ASSAY_OK)
    fail_msg("%s\n%s", err.message, text.data);
  buf_release(&text);
}

// The inputs that have factors, with the powers of two of those next to the common one: "w b v^2 x*-12".
static void factors(const struct task *t, uint64_t key, struct arena *arena, struct buf *out) {
  struct assay_error err = {0};
  struct draw_scales *scales;
  double common = 0;
  assert_int_equal(task_spread(t, key, arena, &scales, &err), ASSAY_OK);
  for (int i = 0; i < t->n_inputs; i++)
    if (scales[i].n > 0 && t->inputs[i].distribution.is_static)
      common = fmax(common, scales[i].along[0].factors[0]);
  for (int i = 0; i < t->n_inputs; i++) {
    const char *name = t->model.flat.values[t->model.flat.inputs[i]].name;
    if (scales[i].n == 0)
      continue;
    assert_int_equal(scales[i].n, 1);
    const double factor = scales[i].along[0].factors[0];
    assert_true(factor > 0);
    buf_printf(out, "%s%s", out->len ? " " : "", name);
    if (!t->inputs[i].distribution.is_static)
      buf_printf(out, "*%g", log2(factor));
    else if (factor < 0.9 * common)
      buf_printf(out, "^%.1f", log2(factor) / log2(common));
  }
}

static void test_what_is_scaled(void **state) {
  (void)state;
  static const struct {
    const char *what, *inputs, *body, *scaled;
  } rows[] = {
      {"a table of embeddings", "int64[N] ids, float[8,4] t, float[4] s, float[4] b",
       "e = Gather(t, ids) y = LayerNormalization(e, s, b)", "t"},
      {"two that are added", "int64[N] ids, float[8,4] t, float[N,4] p, float[4] s",
       "e = Gather(t, ids) f = Add(e, p) y = RMSNormalization<epsilon = 1e-5>(f, s)", "t p"},
      {"a layer of what is small already", "float[N,3] x, float[3,4] w, float[4] c, float[4] s",
       "m = MatMul(x, w) f = Add(m, c) y = LayerNormalization(f, s)", "c"},
      {"two of them", "float[N,3] x, float[3,4] w, float[4] c, float[4,4] u, float[4] d, float[4] s",
       "m = Gemm(x, w, c) r = Relu(m) q = Gemm(r, u, d) y = LayerNormalization(q, s)", "c d"},
      {"a layer of what is not", "float[N,3] x, float[3,4] w, float[4] c, float[4] s",
       "p = Softmax(x) m = MatMul(p, w) f = Add(m, c) y = LayerNormalization(f, s)", "w c"},
      {"a weight in another order", "float[N,3] x, float[4,3] w, float[4] s",
       "p = Softmax(x) u = Transpose<perm = [1, 0]>(w) m = MatMul(p, u) y = LayerNormalization(m, s)", "w"},
      {"normalised, and something added", "float[N,4] x, float[4] s, float[4] b, float[4,4] w, float[4] g",
       "n = LayerNormalization(x, s, b) m = MatMul(n, w) f = Add(n, m) y = LayerNormalization(f, g)", "s b w"},
      {"a table once more as a layer, and its shift", "int64[N] ids, float[8,4] t, float[4] s, float[8] c",
       "e = Gather(t, ids) n = LayerNormalization(e, s) u = Transpose<perm = [1, 0]>(t) m = MatMul(n, u) y = Add(m, c)",
       "t c"},
      {"the batch's own moments",
       "float[2,4,N] x, float[4,4,1] w, float[4] c, float[4] s, float[4] b, float[4] m, float[4] v",
       "f = Conv(x, w, c) y, rm, rv = BatchNormalization<training_mode = 1>(f, s, b, m, v)", "c"},
      {"moments that are given", "float[2,4,N] x, float[4] s, float[4] b, float[4] m, float[4] v",
       "y = BatchNormalization(x, s, b, m, v)", "v"},
      {"and those behind a layer",
       "float[2,4,N] x, float[4,4,1] w, float[4] c, float[4] s, float[4] b, float[4] m, float[4] v",
       "f = Conv(x, w, c) y = BatchNormalization(f, s, b, m, v)", "c v^2.0"},
      {"an epsilon far below the usual one", "float[N,4] x, float[4] s",
       "y = LayerNormalization<epsilon = 1e-12>(x, s)", "x*-12"},
      {"one near it", "float[N,4] x, float[4] s", "y = LayerNormalization<epsilon = 1e-6>(x, s)", ""},
      {"no normalisation", "float[N,3] x, float[3,4] w, float[4] c", "m = MatMul(x, w) y = Add(m, c)", ""},
      {"types without room", "int64[N] ids, float16[8,4] t, float16[4] s",
       "e = Gather(t, ids) n = LayerNormalization(e, s) y = Cast<to = 1>(n)", ""},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct arena arena = {0};
    struct buf found = {0};
    struct task t;
    parse(rows[i].inputs, rows[i].body, &t);
    factors(&t, 1, &arena, &found);
    const char *text = found.len ? found.data : "";
    if (strcmp(text, rows[i].scaled) != 0)
      fail_msg("%s: '%s' is scaled, not '%s'", rows[i].what, text, rows[i].scaled);
    buf_release(&found);
    arena_release(&arena);
    task_release(&t);
  }
}

static double spread_of(const struct task *t, int input, uint64_t key) {
  static float x[32];
  struct assay_error err = {0};
  struct arena arena = {0};
  struct draw_plan plan;
  assert_int_equal(draw_plan_make(t, &t->workloads[0], PROBE_SMALL_SPREAD, key, &arena, &plan, &err), ASSAY_OK);
  struct draw_request r = draw_plan_request(&plan, input);
  const int64_t n = shape_count(&r.type.shape);
  double squares = 0;
  assert_true(n <= 32 && n > 8);
  distribution_draw(&r, x);
  for (int64_t i = 0; i < n; i++)
    squares += (double)x[i] * (double)x[i];
  arena_release(&arena);
  return sqrt(squares / (double)n);
}

// Of a free input, and of a table of 0.1: around the root of the epsilon over many keys, and never far from it.
static void test_around_the_epsilon(void **state) {
  (void)state;
  static const struct {
    const char *inputs, *body;
    double epsilon;
  } rows[] = {
      {"float[N,4] x, float[4] s", "y = LayerNormalization<epsilon = 1e-5>(x, s)", 1e-5},
      {"float[N,4] x, float[4] s", "y = LayerNormalization<epsilon = 1e-12>(x, s)", 1e-12},
      {"float[8,4] t, float[4] s, int64[N] ids", "e = Gather(t, ids) y = LayerNormalization<epsilon = 1e-5>(e, s)",
       1e-5},
      {"float[8,4] t, float[4] s, int64[N] ids", "e = Gather(t, ids) y = LayerNormalization<epsilon = 1e-12>(e, s)",
       1e-12},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct task t;
    int below = 0, above = 0;
    parse(rows[i].inputs, rows[i].body, &t);
    for (uint64_t key = 1; key <= 200; key++) {
      const double ratio = spread_of(&t, 0, key) / sqrt(rows[i].epsilon);
      assert_true(ratio > 1.0 / 64 && ratio < 16);
      below += ratio < 0.5;
      above += ratio > 0.5;
    }
    assert_true(below > 20 && above > 20);
    task_release(&t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_is_scaled), cmocka_unit_test(test_around_the_epsilon)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
