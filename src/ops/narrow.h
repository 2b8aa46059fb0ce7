// SPDX-License-Identifier: Apache-2.0
// Rounding a value to an element type, where a graph says so: casts and quantization.
#ifndef OPS_NARROW_H
#define OPS_NARROW_H

#include "ops/op.h"

// How float8e8m0, which has powers of two alone, is reached.
enum power_rounding { POWER_UP, POWER_DOWN, POWER_NEAREST }; // in magnitude; nearest: halfway goes up

struct narrowing {
  enum dtype to;
  struct float_format format;
  struct arith arith; // of the format; its key is the node's
  bool saturate;      // beyond the range, infinity included, to the largest value
  enum power_rounding power;
};

// To `to`, a floating type. saturate: of the types of 8 bits; those that have neither infinity nor NaN always do.
// pass: the evaluation's arithmetic.
struct narrowing narrowing_of(enum dtype to, bool saturate, const struct arith *pass);

// round_mode and saturate from a node's attributes of these names. ASSAY_ERR_INVALID names an unknown mode.
enum assay_status narrowing_read(const struct node *node, enum dtype to, const struct arith *pass,
                                 struct narrowing *out, struct assay_error *err);

// The value as the format holds it. The exact pass rounds too, to nearest; a contract pass rounds at random, so that
// the error scale covers both neighbours of a value near a tie.
double narrowing_apply(const struct narrowing *n, struct noise *noise, double x);

// Whether `to`, a floating type, cannot hold every value of `from`.
bool narrowing_needed(enum dtype from, enum dtype to);

#endif
