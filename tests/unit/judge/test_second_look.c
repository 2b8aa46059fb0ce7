// SPDX-License-Identifier: Apache-2.0
// Few elements that fail because their error scale was estimated too small. Here the answer is 2 c^2 + (b + 1) c near
// its least value: what c's error does to it vanishes, what is left are roundings to a grid that is coarse compared
// with the answer, and now and then all of eight passes hit the grid's point that the truth is nearest to. An honest
// kernel that misses it is wrong by thirty scales; with more passes it is right.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "compare/compare.h"
#include "judge/question.h"
#include "onnx/onnx.h"
#include "oracle/oracle.h"

enum { M = 1024, K = 64, N = 1024, PASSES = 8 };
static const char text[] = "g (float[M, K] x, float[K, N] w, float[M, N] h, float[1] b) => (float[M, N] y) {"
                           " d = MatMul(x, w) c = Sub(d, h) s = Add(c, b) t = Add(s, c) p = Mul(t, c) y = Add(p, c) }";

static struct array make(int64_t rows, int64_t columns) {
  struct array a;
  struct assay_error err = {0};
  const struct shape shape = {.rank = rows ? 2 : 1, .dims = {rows ? rows : columns, columns}};
  assert_int_equal(array_create(DTYPE_FLOAT, &shape, &a, &err), ASSAY_OK);
  return a;
}

// Products of about 0.1, less what makes c lie around the place of the least value.
static void draw(struct array in[4], double b) {
  struct noise n = noise_at(20, 1);
  for (int i = 0; i < M * K; i++)
    in[0].f64[i] = (float)rng_unit(noise_next(&n));
  for (int i = 0; i < K * N; i++)
    in[1].f64[i] = (float)(0.05 * (rng_unit(noise_next(&n)) - 0.5));
  for (int i = 0; i < M * N; i++) {
    double d = 0;
    for (int k = 0; k < K; k++)
      d += in[0].f64[i / N * K + k] * in[1].f64[k * N + i % N];
    in[2].f64[i] = (float)(d + (b + 1) / 4 + 1e-4 * (rng_unit(noise_next(&n)) - 0.5));
  }
  in[3].f64[0] = b;
}

// An honest kernel, with every result in single precision.
static void compute(const struct array in[4], float *y) {
  float b = (float)in[3].f64[0];
  for (int i = 0; i < M * N; i++) {
    volatile float sum = 0, s, t, p;
    for (int k = 0; k < K; k++) {
      volatile float term = (float)in[0].f64[i / N * K + k] * (float)in[1].f64[k * N + i % N];
      sum = sum + term;
    }
    volatile float c = sum - (float)in[2].f64[i];
    s = c + b;
    t = s + c;
    p = t * c;
    y[i] = p + c;
  }
}

static void a_grid(void **state) {
  (void)state;
  struct assay_error err = {0};
  struct model model;
  struct contract fp32;
  struct array in[4] = {make(M, K), make(K, N), make(M, N), make(0, 1)};
  float *got = base_calloc((size_t)M * N, sizeof *got);
  assert_int_equal(onnx_parse_graph(text, strlen(text), "grid", &model, &err), ASSAY_OK);
  assert_true(contract_by_name("fp32", &fp32));
  fp32.arith.key = 3;
  draw(in, (float)(-1 + 0.0114));
  compute(in, got);
  for (int replicas = PASSES; replicas <= QUESTION_MORE; replicas *= QUESTION_MORE / PASSES) {
    struct oracle_answer a;
    struct compare_facts facts;
    assert_int_equal(oracle_answer_make(&model.flat, in, &fp32.arith, replicas, 2, &a, &err), ASSAY_OK);
    const struct compare_input c = {.type = {DTYPE_FLOAT, a.y[0].shape},
                                    .got = got,
                                    .want = a.y[0].f64,
                                    .sigma = a.sigma[0],
                                    .u_out = 0x1p-24,
                                    .eta_out = 0x1p-149,
                                    .threads = 2};
    assert_int_equal(compare_outputs(&c, &facts, &err), ASSAY_OK);
    print_message("%d passes: %lld wrong, largest error %.1f of %.1f\n", replicas, (long long)facts.n_over, facts.z_max,
                  facts.z_limit);
    assert_int_equal(compare_verdict(&facts, COMPARE_CONTRACT) == COMPARE_PASS, replicas == QUESTION_MORE);
    assert_true(replicas == QUESTION_MORE || (facts.n_over > 0 && facts.n_over <= M * N / 4096));
    assert_true(replicas == PASSES || facts.z_max < facts.z_limit / 2);
    if (replicas == QUESTION_MORE) { // an element that is wrong stays wrong
      float honest = got[N + 1];
      got[N + 1] = (float)(a.y[0].f64[N + 1] + 2 * facts.z_limit * (double)a.sigma[0][N + 1]);
      assert_int_equal(compare_outputs(&c, &facts, &err), ASSAY_OK);
      assert_int_equal(compare_verdict(&facts, COMPARE_CONTRACT), COMPARE_WRONG_VALUE);
      assert_int_equal(facts.n_over, 1);
      got[N + 1] = honest;
    }
    oracle_answer_release(&a);
  }
  for (int i = 0; i < 4; i++)
    array_release(&in[i]);
  base_free(got);
  model_release(&model);
}

// Only errors of value that the scale may explain: at few elements, or where few draws decide.
static void what_is_doubtful(void **state) {
  (void)state;
  static const int64_t many = (int64_t)1 << 30;
  static const struct {
    struct compare_facts f;
    bool doubtful;
  } cases[] = {
      {{.n = 1000, .z_max = 3}, false}, // right
      {{.n = 1000, .n_over = 1, .z_max = 20}, true},
      {{.n = 1000, .n_over = 64, .z_max = 20}, true},
      {{.n = 1000, .n_over = 65, .z_max = 20}, false},
      {{.n = 65536, .rows = 512, .n_over = 4 * 128, .z_max = 20}, true}, // four rows of 512
      {{.n = 65536, .rows = 512, .n_over = 513, .z_max = 20}, false},
      {{.n = 65536, .rows = 32, .n_over = 65, .z_max = 20}, false},                  // of so few rows none
      {{.n = 65536, .rows = 32, .n_over = 4096, .z_max = 20, .shared = true}, true}, // but where a few sums feed all
      {{.n = 65536, .rows = 32, .n_over = 4096, .z_max = 1000, .shared = true}, false},
      {{.n = many, .n_over = 155, .z_max = 20}, true},
      {{.n = many, .n_over = 300000, .z_max = 20}, false},
      {{.n = 1000, .n_over = 1, .z_max = 1000}, false},
      {{.n = 1000, .n_over = 1, .z_max = INFINITY}, false},            // an integer
      {{.n = 1000, .n_over = 1, .z_max = 1e9, .z_near = 5}, true},     // its own scale is at its floor
      {{.n = 1000, .n_over = 1, .z_max = 1e9, .z_near = 5000}, false}, // and it is wrong
      {{.n = 1000, .n_over = 1, .n_nan_mismatch = 1, .z_max = 20}, false},
      {{.n = 1000, .n_over = 1, .n_inf_mismatch = 1, .z_max = 20}, false},
      {{.n = 1000, .n_over = 1, .n_poisoned = 1, .z_max = 20}, false},
      {{.n = 1000, .z_max = 10, .z_rms = 2}, false}, // by its root mean square, of a thousand rows
      {{.n = 8, .z_max = 10, .z_rms = 4, .few_draws = true}, true},
      {{.n = 8, .z_max = 5000, .z_rms = 4000, .n_over = 8, .few_draws = true}, false},
      {{.n = 1000, .z_max = 10, .z_rms = 9, .z_common = 8.9}, true}, // one error of all
      {{.n = 1000, .n_over = 900, .z_max = 20, .z_rms = 18, .z_common = 17.9}, false},
      {{.n = 1000, .n_over = 900, .z_max = 20, .z_rms = 18, .z_common = 17.99}, true},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    struct compare_facts f = cases[k].f;
    f.z_limit = 15;
    f.z_near = f.z_near > 0 ? f.z_near : f.z_max;
    f.z_rms_limit = 1.5;
    f.z_common_limit = 5.4;
    f.z_group_limit = 100;
    if (compare_doubtful(&f) != cases[k].doubtful)
      fail_msg("case %zu", k);
  }
}

// Under the contract's rule alone; and the checks are emptied.
static void doubtful_checks_are_dropped(void **state) {
  (void)state;
  for (int k = 0; k < 3; k++) {
    const struct assay_judge_options o = {.rule = k == 1 ? ASSAY_RULE_ALLCLOSE : ASSAY_RULE_CONTRACT};
    struct assay_check checks[2] = {
        {.reason = ASSAY_REASON_PASS, .n = 7},
        {.reason = ASSAY_REASON_WRONG_VALUE, .doubtful = k < 2, .description = base_strndup("x", 1)}};
    assert_int_equal(question_drop_doubtful(&o, checks, 2), k == 0);
    assert_int_equal(checks[0].looked_again, k == 0);
    assert_int_equal(checks[0].n, k == 0 ? 0 : 7);
    assert_int_equal(checks[1].description == NULL, k == 0);
    base_free(checks[1].description);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_grid), cmocka_unit_test(what_is_doubtful),
                                     cmocka_unit_test(doubtful_checks_are_dropped)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
