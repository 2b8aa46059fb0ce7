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

// A plan's draw of all inputs of a task, with its arena.
struct planned {
  struct arena arena;
  struct draw_plan plan;
};

static void plan(const struct task *t, const char *workload, uint64_t key, struct planned *p) {
  struct assay_error err = {0};
  *p = (struct planned){0};
  if (draw_plan_make(t, task_workload(t, workload), PROBE_OPPOSED, key, &p->arena, &p->plan, &err) != ASSAY_OK)
    fail_msg("%s: %s", t->name, err.message);
}

// The scale along a dimension of an input; NULL: none.
static const struct draw_scale *scale_along(const struct planned *p, int input, int axis) {
  const struct shape *s = &p->plan.inputs[input].shape;
  for (int i = 0; i < p->plan.scales[input].n; i++) {
    const struct draw_scale *scale = &p->plan.scales[input].along[i];
    if (scale->stride == shape_span(s, axis + 1, s->rank) && scale->extent == s->dims[axis])
      return scale;
  }
  return NULL;
}

enum { MOST_EXTENT = 256 };

// How each index along a dimension is scaled in an input: the root of its mean square.
static void scales_of(const struct planned *p, int input, int axis, double *out) {
  static float x[1 << 20];
  struct draw_request r = draw_plan_request(&p->plan, input);
  const struct shape *s = &p->plan.inputs[input].shape;
  const int64_t extent = s->dims[axis], inner = shape_span(s, axis + 1, s->rank), count = shape_count(s);
  assert_true(count <= (int64_t)(sizeof x / sizeof *x) && r.type.dtype == DTYPE_FLOAT && extent <= MOST_EXTENT);
  distribution_draw(&r, x);
  memset(out, 0, (size_t)extent * sizeof *out);
  for (int64_t i = 0; i < count; i++)
    out[i / inner % extent] += (double)x[i] * (double)x[i];
  for (int64_t i = 0; i < extent; i++)
    out[i] = sqrt(out[i] / (double)count * (double)extent);
}

// Of a key: a pair of inputs is scaled along the right dimensions and no other, and products of both scales are alike.
static void check_key(const struct task *t, const int along[2], uint64_t key, int *signs) {
  const bool few = t->inputs[0].distribution.triu || t->inputs[0].distribution.tril; // elements of some indices
  double scales[2][MOST_EXTENT], least = INFINITY, most = 0, small = INFINITY, large = 0;
  struct planned p;
  plan(t, "ragged2", key, &p);
  for (int i = 0; i < t->n_inputs; i++)
    if (p.plan.scales[i].n != (i < 2) || (i < 2 && !scale_along(&p, i, along[i])))
      fail_msg("%s, key %d, input %d: %d scales", t->name, (int)key, i, p.plan.scales[i].n);
  const struct draw_scale *a = scale_along(&p, 0, along[0]), *b = scale_along(&p, 1, along[1]);
  assert_true(a->extent == b->extent);
  for (int i = 0; i < 2; i++)
    scales_of(&p, i, along[i], scales[i]);
  for (int64_t k = 0; k < a->extent; k++) {
    assert_true(fabs(log2(a->factors[k]) + log2(b->factors[k])) < 0.2); // near 2^t and 2^-t
    assert_true(fabs(log2(a->factors[k])) <= 12);
    least = fmin(least, scales[0][k]);
    most = fmax(most, scales[0][k]);
    small = fmin(small, scales[0][k] * scales[1][k]);
    large = fmax(large, scales[0][k] * scales[1][k]);
  }
  if (!(large / small < 1000 || few) || !(most / least > 0x1p10))
    fail_msg("%s, key %d: products %g to %g, scales %g to %g", t->name, (int)key, small, large, least, most);
  struct planned again; // of another key other scales
  plan(t, "ragged2", key + 1000, &again);
  assert_true(scale_along(&again, 0, along[0])->factors[0] != a->factors[0]);
  signs[a->factors[0] > 1]++;
  arena_release(&p.arena);
  arena_release(&again.arena);
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
      {"kernelbench/1/63", {1, 1}}, // channels; of windows of 3 x 3 transforms are as good
      {"kernelbench/1/97", {3, 3}}, // Q and K', not V
      {"kernelbench/2/18", {1, 1}}, // a bias
      {"kernelbench/2/45", {1, 1}}, // of two products the first: a sigmoid lets no scales pass
      {"kernelbench/2/76", {1, 1}}, //
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct task t;
    int signs[2] = {0};
    read_task(rows[i].name, &t);
    if (!asks(&t, PROBE_OPPOSED))
      fail_msg("%s is not asked", t.name);
    for (uint64_t key = 1; key <= 40; key++)
      check_key(&t, rows[i].along, key, signs);
    assert_true(signs[0] > 4 && signs[1] > 4);
    task_release(&t);
  }
}

// A symmetric matrix stays symmetric: element (i, j) has the scales of i and j.
static void test_opposed_symmetric(void **state) {
  static float x[MOST_EXTENT * MOST_EXTENT];
  struct task t;
  struct planned p;
  (void)state;
  read_task("kernelbench/1/13", &t);
  assert_true(asks(&t, PROBE_OPPOSED));
  plan(&t, "ragged2", 5, &p);
  const int64_t n = p.plan.inputs[0].shape.dims[0];
  double scales[2][MOST_EXTENT];
  for (int i = 0; i < 2; i++) {
    struct draw_request r = draw_plan_request(&p.plan, i);
    assert_int_equal(p.plan.scales[i].n, 2);
    distribution_draw(&r, x);
    scales_of(&p, i, 0, scales[i]);
    for (int64_t k = 0; k < n * n; k++)
      assert_true(x[k] == x[k % n * n + k / n]);
  }
  double least = INFINITY, most = 0;
  for (int64_t k = 0; k < n; k++) {
    least = fmin(least, scales[0][k] * scales[1][k]);
    most = fmax(most, scales[0][k] * scales[1][k]);
  }
  assert_true(most / least < 100);
  arena_release(&p.arena);
  task_release(&t);
}

static const struct draw_scale *named(const struct task *t, const struct planned *p, const char *name, int axis) {
  for (int i = 0; i < t->n_inputs; i++)
    if (strcmp(t->inputs[i].name, name) == 0)
      return scale_along(p, i, axis);
  fail_msg("%s: %s", t->name, name);
  return NULL;
}

static bool opposite(double a, double b) {
  return fabs(log2(a) + log2(b)) < 0.2;
}

// Features of layers: rows of weights and the bias have the scales that columns of the next layer's have inverted.
static void test_opposed_layers(void **state) {
  struct task t;
  struct planned p;
  (void)state;
  read_task("kernelbench/3/1", &t);
  plan(&t, "small", 3, &p);
  const struct draw_scale *x = named(&t, &p, "x", 1), *first = named(&t, &p, "network_0_weight", 1),
                          *rows = named(&t, &p, "network_0_weight", 0), *bias = named(&t, &p, "network_0_bias", 0),
                          *second = named(&t, &p, "network_2_weight", 1), *last = named(&t, &p, "network_4_weight", 1),
                          *hidden = named(&t, &p, "network_2_bias", 0);
  assert_true(x && first && rows && bias && second && last && hidden);
  assert_true(!named(&t, &p, "network_4_weight", 0) && !named(&t, &p, "network_4_bias", 0));
  double reach = 0;
  for (int64_t k = 0; k < x->extent; k++) {
    assert_true(opposite(x->factors[k], first->factors[k]));
    assert_true(rows->factors[k] == bias->factors[k] && opposite(bias->factors[k], second->factors[k]));
    assert_true(opposite(hidden->factors[k], last->factors[k]));
    reach = fmax(reach, fabs(log2(bias->factors[k])));
  }
  assert_true(reach > 10 && reach <= 12);
  arena_release(&p.arena);
  task_release(&t);
}

// Queries, keys and values are parts of one product's rows: those of queries and keys that meet are opposed, those of
// values to the next layer. Heads share the scales of their features.
static void test_opposed_heads(void **state) {
  enum { HEADS = 8 };
  struct task t;
  struct planned p;
  (void)state;
  read_task("kernelbench/3/43", &t);
  plan(&t, "small", 3, &p);
  const struct draw_scale *rows = named(&t, &p, "c_attn_weight", 0), *bias = named(&t, &p, "c_attn_bias", 0),
                          *out = named(&t, &p, "c_proj_weight", 1);
  assert_true(rows && bias && out && named(&t, &p, "x", 2) && named(&t, &p, "c_attn_weight", 1));
  const int64_t e = out->extent, size = e / HEADS;
  for (int64_t k = 0; k < e; k++) {
    assert_true(opposite(rows->factors[k], rows->factors[e + k]));
    assert_true(opposite(rows->factors[2 * e + k], out->factors[k]));
    assert_true(rows->factors[k] == rows->factors[k % size] && out->factors[k] == out->factors[k % size]);
  }
  for (int64_t k = 0; k < 3 * e; k++)
    assert_true(rows->factors[k] == bias->factors[k]);
  arena_release(&p.arena);
  task_release(&t);
}

// Channels have their scales from a normalization; pixels share those of their channel where they are flattened; and
// what two convolutions look at is opposed in both.
static void test_opposed_networks(void **state) {
  struct task t;
  struct planned p;
  (void)state;
  read_task("kernelbench/3/8", &t);
  plan(&t, "small", 3, &p);
  const struct draw_scale *scale = named(&t, &p, "bn1_weight", 0), *shift = named(&t, &p, "bn1_bias", 0),
                          *next = named(&t, &p, "conv2_weight", 1), *x = named(&t, &p, "x", 1),
                          *one = named(&t, &p, "conv1_weight", 1), *other = named(&t, &p, "downsample_0_weight", 1);
  assert_true(scale && shift && next && x && one && other && !named(&t, &p, "bn2_weight", 0));
  for (int64_t k = 0; k < scale->extent; k++)
    assert_true(scale->factors[k] == shift->factors[k] && opposite(shift->factors[k], next->factors[k]));
  for (int64_t k = 0; k < x->extent; k++)
    assert_true(opposite(x->factors[k], one->factors[k]) && one->factors[k] == other->factors[k]);
  arena_release(&p.arena);
  task_release(&t);
  read_task("kernelbench/3/4", &t);
  plan(&t, "small", 3, &p);
  const struct draw_scale *channels = named(&t, &p, "conv2_bias", 0), *flat = named(&t, &p, "fc1_weight", 1);
  assert_true(channels && flat && flat->extent % channels->extent == 0);
  for (int64_t k = 0; k < flat->extent; k++)
    assert_true(opposite(flat->factors[k], channels->factors[k / (flat->extent / channels->extent)]));
  arena_release(&p.arena);
  task_release(&t);
}

// Along a window's dimension some output meets a tap's inverse at each tap, and which one is secret.
static void test_opposed_windows(void **state) {
  enum { STRIDE = 4, PAD = 2 };
  struct task t;
  struct planned p;
  int64_t first = -1, seen = 0;
  (void)state;
  read_task("kernelbench/1/50", &t);
  for (uint64_t key = 1; key <= 20; key++) {
    plan(&t, "small", key, &p);
    const struct draw_scale *x = named(&t, &p, "x", 2), *w = named(&t, &p, "w", 2);
    assert_true(x && w && named(&t, &p, "x", 1) && named(&t, &p, "x", 3) && named(&t, &p, "w", 3));
    int64_t met = 0, where = -1;
    for (int64_t out = 0; out * STRIDE + w->extent - 2 * PAD <= x->extent; out++) {
      bool all = true;
      for (int64_t k = 0; k < w->extent; k++) {
        const int64_t i = out * STRIDE - PAD + k;
        all = all && (i < 0 || i >= x->extent || opposite(x->factors[i], w->factors[k]));
      }
      where = all && met == 0 ? out : where;
      met += all;
    }
    assert_true(met > 0);
    seen += where != first;
    first = where;
    for (int64_t k = 0; k < w->extent; k++)
      assert_true(fabs(log2(w->factors[k])) <= 8);
    arena_release(&p.arena);
  }
  assert_true(seen > 5);
  task_release(&t);
}

// How far exponents reach along the first factor's dimension; 0: it is not asked.
static int reach(const char *name) {
  struct task t;
  struct planned p;
  double most = 0;
  read_task(name, &t);
  for (uint64_t key = 1; key <= 20 && asks(&t, PROBE_OPPOSED); key++) {
    plan(&t, "small", key, &p);
    for (int i = 0; i < t.n_inputs; i++)
      for (int k = 0; k < p.plan.scales[i].n; k++)
        for (int64_t at = 0; at < p.plan.scales[i].along[k].extent; at++)
          most = fmax(most, fabs(log2(p.plan.scales[i].along[k].factors[at])));
    arena_release(&p.arena);
  }
  assert_int_equal(asks(&t, PROBE_OPPOSED), t.opposes);
  task_release(&t);
  return (int)ceil(most);
}

// Scales that the type has room for; and what is not asked.
static void test_opposed_reach(void **state) {
  (void)state;
  assert_int_equal(reach("fusedops/matmul/bf16_matmul"), 12);
  assert_int_equal(reach("fusedops/matmul/fp16_matmul"), 12);
  assert_int_equal(reach("fusedops/matmul/fp8_matmul"), 4);
  assert_int_equal(reach("fusedops/attention/bf16_attention"), 12);
  assert_int_equal(reach("fusedops/attention/bf16_attention_gqa"), 12);
  assert_int_equal(reach("kernelbench/1/85"), 8); // a window for each channel on its own
  assert_int_equal(reach("kernelbench/1/23"), 0); // softmax
  assert_int_equal(reach("kernelbench/1/82"), 0); // windows of 3 x 3 for each channel
  assert_int_equal(reach("kernelbench/3/35"), 0); // what a recurrent network ends in
}

// All numbers of fp8 are finite.
static void test_opposed_fp8(void **state) {
  static unsigned char x[1 << 16];
  static double v[1 << 16];
  struct task t;
  struct planned p;
  (void)state;
  read_task("fusedops/matmul/fp8_matmul", &t);
  for (uint64_t key = 1; key < 20; key++) {
    plan(&t, "small", key, &p);
    for (int i = 0; i < 2; i++) {
      struct draw_request r = draw_plan_request(&p.plan, i);
      const int64_t n = shape_count(&r.type.shape);
      assert_true(n <= (int64_t)sizeof x);
      distribution_draw(&r, x);
      dtype_to_f64(r.type.dtype, x, n, v);
      for (int64_t k = 0; k < n; k++)
        assert_true(isfinite(v[k]));
    }
    arena_release(&p.arena);
  }
  task_release(&t);
}

// Dimensions of no extent have no scales, and nothing is divided by them.
static void test_opposed_of_nothing(void **state) {
  (void)state;
  static const char text[] =
      "<ir_version: 10, opset_import: [\"\" : 23], metadata_props: [\"assay.task\" : \"t\", \"assay.contract\" : "
      "\"fp32\", \"assay.workload.small\" : \"N=4\", \"assay.workload.full\" : \"N=4\", \"assay.input.x\" : "
      "\"normal(0, 1)\", \"assay.input.w\" : \"normal(0, 1)\"]>\n"
      "g (float[N,4] x, float[2,2,0] w) => (float[N,0] y) <int64[2] s = {4, 0}>"
      "{ v = Reshape<allowzero = 1>(w, s) y = MatMul(x, v) }\n";
  struct task t;
  struct assay_error err = {0};
  if (task_parse(text, strlen(text), "t.onnxtxt", false, &t, &err) == ASSAY_OK)
    task_release(&t);
  else
    assert_non_null(strstr(err.message, "elements")); // whoever wants outputs with some says so
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_defaults),          cmocka_unit_test(test_whole_suite),
      cmocka_unit_test(test_product),           cmocka_unit_test(test_opposed),
      cmocka_unit_test(test_opposed_symmetric), cmocka_unit_test(test_opposed_reach),
      cmocka_unit_test(test_opposed_fp8),       cmocka_unit_test(test_opposed_layers),
      cmocka_unit_test(test_opposed_heads),     cmocka_unit_test(test_opposed_networks),
      cmocka_unit_test(test_opposed_windows),   cmocka_unit_test(test_opposed_of_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
