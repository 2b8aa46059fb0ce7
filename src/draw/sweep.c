// SPDX-License-Identifier: Apache-2.0
// Lines over a logarithmic axis: a rate against the size of the work, or the best time so far against seconds.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/svg.h"
#include "score/figure.h"

enum { PLOT = 240, KEY = 18 };

static bool has_value(const struct draw_sweep_point *p) {
  return isfinite(p->x) && p->x > 0 && isfinite(p->y) && p->y > 0;
}

static bool fit(const struct draw_sweep *c, struct axis *x, struct axis *y) {
  bool any = false, there = false;
  for (int i = 0; i < c->n; i++)
    for (int k = 0; k < c->lines[i].n; k++)
      if (has_value(&c->lines[i].points[k])) {
        axis_take(x, c->lines[i].points[k].x, &any);
        axis_take(y, c->lines[i].points[k].y, &there);
      }
  return axis_close(x, any) && axis_close(y, there);
}

// Of each line its best value: the largest rate, or of steps the last time.
static void describe(const struct draw_sweep *c, struct buf *desc) {
  buf_printf(desc, "%d %s: %s against %s, on logarithmic axes.", c->n, c->n == 1 ? "line" : "lines", c->y_name,
             c->x_name);
  for (int i = 0; i < c->n; i++) {
    const struct draw_sweep_point *best = NULL;
    for (int k = 0; k < c->lines[i].n; k++) {
      const struct draw_sweep_point *p = &c->lines[i].points[k];
      if (has_value(p) && (!best || (c->steps ? p->y < best->y : p->y > best->y)))
        best = p;
    }
    char y[48], x[48];
    if (best)
      buf_printf(desc, " %s: %s %s at %s.", c->lines[i].label, c->steps ? "best" : "at most",
                 score_number(best->y,
                              best->y < 1    ? score_decimals(best->y, NAN)
                              : best->y < 10 ? 3
                                             : 0,
                              y, sizeof y),
                 score_number(best->x, score_decimals(best->x, NAN), x, sizeof x));
  }
}

// From 1.
static int look_of(const struct draw_sweep *c, int number) {
  return c->lines[number].look > 0 ? c->lines[number].look : number + 1;
}

// Lines differ in colour and dash, as in fast_p; the sixth and later are grey, and differ in their dash.
static void class_of(const struct draw_sweep *c, int number, char class[64]) {
  const int look = look_of(c, number), dash = (look - 1) % DRAW_MOST_CURVES + 1;
  snprintf(class, 64, "c-curve c-s%d", look > DRAW_MOST_CURVES ? 0 : look);
  if (dash > 1)
    snprintf(class + strlen(class), 16, " c-dash%d", dash);
}

static void put_line(struct svg *s, const struct draw_sweep *c, int number, const struct axis *x,
                     const struct axis *y) {
  const struct draw_sweep_line *l = &c->lines[number];
  char class[64];
  double last = NAN;
  class_of(c, number, class);
  svg_path(s, class);
  for (int k = 0; k < l->n; k++) {
    const struct draw_sweep_point *p = &l->points[k];
    if (!has_value(p))
      continue;
    double at_x = axis_at(x, p->x), at_y = axis_at(y, p->y);
    if (c->steps && !isnan(last))
      svg_to(s, 'L', (struct svg_point){at_x, last});
    svg_to(s, isnan(last) ? 'M' : 'L', (struct svg_point){at_x, at_y});
    last = at_y;
  }
  svg_path_end(s);
  if (!isnan(last)) { // a point by itself has no line
    snprintf(class, sizeof class, "c-dot c-s%d", look_of(c, number) > DRAW_MOST_CURVES ? 0 : look_of(c, number));
    svg_path(s, class);
    for (int k = 0; k < l->n; k++)
      if (has_value(&l->points[k]))
        svg_dot(s, (struct svg_point){axis_at(x, l->points[k].x), axis_at(y, l->points[k].y)});
    svg_path_end(s);
  }
}

static void put_key(struct svg *s, const struct draw_sweep *c, double top) {
  for (int i = 0; i < c->n; i++) {
    char class[64];
    double y = top + KEY * i;
    class_of(c, i, class);
    svg_line(s, class, (struct svg_point){8, y - 4}, (struct svg_point){40, y - 4});
    svg_text(s, "c-text", (struct svg_point){48, y}, 's', s->width - 56, c->lines[i].label);
  }
}

void draw_sweep(const struct draw_sweep *c, const struct draw_page *page, struct buf *out) {
  double bottom = SVG_TOP + SVG_LINE + PLOT, key = bottom + 56;
  struct axis x = {.log = true, .from = 56, .to = page->width - 16};
  struct axis y = {.log = true, .from = bottom, .to = SVG_TOP + SVG_LINE};
  if (!fit(c, &x, &y)) {
    svg_empty(page, out, c->title, "Nothing has a time here, so there is no line.");
    return;
  }
  struct buf desc = {0};
  struct svg s = {.out = out};
  describe(c, &desc);
  svg_begin(&s, page, (int)(key + KEY * c->n), c->title, buf_str(&desc));
  svg_text(&s, "c-muted", (struct svg_point){8, SVG_TOP + 8}, 's', s.width - 16, c->y_name);
  axis_draw_up(&s, &y, &x, &(struct axis_labels){.unit = 1, .gap = 6});
  axis_draw(&s, &x, bottom, SVG_TOP + SVG_LINE, c->x_name);
  for (int i = c->n - 1; i >= 0; i--)
    put_line(&s, c, i, &x, &y);
  put_key(&s, c, key);
  svg_end(&s);
  out->failed = out->failed || desc.failed;
  buf_release(&desc);
}
