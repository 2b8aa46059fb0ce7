// SPDX-License-Identifier: Apache-2.0
// The overview: levels, runs, devices.
#include <math.h>
#include <stdio.h>

#include "site/pages.h"

static void put_section(struct html *w, const struct site_level *level, const struct section *s, int number) {
  struct address at = frame_level(level);
  char fragment[16];
  snprintf(fragment, sizeof fragment, "s%d", number);
  at.fragment = fragment;
  html_open(w, EL_LI);
  html_open(w, EL_H3);
  html_link(w, &at, level->title);
  html_close(w, EL_H3);
  html_element(w, EL_P, "note", s->title);
  html_open(w, EL_P);
  html_open(w, EL_SPAN);
  html_attr(w, AT_CLASS, "big");
  html_printf(w, "%d", s->sum.n_right);
  html_close(w, EL_SPAN);
  html_printf(w, " of %d tasks have a right kernel", s->sum.n_tasks);
  html_close(w, EL_P);
  if (s->sum.part_of_floor.n > 0) {
    html_open(w, EL_P);
    html_printf(w, "fastest kernels: %.2g of the hardware's limit (median of %d)", s->sum.part_of_floor.q[1],
                s->sum.part_of_floor.n);
    html_close(w, EL_P);
  }
  if (isfinite(s->sum.geomean_speedup)) {
    html_open(w, EL_P);
    html_printf(w, "%.3g times as fast as %s (geometric mean of %d)", s->sum.geomean_speedup, s->baseline,
                s->sum.n_speedups);
    html_close(w, EL_P);
  }
  html_close(w, EL_LI);
}

static enum assay_status put_levels(struct html *w, const struct site *site, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  frame_heading(w, "levels", "Suites and levels");
  if (site->n_levels == 0) {
    frame_empty(w, "The store has no verdict yet. `assay bench kernelbench/1 --from FOLDER` makes some.");
    return ASSAY_OK;
  }
  html_open(w, EL_UL);
  html_attr(w, AT_CLASS, "cards");
  for (int l = 0; l < site->n_levels && !status; l++) {
    struct sections s = {0};
    status = sections_make(site, &site->levels[l], &s, err);
    for (int i = 0; i < s.n && !status; i++)
      put_section(w, &site->levels[l], &s.items[i], i);
    sections_release(&s);
  }
  html_close(w, EL_UL);
  return status;
}

static void put_runs(struct html *w, const struct site *site) {
  static const struct frame_column columns[] = {
      {"run", 'w'}, {"verdicts", 'r'}, {"right", 'r'}, {"cheats", 'r'}, {"unstable", 'r'}};
  struct frame_table t = {.name = "main", .label = "runs", .columns = columns, .n = 5};
  frame_heading(w, "runs", "Runs");
  table_begin(w, &t);
  for (int r = 0; r < site->n_runs; r++) {
    const struct address at = frame_run(&site->runs[r]);
    int right = 0, cheats = 0, unstable = 0;
    if (site->runs[r].n == 0)
      continue;
    for (int i = 0; i < site->n_rows; i++)
      if (site->rows[i].run == r) {
        right += score_is_right(&site->rows[i].score);
        cheats += site->rows[i].score.cheat[0] != '\0';
        unstable += score_is_right(&site->rows[i].score) && site->rows[i].score.unstable;
      }
    table_row_begin(w, &t, NULL);
    table_link(w, &t, &at, site->runs[r].title);
    table_int(w, &t, site->runs[r].n);
    table_int(w, &t, right);
    table_int(w, &t, cheats);
    table_int(w, &t, unstable);
    table_row_end(w, &t);
  }
  table_end(w, &t);
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
    char text[512];
    snprintf(text, sizeof text, "%s and %s", site->runs[site->pairs[i].a].title, site->runs[site->pairs[i].b].title);
    html_open(w, EL_LI);
    html_link(w, &at, text);
    html_close(w, EL_LI);
  }
  html_close(w, EL_UL);
}

static void put_sweeps(struct html *w, const struct site *site) {
  if (site->n_sweeps == 0)
    return;
  frame_heading(w, "makers", "Makers side by side");
  html_open(w, EL_UL);
  html_attr(w, AT_CLASS, "plain");
  for (int i = 0; i < site->n_sweeps; i++) {
    const struct address at = frame_sweep(&site->sweeps[i]);
    html_open(w, EL_LI);
    html_link(w, &at, site->sweeps[i].title);
    html_printf(w, ": %d makers", site->sweeps[i].n);
    html_close(w, EL_LI);
  }
  html_close(w, EL_UL);
}

static void put_devices(struct html *w, const struct site *site) {
  frame_heading(w, "devices", "Devices");
  html_open(w, EL_UL);
  html_attr(w, AT_CLASS, "plain");
  for (int i = 0; i < site->n_devices; i++) {
    const struct address at = frame_device(&site->devices[i]);
    html_open(w, EL_LI);
    html_link(w, &at, site->devices[i].name);
    html_printf(w, ": %d verdicts", site->devices[i].n);
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
  html_printf(&w,
              "%d verdicts on %d tasks, of %d runs on %d devices. Each says whether the kernel is right, how fast it "
              "is, how far that is from the limit of the hardware, and shows its evidence.",
              size.verdicts, size.tasks, size.runs, size.devices);
  html_close(&w, EL_P);
  enum assay_status status = put_levels(&w, site, err);
  if (site->n_rows) {
    put_runs(&w, site);
    put_sweeps(&w, site);
    put_pairs(&w, site);
    put_devices(&w, site);
  }
  frame_end(&w, &frame);
  return status ? status : buf_status(out, err);
}
