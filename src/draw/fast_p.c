// SPDX-License-Identifier: Apache-2.0
// fast_p as a step curve with its band.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/svg.h"

enum { PLOT = 220, KEY = 18, LEFT = 56, RIGHT = 16 };
static const double LEAST_P = 0.1, MOST_P = 10;

// The step that holds at p; -1: the curve begins later.
static int step_at(const struct draw_curve *c, double p) {
  int at = -1;
  while (at + 1 < c->n && c->steps[at + 1].p <= p)
    at++;
  return at;
}

static double y_of(double share) {
  return SVG_TOP + PLOT * (1 - (isnan(share) ? 0 : fmin(fmax(share, 0), 1)));
}

// The narrow rendition shows the curve of the wide one, stretched.
static void put_line(struct svg *s, const struct draw_page *page, const struct draw_curve *c, const struct axis *a,
                     int number) {
  char class[64], part[24];
  if (c->n == 0)
    return;
  snprintf(part, sizeof part, "line%d", number);
  if (page->wide) {
    const struct svg_range here = {a->from, a->to}, wide = {LEFT, DRAW_WIDE - RIGHT};
    svg_again(s, page, part, &here, &wide);
    return;
  }
  bool grey = number >= DRAW_MOST_CURVES;
  snprintf(class, sizeof class, "c-curve c-s%d%s%c", grey ? 0 : number + 1, number && !grey ? " c-dash" : "",
           number && !grey ? '1' + number : ' ');
  int at = step_at(c, LEAST_P);
  double share = at >= 0 ? c->steps[at].share : 1;
  svg_named_path(s, page, class, part);
  svg_pen(s, 'm', (struct svg_point){a->from, y_of(share)});
  for (int i = at + 1; i < c->n && c->steps[i].p <= MOST_P; i++) {
    const struct svg_point to = {axis_at(a, c->steps[i].p), y_of(c->steps[i].share)};
    svg_pen(s, 'h', to);
    svg_pen(s, 'v', to);
    share = c->steps[i].share;
  }
  svg_pen(s, 'h', (struct svg_point){a->to, y_of(share)});
  svg_path_end(s);
}

// Of one curve only: bands of several hide each other.
static void put_band(struct svg *s, const struct draw_curve *c, const struct axis *a) {
  int at = step_at(c, LEAST_P), last = step_at(c, MOST_P);
  if (at < 0 || isnan(c->steps[at].interval.low))
    return;
  svg_path(s, "c-area c-f1");
  svg_to(s, 'M', (struct svg_point){a->from, y_of(c->steps[at].interval.high)});
  for (int i = at; i <= last; i++) {
    double next = i < last ? axis_at(a, c->steps[i + 1].p) : a->to;
    svg_to(s, 'L', (struct svg_point){i > at ? axis_at(a, c->steps[i].p) : a->from, y_of(c->steps[i].interval.high)});
    svg_to(s, 'L', (struct svg_point){next, y_of(c->steps[i].interval.high)});
  }
  for (int i = last; i >= at; i--) {
    double next = i < last ? axis_at(a, c->steps[i + 1].p) : a->to;
    svg_to(s, 'L', (struct svg_point){next, y_of(c->steps[i].interval.low)});
    svg_to(s, 'L', (struct svg_point){i > at ? axis_at(a, c->steps[i].p) : a->from, y_of(c->steps[i].interval.low)});
  }
  svg_path_end(s);
}

static void describe(const struct draw_fast_p *c, struct buf *desc) {
  buf_printf(desc, "Share of all %d %s right and more than p times as fast as %s.", c->n_tasks,
             c->n_tasks == 1 ? "task that is" : "tasks that are", c->baseline);
  for (int i = 0; i < c->n; i++) {
    int at = step_at(&c->curves[i], 1);
    if (at < 0)
      continue;
    const struct draw_step *t = &c->curves[i].steps[at];
    buf_printf(desc, " %s: %d %% of the tasks are faster than the baseline", c->curves[i].label,
               (int)lround(100 * t->share));
    if (!isnan(t->interval.low))
      buf_printf(desc, " (%d to %d %%)", (int)lround(100 * t->interval.low), (int)lround(100 * t->interval.high));
    buf_puts(desc, ".");
  }
}

static void put_shares(struct svg *s, const struct axis *a) {
  for (int i = 0; i <= 4; i++) {
    char text[16];
    double y = y_of(i / 4.0);
    svg_line(s, "c-grid", (struct svg_point){a->from, y}, (struct svg_point){a->to, y});
    snprintf(text, sizeof text, "%d %%", 25 * i);
    svg_text(s, "c-muted", (struct svg_point){a->from - 6, y + 4}, 'e', a->from - 8, text);
  }
}

static void put_key(struct svg *s, const struct draw_fast_p *c, double top) {
  for (int i = 0; i < c->n; i++) {
    char class[64];
    double y = top + KEY * i;
    bool grey = i >= DRAW_MOST_CURVES;
    snprintf(class, sizeof class, "c-curve c-s%d%s%c", grey ? 0 : i + 1, i && !grey ? " c-dash" : "",
             i && !grey ? '1' + i : ' ');
    svg_line(s, class, (struct svg_point){8, y - 4}, (struct svg_point){40, y - 4});
    char label[256];
    snprintf(label, sizeof label, "%s%.180s", c->curves[i].n ? "" : "no time beside it: ", c->curves[i].label);
    svg_text(s, "c-text", (struct svg_point){48, y}, 's', s->width - 56, c->curves[i].n ? c->curves[i].label : label);
  }
}

void draw_fast_p(const struct draw_fast_p *c, const struct draw_page *page, struct buf *out) {
  bool any = false;
  for (int i = 0; i < c->n; i++)
    any = any || c->curves[i].n > 0;
  if (!any) {
    svg_empty(page, out, c->title, "No right kernel has a time beside the baseline, so there is no curve.");
    return;
  }
  struct axis a = {LEAST_P, MOST_P, true, LEFT, page->width - RIGHT};
  double bottom = SVG_TOP + PLOT, key = bottom + 56;
  struct buf desc = {0};
  struct svg s = {.out = out};
  char name[160];
  describe(c, &desc);
  svg_begin(&s, page, (int)(key + KEY * c->n), c->title, buf_str(&desc));
  put_shares(&s, &a);
  snprintf(name, sizeof name, page->width >= DRAW_WIDE ? "p: times as fast as %s%s" : "p, over %s%s", c->baseline,
           c->n == 1 && page->width >= DRAW_WIDE ? "; band: pointwise 95 %" : "");
  axis_draw(&s, &a, bottom, SVG_TOP, name);
  double one = axis_at(&a, 1);
  svg_line(&s, "c-level", (struct svg_point){one, SVG_TOP}, (struct svg_point){one, bottom});
  if (c->n == 1)
    put_band(&s, &c->curves[0], &a);
  for (int i = c->n - 1; i >= 0; i--)
    put_line(&s, page, &c->curves[i], &a, i);
  put_key(&s, c, key);
  svg_end(&s);
  out->failed = out->failed || desc.failed;
  buf_release(&desc);
}
