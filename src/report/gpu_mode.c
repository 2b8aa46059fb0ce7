// SPDX-License-Identifier: Apache-2.0
#include "report/gpu_mode.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/file.h"
#include "report/flashinfer.h"
#include "report/view.h"
#include "stats/stats.h"

// What a verdict says of one case; the newest of its workload.
struct found {
  char workload[128], said[512];
  bool passed, timed;
  int runs;
  double mean_ns, std_ns, best_ns, worst_ns, median_ns;
};

struct submission {
  char task[128], candidate[256], device[176];
  int64_t first_ns, last_ns;
  struct found *cases;
  size_t n, capacity;
};

struct writing {
  struct submission *all;
  size_t n, capacity;
  bool any;
  enum assay_status status;
  struct assay_error *err;
};

static struct submission *submission_of(struct writing *w, const struct store_verdict *v) {
  for (size_t i = 0; i < w->n; i++)
    if (strcmp(w->all[i].task, v->task) == 0 && strcmp(w->all[i].candidate, v->candidate) == 0)
      return &w->all[i];
  void *more = task_files_grow(w->all, w->n, &w->capacity, sizeof *w->all);
  if (!more)
    return NULL;
  w->all = more;
  struct submission *s = &w->all[w->n++];
  *s = (struct submission){.first_ns = v->at_ns};
  snprintf(s->task, sizeof s->task, "%s", v->task);
  snprintf(s->candidate, sizeof s->candidate, "%s", v->candidate);
  return s;
}

static struct found *case_of(struct submission *s, const char *workload) {
  for (size_t i = 0; i < s->n; i++)
    if (strcmp(s->cases[i].workload, workload) == 0)
      return &s->cases[i];
  void *more = task_files_grow(s->cases, s->n, &s->capacity, sizeof *s->cases);
  if (!more)
    return NULL;
  s->cases = more;
  return &s->cases[s->n++];
}

static void put_times(struct found *f, const struct verdict_view *view) {
  const struct store_verdict *v = &view->stored;
  const int n = v->n_samples;
  f->timed = f->passed && view_time_ns(view) > 0 && n > 0;
  f->median_ns = f->timed ? v->time_ns : NAN;
  f->runs = n;
  if (!f->timed)
    return;
  f->mean_ns = fmax(0, stats_mean(v->samples_ns, n) - view->overhead_ns);
  f->std_ns = n > 1 ? stats_stdev(v->samples_ns, n) : 0;
  f->best_ns = fmax(0, stats_quantile(v->samples_ns, n, 0) - view->overhead_ns);
  f->worst_ns = fmax(0, stats_quantile(v->samples_ns, n, 1) - view->overhead_ns);
}

static bool add_verdict(void *arg, const struct store_verdict *v) {
  struct writing *w = arg;
  struct verdict_view view;
  w->any = true;
  if (v->reason == ASSAY_REASON_JUDGE_FAILED)
    return true;
  struct submission *s = submission_of(w, v);
  struct found *f = s ? case_of(s, v->workload) : NULL;
  w->status = f ? view_from_store(v, &view, w->err) : error_nomem(w->err, "the results");
  if (w->status)
    return false;
  s->last_ns = v->at_ns;
  snprintf(s->device, sizeof s->device, "%s", view.device_name[0] ? view.device_name : view.processor);
  *f = (struct found){.passed = v->reason == ASSAY_REASON_PASS && !store_is_suspicious(v)};
  snprintf(f->workload, sizeof f->workload, "%s", v->workload);
  snprintf(f->said, sizeof f->said, "%s: %s", assay_reason_code(v->reason), v->detail ? v->detail : "");
  put_times(f, &view);
  view_release(&view);
  return true;
}

// --- a result

static void put(json_t *result, const char *kind, int i, const char *key, json_t *value) {
  char name[64];
  snprintf(name, sizeof name, "%s.%d.%s", kind, i, key);
  json_object_set_new(result, name, value);
}

static json_t *number_text(double x) {
  char text[40];
  snprintf(text, sizeof text, "%.17g", x);
  return json_string(text);
}

// {"size": 127, "seed": 4242} as "size: 127; seed: 4242".
static json_t *spec_of(const json_t *arguments) {
  struct buf text = {0};
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)(uintptr_t)arguments, key, value) {
    char *shown = json_dumps(value, JSON_ENCODE_ANY);
    buf_printf(&text, "%s%s: %s", text.len ? "; " : "", key,
               json_is_string(value) ? json_string_value(value)
               : shown               ? shown
                                     : "");
    free(shown);
  }
  json_t *spec = json_string(buf_str(&text));
  buf_release(&text);
  return spec;
}

// Whether both workloads of the task have the same sizes.
static bool same_sizes(const struct task *t, const char *a, const char *b) {
  const struct workload *x = NULL, *y = NULL;
  for (int i = 0; i < t->n_workloads; i++) {
    x = strcmp(t->workloads[i].name, a) == 0 ? &t->workloads[i] : x;
    y = strcmp(t->workloads[i].name, b) == 0 ? &t->workloads[i] : y;
  }
  bool same = x && y && x->n == y->n;
  for (int i = 0; same && i < x->n; i++)
    for (int k = 0; k < y->n; k++)
      if (strcmp(x->bindings[i].symbol, y->bindings[k].symbol) == 0)
        same = same && x->bindings[i].value == y->bindings[k].value;
  return same;
}

// The submission's verdict at that workload, or at another one of the same sizes; NULL: there is none.
static const struct found *find_case(const struct submission *s, const struct task *t, const char *workload) {
  const struct found *f = NULL;
  for (size_t k = 0; k < s->n && workload; k++)
    if (strcmp(s->cases[k].workload, workload) == 0)
      return &s->cases[k];
    else if (same_sizes(t, workload, s->cases[k].workload))
      f = &s->cases[k];
  return f;
}

static bool has_cases(const struct task *t, const char *list) {
  const char *text = model_property(&t->model, list);
  json_t *cases = text ? json_loads(text, 0, NULL) : NULL;
  bool any = json_array_size(cases) > 0;
  json_decref(cases);
  return any;
}

// Whether one of the problem's tests shows what was found there, or a benchmark, where these show (`benchmarks_too`).
static bool is_shown(const struct submission *s, const struct task *t, const struct found *f, bool benchmarks_too) {
  static const char *const lists[] = {"gpu_mode.tests", "gpu_mode.benchmarks"};
  bool shown = false;
  for (int i = 0; i < (benchmarks_too ? 2 : 1) && !shown; i++) {
    const char *text = model_property(&t->model, lists[i]);
    json_t *cases = text ? json_loads(text, 0, NULL) : NULL, *row;
    size_t k;
    json_array_foreach(cases, k, row) {
      shown = shown || find_case(s, t, json_string_value(json_object_get(row, "workload"))) == f;
    }
    json_decref(cases);
  }
  return shown;
}

// A failure at sizes that the problem does not have is one all the same: nothing may say that all tests pass.
static int put_other_failures(const struct submission *s, const struct task *t, int n, json_t *result) {
  // A benchmark of a problem that has tests, of which none was judged, shows to nobody who asks for these.
  const bool benchmarks_too = n > 0 || !has_cases(t, "gpu_mode.tests");
  for (size_t k = 0; k < s->n; k++) {
    const struct found *f = &s->cases[k];
    if (f->passed || is_shown(s, t, f, benchmarks_too))
      continue;
    put(result, "test", n, "spec", json_sprintf("workload: %s", f->workload));
    put(result, "test", n, "status", json_string("fail"));
    put(result, "test", n, "error", json_string(f->said));
    n++;
  }
  return n;
}

// The run of one kind: their tester's lines, keys to texts. *n: cases in it.
static json_t *result_of(const struct submission *s, const struct task *t, bool timed, struct gpu_mode_export *out,
                         bool *passed, int *count) {
  const char *kind = timed ? "benchmark" : "test";
  const char *text = model_property(&t->model, timed ? "gpu_mode.benchmarks" : "gpu_mode.tests");
  json_t *cases = text ? json_loads(text, 0, NULL) : NULL;
  json_t *result = json_object(), *row;
  size_t i;
  char name[32];
  int n = 0;
  *passed = true;
  json_array_foreach(cases, i, row) {
    const char *workload = json_string_value(json_object_get(row, "workload"));
    const struct found *f = find_case(s, t, workload);
    if (!f || (timed && f->passed && !f->timed)) {
      out->unjudged++;
      continue;
    }
    put(result, kind, n, "spec", spec_of(json_object_get(row, "case")));
    put(result, kind, n, "status", json_string(f->passed ? "pass" : "fail"));
    if (!f->passed)
      put(result, kind, n, "error", json_string(f->said));
    if (timed && f->timed) {
      put(result, kind, n, "runs", json_sprintf("%d", f->runs));
      put(result, kind, n, "mean", number_text(f->mean_ns));
      put(result, kind, n, "std", number_text(f->std_ns));
      put(result, kind, n, "err", number_text(f->std_ns / sqrt(f->runs)));
      put(result, kind, n, "best", number_text(f->best_ns));
      put(result, kind, n, "worst", number_text(f->worst_ns));
    }
    *passed = *passed && f->passed;
    n++;
  }
  if (!timed) {
    const int own = n;
    n = put_other_failures(s, t, n, result);
    *passed = *passed && n == own;
  }
  snprintf(name, sizeof name, "%s-count", kind);
  json_object_set_new(result, name, json_sprintf("%d", n));
  json_object_set_new(result, "check", json_string(*passed ? "pass" : "fail"));
  *count = n;
  json_decref(cases);
  return result;
}

static json_t *time_text(int64_t at_ns) {
  char text[40] = "";
  const time_t seconds = (time_t)(at_ns / 1000000000);
  struct tm tm;
  if (gmtime_r(&seconds, &tm))
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S+00:00", &tm);
  return json_string(text);
}

static json_t *run_of(const struct submission *s, json_t *result, bool passed) {
  enum { EXIT_TESTS_FAILED = 112 }; // as their tester ends
  json_t *run = json_pack("{s:b, s:b, s:s, s:s, s:s, s:i, s:f, s:o}", "success", 1, "passed", passed, "command",
                          "assay", "stdout", "", "stderr", "", "exit_code", passed ? 0 : EXIT_TESTS_FAILED, "duration",
                          (double)(s->last_ns - s->first_ns) / 1e9, "result", result);
  return json_pack("{s:o, s:o, s:n, s:o, s:n}", "start", time_text(s->first_ns), "end", time_text(s->last_ns),
                   "compilation", "run", run, "profile");
}

// FOLDER/PROBLEM/SUBMISSION.json
static enum assay_status path_of(const struct submission *s, const struct task *t, const char *folder, struct buf *path,
                                 struct assay_error *err) {
  const char *slash = strrchr(s->candidate, '/'), *problem = strrchr(t->name, '/');
  buf_printf(path, "%s/", folder);
  flashinfer_file_name(problem ? problem + 1 : t->name, path);
  buf_puts(path, "/");
  flashinfer_file_name(slash ? slash + 1 : s->candidate, path);
  buf_puts(path, ".json");
  return buf_status(path, err);
}

// An earlier export's file says what no longer holds.
static enum assay_status remove_old(const char *path, struct assay_error *err) {
  return remove(path) == 0 || errno == ENOENT || errno == ENOTDIR
             ? ASSAY_OK
             : error_set(err, ASSAY_ERR_IO, "%s: an earlier export's file cannot be removed: %s", path,
                         strerror(errno));
}

static enum assay_status write_submission(const struct submission *s, const struct task *t, const char *folder,
                                          struct gpu_mode_export *out, struct assay_error *err) {
  bool right, fast;
  int n_tested, n_timed;
  json_t *tested = result_of(s, t, false, out, &right, &n_tested);
  json_t *timed = result_of(s, t, true, out, &fast, &n_timed);
  struct buf path = {0};
  enum assay_status status = path_of(s, t, folder, &path, err);
  // "All of none pass" would be read as a pass. Where the problem has no tests, its benchmarks are all that there is.
  if (status || (n_tested == 0 && (n_timed == 0 || has_cases(t, "gpu_mode.tests")))) {
    out->untested++;
    json_decref(tested);
    json_decref(timed);
    if (!status)
      status = remove_old(buf_str(&path), err);
    buf_release(&path);
    return status;
  }
  out->cases += n_tested + n_timed;
  json_t *runs = json_object();
  if (n_tested > 0)
    json_object_set_new(runs, "test", run_of(s, tested, right));
  else
    json_decref(tested);
  if (n_timed > 0)
    json_object_set_new(runs, "benchmark", run_of(s, timed, fast));
  else
    json_decref(timed);
  json_t *root = json_pack("{s:b, s:s, s:{s:s, s:i, s:s, s:s, s:s, s:s, s:s}, s:o}", "success", 1, "error", "",
                           "system", "gpu", s->device, "device_count", 1, "cpu", "", "runtime", "", "platform", "",
                           "torch", "", "hostname", "", "runs", runs);
  char *dump = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
  char *end = strrchr(path.data, '/');
  *end = '\0';
  status = dump ? file_make_folders(path.data, err) : error_nomem(err, "the results");
  *end = '/';
  if (!status)
    status = file_write(buf_str(&path), dump, strlen(dump), err);
  out->submissions += !status;
  buf_release(&path);
  free(dump);
  json_decref(root);
  return status;
}

enum assay_status gpu_mode_write_run(struct store *s, const char *run, const struct task_files_where *where,
                                     const char *folder, struct gpu_mode_export *out, struct assay_error *err) {
  struct writing w = {.err = err};
  struct task_files *places = task_files_create(where);
  *out = (struct gpu_mode_export){0};
  enum assay_status status = places ? store_each(s, run, add_verdict, &w, err) : error_nomem(err, "the results");
  if (!status)
    status = w.status;
  if (!status && !w.any)
    status = store_no_run(s, run, err);
  for (size_t i = 0; i < w.n && !status; i++) {
    const struct task_file *p = task_files_find(places, w.all[i].task);
    if (p && p->task &&
        (model_property(&p->task->model, "gpu_mode.tests") || model_property(&p->task->model, "gpu_mode.benchmarks")))
      status = write_submission(&w.all[i], p->task, folder, out, err);
    else
      out->without_place += (int)w.all[i].n;
  }
  for (size_t i = 0; i < w.n; i++)
    base_free(w.all[i].cases);
  base_free(w.all);
  task_files_destroy(places);
  return status;
}
