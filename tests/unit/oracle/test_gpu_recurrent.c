// SPDX-License-Identifier: Apache-2.0
// modules: onnx oracle/cuda
// RNN, LSTM and GRU on a device, against the oracle on the CPU.
#include "gpu_graph.h"

// Seven steps of three batches (so that a thread's lanes are not all used) with five inputs and 37 hidden units (so
// that sums are split unevenly). rows: elements that err independently, roughly; 0: spreads are not compared.
static const struct {
  int64_t rows;
  const char *text;
} texts[] = {
    {90, "(float[7,3,5] x, float[1,37,5] w, float[1,37,37] r, float[1,74] b) => (float[7,1,3,37] y, float[1,3,37] h) "
         "{ y, h = RNN(x, w, r, b) }"},
    {90, "(float[7,3,5] x, float[1,37,5] w, float[1,37,37] r, float[1,3,37] h0) => (float[7,1,3,37] y, "
         "float[1,3,37] h) <int32[3] n = {5, 0, 7}> "
         "{ y, h = RNN<direction = \"reverse\", clip = 0.75>(x, w, r, , n, h0) }"},
    {90, "(float[3,7,5] x, float[2,37,5] w, float[2,37,37] r, float[3,2,37] h0) => (float[3,7,2,37] y, "
         "float[3,2,37] h) { y, h = RNN<direction = \"bidirectional\", layout = 1, "
         "activations = [\"Softsign\", \"HardSigmoid\"]>(x, w, r, , , h0) }"},
    {90, "(float[3,7,5] x, float[1,148,5] w, float[1,148,37] r, float[1,296] b) => (float[3,7,1,37] y, "
         "float[3,1,37] h, float[3,1,37] c) { y, h, c = LSTM<layout = 1>(x, w, r, b) }"},
    {90, "(float[7,3,5] x, float[2,148,5] w, float[2,148,37] r, float[2,296] b, float[2,3,37] h0, float[2,3,37] c0, "
         "float[2,111] p) => (float[7,2,3,37] y, float[2,3,37] h, float[2,3,37] c) <int32[3] n = {7, 1, 6}> "
         "{ y, h, c = LSTM<direction = \"bidirectional\">(x, w, r, b, n, h0, c0, p) }"},
    {90, "(float[7,3,5] x, float[1,148,5] w, float[1,148,37] r, float[1,3,37] c0) => (float[1,3,37] c) "
         "{ , , c = LSTM<input_forget = 1, clip = 0.5, activations = [\"HardSigmoid\", \"Relu\", \"Softsign\"]>"
         "(x, w, r, , , , c0) }"},
    {90, "(float[7,3,5] x, float[1,111,5] w, float[1,111,37] r, float[1,222] b) => (float[7,1,3,37] y, "
         "float[1,3,37] h) { y, h = GRU(x, w, r, b) }"},
    {90, "(float[7,3,5] x, float[2,111,5] w, float[2,111,37] r, float[2,222] b, float[2,3,37] h0) => "
         "(float[7,2,3,37] y, float[2,3,37] h) <int32[3] n = {0, 4, 7}> "
         "{ y, h = GRU<direction = \"bidirectional\">(x, w, r, b, n, h0) }"},
    {90, "(float[3,7,5] x, float[2,111,5] w, float[2,111,37] r, float[2,222] b, float[3,2,37] h0) => "
         "(float[3,7,2,37] y, float[3,2,37] h) "
         "{ y, h = GRU<direction = \"bidirectional\", layout = 1, linear_before_reset = 1>(x, w, r, b, , h0) }"},
    {0, "(double[7,3,5] x, double[1,111,5] w, double[1,111,37] r) => (double[1,3,37] h) "
        "{ , h = GRU<direction = \"reverse\", linear_before_reset = 1, clip = 0.25>(x, w, r) }"},
    {0, "(float[0,3,5] x, float[1,148,5] w, float[1,148,37] r, float[1,3,37] h0) => (float[0,1,3,37] y, "
        "float[1,3,37] h, float[1,3,37] c) { y, h, c = LSTM(x, w, r, , , h0) }"},
    {0, "(float[7,0,5] x, float[1,37,5] w, float[1,37,37] r) => (float[7,1,0,37] y) { y = RNN(x, w, r) }"},
};

static void test_networks(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    graph_check(texts[i].text, (struct graph_draw){.low = -0.5, .high = 0.5}, texts[i].rows);
    graph_check(texts[i].text, SPECIAL, 0);
  }
}

static void test_activations(void **state) {
  (void)state;
  static const char *const names[] = {"Relu",   "Tanh",       "Sigmoid",     "LeakyRelu", "ThresholdedRelu", "Elu",
                                      "Affine", "ScaledTanh", "HardSigmoid", "Softsign",  "Softplus"};
  static const char *const params[] = {"",
                                       "",
                                       "",
                                       "",
                                       "activation_alpha = [0.1], ",
                                       "activation_alpha = [0.7], ",
                                       "activation_alpha = [0.3], activation_beta = [0.2], ",
                                       "activation_alpha = [1.3], activation_beta = [0.4], "};
  char text[512];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    snprintf(text, sizeof text,
             "(float[3,4,40] x, float[1,40,40] w, float[1,40,40] r, float[1,80] b) => (float[3,1,4,40] y) "
             "{ y = RNN<%sactivations = [\"%s\"]>(x, w, r, b) }",
             i < sizeof params / sizeof *params ? params[i] : "", names[i]);
    graph_check(text, (struct graph_draw){.low = -0.3, .high = 0.3}, 160);
    graph_check(text, SPECIAL, 0);
  }
}

// So wide that the device's product is cut into several parts.
static void test_wide(void **state) {
  (void)state;
  graph_check("(float[4,9,30] x, float[1,1200,30] w, float[1,1200,300] r, float[1,2400] b) => (float[4,1,9,300] y) "
              "{ y = LSTM(x, w, r, b) }",
              (struct graph_draw){.low = -0.1, .high = 0.1}, 0);
}

static void test_lengths(void **state) {
  (void)state;
  graph_refused("(float[7,3,5] x, float[1,4,5] w, float[1,4,4] r) => (float[1,3,4] h) <int32[3] n = {5, 8, 7}> "
                "{ , h = RNN(x, w, r, , n) }",
                SIGNED, "sequence length 8 (element 1");
}

static struct arith fp32(int product_bits) {
  return (struct arith){
      .bits = 24, .min_exponent = -126, .max = 0x1.fffffep127, .product_bits = product_bits, .block = 1, .key = 5};
}

// Whether both sides take the answer for one that tests a candidate. Ends the case.
static bool are_told(struct graph_case *c, const struct arith *contract) {
  struct assay_error err = {0};
  struct oracle_answer cpu;
  struct gpu_answer gpu;
  assert_int_equal(oracle_answer_make(&c->model.flat, c->in, contract, 16, 2, &cpu, &err), ASSAY_OK);
  assert_int_equal(gpu_answer_make(graph_device, &c->model.flat, c->gpu_in, contract, 16, &gpu, &err), ASSAY_OK);
  bool told = cpu.representable;
  assert_int_equal(told, gpu.representable);
  oracle_answer_release(&cpu);
  gpu_answer_release(graph_device, &gpu);
  graph_end(c);
  return told;
}

// With recurrent weights of 0.3 times `size`.
static bool is_told(double size, int product_bits) {
  struct graph_case c;
  char text[512];
  const struct arith contract = fp32(product_bits);
  snprintf(text, sizeof text,
           "(float[40,3,5] x, float[1,37,5] w, float[1,37,37] r) => (float[40,1,3,37] y) "
           "<float[1] size = {%g}> { s = Mul(r, size) y = RNN(x, w, s) }",
           size);
  graph_begin(&c, text, &(struct graph_draw){.low = -0.3, .high = 0.3});
  return are_told(&c, &contract);
}

// The first member of the batch has a sum that is `away` of its errors above zero, and the next step makes 1 or -1 of
// its sign. The sums of the others are far from zero.
static bool is_told_of_one(double away) {
  enum { BATCH = 300, K = 40, HIDDEN = 4 };
  struct graph_case c;
  const struct arith contract = fp32(53);
  double sum = 0, squares = 0;
  graph_begin(&c,
              "(float[2,300,40] x, float[1,4,40] w, float[1,4,4] r) => (float[1,300,4] y) <float[1] size = {1e9}> "
              "{ s = Mul(r, size) , y = RNN(x, w, s) }",
              &(struct graph_draw){.low = 0.5, .high = 1});
  double *x = c.in[0].f64, *w = c.in[1].f64;
  memset(x + BATCH * K, 0, BATCH * K * sizeof *x);
  for (int j = 0; j < HIDDEN; j++)
    for (int k = 0; k < K; k++)
      w[j * K + k] = (float)(w[k] * (k % 2 ? -1 : 1) * (j > 0 && k % 2 ? -1 : 1));
  for (int k = 0; k < K - 1; k++) {
    sum += x[k] * w[k];
    squares += x[k] * w[k] * (x[k] * w[k]);
  }
  x[K - 1] = 1;
  double error = sqrt(arith_sum_variance(&contract, 0, squares, K, true));
  for (int j = 0; j < HIDDEN; j++) {
    memcpy(w + j * K, w, K * sizeof *w);
    w[j * K + K - 1] = away * error - sum;
  }
  for (int i = 0; i < 2; i++) {
    gpu_array_release(graph_device, &c.gpu_in[i]);
    c.gpu_in[i] = graph_upload(&c.in[i]);
  }
  return are_told(&c, &contract);
}

// Where weights are large, errors of single precision grow to any size within some dozen steps.
static void test_chaos(void **state) {
  (void)state;
  assert_true(is_told(0.5, 53));
  assert_false(is_told(10, 53));
  assert_true(is_told(10, 11)); // of TF32, where near zero every scale is large, nothing is said
}

// Passes with errors of the usual size meet it seldom, and honest kernels do.
static void test_one_chaotic_member(void **state) {
  (void)state;
  for (int away = 1; away <= 4; away++)
    assert_false(is_told_of_one(away));
  assert_true(is_told_of_one(1000));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_networks), cmocka_unit_test(test_activations), cmocka_unit_test(test_wide),
      cmocka_unit_test(test_lengths),  cmocka_unit_test(test_chaos),       cmocka_unit_test(test_one_chaotic_member),
  };
  return cmocka_run_group_tests(tests, graph_open, graph_close);
}
