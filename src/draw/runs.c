// SPDX-License-Identifier: Apache-2.0
// Two runs: ratios around a zero line, and slopes from one to the other.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/svg.h"
#include "score/figure.h"

static bool is_known(double x) {
  return isfinite(x) && x > 0;
}

// --- ratios

struct split {
  int a, b, none; // surely faster in A, in B, and neither
};

static struct split split_of(const struct draw_ratios *c) {
  struct split s = {0};
  for (int i = 0; i < c->n; i++) {
    const struct draw_ratio *r = &c->items[i];
    s.b += is_known(r->ratio) && r->faster == 2;
    s.a += is_known(r->ratio) && r->faster == 1;
    s.none += is_known(r->ratio) && r->faster == 0;
  }
  return s;
}

static bool fit_ratios(const struct draw_ratios *c, struct axis *a) {
  bool any = false;
  for (int i = 0; i < c->n; i++)
    if (is_known(c->items[i].ratio)) {
      axis_take(a, c->items[i].ratio, &any);
      axis_take(a, c->items[i].interval.low, &any);
      axis_take(a, c->items[i].interval.high, &any);
    }
  if (any)
    axis_take(a, 1, &any);
  return axis_close(a, any);
}

static void put_ratio(struct svg *s, const struct draw_ratio *r, const struct axis *a, double y) {
  const char *colour = !r->faster ? "c-s0" : r->faster == 2 ? "c-s3" : "c-s2";
  double text_y = s->width >= DRAW_WIDE ? y + 4 : y - 8;
  svg_text(s, "c-text", (struct svg_point){8, text_y}, 's', s->width >= DRAW_WIDE ? a->from - 20 : s->width - 16,
           r->label);
  if (!is_known(r->ratio)) {
    svg_text(s, "c-muted", (struct svg_point){a->to, text_y}, 'e', 160, "not comparable");
    return;
  }
  if (is_known(r->interval.low) && r->interval.low < r->interval.high && isfinite(r->interval.high)) {
    char class[32];
    snprintf(class, sizeof class, "c-bar %s", colour);
    svg_line(s, class, (struct svg_point){axis_at(a, r->interval.low), y},
             (struct svg_point){axis_at(a, r->interval.high), y});
  }
  svg_mark(s, colour, (struct svg_point){axis_at(a, r->ratio), y}, r->faster ? DRAW_RIGHT : DRAW_UNSTABLE);
}

void draw_ratios(const struct draw_ratios *c, const struct draw_page *page, struct buf *out) {
  bool wide = page->width >= DRAW_WIDE;
  struct axis a = {.log = true, .from = wide ? 216 : 14, .to = page->width - 16};
  if (!fit_ratios(c, &a)) {
    svg_empty(page, out, c->title, "No task has times of both runs that can be compared.");
    return;
  }
  struct split n = split_of(c);
  double row = wide ? 20 : 34, bottom = SVG_TOP + 8 + row * c->n;
  char desc[640], name[160];
  struct svg s = {.out = out};
  snprintf(desc, sizeof desc,
           "Times of %.200s over times of %.200s, task by task, on a logarithmic axis: above 1 the second is faster. "
           "%d %s faster in the second, %d in the first, %d with no difference shown.",
           c->a, c->b, n.b, n.b == 1 ? "task" : "tasks", n.a, n.none);
  svg_begin(&s, page, (int)bottom + 40, c->title, desc);
  snprintf(name, sizeof name, wide ? "A's time over B's: right of 1, B is faster" : "A's time over B's");
  axis_draw(&s, &a, bottom, SVG_TOP, name);
  svg_line(&s, "c-level", (struct svg_point){axis_at(&a, 1), SVG_TOP}, (struct svg_point){axis_at(&a, 1), bottom});
  for (int i = 0; i < c->n; i++)
    put_ratio(&s, &c->items[i], &a, SVG_TOP + 8 + row * i + (wide ? row / 2 : 24));
  svg_end(&s);
}

// --- slopes

static bool fit_slopes(const struct draw_slopes *c, struct axis *a, int *n) {
  bool any = false;
  for (int i = 0; i < c->n; i++)
    if (is_known(c->items[i].a) && is_known(c->items[i].b)) {
      axis_take(a, c->items[i].a, &any);
      axis_take(a, c->items[i].b, &any);
      ++*n;
    }
  return axis_close(a, any);
}

// The labels of one side from the top down, none nearer to the next than a line; those that do not fit are left out.
static void put_labels(struct svg *s, const struct draw_slopes *c, const struct axis *a, bool right, double x) {
  double last = -1e9, below = INFINITY;
  for (int done = 0; done < c->n; done++) {
    int next = -1;
    for (int i = 0; i < c->n; i++) {
      double v = right ? c->items[i].b : c->items[i].a;
      if (is_known(c->items[i].a) && is_known(c->items[i].b) && v < below &&
          (next < 0 || v > (right ? c->items[next].b : c->items[next].a)))
        next = i;
    }
    if (next < 0)
      return;
    below = right ? c->items[next].b : c->items[next].a;
    double y = axis_at(a, below) + 4;
    if (y - last < SVG_LINE - 2)
      continue;
    svg_text(s, "c-text", (struct svg_point){x, y}, right ? 's' : 'e', right ? s->width - x - 4 : x - 4,
             c->items[next].label);
    last = y;
  }
}

void draw_slopes(const struct draw_slopes *c, const struct draw_page *page, struct buf *out) {
  int n = 0, faster = 0, slower = 0;
  bool wide = page->width >= DRAW_WIDE;
  double bottom = SVG_TOP + 28 + fmin(fmax(18.0 * c->n, 160), 560);
  struct axis a = {.log = true, .from = bottom, .to = SVG_TOP + 28};
  if (!fit_slopes(c, &a, &n)) {
    svg_empty(page, out, c->title, "No task has times of both runs.");
    return;
  }
  double left = wide ? 240 : 90, right = page->width - left;
  char desc[640];
  struct svg s = {.out = out};
  for (int i = 0; i < c->n; i++) {
    faster += c->items[i].b < c->items[i].a;
    slower += c->items[i].b > c->items[i].a;
  }
  snprintf(desc, sizeof desc,
           "%d %s in %s in %.200s on the left and in %.200s on the right, higher is slower: %d fall, "
           "%d rise. Whether a difference is more than scatter is said by intervals, which this chart has not.",
           n, n == 1 ? "task, its times" : "tasks, their times", c->unit, c->a, c->b, faster, slower);
  svg_begin(&s, page, (int)bottom + 16, c->title, desc);
  svg_text(&s, "c-muted", (struct svg_point){left, SVG_TOP + 12}, 'e', left - 8, c->a);
  svg_text(&s, "c-muted", (struct svg_point){right, SVG_TOP + 12}, 's', left - 8, c->b);
  svg_line(&s, "c-axis", (struct svg_point){left + 8, a.to}, (struct svg_point){left + 8, bottom});
  svg_line(&s, "c-axis", (struct svg_point){right - 8, a.to}, (struct svg_point){right - 8, bottom});
  for (int i = 0; i < c->n; i++) {
    const struct draw_slope *d = &c->items[i];
    if (is_known(d->a) && is_known(d->b))
      svg_line(&s, d->b < d->a ? "c-bar c-s3" : "c-bar c-s2 c-dash2", (struct svg_point){left + 8, axis_at(&a, d->a)},
               (struct svg_point){right - 8, axis_at(&a, d->b)});
  }
  put_labels(&s, c, &a, false, left);
  put_labels(&s, c, &a, true, right);
  svg_end(&s);
}
