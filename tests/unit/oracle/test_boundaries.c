// SPDX-License-Identifier: Apache-2.0
// modules: compare onnx oracle/cuda
// Where values may be rounded to the storage type between operators, and what the error scale makes of it, on the CPU
// and on a device. What passes and fails by it: judge/test_half_chains.c.
#include "gpu_graph.h"

#include "compare/compare.h"
#include "oracle/run.h"

enum { PASSES = 16, M = 24, K = 96, N = 40 };

static struct arith half_contract(bool bf16) {
  struct arith a = {.bits = 24,
                    .min_exponent = -126,
                    .max = 0x1.fffffep127,
                    .product_bits = 53,
                    .block = 1,
                    .cut_bits = 26,
                    .key = 5};
  dtype_float_format(bf16 ? DTYPE_BFLOAT16 : DTYPE_FLOAT16, &a.stored);
  return a;
}

static void make_text(char *text, size_t size, const char *type, const char *body) {
  snprintf(text, size,
           "<ir_version: 10, opset_import: [\"\" : 23]>\ng (%s[%d,%d] x, %s[%d,%d] w, %s[%d] b) => (%s[%d,%d] y)\n"
           "{ %s }",
           type, M, K, type, K, N, type, N, type, M, N, body);
}

// ---- places

static void count_boundaries(const char *body, int expected) {
  char text[1024];
  bool steady[64];
  struct graph_case c;
  int n = 0;
  make_text(text, sizeof text, "bfloat16", body);
  graph_begin(&c, text, &SIGNED);
  const struct graph *g = &c.model.flat;
  assert_true(g->n_values <= 64);
  run_find_steady(g, steady);
  for (int i = 0; i < g->n_nodes; i++)
    for (int k = 0; k < g->nodes[i].n_inputs; k++)
      n += run_is_boundary(g, steady, i, g->nodes[i].inputs[k]);
  if (n != expected || run_has_boundary(g, steady) != (expected > 0))
    fail_msg("%s: %d boundaries, not %d", body, n, expected);
  graph_end(&c);
}

static void test_places(void **state) {
  (void)state;
  count_boundaries("y = MatMul(x, w)", 0);
  count_boundaries("m = MatMul(x, w) s = Add(m, b) y = Gelu(s)", 2);
  count_boundaries("m = MatMul(x, w) y = Relu(m)", 0);                           // rounded before or after is the same
  count_boundaries("m = MatMul(x, w) r = Relu(m) y = Add(r, b)", 1);             // likewise
  count_boundaries("m = MatMul(x, w) f = Floor(m) y = Neg(f)", 1);               // but not where it jumps
  count_boundaries("m = MatMul(x, w) c = Less(b, m) y = Where(c, m, b)", 1);     // m as the number that is compared
  count_boundaries("r = Relu(x) m = MatMul(r, w) n = Neg(m) y = Softmax(n)", 1); // inputs are on the grid
  count_boundaries("m = MatMul(x, w) s = Mul(m, m) y = Sub(s, m)", 4);           // each reader by itself
}

// ---- the scale

static struct oracle_answer answer_of(const struct graph_case *c, const struct arith *contract) {
  struct assay_error err = {0};
  struct oracle_answer a;
  if (oracle_answer_make(&c->model.flat, c->in, contract, PASSES, 2, &a, &err) != ASSAY_OK)
    fail_msg("%s: %s", c->text, err.message);
  return a;
}

// Without a boundary nothing changes, to the bit.
static void test_no_boundary_no_change(void **state) {
  (void)state;
  static const char *const bodies[] = {"m = MatMul(x, w) y = Relu(m)", "y = MatMul(x, w)"};
  for (int i = 0; i < 2; i++) {
    char text[1024];
    struct graph_case c;
    struct arith half = half_contract(true), single = half;
    single.stored.bits = 0;
    make_text(text, sizeof text, "bfloat16", bodies[i]);
    graph_begin(&c, text, &SIGNED);
    struct oracle_answer a = answer_of(&c, &half), b = answer_of(&c, &single);
    assert_memory_equal(a.sigma[0], b.sigma[0], M * N * sizeof *a.sigma[0]);
    oracle_answer_release(&a);
    oracle_answer_release(&b);
    graph_end(&c);
  }
}

// Root mean square of a pass's deviations over the scale, and the largest.
static double spread(const struct graph_case *c, const struct oracle_answer *a, struct arith arith, double *largest) {
  struct array pass[GRAPH_VALUES];
  double sum = 0;
  *largest = 0;
  graph_cpu(c, arith, pass);
  for (int i = 0; i < M * N; i++) {
    double z = fabs(pass[0].f64[i] - a->y[0].f64[i]) / fabs((double)a->sigma[0][i]);
    sum += z * z;
    *largest = fmax(*largest, z);
  }
  graph_release_outputs(c, pass);
  return sqrt(sum / (M * N));
}

// Eager and fused kernels, and those between, err by at most about one of the scale.
static void test_scale_covers_honest_ways(void **state) {
  (void)state;
  for (int bf16 = 0; bf16 < 2; bf16++) {
    char text[1024];
    struct graph_case c;
    struct arith contract = half_contract(bf16), way = contract;
    double largest, rms;
    make_text(text, sizeof text, bf16 ? "bfloat16" : "float16",
              "m = MatMul(x, w) s = Add(m, b) g = Gelu(s) t = Mul(g, s) y = Tanh(t)");
    graph_begin(&c, text, &SIGNED);
    struct oracle_answer a = answer_of(&c, &contract);
    assert_true(a.representable);
    for (int k = 0; k < 8; k++) {
      way.key = (uint64_t)k + 1000;
      way.store = k == 0 ? STORE_NEVER : STORE_NEAREST;
      way.store_some = k > 1;
      rms = spread(&c, &a, way, &largest);
      print_message("%s: way %d: rms %.2f, largest %.2f\n", bf16 ? "bf16" : "fp16", k, rms, largest);
      assert_true(k == 0 ? rms < 0.3 : rms > 0.1 && rms < 1.1);
      assert_true(largest < 0.75 * compare_z_limit(M * N)); // scores are stored, too, and exponentials have long tails
    }
    oracle_answer_release(&a);
    graph_end(&c);
  }
}

// Where a mean is far above the spread all elements round the same way, and so does their sum. Random rounding alone
// would show a fifth of that.
static void test_errors_of_one_sign(void **state) {
  (void)state;
  char text[1024];
  struct graph_case c;
  struct arith contract = half_contract(true), eager = contract;
  double largest;
  make_text(text, sizeof text, "bfloat16", "m = MatMul(x, w) f = Mul(m, m) s = ReduceMean(f) y = Add(s, b)");
  char *end = strstr(text, "=> (bfloat16[24,40] y)");
  memcpy(end, "=> (bfloat16[ 1,40] y)", 22);
  graph_begin(&c, text, &SIGNED);
  for (int i = 0; i < M * K; i++)
    c.in[0].f64[i] = i % K == 0 ? 1 : 0;
  for (int i = 0; i < K * N; i++)
    c.in[1].f64[i] = 1 + 0x1p-5 + 0x1p-7 * (double)(i % 2);
  for (int i = 0; i < N; i++)
    c.in[2].f64[i] = 0;
  struct oracle_answer a = answer_of(&c, &contract);
  struct array pass[GRAPH_VALUES];
  eager.store = STORE_NEAREST;
  graph_cpu(&c, eager, pass);
  largest = fabs(pass[0].f64[0] - a.y[0].f64[0]);
  assert_true(largest > 0x1p-10);
  assert_true(largest <= 1.01 * (double)a.sigma[0][0]);
  graph_release_outputs(&c, pass);
  oracle_answer_release(&a);
  graph_end(&c);
}

// ---- overflow between operators

static struct compare_facts judged(const struct oracle_answer *a, const double *got) {
  struct compare_facts f;
  struct assay_error err = {0};
  uint16_t bytes[M * N];
  dtype_from_f64(DTYPE_FLOAT16, got, M * N, bytes);
  struct compare_input in = {.type = array_type(&a->y[0]),
                             .got = bytes,
                             .want = a->y[0].f64,
                             .sigma = a->sigma[0],
                             .u_out = 0x1p-11,
                             .eta_out = 0x1p-24,
                             .rtol = 1e-2,
                             .atol = 1e-2,
                             .threads = 1};
  assert_int_equal(compare_outputs(&in, &f, &err), ASSAY_OK);
  return f;
}

// PyTorch has an infinity between the operators, and NaN comes of it; a fused kernel does not. Both are right; other
// numbers, or a NaN elsewhere, are not.
static void test_overflow_between_operators(void **state) {
  (void)state;
  char text[1024];
  struct graph_case c;
  struct arith contract = half_contract(false), eager = contract;
  struct array pass[GRAPH_VALUES];
  double got[M * N];
  make_text(text, sizeof text, "float16", "m = MatMul(x, w) f = Mul(m, m) s = Div(f, f) y = Add(s, b)");
  graph_begin(&c, text, &POSITIVE);
  for (int i = 0; i < M * K; i++)
    c.in[0].f64[i] = i < K ? 40 : 1; // squares above 65504 in the first row alone
  for (int i = 0; i < K * N; i++)
    c.in[1].f64[i] = i % 7 ? 0.125 : 0.25;
  struct oracle_answer a = answer_of(&c, &contract);
  assert_true(a.representable);
  for (int i = 0; i < M * N; i++)
    if ((a.sigma[0][i] < 0) != (i < N))
      fail_msg("element %d: %g, scale %g", i, a.y[0].f64[i], (double)a.sigma[0][i]);
  eager.store = STORE_NEAREST;
  graph_cpu(&c, eager, pass);
  struct compare_facts f = judged(&a, pass[0].f64);
  assert_int_equal(compare_verdict(&f, COMPARE_CONTRACT), COMPARE_PASS);
  f = judged(&a, a.y[0].f64);
  assert_int_equal(compare_verdict(&f, COMPARE_CONTRACT), COMPARE_PASS);
  memcpy(got, a.y[0].f64, sizeof got);
  got[0] = NAN;
  f = judged(&a, got);
  assert_int_equal(compare_verdict(&f, COMPARE_CONTRACT), COMPARE_PASS);
  got[N] = NAN;
  f = judged(&a, got);
  assert_int_equal(compare_verdict(&f, COMPARE_CONTRACT), COMPARE_WRONG_CLASS);
  memcpy(got, a.y[0].f64, sizeof got);
  got[1] *= 40;
  f = judged(&a, got);
  assert_int_equal(f.n_over, 1);
  graph_release_outputs(&c, pass);
  oracle_answer_release(&a);
  graph_end(&c);
}

// ---- on a device

static void same_scale(const char *text, bool bf16, struct graph_draw draw) {
  struct graph_case c;
  struct gpu_answer device;
  struct assay_error err = {0};
  struct arith contract = half_contract(bf16);
  float sigma[M * N];
  double ratio = 0;
  graph_check(text, draw, 0);
  graph_begin(&c, text, &draw);
  struct oracle_answer a = answer_of(&c, &contract);
  if (gpu_answer_make(graph_device, &c.model.flat, c.gpu_in, &contract, PASSES, &device, &err) != ASSAY_OK)
    fail_msg("%s: %s", text, err.message);
  assert_false(device.fused);
  assert_int_equal(a.representable, device.representable);
  assert_int_equal(compute_download(graph_device, sigma, device.sigma[0], sizeof sigma, &err), ASSAY_OK);
  for (int i = 0; i < M * N; i++) {
    assert_int_equal(signbit(sigma[i]) != 0, signbit(a.sigma[0][i]) != 0);
    ratio += log((double)(sigma[i] / a.sigma[0][i])) / (M * N);
  }
  if (!(fabs(ratio) < 0.05))
    fail_msg("%s: the device's scale is %.3f of the CPU's", text, exp(ratio));
  gpu_answer_release(graph_device, &device);
  oracle_answer_release(&a);
  graph_end(&c);
}

static void same_on_the_device(const char *type, bool bf16, const char *body, struct graph_draw draw) {
  char text[1024];
  make_text(text, sizeof text, type, body);
  same_scale(text, bf16, draw);
}

static void test_device(void **state) {
  (void)state;
  same_on_the_device("bfloat16", true, "m = MatMul(x, w) s = Add(m, b) y = Gelu(s)", SIGNED);
  same_on_the_device("float16", false, "m = MatMul(x, w) r = Relu(m) s = Sub(r, b) l = Softmax(s) y = Mul(l, s)",
                     SIGNED);
  same_on_the_device("float16", false,
                     "c = Constant<value_float = 3000.0>() h = CastLike(c, b) m = MatMul(x, w) f = Mul(m, h)"
                     " g = Div(f, f) y = Add(g, b)",
                     POSITIVE);
  // Inside an operator: the products, what the mask makes of them, and the weights; the rest moves values.
  same_on_the_device("bfloat16", true,
                     "a = Constant<value_ints = [0]>() t = Transpose(w) q = Unsqueeze(x, a) k = Unsqueeze(t, a)"
                     " o = Attention<q_num_heads = 2, kv_num_heads = 2, is_causal = 1, softcap = 4.0>(q, k, k)"
                     " z = Constant<value_ints = [0, 0]>() e = Constant<value_ints = [24, 40]>()"
                     " n = Constant<value_ints = [0, 1]>() s = Squeeze(o, a) y = Slice(s, z, e, n)",
                     SIGNED);
}

static const char attention[] =
    "<ir_version: 10, opset_import: [\"\" : 23]>\n"
    "g (bfloat16[1,1,24,16] q, bfloat16[1,1,32,16] k, bfloat16[1,1,32,40] v) => (bfloat16[1,1,24,40] y)\n"
    "{ y = Attention(q, k, v) }";

// Attention is one operator with a boundary in it: its weights may be stored, before they are divided by their sum or
// after. A kernel that stores them errs by about one of the scale, thousands of times single precision.
static void test_attention_stores_its_weights(void **state) {
  (void)state;
  struct graph_case c;
  struct arith contract = half_contract(true), single = contract, way = contract;
  double largest;
  single.stored.bits = 0;
  graph_begin(&c, attention, &SIGNED);
  struct oracle_answer a = answer_of(&c, &contract), b = answer_of(&c, &single);
  assert_true(a.sigma[0][0] > 1000 * b.sigma[0][0]);
  for (int k = 0; k < 4; k++) {
    way.key = (uint64_t)k + 1000;
    way.store = k == 0 ? STORE_NEVER : k == 1 ? STORE_NEAREST : STORE_RANDOM;
    double rms = spread(&c, &a, way, &largest);
    assert_true(k == 0 ? rms < 0.01 : rms > 0.1 && rms < 1.6);
    assert_true(largest < 0.75 * compare_z_limit(M * N)); // scores are stored, too, and exponentials have long tails
  }
  oracle_answer_release(&a);
  oracle_answer_release(&b);
  graph_end(&c);
  same_scale(attention, true, SIGNED);
}

// What goes from one step of a cell to the next.
static void test_recurrent_stores(void **state) {
  (void)state;
  static const char head[] = "<ir_version: 10, opset_import: [\"\" : 23]>\n";
  static const struct {
    int gates;
    bool bf16;
    const char *cell;
  } cells[] = {{4, true, ", h = LSTM"}, {3, false, ", h = GRU"}, {3, true, ", h = GRU<linear_before_reset = 1>"}};
  for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
    char text[1024];
    const char *type = cells[i].bf16 ? "bfloat16" : "float16";
    int width = cells[i].gates * N;
    snprintf(text, sizeof text,
             "%sg (%s[3,%d,16] x, %s[1,%d,16] w, %s[1,%d,%d] r, %s[1,%d] b) => (%s[1,%d,%d] h) { %s(x, w, r, b) }",
             head, type, M, type, width, type, width, N, type, 2 * width, type, M, N, cells[i].cell);
    same_scale(text, cells[i].bf16, SIGNED);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_places),
      cmocka_unit_test(test_no_boundary_no_change),
      cmocka_unit_test(test_scale_covers_honest_ways),
      cmocka_unit_test(test_errors_of_one_sign),
      cmocka_unit_test(test_overflow_between_operators),
      cmocka_unit_test(test_device),
      cmocka_unit_test(test_attention_stores_its_weights),
      cmocka_unit_test(test_recurrent_stores),
  };
  return cmocka_run_group_tests(tests, graph_open, graph_close);
}
