// SPDX-License-Identifier: Apache-2.0
// Within src/site: charts on pages. Each is drawn twice, for wide and narrow screens; the style shows one.
#ifndef SITE_CHARTS_H
#define SITE_CHARTS_H

#include "draw/draw.h"
#include "score/summary.h"
#include "site/frame.h"

typedef void chart_draw(const void *chart, const struct draw_page *page, struct buf *out);
// `id` is unique on the page.
void chart_put(struct html *w, const char *id, chart_draw *draw, const void *chart);

// fast_p of the runs that rows of one setting belong to, at most five: those with most rows. `expected`: all tasks that
// were asked for (score_tasks). Nothing where the rows have no baseline.
struct chart_fast_p {
  const struct score_row *const *rows;
  int n;
  const char *baseline;
  const struct score_names *expected;
  const char *id;
};
enum assay_status chart_put_fast_p(struct html *w, const struct site *site, const struct chart_fast_p *c,
                                   struct assay_error *err);

// The fastest right row of each task under the measured roofs of the device; without such, a sentence.
enum assay_status chart_put_roofline(struct html *w, const struct site *site, const struct score_row *const *rows,
                                     int n, struct assay_error *err);

#endif
