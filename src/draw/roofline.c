// SPDX-License-Identifier: Apache-2.0
// The roofline of a device, and what kernels reach of it. The work is what the task needs, so all kernels of a task
// stand in one column.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/svg.h"
#include "score/figure.h"

enum { PLOT = 260, ROOF_PLACES = 3 };

static bool is_drawn(const struct draw_point *p) {
  return p->flops > 0 && p->bytes > 0 && p->ns > 0 && isfinite(p->flops / p->bytes) && isfinite(p->flops / p->ns);
}

// Tasks without operations move bytes only; they stand at the left edge.
static bool is_rug(const struct draw_point *p) {
  return p->flops == 0 && p->bytes > 0 && p->ns > 0 && isfinite(p->bytes / p->ns);
}

static double best_roof(const struct draw_roofline *c) {
  double best = 0;
  for (int i = 0; i < c->n_roofs; i++)
    if (isfinite(c->roofs[i].flops_per_s))
      best = fmax(best, c->roofs[i].flops_per_s);
  return best;
}

static bool fit(const struct draw_roofline *c, struct axis *x, struct axis *y) {
  bool any_x = false, any_y = false;
  for (int i = 0; i < c->n; i++)
    if (is_drawn(&c->points[i])) {
      axis_take(x, c->points[i].flops / c->points[i].bytes, &any_x);
      axis_take(y, c->points[i].flops / c->points[i].ns * 1e9, &any_y);
    }
  for (int i = 0; i < c->n_roofs; i++) { // the ridges are always to be seen
    axis_take(x, c->roofs[i].flops_per_s / c->bytes_per_s, &any_x);
    axis_take(y, c->roofs[i].flops_per_s, &any_y);
  }
  if (!any_x) // no roof of operations: bytes alone
    return false;
  axis_take(x, x->low / 4, &any_x);
  axis_take(x, x->high * 4, &any_x);
  axis_take(y, y->high * 1.5, &any_y);
  return axis_close(x, any_x) && axis_close(y, any_y);
}

static void put_roofs(struct svg *s, const struct draw_roofline *c, const struct axis *x, const struct axis *y) {
  double top = best_roof(c);
  double ridge = top > 0 ? fmin(top / c->bytes_per_s, x->high) : x->high;
  double from = fmax(x->low, y->low / c->bytes_per_s);
  if (from < ridge)
    svg_line(s, "c-curve c-s1", (struct svg_point){axis_at(x, from), axis_at(y, from * c->bytes_per_s)},
             (struct svg_point){axis_at(x, ridge), axis_at(y, ridge * c->bytes_per_s)});
  for (int i = 0; i < c->n_roofs; i++) {
    const struct draw_roof *r = &c->roofs[i];
    double at = r->flops_per_s / c->bytes_per_s;
    if (!(r->flops_per_s > 0) || !isfinite(at) || at > x->high)
      continue;
    double height = axis_at(y, r->flops_per_s);
    svg_line(s, "c-curve c-s1", (struct svg_point){axis_at(x, fmax(at, x->low)), height},
             (struct svg_point){x->to, height});
    // Roofs that are near each other: each label a place further to the left, while there are any.
    int place = 0;
    for (int k = 0; k < i; k++)
      place += fabs(axis_at(y, c->roofs[k].flops_per_s) - height) < SVG_LINE;
    const double room = (x->to - x->from) / ROOF_PLACES, right = x->to - room * (place % ROOF_PLACES);
    svg_text(s, "c-muted", (struct svg_point){right, height - 6}, 'e', room - 4, r->label);
  }
}

static int put_points(struct svg *s, const struct draw_roofline *c, const struct axis *x, const struct axis *y) {
  int rugs = 0;
  for (int i = 0; i < c->n; i++) {
    const struct draw_point *p = &c->points[i];
    if (is_drawn(p))
      svg_mark(s, p->mark == DRAW_RIGHT ? "c-s2" : "c-caution",
               (struct svg_point){axis_at(x, p->flops / p->bytes), axis_at(y, p->flops / p->ns * 1e9)}, p->mark);
    if (!is_rug(p))
      continue;
    // By its part of the bandwidth: the bottom is none of it, the top all.
    double part = fmin(1, p->bytes / p->ns * 1e9 / c->bytes_per_s), height = y->from + part * (y->to - y->from);
    svg_line(s, "c-bar c-s2", (struct svg_point){x->from - 10, height}, (struct svg_point){x->from - 2, height});
    rugs++;
  }
  return rugs;
}

static void describe(const struct draw_roofline *c, struct buf *desc) {
  char text[48];
  int drawn = 0, rugs = 0;
  for (int i = 0; i < c->n; i++) {
    drawn += is_drawn(&c->points[i]);
    rugs += is_rug(&c->points[i]);
  }
  buf_printf(desc, "%s: %s GB/s measured", c->device,
             score_number(c->bytes_per_s / 1e9, c->bytes_per_s < 1e11, text, sizeof text));
  for (int i = 0; i < c->n_roofs; i++)
    if (c->roofs[i].flops_per_s > 0) {
      const bool tera = c->roofs[i].flops_per_s >= 1e12;
      buf_printf(desc, ", %s %s %sFLOP/s", c->roofs[i].label,
                 score_number(c->roofs[i].flops_per_s / (tera ? 1e12 : 1e9), 1, text, sizeof text), tera ? "T" : "G");
    }
  if (drawn || rugs)
    buf_printf(desc, ". %d %s by the work that %s task needs, not by traffic that was counted", drawn,
               drawn == 1 ? "kernel" : "kernels", drawn == 1 ? "its" : "their");
  else
    buf_puts(desc, ". No kernel is drawn: there is no time, or the work that the task needs was not kept with it");
  if (rugs)
    buf_printf(desc, "; %d of tasks without operations at the left edge, by their part of the bandwidth", rugs);
  buf_puts(desc, ".");
}

static void put_rates(struct svg *s, const struct axis *y, const struct axis *x) {
  const bool tera = y->high >= 1e12;
  axis_draw_up(s, y, x, &(struct axis_labels){.unit = tera ? 1e12 : 1e9, .gap = 14});
  svg_text(s, "c-muted", (struct svg_point){8, SVG_TOP + 4}, 's', s->width - 16, tera ? "TFLOP/s" : "GFLOP/s");
}

void draw_roofline(const struct draw_roofline *c, const struct draw_page *page, struct buf *out) {
  double top = SVG_TOP + 16, bottom = top + PLOT;
  struct axis x = {.log = true, .from = 70, .to = page->width - 16}, y = {.log = true, .from = bottom, .to = top};
  if (!(c->bytes_per_s > 0) || !isfinite(c->bytes_per_s)) {
    svg_empty(page, out, c->title, "No roof of this device was measured: assay doctor --calibrate does it.");
    return;
  }
  if (!fit(c, &x, &y)) {
    svg_empty(page, out, c->title, "No roof of operations was measured, and no kernel has a time: nothing to draw.");
    return;
  }
  struct buf desc = {0};
  struct svg s = {.out = out};
  describe(c, &desc);
  svg_begin(&s, page, (int)bottom + 40, c->title, buf_str(&desc));
  put_rates(&s, &y, &x);
  axis_draw(&s, &x, bottom, top, page->width >= DRAW_WIDE ? "FLOP a byte that the task needs" : "FLOP a needed byte");
  put_roofs(&s, c, &x, &y);
  put_points(&s, c, &x, &y);
  svg_end(&s);
  out->failed = out->failed || desc.failed;
  buf_release(&desc);
}
