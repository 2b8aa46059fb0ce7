// SPDX-License-Identifier: Apache-2.0
// Monte Carlo arithmetic against arithmetic that is really performed in float.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ops/arith.h"

static const struct arith fp32 = {
    .bits = 24, .min_exponent = -126, .max = 0x1.fffffep127, .product_bits = 53, .block = 1};
static const struct arith bf16 = {.bits = 8, .min_exponent = -126, .max = 0x1.fep127, .product_bits = 53, .block = 1};

static void test_exact_does_nothing(void **state) {
  (void)state;
  struct arith a = {.exact = true};
  struct noise n = noise_at(1, 2);
  assert_true(arith_round(&a, &n, 0.1) == 0.1);
  assert_true(arith_round_ulps(&a, &n, 0.1, 4) == 0.1);
  assert_true(arith_sum(&a, &n, 0.1, 5, 100, true) == 0.1);
  assert_true(arith_sum_variance(&a, 0.1, 5, 100, true) == 0);
}

// Stochastic rounding: only the two neighbours, and the mean is the value.
static void test_round_is_unbiased(void **state) {
  (void)state;
  const double values[] = {1.0 / 3, -1e10 / 7, 3.7e-38, 1e-44, 0x1.000001p0};
  for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
    double x = values[v], near = (double)(float)x;
    double other = near > x ? (double)nextafterf((float)x, -INFINITY) : (double)nextafterf((float)x, INFINITY);
    double sum = 0;
    struct noise n = noise_at(7, v);
    const int trials = 20000;
    for (int i = 0; i < trials; i++) {
      double r = arith_round(&fp32, &n, x);
      assert_true(r == near || r == other);
      sum += r;
    }
    double gap = fabs(other - near);
    assert_true(fabs(sum / trials - x) < 5 * gap / 2 / sqrt(trials));
  }
}

static void test_round_keeps_what_is_representable(void **state) {
  (void)state;
  struct noise n = noise_at(3, 4);
  const double kept[] = {0.0, -0.0, 1, -1.5, 0x1p-149, 0x1.fffffep127, INFINITY, -INFINITY, 16777216};
  for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
    for (int t = 0; t < 100; t++) {
      double r = arith_round(&fp32, &n, kept[i]);
      assert_memory_equal(&r, &kept[i], sizeof r);
    }
  assert_true(isnan(arith_round(&fp32, &n, NAN)));
  assert_true(arith_round(&fp32, &n, 1e39) == INFINITY);
  assert_true(arith_round(&fp32, &n, -1e39) == -INFINITY);
}

static void test_bfloat16_grid(void **state) {
  (void)state;
  struct noise n = noise_at(3, 5);
  for (int i = 0; i < 1000; i++) {
    double r = arith_round(&bf16, &n, 1.001);
    assert_true(r == 1 || r == 1.0078125);
  }
}

static void test_round_ulps_stays_near(void **state) {
  (void)state;
  struct noise n = noise_at(9, 1);
  double worst = 0, sum2 = 0;
  int close = 0;
  const int trials = 10000;
  for (int i = 0; i < trials; i++) {
    double r = arith_round_ulps(&fp32, &n, 1.7, 2), off = (r - 1.7) / 0x1p-23;
    close += fabs(off) < 0.01;
    worst = fmax(worst, fabs(off));
    sum2 += off * off;
  }
  assert_true(worst > 1.5 && worst < 2.001);
  assert_true(close < trials / 50); // on the grid of floats a quarter of them would be next to 1.7
  assert_true(sqrt(sum2 / trials) > 0.9 && sqrt(sum2 / trials) < 1.5); // 2/sqrt(3), and the rounding
  assert_true(arith_round_ulps(&fp32, &n, 0, 2) == 0);
  assert_true(arith_round_ulps(&fp32, &n, 1e-46, 2) <= 4 * 0x1p-149);
}

static int descending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x < y) - (x > y);
}

// Moments, and the tails that sums of uniforms do not have.
static void test_normal(void **state) {
  (void)state;
  enum { N = 400000 };
  double *v = malloc(N * sizeof *v), m2 = 0, m4 = 0, mean = 0;
  assert_non_null(v);
  struct noise n = noise_at(11, 0);
  for (int i = 0; i < N; i++) {
    v[i] = noise_normal(&n);
    mean += v[i] / N;
    m2 += v[i] * v[i] / N;
    m4 += v[i] * v[i] * v[i] * v[i] / N;
  }
  assert_true(fabs(mean) < 5 / sqrt(N));
  assert_true(fabs(m2 - 1) < 5 * sqrt(2.0 / N));
  assert_true(fabs(m4 - 3) < 5 * sqrt(96.0 / N));
  qsort(v, N, sizeof *v, descending);
  for (int k = 1; k <= 4; k++) { // the share beyond k standard deviations
    double want = erfc(k / sqrt(2)) / 2 * N, got = 0;
    for (int i = 0; i < N && v[i] > k; i++)
      got++;
    assert_true(fabs(got - want) < 5 * sqrt(want) + 1);
  }
  free(v);
}

enum data { ZERO_MEAN, POSITIVE, MIXED };

static double draw(enum data kind, struct noise *n) {
  double u = rng_unit(noise_next(n));
  if (kind == POSITIVE)
    return u;
  if (kind == ZERO_MEAN)
    return noise_normal(n);
  return noise_normal(n) * exp2(rng_unit(noise_next(n)) * 16 - 8) + 0.1; // scales over five decades, and a drift
}

static void shuffle(float *v, int k, struct noise *n) {
  for (int i = k - 1; i > 0; i--) {
    int j = (int)(rng_unit(noise_next(n)) * (i + 1));
    float t = v[i];
    v[i] = v[j];
    v[j] = t;
  }
}

// The root mean square error of float sums of the same terms in random order, and the closed form's figure for it.
static void compare_sums(enum data kind, int k, struct noise *n, double *observed, double *predicted) {
  float *v = malloc((size_t)k * sizeof *v);
  assert_non_null(v);
  double y = 0, t2 = 0, e2 = 0;
  for (int i = 0; i < k; i++) {
    v[i] = (float)draw(kind, n);
    y += v[i];
    t2 += (double)v[i] * v[i];
  }
  const int trials = 200;
  for (int t = 0; t < trials; t++) {
    shuffle(v, k, n);
    float s = 0;
    for (int i = 0; i < k; i++)
      s += v[i];
    e2 += ((double)s - y) * ((double)s - y) / trials;
  }
  free(v);
  *observed = sqrt(e2);
  *predicted = sqrt(arith_sum_variance(&fp32, y, t2, k, false));
}

static void test_sum_variance_matches_real_sums(void **state) {
  (void)state;
  struct noise n = noise_at(5, 5);
  const int sizes[] = {16, 256, 4096};
  for (int kind = ZERO_MEAN; kind <= MIXED; kind++)
    for (int s = 0; s < 3; s++) {
      double observed2 = 0, predicted2 = 0;
      for (int rep = 0; rep < 10; rep++) { // several sets of terms: a single one has its own luck
        double o, p;
        compare_sums((enum data)kind, sizes[s], &n, &o, &p);
        observed2 += o * o;
        predicted2 += p * p;
      }
      double ratio = sqrt(predicted2 / observed2);
      print_message("kind %d, %d terms: predicted / observed %.2f\n", kind, sizes[s], ratio);
      assert_true(ratio > 0.8 && ratio < 2.5);
    }
}

// A plain loop over positive terms is the commonest kernel: its error must stay within a few predicted deviations.
static void test_sequential_positive_sums_are_covered(void **state) {
  (void)state;
  struct noise n = noise_at(6, 6);
  double e2 = 0, p2 = 0, worst = 0;
  for (int rep = 0; rep < 200; rep++) {
    float s = 0;
    double y = 0, t2 = 0;
    const int k = 2000;
    for (int i = 0; i < k; i++) {
      float v = (float)draw(POSITIVE, &n);
      s += v;
      y += v;
      t2 += (double)v * v;
    }
    double p = arith_sum_variance(&fp32, y, t2, k, false), e = (double)s - y;
    e2 += e * e;
    p2 += p;
    worst = fmax(worst, fabs(e) / sqrt(p));
  }
  assert_true(e2 < p2);
  assert_true(worst < 5);
}

// Errors of sums that begin with `start` and of sums to which it is added last, over random orders, and what is
// foreseen for both. Rounding the result to a float is not part of it: the last addition is left out.
static void compare_started(double start, int k, struct noise *n, double *first2, double *last2, double *predicted2) {
  float v[1024], begin = (float)start;
  double y = 0, t2 = 0;
  for (int i = 0; i < k; i++) {
    v[i] = (float)noise_normal(n);
    y += v[i];
    t2 += (double)v[i] * v[i];
  }
  const int trials = 100;
  for (int t = 0; t < trials; t++) {
    shuffle(v, k, n);
    float first = begin, last = 0;
    for (int i = 0; i < k; i++) {
      first += v[i];
      last += v[i];
    }
    *first2 += ((double)first - begin - y) * ((double)first - begin - y) / trials;
    *last2 += ((double)last - y) * ((double)last - y) / trials;
  }
  *predicted2 += arith_sum_variance_from(&fp32, begin, y, t2, k, false);
}

static void test_sums_that_begin_with_a_bias(void **state) {
  (void)state;
  struct noise n = noise_at(17, 1);
  const double starts[] = {0, 0.01, -1, 1, 10, -100, 1e5};
  for (int s = 0; s < 7; s++)
    for (int k = 16; k <= 1024; k *= 8) {
      double first2 = 0, last2 = 0, predicted2 = 0, size = sqrt(k);
      for (int rep = 0; rep < 20; rep++)
        compare_started(starts[s] * size, k, &n, &first2, &last2, &predicted2);
      double ratio = sqrt(predicted2 / fmax(first2, last2)), loose = sqrt(predicted2 / last2);
      print_message("begins with %g deviations, %d terms: foreseen / observed %.2f, of the order that errs less %.2f\n",
                    starts[s], k, ratio, loose);
      assert_true(ratio > 0.8 && ratio < 2.5);
      assert_true(fabs(starts[s]) > 0.1 || loose < 2.5); // a small bias loosens nothing
    }
  double plain = arith_sum_variance(&fp32, -3, 20, 30, true);
  assert_true(arith_sum_variance_from(&fp32, 2, -3, 20, 30, true) == plain); // the terms undo it: added last
  assert_true(arith_sum_variance_from(&fp32, 0, -3, 20, 30, true) == plain);
  assert_true(arith_sum_variance_from(&fp32, INFINITY, -3, 20, 30, true) == plain);
  assert_true(arith_sum_variance_from(&fp32, NAN, -3, 20, 30, true) == plain);
  assert_true(arith_sum_variance_from(&fp32, 2, 3, 20, 30, true) > plain);
}

static void test_window_over_the_border(void **state) {
  (void)state;
  double t2 = 6, k = 4;
  arith_complete_window(12, &t2, &k);
  assert_true(t2 == 18 && k == 12);
  arith_complete_window(12, &t2, &k); // complete
  assert_true(t2 == 18 && k == 12);
  t2 = k = 0;
  arith_complete_window(12, &t2, &k); // nothing of it inside
  assert_true(t2 == 0 && k == 0);
}

static void test_sum_of_few(void **state) {
  (void)state;
  assert_true(arith_sum_variance(&fp32, 3, 9, 1, false) == 0); // one term: nothing is added
  assert_true(arith_sum_variance(&fp32, 3, 9, 0, false) == 0);
  struct noise n = noise_at(8, 8);
  assert_true(arith_sum(&fp32, &n, 3, 9, 1, false) == 3);
  assert_true(isnan(arith_sum(&fp32, &n, NAN, 9, 4, false)));
  assert_true(arith_sum(&fp32, &n, INFINITY, INFINITY, 4, false) == INFINITY);
  assert_true(arith_sum(&fp32, &n, 0, 0, 4, false) == 0);
}

static double to_eleven_bits(double x) {
  int e;
  double m = frexp(x, &e);
  return ldexp(rint(m * 2048), e - 11);
}

// Rounded inputs of products (tf32 here): against products that are really taken of rounded inputs.
static void test_product_rounding(void **state) {
  (void)state;
  struct arith tf32 = fp32;
  tf32.product_bits = 11;
  struct noise n = noise_at(12, 1);
  double e2 = 0, p2 = 0;
  for (int rep = 0; rep < 500; rep++) {
    double y = 0, t2 = 0, rounded = 0;
    const int k = 64;
    for (int i = 0; i < k; i++) {
      double a = noise_normal(&n), b = noise_normal(&n);
      y += a * b;
      t2 += a * b * a * b;
      rounded += to_eleven_bits(a) * to_eleven_bits(b);
    }
    e2 += (rounded - y) * (rounded - y);
    p2 += arith_sum_variance(&tf32, y, t2, k, true);
  }
  double ratio = sqrt(p2 / e2);
  print_message("rounded products: predicted / observed %.2f\n", ratio);
  assert_true(ratio > 0.7 && ratio < 2.5);
}

static void test_blocks_divide_the_variance(void **state) {
  (void)state;
  struct arith tensor_core = fp32;
  tensor_core.block = 16;
  double one = arith_sum_variance(&fp32, 10, 1000, 1000, false);
  assert_true(one > 0);
  double blocked = arith_sum_variance(&tensor_core, 10, 1000, 1000, false);
  assert_true(fabs(blocked * 16 - one) < 1e-12 * one);
}

// Eight terms and the sum so far, aligned with the largest of them, cut off 25 bits below its leading one, and their
// sum cut off to a float: what docs/numerics.md found tensor cores to do.
static double tensor_core_step(double sum, const double *terms) {
  double largest = fabs(sum);
  int scale, exponent;
  for (int i = 0; i < 8; i++)
    largest = fmax(largest, fabs(terms[i]));
  frexp(largest, &scale);
  double total = trunc(ldexp(sum, 26 - scale));
  for (int i = 0; i < 8; i++)
    total += trunc(ldexp(terms[i], 26 - scale));
  total = ldexp(total, scale - 26);
  frexp(total, &exponent);
  return ldexp(trunc(ldexp(total, 24 - exponent)), exponent - 24);
}

// Root mean square of the errors of sums of k products, in units of what the arithmetic foresees.
static double cut_off_error(const struct arith *a, int k, bool positive, struct noise *n) {
  double z2 = 0;
  for (int rep = 0; rep < 100; rep++) {
    double terms[8], y = 0, t2 = 0, sum = 0;
    for (int i = 0; i < k; i++) {
      double term = positive ? rng_unit(noise_next(n)) * rng_unit(noise_next(n)) : noise_normal(n) * noise_normal(n);
      terms[i % 8] = term;
      y += term;
      t2 += term * term;
      if (i % 8 == 7)
        sum = tensor_core_step(sum, terms);
    }
    z2 += (sum - y) * (sum - y) / arith_sum_variance(a, y, t2, k, true);
  }
  return sqrt(z2 / 100);
}

// One rounding of each sum explains honest sums of a tensor core no longer when they are long; the contracts that allow
// tensor cores do at every length, without allowing much more.
static void test_sums_that_are_cut_off(void **state) {
  (void)state;
  struct noise n = noise_at(15, 1);
  struct arith cut = fp32;
  cut.cut_bits = 26;
  assert_true(arith_sum_variance(&cut, 10, 1000, 1000, false) == arith_sum_variance(&fp32, 10, 1000, 1000, false));
  for (int positive = 0; positive < 2; positive++)
    for (int k = 64; k <= 8192; k *= 4) {
      double rms = cut_off_error(&cut, k, positive, &n), strict = cut_off_error(&fp32, k, positive, &n);
      print_message("k %4d, %s: %.2f with cut_bits, %.2f without\n", k, positive ? "positive" : "zero mean", rms,
                    strict);
      assert_true(rms < 1.2 && (rms > 0.1 || k < 1024));
      assert_true(k < 4096 || strict > 3);
    }
}

// What arith_sum returns scatters as its variance says.
static void test_sum_scatters_as_promised(void **state) {
  (void)state;
  struct noise n = noise_at(13, 1);
  double e2 = 0, y = 12.3, t2 = 40, k = 5000;
  const int trials = 20000;
  for (int i = 0; i < trials; i++) {
    double e = arith_sum(&fp32, &n, y, t2, k, false) - y;
    e2 += e * e / trials;
  }
  double want = arith_sum_variance(&fp32, y, t2, k, false);
  assert_true(e2 > 0.9 * want && e2 < 1.2 * want);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exact_does_nothing),
      cmocka_unit_test(test_round_is_unbiased),
      cmocka_unit_test(test_round_keeps_what_is_representable),
      cmocka_unit_test(test_bfloat16_grid),
      cmocka_unit_test(test_round_ulps_stays_near),
      cmocka_unit_test(test_normal),
      cmocka_unit_test(test_sum_variance_matches_real_sums),
      cmocka_unit_test(test_sums_that_begin_with_a_bias),
      cmocka_unit_test(test_sequential_positive_sums_are_covered),
      cmocka_unit_test(test_window_over_the_border),
      cmocka_unit_test(test_sum_of_few),
      cmocka_unit_test(test_product_rounding),
      cmocka_unit_test(test_blocks_divide_the_variance),
      cmocka_unit_test(test_sums_that_are_cut_off),
      cmocka_unit_test(test_sum_scatters_as_promised),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
