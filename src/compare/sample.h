// SPDX-License-Identifier: Apache-2.0
// The two closer looks that hints are made from: a bounded sample of elements, and the set of wrong elements as its
// extent and stride in every dimension.
#ifndef COMPARE_SAMPLE_H
#define COMPARE_SAMPLE_H

#include "compare/score.h"

enum { SAMPLE_MAX = 2048 };

// Elements spread evenly over the output where got and want are finite.
struct sample {
  int n, n_over;
  int64_t index[SAMPLE_MAX];
  double got[SAMPLE_MAX], want[SAMPLE_MAX], allowed[SAMPLE_MAX];
  double z[SAMPLE_MAX]; // signed
  bool over[SAMPLE_MAX];
  // Where got is infinite and want is not: how many, and the least |want|.
  int n_infinite;
  double least_infinite;
};

void sample_take(const struct scorer *s, struct sample *out);

// The values fit in `*bits` significand bits, clearly fewer than the format's and the answer's, and their errors are no
// larger than work in that precision explains.
bool sample_is_rounded(const struct scorer *sc, const struct sample *s, int *bits);

// The errors are small compared with the output, present nearly everywhere, without outliers and of random sign: noise,
// as from inputs or intermediate results rounded to about `*bits` bits.
bool sample_is_noisy(const struct scorer *sc, const struct sample *s, double z_max, int *bits);

// Where the elements with some flag are.
struct where {
  int64_t count, first, last; // flat
  int64_t stride;             // greatest common divisor of the flat distances
  int64_t low[SHAPE_MAX_RANK], high[SHAPE_MAX_RANK], strides[SHAPE_MAX_RANK]; // the same per dimension
};

void where_find(const struct scorer *sc, unsigned flag, struct where *out);

// A clause about the place; HINT_NONE when there is nothing to report.
enum compare_hint where_describe(const struct where *w, const struct shape *shape, char *text, size_t size);

#endif
