// SPDX-License-Identifier: Apache-2.0
// assay score --plot: a chart of runs, as a file.
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/api.h"
#include "base/alloc.h"
#include "base/choice.h"
#include "base/file.h"
#include "cli/judging.h"
#include "cli/score.h"
#include "report/plots.h"
#include "score/group.h"

static const char *const forms[] = {"distribution", "fast_p", "roofline", NULL};
enum { DISTRIBUTION, FAST_P, ROOFLINE };

static bool ends_with(const char *path, const char *ending) {
  size_t n = strlen(path), m = strlen(ending);
  return n > m && strcmp(path + n - m, ending) == 0;
}

enum assay_status score_plot_check(const struct score_plot *p, struct assay_error *err) {
  int form = choice_of("--plot draws", forms, p->form, err);
  if (form < 0)
    return ASSAY_ERR_USAGE;
  if (!ends_with(p->file, ".svg") && !ends_with(p->file, ".png"))
    return error_set(err, ASSAY_ERR_USAGE, "--plot %s takes a file that ends with .svg or .png, not '%s'", p->form,
                     p->file);
  if (form == FAST_P && !p->options.baseline)
    return error_set(err, ASSAY_ERR_USAGE, "fast_p is over a baseline: name it with --baseline");
  if (p->n_runs < 1 || (form != FAST_P && p->n_runs > 1))
    return error_set(err, ASSAY_ERR_USAGE, "--plot %s takes %s", p->form, form == FAST_P ? "runs" : "one run");
  return ASSAY_OK;
}

// --- the runs

struct drawn {
  struct report_rows rows;
  struct score_task *tasks;
  int n, left_out; // verdicts of other settings
};

// The setting with most verdicts: the first run's is that of all.
static enum assay_status choose_setting(const struct report_rows *rows, struct score_setting *at,
                                        struct assay_error *err) {
  const struct score_row **all = rows_pointers(rows);
  struct score_group *groups = NULL;
  int n = 0, most = 0;
  enum assay_status status = all ? score_group_settings(all, rows->n, &groups, &n, err) : error_nomem(err, "a plot");
  for (int i = 0; i < n && !status; i++)
    if (groups[i].n > most) {
      most = groups[i].n;
      *at = groups[i].rows[0]->setting;
      for (int k = 0; k < groups[i].n; k++) // not that of a row which does not know its device
        if (strlen(groups[i].rows[k]->setting.device) > strlen(at->device))
          *at = groups[i].rows[k]->setting;
    }
  base_free(groups);
  base_free(all);
  return status;
}

static enum assay_status read_run(struct store *store, const struct score_plot *p, int run, struct score_setting *at,
                                  struct drawn *out, struct assay_error *err) {
  enum assay_status status = score_read(store, p->runs[run], &p->options, &out->rows, err);
  if (!status && run == 0)
    status = choose_setting(&out->rows, at, err);
  const struct score_row **all = status ? NULL : rows_pointers(&out->rows);
  if (!status && !all)
    status = error_nomem(err, "a plot");
  const struct score_question q = {.at = *at, .baseline = p->options.baseline, .stable_only = p->options.stable};
  for (int i = 0; i < out->rows.n && !status; i++)
    out->left_out += !score_same_setting(&all[i]->setting, at);
  if (!status)
    status = score_tasks(all, out->rows.n, &q, p->options.expected, &out->tasks, &out->n, err);
  if (!status && out->n == 0)
    status = error_set(err, ASSAY_ERR_NOT_FOUND,
                       "run \"%s\" has no verdict at %s on %s, where \"%s\" was judged: runs in one chart share "
                       "device, workload, form, contract, rule and judge",
                       p->runs[run], at->workload, at->device, p->runs[0]);
  base_free(all);
  return status;
}

static enum assay_status draw_runs(struct store *store, const struct score_plot *p, const struct score_setting *at,
                                   const struct plot_run *runs, struct buf *svg, struct assay_error *err) {
  const struct draw_page page = {.width = DRAW_WIDE, .id = "plot", .standalone = true};
  char title[256];
  snprintf(title, sizeof title, "%s: %s on %s", p->form, at->workload, at->device);
  switch (choice_of("--plot draws", forms, p->form, NULL)) {
  case FAST_P:
    return plot_fast_p(runs, p->n_runs, p->options.baseline, title, &page, svg, err);
  case DISTRIBUTION:
    return plot_distribution(runs, title, &page, svg, err);
  default:
    break;
  }
  struct assay_peaks known[API_MOST_PEAKS], peaks = {0};
  int n = 0;
  enum assay_status status = api_peaks_known(store, known, &n, err);
  for (int i = 0; i < n; i++)
    if (plot_peaks_are_of(&known[i], at->device))
      peaks = known[i];
  return status ? status : plot_roofline(runs, &peaks, title, &page, svg, err);
}

// --- the file

// Another program makes the picture: the judge links no library that draws.
static enum assay_status convert(const char *program, const struct buf *svg, struct buf *png, struct assay_error *err) {
  if (access(program, X_OK) != 0)
    return error_set(err, ASSAY_ERR_UNSUPPORTED,
                     "this build writes no PNG: install librsvg2-dev and build again, or give a file that ends with "
                     ".svg");
  FILE *in = tmpfile(), *out = tmpfile();
  char *const argv[] = {(char *)program, NULL}, *const env[] = {NULL};
  pid_t child;
  int status = -1;
  bool ok =
      in && out && fwrite(svg->data, 1, svg->len, in) == svg->len && fflush(in) == 0 && fseek(in, 0, SEEK_SET) == 0;
  posix_spawn_file_actions_t files;
  if (ok && posix_spawn_file_actions_init(&files) == 0) {
    ok = posix_spawn_file_actions_adddup2(&files, fileno(in), 0) == 0 &&
         posix_spawn_file_actions_adddup2(&files, fileno(out), 1) == 0 &&
         posix_spawn(&child, program, &files, NULL, argv, env) == 0 && waitpid(child, &status, 0) == child;
    posix_spawn_file_actions_destroy(&files);
  }
  ok = ok && status == 0 && fseek(out, 0, SEEK_SET) == 0;
  char part[4096];
  for (size_t n; ok && (n = fread(part, 1, sizeof part, out)) > 0;)
    buf_append(png, part, n);
  if (in)
    fclose(in);
  if (out)
    fclose(out);
  if (!ok)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "%s made no picture; .svg needs no other program", program);
  return buf_status(png, err);
}

static enum assay_status write_plot(const struct score_plot *p, const struct buf *svg, struct assay_error *err) {
  if (!ends_with(p->file, ".png"))
    return file_write(p->file, svg->data, svg->len, err);
  struct buf png = {0};
  enum assay_status status = convert(p->png, svg, &png, err);
  if (!status)
    status = file_write(p->file, png.data, png.len, err);
  buf_release(&png);
  return status;
}

enum assay_status score_plot(struct store *store, const struct score_plot *p, struct assay_error *err) {
  enum assay_status status = score_plot_check(p, err);
  int n = status ? 0 : p->n_runs, left_out = 0;
  struct drawn *runs = base_calloc((size_t)n + 1, sizeof *runs);
  struct plot_run *shown = base_calloc((size_t)n + 1, sizeof *shown);
  struct score_setting at = {"", "", "", "", "", ""};
  struct buf svg = {0};
  if (!status && (!runs || !shown))
    status = error_nomem(err, "a plot");
  for (int i = 0; i < n && !status; i++) {
    status = read_run(store, p, i, &at, &runs[i], err);
    shown[i] = (struct plot_run){p->runs[i], runs[i].tasks, runs[i].n};
    left_out += runs[i].left_out;
  }
  if (!status)
    status = draw_runs(store, p, &at, shown, &svg, err);
  if (!status)
    status = write_plot(p, &svg, err);
  if (!status) {
    printf("%s: %s of %d task%s, %s on %s", p->file, p->form, shown[0].n, shown[0].n == 1 ? "" : "s", at.workload,
           at.device);
    if (left_out)
      printf("; %d verdict%s of other settings left out", left_out, left_out == 1 ? "" : "s");
    printf("\n");
  }
  for (int i = 0; i < n && runs; i++) {
    rows_release(&runs[i].rows);
    base_free(runs[i].tasks);
  }
  base_free(runs);
  base_free(shown);
  buf_release(&svg);
  return status;
}
