// SPDX-License-Identifier: Apache-2.0
#include "score/figure.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double score_half_width(double value, const struct interval *in) {
  bool inside = in->low <= value && value <= in->high && isfinite(in->low) && isfinite(in->high);
  return inside ? fmax(value - in->low, in->high - value) : NAN;
}

// The exponent of the first digit, 2 for 271; exact also next to powers of ten, where log10 may be off by one. Printing
// is needed only for what is outside of the table or is one of its entries, which need not be powers of ten exactly.
static int exponent_of(double x) {
  static const double powers[] = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1,   10,  100,
                                  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9, 1e10};
  enum { FIRST = -6, N = sizeof powers / sizeof *powers };
  for (int i = 0; i + 1 < N; i++)
    if (x > powers[i] && x < powers[i + 1])
      return FIRST + i;
  char text[32];
  snprintf(text, sizeof text, "%.17e", x);
  return atoi(strchr(text, 'e') + 1);
}

// The rule for uncertainties: how many decimals, and the uncertainty as it is to be rounded.
static int decimals_of(double half_width, double *rounded) {
  int exponent = exponent_of(half_width);
  double unit = pow(10, exponent - 2);
  int leading = (int)floor(half_width / unit + 0.5);
  *rounded = leading < 950 ? half_width : 1000 * unit;
  if (leading >= 1000) { // 0.9996 is 1.00
    leading = 100;
    exponent++;
  }
  // 950 to 999 become 1000, of which two digits are kept: as many decimals as one of theirs.
  return leading < 355 ? 1 - exponent : -exponent;
}

static bool is_known(double half_width) {
  return isfinite(half_width) && half_width > 0;
}

int score_decimals(double value, double half_width) {
  enum { SIGNIFICANT = 3 };
  double rounded;
  if (is_known(half_width))
    return decimals_of(half_width, &rounded);
  return isfinite(value) && value != 0 ? SIGNIFICANT - 1 - exponent_of(fabs(value)) : 0;
}

// Digits of `n` from the end of the text on, at least `least`.
static char *put_digits(char *end, uint64_t n, int least) {
  for (; n > 0 || least > 0; n /= 10, least--)
    *--end = (char)('0' + n % 10);
  return end;
}

// What printf gives, without it, where that is certain: `x` has few digits and is not near the middle between two of
// the numbers that can be written. A page has hundreds of coordinates.
static bool put_small(double x, int decimals, char *text, size_t size) {
  static const double powers[] = {1, 10, 100, 1e3, 1e4, 1e5, 1e6};
  enum { MOST_DECIMALS = 6, ROOM = 24 };
  if (decimals < 0 || decimals > MOST_DECIMALS || size < ROOM || !(fabs(x) < 1e7))
    return false;
  double scaled = fabs(x) * powers[decimals], whole = floor(scaled), rest = scaled - whole;
  if (fabs(rest - 0.5) < 0.01)
    return false;
  uint64_t n = (uint64_t)whole + (rest > 0.5), power = (uint64_t)powers[decimals];
  char room[ROOM], *end = room + ROOM, *at = end;
  if (decimals > 0) {
    at = put_digits(at, n % power, decimals);
    *--at = '.';
  }
  at = put_digits(at, n / power, 1);
  if (x < 0 && n > 0)
    *--at = '-';
  memcpy(text, at, (size_t)(end - at));
  text[end - at] = '\0';
  return true;
}

const char *score_number(double x, int decimals, char *text, size_t size) {
  enum { MOST = 17 };
  if (!isfinite(x)) {
    snprintf(text, size, "-");
    return text;
  }
  if (put_small(x, decimals, text, size))
    return text;
  if (decimals < 0) {
    double step = pow(10, -decimals);
    x = round(x / step) * step;
  }
  snprintf(text, size, "%.*f", decimals < 0 ? 0 : decimals > MOST ? MOST : decimals, x);
  // Whatever the locale writes for the point, in one byte or several.
  char *from = text + (text[0] == '-'), *to;
  while (isdigit((unsigned char)*from))
    from++;
  to = from;
  if (*from) {
    while (*from && !isdigit((unsigned char)*from))
      from++;
    *to++ = '.';
    memmove(to, from, strlen(from) + 1);
  }
  if (strspn(text, "-0.") == strlen(text) && text[0] == '-') // no minus before nothing
    memmove(text, text + 1, strlen(text));
  return text;
}

const char *score_figure(double value, double half_width, char *text, size_t size) {
  char of[48], width[48];
  double rounded = NAN;
  int decimals = is_known(half_width) ? decimals_of(half_width, &rounded) : score_decimals(value, NAN);
  score_number(value, decimals, of, sizeof of);
  if (isfinite(value) && is_known(half_width))
    snprintf(text, size, "%s \xC2\xB1%s", of, score_number(rounded, decimals, width, sizeof width));
  else
    snprintf(text, size, "%s", of);
  return text;
}

struct score_unit score_time_unit(const double *ns, int n) {
  static const struct score_unit units[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
  enum { UNITS = sizeof units / sizeof *units };
  double least = INFINITY;
  for (int i = 0; i < n; i++)
    if (isfinite(ns[i]) && ns[i] > 0 && ns[i] < least)
      least = ns[i];
  for (int i = 0; i < UNITS && isfinite(least); i++)
    if (least >= units[i].ns)
      return units[i];
  return isfinite(least) ? units[UNITS - 1] : units[2];
}
