// SPDX-License-Identifier: Apache-2.0
// Verdicts as the rows of a table.
#include <math.h>
#include <string.h>

#include "cli/judging.h"

enum { TASK, CANDIDATE, VERDICT, ERROR, ALLCLOSE, TIME, FLOOR, ROOFLINE, SPEEDUPS, WHAT, COLUMNS };

static const struct {
  const char *header;
  char align;
} columns[COLUMNS] = {
    [TASK] = {"task", 'l'},           [CANDIDATE] = {"candidate", 'l'}, [VERDICT] = {"verdict", 'l'},
    [ERROR] = {"error/allowed", 'r'}, [TIME] = {"time (cold)", 'r'},    [ALLCLOSE] = {"allclose 1e-4/1e-2", 'l'},
    [FLOOR] = {"x floor", 'r'},       [ROOFLINE] = {"% roofline", 'r'}, [SPEEDUPS] = {"speedup over", 'l'},
    [WHAT] = {"what", 'l'},
};

// What leaves a row on a narrow terminal, in this order.
static const struct {
  int column;
  const char *label, *usual;
} folds[] = {{WHAT, "", ""},
             {ALLCLOSE, "allclose 1e-4/1e-2", "pass/pass"},
             {SPEEDUPS, "speedup over", ""},
             {FLOOR, "x floor", ""},
             {ROOFLINE, "% roofline", ""}};

struct table *cli_verdict_table(bool speedups, enum cli_color color) {
  const char *headers[COLUMNS];
  char align[COLUMNS];
  int n = 0, place[COLUMNS];
  for (int i = 0; i < COLUMNS; i++) {
    place[i] = n;
    if (i == SPEEDUPS && !speedups)
      continue;
    headers[n] = columns[i].header;
    align[n++] = columns[i].align;
  }
  struct table *t = table_create(headers, n, align);
  for (size_t i = 0; t && i < sizeof folds / sizeof *folds; i++)
    if (folds[i].column != SPEEDUPS || speedups)
      table_fold(t, place[folds[i].column], folds[i].label, folds[i].usual);
  if (t)
    table_color(t, color);
  return t;
}

static const char *file_part(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

// "pass", "pass (judged shape)", "pass (tf32)": how far it holds, and under which contract other than the task's own.
static void verdict_text(const struct verdict_view *v, char *text, size_t size) {
  const char *const said[] = {v->contract, view_is_narrow(v) ? "judged shape" : ""};
  size_t used = (size_t)snprintf(text, size, "%s", assay_reason_code(v->stored.reason));
  const char *before = " (";
  for (int i = 0; i < 2; i++)
    if (said[i][0] && used < size) {
      used += (size_t)snprintf(text + used, size - used, "%s%s", before, said[i]);
      before = ", ";
    }
  if (before[0] == ',' && used < size)
    snprintf(text + used, size - used, ")");
}

// "1.6/13.7"; "rms 4.2/1.5" where not a single element's error decided; "-" where there is no number.
static void error_text(const struct verdict_view *view, char *text, size_t size) {
  const struct store_verdict *v = &view->stored;
  const char *space = view->gate[0] ? " " : "";
  if (isfinite(v->error_limit) && isfinite(v->error_z))
    snprintf(text, size, "%s%s%.2g/%.3g", view->gate, space, v->error_z, v->error_limit);
  else if (isfinite(v->error_limit))
    snprintf(text, size, "%s%s-/%.3g", view->gate, space, v->error_limit);
  else
    snprintf(text, size, "-");
}

// What a suite's own rule would have said: every element of every declared draw at the judged sizes within the
// published tolerance, and within 1e-2. "-" when the kernel never got that far.
static void allclose_text(const struct verdict_view *v, char *text, size_t size) {
  snprintf(text, size, v->n_declared ? "%s/%s" : "-", v->n_allclose_bad ? "wrong" : "pass",
           v->n_allclose_loose_bad ? "wrong" : "pass");
}

// "228.64 us +-0.8%", without the interval where there were too few samples for one.
static void time_text(const struct verdict_view *v, char *text, size_t size) {
  char time[32], interval[32] = "";
  double ns = view_time_ns(v), half = 50 * (v->stored.time_high_ns - v->stored.time_low_ns) / ns;
  if (isfinite(half))
    snprintf(interval, sizeof interval, " +-%.1f%%", half);
  snprintf(text, size, "%s%s%s", cli_time_text(ns, time), interval,
           !isnan(ns) && v->stored.unstable ? " unstable" : "");
}

static void floor_text(const struct verdict_view *v, char *text, size_t size) {
  double times = view_time_ns(v) / v->stored.floor_ns;
  if (isfinite(times))
    snprintf(text, size, "%.1f%s", times, store_is_suspicious(&v->stored) ? "!" : "");
  else
    snprintf(text, size, "-");
}

// The part of the hardware's limit that it reaches: the floor over the time.
static void roofline_text(const struct verdict_view *v, char *text, size_t size) {
  double part = 100 * v->stored.floor_ns / view_time_ns(v);
  snprintf(text, size, isfinite(part) && part > 0 ? "%.1f %%" : "-", part);
}

// "1.52 torch.eager, 0.98 torch.compile": how much faster than its baselines; "-" without any.
static void speedups_text(const struct verdict_view *v, char *text, size_t size) {
  size_t used = 0;
  snprintf(text, size, "-");
  for (int i = 0; i < v->n_baselines && used < size; i++) {
    const struct view_baseline *b = &v->baselines[i];
    const char *comma = i ? ", " : "", *name = file_part(b->name);
    if (isfinite(b->speedup))
      used += (size_t)snprintf(text + used, size - used, "%s%.3g %s", comma, b->speedup, name);
    else
      used += (size_t)snprintf(text + used, size - used, "%s%s: %s", comma, name, b->verdict);
  }
}

// "process: why there is no plan" where a candidate ran as it is though the device is one of plans; "" otherwise.
static void mode_text(const struct verdict_view *v, char *text, size_t size) {
  bool process = v->device_name[0] && strcmp(v->mode, "process") == 0;
  snprintf(text, size, "%s%s", process ? "process: " : "", !process ? "" : v->no_plan[0] ? v->no_plan : "as asked for");
}

// "none of its own kernels ran (libraries 90 %, PyTorch 10 %)" where that is known and so, and how many arguments
// differed between two recordings; "" otherwise.
static void kernels_text(const struct verdict_view *v, char *text, size_t size) {
  const struct assay_kernels *k = &v->kernels;
  size_t used = 0;
  text[0] = '\0';
  if (k->known && k->launches[ASSAY_OWN_KERNELS] == 0)
    used = (size_t)snprintf(text, size, "none of its own kernels ran (libraries %.0f %%, PyTorch %.0f %%)",
                            100 * k->part[ASSAY_LIBRARY_KERNELS], 100 * k->part[ASSAY_PYTORCH_KERNELS]);
  if (k->unsettled_arguments > 0 && used < size)
    snprintf(text + used, size - used, "%s%d argument%s differed between recordings: taken for padding",
             used ? "; " : "", k->unsettled_arguments, k->unsettled_arguments == 1 ? "" : "s");
}

// The last column: why it failed, or what to know of a pass.
static void what_text(const struct verdict_view *v, char *text, size_t size) {
  const char *no_time = view_no_time(v);
  struct buf detail = {0};
  if (v->stored.reason != ASSAY_REASON_PASS)
    cli_own_paths(v->stored.detail, v->stored.candidate, &detail);
  if (v->stored.reason != ASSAY_REASON_PASS)
    snprintf(text, size, "%s%s", buf_str(&detail),
             strcmp(v->scope, "judged") == 0 ? "\n[right at the judged shape: --shapes judged]" : "");
  else if (view_is_narrow(v))
    snprintf(text, size, "judged shape only; elsewhere %s", v->elsewhere);
  else if (no_time)
    snprintf(text, size, "%s", no_time);
  else if (store_is_suspicious(&v->stored))
    snprintf(text, size, "suspicious: faster than the hardware allows, or than the judge's own clock shows");
  else if (v->not_a_gpu && !isnan(view_time_ns(v)))
    snprintf(text, size, "not ranked: not a GPU's time");
  else if (v->foreknown && !isnan(view_time_ns(v)))
    snprintf(text, size, "not ranked: the seed was known beforehand");
  else {
    mode_text(v, text, size);
    if (!text[0])
      kernels_text(v, text, size);
    if (!text[0] && v->timed_again)
      snprintf(text, size, "timed again: at first the judge's clock saw more than the device's");
    if (!text[0] && v->weights[0])
      snprintf(text, size, "weights: %s", v->weights);
  }
  buf_release(&detail);
}

static void put_cells(struct table *t, bool speedups, const char *const *all) {
  const char *cells[COLUMNS];
  int n = 0;
  for (int i = 0; i < COLUMNS; i++)
    if (i != SPEEDUPS || speedups)
      cells[n++] = all[i];
  table_row(t, cells);
}

// Below the row of a failure, on a narrow terminal: the worst element, hints, and what the reason means.
static void put_note(struct table *t, const struct verdict_view *v) {
  char text[1024];
  if (v->stored.reason == ASSAY_REASON_PASS)
    return;
  const char *worst = strstr(v->worst, "worst: ");
  size_t n = worst ? (size_t)(worst - v->worst) + strcspn(worst, "\n") : strlen(v->worst);
  n -= n > 0 && v->worst[n - 1] == '\n';
  snprintf(text, sizeof text, "%.*s%s(%s)", (int)n, v->worst, n > 0 ? "\n" : "", assay_reason_text(v->stored.reason));
  table_note(t, text);
}

void cli_verdict_row(struct table *t, bool speedups, const struct verdict_view *v) {
  char error[64], allclose[32], time[96], times_floor[32], roofline[32], faster[256], what[4096], verdict[64];
  const char *all[COLUMNS] = {v->stored.task, file_part(v->stored.candidate),
                              verdict,        error,
                              allclose,       time,
                              times_floor,    roofline,
                              faster,         what};
  verdict_text(v, verdict, sizeof verdict);
  error_text(v, error, sizeof error);
  allclose_text(v, allclose, sizeof allclose);
  time_text(v, time, sizeof time);
  floor_text(v, times_floor, sizeof times_floor);
  roofline_text(v, roofline, sizeof roofline);
  speedups_text(v, faster, sizeof faster);
  what_text(v, what, sizeof what);
  put_cells(t, speedups, all);
  table_style(t, VERDICT,
              v->stored.reason != ASSAY_REASON_PASS ? TABLE_BAD
              : view_is_right(v)                    ? TABLE_GOOD
                                                    : TABLE_DOUBTFUL);
  put_note(t, v);
}

void cli_unjudged_row(struct table *t, bool speedups, const char *task, const char *file, const char *said,
                      const char *why) {
  const char *all[COLUMNS] = {task, file_part(file), said, "-", "-", "-", "-", "-", "-", why};
  put_cells(t, speedups, all);
  table_style(t, VERDICT, TABLE_DOUBTFUL);
}
