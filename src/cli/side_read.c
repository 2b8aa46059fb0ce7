// SPDX-License-Identifier: Apache-2.0
// What the store's verdict says of a candidate of a comparison: its times, and what tuning it took, as far as the tuner
// printed that while the candidate was built.
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "cli/side.h"
#include "tune/log.h"

struct reading {
  struct side *s;
  struct side_result *r;
  const char *diagnostics, *device;
  double compile_s, processor_s;
  bool cut; // its evidence does not say how it was built, and so has not what was printed
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
  reading->cut = !json_object_get(view.evidence, "build_command");
  r->device_name = arena_strdup(&reading->s->arena, view.device_name);
  reading->diagnostics = arena_strdup(&reading->s->arena, view.diagnostics);
  reading->compile_s = view_compile_seconds(&view);
  reading->processor_s = view_first_call_processor_seconds(&view);
  view_release(&view);
  return false;
}

struct taking {
  struct side *s;
  const struct side_result *r;
  double end_s, processor_s; // processor_s: of all trials together, the first has it
};

// The choice that a tuner ended with is the candidate, and so has the judge's own time, or none if it is wrong.
static enum assay_status put_trial(void *arg, const struct store_trial *t, struct assay_error *err) {
  struct taking *k = arg;
  struct store_trial own = *t;
  double end_s = (double)(t->start_ns + t->compile_ns + t->bench_ns) / 1e9;
  k->end_s = fmax(k->end_s, end_s);
  own.cpu_ns = own.cpu_ns > 0 ? own.cpu_ns : (int64_t)(k->processor_s * 1e9);
  k->processor_s = 0;
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
  side_tuning_run_of(s, m, 0, run);
  snprintf(about_file, sizeof about_file, "%.200s", s->makers[m].name);
  const struct tune_log_about about = {
      .run = run, .task = shape->task, .workload = shape->workload, .device = reading->device, .file = about_file};
  struct taking taking = {.s = s, .r = reading->r, .processor_s = reading->processor_s};
  if (store_begin_trials(s->store, &ignored) == ASSAY_OK) {
    (void)tune_log_read(&(struct tune_log){format, head, strlen(head)}, &about, put_trial, &taking, &n, &ignored);
    (void)store_end_trials(s->store, ASSAY_OK, &ignored); // what was read
  }
  return taking.end_s;
}

static bool is_compiled(const struct side_result *r) {
  return strncmp(r->label ? r->label : "", "torch.compile", strlen("torch.compile")) == 0;
}

enum assay_status side_read(struct side *s, int m, struct side_shape *shape, int64_t id, struct assay_error *err) {
  struct side_result *r = &shape->results[m];
  struct reading reading = {.s = s, .r = r};
  enum assay_status status = store_get(s->store, id, take_verdict, &reading, err);
  if (status)
    return status;
  double tuning_s = take_log(s, m, shape, &reading);
  r->making_s += fmax(tuning_s, reading.compile_s); // a compiler that tunes counts that as compiling
  // A compiler always says it, if there is a kernel. A tuner may have had nothing to choose from.
  r->making_unknown = is_compiled(r) ? reading.compile_s == 0 && r->reason == ASSAY_REASON_PASS
                                     : reading.cut && s->makers[m].maker->log && r->making_s == 0;
  return ASSAY_OK;
}

// ---- what the store has

struct newest {
  const struct side *s;
  const struct side_shape *shape;
  int64_t id;
  uint64_t seed;
  char device[64], candidate[4096];
};

static bool take_newest(void *arg, const struct store_verdict *v) {
  struct newest *n = arg;
  const char *device = n->s->judging.device;
  if (v->reason == ASSAY_REASON_JUDGE_FAILED || strcmp(v->task, n->shape->task) != 0 ||
      strcmp(v->workload, n->shape->workload) != 0 || (device && strcmp(v->device, device) != 0))
    return true;
  n->id = v->id;
  n->seed = v->seed;
  snprintf(n->device, sizeof n->device, "%.60s", v->device);
  snprintf(n->candidate, sizeof n->candidate, "%.4000s", v->candidate);
  return true;
}

struct spent {
  const struct newest *of;
  int64_t end_ns;
};

static bool take_spent(void *arg, const struct store_trial *t) {
  struct spent *spent = arg;
  const struct newest *n = spent->of;
  int64_t end_ns = t->start_ns + t->compile_ns + t->bench_ns;
  if (strcmp(t->task, n->shape->task) == 0 && strcmp(t->workload, n->shape->workload) == 0 &&
      strcmp(t->device, n->device) == 0 && end_ns > spent->end_ns)
    spent->end_ns = end_ns;
  return true;
}

enum assay_status side_read_newest(struct side *s, int m, struct side_shape *shape, struct assay_error *err) {
  struct side_result *r = &shape->results[m];
  struct newest n = {.s = s, .shape = shape};
  struct spent spent = {.of = &n};
  char run[SIDE_RUN_BYTES];
  side_run_of(s, m, run);
  enum assay_status status = store_each(s->store, run, take_newest, &n, err);
  if (status)
    return status;
  r->asked = true;
  r->label = r->file = arena_strdup(&s->arena, n.candidate);
  r->not_judged = n.id == 0;
  if (n.id == 0) {
    r->refusal = "the store has no verdict of it";
    return ASSAY_OK;
  }
  shape->device = arena_strdup(&s->arena, n.device);
  side_tuning_run_of(s, m, n.seed, run); // a seed that was given is both the verdict's and the search's
  status = store_each_trial(s->store, run, take_spent, &spent, err);
  r->seed = spent.end_ns > 0 && n.seed > 1 ? n.seed : 0;
  side_tuning_run_of(s, m, 0, run);
  if (!status && !r->seed)
    status = store_each_trial(s->store, run, take_spent, &spent, err);
  const double spent_s = (double)spent.end_ns / 1e9;
  const bool tuned = s->makers[m].maker->log == NULL; // by the program itself: the verdict's text has nothing of it
  r->making_s = tuned ? spent_s : 0;
  if (!status)
    status = side_read(s, m, shape, n.id, err);
  if (!tuned && spent_s > 0) { // where the text was cut, the trials that were read of it are still there
    r->making_s = fmax(r->making_s, spent_s);
    r->making_unknown = r->making_unknown && is_compiled(r);
  }
  return status;
}
