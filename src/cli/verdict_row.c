// Verdicts as the rows of a table.
#include <math.h>
#include <string.h>

#include "cli/judging.h"

enum { TASK, CANDIDATE, VERDICT, ERROR, ALLCLOSE, TIME, FLOOR, SPEEDUPS, WHAT, COLUMNS };

static const struct {
  const char *header;
  char align;
} columns[COLUMNS] = {
    [TASK] = {"task", 'l'},           [CANDIDATE] = {"candidate", 'l'},   [VERDICT] = {"verdict", 'l'},
    [ERROR] = {"error/allowed", 'r'}, [TIME] = {"time (cold)", 'r'},      [ALLCLOSE] = {"allclose 1e-4/1e-2", 'l'},
    [FLOOR] = {"x floor", 'r'},       [SPEEDUPS] = {"speedup over", 'l'}, [WHAT] = {"what", 'l'},
};

struct table *cli_verdict_table(bool speedups) {
  const char *headers[COLUMNS];
  char align[COLUMNS];
  int n = 0;
  for (int i = 0; i < COLUMNS; i++) {
    if (i == SPEEDUPS && !speedups)
      continue;
    headers[n] = columns[i].header;
    align[n++] = columns[i].align;
  }
  return table_create(headers, n, align);
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
  if (v->stored.reason != ASSAY_REASON_PASS)
    snprintf(text, size, "%s%s", v->stored.detail,
             strcmp(v->scope, "judged") == 0 ? " [right at the judged shape: --shapes judged]" : "");
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
    if (!text[0] && v->weights[0])
      snprintf(text, size, "weights: %s", v->weights);
  }
}

static void put_cells(struct table *t, bool speedups, const char *const *all) {
  const char *cells[COLUMNS];
  int n = 0;
  for (int i = 0; i < COLUMNS; i++)
    if (i != SPEEDUPS || speedups)
      cells[n++] = all[i];
  table_row(t, cells);
}

void cli_verdict_row(struct table *t, bool speedups, const struct verdict_view *v) {
  char error[64], allclose[32], time[96], times_floor[32], faster[256], what[512], verdict[64];
  const char *all[COLUMNS] = {
      v->stored.task, file_part(v->stored.candidate), verdict, error, allclose, time, times_floor, faster, what};
  verdict_text(v, verdict, sizeof verdict);
  error_text(v, error, sizeof error);
  allclose_text(v, allclose, sizeof allclose);
  time_text(v, time, sizeof time);
  floor_text(v, times_floor, sizeof times_floor);
  speedups_text(v, faster, sizeof faster);
  what_text(v, what, sizeof what);
  put_cells(t, speedups, all);
}

void cli_unjudged_row(struct table *t, bool speedups, const char *task, const char *file, const char *said,
                      const char *why) {
  const char *all[COLUMNS] = {task, file_part(file), said, "-", "-", "-", "-", "-", why};
  put_cells(t, speedups, all);
}
