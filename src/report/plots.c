// SPDX-License-Identifier: Apache-2.0
#include "report/plots.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "score/figure.h"

enum assay_status plot_fast_p(const struct plot_run *runs, int n, const char *baseline, const char *title,
                              const struct draw_page *page, struct buf *out, struct assay_error *err) {
  struct draw_curve *curves = base_calloc((size_t)n + 1, sizeof *curves);
  int n_tasks = 0;
  bool ok = curves != NULL;
  for (int i = 0; i < n && ok; i++) {
    size_t room = (size_t)runs[i].n + 1;
    struct score_step *steps = base_calloc(room, sizeof *steps);
    struct draw_step *drawn = base_calloc(room, sizeof *drawn);
    ok = steps && drawn;
    int points = ok ? score_fast_p_curve(runs[i].tasks, runs[i].n, steps) : 0;
    for (int k = 0; k < points; k++)
      drawn[k] = (struct draw_step){steps[k].p, steps[k].share, steps[k].interval};
    curves[i] = (struct draw_curve){runs[i].name, drawn, points};
    n_tasks = runs[i].n > n_tasks ? runs[i].n : n_tasks;
    base_free(steps);
  }
  if (ok)
    draw_fast_p(&(struct draw_fast_p){title, baseline, curves, n, n_tasks}, page, out);
  for (int i = 0; i < n && curves; i++)
    base_free((void *)curves[i].steps);
  base_free(curves);
  return ok ? buf_status(out, err) : error_nomem(err, "a plot");
}

// Why a task has no time, by the row that a reader would ask about.
static const char *note_of(const struct score_task *t) {
  static const struct score_question timed = {.ask = SCORE_ASK_TIME};
  if (!t->first || t->n_judged == 0)
    return "not judged";
  if (t->n_right == 0 && t->first->reason != ASSAY_REASON_PASS)
    return assay_reason_code(t->first->reason);
  return score_reason_code(score_eligible(t->first, &timed));
}

static bool any_floor(const struct plot_run *run) {
  bool any = false;
  for (int i = 0; i < run->n; i++)
    any = any || !isnan(run->tasks[i].part_of_floor);
  return any;
}

enum assay_status plot_distribution(const struct plot_run *run, const char *title, const struct draw_page *page,
                                    struct buf *out, struct assay_error *err) {
  struct draw_dot *dots = base_calloc((size_t)run->n + 1, sizeof *dots);
  double *times = base_calloc((size_t)run->n + 1, sizeof *times);
  bool floors = any_floor(run);
  if (!dots || !times) {
    base_free(dots);
    base_free(times);
    return error_nomem(err, "a plot");
  }
  for (int i = 0; i < run->n; i++)
    times[i] = run->tasks[i].best ? run->tasks[i].best->time_ns : NAN;
  struct score_unit unit = score_time_unit(times, run->n);
  for (int i = 0; i < run->n; i++) {
    const struct score_task *t = &run->tasks[i];
    const struct score_row *r = t->best;
    double one = floors ? (r ? t->part_of_floor * r->time_ns : NAN) : unit.ns;
    bool has = r && !isnan(one);
    dots[i] = (struct draw_dot){.label = t->task,
                                .value = has ? r->time_ns / one : NAN,
                                .interval = {has ? r->time.low / one : NAN, has ? r->time.high / one : NAN},
                                .mark = !r            ? DRAW_WRONG
                                        : r->unstable ? DRAW_UNSTABLE
                                                      : DRAW_RIGHT,
                                .note = r ? "no floor" : note_of(t)};
  }
  const struct draw_level floor[] = {{"floor", 1, {NAN, NAN}}};
  draw_intervals(&(struct draw_intervals){title, floors ? "x floor" : unit.name, dots, run->n, floor, floors}, page,
                 out);
  base_free(dots);
  base_free(times);
  return buf_status(out, err);
}

bool plot_peaks_name_is_of(const char *name, const char *device) {
  const size_t n = strlen(name);
  return n > 0 && strncmp(device, name, n) == 0 && strchr(",", device[n]);
}

bool plot_peaks_are_of(const struct assay_peaks *p, const char *device) {
  const char *kind_ends = strchr(device, ' ');
  return kind_ends && plot_peaks_name_is_of(p->device, kind_ends + 1);
}

enum assay_status plot_roofline(const struct plot_run *run, const struct assay_peaks *peaks, const char *title,
                                const struct draw_page *page, struct buf *out, struct assay_error *err) {
  struct draw_point *points = base_calloc((size_t)run->n + 1, sizeof *points);
  const struct score_row *any = NULL;
  int n = 0, n_roofs = 0;
  if (!points)
    return error_nomem(err, "a plot");
  for (int i = 0; i < run->n; i++) {
    const struct score_row *r = run->tasks[i].best;
    if (!r)
      continue;
    any = r;
    points[n++] = (struct draw_point){run->tasks[i].task, r->flops, r->bytes, r->time_ns,
                                      r->unstable ? DRAW_UNSTABLE : DRAW_RIGHT};
  }
  bool known = any && plot_peaks_are_of(peaks, any->setting.device);
  struct draw_roof roofs[4];
  const struct draw_roof all[] = {{"fp32", peaks->flops_per_s},
                                  {"fp32, contractions", peaks->contraction_flops_per_s},
                                  {"tf32", peaks->tf32_flops_per_s},
                                  {"fp16, bf16", peaks->half_flops_per_s}};
  for (int i = 0; i < 4; i++)
    if (all[i].flops_per_s > 0)
      roofs[n_roofs++] = all[i];
  draw_roofline(&(struct draw_roofline){title, any ? any->setting.device : "", known ? peaks->bytes_per_s : 0, roofs,
                                        n_roofs, points, n},
                page, out);
  base_free(points);
  return buf_status(out, err);
}
