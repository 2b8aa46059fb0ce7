// SPDX-License-Identifier: Apache-2.0
#include "score/letters.h"

#include <math.h>

const struct letter_rule letter_rules[LETTER_CRITERIA] = {
    [LETTER_EASE] = {"ease",
                     "lines that somebody wrote, median over shapes: A none, B to 50, C to 200, D to 800",
                     true,
                     {0, 50, 200, 800}},
    [LETTER_CORRECTNESS] = {"correctness",
                            "part of the shapes that are right: A all, B 95 %, C 90 %, D 75 %",
                            false,
                            {1, 0.95, 0.90, 0.75}},
    [LETTER_PERFORMANCE] = {"performance",
                            "the fastest maker's time over its own, geometric mean: A 95 %, B 80 %, C 60 %, D 40 %",
                            false,
                            {0.95, 0.80, 0.60, 0.40}},
    [LETTER_PORTABILITY] =
        {"portability",
         "part that is right on the worst of its devices, two at least: A all, B 95 %, C 90 %, D 75 %",
         false,
         {1, 0.95, 0.90, 0.75}},
    [LETTER_COST] = {"cost",
                     "seconds of making or tuning a shape: A below 1, B 10, C 100, D 1000",
                     true,
                     {1, 10, 100, 1000}},
};

char letter_of(enum letter_criterion c, double number) {
  const struct letter_rule *r = &letter_rules[c];
  if (isnan(number))
    return '-';
  for (int i = 0; i < LETTER_BOUNDS; i++)
    if (r->less ? number <= r->bounds[i] : number >= r->bounds[i])
      return (char)('A' + i);
  return 'E';
}
