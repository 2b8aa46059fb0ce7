// SPDX-License-Identifier: Apache-2.0
// Letters for makers of kernels: each follows from one number by one rule, which stands next to it wherever it is
// shown.
#ifndef SCORE_LETTERS_H
#define SCORE_LETTERS_H

#include <stdbool.h>

enum letter_criterion {
  LETTER_EASE,
  LETTER_CORRECTNESS,
  LETTER_PERFORMANCE,
  LETTER_PORTABILITY,
  LETTER_COST,
  LETTER_CRITERIA
};
enum { LETTER_BOUNDS = 4 }; // A to D have a bound; E is what is left

struct letter_rule {
  const char *name, *rule;
  bool less; // smaller is better
  double bounds[LETTER_BOUNDS];
};
extern const struct letter_rule letter_rules[LETTER_CRITERIA];

// '-' where the number is NaN: not measured.
char letter_of(enum letter_criterion c, double number);

#endif
