// SPDX-License-Identifier: Apache-2.0
// Numbers of chance, one at a time: the host's operators (ops/chance.c) and the device's (oracle/cuda/chance.cu) share
// this text.
#ifndef OPS_CHANCE_MATH_H
#define OPS_CHANCE_MATH_H

// The device's code uses this text too, after oracle/cuda/common.cuh.
#ifndef DEVICE_FN
#include <math.h>
#include <stdbool.h>

#include "base/rng.h"

#define CHANCE_FN static inline
#define CHANCE_NAN ((double)NAN)
#else
#define CHANCE_FN DEVICE_FN
#define CHANCE_NAN F64_NAN

// As in base/rng.c.
DEVICE_FN void philox4x32(uint64_t key, uint64_t counter_lo, uint64_t counter_hi, uint32_t *out) {
  uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
  out[0] = (uint32_t)counter_lo;
  out[1] = (uint32_t)(counter_lo >> 32);
  out[2] = (uint32_t)counter_hi;
  out[3] = (uint32_t)(counter_hi >> 32);
  for (int round = 0; round < 10; round++) {
    uint64_t p0 = (uint64_t)0xD2511F53u * out[0], p1 = (uint64_t)0xCD9E8D57u * out[2];
    out[0] = (uint32_t)(p1 >> 32) ^ out[1] ^ k0;
    out[1] = (uint32_t)p1;
    out[2] = (uint32_t)(p0 >> 32) ^ out[3] ^ k1;
    out[3] = (uint32_t)p0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
}
#endif

// More trials are not drawn: a candidate may claim any number of them, and each costs the judge a step.
#define CHANCE_MOST_TRIALS 256
#define CHANCE_DRAWN 0u
#define CHANCE_PLACED 1u // of what BinomialPlace adds, apart from the samples

// [0, 1) with 53 bits, of a seed and a place.
CHANCE_FN double chance_unit(int64_t seed, uint64_t stream, int64_t column) {
  uint32_t w[4];
  philox4x32((uint64_t)seed, (uint64_t)column >> 1, stream, w);
  const uint32_t *two = w + 2 * (column & 1);
  return rng_unit((uint64_t)two[0] << 32 | two[1]);
}

// A float's.
CHANCE_FN double chance_uniform(int64_t seed, int64_t column) {
  return floor(chance_unit(seed, CHANCE_DRAWN, column) * 0x1p24) * 0x1p-24;
}

// The chances of k of n trials, one after the other: of the first, and of each from the one before. In logarithms, as
// the first may be far below any double.
struct chance_trials {
  int64_t n, k;
  double log_odds, log_p, below; // below: the chance of less than k
};

CHANCE_FN double chance_of(const struct chance_trials *b) {
  return exp(b->log_p);
}

CHANCE_FN struct chance_trials chance_start(int64_t n, double p) {
  struct chance_trials b;
  b.n = n;
  b.k = 0;
  b.log_odds = log(p) - log1p(-p);
  b.log_p = n > 0 ? (double)n * log1p(-p) : 0;
  b.below = 0;
  return b;
}

CHANCE_FN void chance_next(struct chance_trials *b) {
  b->below += chance_of(b);
  b->log_p += b->log_odds + log((double)(b->n - b->k)) - log((double)(b->k + 1));
  b->k++;
}

CHANCE_FN bool chance_is_sure(int64_t n, double p) {
  return n == 0 || p <= 0 || p >= 1;
}

// How many of n trials succeed, each with the chance p; NaN where there is no such number.
CHANCE_FN double chance_binomial(int64_t n, double p, int64_t seed, int64_t column) {
  if (n < 0 || n > CHANCE_MOST_TRIALS || !(p >= 0 && p <= 1))
    return CHANCE_NAN;
  if (chance_is_sure(n, p))
    return p >= 1 ? (double)n : 0;
  double u = chance_unit(seed, CHANCE_DRAWN, column);
  struct chance_trials b = chance_start(n, p);
  while (b.k < n && b.below + chance_of(&b) <= u)
    chance_next(&b);
  return (double)b.k;
}

// The random part of the chance of a number itself.
CHANCE_FN double chance_part(int64_t seed, int64_t column) {
  return chance_unit(seed, CHANCE_PLACED, column);
}

// Where x successes stand among all numbers that might have been drawn: the chance of less, and a part of that of x
// itself. Below 0 where x cannot be drawn.
CHANCE_FN double chance_place(double x, int64_t n, double p, double part) {
  if (!(x >= 0 && x <= (double)n) || x != floor(x) || n > CHANCE_MOST_TRIALS || !(p >= 0 && p <= 1))
    return -1;
  if (chance_is_sure(n, p))
    return x == (p >= 1 ? (double)n : 0) ? part : -1;
  struct chance_trials b = chance_start(n, p);
  while ((double)b.k < x)
    chance_next(&b);
  return fmin(b.below + part * chance_of(&b), 1 - 0x1p-53);
}

// The same of the rarer outcome, successes or failures: wrong shapes are then off in the same direction for small and
// large chances, and do not cancel. (Chances that are too large do, which shows without it.)
CHANCE_FN double chance_rarer_place(double x, int64_t n, double p, double part) {
  return p > 0.5 ? chance_place((double)n - x, n, 1 - p, part) : chance_place(x, n, p, part);
}

#endif
