// SPDX-License-Identifier: Apache-2.0
// modules: compare onnx oracle/cuda
// The error scale near kinks. Every element here lies within two errors of the place where a function bends: an
// honest kernel lands on either side of it, and the passes that the scale is made of may all have landed on one.
#include "gpu_graph.h"

#include "compare/compare.h"
#include "oracle/run.h"

enum { M = 32, K = 256, N = 128, PASSES = 8 };

static float relu(float d) {
  return d > 0 ? d : 0;
}
static float leaky(float d) {
  return d > 0 ? d : 0.01f * d;
}
static float clipped(float d) {
  float e = d + 0.5f;
  return e < 0.5f ? 0.5f : e > 1 ? 1 : e;
}
static float hard(float d) { // HardSwish at -3
  float e = d - 3, s = e / 6 + 0.5f;
  return e * (s < 0 ? 0 : s > 1 ? 1 : s);
}

static const struct {
  const char *text;
  float (*kernel)(float d);
} cases[] = {
    {"y = Relu(d)", relu},
    {"y = LeakyRelu<alpha = 0.01>(d)", leaky},
    {"e = Add(d, half) y = Clip(e, half, one)", clipped},
    {"e = Sub(d, three) y = HardSwish(e)", hard},
};
enum { N_CASES = sizeof cases / sizeof *cases };

// Products of positive factors, less what they are but for some of their errors.
static void place(struct graph_case *c, const struct arith *arith) {
  const double *x = c->in[0].f64, *w = c->in[1].f64;
  struct noise noise = noise_at(41, 1);
  for (int i = 0; i < M * N; i++) {
    double y = 0, t2 = 0;
    for (int k = 0; k < K; k++) {
      double t = x[i / N * K + k] * w[k * N + i % N];
      y += t;
      t2 += t * t;
    }
    double error = sqrt(arith_sum_variance(arith, y, t2, K, true));
    c->in[2].f64[i] = (float)(y + (4 * rng_unit(noise_next(&noise)) - 2) * error);
  }
  gpu_array_release(graph_device, &c->gpu_in[2]);
  c->gpu_in[2] = graph_upload(&c->in[2]);
}

// What a plain loop in single precision makes, against one answer: the largest error in units of the scale.
static double largest_z(const struct graph_case *c, float (*kernel)(float), const double *want, const float *sigma) {
  double worst = 0;
  for (int i = 0; i < M * N; i++) {
    float sum = 0;
    for (int k = 0; k < K; k++)
      sum += (float)c->in[0].f64[i / N * K + k] * (float)c->in[1].f64[k * N + i % N];
    double got = (double)kernel(sum - (float)c->in[2].f64[i]);
    double e = fabs(got - want[i]) - 0x1p-24 * fabs(want[i]) - 0x1p-122;
    worst = fmax(worst, e > 0 ? e / fmax((double)sigma[i], 0x1p-149) : 0);
  }
  return worst;
}

static double on_the_cpu(const struct graph_case *c, float (*kernel)(float), const struct arith *arith) {
  struct oracle_answer a;
  struct assay_error err = {0};
  if (oracle_answer_make(&c->model.flat, c->in, arith, PASSES, 2, &a, &err) != ASSAY_OK)
    fail_msg("%s: %s", c->text, err.message);
  assert_true(a.representable);
  double z = largest_z(c, kernel, a.y[0].f64, a.sigma[0]);
  oracle_answer_release(&a);
  return z;
}

static double on_the_device(const struct graph_case *c, float (*kernel)(float), const struct arith *arith) {
  struct gpu_answer a;
  struct assay_error err = {0};
  static double want[M * N];
  static float sigma[M * N];
  if (gpu_answer_make(graph_device, &c->model.flat, c->gpu_in, arith, PASSES, &a, &err) != ASSAY_OK)
    fail_msg("%s: %s", c->text, err.message);
  assert_true(a.representable);
  assert_int_equal(compute_download(graph_device, want, a.y[0].data, sizeof want, &err), ASSAY_OK);
  assert_int_equal(compute_download(graph_device, sigma, a.sigma[0], sizeof sigma, &err), ASSAY_OK);
  gpu_answer_release(graph_device, &a);
  return largest_z(c, kernel, want, sigma);
}

static void test_honest_kernels_pass_at_kinks(void **state) {
  (void)state;
  for (int i = 0; i < N_CASES; i++) {
    char text[512];
    snprintf(text, sizeof text,
             "<ir_version: 10, opset_import: [\"\" : 23]>\ng (float[%d,%d] x, float[%d,%d] w, float[%d,%d] z) => "
             "(float[%d,%d] y)\n<float half = {0.5}, float one = {1}, float three = {3}>\n"
             "{ m = MatMul(x, w) d = Sub(m, z) %s }",
             M, K, K, N, M, N, M, N, cases[i].text);
    struct graph_case c;
    struct arith arith = {
        .bits = 24, .min_exponent = -126, .max = 0x1.fffffep127, .product_bits = 53, .block = 1, .key = 9};
    graph_check(text, POSITIVE, 0);
    graph_begin(&c, text, &POSITIVE);
    place(&c, &arith);
    for (int draw = 0; draw < 3; draw++, arith.key++) {
      double cpu = on_the_cpu(&c, cases[i].kernel, &arith), device = on_the_device(&c, cases[i].kernel, &arith);
      print_message("%s: %.1f on the CPU, %.1f on the device, of %.1f\n", cases[i].text, cpu, device,
                    compare_z_limit(M * N));
      assert_true(cpu < compare_z_limit(M * N) && device < compare_z_limit(M * N));
    }
    graph_end(&c);
  }
}

// Half of the passes are as the contract says, each with errors of its own; the wide ones come in pairs of opposite
// errors.
static void test_passes(void **state) {
  (void)state;
  const struct arith tf32 = {.bits = 24,
                             .min_exponent = -126,
                             .max = 0x1.fffffep127,
                             .product_bits = 11,
                             .cut_bits = 26,
                             .block = 1,
                             .key = ~0ull};
  const struct run_passes half = {.n = PASSES, .normal = 4, .wider = 5}, none = {.n = PASSES, .normal = PASSES};
  uint64_t keys[PASSES];
  for (int k = 0; k < PASSES; k++) {
    struct run_pass p = run_pass(&tf32, k, &half);
    keys[k] = p.arith.key;
    assert_true(p.wide == (k >= 4) && p.part == (p.wide ? 1.0 / 32 : 1));
    // Sums err 32 times as much, whatever they err by.
    double v = arith_sum_variance(&tf32, 3, 20, 100, true), w = arith_sum_variance(&p.arith, 3, 20, 100, true);
    assert_true(fabs(sqrt(w / v) * p.part - 1) < 1e-12);
    for (int j = 0; j < k; j++)
      assert_true((keys[j] ^ keys[k]) != 0 &&
                  ((keys[j] ^ keys[k]) == NOISE_MIRRORED) == (k == 5 && j == 4) + (k == 7 && j == 6));
    assert_false(run_pass(&tf32, k, &none).wide);
    struct noise one = noise_at(noise_derive(keys[k], 7), 3),
                 other = noise_at(noise_derive(keys[k] ^ NOISE_MIRRORED, 7), 3);
    for (int i = 0; i < 5; i++)
      assert_true(noise_next(&one) == ~noise_next(&other));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_passes),
      cmocka_unit_test(test_honest_kernels_pass_at_kinks),
  };
  return cmocka_run_group_tests_name("kinks", tests, graph_open, graph_close);
}
