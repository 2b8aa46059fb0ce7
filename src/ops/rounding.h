// SPDX-License-Identifier: Apache-2.0
// The roundings of ops/arith.h for many numbers at once: the same bits as one after the other, several times as fast.
#ifndef OPS_ROUNDING_H
#define OPS_ROUNDING_H

#include "ops/arith.h"

// Which of a source's next numbers the elements take where each one takes `of`: element i the number i * of + place.
struct rounding_turns {
  int of, place;
};

// arith_round on v[0..n). The source does not advance: noise_skip, once all n * of numbers are taken.
void rounding_run(const struct arith *a, const struct noise *noise, struct rounding_turns turns, int64_t n, double *v);

// arith_round_ulps on v[0..n), one after the other.
void rounding_ulps(const struct arith *a, struct noise *noise, double ulps, int64_t n, double *v);

// arith_round_power likewise.
void rounding_power(const struct arith *a, struct noise *noise, int64_t n, double *v);

// shifted[i] = x[i] - shift and terms[i] = e^shifted[i], each rounded (arith_round, arith_round_power) before the next
// is made; one element after the other.
void rounding_exponentials(const struct arith *a, struct noise *noise, double shift, int64_t n, const double *x,
                           double *shifted, double *terms);

#endif
