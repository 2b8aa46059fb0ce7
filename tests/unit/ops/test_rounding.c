// SPDX-License-Identifier: Apache-2.0
// Roundings of many numbers at once against one after the other: the same bits, and the source where it was left.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ops/rounding.h"

static const struct arith formats[] = {
    {.bits = 24, .min_exponent = -126, .max = 0x1.fffffep127, .product_bits = 53, .block = 1},
    {.bits = 11, .min_exponent = -14, .max = 65504, .product_bits = 53, .block = 1},
    {.bits = 8, .min_exponent = -126, .max = 0x1.fep127, .product_bits = 53, .block = 1},
    {.bits = 53, .min_exponent = -1022, .max = 0x1.fffffffffffffp1023, .product_bits = 53, .block = 1},
    {.exact = true},
};

enum { MOST = 700 };

// Ordinary numbers; with `odd`, one in so many is zero, subnormal, near the format's ends, infinite or NaN.
static void fill(double *v, int n, uint64_t seed, unsigned odd) {
  static const double others[] = {0, -0.0, 0x1p-140, 0x1.8p-1040, -65504, 65510, 0x1.fffffep127, 1e300, INFINITY, NAN};
  struct noise dice = noise_at(seed, odd);
  for (int i = 0; i < n; i++) {
    uint64_t r = noise_next(&dice);
    v[i] = ldexp(2 * rng_unit(noise_next(&dice)) - 1, (int)(r >> 8 & 7));
    if (odd && (r >> 40) % odd == 0)
      v[i] = others[(r >> 16) % (sizeof others / sizeof others[0])];
  }
}

static void run(const struct arith *a, int way, struct noise *noise, int n, double *v, double *more) {
  switch (way) {
  case 0:
    rounding_run(a, noise, (struct rounding_turns){1, 0}, n, v);
    noise_skip(noise, a->exact ? 0 : n);
    break;
  case 1: // two numbers each: to the grid, then times two thirds and once more
    rounding_run(a, noise, (struct rounding_turns){2, 0}, n, v);
    for (int i = 0; i < n; i++)
      v[i] *= 2.0 / 3;
    rounding_run(a, noise, (struct rounding_turns){2, 1}, n, v);
    noise_skip(noise, a->exact ? 0 : 2 * n);
    break;
  case 2:
    rounding_ulps(a, noise, 2, n, v);
    break;
  case 3:
    rounding_power(a, noise, n, v);
    break;
  default:
    memcpy(more, v, (size_t)n * sizeof *v);
    rounding_exponentials(a, noise, 1.5, n, more, v, more + MOST);
    memcpy(more, more + MOST, (size_t)n * sizeof *v);
  }
}

static void run_one_by_one(const struct arith *a, int way, struct noise *noise, int n, double *v, double *more) {
  for (int i = 0; i < n; i++)
    switch (way) {
    case 0:
      v[i] = arith_round(a, noise, v[i]);
      break;
    case 1:
      v[i] = arith_round(a, noise, arith_round(a, noise, v[i]) * (2.0 / 3));
      break;
    case 2:
      v[i] = arith_round_ulps(a, noise, v[i], 2);
      break;
    case 3:
      v[i] = arith_round_power(a, noise, v[i]);
      break;
    default:
      v[i] = arith_round(a, noise, v[i] - 1.5);
      more[i] = arith_round_power(a, noise, exp(v[i]));
    }
}

static void test_many_are_one_after_the_other(void **state) {
  (void)state;
  static const int counts[] = {0, 1, 7, 128, 129, 300, MOST};
  static const unsigned odds[] = {0, 3, 400};
  static double got[MOST], want[MOST], got_more[2 * MOST], want_more[MOST];
  for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++)
    for (int way = 0; way <= 4; way++)
      for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
        for (size_t o = 0; o < sizeof odds / sizeof odds[0]; o++)
          for (int mirrored = 0; mirrored < 2; mirrored++) {
            const uint64_t key = 5 | (mirrored ? NOISE_MIRRORED : 0);
            struct noise a = noise_at(key, c), b = a;
            const int n = counts[c];
            fill(want, n, f * 31 + c, odds[o]);
            for (int i = 0; i < n && way == 3; i++)
              want[i] = fabs(want[i]); // powers are not negative
            memcpy(got, want, sizeof got);
            memset(got_more, 0, sizeof got_more);
            memset(want_more, 0, sizeof want_more);
            run_one_by_one(&formats[f], way, &a, n, want, want_more);
            run(&formats[f], way, &b, n, got, got_more);
            for (int i = 0; i < n; i++) {
              assert_true(isnan(want[i]) ? isnan(got[i]) : memcmp(&want[i], &got[i], sizeof *got) == 0);
              assert_true(isnan(want_more[i]) ? isnan(got_more[i])
                                              : memcmp(&want_more[i], &got_more[i], sizeof *got) == 0);
            }
            assert_true(a.state == b.state && a.flip == b.flip);
          }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_many_are_one_after_the_other)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
