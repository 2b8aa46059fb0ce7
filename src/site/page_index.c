// SPDX-License-Identifier: Apache-2.0
// The overview: levels, runs, devices.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "score/group.h"
#include "site/pages.h"

// "fast_1 18 % (12 to 25 %)": the share of all tasks that are right and faster than the baseline.
static void put_fast(struct html *w, const struct section *s) {
  enum { ONE = 3 }; // of score_thresholds
  const double share = s->sum.fast_p[ONE];
  const struct interval *in = &s->sum.fast_p_interval[ONE];
  if (!isfinite(share))
    return;
  html_printf(w, "; fast_1 over %s: %ld %%", s->baseline, lround(100 * share));
  if (isfinite(in->low))
    html_printf(w, " (95 %%: %ld to %ld %%)", lround(100 * in->low), lround(100 * in->high));
  const int apart = s->sum.n_right - s->sum.n_speedups;
  if (apart > 0)
    html_printf(w, "; %d right %s not timed beside it and %s as not faster", apart,
                apart == 1 ? "one was" : "ones were", apart == 1 ? "counts" : "count");
}

static void put_failed(struct html *w, const struct section *s) {
  html_open(w, EL_P);
  const int failed = s->sum.n_tasks - s->sum.n_right;
  if (failed && failed == s->sum.n_missing)
    html_printf(w, "%d without a verdict, counted as failed", failed);
  else {
    html_printf(w, "%d failed", failed);
    if (s->sum.n_missing)
      html_printf(w, ", of which %d without a verdict", s->sum.n_missing);
  }
  if (s->baseline)
    put_fast(w, s);
  html_text(w, ".");
  html_close(w, EL_P);
}

static struct address at_section(const struct site_level *level, int number, char fragment[16]) {
  struct address at = frame_level(level);
  snprintf(fragment, 16, "s%d", number);
  at.fragment = fragment;
  return at;
}

// The setting that says most.
static void put_section(struct html *w, const struct section *s) {
  html_element(w, EL_P, "note", s->title);
  html_open(w, EL_P);
  html_open(w, EL_SPAN);
  html_attr(w, AT_CLASS, "big");
  html_printf(w, "%d", s->sum.n_right);
  html_close(w, EL_SPAN);
  html_printf(w, " of %s %s a right kernel", frame_count(s->sum.n_tasks, "task", (char[FRAME_COUNT]){0}),
              s->sum.n_right == 1 ? "has" : "have");
  html_close(w, EL_P);
  if (isfinite(s->sum.geomean_speedup)) {
    html_open(w, EL_P);
    html_printf(w, "%.3g times as fast as %s (geometric mean of %d)", s->sum.geomean_speedup, s->baseline,
                s->sum.n_speedups);
    html_close(w, EL_P);
  }
  if (s->sum.part_of_floor.n > 0) {
    html_open(w, EL_P);
    html_printf(w, "fastest kernels: %.2g of the hardware's limit (median of %d)", s->sum.part_of_floor.q[1],
                s->sum.part_of_floor.n);
    html_close(w, EL_P);
  }
  put_funnel(w, &s->sum.tasks, s->baseline);
  put_failed(w, s);
}

// The level's other settings, a line each.
static void put_others(struct html *w, const struct site_level *level, const struct sections *all) {
  enum { MOST = 5 };
  if (all->n < 2)
    return;
  html_open(w, EL_UL);
  html_attr(w, AT_CLASS, "plain");
  for (int i = 1; i < all->n && i < MOST; i++) {
    char fragment[16];
    const struct address at = at_section(level, i, fragment);
    html_open(w, EL_LI);
    html_link(w, &at, all->items[i].title);
    html_printf(w, ": %d right of %d", all->items[i].sum.n_right, all->items[i].sum.n_tasks);
    html_close(w, EL_LI);
  }
  if (all->n > MOST) {
    const struct address at = frame_level(level);
    html_open(w, EL_LI);
    html_link(w, &at, "other settings");
    html_printf(w, ": %d", all->n - MOST);
    html_close(w, EL_LI);
  }
  html_close(w, EL_UL);
}

static void put_card(struct html *w, const struct site_level *level, const struct sections *all) {
  char fragment[16];
  const struct address at = at_section(level, 0, fragment);
  html_open(w, EL_LI);
  html_open(w, EL_H3);
  html_link(w, &at, level->title);
  html_close(w, EL_H3);
  put_section(w, &all->items[0]);
  put_others(w, level, all);
  html_close(w, EL_LI);
}

static bool is_of_sweep(const struct site *site, int run) {
  for (int i = 0; i < site->n_sweeps; i++)
    for (int m = 0; m < site->sweeps[i].n; m++)
      if (site->sweeps[i].runs[m] == run)
        return true;
  return false;
}

// Of levels whose verdicts all are of a comparison of makers, that has a page which says more: every shape stands
// there.
static bool is_compared_only(const struct site *site, const struct site_level *level) {
  bool any = false;
  for (int t = 0; t < level->n; t++)
    for (int i = 0; i < site->tasks[level->first + t].n; i++) {
      any = true;
      if (!is_of_sweep(site, site->rows[site->tasks[level->first + t].first + i].run))
        return false;
    }
  return any;
}

// Levels of the suite with most verdicts first; within a suite as they are.
static int *order_levels(const struct site *site) {
  int *order = base_calloc((size_t)site->n_levels + 1, 2 * sizeof *order), *rows = order + site->n_levels;
  for (int i = 0; order && i < site->n_levels; i++) {
    const size_t suite = strcspn(site->levels[i].name, "/") + 1;
    order[i] = i;
    for (int k = 0; k < site->n_levels; k++)
      if (strncmp(site->levels[k].name, site->levels[i].name, suite) == 0)
        rows[i] += site->levels[k].n_rows;
  }
  for (int i = 1; order && i < site->n_levels; i++)
    for (int k = i; k > 0 && rows[order[k]] > rows[order[k - 1]]; k--) {
      const int moved = order[k];
      order[k] = order[k - 1];
      order[k - 1] = moved;
    }
  return order;
}

// fast_p of each level's first setting, where it has a curve.
static enum assay_status put_speeds(struct html *w, const struct site *site, const int *order,
                                    struct assay_error *err) {
  enum { MOST = 6 };
  enum assay_status status = ASSAY_OK;
  int put = 0;
  for (int l = 0; l < site->n_levels && !status && put < MOST; l++) {
    const struct site_level *level = &site->levels[order[l]];
    struct sections all = {0};
    char id[32];
    status = sections_make(site, level, &all, err);
    if (!status && all.n > 0 && section_has_curve(&all.items[0])) {
      if (put++ == 0)
        frame_heading(w, "speed", "How fast");
      snprintf(id, sizeof id, "fast-p-%d", order[l]);
      html_open(w, EL_H3);
      html_printf(w, "%s, %s", level->title, all.items[0].title);
      html_close(w, EL_H3);
      status = put_curves(w, site, level, &all.items[0], id, err);
    }
    sections_release(&all);
  }
  return status;
}

static enum assay_status put_levels(struct html *w, const struct site *site, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  frame_heading(w, "levels", "Suites and levels");
  if (site->n_levels == 0) {
    frame_empty(w, "The store has no verdict yet. `assay bench kernelbench/1 --from FOLDER` makes some.");
    return ASSAY_OK;
  }
  int *order = order_levels(site), cards = 0, compared = 0;
  if (!order)
    return error_nomem(err, "the overview");
  for (int l = 0; l < site->n_levels && !status; l++) {
    const struct site_level *level = &site->levels[order[l]];
    struct sections all = {0};
    if (is_compared_only(site, level)) {
      compared++;
      continue;
    }
    status = sections_make(site, level, &all, err);
    if (!status && all.n > 0) {
      if (cards++ == 0) {
        html_open(w, EL_UL);
        html_attr(w, AT_CLASS, "cards");
      }
      put_card(w, level, &all);
    }
    sections_release(&all);
  }
  if (cards)
    html_close(w, EL_UL);
  else if (!status && compared)
    frame_empty(w, "All verdicts are of comparisons of makers, below.");
  if (!status)
    status = put_speeds(w, site, order, err);
  base_free(order);
  return status;
}

// --- runs

// A run over its tasks, in every setting that it has them in: how far they came, and what is to be known of them.
struct run_sum {
  struct score_funnel tasks;
  int with_baseline; // tasks of settings that have one
  int cheats, unstable;
};

static enum assay_status add_group(const struct score_group *g, struct run_sum *sum, struct assay_error *err) {
  struct score_summary s;
  struct score_task *tasks = NULL;
  int n = 0;
  struct score_question q = {.at = g->rows[0]->setting, .baseline = rows_baseline(g->rows, g->n)};
  q.ask = q.baseline ? SCORE_ASK_SPEED : SCORE_ASK_TIME;
  enum assay_status status = score_tasks(g->rows, g->n, &q, NULL, &tasks, &n, err);
  if (!status)
    status = score_sum_up(tasks, n, &q, &s, err);
  if (!status) {
    sum->tasks.asked += s.tasks.asked;
    sum->tasks.built += s.tasks.built;
    sum->tasks.right += s.tasks.right;
    if (s.tasks.baseline) {
      sum->tasks.baseline = true;
      sum->tasks.faster += s.tasks.faster;
      sum->with_baseline += s.tasks.asked;
    }
  }
  base_free(tasks);
  return status;
}

static enum assay_status sum_run(const struct site *site, int run, struct run_sum *sum, struct assay_error *err) {
  const struct score_row **rows = base_calloc((size_t)site->runs[run].n + 1, sizeof *rows);
  struct score_group *groups = NULL;
  int n = 0, count = 0;
  *sum = (struct run_sum){.cheats = 0};
  if (!rows)
    return error_nomem(err, "the overview");
  for (int i = 0; i < site->n_rows; i++) {
    const struct score_row *row = &site->rows[i].score;
    if (site->rows[i].run != run)
      continue;
    rows[n++] = row;
    sum->cheats += row->cheat[0] != '\0';
    sum->unstable += score_is_right(row) && row->unstable;
  }
  enum assay_status status = score_group_settings(rows, n, &groups, &count, err);
  for (int i = 0; i < count && !status; i++)
    status = add_group(&groups[i], sum, err);
  base_free(groups);
  base_free(rows);
  return status;
}

static void put_run(struct html *w, struct frame_table *t, const struct site_run *run, const struct run_sum *sum,
                    bool with_method) {
  const struct address at = frame_run(run);
  table_row_begin(w, t, NULL);
  table_link(w, t, &at, run->title);
  if (with_method)
    table_text(w, t, run->method[0] ? run->method : "-");
  table_int(w, t, run->n);
  table_int(w, t, sum->tasks.asked);
  table_int(w, t, sum->tasks.built);
  table_int(w, t, sum->tasks.right);
  table_int(w, t, sum->tasks.asked - sum->tasks.right);
  table_number(w, t, sum->tasks.baseline ? sum->tasks.faster : NAN, 0);
  table_number(w, t, sum->with_baseline ? (double)sum->tasks.faster / sum->with_baseline : NAN, 2);
  table_int(w, t, sum->cheats);
  table_int(w, t, sum->unstable);
  table_row_end(w, t);
}

static enum assay_status put_runs(struct html *w, const struct site *site, struct assay_error *err) {
  static const struct frame_column with_method[] = {
      {"run", 'w'},    {"method", 'l'}, {"verdicts", 'r'}, {"tasks asked", 'r'}, {"build", 'r'},   {"right", 'r'},
      {"failed", 'r'}, {"faster", 'r'}, {"fast_1", 'r'},   {"cheats", 'r'},      {"unstable", 'r'}};
  static const struct frame_column without[] = {
      {"run", 'w'},    {"verdicts", 'r'}, {"tasks asked", 'r'}, {"build", 'r'},  {"right", 'r'},
      {"failed", 'r'}, {"faster", 'r'},   {"fast_1", 'r'},      {"cheats", 'r'}, {"unstable", 'r'}};
  bool method = false; // made by `assay make`
  for (int r = 0; r < site->n_runs; r++)
    method = method || site->runs[r].method[0];
  struct frame_table t = {.name = "main",
                          .label = "runs",
                          .columns = method ? with_method : without,
                          .n = method ? sizeof with_method / sizeof *with_method : sizeof without / sizeof *without};
  enum assay_status status = ASSAY_OK;
  frame_heading(w, "runs", "Runs");
  frame_note(w,
             "Tasks that a run was asked for, once in each setting. Faster: than the baseline that most kernels of the "
             "setting took turns with; fast_1 is their share of all tasks that were asked for where there is one.");
  table_begin(w, &t);
  for (int r = 0; r < site->n_runs && !status; r++) {
    struct run_sum sum;
    if (site->runs[r].n == 0)
      continue;
    status = sum_run(site, r, &sum, err);
    if (!status)
      put_run(w, &t, &site->runs[r], &sum, method);
  }
  table_end(w, &t);
  return status;
}

static void put_pairs(struct html *w, const struct site *site) {
  frame_heading(w, "pairs", "Two runs compared");
  if (site->n_pairs == 0) {
    frame_empty(w, "No two of the newest runs have a task in common.");
    return;
  }
  html_open(w, EL_UL);
  html_attr(w, AT_CLASS, "plain");
  for (int i = 0; i < site->n_pairs; i++) {
    const struct address at = frame_pair(site, &site->pairs[i]);
    char text[FRAME_TEXT];
    snprintf(text, sizeof text, "%s and %s", site->runs[site->pairs[i].a].title, site->runs[site->pairs[i].b].title);
    html_open(w, EL_LI);
    html_link(w, &at, text);
    html_close(w, EL_LI);
  }
  html_close(w, EL_UL);
}

// Links to the levels that have no card: each shape of them is on the comparison's page.
static void put_compared_levels(struct html *w, const struct site *site) {
  int n = 0;
  for (int l = 0; l < site->n_levels; l++) {
    if (!is_compared_only(site, &site->levels[l]))
      continue;
    const struct address at = frame_level(&site->levels[l]);
    if (n++ == 0) {
      html_open(w, EL_P);
      html_attr(w, AT_CLASS, "note");
      html_text(w, "Levels that were judged for these alone, with the newest workload of each kernel: ");
    } else
      html_text(w, ", ");
    html_link(w, &at, site->levels[l].title);
  }
  if (n) {
    html_text(w, ".");
    html_close(w, EL_P);
  }
}

static void put_sweeps(struct html *w, const struct site *site) {
  if (site->n_sweeps == 0)
    return;
  frame_heading(w, "makers", "Makers side by side");
  html_open(w, EL_UL);
  html_attr(w, AT_CLASS, "plain");
  for (int i = 0; i < site->n_sweeps; i++) {
    const struct site_sweep *s = &site->sweeps[i];
    const struct address at = frame_sweep(s);
    html_open(w, EL_LI);
    html_link(w, &at, s->title);
    for (int m = 0; m < s->n; m++) {
      html_text(w, m ? ", " : ": ");
      html_element(w, EL_BDI, NULL, s->makers[m]);
    }
    html_close(w, EL_LI);
  }
  html_close(w, EL_UL);
  put_compared_levels(w, site);
}

static void put_devices(struct html *w, const struct site *site) {
  frame_heading(w, "devices", "Devices");
  html_open(w, EL_UL);
  html_attr(w, AT_CLASS, "plain");
  for (int i = 0; i < site->n_devices; i++) {
    const struct address at = frame_device(&site->devices[i]);
    html_open(w, EL_LI);
    html_link(w, &at, site->devices[i].name);
    html_printf(w, ": %s", frame_count(site->devices[i].n, "verdict", (char[FRAME_COUNT]){0}));
    html_close(w, EL_LI);
  }
  html_close(w, EL_UL);
}

enum assay_status page_index(struct site *site, const struct site_file *f, struct buf *out, struct assay_error *err) {
  const struct frame frame = {.at = &f->at,
                              .title = "Kernels, judged",
                              .description = "GPU kernels with their verdicts: is it right, how fast is it, how far is "
                                             "it from the limit of the hardware?",
                              .csv = true,
                              .json = true};
  const struct site_size size = site_size(site);
  struct html w;
  frame_begin(&w, out, site, &frame);
  html_open(&w, EL_P);
  html_attr(&w, AT_CLASS, "lead");
  char verdicts[FRAME_COUNT], tasks[FRAME_COUNT], runs[FRAME_COUNT], devices[FRAME_COUNT];
  html_printf(&w,
              "%s on %s, of %s on %s. Each says whether the kernel is right, how fast it is, how far that is from the "
              "limit of the hardware, and shows its evidence.",
              frame_count(size.verdicts, "verdict", verdicts), frame_count(size.tasks, "task", tasks),
              frame_count(size.runs, "run", runs), frame_count(size.devices, "device", devices));
  html_close(&w, EL_P);
  enum assay_status status = put_levels(&w, site, err);
  if (!status && site->n_rows) {
    put_sweeps(&w, site);
    status = put_runs(&w, site, err);
  }
  if (!status && site->n_rows) {
    put_pairs(&w, site);
    put_devices(&w, site);
  }
  frame_end(&w, &frame);
  return status ? status : buf_status(out, err);
}
