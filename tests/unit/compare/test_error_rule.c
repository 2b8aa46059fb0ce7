// SPDX-License-Identifier: Apache-2.0
// modules: compare ops
// The error rule as a whole, on simulated kernels: dot products of K terms, M x N of them, in single precision under a
// strict fp32 contract. Honest ways to add must pass; every cheaper precision and every skipped term must not. The
// oracle takes no part: the truth is a plain loop in double, the scale is the formula of ops/arith.h.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/parallel.h"
#include "base/rng.h"
#include "compare/compare.h"
#include "ops/arith.h"

enum { M = 40, N = 48, MAX_K = 8192 };

enum data { NORMAL, UNIFORM, SMALL, N_DATA };
static const char *const DATA_NAMES[] = {"randn", "U(0,1)", "1e-3 randn"};

static const struct arith FP32 = {
    .bits = 24, .min_exponent = -126, .max = 0x1.fffffep127, .product_bits = 53, .block = 1};

struct problem {
  int k;
  enum data data;
  float *x, *w; // [M][k] and [N][k]
  double want[M * N];
  float sigma[M * N];
  float got[M * N];
};

static void fill(float *x, int64_t n, enum data data, uint64_t key) {
  struct noise noise = noise_at(key, 0);
  for (int64_t i = 0; i < n; i++)
    x[i] = (float)(data == UNIFORM ? rng_unit(noise_next(&noise)) : noise_normal(&noise) * (data == SMALL ? 1e-3 : 1));
}

static void problem_init(struct problem *p, int k, enum data data) {
  p->k = k;
  p->data = data;
  p->x = malloc(sizeof(float) * (size_t)(M * k));
  p->w = malloc(sizeof(float) * (size_t)(N * k));
  fill(p->x, (int64_t)M * k, data, 11);
  fill(p->w, (int64_t)N * k, data, 12);
  for (int i = 0; i < M * N; i++) {
    double y = 0, t2 = 0;
    for (int j = 0; j < k; j++) {
      double t = (double)p->x[i / N * k + j] * (double)p->w[i % N * k + j];
      y += t;
      t2 += t * t;
    }
    p->want[i] = y;
    p->sigma[i] = (float)sqrt(arith_sum_variance(&FP32, y, t2, k, true));
  }
}

static void problem_release(struct problem *p) {
  free(p->x);
  free(p->w);
}

// x rounded to nearest with so many significand bits.
static float rounded(float x, int bits) {
  int e;
  double m = frexp((double)x, &e);
  return (float)ldexp(nearbyint(ldexp(m, bits)), e - bits);
}

// ---- kernels: one dot product each

typedef float dot(const float *x, const float *w, int k);

static float sequential(const float *x, const float *w, int k) {
  float s = 0;
  for (int j = 0; j < k; j++)
    s += x[j] * w[j];
  return s;
}

static float backwards(const float *x, const float *w, int k) {
  float s = 0;
  for (int j = k; j-- > 0;)
    s += x[j] * w[j];
  return s;
}

static float fused(const float *x, const float *w, int k) {
  float s = 0;
  for (int j = 0; j < k; j++) // the product of two floats is exact in double
    s = (float)((double)x[j] * (double)w[j] + (double)s);
  return s;
}

static float blocked(const float *x, const float *w, int k) {
  float lanes[32] = {0}, s = 0;
  for (int j = 0; j < k; j++)
    lanes[j % 32] += x[j] * w[j];
  for (int l = 0; l < 32; l++)
    s += lanes[l];
  return s;
}

static float split_k(const float *x, const float *w, int k) {
  float s = 0;
  for (int part = 0; part < 4; part++)
    s += sequential(x + part * k / 4, w + part * k / 4, k / 4);
  return s;
}

static float pairwise(const float *x, const float *w, int k) {
  return k == 1 ? x[0] * w[0] : pairwise(x, w, k / 2) + pairwise(x + k / 2, w + k / 2, k - k / 2);
}

static float with_inputs(const float *x, const float *w, int k, int bits) {
  double s = 0;
  for (int j = 0; j < k; j++)
    s += (double)rounded(x[j], bits) * (double)rounded(w[j], bits);
  return (float)s;
}

static float tf32_inputs(const float *x, const float *w, int k) {
  return with_inputs(x, w, k, 11); // float16, too, where its range suffices
}

static float bf16_inputs(const float *x, const float *w, int k) {
  return with_inputs(x, w, k, 8);
}

static float fp16_accumulation(const float *x, const float *w, int k) {
  float s = 0;
  for (int j = 0; j < k; j++)
    s = rounded(s + x[j] * w[j], 11);
  return s;
}

static float bf16_result(const float *x, const float *w, int k) {
  return rounded(pairwise(x, w, k), 8);
}

static float last_term_dropped(const float *x, const float *w, int k) {
  return pairwise(x, w, k - 1);
}

static float zeros(const float *x, const float *w, int k) {
  (void)x, (void)w, (void)k;
  return 0;
}

static const struct kernel {
  const char *name;
  dot *dot;
  bool honest;
} KERNELS[] = {
    {"sequential", sequential, true},
    {"backwards", backwards, true},
    {"fused", fused, true},
    {"32 lanes", blocked, true},
    {"split-k", split_k, true},
    {"pairwise", pairwise, true},
    {"tf32 inputs", tf32_inputs, false},
    {"bf16 inputs", bf16_inputs, false},
    {"fp16 accumulation", fp16_accumulation, false},
    {"bf16 result", bf16_result, false},
    {"last term dropped", last_term_dropped, false},
    {"zeros", zeros, false},
};

static bool verbose; // set by main alone: print the whole table, not only the mistakes

struct run {
  struct problem *p;
  const struct kernel *kernel;
};

static void run_range(void *arg, int64_t begin, int64_t end) {
  const struct run *r = arg;
  for (int64_t i = begin; i < end; i++)
    r->p->got[i] = r->kernel->dot(r->p->x + i / N * r->p->k, r->p->w + i % N * r->p->k, r->p->k);
}

static void judge(struct problem *p, struct compare_facts *f) {
  struct compare_input in = {.type = {DTYPE_FLOAT, shape_of(2, (const int64_t[]){M, N})},
                             .got = p->got,
                             .want = p->want,
                             .sigma = p->sigma,
                             .u_out = 0x1p-24,
                             .eta_out = 0x1p-149,
                             .rtol = 1e-2,
                             .atol = 1e-2,
                             .threads = 1};
  assert_int_equal(compare_outputs(&in, f, NULL), ASSAY_OK);
}

static int mistakes(struct problem *p) {
  int wrong = 0;
  for (size_t i = 0; i < sizeof KERNELS / sizeof *KERNELS; i++) {
    struct run r = {p, &KERNELS[i]};
    struct compare_facts f;
    parallel_for(parallel_cpus(), M * N, 16, run_range, &r);
    judge(p, &f);
    bool pass = compare_verdict(&f, COMPARE_CONTRACT) == COMPARE_PASS;
    bool mistake = pass != KERNELS[i].honest;
    if (verbose || mistake)
      print_message("%-10s K=%-5d %-18s z max %9.3g of %.3g, rms %9.3g of %.3g: %s, allclose 1e-2 %s %s\n",
                    DATA_NAMES[p->data], p->k, KERNELS[i].name, f.z_max, f.z_limit, f.z_rms, f.z_rms_limit,
                    pass ? "pass" : "FAIL", f.n_allclose_bad ? "FAIL" : "pass", f.hint_text);
    wrong += mistake;
  }
  return wrong;
}

// Softmax and division by the norm of everything: each row, or the whole tensor, shares the error of one long sum, so
// that the root mean square is that of a few draws. Such kernels are honest and must pass every time.
static void sums_that_feed_many(void **state) {
  (void)state;
  static const int rows[] = {1, 3, 64};
  enum { LENGTH = 1000, TRIALS = 200 };
  static double want[64 * LENGTH];
  static float got[64 * LENGTH], sigma[64 * LENGTH];
  const double u = 0x1p-24;
  for (int t = 0; t < TRIALS; t++) {
    int n_rows = rows[t % 3];
    for (int r = 0; r < n_rows; r++) {
      struct noise noise = noise_at((uint64_t)t, (uint64_t)r);
      double sum = 0, t2 = 0;
      float single = 0;
      for (int i = 0; i < LENGTH; i++) {
        float x = (float)noise_normal(&noise);
        double e = exp((double)x);
        sum += e;
        t2 += e * e;
        want[r * LENGTH + i] = e;
        got[r * LENGTH + i] = expf(x);
        single += got[r * LENGTH + i];
      }
      // First order: the exponential's rounding, and the sum's error relative to the sum.
      double scale = sqrt(u * u * 2 / 3 + arith_sum_variance(&FP32, sum, t2, LENGTH, false) / (sum * sum));
      for (int i = r * LENGTH; i < (r + 1) * LENGTH; i++) {
        want[i] /= sum;
        got[i] /= single;
        sigma[i] = (float)(scale * want[i]);
      }
    }
    struct compare_input in = {.type = {DTYPE_FLOAT, shape_of(2, (const int64_t[]){n_rows, LENGTH})},
                               .got = got,
                               .want = want,
                               .sigma = sigma,
                               .u_out = u,
                               .eta_out = 0x1p-149,
                               .threads = 1};
    struct compare_facts f;
    assert_int_equal(compare_outputs(&in, &f, NULL), ASSAY_OK);
    if (compare_verdict(&f, COMPARE_CONTRACT) != COMPARE_PASS)
      fail_msg("trial %d, %d rows: z max %g, rms %g of %g, common %g, row %g of %g", t, n_rows, f.z_max, f.z_rms,
               f.z_rms_limit, f.z_common, f.z_row_rms, f.z_group_limit);
  }
}

static void dot_products(void **state) {
  (void)state;
  static const int sizes[] = {64, 1024, MAX_K};
  static struct problem p;
  int wrong = 0;
  for (int d = 0; d < N_DATA; d++)
    for (int i = 0; i < 3; i++) {
      problem_init(&p, sizes[i], (enum data)d);
      wrong += mistakes(&p);
      problem_release(&p);
    }
  assert_int_equal(wrong, 0);
}

int main(int argc, char **argv) {
  verbose = argc > 1 && strcmp(argv[1], "--table") == 0;
  const struct CMUnitTest tests[] = {cmocka_unit_test(dot_products), cmocka_unit_test(sums_that_feed_many)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
