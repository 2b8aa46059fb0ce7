// SPDX-License-Identifier: Apache-2.0
// Tests of chance: honest numbers pass, chances are what they are called, and what is wrong is found. With a number as
// its argument the program makes that many samples of each kind and prints how often they fail (docs/numerics.md).
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "ops/chance_tests.h"

enum { ROWS = 8, COLUMNS = 32768, SMALL = 12288 };

// Number `place` of a row with this seed, of uniform numbers u(seed, place); `e` says how wrong.
typedef double number_fn(uint64_t seed, uint64_t place, double e);

static double philox(uint64_t seed, uint64_t place) {
  uint32_t w[4];
  philox4x32(seed, place >> 2, 0, w);
  return (double)(w[place & 3] >> 8) * 0x1p-24;
}

static double honest(uint64_t seed, uint64_t place, double e) {
  (void)e;
  return philox(seed, place);
}
static double honest_23(uint64_t seed, uint64_t place, double e) {
  (void)e;
  return floor(philox(seed, place) * 0x1p23) * 0x1p-23;
}
static double honest_mix(uint64_t seed, uint64_t place, double e) {
  (void)e;
  return (double)(rng_mix64(rng_mix64(seed) + place) >> 40) * 0x1p-24;
}
static double skewed(uint64_t seed, uint64_t place, double e) {
  return (float)pow(philox(seed, place), 1 + e);
}
static double narrow(uint64_t seed, uint64_t place, double e) {
  return (float)(0.5 + (1 - e) * (philox(seed, place) - 0.5));
}
static double few_bits(uint64_t seed, uint64_t place, double bits) {
  return ldexp(floor(ldexp(philox(seed, place), (int)bits)), -(int)bits);
}
static double periodic(uint64_t seed, uint64_t place, double period) {
  return philox(seed, place % (uint64_t)period);
}
static double stutter(uint64_t seed, uint64_t place, double e) {
  return philox(seed, place - (place > 0 && philox(~seed, place) < e));
}
// The part e of all numbers does not depend on the seed.
static double seeds_alike(uint64_t seed, uint64_t place, double e) {
  return philox(philox(77, place) < e ? 5 : seed, place);
}
static double seeds_shift(uint64_t seed, uint64_t place, double e) {
  (void)e;
  return philox(5, seed + place);
}
static double unseeded(uint64_t seed, uint64_t place, double e) {
  (void)seed;
  (void)e;
  return philox(5, place);
}
static double even(uint64_t seed, uint64_t place, double e) {
  (void)e;
  const double x = (double)(seed % 1000) + (double)place * 0.6180339887498949;
  return floor((x - floor(x)) * 0x1p24) * 0x1p-24;
}

// As distribution.h's seeds() draws them.
static void draw_seeds(uint64_t key, int64_t seeds[ROWS]) {
  for (int i = 0; i < ROWS; i++) {
    const uint64_t w = rng_mix64(key * 1000 + (uint64_t)i);
    seeds[i] = (int64_t)((rng_mix64(key + ((w & 1) << 40)) >> 12) + (w >> 1 & 1));
  }
}

static void logs_of(number_fn *number, double e, uint64_t key, int64_t columns, double logs[CHANCE_COUNT]) {
  static double u[ROWS * COLUMNS];
  int64_t seeds[ROWS];
  draw_seeds(key, seeds);
  for (int i = 0; i < ROWS; i++)
    for (int64_t j = 0; j < columns; j++)
      u[i * columns + j] = number((uint64_t)seeds[i], (uint64_t)j, e);
  const struct chance_rows r = {.rows = ROWS, .columns = columns, .u = u, .seeds = seeds, .grid = true};
  assert_true(chance_logs(&r, logs));
}

static bool fails(number_fn *number, double e, uint64_t key) {
  double logs[CHANCE_COUNT];
  logs_of(number, e, key, COLUMNS, logs);
  bool any = logs[CHANCE_OUTSIDE] > 0 || logs[CHANCE_REPLAY] > 0;
  for (int i = CHANCE_REPLAY + 1; i < CHANCE_COUNT; i++)
    any = any || logs[i] < -9;
  return any;
}

static const struct {
  const char *name;
  number_fn *number;
  double e;
  enum { PASSES, FAILS, MAY_FAIL } expected; // MAY_FAIL: some do, which is what the table is for
} kinds[] = {
    {"Philox, 24 bits", honest, 0, PASSES},
    {"Philox, 23 bits", honest_23, 0, PASSES},
    {"splitmix, 24 bits", honest_mix, 0, PASSES},
    {"u to the power 1.03: the mean 0.0074 less", skewed, 0.03, FAILS},
    {"the power 1.02: 0.0050 less", skewed, 0.02, MAY_FAIL},
    {"a range 2 % narrower", narrow, 0.02, FAILS},
    {"numbers of 20 bits", few_bits, 20, FAILS},
    {"of 16 bits", few_bits, 16, FAILS},
    {"a period of 16384", periodic, 16384, FAILS},
    {"1 % of the numbers are those before", stutter, 0.01, FAILS},
    {"0.1 %", stutter, 0.001, MAY_FAIL},
    {"1 % of the numbers are the same for all seeds", seeds_alike, 0.01, FAILS},
    {"0.1 %", seeds_alike, 0.001, FAILS},
    {"the next seed is one place on", seeds_shift, 0, FAILS},
    {"no seed", unseeded, 0, FAILS},
    {"multiples of the golden ratio", even, 0, FAILS},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void test_kinds(void **state) {
  (void)state;
  for (int k = 0; k < KINDS; k++)
    for (uint64_t key = 1; key <= 3; key++)
      if (kinds[k].expected != MAY_FAIL && fails(kinds[k].number, kinds[k].e, key) != (kinds[k].expected == FAILS))
        fail_msg("%s: key %d", kinds[k].name, (int)key);
}

// Each test says "one in ten" of honest numbers at most about that often, and not far less where it is no bound.
static void test_chances(void **state) {
  (void)state;
  enum { SAMPLES = 300 };
  int seldom[CHANCE_COUNT] = {0};
  for (uint64_t key = 1; key <= SAMPLES; key++) {
    double logs[CHANCE_COUNT];
    logs_of(honest, 0, key, SMALL, logs);
    for (int i = CHANCE_REPLAY + 1; i < CHANCE_COUNT; i++)
      seldom[i] += logs[i] < -1;
  }
  for (int i = CHANCE_REPLAY + 1; i < CHANCE_COUNT; i++) {
    const bool bound = i == CHANCE_DISTANCE || i == CHANCE_REPEATS || i == CHANCE_SAME; // no more than a bound
    if (seldom[i] > 55 || (!bound && seldom[i] < 12))                                   // 30 are expected
      fail_msg("test %d: %d of %d", i, seldom[i], SAMPLES);
  }
}

static void test_counts(void **state) {
  (void)state;
  double logs[CHANCE_COUNT];
  double u[6] = {0.5, 0.25, 1.0, 0.5, 0.75, NAN};
  const int64_t seeds[2] = {9, 9};
  const struct chance_rows r = {.rows = 2, .columns = 3, .u = u, .seeds = seeds, .grid = true};
  assert_true(chance_logs(&r, logs));
  assert_int_equal((int)logs[CHANCE_OUTSIDE], 2);
  assert_int_equal((int)logs[CHANCE_REPLAY], 2);
  int64_t out[CHANCE_COUNT];
  assert_true(chance_test(&(struct chance_rows){.rows = 0, .columns = 3, .u = u, .seeds = seeds}, out));
  assert_int_equal(out[CHANCE_OUTSIDE], 0);
}

static void print_power(int samples) {
  for (int k = 0; k < KINDS; k++) {
    int n = 0;
    for (int key = 1; key <= samples; key++)
      n += fails(kinds[k].number, kinds[k].e, (uint64_t)key + 1000);
    printf("%-48s %d of %d\n", kinds[k].name, n, samples);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_kinds), cmocka_unit_test(test_chances),
                                     cmocka_unit_test(test_counts)};
  if (argc > 1)
    print_power(atoi(argv[1]));
  return argc > 1 ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
