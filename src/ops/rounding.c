// SPDX-License-Identifier: Apache-2.0
// Each block is first rounded as if all of its numbers were normal and stayed so, without branches. Where one is not,
// which the loop notices, the block is done again one number after the other.
#include "ops/rounding.h"

#include "base/wide.h"

enum { BLOCK = 128 };

static uint64_t step_of(int numbers) {
  struct noise one = {0};
  noise_skip(&one, numbers);
  return one.state;
}

// ---- to the format's grid

struct grid {
  struct rounder rounder;
  struct noise noise; // of the block's first element
  uint64_t step;      // from one element's number to the next one's
};

WIDE_BODY round_block_body(const struct grid *g, int n, const double *v, double *made, bool *odd) {
  const struct rounder r = g->rounder;
  const uint64_t state = g->noise.state, flip = g->noise.flip, step = g->step;
  uint64_t any = 0;
  for (int i = 0; i < n; i++) {
    struct noise own = {state + (uint64_t)i * step, flip};
    double x = v[i], y;
    uint64_t random = noise_next(&own), bits;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits + (random & r.mask)) & ~r.mask;
    memcpy(&y, &bits, sizeof y);
    any |=
        (uint64_t)(!(fabs(x) >= r.limit) & (x != 0)) | (uint64_t) !(fabs(x) <= r.max) | (uint64_t) !(fabs(y) <= r.max);
    made[i] = x == 0 ? x : y;
  }
  *odd = any != 0;
}

WIDE_LOOP(round_block, (const struct grid *g, int n, const double *v, double *made, bool *odd), (g, n, v, made, odd))

static void round_one_by_one(const struct grid *g, int n, double *v) {
  for (int i = 0; i < n; i++) {
    struct noise own = {g->noise.state + (uint64_t)i * g->step, g->noise.flip};
    v[i] = rounder_apply(&g->rounder, noise_next(&own), v[i]);
  }
}

void rounding_run(const struct arith *a, const struct noise *noise, struct rounding_turns turns, int64_t n, double *v) {
  if (a->exact)
    return;
  struct grid g = {.rounder = arith_rounder(a), .noise = *noise, .step = step_of(turns.of)};
  noise_skip(&g.noise, turns.place);
  for (int64_t at = 0; at < n; at += BLOCK) {
    double made[BLOCK];
    bool odd;
    int count = n - at < BLOCK ? (int)(n - at) : BLOCK;
    round_block(&g, count, v + at, made, &odd);
    if (odd)
      round_one_by_one(&g, count, v + at);
    else
      memcpy(v + at, made, (size_t)count * sizeof *v);
    noise_skip(&g.noise, (int64_t)turns.of * count);
  }
}

// ---- with the error of a library's function

struct library {
  struct rounder rounder;
  double ulps;
  bool power;         // ulps depend on the result: arith_power_ulps
  struct noise noise; // of the block's first element
  uint64_t step;      // from one element's number to the next one's
};

WIDE_BODY err_block_body(const struct library *l, int n, const double *v, double *made, bool *odd) {
  const struct rounder r = l->rounder;
  const uint64_t state = l->noise.state, flip = l->noise.flip, step = l->step;
  // Units of normal results; arith_power_ulps.
  const double ulp_of_one = r.quantum / r.limit, least = l->power ? ARITH_LIBRARY_ULPS : l->ulps;
  const double more = l->power ? ARITH_POWER_ULPS : 0;
  uint64_t any = 0;
  for (int i = 0; i < n; i++) {
    struct noise own = {state + (uint64_t)i * step, flip};
    double x = v[i], power;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= (uint64_t)0x7ff << 52;
    memcpy(&power, &bits, sizeof power);
    double ulps = least + more * fabs((double)((int64_t)(bits >> 52) - 1023));
    double y = x + (2 * rng_unit(noise_next(&own)) - 1) * ulps * ulp_of_one * power;
    any |= (uint64_t) !(fabs(x) >= r.limit) | (uint64_t) !(fabs(x) <= 0x1.fffffffffffffp+1023) |
           (uint64_t) !(fabs(y) >= r.limit) | (uint64_t) !(fabs(y) <= r.max);
    made[i] = y;
  }
  *odd = any != 0;
}

WIDE_LOOP(err_block, (const struct library *l, int n, const double *v, double *made, bool *odd), (l, n, v, made, odd))

static void err_blocks(const struct arith *a, struct library *l, struct noise *noise, int64_t n, double *v) {
  if (a->exact)
    return;
  l->rounder = arith_rounder(a);
  l->step = step_of(1);
  for (int64_t at = 0; at < n; at += BLOCK) {
    double made[BLOCK];
    bool odd;
    int count = n - at < BLOCK ? (int)(n - at) : BLOCK;
    l->noise = *noise;
    err_block(l, count, v + at, made, &odd);
    if (!odd) {
      memcpy(v + at, made, (size_t)count * sizeof *v);
      noise_skip(noise, count);
      continue;
    }
    for (int64_t i = at; i < at + count; i++)
      v[i] = arith_round_ulps(a, noise, v[i], l->power ? arith_power_ulps(l->rounder.limit, v[i]) : l->ulps);
  }
}

void rounding_ulps(const struct arith *a, struct noise *noise, double ulps, int64_t n, double *v) {
  err_blocks(a, &(struct library){.ulps = ulps}, noise, n, v);
}

void rounding_power(const struct arith *a, struct noise *noise, int64_t n, double *v) {
  err_blocks(a, &(struct library){.power = true}, noise, n, v);
}

// One block of rounding_exponentials as if no exponential needed more than one number. False: one does.
static bool exponentials_at_once(const struct arith *a, struct noise *noise, int n, double *shifted, double *terms) {
  double made[BLOCK];
  bool odd;
  struct library l = {.rounder = arith_rounder(a), .power = true, .noise = *noise, .step = step_of(2)};
  rounding_run(a, noise, (struct rounding_turns){2, 0}, n, shifted);
  for (int i = 0; i < n; i++)
    made[i] = exp(shifted[i]);
  noise_skip(&l.noise, 1);
  err_block(&l, n, made, terms, &odd);
  if (!odd)
    noise_skip(noise, 2 * n);
  return !odd;
}

void rounding_exponentials(const struct arith *a, struct noise *noise, double shift, int64_t n, const double *x,
                           double *shifted, double *terms) {
  for (int64_t at = 0; at < n; at += BLOCK) {
    int count = n - at < BLOCK ? (int)(n - at) : BLOCK;
    for (int64_t i = at; i < at + count; i++)
      shifted[i] = x[i] - shift;
    if (!a->exact && exponentials_at_once(a, noise, count, shifted + at, terms + at))
      continue;
    for (int64_t i = at; i < at + count; i++) {
      shifted[i] = arith_round(a, noise, x[i] - shift);
      terms[i] = arith_round_power(a, noise, exp(shifted[i]));
    }
  }
}
