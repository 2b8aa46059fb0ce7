// SPDX-License-Identifier: Apache-2.0
// Charts of scores: what src/draw draws, made of tasks of src/score. All tasks of a chart are of one setting.
#ifndef REPORT_PLOTS_H
#define REPORT_PLOTS_H

#include "assay/judge.h"
#include "base/error.h"
#include "draw/draw.h"
#include "score/summary.h"

struct plot_run {
  const char *name;
  const struct score_task *tasks; // score_tasks()
  int n;
};

// fast_p of each run over the baseline, all with the same tasks asked. ASSAY_ERR_NOMEM.
enum assay_status plot_fast_p(const struct plot_run *runs, int n, const char *baseline, const char *title,
                              const struct draw_page *page, struct buf *out, struct assay_error *err);

// The best time of each task, with its interval, in units of the floor; in units of time where no floor is known. Tasks
// without a time have a row that says why. ASSAY_ERR_NOMEM.
enum assay_status plot_distribution(const struct plot_run *run, const char *title, const struct draw_page *page,
                                    struct buf *out, struct assay_error *err);

// Whether peaks of a device of that name are of this one: "NVIDIA H200", "NVIDIA H200, driver 580.95".
bool plot_peaks_name_is_of(const char *name, const char *device);
// Whether they were measured of that device, of a setting: "cuda NVIDIA H200, driver ...", "cpu AMD EPYC".
bool plot_peaks_are_of(const struct assay_peaks *p, const char *device);

// The best time of each task under the roofs of the machine; peaks of another device than the tasks' are none. A roof
// of a number format stands where a task is under its contract. ASSAY_ERR_NOMEM.
enum assay_status plot_roofline(const struct plot_run *run, const struct assay_peaks *peaks, const char *title,
                                const struct draw_page *page, struct buf *out, struct assay_error *err);

#endif
