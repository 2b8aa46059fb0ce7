// SPDX-License-Identifier: Apache-2.0
// link: -Wl,--wrap=base_realloc
// modules: onnx oracle
// The oracle as a whole: evaluation, shape inference with symbols, the error scale, failing memory.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "onnx/onnx.h"
#include "oracle/oracle.h"
#include "oracle/run.h"

static long fail_after = -1; // allocations that still succeed; -1: all

void *__real_base_realloc(void *p, size_t n);
void *__wrap_base_realloc(void *p, size_t n);
void *__wrap_base_realloc(void *p, size_t n) {
  if (fail_after == 0)
    return NULL;
  if (fail_after > 0)
    fail_after--;
  return __real_base_realloc(p, n);
}

static struct arith fp32(uint64_t key) {
  return (struct arith){
      .bits = 24, .min_exponent = -126, .max = 0x1.fffffep127, .product_bits = 53, .block = 1, .key = key};
}

static void parse(const char *text, struct model *m) {
  struct assay_error err = {0};
  if (onnx_parse_graph(text, strlen(text), "test", m, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
}

static struct array make(int rank, const int64_t *dims, double (*value)(int64_t i)) {
  struct array a;
  struct shape s = shape_of(rank, dims);
  struct assay_error err = {0};
  assert_int_equal(array_create(DTYPE_FLOAT, &s, &a, &err), ASSAY_OK);
  for (int64_t i = 0; i < shape_count(&s); i++)
    a.f64[i] = (double)(float)value(i);
  return a;
}

static double wave(int64_t i) {
  return sin((double)i * 0.7) + 0.25;
}

static double huge(int64_t i) {
  return i % 2 ? 1e30 : -1e30;
}

static void test_values(void **state) {
  (void)state;
  struct model m;
  struct assay_error err = {0};
  struct array y;
  parse("(float[2,3] x, float[3] b) => (float[2,3] y) { s = Add(x, b)\n r = Relu(s)\n y = Mul(r, r) }", &m);
  struct array in[] = {make(2, (int64_t[]){2, 3}, wave), make(1, (int64_t[]){3}, wave)};
  struct oracle_request r = {.graph = &m.flat, .inputs = in, .arith = arith_exact(), .threads = 2};
  assert_int_equal(oracle_eval(&r, &y, &err), ASSAY_OK);
  for (int i = 0; i < 6; i++) {
    double s = fmax(in[0].f64[i] + in[1].f64[i % 3], 0);
    assert_true(y.f64[i] == s * s);
  }
  array_release(&y);
  array_release(&in[0]);
  array_release(&in[1]);
  model_release(&m);
}

static void test_symbols(void **state) {
  (void)state;
  struct model m;
  struct assay_error err = {0};
  struct arena arena = {0};
  struct graph_shapes shapes;
  parse("(float[N,K] a, float[K,N] b) => (float[N,N] y) { y = MatMul(a, b) }", &m);
  struct array in[2] = {{.dtype = DTYPE_FLOAT, .shape = shape_of(2, (int64_t[]){4, 5})},
                        {.dtype = DTYPE_FLOAT, .shape = shape_of(2, (int64_t[]){5, 4})}};
  assert_int_equal(oracle_infer(&m.flat, in, &arena, &shapes, &err), ASSAY_OK);
  assert_true(shapes.cost.contraction_flops == 2.0 * 4 * 4 * 5);
  in[1].shape.dims[1] = 3; // N is 4 already
  assert_int_equal(oracle_infer(&m.flat, in, &arena, &shapes, &err), ASSAY_ERR_INVALID);
  assert_non_null(strstr(err.message, "N"));
  in[1].dtype = DTYPE_INT64;
  assert_int_equal(oracle_infer(&m.flat, in, &arena, &shapes, &err), ASSAY_ERR_INVALID);
  arena_release(&arena);
  model_release(&m);
}

// A value that is an output twice, an input that is an output, and a constant that is one.
static void test_outputs_shared(void **state) {
  (void)state;
  struct model m;
  struct assay_error err = {0};
  struct array y[3];
  parse("(float[3] x) => (float[3] a, float[3] b) <float[3] c = {1, 2, 3}> { a = Add(x, c)\n b = Identity(x) }", &m);
  struct array x = make(1, (int64_t[]){3}, wave);
  struct oracle_request r = {.graph = &m.flat, .inputs = &x, .arith = arith_exact(), .threads = 1};
  assert_int_equal(oracle_eval(&r, y, &err), ASSAY_OK);
  assert_true(y[1].f64[2] == x.f64[2] && y[0].f64[2] == x.f64[2] + 3);
  assert_true(y[1].f64 != x.f64);
  array_release(&y[0]);
  array_release(&y[1]);
  array_release(&x);
  model_release(&m);
}

static void test_threads_do_not_matter(void **state) {
  (void)state;
  struct model m;
  struct assay_error err = {0};
  struct oracle_answer a, b;
  struct arith contract = fp32(7);
  parse("(float[64,96] x) => (float[64,96] y) { s = Softmax(x)\n y = Gelu(s) }", &m);
  struct array x = make(2, (int64_t[]){64, 96}, wave);
  assert_int_equal(oracle_answer_make(&m.flat, &x, &contract, 8, 1, &a, &err), ASSAY_OK);
  assert_int_equal(oracle_answer_make(&m.flat, &x, &contract, 8, 4, &b, &err), ASSAY_OK);
  assert_memory_equal(a.y[0].f64, b.y[0].f64, 64 * 96 * sizeof(double));
  assert_memory_equal(a.sigma[0], b.sigma[0], 64 * 96 * sizeof(float));
  assert_true(a.representable);
  oracle_answer_release(&a);
  oracle_answer_release(&b);
  array_release(&x);
  model_release(&m);
}

// Where nothing is rounded, no pass is run: the scale is the rounding of the result, exactly. One node that rounds, and
// it is more.
static void test_nothing_is_rounded(void **state) {
  (void)state;
  const char *texts[] = {"(float[64,96] x) => (float[96,64] y) { s = Relu(x)\n y = Transpose<perm = [1, 0]>(s) }",
                         "(float[64,96] x) => (float[64,96] y) { s = Relu(x)\n y = Mul(s, s) }"};
  struct array x = make(2, (int64_t[]){64, 96}, wave);
  for (int rounds = 0; rounds < 2; rounds++) {
    struct model m;
    struct assay_error err = {0};
    struct oracle_answer a;
    struct arith contract = fp32(5);
    int more = 0;
    parse(texts[rounds], &m);
    assert_int_equal(oracle_answer_make(&m.flat, &x, &contract, 8, 2, &a, &err), ASSAY_OK);
    assert_true(a.representable);
    for (int i = 0; i < 64 * 96; i++)
      more += a.sigma[0][i] != (float)ldexp(fabs(a.y[0].f64[i]), -24);
    assert_true(rounds ? more > 0 : more == 0);
    oracle_answer_release(&a);
    model_release(&m);
  }
  array_release(&x);
}

// The scale that passes sample is the closed form's, within what 64 passes can say.
static void test_closed_form(void **state) {
  (void)state;
  struct model m;
  struct assay_error err = {0};
  struct oracle_answer closed, sampled;
  struct arith contract = fp32(3);
  // The Neg keeps the second graph from having a closed form.
  const char *texts[] = {"(float[40,800] a, float[800,160] b) => (float[40,160] y) { y = MatMul(a, b) }",
                         "(float[40,800] a, float[800,160] b) => (float[40,160] y) { s = MatMul(a, b)\n y = Neg(s) }"};
  struct array in[] = {make(2, (int64_t[]){40, 800}, wave), make(2, (int64_t[]){800, 160}, wave)};
  parse(texts[0], &m);
  assert_int_equal(oracle_answer_make(&m.flat, in, &contract, 16, 2, &closed, &err), ASSAY_OK);
  model_release(&m);
  parse(texts[1], &m);
  assert_int_equal(oracle_answer_make(&m.flat, in, &contract, 16, 2, &sampled, &err), ASSAY_OK);
  model_release(&m);
  double ratio = 0;
  int64_t n = 40 * 160;
  for (int64_t i = 0; i < n; i++) {
    assert_true(fabs(closed.y[0].f64[i] + sampled.y[0].f64[i]) <= 1e-10 * 800);
    ratio += (double)sampled.sigma[0][i] / (double)closed.sigma[0][i] / (double)n;
  }
  assert_true(ratio > 0.8 && ratio < 1.25);
  oracle_answer_release(&closed);
  oracle_answer_release(&sampled);
  array_release(&in[0]);
  array_release(&in[1]);
}

// What really performed float arithmetic gets wrong must be of the scale's size: a naive softmax, element by element.
static void test_scale_fits_float(void **state) {
  (void)state;
  enum { ROWS = 50, N = 333 };
  struct model m;
  struct assay_error err = {0};
  struct oracle_answer a;
  struct arith contract = fp32(11);
  double sum_z2 = 0, worst = 0;
  parse("(float[50,333] x) => (float[50,333] y) { y = Softmax(x) }", &m);
  struct array x = make(2, (int64_t[]){ROWS, N}, wave);
  for (int64_t i = 0; i < ROWS * N; i++)
    x.f64[i] = (double)(float)(10 * x.f64[i]);
  assert_int_equal(oracle_answer_make(&m.flat, &x, &contract, 16, 2, &a, &err), ASSAY_OK);
  for (int r = 0; r < ROWS; r++) {
    const double *row = x.f64 + r * N;
    float max = -INFINITY, total = 0, e[N];
    for (int j = 0; j < N; j++)
      max = fmaxf(max, (float)row[j]);
    for (int j = 0; j < N; j++)
      total += e[j] = expf((float)row[j] - max);
    for (int j = 0; j < N; j++) {
      double z = ((double)(e[j] / total) - a.y[0].f64[r * N + j]) / (double)a.sigma[0][r * N + j];
      sum_z2 += z * z;
      worst = fmax(worst, fabs(z));
    }
  }
  double rms = sqrt(sum_z2 / (ROWS * N));
  assert_true(rms < 1.5 && rms > 0.1);
  assert_true(worst < 7);
  oracle_answer_release(&a);
  array_release(&x);
  model_release(&m);
}

// Squares of 1e30 do not fit float: no straightforward implementation survives, and the answer says so.
static void test_not_representable(void **state) {
  (void)state;
  struct model m;
  struct assay_error err = {0};
  struct oracle_answer a;
  struct arith contract = fp32(5);
  parse("(float[8] x) => (float[8] y) { s = Mul(x, x)\n y = Sqrt(s) }", &m);
  struct array x = make(1, (int64_t[]){8}, huge);
  assert_int_equal(oracle_answer_make(&m.flat, &x, &contract, 4, 1, &a, &err), ASSAY_OK);
  assert_false(a.representable);
  oracle_answer_release(&a);
  array_release(&x);
  model_release(&m);
}

static void test_failing_memory(void **state) {
  (void)state;
  struct model m;
  struct assay_error err = {0};
  struct arith contract = fp32(5);
  parse("(float[2,3,8] x, float[4,3,3] w) => (float y) <float[1] one = {1}> { c = Conv(x, w)\n s = Softmax(c)\n"
        " t = Add(s, one)\n y = ReduceMean<keepdims = 0>(t) }",
        &m);
  struct array in[] = {make(3, (int64_t[]){2, 3, 8}, wave), make(3, (int64_t[]){4, 3, 3}, wave)};
  enum assay_status status = ASSAY_ERR_NOMEM;
  long allowed = 0;
  for (; status == ASSAY_ERR_NOMEM && allowed < 10000; allowed++) {
    struct oracle_answer a;
    fail_after = allowed;
    status = oracle_answer_make(&m.flat, in, &contract, 2, 1, &a, &err);
    fail_after = -1;
    if (status == ASSAY_OK)
      oracle_answer_release(&a);
  }
  assert_int_equal(status, ASSAY_OK);
  assert_true(allowed > 20);
  array_release(&in[0]);
  array_release(&in[1]);
  model_release(&m);
}

static double two_hundreds(int64_t i) {
  return 200 * sin((double)i);
}

static bool is_representable(const char *text, double (*value)(int64_t i)) {
  struct model m;
  struct assay_error err = {0};
  struct oracle_answer a;
  struct arith contract = fp32(5);
  parse(text, &m);
  struct array x = make(1, (int64_t[]){8}, value);
  if (oracle_answer_make(&m.flat, &x, &contract, 4, 2, &a, &err) != ASSAY_OK)
    fail_msg("%s: %s", text, err.message);
  assert_string_equal(err.message, "");
  bool representable = a.representable;
  oracle_answer_release(&a);
  array_release(&x);
  model_release(&m);
  return representable;
}

// One output of a text with one input of eight numbers, as whole numbers.
static void check_cast(const char *text, double (*value)(int64_t i), const int64_t want[8]) {
  struct model m;
  struct assay_error err = {0};
  struct array y;
  parse(text, &m);
  struct array x = make(1, (int64_t[]){8}, value);
  struct oracle_request r = {.graph = &m.flat, .inputs = &x, .arith = arith_exact(), .threads = 2};
  if (oracle_eval(&r, &y, &err) != ASSAY_OK)
    fail_msg("%s: %s", text, err.message);
  for (int i = 0; i < 8; i++)
    if (y.i64[i] != want[i])
      fail_msg("%s: element %d is %lld, not %lld", text, i, (long long)y.i64[i], (long long)want[i]);
  array_release(&y);
  array_release(&x);
  model_release(&m);
}

static double three_to_ten(int64_t i) {
  return (double)i + 3;
}

static double whole_and_large(int64_t i) {
  return (double)i + 0x1p24;
}

// GELU of 6 is 5.99999999, which single precision does not tell from 6, and that of 5 is 4.9999986, which it does.
static void test_cast_of_single(void **state) {
  (void)state;
  check_cast("(float[8] x) => (int8[8] y) { g = Gelu(x) y = Cast<to = 3>(g) }", three_to_ten,
             (int64_t[]){2, 3, 4, 6, 7, 8, 9, 10});
  check_cast("(float[8] x) => (int8[8] y) { d = Cast<to = 11>(x) g = Gelu(d) y = Cast<to = 3>(g) }", three_to_ten,
             (int64_t[]){2, 3, 4, 5, 6, 7, 9, 10});
  check_cast("(float[8] x) => (bool[8] y) <float one = {1.0}, float little = {1e-40}> "
             "{ z = Mul(x, little) s = Mul(z, little) y = Cast<to = 9>(s) }",
             three_to_ten, (int64_t[]){1, 1, 1, 1, 1, 1, 1, 1});
  check_cast("(float[8] x) => (int64[8] y) <float one = {1.0}> { s = Add(x, one) y = Cast<to = 7>(s) }",
             whole_and_large,
             (int64_t[]){16777217, 16777217, 16777219, 16777221, 16777221, 16777221, 16777223, 16777225});
}

// What a cast makes of 200 as an int8, or of a NaN, is 127 or -56, the smallest number or 0: no kernel is asked for it.
static void test_open_casts(void **state) {
  (void)state;
  static const char *const cast = "(float[8] x) => (int8[8] y) { y = Cast<to = 3>(x) }";
  assert_true(is_representable(cast, wave));
  assert_false(is_representable(cast, two_hundreds));
  assert_false(is_representable("(float[8] x) => (uint8[8] y) { y = Cast<to = 2>(x) }", two_hundreds)); // below zero
  assert_true(is_representable("(float[8] x) => (int16[8] y) { y = Cast<to = 5>(x) }", two_hundreds));
  assert_false(is_representable("(float[8] x) => (int64[8] y) { y = Cast<to = 7>(x) }", huge));
  assert_false(
      is_representable("(float[8] x) => (float[8] y) { i = Cast<to = 3>(x) y = Cast<to = 1>(i) }", two_hundreds));
  assert_false(
      is_representable("(float[8] x) => (int32[8] y) { l = Log(x) y = Cast<to = 6>(l) }", two_hundreds)); // NaN
  assert_true(is_representable("(float[8] x) => (bool[8] y) { y = Cast<to = 9>(x) }", huge));
  // Where nothing depends on it.
  assert_true(
      is_representable("(float[8] x) => (float[8] y) <float low = {-127}, float high = {127}> "
                       "{ i = Cast<to = 3>(x) f = Cast<to = 1>(i) a = Less(x, high) b = Less(low, x) c = And(a, b) "
                       "y = Where(c, f, x) }",
                       two_hundreds));
  // The NaNs' index is in the table, or not.
  assert_false(is_representable("(float[8] x) => (float[8] y) { z = Sub(x, x) n = Div(z, z) u = Cast<to = 2>(n) "
                                "i = Cast<to = 7>(u) y = Gather(x, i) }",
                                two_hundreds));
}

// Only those are open, so that an answer is made twice more for them alone: not for casts of truths and whole numbers.
static void test_casts_to_integers(void **state) {
  (void)state;
  static const struct {
    const char *text;
    bool any;
  } cases[] = {
      {"(float[8] x) => (int8[8] y) { y = Cast<to = 3>(x) }", true},
      {"(float[8] x) => (float[8] y) { i = Cast<to = 6>(x) y = Cast<to = 1>(i) }", true},
      {"(float[8] x) => (float[8] y) { y = Cast<to = 1>(x) }", false},
      {"(float[8] x) => (bool[8] y) { y = Cast<to = 9>(x) }", false},
      {"(float[8] x) => (int32[8] y) { b = Less(x, x) y = Cast<to = 6>(b) }", false},
      {"(int32[8] x) => (int8[8] y) { y = Cast<to = 3>(x) }", false},
      {"(int32[8] x) => (int8[8] y) { f = Cast<to = 1>(x) y = Cast<to = 3>(f) }", true},
      {"(float[8] x) => (int32[8] y) <int32 like = {1}> { b = Less(x, x) y = CastLike(b, like) }", false},
      {"(float[8] x) => (int32[8] y) <int32 like = {1}> { y = CastLike(x, like) }", true},
      {"(float[8] x) => (y) { b = Less(x, x) i = Cast<to = 7>(b) y = ConstantOfShape(i) }", true}, // nobody knows
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct model m;
    parse(cases[i].text, &m);
    const struct array x = {.dtype = m.flat.values[m.flat.inputs[0]].dtype, .shape = {.rank = 1, .dims = {8}}};
    if (run_casts_to_integers(&m.flat, &x) != cases[i].any)
      fail_msg("%s", cases[i].text);
    model_release(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_values),
      cmocka_unit_test(test_symbols),
      cmocka_unit_test(test_outputs_shared),
      cmocka_unit_test(test_threads_do_not_matter),
      cmocka_unit_test(test_nothing_is_rounded),
      cmocka_unit_test(test_closed_form),
      cmocka_unit_test(test_scale_fits_float),
      cmocka_unit_test(test_not_representable),
      cmocka_unit_test(test_open_casts),
      cmocka_unit_test(test_casts_to_integers),
      cmocka_unit_test(test_cast_of_single),
      cmocka_unit_test(test_failing_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
