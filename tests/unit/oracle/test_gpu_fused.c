// SPDX-License-Identifier: Apache-2.0
// modules: onnx oracle/cuda
// Elementwise graphs in one launch on a device: that they take it, and that the truth, the error scale and whether the
// contract can represent it all are, bit for bit, those of one launch a node and pass.
#include "gpu_graph.h"

static struct arith format(int bits, int min_exponent, double max) {
  return (struct arith){
      .bits = bits, .min_exponent = min_exponent, .max = max, .product_bits = 53, .block = 1, .key = 77};
}

static void *download(device_ptr p, size_t bytes) {
  struct assay_error err = {0};
  void *host = base_alloc(bytes + 1);
  assert_non_null(host);
  if (bytes && compute_download(graph_device, host, p, bytes, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  return host;
}

static void same_bytes(const char *text, const char *what, device_ptr a, device_ptr b, int64_t n, size_t each) {
  assert_int_equal(a != 0, b != 0);
  if (!a)
    return;
  unsigned char *x = download(a, (size_t)n * each), *y = download(b, (size_t)n * each);
  for (int64_t i = 0; i < n; i++) {
    double numbers[2] = {0};
    if (each == sizeof *numbers) {
      memcpy(&numbers[0], x + (size_t)i * each, each);
      memcpy(&numbers[1], y + (size_t)i * each, each);
    }
    bool nans = isnan(numbers[0]) && isnan(numbers[1]); // whose signs are the compiler's
    if (!nans && memcmp(x + (size_t)i * each, y + (size_t)i * each, each) != 0)
      fail_msg("%s: %s of element %lld differs", text, what, (long long)i);
  }
  base_free(x);
  base_free(y);
}

static void compare_answers(const char *text, const struct gpu_answer *a, const struct gpu_answer *b) {
  assert_int_equal(a->representable, b->representable);
  assert_int_equal(a->n_outputs, b->n_outputs);
  for (int o = 0; o < a->n_outputs; o++) {
    int64_t n = shape_count(&b->y[o].shape);
    assert_int_equal(a->y[o].dtype, b->y[o].dtype);
    assert_int_equal(a->y[o].storage, b->y[o].storage);
    assert_true(shape_equal(&a->y[o].shape, &b->y[o].shape));
    same_bytes(text, "the truth", a->y[o].data, b->y[o].data, n, 8);
    same_bytes(text, "the error scale", a->sigma[o], b->sigma[o], n, sizeof(float));
  }
}

static void check_answers(const char *text, struct graph_draw draw, bool fuses) {
  const struct arith contracts[] = {format(24, -126, 0x1.fffffep127), format(11, -14, 65504),
                                    format(8, -126, 0x1.fep127), format(4, -6, 448),
                                    format(53, -1022, 0x1.fffffffffffffp1023)};
  static const int replicas[] = {8, 3, 19, 8, 1};
  struct graph_case c;
  graph_begin(&c, text, &draw);
  for (size_t k = 0; k < sizeof contracts / sizeof *contracts; k++) {
    struct gpu_answer fused, plain;
    struct assay_error err = {0};
    if (gpu_answer_make(graph_device, &c.model.flat, c.gpu_in, &contracts[k], replicas[k], &fused, &err) != ASSAY_OK ||
        gpu_answer_make_unfused(graph_device, &c.model.flat, c.gpu_in, &contracts[k], replicas[k], &plain, &err) !=
            ASSAY_OK)
      fail_msg("%s: %s", text, err.message);
    if (fused.fused != fuses || plain.fused)
      fail_msg("%s: %s", text, fuses ? "not fused" : "fused");
    compare_answers(text, &fused, &plain);
    gpu_answer_release(graph_device, &fused);
    gpu_answer_release(graph_device, &plain);
  }
  graph_end(&c);
}

// As wild as the types have them: infinities, zeros, subnormals.
#define WIDE                                                                                                           \
  (struct graph_draw) {                                                                                                \
    .low = -200, .high = 200, .special = 13, .below = 2                                                                \
  }
#define TINY                                                                                                           \
  (struct graph_draw) {                                                                                                \
    .low = -1e-37, .high = 1e-37, .below = 1                                                                           \
  }

static void check_fused(const char *text) {
  check_answers(text, SIGNED, true);
  check_answers(text, POSITIVE, true);
  check_answers(text, WIDE, true);
  check_answers(text, TINY, true);
}

static void test_functions(void **state) {
  (void)state;
  static const char *const functions[] = {"Relu",      "LeakyRelu<alpha = 0.01>",
                                          "Sigmoid",   "Tanh",
                                          "Gelu",      "Gelu<approximate = \"tanh\">",
                                          "Selu",      "HardSigmoid",
                                          "Softplus",  "Elu",
                                          "Mish",      "Celu<alpha = 2.0>",
                                          "Swish",     "Softsign",
                                          "HardSwish", "Sqrt",
                                          "Log",       "ThresholdedRelu<alpha = 1.0>",
                                          "Sin",       "Identity",
                                          "Neg",       "Round",
                                          "Shrink"};
  static const char *const types[] = {"float", "float16", "bfloat16", "double"};
  char text[256];
  for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
    const char *type = types[f % (sizeof types / sizeof *types)];
    // More than a thread's elements, and not a multiple of anything.
    snprintf(text, sizeof text, "(%s[3,401] a) => (%s[3,401] b) { b = %s(a) }", type, type, functions[f]);
    check_fused(text);
  }
}

// The tasks' own, and values that are read late, twice, by the next and by later instructions.
static void test_graphs(void **state) {
  (void)state;
  check_fused("(float[5,77] x) => (float[5,77] y) { s = Sigmoid(x) y = Mul(x, s) }");
  check_fused("(float[5,77] x) => (float[5,77] y) <float one = {1.0}> { a = Abs(x) d = Add(a, one) y = Div(x, d) }");
  check_fused("(float[5,77] x) => (float[5,77] y) <float low = {-1.0}, float high = {1.0}> { y = Clip(x, low, high) }");
  check_fused("(float[40] p, float[40] t) => (float[40] y) <float half = {0.5}, float one = {1.0}> {"
              " e = Sub(p, t) d = Abs(e) s = Mul(d, d) q = Mul(s, half) l = Sub(d, half) i = Less(d, one)"
              " y = Where(i, q, l) }");
  check_fused("(float[40] p, float[40] t) => (float[40] y) { a = Log(p) b = Log(t) d = Sub(b, a) y = Mul(t, d) }");
  check_fused("(float[300] x) => (float[300] y) { a = Exp(x) b = Tanh(x) c = Sin(x) d = Mul(a, b) e = Add(c, d)"
              " f = Mul(a, e) g = Sub(f, b) h = Div(g, c) i = Mul(h, d) y = Add(i, a) }");
  // Constants of a node, and one whose rounding in the contract is all that differs.
  check_fused("(float[9] x) => (float[9] y) { k = Constant<value_float = 2.5>() y = Mul(k, x) }");
}

static void test_broadcast(void **state) {
  (void)state;
  check_fused("(float[3,1,50] a, float[4,1] b) => (float[3,4,50] y) { s = Sigmoid(a) t = Exp(b) y = Mul(s, t) }");
  check_fused("(float[6,40] a, float[40] b, float c) => (float[6,40] y) { s = Add(b, c) t = Tanh(s) y = Mul(a, t) }");
  check_fused("(float[4,40] a) => (float[4,40] y) <float[4,1] w = {0.1, 0.2, 0.3, 0.4}> { s = Mul(a, w) y = Tanh(s) }");
  check_fused("(float[2,40] a, float[2,40] b, float[40] c) => (float[2,40] y) { y = Mean(a, b, c) }");
  check_fused("(float[2,40] a, float[2,1] b, float[40] c) => (float[2,40] y) { m = Sum(a, b, c) y = Max(m, c) }");
  check_fused("(float[1] a) => (float[1] y) { y = Exp(a) }");
  check_fused("(float a) => (float y) { y = Exp(a) }");
}

// Truth values, and integers that are only read.
static void test_types(void **state) {
  (void)state;
  check_fused("(bool[30] a, float[30] x, float16[30] z) => (float[30] y, bool[30] c, float16[30] d, float[30] x)"
              " { l = Less(x, x) o = Or(a, l) n = Not(o) y = Where(n, x, x) c = Xor(o, n) d = Exp(z) }");
  check_fused("(float[30] x, float[30] z) => (float[30] y, bool[30] n) { e = Exp(x) n = IsNaN(e) y = Where(n, z, e) }");
  check_fused("(int8[30] x, float[30] z) => (float[30] y) <float one = {1.0}> { i = IsInf(z) y = Where(i, z, one) }");
}

// What is more than elementwise, computes in integers or does not fit takes the other way.
static void test_others(void **state) {
  (void)state;
  check_answers("(float[4,40] x) => (float[4,40] y) { e = Exp(x) y = Softmax(e) }", SIGNED, false);
  check_answers("(float[4,40] x) => (float[40,4] y) { e = Exp(x) y = Transpose<perm = [1, 0]>(e) }", SIGNED, false);
  check_answers("(int32[40] x, int32[40] z) => (int32[40] y) { y = Add(x, z) }", SIGNED, false);
  check_answers("(float[0,3] x) => (float[0,3] y) { y = Exp(x) }", SIGNED, false);
  check_answers("(float[9] a, float[9] b, float[9] c, float[9] d, float[9] e, float[9] f, float[9] g) => (float[9] y)"
                " { y = Sum(a, b, c, d, e, f, g) }",
                SIGNED, false);
  char text[4096];
  int n = snprintf(text, sizeof text, "(float[9] x) => (float[9] y) { v0 = Exp(x)");
  for (int i = 0; i < 40; i++)
    n += snprintf(text + n, sizeof text - (size_t)n, " v%d = Softplus(v%d)", i + 1, i);
  snprintf(text + n, sizeof text - (size_t)n, " y = Neg(v40) }");
  check_answers(text, SIGNED, false);
}

// An infinity in the contract only is seen.
static void test_representable(void **state) {
  (void)state;
  static const char text[] = "(float[40] a) => (float[40] b) { e = Exp(a) f = Mul(e, e) g = Mul(f, f) h = Log(g)"
                             " k = Constant<value_float = 0.25>() b = Mul(h, k) }";
  check_answers(text, (struct graph_draw){.low = 20, .high = 60}, true);
  graph_check(text, SIGNED, 40);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_functions), cmocka_unit_test(test_graphs), cmocka_unit_test(test_broadcast),
      cmocka_unit_test(test_types),     cmocka_unit_test(test_others), cmocka_unit_test(test_representable),
  };
  return cmocka_run_group_tests(tests, graph_open, graph_close);
}
