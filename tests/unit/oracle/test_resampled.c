// SPDX-License-Identifier: Apache-2.0
// modules: compare onnx oracle/cuda
// A contraction of a resampled image. Resampling rounds the coordinates of the image, so the contraction's inputs are
// not the same in every pass: its error has no closed form, and the truth and the scale come from passes of the whole
// graph. An honest kernel lands within that scale.
#include "gpu_graph.h"

#include "compare/compare.h"

enum { IN = 1000, OUT = 1500, COLUMNS = 4, CHANNELS = 8, ELEMENTS = OUT * CHANNELS, REPLICAS = 32 };

#define HEAD "<ir_version: 10, opset_import: [\"\" : 23]>\ng "

// The image grows to 1500 rows, and each element is a sum of four products. The sums are the same in all cases; the
// positions of rows near 1000 are off by up to 2^-15, far more than such a sum.
static const char *const cases[] = {
    HEAD "(float[1000,4] x, float[4,8] w) => (float[1500,8] y) <int64[2] n = {1500, 4}>\n"
         "{ r = Resize<mode = \"linear\">(x, , , n) y = MatMul(r, w) }",
    HEAD "(float[1,4,1000] x, float[8,4,1] w) => (float[1,8,1500] y) <int64[3] n = {1, 4, 1500}>\n"
         "{ r = Resize<mode = \"linear\">(x, , , n) y = Conv(r, w) }",
};
enum { N_CASES = sizeof cases / sizeof *cases, MATMUL = 0 };

static const struct graph_draw any = {.low = -1, .high = 1};
static const struct arith fp32 = {
    .bits = 24, .min_exponent = -126, .max = 0x1.fffffep127, .product_bits = 53, .block = 1, .key = 5};

// x[column][row] and w[channel][column] in either case's layout.
static float x_at(int i, const struct graph_case *c, int row, int column) {
  return (float)c->in[0].f64[i == MATMUL ? row * COLUMNS + column : column * IN + row];
}
static float w_at(int i, const struct graph_case *c, int column, int channel) {
  return (float)c->in[1].f64[i == MATMUL ? column * CHANNELS + channel : channel * COLUMNS + column];
}

// What a straightforward kernel in single precision makes of element (row, channel).
static float honest(int i, const struct graph_case *c, int row, int channel) {
  float at = ((float)row + 0.5f) / 1.5f - 0.5f, low = floorf(at), part = at - low, sum = 0;
  int first = low < 0 ? 0 : (int)low, second = low + 1 > IN - 1 ? IN - 1 : (int)low + 1;
  for (int k = 0; k < COLUMNS; k++)
    sum += ((1 - part) * x_at(i, c, first, k) + part * x_at(i, c, second, k)) * w_at(i, c, k, channel);
  return sum;
}

// The kernel's largest error in units of the scale; the truth is that of an exact pass.
static double largest_z(int i, const struct graph_case *c, const double *y, const float *sigma) {
  double worst = 0;
  struct array exact;
  graph_cpu(c, arith_exact(), &exact);
  for (int e = 0; e < ELEMENTS; e++) {
    int row = i == MATMUL ? e / CHANNELS : e % OUT, channel = i == MATMUL ? e % CHANNELS : e / OUT;
    assert_true(fabs(y[e] - exact.f64[e]) < 1e-14);
    worst = fmax(worst, fabs((double)honest(i, c, row, channel) - y[e]) / fmax((double)sigma[e], 0x1p-149));
  }
  array_release(&exact);
  return worst;
}

static double on_the_cpu(int i, const struct graph_case *c) {
  struct oracle_answer a;
  struct assay_error err = {0};
  if (oracle_answer_make(&c->model.flat, c->in, &fp32, REPLICAS, 2, &a, &err) != ASSAY_OK)
    fail_msg("%s: %s", c->text, err.message);
  double z = largest_z(i, c, a.y[0].f64, a.sigma[0]);
  oracle_answer_release(&a);
  return z;
}

static double on_the_device(int i, const struct graph_case *c) {
  struct gpu_answer a;
  struct assay_error err = {0};
  static double y[ELEMENTS];
  static float sigma[ELEMENTS];
  if (gpu_answer_make(graph_device, &c->model.flat, c->gpu_in, &fp32, REPLICAS, &a, &err) != ASSAY_OK)
    fail_msg("%s: %s", c->text, err.message);
  assert_int_equal(compute_download(graph_device, y, a.y[0].data, sizeof y, &err), ASSAY_OK);
  assert_int_equal(compute_download(graph_device, sigma, a.sigma[0], sizeof sigma, &err), ASSAY_OK);
  gpu_answer_release(graph_device, &a);
  return largest_z(i, c, y, sigma);
}

static void test_honest_kernels_pass(void **state) {
  (void)state;
  for (int i = 0; i < N_CASES; i++) {
    struct graph_case c;
    graph_check(cases[i], any, 0);
    graph_begin(&c, cases[i], &any);
    double cpu = on_the_cpu(i, &c), device = on_the_device(i, &c), limit = compare_z_limit(ELEMENTS);
    print_message("%s: %.1f on the CPU, %.1f on the device, of %.1f\n", i == MATMUL ? "MatMul" : "Conv", cpu, device,
                  limit);
    assert_true(cpu < limit && device < limit);
    graph_end(&c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_honest_kernels_pass)};
  return cmocka_run_group_tests_name("resampled", tests, graph_open, graph_close);
}
