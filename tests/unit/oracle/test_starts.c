// SPDX-License-Identifier: Apache-2.0
// modules: onnx oracle/cuda
// Where a contraction's sums may begin: its own bias, and what the graph adds after it. The scale on the CPU is what
// the formula of ops/arith.h foresees; the device, run by the host backend, shows the same spread.
#include "gpu_graph.h"

#include "oracle/run.h"

enum { K = 48, REPLICAS = 32 };
#define START 64.0

// Sums of 48 products of factors in (-1, 1), which are about 2, and 64 added to them or not.
#define HEAD "<ir_version: 10, opset_import: [\"\" : 23]>\ng (float[9,48] x, float[48,7] w) => (float[9,7] y)\n"
#define BIAS "<float[7] c = {64, 64, 64, 64, 64, 64, 64}, float half = {0.5}, float one = {1}, int64[2] s = {1, 7}>\n"
#define IMAGE                                                                                                          \
  "<ir_version: 10, opset_import: [\"\" : 23]>\ng (float[2,12,5,8] x, float[3,12,2,2] w) => (float[2,3,4,7] y)\n"
#define TURNED                                                                                                         \
  "<ir_version: 10, opset_import: [\"\" : 23]>\ng (float[2,48,5,6] x, float[48,3,1,1] w) => (float[2,3,5,6] y)\n"
#define CHANNELS "<float[3] c = {64, 64, 64}, float[3,1,1] d = {64, 64, 64}, int64[3] s = {3, 1, 1}>\n"

static const struct {
  const char *text;
  double start; // what the sums may begin with
} cases[] = {
    {HEAD BIAS "{ y = MatMul(x, w) }", 0},
    {HEAD BIAS "{ m = MatMul(x, w) y = Add(m, c) }", START},
    {HEAD BIAS "{ m = MatMul(x, w) y = Sub(c, m) }", -START},
    {HEAD BIAS "{ m = MatMul(x, w) n = Sub(one, m) y = Add(n, c) }", -START - 1},
    {HEAD BIAS "{ m = MatMul(x, w) n = Sub(m, c) y = Add(n, c) }", 0},
    {HEAD BIAS "{ y = Gemm(x, w, c) }", START},
    {HEAD BIAS "{ y = Gemm<alpha = 0.5, beta = 2.0>(x, w, c) }", 4 * START},
    {HEAD BIAS "{ g = Gemm(x, w, c) y = Add(g, c) }", 2 * START},
    {HEAD BIAS "{ r = Reshape(c, s) m = MatMul(x, w) y = Add(r, m) }", START},
    {HEAD BIAS "{ h = Mul(c, half) m = MatMul(x, w) y = Add(m, h) }", 0}, // computed: not known before
    {IMAGE CHANNELS "{ y = Conv(x, w, c) }", START},
    {IMAGE CHANNELS "{ v = Conv(x, w) y = Add(v, d) }", START},
    {IMAGE CHANNELS "{ v = Conv(x, w, c) y = Add(d, v) }", 2 * START},
    {IMAGE CHANNELS "{ r = Reshape(c, s) v = Conv(x, w, c) y = Sub(v, r) }", 0},
    {TURNED CHANNELS "{ y = ConvTranspose(x, w, c) }", START},
    {TURNED CHANNELS "{ v = ConvTranspose(x, w) y = Add(v, d) }", START},
};
enum { N_CASES = sizeof cases / sizeof *cases };

// What is left of the error scale's square without the rounding of the results of all nodes, the sums' own:
// k start^2 u^2 / 3, where it is far larger than all else.
static void test_scale_on_the_cpu(void **state) {
  (void)state;
  const struct arith fp32 = {
      .bits = 24, .min_exponent = -126, .max = 0x1.fffffep127, .product_bits = 53, .block = 1, .key = 5};
  for (int i = 0; i < N_CASES; i++) {
    struct graph_case c;
    struct oracle_answer a;
    struct assay_error err = {0};
    graph_begin(&c, cases[i].text, &SIGNED);
    if (oracle_answer_make(&c.model.flat, c.in, &fp32, REPLICAS, 2, &a, &err) != ASSAY_OK)
      fail_msg("%s: %s", cases[i].text, err.message);
    int64_t n = shape_count(&a.y[0].shape);
    double mean = 0;
    for (int64_t e = 0; e < n; e++)
      mean += (double)a.sigma[0][e] * (double)a.sigma[0][e] / (double)n;
    // With alpha the sum is made smaller again.
    double by = strstr(cases[i].text, "alpha") ? 0.5 : 1;
    double want = K * cases[i].start * cases[i].start * by * by * 0x1p-48 / 3,
           roundings = sqrt(mean) / (START * 0x1p-24);
    print_message("begins with %g: %.2f roundings of 64, %.2f foreseen\n", cases[i].start, roundings,
                  sqrt(want) / (START * 0x1p-24));
    if (cases[i].start != 0 && !(mean > 0.7 * want && mean < 1.4 * want))
      fail_msg("%s: the scale's square is %.2f of what is foreseen", cases[i].text, mean / want);
    if (cases[i].start == 0 && !(roundings < 2))
      fail_msg("%s: the scale is %.2f roundings of %g", cases[i].text, roundings, START);
    oracle_answer_release(&a);
    graph_end(&c);
  }
}

static void test_spread_on_a_device(void **state) {
  (void)state;
  for (int i = 0; i < N_CASES; i++)
    graph_check(cases[i].text, SIGNED, 60);
}

// What has more elements than the result stretches it first: its sums do not begin with it.
static void test_what_stretches_the_result(void **state) {
  (void)state;
  graph_check("(float[5,1,8] x, float[8,3] w, float[2,1,4,1] z) => (float[2,5,4,3] y) "
              "{ m = MatMul(x, w) y = Add(m, z) }",
              SIGNED, 60);
}

static void test_finding(void **state) {
  (void)state;
  struct graph_case c;
  struct run_starts s;
  graph_begin(&c, HEAD BIAS "{ m = MatMul(x, w) n = Sub(one, m) y = Sub(c, n) }", &SIGNED);
  run_find_starts(&c.model.flat, 0, &s);
  assert_int_equal(s.n, 2);
  assert_string_equal(c.model.flat.values[s.of[0].value].name, "one");
  assert_string_equal(c.model.flat.values[s.of[1].value].name, "c");
  assert_true(s.of[0].factor == -1 && s.of[1].factor == 1); // y = c - 1 + m
  run_find_starts(&c.model.flat, 1, &s);                    // no contraction
  assert_int_equal(s.n, 0);
  graph_end(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_finding),
      cmocka_unit_test(test_scale_on_the_cpu),
      cmocka_unit_test(test_spread_on_a_device),
      cmocka_unit_test(test_what_stretches_the_result),
  };
  return cmocka_run_group_tests_name("starts", tests, graph_open, graph_close);
}
