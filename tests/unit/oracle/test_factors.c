// SPDX-License-Identifier: Apache-2.0
// modules: onnx oracle/cuda
// Factors of products that a tensor core rounds: an error of a factor is the same in all products that it goes into.
// Where these are averaged afterwards (a convolution's positions, a product's columns), or a factor meets others with a
// mean, it does not shrink as errors of single sums would.
#include "gpu_graph.h"

#include "oracle/run.h"

enum { PASSES = 16 };
static const struct arith tf32 = {
    .bits = 24, .min_exponent = -126, .max = 0x1.fffffep127, .product_bits = 11, .cut_bits = 26, .block = 1, .key = 9};

static const char *const cases[] = {
    "(float[2,8,26,26] x, float[16,8,3,3] w) => (float[2,16,1,1] y) { c = Conv(x, w) y = GlobalAveragePool(c) }",
    "(float[64,128] x, float[128,1024] w) => (float[64,1] y) { m = MatMul(x, w) y = ReduceMean(m) }",
    ("<ir_version: 10, opset_import: [\"\" : 23]>\ng (float[32,128] x, float[512,128] w) => (float[32,1] y)\n"
     "<int64[1] last = {1}, float eighth = {0.125}> { m = Gemm<transB = 1>(x, w) s = Mul(m, eighth) "
     "y = ReduceLogSumExp(s, last) }"),
    ("(float[48,64] x, float[64,256] w) => (float[48,48] y) { m = Einsum<equation = \"ik,kn->in\">(x, w) "
     "y = Einsum<equation = \"in,jn->ij\">(m, m) }"),
};
enum { N_CASES = sizeof cases / sizeof *cases };
static const struct graph_draw WITH_MEAN = {-0.5, 1.5, 0, 0};

// The case's answer where its inputs are rounded to so many bits first, to nearest or towards zero.
static void with_rounded(struct graph_case *c, int bits, bool cut, struct array *y) {
  struct arith format = tf32;
  format.bits = bits;
  const struct rounder r = arith_rounder(&format);
  struct array whole[GRAPH_VALUES];
  memcpy(whole, c->in, sizeof whole);
  for (int i = 0; i < c->model.flat.n_inputs; i++) {
    struct assay_error err = {0};
    assert_int_equal(array_create(whole[i].dtype, &whole[i].shape, &c->in[i], &err), ASSAY_OK);
    for (int64_t k = 0; k < shape_count(&whole[i].shape); k++)
      c->in[i].f64[k] = cut ? rounder_apply(&r, 0, whole[i].f64[k]) : rounder_nearest(&r, whole[i].f64[k]);
  }
  graph_cpu(c, arith_exact(), y);
  for (int i = 0; i < c->model.flat.n_inputs; i++)
    array_release(&c->in[i]);
  memcpy(c->in, whole, sizeof whole);
}

static double rms(const struct array *got, const double *want, const float *sigma) {
  double sum = 0;
  const int64_t n = shape_count(&got->shape);
  for (int64_t i = 0; i < n; i++) {
    const double z = (got->f64[i] - want[i]) / (double)sigma[i];
    sum += z * z;
  }
  return sqrt(sum / (double)n);
}

struct kernels {
  struct array nearest, cut, bf16;
};

static void kernels_make(struct graph_case *c, struct kernels *k) {
  with_rounded(c, 11, false, &k->nearest);
  with_rounded(c, 11, true, &k->cut);
  with_rounded(c, 8, false, &k->bf16);
}

static void kernels_release(struct kernels *k) {
  array_release(&k->nearest);
  array_release(&k->cut);
  array_release(&k->bf16);
}

// As much as a kernel of the contract errs, and no more than that.
static void check_kernels(const struct kernels *k, const char *text, const char *where, const double *y,
                          const float *sigma) {
  const double nearest = rms(&k->nearest, y, sigma), cut = rms(&k->cut, y, sigma), bf16 = rms(&k->bf16, y, sigma);
  print_message("%.60s %s: rms %.2f to nearest, %.2f cut off, %.2f bf16\n", text, where, nearest, cut, bf16);
  assert_true(nearest > 0.25 && nearest < 1.5);
  assert_true(bf16 > 2.5);
  assert_true(cut > 1.5 * nearest);
}

static void test_errors_of_factors_add_up(void **state) {
  (void)state;
  for (int i = 0; i < N_CASES; i++) {
    struct graph_case c;
    struct kernels k;
    struct oracle_answer cpu;
    struct gpu_answer gpu;
    struct assay_error err = {0};
    graph_check(cases[i], WITH_MEAN, 0);
    graph_begin(&c, cases[i], &WITH_MEAN);
    kernels_make(&c, &k);
    if (oracle_answer_make(&c.model.flat, c.in, &tf32, PASSES, 2, &cpu, &err) != ASSAY_OK ||
        gpu_answer_make(graph_device, &c.model.flat, c.gpu_in, &tf32, PASSES, &gpu, &err) != ASSAY_OK)
      fail_msg("%s: %s", cases[i], err.message);
    check_kernels(&k, cases[i], "on the CPU", cpu.y[0].f64, cpu.sigma[0]);
    const size_t n = (size_t)shape_count(&cpu.y[0].shape);
    float *sigma = base_calloc(n, sizeof *sigma);
    assert_non_null(sigma);
    assert_int_equal(compute_download(graph_device, sigma, gpu.sigma[0], n * sizeof *sigma, &err), ASSAY_OK);
    check_kernels(&k, cases[i], "on the device", cpu.y[0].f64, sigma);
    base_free(sigma);
    gpu_answer_release(graph_device, &gpu);
    oracle_answer_release(&cpu);
    kernels_release(&k);
    graph_end(&c);
  }
}

// A product alone has its scale in closed form: its errors are those of its own sums.
static void test_products_alone(void **state) {
  (void)state;
  struct graph_case c;
  struct kernels k;
  struct oracle_answer a;
  struct assay_error err = {0};
  graph_begin(&c, "(float[32,128] x, float[128,64] w) => (float[32,64] y) { y = MatMul(x, w) }", &WITH_MEAN);
  kernels_make(&c, &k);
  assert_int_equal(oracle_answer_make(&c.model.flat, c.in, &tf32, PASSES, 2, &a, &err), ASSAY_OK);
  check_kernels(&k, c.text, "alone", a.y[0].f64, a.sigma[0]);
  oracle_answer_release(&a);
  kernels_release(&k);
  graph_end(&c);
}

// Where a pass rounds factors: under tf32, where something sums what is made of the products, and always where an
// operator multiplies by what it makes itself.
static void test_where(void **state) {
  (void)state;
  static const struct {
    const char *text;
    bool rounds; // at node 0
  } graphs[] = {
      {"(float[4,3] x, float[3,5] w) => (float[4,5] y) { m = MatMul(x, w) y = Relu(m) }", false},
      {"(float[4,3] x, float[3,5] w) => (float[4,5] y) { m = MatMul(x, w) r = Relu(m) y = Softmax(r) }", true},
      {"(float[4,3] x, float[3,5] w, float[5,2] v) => (float[4,2] y) { m = MatMul(x, w) y = MatMul(m, v) }", true},
      {"(float[1,2,4,8] q, float[1,2,6,8] k, float[1,2,6,8] v) => (float[1,2,4,8] y) { y = Attention(q, k, v) }", true},
      {"(float[5,2,3] x, float[1,4,3] w, float[1,4,4] r) => (float[5,1,2,4] y) { y = RNN<hidden_size = 4>(x, w, r) }",
       true},
      {"(float[4,3] x) => (float[4] y) { r = Relu(x) y = ReduceMax<keepdims = 0>(r) }", false},
  };
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
    struct graph_case c;
    graph_begin(&c, graphs[i].text, &WITH_MEAN);
    const struct graph *g = &c.model.flat;
    const struct arith exact = arith_exact(), without = run_without_factors(g, &tf32, 0);
    struct arith fp32 = tf32;
    fp32.product_bits = 53;
    bool *summed = base_calloc((size_t)g->n_values + 1, sizeof *summed);
    assert_non_null(summed);
    run_find_summed(g, summed);
    if (run_rounds_factors(g, &tf32, summed, 0) != graphs[i].rounds)
      fail_msg("%s: factors %s rounded", graphs[i].text, graphs[i].rounds ? "are not" : "are");
    assert_false(run_rounds_factors(g, &exact, summed, 0) || run_rounds_factors(g, &fp32, summed, 0));
    assert_int_equal(without.product_bits, g->nodes[0].op->factors_inside ? 11 : 53);
    base_free(summed);
    graph_end(&c);
  }
}

// Of an attention and a recurrent network the sums' own errors stay besides: the scale is a little larger.
static void test_factors_inside(void **state) {
  (void)state;
  static const char *const texts[] = {
      "(float[1,2,24,32] q, float[1,2,40,32] k, float[1,2,40,32] v) => (float[1,2,24,32] y) { y = Attention(q, k, v) }",
      "(float[24,4,16] x, float[1,32,16] w, float[1,32,32] r) => (float[24,1,4,32] y) "
      "{ y = RNN<hidden_size = 32, activations = [\"Tanh\"]>(x, w, r) }"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    struct graph_case c;
    struct kernels k;
    struct oracle_answer a;
    struct assay_error err = {0};
    const struct graph_draw small = {-0.3, 0.4, 0, 0};
    graph_begin(&c, texts[i], &small);
    kernels_make(&c, &k);
    assert_int_equal(oracle_answer_make(&c.model.flat, c.in, &tf32, PASSES, 2, &a, &err), ASSAY_OK);
    const double near = rms(&k.nearest, a.y[0].f64, a.sigma[0]), far = rms(&k.bf16, a.y[0].f64, a.sigma[0]);
    print_message("%.40s: rms %.2f to nearest, %.2f bf16\n", texts[i], near, far);
    assert_true(near > 0.2 && near < 1.5 && far > 2);
    oracle_answer_release(&a);
    kernels_release(&k);
    graph_end(&c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_errors_of_factors_add_up),
      cmocka_unit_test(test_products_alone),
      cmocka_unit_test(test_where),
      cmocka_unit_test(test_factors_inside),
  };
  return cmocka_run_group_tests_name("factors", tests, graph_open, graph_close);
}
