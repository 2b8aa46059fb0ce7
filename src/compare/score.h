// SPDX-License-Identifier: Apache-2.0
// One element compared with the oracle's: class, excess error, z. Shared by the facts and the hints, which look at
// different elements in the same way.
#ifndef COMPARE_SCORE_H
#define COMPARE_SCORE_H

#include "compare/compare.h"

enum { SCORE_SEGMENT = 1024 };

enum {
  SCORE_NAN = 1,    // NaN on one side only
  SCORE_INF = 2,    // infinity on one side only, or of the other sign
  SCORE_POISON = 4, // still holds the poison
  SCORE_EXACT = 8,
  SCORE_OVER = 16,      // wrong: beyond gate B, of another class, or unwritten
  SCORE_NOT_CLOSE = 32, // outside the published tolerance
  SCORE_NOT_LOOSE = 64, // outside the second, laxer one
};

struct scorer {
  const struct compare_input *in;
  bool floating;
  size_t bytes;
  double z_limit, sigma_floor;
  struct float_format format;
  double overflow;  // from here on the format rounds to infinity
  bool no_infinity; // overflow makes a NaN (float8e4m3fn)
};

// A scale that is further below the value than this belongs to an exact answer.
#define SCORE_MOST_SIZE 0x1p40

// Neighbouring elements, scored.
struct segment {
  int64_t begin;
  int n;
  double got[SCORE_SEGMENT], want[SCORE_SEGMENT];
  double distance[SCORE_SEGMENT]; // |got - want|; not finite where one of them is not
  double z[SCORE_SEGMENT];        // with the sign of got - want; infinite where integers or classes differ
  double size[SCORE_SEGMENT];     // want in units of the scale, 0 where the scale is negligible (SCORE_MOST_SIZE)
  uint8_t flags[SCORE_SEGMENT];
};

void scorer_init(struct scorer *s, const struct compare_input *in);

// Scores elements [begin, begin + n), n <= SCORE_SEGMENT.
void score(const struct scorer *s, int64_t begin, int n, struct segment *out);

// The largest |got - want| that passes gate B at element i.
double score_allowed(const struct scorer *s, int64_t i);

// Fills hint and hint_text from what the facts say and a closer look; facts are otherwise complete.
void hint_find(const struct scorer *s, struct compare_facts *facts);

// Whether some gate of the contract fails.
bool compare_gates_fail(const struct compare_facts *f);

#endif
