// SPDX-License-Identifier: Apache-2.0
// Raw samples as a strip in call order, where a drift shows, and their empirical distribution.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "draw/svg.h"
#include "score/figure.h"

enum { STRIP = 96, GAP = 12, CDF = 96, LEFT = 64, RIGHT = 16 };

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int draw_sort(const double *x, int n, double *out) {
  int known = 0;
  for (int i = 0; i < n; i++)
    if (isfinite(x[i]))
      out[known++] = x[i];
  qsort(out, (size_t)known, sizeof *out, by_value);
  return known;
}

static void put_interval(struct svg *s, const struct draw_samples *c, const struct axis *a, double bottom) {
  if (!isfinite(c->median))
    return;
  double x = axis_at(a, c->median);
  if (c->interval.low < c->interval.high) {
    double from = axis_at(a, c->interval.low);
    svg_rect(s, "c-band", (struct svg_point){from, SVG_TOP},
             (struct svg_point){axis_at(a, c->interval.high) - from, bottom - SVG_TOP});
  }
  svg_line(s, "c-level", (struct svg_point){x, SVG_TOP}, (struct svg_point){x, bottom});
}

// What both renditions have in common: the narrow one shows the paths of the wide one, of which a page has 10 kB.
static void again(struct svg *s, const struct draw_page *page, const char *part, const struct axis *a) {
  const struct svg_range here = {a->from, a->to}, wide = {LEFT, DRAW_WIDE - RIGHT};
  svg_again(s, page, part, &here, &wide);
}

// All samples are one path: 200 elements would be five times as long.
static void put_specks(struct svg *s, const struct draw_samples *c, const struct draw_page *page,
                       const struct axis *a) {
  svg_named_path(s, page, "c-speck c-s1", "strip");
  for (int i = 0; i < c->n; i++)
    if (isfinite(c->values[i])) {
      svg_pen(s, 'm',
              (struct svg_point){axis_at(a, c->values[i]),
                                 SVG_TOP + 4 + (STRIP - 8) * (c->n > 1 ? (double)i / (c->n - 1) : 0.5)});
      buf_puts(s->out, "h0");
    }
  svg_path_end(s);
}

static void put_strip(struct svg *s, const struct draw_samples *c, const struct draw_page *page, const struct axis *a) {
  if (page->wide)
    again(s, page, "strip", a);
  else
    put_specks(s, c, page, a);
  svg_text(s, "c-muted", (struct svg_point){8, SVG_TOP + 12}, 's', a->from - 12, "first");
  svg_text(s, "c-muted", (struct svg_point){8, SVG_TOP + STRIP - 4}, 's', a->from - 12, "last");
}

static void put_steps(struct svg *s, const struct draw_page *page, const double *sorted, int n, const struct axis *a,
                      double top) {
  double bottom = top + CDF;
  svg_named_path(s, page, "c-curve c-axis c-s1", "share");
  svg_pen(s, 'm', (struct svg_point){a->from, bottom});
  for (int i = 0; i < n; i++) {
    const struct svg_point at = {axis_at(a, sorted[i]), bottom - CDF * (double)(i + 1) / n};
    svg_pen(s, 'h', at);
    svg_pen(s, 'v', at);
  }
  svg_pen(s, 'h', (struct svg_point){a->to, top});
  svg_path_end(s);
}

static void put_cdf(struct svg *s, const struct draw_page *page, const double *sorted, int n, const struct axis *a,
                    double top) {
  double bottom = top + CDF;
  if (page->wide)
    again(s, page, "share", a);
  else
    put_steps(s, page, sorted, n, a, top);
  svg_text(s, "c-muted", (struct svg_point){8, top + 12}, 's', a->from - 12, "100 %");
  svg_text(s, "c-muted", (struct svg_point){8, bottom}, 's', a->from - 12, "0 %");
}

void draw_samples(const struct draw_samples *c, const struct draw_page *page, struct buf *out) {
  struct axis a = {.from = LEFT, .to = page->width - RIGHT};
  double *own = c->sorted ? NULL : base_calloc((size_t)c->n + 1, sizeof *own);
  const double *sorted = c->sorted ? c->sorted : own;
  int known = c->sorted ? c->n_sorted : own ? draw_sort(c->values, c->n, own) : 0;
  out->failed = out->failed || !sorted;
  if (!axis_fit(&a, false, sorted, known)) {
    svg_empty(page, out, c->title, "There are no samples to draw.");
    base_free(own);
    return;
  }
  double second = SVG_TOP + STRIP + GAP, bottom = second + CDF;
  char desc[512], figure[96], low[48], high[48];
  struct svg s = {.out = out};
  int decimals = score_decimals(c->median, score_half_width(c->median, &c->interval));
  snprintf(desc, sizeof desc,
           "%d %s in %s from %s to %s, median %s. Above in the order of the calls, the first on top; below the "
           "share of samples up to a time.",
           known, known == 1 ? "sample" : "samples", c->unit, score_number(sorted[0], decimals, low, sizeof low),
           score_number(sorted[known - 1], decimals, high, sizeof high),
           score_figure(c->median, score_half_width(c->median, &c->interval), figure, sizeof figure));
  svg_begin(&s, page, (int)bottom + 40, c->title, desc);
  axis_draw(&s, &a, bottom, SVG_TOP, c->unit);
  put_interval(&s, c, &a, bottom);
  put_strip(&s, c, page, &a);
  put_cdf(&s, page, sorted, known, &a, second);
  svg_end(&s);
  base_free(own);
}
