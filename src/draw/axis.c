// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw/svg.h"
#include "score/figure.h"

static bool counts(const struct axis *a, double x) {
  return isfinite(x) && (!a->log || x > 0);
}

void axis_take(struct axis *a, double value, bool *any) {
  if (!counts(a, value))
    return;
  a->low = *any ? fmin(a->low, value) : value;
  a->high = *any ? fmax(a->high, value) : value;
  *any = true;
}

bool axis_close(struct axis *a, bool any) {
  if (!any)
    return false;
  if (a->log) {
    double room = a->high > a->low ? pow(a->high / a->low, 0.04) : 1.25;
    a->low /= room;
    a->high *= room;
  } else {
    double room = a->high > a->low ? 0.04 * (a->high - a->low) : fmax(fabs(a->low) * 0.05, 1e-9);
    a->low -= room;
    a->high += room;
  }
  return a->low < a->high && isfinite(a->high);
}

bool axis_fit(struct axis *a, bool log, const double *values, int n) {
  bool any = false;
  a->log = log;
  for (int i = 0; i < n; i++)
    axis_take(a, values[i], &any);
  return axis_close(a, any);
}

double axis_at(const struct axis *a, double value) {
  double part =
      a->log ? (log(value) - log(a->low)) / (log(a->high) - log(a->low)) : (value - a->low) / (a->high - a->low);
  part = isnan(part) ? 0 : fmin(fmax(part, 0), 1);
  return a->from + part * (a->to - a->from);
}

// Steps of 1, 2 or 5 of a power of ten.
static int linear_ticks(const struct axis *a, int most, double ticks[AXIS_TICKS]) {
  static const double steps[] = {1, 2, 5};
  double power = pow(10, floor(log10((a->high - a->low) / most)));
  for (int i = 0; i < 9; i++) {
    double step = steps[i % 3] * power * pow(10, i / 3), first = ceil(a->low / step);
    int n = (int)(floor(a->high / step) - first) + 1;
    for (int k = 0; k < n && n <= most; k++)
      ticks[k] = (first + k) * step;
    if (n <= most)
      return n > 0 ? n : 0;
  }
  return 0;
}

static int log_ticks(const struct axis *a, int per_decade, int every, int most, double ticks[AXIS_TICKS]) {
  static const double steps[] = {1, 2, 5};
  int n = 0, from = (int)floor(log10(a->low)), to = (int)ceil(log10(a->high));
  for (int e = from; e <= to; e++)
    for (int i = 0; i < per_decade; i++) {
      double tick = steps[i] * pow(10, e);
      if (e % every || tick < a->low || tick > a->high)
        continue;
      if (n == most)
        return most + 1;
      ticks[n++] = tick;
    }
  return n;
}

int axis_ticks(const struct axis *a, int most, double ticks[AXIS_TICKS]) {
  most = most < AXIS_TICKS ? most : AXIS_TICKS;
  if (!a->log)
    return linear_ticks(a, most, ticks);
  int n = log_ticks(a, 3, 1, most, ticks);
  for (int every = 1; n > most && every < 400; every++)
    n = log_ticks(a, 1, every, most, ticks);
  return n < 2 ? linear_ticks(a, most, ticks) : n <= most ? n : 0;
}

const char *axis_text(double tick, char *text, size_t size) {
  double x = fabs(tick);
  if (x != 0 && (x >= 1e5 || x < 1e-3)) {
    int exponent = (int)floor(log10(x) + 1e-9);
    char digits[48];
    double mantissa = tick / pow(10, exponent);
    score_number(mantissa, fabs(mantissa - round(mantissa)) < 1e-6 ? 0 : 2, digits, sizeof digits);
    snprintf(text, size, "%se%d", digits, exponent);
    return text;
  }
  int decimals = 0;
  for (double scaled = x; decimals < 6 && fabs(scaled - round(scaled)) > 1e-6 * fmax(1, scaled); decimals++)
    scaled *= 10;
  return score_number(tick, decimals, text, size);
}

// A line at each tick, from y.x down to y.y, in one path.
static void put_uprights(struct svg *s, const char *class, const struct axis *a, const double *ticks, int n,
                         struct svg_point y) {
  if (n == 0)
    return;
  svg_path(s, class);
  for (int i = 0; i < n; i++) {
    svg_to(s, 'M', (struct svg_point){axis_at(a, ticks[i]), y.x});
    svg_along(s, 'V', y.y);
  }
  svg_path_end(s);
}

void axis_draw(struct svg *s, const struct axis *a, double y, double top, const char *name) {
  enum { PX_A_TICK = 60 };
  double ticks[AXIS_TICKS], ended = -1e9;
  int n = axis_ticks(a, (int)fmax(2, (a->to - a->from) / PX_A_TICK), ticks);
  put_uprights(s, "c-grid", a, ticks, n, (struct svg_point){top, y});
  put_uprights(s, "c-axis", a, ticks, n, (struct svg_point){y, y + 4});
  for (int i = 0; i < n; i++) {
    char text[48];
    double x = axis_at(a, ticks[i]), half = svg_text_width(axis_text(ticks[i], text, sizeof text)) / 2;
    if (x - half < ended + 4 || x - half < 0 || x + half > s->width) // labels never touch, and never leave the picture
      continue;
    svg_text(s, "c-muted", (struct svg_point){x, y + SVG_LINE}, 'm', s->width, text);
    ended = x + half;
  }
  svg_line(s, "c-axis", (struct svg_point){a->from, y}, (struct svg_point){a->to, y});
  svg_text(s, "c-muted", (struct svg_point){a->to, y + 2 * SVG_LINE}, 'e', a->to - 8, name);
}

void axis_draw_up(struct svg *s, const struct axis *y, const struct axis *x, const struct axis_labels *l) {
  double ticks[AXIS_TICKS];
  int n = axis_ticks(y, 6, ticks);
  for (int i = 0; i < n; i++) {
    char text[48];
    double at = axis_at(y, ticks[i]);
    svg_line(s, "c-grid", (struct svg_point){x->from, at}, (struct svg_point){x->to, at});
    svg_text(s, "c-muted", (struct svg_point){x->from - l->gap, at + 4}, 'e', x->from - l->gap - 2,
             axis_text(ticks[i] / l->unit, text, sizeof text));
  }
}
