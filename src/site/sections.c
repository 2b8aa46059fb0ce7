// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "score/group.h"
#include "site/charts.h"
#include "site/pages.h"

const char *rows_baseline(const struct score_row *const *rows, int n) {
  enum { MOST_NAMES = 64 }; // of baselines, the first that rows have
  const char *names[MOST_NAMES];
  int times[MOST_NAMES], known = 0, best = -1;
  for (int i = 0; i < n; i++)
    for (int b = 0; b < rows[i]->n_baselines; b++) {
      const char *name = rows[i]->baselines[b].name;
      int at = 0;
      while (at < known && strcmp(names[at], name) != 0)
        at++;
      if (at == MOST_NAMES)
        continue;
      if (at == known) {
        names[at] = name;
        times[known++] = 0;
      }
      times[at] += score_baseline_of(rows[i], name) == &rows[i]->baselines[b]; // once a row
    }
  for (int i = 0; i < known; i++)
    if (times[i] > 0 &&
        (best < 0 || times[i] > times[best] || (times[i] == times[best] && strcmp(names[i], names[best]) < 0)))
      best = i;
  return best < 0 ? NULL : names[best];
}

static enum assay_status sum_up(const struct site *site, const struct site_level *level, struct section *s,
                                struct assay_error *err) {
  const char **names = base_calloc((size_t)level->n + 1, sizeof *names);
  if (!names)
    return error_nomem(err, "a level's page");
  for (int i = 0; i < level->n; i++)
    names[i] = site->tasks[level->first + i].name;
  const struct score_question q = {
      .ask = s->baseline ? SCORE_ASK_SPEED : SCORE_ASK_TIME, .at = s->at, .baseline = s->baseline};
  const struct score_names expected = {names, level->n};
  enum assay_status status = score_tasks(s->rows, s->n, &q, &expected, &s->tasks, &s->n_tasks, err);
  if (!status)
    status = score_sum_up(s->tasks, s->n_tasks, &q, &s->sum, err);
  base_free(names);
  return status;
}

// Whether a says more than b: more tasks with a speed, then with a part of the floor, then with a right kernel.
static bool says_more(const struct section *a, const struct section *b) {
  const struct score_summary *x = &a->sum, *y = &b->sum;
  if (x->n_speedups != y->n_speedups)
    return x->n_speedups > y->n_speedups;
  if (x->part_of_floor.n != y->part_of_floor.n)
    return x->part_of_floor.n > y->part_of_floor.n;
  return x->n_right > y->n_right;
}

static void order(struct sections *s) {
  for (int i = 1; i < s->n; i++)
    for (int k = i; k > 0 && says_more(&s->items[k], &s->items[k - 1]); k--) {
      const struct section moved = s->items[k];
      s->items[k] = s->items[k - 1];
      s->items[k - 1] = moved;
    }
}

enum assay_status sections_make(const struct site *site, const struct site_level *level, struct sections *out,
                                struct assay_error *err) {
  struct sections made = {.rows = base_calloc((size_t)level->n_rows + 1, sizeof *made.rows)};
  struct score_group *groups = NULL;
  int n = 0, count = 0;
  enum assay_status status = made.rows ? ASSAY_OK : error_nomem(err, "a level's page");
  for (int t = 0; t < level->n && !status; t++)
    for (int i = 0; i < site->tasks[level->first + t].n; i++) {
      const struct score_row *row = &site->rows[site->tasks[level->first + t].first + i].score;
      if (!row->replaced)
        made.rows[n++] = row;
    }
  if (!status)
    status = score_group_settings(made.rows, n, &groups, &count, err);
  if (!status && !(made.items = base_calloc((size_t)count + 1, sizeof *made.items)))
    status = error_nomem(err, "a level's page");
  for (int i = 0; i < count && !status; i++) {
    struct section *s = &made.items[made.n++];
    *s = (struct section){.rows = groups[i].rows, .n = groups[i].n, .at = groups[i].rows[0]->setting};
    for (int k = 0; k < s->n; k++)
      if (strchr(s->rows[k]->setting.device, ' '))
        s->at = s->rows[k]->setting;
    frame_setting_text(&s->at, s->title, sizeof s->title);
    s->baseline = rows_baseline(s->rows, s->n);
    status = sum_up(site, level, s, err);
  }
  if (!status)
    order(&made);
  base_free(groups);
  if (status)
    sections_release(&made);
  else
    *out = made;
  return status;
}

void sections_release(struct sections *s) {
  for (int i = 0; i < s->n; i++)
    base_free(s->items[i].tasks);
  base_free(s->items);
  base_free(s->rows);
  *s = (struct sections){0};
}

// A curve over all tasks says little where most right ones were never next to the baseline: it lies near nothing.
bool section_has_curve(const struct section *s) {
  return s->baseline && 2 * s->sum.n_speedups >= s->sum.n_right && s->sum.n_speedups > 0;
}

// How fast the runs are that were next to the baseline, over all tasks of the level.
enum assay_status put_curves(struct html *w, const struct site *site, const struct site_level *level,
                             const struct section *s, const char *id, struct assay_error *err) {
  if (!section_has_curve(s)) {
    if (s->baseline && s->sum.n_right) {
      char text[FRAME_TEXT];
      snprintf(text, sizeof text, "%d of %d right ones were timed next to %.200s: too few for a curve of fast_p.",
               s->sum.n_speedups, s->sum.n_right, s->baseline);
      frame_note(w, text);
    }
    return ASSAY_OK;
  }
  const char **names = base_calloc((size_t)level->n + 1, sizeof *names);
  if (!names)
    return error_nomem(err, "a level's page");
  for (int i = 0; i < level->n; i++)
    names[i] = site->tasks[level->first + i].name;
  const struct score_names expected = {names, level->n};
  const struct chart_fast_p c = {s->rows, s->n, s->baseline, &expected, id};
  enum assay_status status = chart_put_fast_p(w, site, &c, err);
  base_free(names);
  return status;
}

void put_funnel(struct html *w, const struct score_funnel *f, const char *baseline) {
  const struct {
    const char *word;
    int n;
  } steps[] = {{"asked", f->asked}, {"build", f->built}, {"right", f->right}, {"faster than", f->faster}};
  html_open(w, EL_OL);
  html_attr(w, AT_CLASS, "funnel");
  for (int i = 0; i < (f->baseline ? 4 : 3); i++) {
    html_open(w, EL_LI);
    html_open(w, EL_STRONG);
    html_printf(w, "%d", steps[i].n);
    html_close(w, EL_STRONG);
    html_printf(w, " %s%s%s", steps[i].word, i == 3 ? " " : "", i == 3 && baseline ? baseline : "");
    html_close(w, EL_LI);
  }
  html_close(w, EL_OL);
}
