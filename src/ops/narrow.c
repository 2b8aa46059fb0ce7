// SPDX-License-Identifier: Apache-2.0
#include "ops/narrow.h"

#include <math.h>
#include <string.h>

struct narrowing narrowing_of(enum dtype to, bool saturate, const struct arith *pass) {
  struct narrowing n = {.to = to, .arith = {.exact = pass->exact, .key = pass->key}};
  dtype_float_format(to, &n.format);
  n.arith.bits = n.format.bits;
  n.arith.min_exponent = n.format.min_exponent;
  n.arith.max = n.format.max;
  n.saturate = n.format.no_nan || (saturate && dtype_bits(to) == 8);
  return n;
}

enum assay_status narrowing_read(const struct node *node, enum dtype to, const struct arith *pass,
                                 struct narrowing *out, struct assay_error *err) {
  static const char *const modes[] = {[POWER_UP] = "up", [POWER_DOWN] = "down", [POWER_NEAREST] = "nearest"};
  const char *mode = node_string(node, "round_mode", "up");
  *out = narrowing_of(to, node_int(node, "saturate", 1) != 0, pass);
  for (int i = POWER_UP; i <= POWER_NEAREST; i++)
    if (strcmp(mode, modes[i]) == 0) {
      out->power = (enum power_rounding)i;
      return ASSAY_OK;
    }
  return op_invalid(node, err, "round_mode is \"%s\"; it must be up, down or nearest", mode);
}

// A positive value between the least and the greatest power of two.
static double to_power(const struct narrowing *n, struct noise *noise, double x) {
  int e;
  double fraction = frexp(x, &e), low = arith_pow2(e - 1), high = 2 * low; // low <= x < high
  if (fraction == 0.5)
    return low;
  if (n->power != POWER_NEAREST)
    return n->power == POWER_UP ? high : low;
  double threshold = n->arith.exact ? 0.5 : rng_unit(noise_next(noise));
  return x / low - 1 >= threshold ? high : low;
}

// Below zero the format has nothing, and ONNX says nothing.
static double narrow_to_power(const struct narrowing *n, struct noise *noise, double x) {
  double least = arith_pow2(n->format.min_exponent);
  if (isnan(x) || x < 0)
    return NAN;
  if (x < least)
    return n->saturate ? least : NAN;
  double y = x > n->format.max ? INFINITY : to_power(n, noise, x);
  return y <= n->format.max ? y : n->saturate ? n->format.max : NAN;
}

double narrowing_apply(const struct narrowing *n, struct noise *noise, double x) {
  if (n->format.powers_alone)
    return narrow_to_power(n, noise, x);
  if (isnan(x))
    return n->format.no_nan ? 0 : x;
  if (n->saturate && fabs(x) > n->format.max)
    return copysign(n->format.max, x);
  double r;
  if (n->arith.exact) {
    unsigned char element[8];
    dtype_from_f64(n->to, &x, 1, element);
    dtype_to_f64(n->to, element, 1, &r);
  } else {
    r = arith_round(&n->arith, noise, x);
  }
  if (isinf(r) && n->saturate)
    return copysign(n->format.max, x);
  if (isinf(r) && n->format.no_infinity)
    return NAN;
  return r == 0 && n->format.no_minus_zero ? 0 : r;
}

bool narrowing_needed(enum dtype from, enum dtype to) {
  struct float_format f, t;
  if (!dtype_float_format(to, &t))
    return false;
  if (!dtype_float_format(from, &f))
    return to != DTYPE_DOUBLE; // an integer
  return t.bits < f.bits || t.min_exponent > f.min_exponent || t.max < f.max || t.powers_alone > f.powers_alone ||
         t.no_minus_zero > f.no_minus_zero;
}
