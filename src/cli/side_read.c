// SPDX-License-Identifier: Apache-2.0
// What the store's verdict says of a candidate of a comparison: its times, and what tuning it took, as far as the tuner
// printed that while the candidate was built.
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/side.h"
#include "tune/log.h"

struct reading {
  struct side *s;
  struct side_result *r;
  const char *diagnostics, *device;
};

static bool take_verdict(void *arg, const struct store_verdict *v) {
  struct reading *reading = arg;
  struct side_result *r = reading->r;
  struct verdict_view view;
  struct assay_error ignored = {0};
  r->reason = v->reason;
  r->detail = arena_strdup(&reading->s->arena, v->detail);
  r->time_ns = v->reason == ASSAY_REASON_PASS && !store_is_suspicious(v) ? v->time_ns : NAN;
  r->low_ns = v->time_low_ns;
  r->high_ns = v->time_high_ns;
  r->floor_ns = v->floor_ns;
  r->unstable = v->unstable;
  reading->device = arena_strdup(&reading->s->arena, v->device);
  if (view_whole_from_store(v, &view, &ignored) != ASSAY_OK)
    return false;
  const json_t *called = json_object_get(json_object_get(view.evidence, "timing"), "called_ns");
  r->called_ns = json_is_number(called) ? json_number_value(called) : NAN;
  r->not_ranked = view.not_a_gpu;
  r->device_name = arena_strdup(&reading->s->arena, view.device_name);
  reading->diagnostics = arena_strdup(&reading->s->arena, view.diagnostics);
  view_release(&view);
  return false;
}

// "assay: torch.compile: 3.250 s, in a first call of 4.500 s" (worker.py); 0 where it is not said.
static double compile_seconds(const char *text) {
  static const char mark[] = "assay: torch.compile: ";
  const char *at = text ? strstr(text, mark) : NULL;
  double seconds = at ? strtod(at + sizeof mark - 1, NULL) : 0;
  return seconds > 0 && seconds < 1e7 ? seconds : 0;
}

struct taking {
  struct side *s;
  const struct side_result *r;
  double end_s;
};

// The choice that a tuner ended with is the candidate, and so has the judge's own time, or none if it is wrong.
static enum assay_status put_trial(void *arg, const struct store_trial *t, struct assay_error *err) {
  struct taking *k = arg;
  struct store_trial own = *t;
  double end_s = (double)(t->start_ns + t->compile_ns + t->bench_ns) / 1e9;
  k->end_s = fmax(k->end_s, end_s);
  if (own.status == STORE_TRIAL_SUMMARY && k->r->reason == ASSAY_REASON_PASS)
    own.time_ns = k->r->time_ns;
  else if (own.status == STORE_TRIAL_SUMMARY)
    own.status = STORE_TRIAL_WRONG;
  return store_put_trial(k->s->store, &own, err);
}

// Trials of what the candidate's tuner printed. A text without any is no error: it had nothing to choose from.
static double take_log(struct side *s, int m, const struct side_shape *shape, const struct reading *reading) {
  char run[SIDE_RUN_BYTES], about_file[256];
  struct assay_error ignored = {0};
  int64_t n = 0;
  const char *text = reading->diagnostics, *format = s->makers[m].maker->log;
  if (!format || !text || !text[0])
    return 0;
  // A table begins somewhere in the text, and its reader knows it by its first line.
  const char *head = strcmp(format, "helion") == 0 ? tune_log_helion_head(text) : text;
  if (!head)
    return 0;
  side_tuning_run_of(s, m, run);
  snprintf(about_file, sizeof about_file, "%.200s", s->makers[m].name);
  const struct tune_log_about about = {
      .run = run, .task = shape->task, .workload = shape->workload, .device = reading->device, .file = about_file};
  struct taking taking = {.s = s, .r = reading->r};
  if (store_begin_trials(s->store, &ignored) == ASSAY_OK) {
    (void)tune_log_read(&(struct tune_log){format, head, strlen(head)}, &about, put_trial, &taking, &n, &ignored);
    (void)store_end_trials(s->store, ASSAY_OK, &ignored); // what was read
  }
  return taking.end_s;
}

enum assay_status side_read(struct side *s, int m, struct side_shape *shape, int64_t id, struct assay_error *err) {
  struct side_result *r = &shape->results[m];
  struct reading reading = {.s = s, .r = r};
  enum assay_status status = store_get(s->store, id, take_verdict, &reading, err);
  if (status)
    return status;
  double tuning_s = take_log(s, m, shape, &reading), compile_s = compile_seconds(reading.diagnostics);
  r->making_s += fmax(tuning_s, compile_s); // a compiler that tunes counts that as compiling
  return ASSAY_OK;
}
