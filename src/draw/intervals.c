// SPDX-License-Identifier: Apache-2.0
// Times with intervals: a row each, the floor and baselines as lines through all.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/svg.h"
#include "score/figure.h"

static bool has_value(const struct draw_dot *d) {
  return isfinite(d->value) && d->value > 0;
}

// "611.2 +-0.4 us"
static const char *value_text(double value, const struct interval *in, const char *unit, char *text, size_t size) {
  char figure[96];
  score_figure(value, score_half_width(value, in), figure, sizeof figure);
  snprintf(text, size, "%s%s%s", figure, unit[0] ? " " : "", unit);
  return text;
}

static void describe(const struct draw_intervals *c, struct buf *desc) {
  const struct draw_dot *best = NULL;
  int n = 0;
  char text[128];
  for (int i = 0; i < c->n; i++) {
    n += has_value(&c->dots[i]);
    if (has_value(&c->dots[i]) && (!best || c->dots[i].value < best->value))
      best = &c->dots[i];
  }
  buf_printf(desc, "%d %s, %d with a time, on a logarithmic axis.", c->n, c->n == 1 ? "entry" : "entries", n);
  if (best)
    buf_printf(desc, " Fastest: %s, %s.", best->label,
               value_text(best->value, &best->interval, c->unit, text, sizeof text));
  for (int i = 0; i < c->n_levels; i++)
    if (isfinite(c->levels[i].value))
      buf_printf(desc, " %s: %s.", c->levels[i].label,
                 value_text(c->levels[i].value, &c->levels[i].interval, c->unit, text, sizeof text));
}

// Times that are nearly the same look so: the axis spans at least a tenth. Two judgements of a kernel differ by 1 %.
static const double LEAST_SPAN = 1.1;

static bool fit(const struct draw_intervals *c, struct axis *a) {
  bool any = false;
  for (int i = 0; i < c->n; i++)
    if (has_value(&c->dots[i])) {
      axis_take(a, c->dots[i].value, &any);
      axis_take(a, c->dots[i].interval.low, &any);
      axis_take(a, c->dots[i].interval.high, &any);
    }
  for (int i = 0; i < c->n_levels && any; i++)
    axis_take(a, c->levels[i].value, &any);
  const double span = any ? a->high / a->low : LEAST_SPAN;
  if (span > 1 && span < LEAST_SPAN) {
    a->low /= sqrt(LEAST_SPAN / span);
    a->high *= sqrt(LEAST_SPAN / span);
  }
  return axis_close(a, any);
}

// Labels of the lines stand above the rows, one line of text each, so that they never meet.
static void put_levels(struct svg *s, const struct draw_intervals *c, const struct axis *a, double bottom) {
  for (int i = 0; i < c->n_levels; i++) {
    const struct draw_level *l = &c->levels[i];
    if (!isfinite(l->value) || l->value <= 0)
      continue;
    double x = axis_at(a, l->value), top = SVG_TOP + SVG_LINE * i, width = svg_text_width(l->label);
    bool left = x + 6 + width > s->width;
    if (l->interval.low < l->interval.high) {
      double from = axis_at(a, l->interval.low);
      svg_rect(s, "c-band", (struct svg_point){from, top},
               (struct svg_point){axis_at(a, l->interval.high) - from, bottom - top});
    }
    svg_line(s, "c-level", (struct svg_point){x, top}, (struct svg_point){x, bottom});
    svg_text(s, "c-muted", (struct svg_point){left ? x - 4 : x + 4, top + 11}, left ? 'e' : 's',
             left ? x - 8 : s->width - x - 4, l->label);
  }
}

static const char *colour_of(enum draw_mark mark) {
  return mark == DRAW_RIGHT ? "c-s1" : mark == DRAW_UNSTABLE ? "c-caution" : "c-bad";
}

static void put_row(struct svg *s, const struct draw_intervals *c, const struct axis *a, int row, double y) {
  const struct draw_dot *d = &c->dots[row];
  bool wide = s->width >= DRAW_WIDE;
  double text_y = wide ? y + 4 : y - 10, right = s->width - 8;
  char text[160];
  if (has_value(d))
    value_text(d->value, &d->interval, "", text, sizeof text);
  else
    snprintf(text, sizeof text, "%s", d->note ? d->note : "no time");
  double value_room = fmin(svg_text_width(text), 150);
  svg_text(s, "c-text", (struct svg_point){8, text_y}, 's', wide ? a->from - 20 : right - value_room - 16, d->label);
  svg_text(s, has_value(d) ? "c-text" : "c-muted", (struct svg_point){right, text_y}, 'e', 150, text);
  if (!has_value(d)) {
    svg_mark(s, colour_of(d->mark), (struct svg_point){a->from, y}, d->mark);
    return;
  }
  if (d->interval.low > 0 && d->interval.low < d->interval.high && isfinite(d->interval.high))
    svg_line(s, d->mark == DRAW_RIGHT ? "c-bar c-s1" : "c-bar c-caution",
             (struct svg_point){axis_at(a, d->interval.low), y}, (struct svg_point){axis_at(a, d->interval.high), y});
  svg_mark(s, colour_of(d->mark), (struct svg_point){axis_at(a, d->value), y}, d->mark);
}

void draw_intervals(const struct draw_intervals *c, const struct draw_page *page, struct buf *out) {
  bool wide = page->width >= DRAW_WIDE;
  double row = wide ? 22 : 36, first = SVG_TOP + SVG_LINE * c->n_levels + 4, bottom = first + row * c->n + 4;
  struct axis a = {.log = true, .from = wide ? 216 : 14, .to = page->width - (wide ? 168 : 14)};
  if (!fit(c, &a)) {
    svg_empty(page, out, c->title,
              c->n ? "No entry has a time, so there is nothing to draw." : "There is no entry to draw.");
    return;
  }
  struct buf desc = {0};
  struct svg s = {.out = out};
  char name[64];
  describe(c, &desc);
  svg_begin(&s, page, (int)bottom + 40, c->title, buf_str(&desc));
  snprintf(name, sizeof name, "%s, logarithmic", c->unit);
  axis_draw(&s, &a, bottom, first, name);
  put_levels(&s, c, &a, bottom);
  for (int i = 0; i < c->n; i++)
    put_row(&s, c, &a, i, first + row * i + (wide ? row / 2 : 26));
  svg_end(&s);
  out->failed = out->failed || desc.failed;
  buf_release(&desc);
}
