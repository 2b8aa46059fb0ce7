// SPDX-License-Identifier: Apache-2.0
#include "site/charts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "report/plots.h"
#include "score/group.h"

struct rendition {
  chart_draw *draw;
  const void *chart;
  struct draw_page page;
};

static void draw_rendition(const void *chart, struct buf *out) {
  const struct rendition *r = chart;
  r->draw(r->chart, &r->page, out);
}

void chart_put(struct html *w, const char *id, chart_draw *draw, const void *chart) {
  static const struct {
    const char *class;
    int width;
  } forms[] = {{"broad", DRAW_WIDE}, {"narrow", DRAW_NARROW}};
  struct buf words = {0};
  char caption[64], names[2][64];
  snprintf(caption, sizeof caption, "%s-caption", id);
  html_open(w, EL_FIGURE);
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    snprintf(names[i], sizeof names[i], "%s-%s", id, forms[i].class);
    const struct rendition r = {
        draw, chart, {forms[i].width, names[i], false, &words, caption, i > 0 ? names[0] : NULL}};
    html_open(w, EL_DIV);
    html_attr(w, AT_CLASS, forms[i].class);
    html_drawing(w, draw_rendition, &r);
    html_close(w, EL_DIV);
  }
  if (words.len > 0) {
    html_open(w, EL_FIGCAPTION);
    html_attr(w, AT_ID, caption);
    html_text(w, buf_str(&words));
    html_close(w, EL_FIGCAPTION);
  }
  html_close(w, EL_FIGURE);
  w->out->failed = w->out->failed || words.failed;
  buf_release(&words);
}

// --- fast_p

static const struct site_row *row_of(const struct score_row *score) {
  return (const struct site_row *)(const void *)score; // its first member
}

struct share {
  int run, n;
};

static int by_size(const void *a, const void *b) {
  const struct share *x = a, *y = b;
  return x->n != y->n ? y->n - x->n : x->run - y->run;
}

struct curves {
  struct plot_run runs[DRAW_MOST_CURVES];
  int n;
  const char *baseline;
};

static void draw_curves(const void *chart, const struct draw_page *page, struct buf *out) {
  const struct curves *c = chart;
  struct assay_error ignored = {0};
  plot_fast_p(c->runs, c->n, c->baseline, "fast_p", page, out, &ignored); // no memory is `failed` in the buffer, too
}

static enum assay_status add_curve(struct curves *all, const struct site *site, const struct chart_fast_p *c, int run,
                                   struct assay_error *err) {
  const struct score_row **rows = base_calloc((size_t)c->n + 1, sizeof *rows);
  struct score_task *tasks = NULL;
  int n = 0, n_tasks = 0;
  if (!rows)
    return error_nomem(err, "a chart");
  for (int i = 0; i < c->n; i++)
    if (row_of(c->rows[i])->run == run)
      rows[n++] = c->rows[i];
  const struct score_question q = {.ask = SCORE_ASK_SPEED, .at = rows[0]->setting, .baseline = c->baseline};
  enum assay_status status = score_tasks(rows, n, &q, c->expected, &tasks, &n_tasks, err);
  if (!status)
    all->runs[all->n++] = (struct plot_run){site->runs[run].title, tasks, n_tasks};
  base_free(rows);
  return status;
}

enum assay_status chart_put_fast_p(struct html *w, const struct site *site, const struct chart_fast_p *c,
                                   struct assay_error *err) {
  struct share *shares = base_calloc((size_t)site->n_runs + 1, sizeof *shares);
  struct curves all = {.baseline = c->baseline};
  enum assay_status status = shares ? ASSAY_OK : error_nomem(err, "a chart");
  for (int i = 0; i < site->n_runs && shares; i++)
    shares[i].run = i;
  // Runs whose rows were never next to the baseline have no curve: theirs would lie at nothing.
  for (int i = 0; i < c->n && shares && c->baseline; i++)
    shares[row_of(c->rows[i])->run].n += score_baseline_of(c->rows[i], c->baseline) != NULL;
  if (shares)
    qsort(shares, (size_t)site->n_runs, sizeof *shares, by_size);
  for (int i = 0; i < site->n_runs && i < DRAW_MOST_CURVES && !status && shares[i].n > 0; i++)
    status = add_curve(&all, site, c, shares[i].run, err);
  if (!status && all.n > 0)
    chart_put(w, c->id, draw_curves, &all);
  for (int i = 0; i < all.n; i++)
    base_free((void *)all.runs[i].tasks);
  base_free(shares);
  return status;
}

// --- roofline

struct roofs {
  struct plot_run run;
  struct assay_peaks peaks;
};

static void draw_roofs(const void *chart, const struct draw_page *page, struct buf *out) {
  const struct roofs *r = chart;
  struct assay_error ignored = {0};
  plot_roofline(&r->run, &r->peaks, "roofline", page, out, &ignored);
}

// Those whose device this is; all zero where none is.
static struct assay_peaks peaks_of(const struct site *site, const char *device) {
  for (int i = 0; i < site->n_peaks; i++) {
    const struct assay_peaks *p = &site->peaks[i];
    if (plot_peaks_are_of(p, device))
      return *p;
  }
  return (struct assay_peaks){0};
}

// The setting at which most rows have a time and the work that their task needs.
static enum assay_status most_drawn(const struct score_row *const *rows, int n, struct score_setting *out,
                                    struct assay_error *err) {
  const struct score_row **sorted = base_calloc((size_t)n + 1, sizeof *sorted);
  struct score_group *groups = NULL;
  int count = 0, most = -1;
  if (!sorted)
    return error_nomem(err, "a chart");
  memcpy(sorted, rows, (size_t)n * sizeof *sorted);
  enum assay_status status = score_group_settings(sorted, n, &groups, &count, err);
  for (int i = 0; i < count && !status; i++) { // the same setting is a group of each level
    int drawn = 0;
    for (int k = 0; k < count; k++)
      for (int r = 0; r < groups[k].n && score_same_setting(&groups[k].rows[0]->setting, &groups[i].rows[0]->setting);
           r++)
        drawn += groups[k].rows[r]->time_ns > 0 && groups[k].rows[r]->bytes > 0;
    if (drawn > most) {
      most = drawn;
      *out = groups[i].rows[0]->setting;
    }
  }
  base_free(groups);
  base_free(sorted);
  return status;
}

enum assay_status chart_put_roofline(struct html *w, const struct site *site, const struct score_row *const *rows,
                                     int n, struct assay_error *err) {
  struct score_task *tasks = NULL;
  int n_tasks = 0;
  if (n == 0)
    return ASSAY_OK;
  struct score_question q = {.ask = SCORE_ASK_TIME, .newest_only = true};
  enum assay_status status = most_drawn(rows, n, &q.at, err);
  if (!status)
    status = score_tasks(rows, n, &q, NULL, &tasks, &n_tasks, err);
  if (!status) {
    const struct roofs r = {{"", tasks, n_tasks}, peaks_of(site, q.at.device)};
    chart_put(w, "roofline", draw_roofs, &r);
  }
  base_free(tasks);
  return status;
}
