// SPDX-License-Identifier: Apache-2.0
// Shapes that a judgement draws: every shipped task has them, they are what their kind says, and assay.shapes is read
// as it is written.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "task/shapes.h"

#define ROOT ASSAY_SOURCE_DIR "/tasks"

static struct task parse(const char *metadata, const char *graph) {
  char text[2048];
  struct task t = {0};
  struct assay_error err = {0};
  snprintf(text, sizeof text,
           "<ir_version: 10, opset_import: [\"\" : 23], metadata_props: [\"assay.task\" : \"t\", "
           "\"assay.contract\" : \"fp32\", %s]>\n%s",
           metadata, graph);
  if (task_parse(text, strlen(text), "t", false, &t, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  return t;
}

#define PRODUCT "g (float[M, K] a, float[K, N] b) => (float[M, N] y) { y = MatMul(a, b) }"
#define PRODUCT_INPUTS "\"assay.input.a\" : \"normal(0, 1)\", \"assay.input.b\" : \"normal(0, 1)\", "
#define PRODUCT_SHAPES                                                                                                 \
  "\"assay.workload.small\" : \"M=64, K=512, N=64\", \"assay.workload.full\" : \"M=4096, K=4096, N=4096\", "           \
  "\"assay.workload.ragged0\" : \"M=1, K=1, N=1\""

static int64_t extent(const struct workload *w, const char *symbol) {
  for (int i = 0; i < w->n; i++)
    if (strcmp(w->bindings[i].symbol, symbol) == 0)
      return w->bindings[i].value;
  fail_msg("no extent %s", symbol);
  return 0;
}

static bool is_multiple(int64_t n) {
  return n % 4 == 0;
}

static bool same(const struct workload *a, const struct workload *b) {
  for (int i = 0; i < a->n; i++)
    if (a->bindings[i].value != extent(b, a->bindings[i].symbol))
      return false;
  return true;
}

struct drawn {
  struct arena arena;
  struct shape_ranges ranges;
  struct workload shapes[SHAPE_KIND_COUNT];
  bool found[SHAPE_KIND_COUNT];
};

static void draw(const struct task *t, const char *judged, double part, uint64_t key, struct drawn *out) {
  struct assay_error err = {0};
  *out = (struct drawn){0};
  assert_int_equal(shape_ranges_find(t, &out->arena, &out->ranges, &err), ASSAY_OK);
  struct shape_request r = {.task = t,
                            .ranges = &out->ranges,
                            .judged = task_workload(t, judged),
                            .most_work = part * shape_work(t, task_workload(t, judged)),
                            .key = key,
                            .arena = &out->arena};
  for (int k = 0; k < SHAPE_KIND_COUNT; k++)
    assert_int_equal(shape_draw(&r, (enum shape_kind)k, &out->shapes[k], &out->found[k], &err), ASSAY_OK);
}

// What each kind is, over many keys: a product has a range for each of its extents.
static void test_kinds(void **state) {
  (void)state;
  struct task t = parse(PRODUCT_INPUTS PRODUCT_SHAPES, PRODUCT);
  static const char *const symbols[] = {"M", "K", "N"};
  int different = 0, alike = 0, of_few = 0, one_less = 0, twice_odd = 0;
  struct drawn first;
  draw(&t, "small", 2, 0, &first);
  for (uint64_t key = 0; key < 200; key++) {
    struct drawn d;
    draw(&t, "small", 2, key, &d);
    int off = 0, round = 0, ragged = 0;
    for (int i = 0; i < 3; i++) {
      int64_t judged = extent(task_workload(&t, "small"), symbols[i]);
      int64_t near = extent(&d.shapes[SHAPE_NEIGHBOUR], symbols[i]) - judged;
      assert_true(near >= -3 && near <= 3);
      off += near != 0;
      assert_true(is_multiple(extent(&d.shapes[SHAPE_MULTIPLES], symbols[i])));
      round += is_multiple(extent(&d.shapes[SHAPE_MIXED], symbols[i]));
      ragged += extent(&d.shapes[SHAPE_MIXED], symbols[i]) % 4 != 0;
      one_less += extent(&d.shapes[SHAPE_MIXED], symbols[i]) % 16 == 15;
      twice_odd += extent(&d.shapes[SHAPE_MIXED], symbols[i]) % 4 == 2;
    }
    assert_true(off > 0 && round > 0 && ragged > 0);
    const int64_t terms = extent(&d.shapes[SHAPE_MIXED], "K");
    of_few += terms >= 2 && terms <= 4;
    const struct workload *multiples = &d.shapes[SHAPE_MULTIPLES];
    alike += extent(multiples, "M") == extent(multiples, "N") && extent(multiples, "M") == extent(multiples, "K");
    assert_int_equal(extent(&d.shapes[SHAPE_REDUCED], "K"), 512); // the sum is as long as in the judged shape
    assert_true(extent(&d.shapes[SHAPE_REDUCED], "M") <= 7);
    for (int k = 0; k < SHAPE_KIND_COUNT; k++) {
      assert_true(d.found[k]);
      assert_true(shape_work(&t, &d.shapes[k]) <= 2 * shape_work(&t, task_workload(&t, "small")));
      different += !same(&d.shapes[k], &first.shapes[k]);
    }
    arena_release(&d.arena);
  }
  assert_true(different > 4 * 190); // hardly ever the same
  assert_in_range(alike, 60, 140);  // every other product is one of square matrices
  assert_in_range(of_few, 50, 100); // every third one has sums of two to four terms
  assert_true(one_less > 40 && twice_odd > 40);
  arena_release(&first.arena);
  task_release(&t);
}

// An extent that goes in steps of an odd number, or twice one, is ragged where it is to be: no multiple of 4.
static void test_odd_steps(void **state) {
  (void)state;
  struct task t =
      parse(PRODUCT_INPUTS PRODUCT_SHAPES ", \"assay.shapes\" : \"M = 3..4095/3, K = 10..4090/10, N = 15..4095/15\"",
            PRODUCT);
  static const char *const symbols[] = {"M", "K", "N"};
  static const int64_t steps[] = {3, 10, 15};
  for (uint64_t key = 0; key < 400; key++) {
    struct drawn d;
    int round = 0;
    draw(&t, "full", key % 2 ? 1 : 1e-6, key, &d);
    for (int i = 0; i < 3 && d.found[SHAPE_MIXED]; i++) {
      int64_t mixed = extent(&d.shapes[SHAPE_MIXED], symbols[i]);
      assert_int_equal(mixed % steps[i], 0);
      round += is_multiple(mixed);
    }
    assert_true(round <= 2);
    arena_release(&d.arena);
  }
  task_release(&t);
}

// The same request gives the same shape: a judgement can be repeated.
static void test_repeats(void **state) {
  (void)state;
  struct task t = parse(PRODUCT_INPUTS PRODUCT_SHAPES, PRODUCT);
  struct drawn a, b;
  draw(&t, "small", 1, 77, &a);
  draw(&t, "small", 1, 77, &b);
  for (int k = 0; k < SHAPE_KIND_COUNT; k++)
    assert_true(same(&a.shapes[k], &b.shapes[k]));
  arena_release(&a.arena);
  arena_release(&b.arena);
  task_release(&t);
}

// Multiples of 64 in five extents would be a billion elements: smaller factors are taken, so that the work is kept.
static void test_many_extents(void **state) {
  (void)state;
  struct task t = parse("\"assay.input.x\" : \"normal(0, 1)\", "
                        "\"assay.workload.small\" : \"A=8, B=8, C=8, D=8, E=8\", "
                        "\"assay.workload.full\" : \"A=64, B=64, C=64, D=64, E=64\", "
                        "\"assay.workload.ragged0\" : \"A=1, B=1, C=1, D=1, E=1\"",
                        "g (float[A, B, C, D, E] x) => (float[A, B, C, D, E] y) { y = Relu(x) }");
  double most = shape_work(&t, task_workload(&t, "small")) / 8;
  for (uint64_t key = 0; key < 50; key++) {
    struct drawn d;
    draw(&t, "small", 1. / 8, key, &d);
    int round = 0;
    for (int i = 0; i < 5; i++)
      round += is_multiple(d.shapes[SHAPE_MULTIPLES].bindings[i].value);
    assert_true(d.found[SHAPE_MULTIPLES] && round > 0 && shape_work(&t, &d.shapes[SHAPE_MULTIPLES]) <= most);
    assert_true(d.found[SHAPE_MIXED] && shape_work(&t, &d.shapes[SHAPE_MIXED]) <= most);
    arena_release(&d.arena);
  }
  task_release(&t);
}

// Where a neighbour would be too much work, what is not off is made smaller.
static void test_large(void **state) {
  (void)state;
  struct task t = parse(PRODUCT_INPUTS PRODUCT_SHAPES, PRODUCT);
  for (uint64_t key = 0; key < 50; key++) {
    struct drawn d;
    draw(&t, "full", 0.01, key, &d);
    double most = 0.01 * shape_work(&t, task_workload(&t, "full"));
    int near = 0;
    static const char *const symbols[] = {"M", "K", "N"};
    for (int i = 0; i < 3; i++) {
      int64_t off = extent(&d.shapes[SHAPE_NEIGHBOUR], symbols[i]) - 4096;
      near += off != 0 && off >= -3 && off <= 3;
    }
    assert_true(near > 0);
    assert_int_equal(extent(&d.shapes[SHAPE_REDUCED], "K"), 4096);
    for (int k = 0; k < SHAPE_KIND_COUNT; k++)
      assert_true(d.found[k] && shape_work(&t, &d.shapes[k]) <= most);
    arena_release(&d.arena);
  }
  task_release(&t);
}

// Extents that must go together do; those that nothing is known of stay.
static void test_derived(void **state) {
  (void)state;
  struct assay_error err = {0};
  struct arena arena = {0};
  struct shape_ranges r;
  struct task t =
      parse("\"assay.input.a\" : \"normal(0, 1)\", \"assay.input.b\" : \"normal(0, 1)\", "
            "\"assay.workload.small\" : \"M=8, N=24, L=12\", \"assay.workload.full\" : \"M=64, N=96, L=48\", "
            "\"assay.workload.ragged0\" : \"M=1, N=2, L=1\"",
            "g (float[M, N] a, float[M, L] b) => (float[X, L] y) <int64[2] s = {-1, 2}, int64[2] p = {2, -1}> "
            "{ c = Reshape(b, s) d = Reshape(a, p) e = Reshape(d, s) y = Concat<axis = 0>(e, c) }");
  assert_int_equal(shape_ranges_derive(&t, &arena, &r, &err), ASSAY_OK);
  for (uint64_t key = 0; key < 20; key++) {
    struct drawn d;
    draw(&t, "small", 4, key, &d);
    for (int k = 0; k < SHAPE_KIND_COUNT; k++)
      if (d.found[k])
        assert_true(isfinite(shape_work(&t, &d.shapes[k])));
    arena_release(&d.arena);
  }
  task_release(&t);
  t = parse("\"assay.input.a\" : \"normal(0, 1)\", \"assay.input.b\" : \"normal(0, 1)\", "
            "\"assay.workload.small\" : \"M=8, N=24, L=12\", \"assay.workload.full\" : \"M=64, N=96, L=48\", "
            "\"assay.workload.ragged0\" : \"M=1, N=2, L=1\"",
            "g (float[M, N] a, float[M, L, 2] b) => (float[M, N] y) <int64[2] s = {0, -1}> "
            "{ c = Reshape(b, s) y = Add(a, c) }");
  assert_int_equal(shape_ranges_derive(&t, &arena, &r, &err), ASSAY_OK);
  assert_string_equal(shape_ranges_text(&r, &arena), "M=1..64, N=2..96/2, L=N/2");
  task_release(&t);
  t = parse(
      "\"assay.input.a\" : \"normal(0, 1)\", \"assay.input.b\" : \"normal(0, 1)\", \"assay.input.w\" : "
      "\"normal(0, 1)\", \"assay.workload.small\" : \"M=8, K=24, N=12, S=36\", "
      "\"assay.workload.full\" : \"M=64, K=96, N=48, S=144\", \"assay.workload.ragged0\" : \"M=1, K=2, N=3, S=5\"",
      "g (float[M, K] a, float[M, N] b, float[S, 3] w) => (float[M, 3] y) "
      "{ c = Concat<axis = 1>(a, b) y = MatMul(c, w) }");
  assert_int_equal(shape_ranges_derive(&t, &arena, &r, &err), ASSAY_OK);
  assert_string_equal(shape_ranges_text(&r, &arena), "M=1..64, K=2..96, N=3..48, S=K+N");
  task_release(&t);
  t = parse("\"assay.input.a\" : \"normal(0, 1)\", \"assay.input.b\" : \"normal(0, 1)\", "
            "\"assay.workload.small\" : \"M=8, N=24, L=72\", \"assay.workload.full\" : \"M=64, N=96, L=288\", "
            "\"assay.workload.ragged0\" : \"M=1, N=8, L=24\"",
            "g (float[M, N] a, float[M, L] b) => (float[M, 8, X] y) <int64[3] s = {0, 8, -1}> "
            "{ c = Concat<axis = 1>(a, a, a) d = Add(b, c) y = Reshape(d, s) }");
  assert_int_equal(shape_ranges_derive(&t, &arena, &r, &err), ASSAY_OK);
  const char *multiples = shape_ranges_text(&r, &arena);
  assert_true(!strcmp(multiples, "M=1..64, N=8..96/8, L=3*N") || !strcmp(multiples, "M=1..64, N=8..96, L=3*N"));
  task_release(&t);
  arena_release(&arena);
}

static void test_declared(void **state) {
  (void)state;
  struct assay_error err = {0};
  struct arena arena = {0};
  struct shape_ranges r;
  struct task t = parse(PRODUCT_INPUTS
                        "\"assay.workload.small\" : \"M=64, K=128, N=63\", \"assay.workload.full\" : \"M=4096, K=4096, "
                        "N=2047\", \"assay.shapes\" : \"M = 3..9, K=16..64/16, N=2*K/4-1\"",
                        PRODUCT);
  assert_int_equal(shape_ranges_find(&t, &arena, &r, &err), ASSAY_OK);
  assert_true(r.declared);
  assert_string_equal(shape_ranges_text(&r, &arena), "M=3..9, K=16..64/16, N=2*K/4-1");
  for (uint64_t key = 0; key < 50; key++) {
    struct drawn d;
    draw(&t, "small", 1, key, &d);
    for (int k = SHAPE_MULTIPLES; k <= SHAPE_MIXED; k++) {
      int64_t m = extent(&d.shapes[k], "M"), deep = extent(&d.shapes[k], "K");
      assert_true(m >= 3 && m <= 9 && deep >= 16 && deep <= 64 && deep % 16 == 0);
      assert_int_equal(extent(&d.shapes[k], "N"), deep / 2 - 1);
    }
    arena_release(&d.arena);
  }
  task_release(&t);
  arena_release(&arena);
}

#define SLICED                                                                                                         \
  "g (float[S, N] a, float[P, N] t) => (float[S, N] y) { "                                                             \
  "zero = Constant <value_ints = [0]> () two = Constant <value_ints = [2]> () "                                        \
  "dims = Shape <end = 1> (a) end = Add(dims, two) part = Slice(t, two, end, zero) y = Add(a, part) }"

// Tokens and the positions of a table: neither can change alone, and the first is at most the second.
static void test_limits(void **state) {
  (void)state;
  struct assay_error err = {0};
  struct arena arena = {0};
  struct shape_ranges r;
  struct task t =
      parse("\"assay.input.a\" : \"normal(0, 1)\", \"assay.input.t\" : \"normal(0, 1)\", "
            "\"assay.workload.small\" : \"S=24, P=40, N=64\", \"assay.workload.full\" : \"S=256, P=1026, N=768\", "
            "\"assay.workload.ragged0\" : \"S=1, P=3, N=1\", \"assay.workload.ragged1\" : \"S=7, P=13, N=5\"",
            SLICED);
  assert_int_equal(shape_ranges_find(&t, &arena, &r, &err), ASSAY_OK);
  assert_string_equal(shape_ranges_text(&r, &arena), "S=1..256<=P-2, P=3..1026, N=1..768");
  int new_lengths = 0, shorter = 0;
  for (uint64_t key = 0; key < 100; key++) {
    struct drawn d;
    draw(&t, "small", 1, key, &d);
    for (int k = 0; k < SHAPE_KIND_COUNT; k++) {
      if (!d.found[k])
        continue;
      int64_t s = extent(&d.shapes[k], "S"), p = extent(&d.shapes[k], "P");
      assert_true(s >= 1 && s <= p - 2 && p <= 1026);
      new_lengths += s != 24 && s != 256 && s != 1 && s != 7;
      shorter += s < p - 2;
      if (k == SHAPE_MULTIPLES && p > 6)
        assert_true(is_multiple(s) && is_multiple(p));
    }
    arena_release(&d.arena);
  }
  assert_true(new_lengths > 150 && shorter > 100);
  task_release(&t);
  arena_release(&arena);
}

// What is left of an image follows from its height and its width together.
static void test_formulas(void **state) {
  (void)state;
  struct assay_error err = {0};
  struct arena arena = {0};
  struct shape_ranges r;
  const char *shapes = "H=4..40, W=5..40, F=(2*((H-2)/2)*(W/(1+2)) + W)";
  char metadata[1024];
  snprintf(metadata, sizeof metadata,
           "\"assay.input.a\" : \"normal(0, 1)\", \"assay.workload.small\" : \"H=8, W=9, F=27\", "
           "\"assay.workload.full\" : \"H=20, W=30, F=210\", \"assay.shapes\" : \"%s\"",
           shapes);
  struct task t = parse(metadata, "g (float[H, W, F] a) => (float[H, W, F] y) { y = Relu(a) }");
  assert_int_equal(shape_ranges_find(&t, &arena, &r, &err), ASSAY_OK);
  assert_string_equal(shape_ranges_text(&r, &arena), shapes);
  for (uint64_t key = 0; key < 50; key++) {
    struct drawn d;
    draw(&t, "small", 1.5, key, &d);
    for (int k = 0; k < SHAPE_REDUCED; k++) {
      assert_true(d.found[k]);
      int64_t h = extent(&d.shapes[k], "H"), w = extent(&d.shapes[k], "W");
      assert_int_equal(extent(&d.shapes[k], "F"), 2 * ((h - 2) / 2) * (w / 3) + w);
    }
    arena_release(&d.arena);
  }
  task_release(&t);
  arena_release(&arena);
}

// A mistake in the key is found when the task is read.
static void test_mistakes(void **state) {
  (void)state;
  static const struct {
    const char *text, *says;
  } rows[] = {
      {"", "symbol of the workloads"},
      {"Q=1..3", "symbol of the workloads"},
      {"M=1..3, M=2..4", "stands twice"},
      {"M", "'=' is expected"},
      {"M=3", "'..' or '*'"},
      {"M=0..4", "from 1 on"},
      {"M=9..4", "is empty"},
      {"M=5..7/4", "no multiple of the step"},
      {"M=1..9 N=1..3", "',' is expected"},
      {"M=2*N", "has no range"},
      {"M=N, N=M", "has no range"},
      {"M=1..9, N=2*Q", "symbol of the workloads"},
      {"M=4..9, N=M-4", "'N=M-4', which is 60 in the workload small, where N is 64"},
      {"N=4..9, M=N, K=8*N", "'K=8*N', which is 32768 in the workload full, where K is 4096"},
      {"N=4..9, M=4..9, K=M+N", "'K=M+N', which is 128 in the workload small, where K is 512"},
      {"N=4..9, M~4..9", "an extent that follows another"},
      {"M=4..9, N=(2*M)", "'N=(2*M)', which is 128 in the workload small, where N is 64"},
      {"M=4..9, N=M+K", "follows K, which has no range"},
      {"M=4..9<=K", "follows K, which has no range"},
      {"M=4..9<=Q", "symbol of the workloads"},
      {"M=4..9<=K-0, K=4..9", "from 1 on"},
      {"M=4..9<=K-1, K=4..9", "cannot be the limit of M"},
      {"M=4..9<=K, K=4..9<=N, N=4..9", "cannot be the limit of M"},
      {"M=4..9, N=(M*", "from 1 on"},
      {"M=4..9, N=(M*(M+1)", "')' is expected"},
      {"M=4..9, N=(3*5)", "names no symbol"},
      {"M=4..9, K=2*M, N=(M*K)", "names K, which follows another"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[1024];
    struct task t;
    struct assay_error err = {0};
    snprintf(text, sizeof text,
             "<ir_version: 10, opset_import: [\"\" : 23], metadata_props: [\"assay.task\" : \"t\", "
             "\"assay.contract\" : \"fp32\", " PRODUCT_INPUTS PRODUCT_SHAPES ", \"assay.shapes\" : \"%s\"]>\n" PRODUCT,
             rows[i].text);
    if (task_parse(text, strlen(text), "t", false, &t, &err) == ASSAY_OK)
      fail_msg("'%s' was taken", rows[i].text);
    if (!strstr(err.message, rows[i].says) || !strstr(err.message, "assay.shapes"))
      fail_msg("'%s': %s", rows[i].text, err.message);
  }
}

// A rule for drawn shapes that the file's workloads do not keep.
static void test_loose(void **state) {
  (void)state;
  struct assay_error err = {0};
  struct arena arena = {0};
  struct shape_ranges r;
  struct task t = parse(PRODUCT_INPUTS PRODUCT_SHAPES ", \"assay.shapes\" : \"M=3..9, N~M+4, K~(2*M)\"", PRODUCT);
  assert_int_equal(shape_ranges_find(&t, &arena, &r, &err), ASSAY_OK);
  assert_string_equal(shape_ranges_text(&r, &arena), "M=3..9, K~(2*M), N~M+4");
  struct drawn d;
  draw(&t, "small", 1, 1, &d);
  assert_int_equal(extent(&d.shapes[SHAPE_MIXED], "N"), extent(&d.shapes[SHAPE_MIXED], "M") + 4);
  assert_int_equal(extent(&d.shapes[SHAPE_MIXED], "K"), 2 * extent(&d.shapes[SHAPE_MIXED], "M"));
  arena_release(&d.arena);
  task_release(&t);
  arena_release(&arena);
}

// The rule holds where the file has workloads, and not at the least extent of a range.
static void test_too_small(void **state) {
  (void)state;
  static const char *const rows[] = {"M=4..9, N=M-4", "M=4..9, N=(M-2*2)"};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[1024];
    struct task t;
    struct assay_error err = {0};
    snprintf(text, sizeof text,
             "<ir_version: 10, opset_import: [\"\" : 23], metadata_props: [\"assay.task\" : \"t\", "
             "\"assay.contract\" : \"fp32\", " PRODUCT_INPUTS
             "\"assay.workload.small\" : \"M=64, K=3, N=60\", \"assay.workload.full\" : \"M=80, K=3, N=76\", "
             "\"assay.shapes\" : \"%s\"]>\n" PRODUCT,
             rows[i]);
    assert_int_not_equal(task_parse(text, strlen(text), "t", false, &t, &err), ASSAY_OK);
    if (!strstr(err.message, "with M=4") || !strstr(err.message, "assay.shapes"))
      fail_msg("'%s': %s", rows[i], err.message);
  }
}

// A symbol that has several values in a task's file and is held could be known from it.
static void check_nothing_held(const struct task *t, const struct shape_ranges *r) {
  for (int i = 0; i < r->n; i++)
    for (int w = 1; w < t->n_workloads && r->symbols[i].freedom == SHAPE_HELD; w++)
      if (extent(&t->workloads[w], r->symbols[i].symbol) != extent(&t->workloads[0], r->symbols[i].symbol))
        fail_msg("%s: %s changes in the file, and is not drawn", t->name, r->symbols[i].symbol);
}

// Every task that is shipped can be asked at shapes that stand in no file: at least three, none of them known.
static void test_shipped(void **state) {
  (void)state;
  char **paths;
  int count;
  struct assay_error err = {0};
  assert_int_equal(task_list(ROOT, NULL, &paths, &count, &err), ASSAY_OK);
  assert_true(count > 250);
  for (int i = 0; i < count; i++) {
    struct task t;
    struct drawn d;
    if (task_read(paths[i], false, &t, &err) != ASSAY_OK)
      fail_msg("%s", err.message);
    draw(&t, "small", 1.1, rng_derive(7, (uint64_t)i), &d);
    check_nothing_held(&t, &d.ranges);
    for (int k = 0; k < SHAPE_REDUCED; k++) {
      if (!d.found[k])
        fail_msg("%s has no shape that is %s", t.name, shape_kind_name((enum shape_kind)k));
      assert_true(isfinite(shape_work(&t, &d.shapes[k])));
      for (int w = 0; w < t.n_workloads; w++)
        assert_false(same(&d.shapes[k], &t.workloads[w]));
    }
    arena_release(&d.arena);
    task_release(&t);
  }
  task_list_release(paths, count);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_kinds),        cmocka_unit_test(test_odd_steps), cmocka_unit_test(test_repeats),
      cmocka_unit_test(test_many_extents), cmocka_unit_test(test_large),     cmocka_unit_test(test_derived),
      cmocka_unit_test(test_declared),     cmocka_unit_test(test_limits),    cmocka_unit_test(test_formulas),
      cmocka_unit_test(test_mistakes),     cmocka_unit_test(test_too_small), cmocka_unit_test(test_loose),
      cmocka_unit_test(test_shipped),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
