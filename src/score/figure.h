// SPDX-License-Identifier: Apache-2.0
// Numbers as people should read them: no more digits than the interval allows. No locale has a say.
#ifndef SCORE_FIGURE_H
#define SCORE_FIGURE_H

#include <stddef.h>

#include "stats/stats.h"

// The half-width of an interval that need not be symmetric: its longer side. NaN unless low <= value <= high.
double score_half_width(double value, const struct interval *in);

// How many digits after the decimal point an uncertainty allows (negative: tens, hundreds, ...), by the rule of the
// Particle Data Group: of its three leading digits, 100 to 354 keep two, 355 to 949 keep one, 950 to 999 are 1000 and
// keep two. Without an uncertainty (0, NaN, infinity) three significant digits of the value.
int score_decimals(double value, double half_width);

// A number with that many digits after the point, zeros where `decimals` is negative: 11594.5, -1 is "11590". "-" for
// NaN and infinity. Returns text. (40 bytes are enough for |x| < 1e20.)
const char *score_number(double x, int decimals, char *text, size_t size);

// "11.59 ±0.27", or the value alone where the half-width is no number above 0.
const char *score_figure(double value, double half_width, char *text, size_t size);

// The unit for times in nanoseconds, one for all of a column: the largest in which the least time is at least 1.
struct score_unit {
  const char *name; // "ns", "us", "ms", "s"
  double ns;        // how many nanoseconds it has
};
struct score_unit score_time_unit(const double *ns, int n); // of none: "us"

#endif
