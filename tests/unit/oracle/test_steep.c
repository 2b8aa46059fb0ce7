// SPDX-License-Identifier: Apache-2.0
// modules: compare onnx oracle/cuda
// The error scale of exponentials whose argument errs by about one: in a second look it covers their long tail, on the
// CPU and on a device alike. Where arguments err little it stays what it was.
#include <string.h>

#include "gpu_graph.h"

#include "oracle/run.h"

enum { M = 16, K = 64, N = 32, PASSES = 64 };
#define TEXT                                                                                                           \
  "(float[16,64] x, float[64,32] w, float[16,32] z) => (float[16,32] y) { m = MatMul(x, w) d = Sub(m, z) y = Exp(d) }"
static const struct graph_draw large = {.low = 200, .high = 201}, small = {.low = 1, .high = 2};

// Arguments of about -3: the sums of the large factors are 2.6e6, and err by about one.
static void place(struct graph_case *c) {
  const double *x = c->in[0].f64, *w = c->in[1].f64;
  for (int i = 0; i < M * N; i++) {
    double y = 3;
    for (int k = 0; k < K; k++)
      y += x[i / N * K + k] * w[k * N + i % N];
    c->in[2].f64[i] = y;
  }
  gpu_array_release(graph_device, &c->gpu_in[2]);
  c->gpu_in[2] = graph_upload(&c->in[2]);
}

static struct arith fp32(bool again) {
  return (struct arith){.bits = 24,
                        .min_exponent = -126,
                        .max = 0x1.fffffep127,
                        .product_bits = 53,
                        .block = 1,
                        .key = 9,
                        .one_lane = again};
}

static double mean_log(const float *sigma) {
  double sum = 0;
  for (int i = 0; i < M * N; i++)
    sum += log((double)sigma[i]);
  return sum / (M * N);
}

static double on_the_cpu(const struct graph_case *c, bool again) {
  struct oracle_answer a;
  struct assay_error err = {0};
  struct arith arith = fp32(again);
  if (oracle_answer_make(&c->model.flat, c->in, &arith, PASSES, 2, &a, &err) != ASSAY_OK)
    fail_msg("%s: %s", c->text, err.message);
  double mean = mean_log(a.sigma[0]);
  oracle_answer_release(&a);
  return mean;
}

static double on_the_device(const struct graph_case *c, bool again) {
  struct gpu_answer a;
  struct assay_error err = {0};
  struct arith arith = fp32(again);
  float sigma[M * N];
  if (gpu_answer_make(graph_device, &c->model.flat, c->gpu_in, &arith, PASSES, &a, &err) != ASSAY_OK)
    fail_msg("%s: %s", c->text, err.message);
  assert_int_equal(compute_download(graph_device, sigma, a.sigma[0], sizeof sigma, &err), ASSAY_OK);
  gpu_answer_release(graph_device, &a);
  return mean_log(sigma);
}

static void test_tails_are_covered(void **state) {
  (void)state;
  for (int long_tails = 0; long_tails < 2; long_tails++) {
    struct graph_case c;
    graph_check(TEXT, small, 0);
    graph_begin(&c, TEXT, long_tails ? &large : &small);
    place(&c);
    double cpu[2] = {on_the_cpu(&c, false), on_the_cpu(&c, true)};
    double device[2] = {on_the_device(&c, false), on_the_device(&c, true)};
    print_message("mean of log scale: %.3f and %.3f, on the device %.3f and %.3f\n", cpu[0], cpu[1], device[0],
                  device[1]);
    assert_true(fabs(cpu[0] - device[0]) < 0.15 && fabs(cpu[1] - device[1]) < 0.15);
    assert_true(long_tails ? cpu[1] > cpu[0] + 0.3 : fabs(cpu[1] - cpu[0]) < 0.1);
    graph_end(&c);
  }
}

// The scales of the first output, on the CPU and on the device.
static void make_scales(const struct graph_case *c, const struct arith *look, int count, float *cpu, float *device) {
  struct assay_error err = {0};
  struct oracle_answer here;
  struct gpu_answer there;
  assert_int_equal(oracle_answer_make(&c->model.flat, c->in, look, PASSES, 2, &here, &err), ASSAY_OK);
  assert_int_equal(gpu_answer_make(graph_device, &c->model.flat, c->gpu_in, look, PASSES, &there, &err), ASSAY_OK);
  memcpy(cpu, here.sigma[0], (size_t)count * sizeof *cpu);
  assert_int_equal(compute_download(graph_device, device, there.sigma[0], (size_t)count * sizeof *device, &err),
                   ASSAY_OK);
  gpu_answer_release(graph_device, &there);
  oracle_answer_release(&here);
}

// x a + z b cancels, and both products are numbers of single precision, or so near that hardly any pass rounds them
// otherwise. A second look has passes on a coarser grid, on the CPU and on a device, where a graph of single elements
// has a way of its own.
static void test_products_on_the_grid(void **state) {
  (void)state;
  enum { COUNT = 32, INPUTS = 4 };
  static const double values[INPUTS] = {0x1.2b7d9p0, 3, 0x1p-18 - 0x1.2b7d9p1, 1.5};
  struct graph_case c;
  graph_begin(&c,
              "(float[32] x, float[1] a, float[32] z, float[1] b) => (float[32] y) "
              "{ p = Mul(x, a) q = Mul(z, b) y = Add(p, q) }",
              &small);
  for (int i = 0; i < INPUTS; i++) {
    for (int64_t k = 0; k < shape_count(&c.in[i].shape); k++)
      c.in[i].f64[k] = values[i];
    gpu_array_release(graph_device, &c.gpu_in[i]);
    c.gpu_in[i] = graph_upload(&c.in[i]);
  }
  const struct arith again = fp32(true);
  float cpu[COUNT], device[COUNT];
  make_scales(&c, &again, COUNT, cpu, device);
  for (int i = 0; i < COUNT; i++) {
    print_message("%s%.3g %.3g", i ? ", " : "units of 2^-24: ", (double)cpu[i] * 0x1p24, (double)device[i] * 0x1p24);
    assert_true(cpu[i] > 0x1p-26f && cpu[i] < 0x1p-22f);
    assert_true(device[i] > 0x1p-26f && device[i] < 0x1p-22f);
  }
  graph_end(&c);
}

// A cross entropy's scale has the rounding of log-sum-exp, which is as large as the scores: 2^-15 where they are near
// 1000.
static void test_log_sum_exp_of_a_loss(void **state) {
  (void)state;
  static const struct graph_draw near_1000 = {.low = 999, .high = 1001};
  const struct arith first = fp32(false);
  struct graph_case c;
  float cpu[4], device[4];
  graph_begin(&c,
              "(float[4,3] x) => (float[4] y) <int64[4] t = {1, 0, 2, 2}> "
              "{ y = SoftmaxCrossEntropyLoss<reduction = \"none\">(x, t) }",
              &near_1000);
  make_scales(&c, &first, 4, cpu, device);
  for (int i = 0; i < 4; i++) {
    assert_true(cpu[i] > 0x1p-18f && cpu[i] < 0x1p-13f);
    assert_true(device[i] > 0x1p-18f && device[i] < 0x1p-13f);
  }
  graph_end(&c);
}

// A deviation written out errs as one pass over rows far from zero does: by half a unit times the mean over the
// deviation.
static void test_deviations_in_one_pass(void **state) {
  (void)state;
  enum { ROWS = 8 };
  static const struct {
    const char *text;
    double least, most; // units of 2^-24 relative to the answer
  } cases[] = {
      {"(float[8,512] x) => (float[8] y) <int64[1] a = {1}> { m = ReduceMean(x, a) d = Sub(x, m) "
       "y = ReduceL2<keepdims = 0>(d, a) }",
       100, 600},
      {"(float[8,512] x) => (float[8] y) <int64[1] a = {1}> { m = ReduceMean(x, a) d = Sub(x, m) q = Mul(d, d) "
       "y = ReduceMean<keepdims = 0>(q, a) }",
       200, 1200},
      // no deviations: another mean's
      {"(float[8,512] x) => (float[8] y) <int64[1] a = {1}, int64[1] b = {0}> { m = ReduceMean(x, b) d = Sub(x, m) "
       "y = ReduceSumSquare<keepdims = 0>(d, a) }",
       0.2, 400},
  };
  static const struct graph_draw near_1000 = {.low = 999, .high = 1001};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    struct graph_case c;
    struct arith first = fp32(false);
    struct assay_error err = {0};
    struct oracle_answer cpu;
    struct gpu_answer device;
    float sigma[ROWS];
    graph_begin(&c, cases[k].text, &near_1000);
    assert_int_equal(oracle_answer_make(&c.model.flat, c.in, &first, PASSES, 2, &cpu, &err), ASSAY_OK);
    assert_int_equal(gpu_answer_make(graph_device, &c.model.flat, c.gpu_in, &first, PASSES, &device, &err), ASSAY_OK);
    assert_int_equal(compute_download(graph_device, sigma, device.sigma[0], sizeof sigma, &err), ASSAY_OK);
    for (int i = 0; i < ROWS; i++) {
      double unit = cpu.y[0].f64[i] * 0x1p-24, host = (double)cpu.sigma[0][i] / unit, other = (double)sigma[i] / unit;
      print_message("%.3g %.3g ", host, other);
      assert_true(host > cases[k].least && host < cases[k].most);
      assert_true(other > cases[k].least && other < cases[k].most);
    }
    gpu_answer_release(graph_device, &device);
    oracle_answer_release(&cpu);
    graph_end(&c);
  }
}

static void test_whom_it_concerns(void **state) {
  (void)state;
  static const struct {
    const char *text;
    bool steep;
  } cases[] = {{TEXT, true},
               {"(float[4,4] x) => (float[4,4] y) { m = MatMul(x, x) y = Softmax(m) }", true},
               {"(float[1,2,4,4] q) => (float[1,2,4,4] y) { y = Attention(q, q, q) }", true},
               {"(float[4,4] x) => (float[4,4] y) { y = Softmax(x) }", false},
               {"(float[4,4] x) => (float[4,4] y) { y = Exp(x) }", false},
               {"(float[4,4] x) => (float[4,4] y) { m = MatMul(x, x) y = Sigmoid(m) }", false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct graph_case c;
    struct arith half = fp32(true), first = fp32(false), again = fp32(true);
    half.stored.bits = 8;
    graph_begin(&c, cases[i].text, &small);
    const struct graph *g = &c.model.flat;
    assert_int_equal(oracle_has_steep_sums(g), cases[i].steep);
    const struct run_passes passes = run_passes_of(g, &again, PASSES);
    assert_int_equal(passes.n, PASSES * 3 / 2);
    assert_int_equal(passes.wider, cases[i].steep ? 2 : 7);
    assert_int_equal(run_passes_of(g, &first, PASSES).n, PASSES);
    assert_int_equal(run_tail_passes(g, &again, PASSES), cases[i].steep ? PASSES : 0);
    assert_int_equal(run_tail_passes(g, &first, PASSES), 0);
    assert_int_equal(run_tail_passes(g, &half, PASSES), 0);
    graph_end(&c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tails_are_covered), cmocka_unit_test(test_products_on_the_grid),
      cmocka_unit_test(test_log_sum_exp_of_a_loss), cmocka_unit_test(test_deviations_in_one_pass),
      cmocka_unit_test(test_whom_it_concerns)};
  return cmocka_run_group_tests_name("steep", tests, graph_open, graph_close);
}
