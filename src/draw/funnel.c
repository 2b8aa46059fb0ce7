// SPDX-License-Identifier: Apache-2.0
// From asked to faster: a bar each, all on the scale of the first.
#include <stdio.h>
#include <string.h>

#include "draw/svg.h"

void draw_funnel(const struct draw_funnel *c, const struct draw_page *page, struct buf *out) {
  enum { ROW = 26 };
  double from = 96, to = page->width - 72, bottom = SVG_TOP + ROW * c->n;
  int whole = c->n > 0 ? c->stages[0].count : 0;
  if (whole <= 0) {
    svg_empty(page, out, c->title, "Nothing was asked for, so there is nothing to count.");
    return;
  }
  struct buf desc = {0};
  struct svg s = {.out = out};
  for (int i = 0; i < c->n; i++)
    buf_printf(&desc, "%s%s %d", i ? ", " : "", c->stages[i].label, c->stages[i].count);
  buf_puts(&desc, ".");
  svg_begin(&s, page, (int)bottom + 8, c->title, buf_str(&desc));
  for (int i = 0; i < c->n; i++) {
    char text[32];
    int count = c->stages[i].count < 0 ? 0 : c->stages[i].count > whole ? whole : c->stages[i].count;
    double y = SVG_TOP + ROW * i;
    svg_text(&s, "c-text", (struct svg_point){from - 8, y + 15}, 'e', from - 16, c->stages[i].label);
    svg_rect(&s, "c-band", (struct svg_point){from, y + 2}, (struct svg_point){to - from, ROW - 6});
    svg_rect(&s, "c-f1", (struct svg_point){from, y + 2}, (struct svg_point){(to - from) * count / whole, ROW - 6});
    snprintf(text, sizeof text, "%d", c->stages[i].count);
    svg_text(&s, "c-text", (struct svg_point){to + 8, y + 15}, 's', page->width - to - 12, text);
  }
  svg_end(&s);
  out->failed = out->failed || desc.failed;
  buf_release(&desc);
}
