// SPDX-License-Identifier: Apache-2.0
// modules: compare onnx oracle/cuda
// What a loop with one accumulator loses counts where a pass asks for it: on the CPU and on a device alike, at most
// arith_lost_most times the error of a sum in random order; and for nothing but reductions, moments of normalizations,
// and products that a sum adds up right after them.
#include "gpu_graph.h"

#include "compare/compare.h"

enum { PASSES = 64 };

// Terms that are nearly alike, so that additions err in the same direction for long stretches.
static const struct graph_draw alike = {.low = 1.1, .high = 1.10001, .below = 3};
static const struct graph_draw roots_alike = {.low = 1.04881, .high = 1.04882}; // their squares are

static const struct {
  const char *text;
  bool counted, squares;
  double terms; // of each sum; of interest where they are counted
} cases[] = {
    {"(float[20000] x) => (float y) { y = ReduceSum<keepdims = 0>(x) }", true, false, 20000},
    {"(float[3,9001] x) => (float[3] y) <int64[1] a = {1}> { y = ReduceMean<keepdims = 0>(x, a) }", true, false, 9001},
    {"(float[9001,3] x) => (float[3] y) <int64[1] a = {0}> { y = ReduceL1<keepdims = 0>(x, a) }", true, false, 9001},
    {"(float[9001] x) => (float y) { y = ReduceL2<keepdims = 0>(x) }", true, true, 9001},
    {"(float[70000] x) => (float y) { y = ReduceSumSquare<keepdims = 0>(x) }", true, true, 70000},
    {"(float[9001] x) => (float y) { y = ReduceLogSum<keepdims = 0>(x) }", true, false, 9001},
    {"(float[1,2,90,101] x) => (float[1,2,1,1] y) { y = GlobalAveragePool(x) }", true, false, 9090},
    {"(float[1,2,90,101] x) => (float[1,2,1,1] y) { y = GlobalLpPool<p = 1>(x) }", true, false, 9090},
    {"(float[9001,3] x, int64[9001] l) => (float y) { y = NegativeLogLikelihoodLoss(x, l) }", true, false, 9001},
    {"(float[9001,3] x, int64[9001] l) => (float y) { y = NegativeLogLikelihoodLoss<reduction = \"sum\">(x, l) }", true,
     false, 9001},
    {"(float[1100000] x) => (float y) { y = ReduceSum<keepdims = 0>(x) }", false, false,
     0}, // too long for anybody's one
    {"(float[1,9001] x, float[9001,1] w) => (float[1,1] y) { y = MatMul(x, w) }", false, false, 0},
    {"(float[9001] x) => (float y) { y = ReduceMax<keepdims = 0>(x) }", false, false, 0},
};
enum { N_CASES = sizeof cases / sizeof *cases };

static struct arith fp32(bool one_lane) {
  return (struct arith){.bits = 24,
                        .min_exponent = -126,
                        .max = 0x1.fffffep127,
                        .product_bits = 53,
                        .block = 1,
                        .key = 9,
                        .one_lane = one_lane};
}

static double sigma_on_the_cpu(const struct graph_case *c, bool one_lane, double *y) {
  struct oracle_answer a;
  struct assay_error err = {0};
  struct arith arith = fp32(one_lane);
  if (oracle_answer_make(&c->model.flat, c->in, &arith, PASSES, 2, &a, &err) != ASSAY_OK)
    fail_msg("%s: %s", c->text, err.message);
  double sigma = (double)a.sigma[0][0];
  *y = a.y[0].f64[0];
  oracle_answer_release(&a);
  return sigma;
}

static double sigma_on_the_device(const struct graph_case *c, bool one_lane) {
  struct gpu_answer a;
  struct assay_error err = {0};
  struct arith arith = fp32(one_lane);
  float sigma;
  if (gpu_answer_make(graph_device, &c->model.flat, c->gpu_in, &arith, PASSES, &a, &err) != ASSAY_OK)
    fail_msg("%s: %s", c->text, err.message);
  assert_int_equal(compute_download(graph_device, &sigma, a.sigma[0], sizeof sigma, &err), ASSAY_OK);
  gpu_answer_release(graph_device, &a);
  return (double)sigma;
}

static void test_what_counts(void **state) {
  (void)state;
  for (int i = 0; i < N_CASES; i++) {
    struct graph_case c;
    double y;
    const struct graph_draw *draw = cases[i].squares ? &roots_alike : &alike;
    graph_check(cases[i].text, *draw, 0);
    graph_begin(&c, cases[i].text, draw);
    double cpu[2] = {sigma_on_the_cpu(&c, false, &y), sigma_on_the_cpu(&c, true, &y)};
    double device[2] = {sigma_on_the_device(&c, false), sigma_on_the_device(&c, true)};
    print_message("%s: %.2g and %.2g, on the device %.2g and %.2g\n", cases[i].text, cpu[0], cpu[1], device[0],
                  device[1]);
    // Both are estimates, good to a tenth.
    assert_true(fabs(log(cpu[0] / device[0])) < 0.4 && fabs(log(cpu[1] / device[1])) < 0.4);
    assert_true(cases[i].counted
                    ? cpu[1] > 1.5 * cpu[0] && cpu[1] < 1.4 * 1.01 * arith_lost_most(cases[i].terms) * cpu[0]
                    : fabs(log(cpu[1] / cpu[0])) < 0.4);
    graph_end(&c);
  }
}

// Sums of sums, and the one sum of all their terms: one accumulator may go through all, so a pass that counts what it
// loses gives both the same scale. `counted`: not so where nothing is summed twice, or another node is between.
static const struct {
  const char *nested, *flat;
  bool counted;
} sums[] = {
    {"(float[90,101] x) => (float y) <int64[1] a = {1}> { r = ReduceSum<keepdims = 0>(x, a)\n"
     "y = ReduceSum<keepdims = 0>(r) }",
     "(float[90,101] x) => (float y) { y = ReduceSum<keepdims = 0>(x) }", true},
    {"(float[90,101] x) => (float y) <int64[1] a = {0}> { r = ReduceSum<keepdims = 1>(x, a)\n"
     "y = ReduceMean<keepdims = 0>(r) }",
     "(float[90,101] x) => (float y) <float n = {90.0}> { m = ReduceMean<keepdims = 0>(x)\ny = Mul(m, n) }", true},
    {"(float[3,20,5,101] x) => (float[3] y) <int64[1] a = {-1}, int64[1] b = {1}, int64[2] z = {1, 2}> {\n"
     "r = ReduceMean<keepdims = 0>(x, a)\ns = ReduceMean<keepdims = 1>(r, b)\ny = ReduceMean<keepdims = 0>(s, z)\n"
     "}",
     "(float[3,20,5,101] x) => (float[3] y) <int64[3] a = {1, 2, 3}> { y = ReduceMean<keepdims = 0>(x, a) }", true},
    {"(float[90,101] x) => (float y) <int64[1] a = {1}> { r = ReduceSum<keepdims = 0>(x, a)\nn = Neg(r)\n"
     "y = ReduceSum<keepdims = 0>(n) }",
     "(float[90,101] x) => (float y) { y = ReduceSum<keepdims = 0>(x) }", false},
    {"(float[1,9090] x) => (float y) <int64[1] a = {1}> { r = ReduceSum<keepdims = 0>(x, a)\n"
     "y = ReduceSum<keepdims = 0>(r) }",
     "(float[1,9090] x) => (float y) { y = ReduceSum<keepdims = 0>(x) }", true},
};

static void test_sums_of_sums(void **state) {
  (void)state;
  for (int i = 0; i < (int)(sizeof sums / sizeof *sums); i++) {
    struct graph_case nested, flat;
    double y, z, cpu[2][2], device[2][2];
    graph_begin(&nested, sums[i].nested, &alike);
    graph_begin(&flat, sums[i].flat, &alike);
    for (int lane = 0; lane < 2; lane++) {
      cpu[lane][0] = sigma_on_the_cpu(&nested, lane, &y);
      cpu[lane][1] = sigma_on_the_cpu(&flat, lane, &z);
      device[lane][0] = sigma_on_the_device(&nested, lane);
      device[lane][1] = sigma_on_the_device(&flat, lane);
    }
    print_message("%s: %.2g and %.2g, in one %.2g and %.2g\n", sums[i].nested, cpu[0][0], cpu[1][0], cpu[0][1],
                  cpu[1][1]);
    assert_true(fabs(fabs(y) - fabs(z)) <= 1e-9 * fabs(z));
    for (int lane = 0; lane < 2; lane++)
      assert_true(fabs(log(cpu[lane][0] / device[lane][0])) < 0.4 && fabs(log(cpu[lane][1] / device[lane][1])) < 0.4);
    assert_int_equal(fabs(log(cpu[1][0] / cpu[1][1])) < 0.4, sums[i].counted);
    graph_end(&nested);
    graph_end(&flat);
  }
}

// Sums of products: each product is added to a sum as large as the terms', in any order, and errs as much. Not counted:
// between the product and the sum is another function, nothing is summed twice, or there are too many.
static const struct {
  const char *text;
  double least, most; // times the scale of the sum alone
} products[] = {
    {"(float[1,256] x, float[256,192] w) => (float[1] y) <int64[1] a = {1}> { p = MatMul(x, w)\n"
     "y = ReduceSum<keepdims = 0>(p, a) }",
     8, 20},
    {"(float[1,256] x, float[192,256] w, float[192] b) => (float[1] y) <int64[1] a = {1}, float two = {2.0}> {\n"
     "p = Gemm<transB = 1>(x, w, b)\nq = Div(p, two)\nr = Sub(q, two)\ny = ReduceMean<keepdims = 0>(r, a) }",
     8, 20},
    {"(float[1,64] x, float[64,192] w) => (float y) <int64[1] a = {1}> { p = MatMul(x, w)\n"
     "r = ReduceSum<keepdims = 0>(p, a)\ny = ReduceMean<keepdims = 0>(r) }",
     4, 10},
    {"(float[1,3,20,20] x, float[8,3,5,5] w) => (float[1] y) <int64[3] a = {1, 2, 3}> { p = Conv(x, w)\n"
     "y = ReduceMean<keepdims = 0>(p, a) }",
     4, 12},
    {"(float[1,256] x, float[256,192] w) => (float[1] y) <int64[1] a = {1}> { p = MatMul(x, w)\nq = Relu(p)\n"
     "y = ReduceSum<keepdims = 0>(q, a) }",
     0.7, 1.4},
    {"(float[1,256] x, float[256,1] w) => (float[1] y) <int64[1] a = {1}> { p = MatMul(x, w)\n"
     "y = ReduceSum<keepdims = 0>(p, a) }",
     0.7, 1.4},
    {"(float[1,1300] x, float[1300,1000] w) => (float[1] y) <int64[1] a = {1}> { p = MatMul(x, w)\n"
     "y = ReduceSum<keepdims = 0>(p, a) }",
     0.7, 1.4},
};

static void test_sums_of_products(void **state) {
  (void)state;
  const struct graph_draw mixed = {.low = -1, .high = 1};
  for (int i = 0; i < (int)(sizeof products / sizeof *products); i++) {
    struct graph_case c;
    double y;
    graph_begin(&c, products[i].text, &mixed);
    double cpu[2] = {sigma_on_the_cpu(&c, false, &y), sigma_on_the_cpu(&c, true, &y)};
    double device[2] = {sigma_on_the_device(&c, false), sigma_on_the_device(&c, true)};
    print_message("%s: %.2g and %.2g, on the device %.2g and %.2g\n", products[i].text, cpu[0], cpu[1], device[0],
                  device[1]);
    assert_true(fabs(log(cpu[0] / device[0])) < 0.4 && fabs(log(cpu[1] / device[1])) < 0.4);
    assert_in_range((int64_t)(1000 * cpu[1] / cpu[0]), (int64_t)(1000 * products[i].least),
                    (int64_t)(1000 * products[i].most));
    graph_end(&c);
  }
}

// 40 sums of products by an honest loop with one accumulator.
static void test_a_loop_over_products_passes(void **state) {
  (void)state;
  enum { K = 256, N = 192 };
  const struct graph_draw mixed = {.low = -1, .high = 1};
  int far = 0;
  for (int at = 0; at < 40; at++) {
    struct graph_case c;
    double y, worst = 0;
    graph_begin(&c, products[0].text, &mixed);
    for (int k = 0; k < 2; k++) {
      graph_fill(&c.in[k], &mixed, (uint64_t)(100 + 2 * at + k));
      for (int64_t i = 0; i < shape_count(&c.in[k].shape); i++)
        c.in[k].f64[i] = (double)(float)c.in[k].f64[i];
    }
    float sum = 0;
    for (int j = 0; j < N; j++)
      for (int l = 0; l < K; l++)
        sum += (float)c.in[0].f64[l] * (float)c.in[1].f64[l * N + j];
    for (int one_lane = 0; one_lane < 2; one_lane++) {
      double sigma = sigma_on_the_cpu(&c, one_lane, &y);
      worst = fmax(0, fabs((double)sum - y) - 0x1p-24 * fabs(y)) / sigma;
      far += !one_lane && worst > compare_z_limit(1) / 2;
    }
    assert_true(worst < compare_z_limit(1) / 2);
    graph_end(&c);
  }
  print_message("%d of 40 are far off at first\n", far);
  assert_true(far > 2);
}

// A normalization's mean and variance, and a softmax's sum, count what one accumulator loses, where terms are alike.
static void test_moments(void **state) {
  (void)state;
  static const char *const norms[] = {
      "(float[2,9001] x, float[9001] s, float[9001] b) => (float[2,9001] y) { y = LayerNormalization(x, s, b) }",
      ("(float[3,2,55,55] x, float[2] s, float[2] b) => (float[3,2,55,55] y) <float[2] z = {0, 0}> {\n"
       "y, m, v = BatchNormalization<training_mode = 1>(x, s, b, z, z) }"),
      "(float[2,9001] x) => (float[2,9001] y) { y = Softmax(x) }",
      "(float[9001,2] x) => (float[9001,2] y) { y = LogSoftmax<axis = 0>(x) }",
  };
  for (size_t i = 0; i < sizeof norms / sizeof *norms; i++) {
    struct graph_case c;
    double y;
    graph_begin(&c, norms[i], &alike);
    double cpu[2] = {sigma_on_the_cpu(&c, false, &y), sigma_on_the_cpu(&c, true, &y)};
    double device[2] = {sigma_on_the_device(&c, false), sigma_on_the_device(&c, true)};
    print_message("%s: %.2g and %.2g, on the device %.2g and %.2g\n", norms[i], cpu[0], cpu[1], device[0], device[1]);
    assert_true(fabs(log(cpu[0] / device[0])) < 0.4 && fabs(log(cpu[1] / device[1])) < 0.4);
    assert_true(cpu[1] > 1.5 * cpu[0]);
    graph_end(&c);
  }
}

// The mean of equal numbers by an honest loop: all elements are off by as much, and should be 0. They are a
// convolution's bias, whose pass gives each a noise of its own. So is a loop of 18 bits, by 64 times as much.
static void test_equal_terms(void **state) {
  (void)state;
  enum { K = 18 * 18 };
  double honest = 0, coarse = 0, most = 0;
  for (int at = 0; at < 40; at++) {
    struct graph_case c;
    double y;
    const double b = (double)(float)(1 + at / 41.0);
    const struct graph_draw equal = {.low = b, .high = b};
    graph_begin(
        &c,
        "(float[1,16,20,20] x, float[1,16,3,3] w, float[1] b, float[1] s, float[1] z) => (float[1,1,18,18] y) {\n"
        "c = Conv(x, w, b)\ny = InstanceNormalization(c, s, z) }",
        &equal);
    for (int64_t i = 0; i < shape_count(&c.in[0].shape); i++)
      c.in[0].f64[i] = 0x1p-140;
    float sum = 0, low = 0;
    for (int k = 0; k < K; k++) {
      int power;
      sum += (float)b;
      float part = frexpf(low + (float)b, &power);
      low = ldexpf(rintf(ldexpf(part, 18)), power - 18);
    }
    most = fmax(most, fabs((double)sum / K - b) / b * 0x1p24 / K);
    const double sigma = sigma_on_the_cpu(&c, true, &y), times = b / sqrt(1e-5) / sigma;
    honest = fmax(honest, fabs((double)(sum / K) - b) * times);
    coarse += fabs((double)(low / K) - b) * times / 40;
    graph_end(&c);
  }
  print_message("equal terms: %.2g deviations at most, %.2g in 18 bits; %.2g x 2^-24 a term\n", honest, coarse, most);
  assert_true(most < ARITH_LOST_ALIKE && honest < 1.5 && coarse > 15);
}

// 40 sums as the honest loop makes them: far beyond the scale of a random order, within the other.
static void test_a_plain_loop_passes(void **state) {
  (void)state;
  int failed = 0;
  for (uint64_t seed = 0; seed < 40; seed++) {
    struct graph_case c;
    double y, worst = 0;
    const double low = 1.1 + 0.003 * (double)seed;
    const struct graph_draw draw = {.low = low, .high = low + 1e-5};
    graph_begin(&c, "(float[8192] x) => (float y) { y = ReduceSum<keepdims = 0>(x) }", &draw);
    float sum = 0;
    for (int k = 0; k < 8192; k++)
      sum += (float)c.in[0].f64[k];
    for (int one_lane = 0; one_lane < 2; one_lane++) {
      double sigma = sigma_on_the_cpu(&c, one_lane, &y);
      worst = (fabs((double)sum - y) - 0x1p-24 * y) / sigma;
      failed += !one_lane && worst > compare_z_limit(1);
    }
    assert_true(worst < compare_z_limit(1));
    graph_end(&c);
  }
  print_message("%d of 40 fail at first\n", failed);
  assert_true(failed > 0);
}

// Small terms after large ones: nearly each is rounded away, so that the loop is off by a part of 2^-24 of the sum a
// term.
static void test_small_terms_after_large_ones(void **state) {
  (void)state;
  enum { LARGE = 512, TERMS = 65536 };
  const struct graph_draw draw = {.low = 0.2, .high = 0.9};
  double most = 0;
  for (int power = 9; power < 20; power++) {
    struct graph_case c;
    double y;
    graph_begin(&c, "(float[65536] x) => (float y) { y = ReduceSum<keepdims = 0>(x) }", &draw);
    for (int k = 0; k < LARGE; k++)
      c.in[0].f64[k] = ldexp(1.5, power);
    float sum = 0;
    for (int k = 0; k < TERMS; k++)
      sum += (float)c.in[0].f64[k];
    double sigma = sigma_on_the_cpu(&c, true, &y), off = fabs((double)sum - y) - 0x1p-24 * y;
    assert_true(off / sigma < compare_z_limit(1));
    most = fmax(most, off / y * 0x1p24 / TERMS);
    graph_end(&c);
  }
  print_message("a loop loses up to %.2f x 2^-24 of the sum a term\n", most);
  assert_true(most > 0.25);
}

// How many moments, sums or cuts to a rank feed the elements of a graph, as its operators' rows say; the fewest count.
static const struct {
  const char *text;
  int64_t moments;
} shares[] = {
    {"(float[2,3,4,5] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[2,3,4,5] y) "
     "{ y = BatchNormalization(x, s, b, m, v) }",
     0}, // it is told them
    {"(float[2,3,4,5] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[2,3,4,5] y, float[3] rm, "
     "float[3] rv) { y, rm, rv = BatchNormalization<training_mode = 1>(x, s, b, m, v) }",
     3},
    {"(float[2,3,4,5] x, float[3] s, float[3] b) => (float[2,3,4,5] y) { y = InstanceNormalization(x, s, b) }", 6},
    {"(float[2,6,4,5] x, float[6] s, float[6] b) => (float[2,6,4,5] y) "
     "{ y = GroupNormalization<num_groups = 2>(x, s, b) }",
     4},
    {"(float[2,3,4] x, float[4] s) => (float[2,3,4] y) { y = LayerNormalization(x, s) }", 6},
    {"(float[2,3,4] x, float[3,4] s) => (float[2,3,4] y) { y = RMSNormalization<axis = 1>(x, s) }", 2},
    {"(float[2,3,4,5] x) => (float[2,3,4,5] y) { y = MeanVarianceNormalization(x) }", 3},
    {"(float[2,3,4,5] x) => (float[2,3,4,5] y) { y = LpNormalization<p = 1>(x) }", 0},
    {"(float[2,3,4] x) => (float[2,3,4] y) { y = Softmax<axis = 1>(x) }", 8},
    {"(float[2,3,4] x) => (float[2,3,4] y) { y = LogSoftmax(x) }", 6},
    {"(float[2,3,4] x) => (float[2,3,4] y) { y = Hardmax(x) }", 0},
    {"(float[2,3,4] x) => (float[2,4] y) <int64[1] a = {1}> { y = ReduceSum<keepdims = 0>(x, a) }", 8},
    {"(float[2,3,4,5] x) => (float[2,3,1,1] y) { y = GlobalAveragePool(x) }", 6},
    {"(float[3,5,7] x) => (float[3,5,7] y) { y = ai.assay.LowRank<rank = 2>(x) }", 3},
    {"(float[5,7] x) => (float[5,7] y) { y = ai.assay.LowRank<rank = 2>(x) }", 1},
    {"(float[2,3] x, float[3,4] w) => (float[2,4] y) { p = MatMul(x, w) y = Relu(p) }", 0},
    {"(float[2,3,4] x) => (float[2,3,4] y) <int64[2] a = {1, 2}> { m = ReduceMean(x, a) d = Sub(x, m) "
     "y = Softmax(d) }",
     2}, // of 2 and 6
};

static void test_who_shares(void **state) {
  (void)state;
  const struct graph_draw draw = {.low = 0.2, .high = 0.9};
  for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
    struct graph_case c;
    struct arena arena = {0};
    struct graph_shapes shapes;
    struct assay_error err = {0};
    int64_t moments = -1;
    graph_begin(&c, shares[i].text, &draw);
    assert_int_equal(oracle_infer(&c.model.flat, c.in, &arena, &shapes, &err), ASSAY_OK);
    assert_int_equal(oracle_moments(&c.model.flat, shapes.values, &arena, &moments, &err), ASSAY_OK);
    if (moments != shares[i].moments)
      fail_msg("%s: %lld moments, not %lld", shares[i].text, (long long)moments, (long long)shares[i].moments);
    arena_release(&arena);
    graph_end(&c);
  }
}

// Convolutions by transforms of tiles (Winograd) in a second look: inputs that meet small taps meet the large ones,
// too. `counted`: not so with strides, long kernels, products in fewer bits, or in a first look.
static const struct {
  const char *text;
  bool counted;
  int product_bits;
} tiles[] = {
    {"(float[1,6,3] x, float[1,6,3] w) => (float[1,1,1] y) <float[3] s = {0.001, 0.001, 1.0}, float[3] t = {1.0, 1.0, "
     "0.001}> { a = Mul(x, s) b = Mul(w, t) y = Conv(a, b) }",
     true, 53},
    {"(float[1,6,3] x, float[1,6,3] w) => (float[1,1,1] y) <float[3] s = {0.001, 0.001, 1.0}, float[3] t = {1.0, 1.0, "
     "0.001}> { a = Mul(x, s) b = Mul(w, t) y = Conv(a, b) }",
     false, 11},
    {"(float[1,6,3] x, float[1,6,3] w) => (float[1,1,1] y) <float[3] s = {0.001, 0.001, 1.0}, float[3] t = {1.0, 1.0, "
     "0.001}> { a = Mul(x, s) b = Mul(w, t) y = Conv<strides = [2]>(a, b) }",
     false, 53},
    {"(float[1,6,5] x, float[1,6,5] w) => (float[1,1,1] y) <float[5] s = {0.001, 0.001, 0.001, 0.001, 1.0}, float[5] t "
     "= {1.0, 1.0, 1.0, 1.0, 0.001}> { a = Mul(x, s) b = Mul(w, t) y = Conv(a, b) }",
     false, 53},
    {"(float[1,6,3,3] x, float[5,6,3,3] w) => (float[1,5,1,1] y) <float[3] s = {0.001, 0.001, 1.0}, float[3] t = {1.0, "
     "1.0, 0.001}> { a = Mul(x, s) b = Mul(w, t) y = Conv(a, b) }",
     true, 53},
    {"(float[1,4,3,3] x, float[4,1,3,3] w) => (float[1,4,1,1] y) <float[3] s = {0.001, 0.001, 1.0}, float[3] t = {1.0, "
     "1.0, 0.001}> { a = Mul(x, s) b = Mul(w, t) y = Conv<group = 4>(a, b) }",
     true, 53},
    {"(float[2,40,12,12] x, float[8,40,3,3] w) => (float[2,8,12,12] y) <float[1,1,12,1] s = {1.0, 0.001, 0.001, 1.0, "
     "0.001, 0.001, 1.0, 0.001, 0.001, 1.0, 0.001, 0.001}, float[3,1] t = {1.0, 0.001, 1.0}> { a = Mul(x, s) b = "
     "Mul(w, t) y = Conv<pads = [1, 1, 1, 1]>(a, b) }",
     true, 53}, // by the matrix product; its first element is at the border
    {"(float[1,6,1,2] x, float[6,5,1,2] w) => (float[1,5,1,3] y) <float[2] t = {1.0, 0.001}> { b = Mul(w, t) y = "
     "ConvTranspose(x, b) }",
     false, 53}, // the first element has one tap, the large one
};

static double sigma_of(const struct graph_case *c, const struct arith *arith, bool on_the_device) {
  struct assay_error err = {0};
  float sigma;
  if (on_the_device) {
    struct gpu_answer a;
    assert_int_equal(gpu_answer_make(graph_device, &c->model.flat, c->gpu_in, arith, PASSES, &a, &err), ASSAY_OK);
    assert_int_equal(compute_download(graph_device, &sigma, a.sigma[0], sizeof sigma, &err), ASSAY_OK);
    gpu_answer_release(graph_device, &a);
  } else {
    struct oracle_answer a;
    assert_int_equal(oracle_answer_make(&c->model.flat, c->in, arith, PASSES, 2, &a, &err), ASSAY_OK);
    sigma = a.sigma[0][0];
    oracle_answer_release(&a);
  }
  return (double)sigma;
}

static void test_tiles(void **state) {
  (void)state;
  const struct graph_draw draw = {.low = 0.2, .high = 0.9};
  for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
    struct graph_case c;
    double sigma[2][2]; // [on the device][in a second look]
    graph_begin(&c, tiles[i].text, &draw);
    for (int k = 0; k < 4; k++) {
      struct arith arith = fp32(k & 1);
      arith.product_bits = tiles[i].product_bits;
      sigma[k >> 1][k & 1] = sigma_of(&c, &arith, k >> 1);
    }
    print_message("tiles %zu: %.2g and %.2g, on the device %.2g and %.2g\n", i, sigma[0][0], sigma[0][1], sigma[1][0],
                  sigma[1][1]);
    for (int look = 0; look < 2; look++)
      assert_true(fabs(log(sigma[0][look] / sigma[1][look])) < 0.4);
    const double more = sigma[0][1] / sigma[0][0];
    assert_true(tiles[i].counted ? more > 8 : more > 0.7 && more < 1.4);
    graph_end(&c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_counts),
                                     cmocka_unit_test(test_sums_of_sums),
                                     cmocka_unit_test(test_sums_of_products),
                                     cmocka_unit_test(test_a_loop_over_products_passes),
                                     cmocka_unit_test(test_moments),
                                     cmocka_unit_test(test_who_shares),
                                     cmocka_unit_test(test_tiles),
                                     cmocka_unit_test(test_equal_terms),
                                     cmocka_unit_test(test_a_plain_loop_passes),
                                     cmocka_unit_test(test_small_terms_after_large_ones)};
  return cmocka_run_group_tests_name("one lane", tests, graph_open, graph_close);
}
