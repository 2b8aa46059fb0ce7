// SPDX-License-Identifier: Apache-2.0
// The arithmetic an oracle pass computes in.
//
// An exact pass computes in double and these functions do nothing. A contract pass imitates what a straightforward
// implementation in the contract's precision might produce: every intermediate result is rounded stochastically to the
// contract's format (Monte Carlo arithmetic; Parker 1997), and every accumulation of K terms gets the error that a
// random order of rounded additions would make, drawn from a normal distribution of the right variance instead of
// performed (facts: Higham & Mary 2019 for the sqrt(K) law). Values stay in double throughout.
#ifndef OPS_ARITH_H
#define OPS_ARITH_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/dtype.h"
#include "base/rng.h"

// What a pass does to values on their way from one operator to the next, where the contract has a storage type.
enum arith_store {
  STORE_NEVER,   // they stay as they are: a fused kernel
  STORE_RANDOM,  // rounded to one of their two neighbours
  STORE_NEAREST, // rounded as the hardware does it
};

// Some members of a batch, evaluated alone: what is random for them is what it is among all (oracle/apart.h).
struct arith_part {
  int64_t first, whole; // how many members are before them, and of the batch
  const bool *apart;    // for each value of the graph whether its first dimension is the batch
};

struct arith {
  // In any pass: a cast to an integer type that cannot hold the value gives another number than usual. What depends on
  // it has no answer that everybody agrees on.
  bool other_casts;
  bool exact;       // double, no noise: all fields below are ignored
  int bits;         // significand bits of intermediate results (24 for fp32)
  int min_exponent; // of the smallest normal number (-126 for fp32)
  double max;       // largest finite value
  int product_bits; // significand bits to which inputs of contractions may be rounded; 53: not at all
  int block;        // additions done without intermediate rounding (1: every one rounds)
  int cut_bits;     // sums of products may lose up to 2^-cut_bits of the sum so far with every term, always towards
                    // zero: tensor cores cut off instead of rounding (docs/numerics.md); 0: nothing of the kind
  int cut_steps;    // so many steps of the tensor core in one accumulator, which is then added to another one in single
                    // precision, as sums of float8 are made; 0: all terms
  bool one_lane;    // sums of reductions also err by what a loop with one accumulator loses (arith_sum_lost), and those
                    // of convolutions by what a transform of tiles does (arith_tile_variance)
  // The type that values may be rounded to between operators, never inside one, and what this pass does of it
  // (oracle/boundary.c). Contracts of half precision have it; bits 0: none.
  struct float_format stored;
  enum arith_store store;
  bool store_some;               // rounds at a half of the places, drawn from the key, instead of at all
  uint64_t key;                  // of this pass: same key, same noise; NOISE_MIRRORED: the opposite noise
  const struct arith_part *part; // of the node's batch; NULL: all of it
};

// A node evaluates `items` items for `members` members of a batch: the number of the first of them among all.
static inline int64_t arith_first(const struct arith *a, int64_t items, int64_t members) {
  return a->part && members > 0 ? items / members * a->part->first : 0;
}

// All members of a batch of which these are some.
static inline int64_t arith_members(const struct arith *a, int64_t members) {
  return a->part ? a->part->whole : members;
}

// Whether this pass rounds a value of the type to the storage type at a place; stream: a key of such places, from the
// pass's key.
bool arith_stores_at(const struct arith *a, uint64_t stream, uint64_t place, enum dtype dtype);

// How, for arith_store and for a device; `exact` stands for rounding to nearest.
struct arith arith_storing(const struct arith *a, uint64_t key);

// For an operator that PyTorch makes of several (op_def.stores_inside): whether this pass rounds what goes from one of
// its steps to the next, there at `place` of the node, to the storage type. dtype: of the operator's result.
bool arith_stores_inside(const struct arith *a, int place, enum dtype dtype);

// How, with a key of its own.
struct arith arith_storing_inside(const struct arith *a, int place);

// x so rounded: at random by element i, or to nearest with ties to even, and what overflows to NaN.
double arith_store(const struct arith *storing, uint64_t i, double x);

// Set in a key: every random number is what is left of it to the largest, so that errors have the opposite sign.
#define NOISE_MIRRORED ((uint64_t)1 << 63)

// A key for the stream `index` under a pass's key: mirrored where that is.
static inline uint64_t noise_derive(uint64_t key, uint64_t index) {
  return (rng_derive(key & ~NOISE_MIRRORED, index) & ~NOISE_MIRRORED) | (key & NOISE_MIRRORED);
}

// A noise source for one stretch of elements. Seed it from (pass key, node, element) so that results do not depend on
// how work is split over threads.
struct noise {
  uint64_t state, flip; // flip: bits that are inverted, all or none
};

static inline struct noise noise_at(uint64_t key, uint64_t index) {
  uint64_t own = key & ~NOISE_MIRRORED;
  return (struct noise){.state = rng_mix64(own ^ (index * 0xD1342543DE82EF95u + 0x2545F4914F6CDD1Du)),
                        .flip = own == key ? 0 : ~(uint64_t)0};
}

// As if so many numbers had been taken.
static inline void noise_skip(struct noise *n, int64_t numbers) {
  n->state += (uint64_t)numbers * 0x9E3779B97F4A7C15u;
}

// A source of its own for part `index` of what this one is for, so that parts may be drawn in any order. The caller
// takes a number from `n` afterwards, or what follows would have the same sources.
static inline struct noise noise_part(const struct noise *n, uint64_t index) {
  return (struct noise){.state = rng_mix64(n->state ^ (index * 0xD1342543DE82EF95u + 0x9FB21C651E98DF25u)),
                        .flip = n->flip};
}

static inline uint64_t noise_next(struct noise *n) {
  noise_skip(n, 1);
  uint64_t x = n->state;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31) ^ n->flip;
}

// 2^e as a double, for -1074 <= e <= 1023.
static inline double arith_pow2(int e) {
  uint64_t bits = e >= -1022 ? (uint64_t)(e + 1023) << 52 : (uint64_t)1 << (e + 1074);
  double r;
  memcpy(&r, &bits, sizeof r);
  return r;
}

// What rounding to a format needs, worked out once for many elements.
struct rounder {
  uint64_t mask;         // the bits of a double's significand that the format lacks
  double limit, quantum; // smallest normal number; spacing below it
  double max;
};

// A format as wide as double would round nothing and hence show no error at all; one bit less stands in for it.
static inline struct rounder arith_rounder(const struct arith *a) {
  int bits = a->bits < 52 ? a->bits : 52;
  int lowest = a->min_exponent - bits + 1;
  return (struct rounder){.mask = ((uint64_t)1 << (53 - bits)) - 1,
                          .limit = arith_pow2(a->min_exponent),
                          .quantum = arith_pow2(lowest < -1074 ? -1074 : lowest),
                          .max = a->max};
}

// x rounded by 64 random bits. Adding random bits below the kept ones and cutting them off is stochastic rounding in
// one step; it carries into the exponent by itself.
static inline double rounder_apply(const struct rounder *r, uint64_t random, double x) {
  double magnitude = fabs(x), result;
  if (magnitude >= r->limit && magnitude <= r->max) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits + (random & r->mask)) & ~r->mask;
    memcpy(&result, &bits, sizeof result);
  } else if (magnitude < r->limit) {
    result = x == 0 ? x : floor(x / r->quantum + rng_unit(random)) * r->quantum;
  } else {
    return isnan(x) ? x : copysign(INFINITY, x);
  }
  return fabs(result) > r->max ? copysign(INFINITY, x) : result;
}

// To nearest: adding half of the discarded range before cutting. How constants of a contract are rounded.
static inline double rounder_nearest(const struct rounder *r, double x) {
  if (x == 0 || !isfinite(x))
    return x;
  if (fabs(x) < r->limit)
    return rint(x / r->quantum) * r->quantum;
  return rounder_apply(r, (r->mask + 1) / 2, x);
}

// x rounded at random to one of its two neighbours with `bits` significand bits, nearer neighbours likelier, so that
// the expected result is x. Subnormals of the format round to its fixed grid; beyond `max` the result is infinite.
static inline double arith_round(const struct arith *a, struct noise *n, double x) {
  if (a->exact)
    return x;
  struct rounder r = arith_rounder(a);
  return rounder_apply(&r, noise_next(n), x);
}

// x with the error of a library function that is off by up to about `ulps` units in the last place; not on the format's
// grid (arith.c says why).
double arith_round_ulps(const struct arith *a, struct noise *n, double x, double ulps);

// By how many units in the last place a function of a library may be off, and e^x besides for each power of two in the
// result: many make 2^(x log2 e) of it and round the product, whose error is as large as x is.
#define ARITH_LIBRARY_ULPS 2.0
#define ARITH_POWER_ULPS 0.5

// The same for a result v of e^x. Below the normal numbers, where the unit stays what it is, the argument's part
// shrinks with the result.
static inline double arith_power_ulps(double limit, double v) {
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
  return ARITH_LIBRARY_ULPS + ARITH_POWER_ULPS * (exponent < 0 ? -exponent : exponent) * (v < limit ? v / limit : 1);
}

// A function that stays within [-1, 1] errs inwards where it saturates. (Cut off at the bound instead, half of all
// errors would be none there; one in 2^16 elements would then show no error in 16 passes, and 1 + erf(x) has no other.)
static inline double arith_reflect(double x) {
  return x > 1 ? 2 - x : x < -1 ? -2 - x : x;
}

// The result x of an exponential function, with its error.
static inline double arith_round_power(const struct arith *a, struct noise *n, double x) {
  return a->exact ? x : arith_round_ulps(a, n, x, arith_power_ulps(arith_pow2(a->min_exponent), x));
}

// A standard normal deviate.
double noise_normal(struct noise *n);

// The variance of the error of summing `k` terms with sum y and sum of squares t2 in this arithmetic, in random order:
// u^2/3 * E[sum of squared partial sums] with E = y^2 k/3 + (t2 - y^2/k) k/6 for terms drawn without replacement,
// never less than k*t2/2 (numerics.md), over `block`. When `products` is true there is more: the rounding of products'
// inputs, 2 u_in^2/3 * t2; the rounding of products on the grid of subnormals, k q^2/12; and what is cut off, whose
// errors have one sign and add up: c sum|s| <= c sqrt(k sum s^2) for partial sums s and c = 2^-cut_bits. With cut_steps
// m that holds within m steps: together they lose c (m + 1)/2 y of y, and of what is random c^2 m (m + 1)/2 t2;
// squared, a half of it, since a step cuts off between 0 and 2c of the power of two below s. 0 when exact.
//
// `start` is what the sum may begin with instead of zero: a bias, or whatever else is added to the result. It is then
// in every partial sum, whose squares are (start + s)^2: k start (start + y) more, as s is y/2 on average. An
// implementation is free to add it last, so what this makes smaller (a start that the terms undo) does not count.
double arith_sum_variance_from(const struct arith *a, double start, double y, double t2, double k, bool products);

// y + a nearly normal deviate of that variance, rounded; y itself when exact or k <= 0. What an accumulation returns.
// `start` is not in y, and not in what is returned.
double arith_sum_from(const struct arith *a, struct noise *n, double start, double y, double t2, double k,
                      bool products);

// The same for sums that begin with zero.
static inline double arith_sum_variance(const struct arith *a, double y, double t2, double k, bool products) {
  return arith_sum_variance_from(a, 0, y, t2, k, products);
}
static inline double arith_sum(const struct arith *a, struct noise *n, double y, double t2, double k, bool products) {
  return arith_sum_from(a, n, 0, y, t2, k, products);
}

// As arith_sum_from of products, with at least this variance.
double arith_sum_at_least(const struct arith *a, struct noise *n, double start, double y, double t2, double k,
                          double variance);

// A reduction's sum where `lost` is what one accumulator made of it in single precision, less y: such a loop's errors
// have one sign where many terms are alike, and grow as k. They count as three standard deviations of one more error,
// in a wide pass so many times as large, but at most as arith_lost_most of the sum's own: who sums in lower precision
// or leaves terms out errs by thousands of those. `times`: of both, 1 or ARITH_LOST_SHARED; 0: as arith_sum.
double arith_sum_lost(const struct arith *a, struct noise *n, double y, double t2, double k, double lost, int times);
// One accumulator loses at most 2^-24 of the result in each of k additions, k of these units in all, which small terms
// after large ones come near to; the sum's own error is sqrt(k)/3 units. A limit of ten deviations covers 0.8 k.
#define ARITH_LOST_LEAST 8.0 // of few terms
#define ARITH_LOST_PART 0.25
static inline double arith_lost_most(double k) {
  double most = ARITH_LOST_PART * sqrt(k);
  return most > ARITH_LOST_LEAST ? most : ARITH_LOST_LEAST;
}
// Where many elements share such a sum, as those of a normalization its mean, it counts as one deviation, not three:
// all of them are then off by as much, and so is their root mean square.
#define ARITH_LOST_SHARED 3
// Of k equal terms all additions of a binade err by the same part of a unit: by 0.12 k of 2^-24 in all as a rule, and
// by k/4 at most (test_equal_terms). The terms of a pass are not equal, since each has noise of its own, and lose less.
#define ARITH_ALIKE 1e-12 // squared deviations next to squares
#define ARITH_LOST_ALIKE 0.25
static inline double arith_lost_alike(double y, double t2, double k) {
  return k * t2 - y * y <= ARITH_ALIKE * y * y ? ARITH_LOST_ALIKE * k * 0x1p-24 * fabs(y) : 0;
}
// Longer sums nobody makes with one accumulator.
#define ARITH_LANE_LENGTH (1 << 20)

// By how many units in the last place a sum of n squared deviations from a mean may be off that is made together with
// it in one pass (Welford 1962). Every step rounds the mean; its errors, u m each, add up as a random walk, and the sum
// S is off by a normal error of about 0.5 u m sqrt(n S): half a unit times the mean over the deviation.
#define ARITH_CENTRE_ULPS 0.5
static inline double arith_centre_ulps(double mean, double n, double squares) {
  return squares > 0 ? ARITH_CENTRE_ULPS * fabs(mean) * sqrt(n / squares) : 0;
}

// Whoever transforms tiles of two outputs along each dimension (Winograd 1980; Lavin and Gray 2016: F(2, 3)) multiplies
// sums of a window's inputs by sums of the kernel's taps, and adds that up over the channels. Inputs that meet small
// taps meet large ones there, too, and cancel again: the error is that of the window's squares times the taps', not of
// the products'. `tiles`: the sum over all channels of the window's squared inputs times the kernel's squared taps.
// Half of that along each dimension is about what the four (or sixteen, or sixty-four) sums hold; where inputs are
// alike and taps are alike, the direct sum's error is the larger one. Inputs, taps and results are rounded in between.
#define ARITH_TILE_PART 0.5
#define ARITH_TILE_ROUNDINGS 4
static inline double arith_tile_variance(int bits, double tiles, double channels, int dims) {
  double u = arith_pow2(-(bits < 52 ? bits : 52));
  for (int i = 0; i < dims; i++)
    tiles *= ARITH_TILE_PART;
  return u * u / 3 * (channels + ARITH_TILE_ROUNDINGS) / 2 * tiles;
}

// A window that hangs over the border sums only `*k` of its `all` terms, with sum of squares *t2. Whoever transforms
// tiles (Fourier, Winograd) spreads the tile's errors evenly, there as anywhere, so that such a window errs as if its
// other terms were like those: both become what they would be then.
static inline void arith_complete_window(double all, double *t2, double *k) {
  if (*k > 0 && *k < all) {
    *t2 *= all / *k;
    *k = all;
  }
}

#endif
