// SPDX-License-Identifier: Apache-2.0
#include "report/kernelbenchx.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "report/foreign.h"
#include "report/view.h"

const char *kernelbenchx_stage_name(enum kernelbenchx_stage stage) {
  static const char *const names[] = {"fails", "call", "exe", "perf"};
  return names[stage];
}

enum kernelbenchx_stage kernelbenchx_stage(const struct kernelbenchx_result *r) {
  return r->timed ? KERNELBENCHX_PERF : r->right ? KERNELBENCHX_EXE : r->called ? KERNELBENCHX_CALL : KERNELBENCHX_NONE;
}

// Their first stage runs the tests and asks for no answer: it is passed by what was built, loaded, and came back.
static bool came_back(enum assay_reason reason) {
  switch (reason) {
  case ASSAY_REASON_PASS:
  case ASSAY_REASON_WRONG_VALUE:
  case ASSAY_REASON_WRONG_CLASS:
  case ASSAY_REASON_LOW_PRECISION:
  case ASSAY_REASON_UNWRITTEN:
  case ASSAY_REASON_CHANGED_BEHAVIOUR:
    return true;
  default:
    return false;
  }
}

// ---- the verdicts of a run, by candidate

// What a file of results has that became this verdict; NULL: none.
static json_t *imported_entry(const struct store_verdict *v) {
  if (strcmp(v->workload, KERNELBENCHX_IMPORTED) != 0)
    return NULL;
  json_t *evidence = json_loads(v->evidence, 0, NULL);
  json_t *entry = json_object_get(json_object_get(evidence, "kernelbenchx"), "entry");
  json_incref(entry);
  json_decref(evidence);
  return entry;
}

// The ladder of a verdict's task; of a file that the suite has not, and of which another harness spoke, one without
// sizes.
static enum assay_status ladder_of(const char *tasks, const struct store_verdict *v, struct kernelbenchx_ladder *out,
                                   struct assay_error *err) {
  enum assay_status status = kernelbenchx_ladder(tasks, v->task, out, err);
  if (status != ASSAY_ERR_NOT_FOUND || strcmp(v->workload, KERNELBENCHX_IMPORTED) != 0)
    return status;
  *out = (struct kernelbenchx_ladder){.dtype = ""};
  snprintf(out->task, sizeof out->task, "%s", v->task);
  snprintf(out->file, sizeof out->file, "%s", v->candidate);
  return ASSAY_OK;
}

static struct kernelbenchx_result *result_for(struct kernelbenchx_results *all, const struct store_verdict *v) {
  for (int i = all->n - 1; i >= 0; i--)
    if (strcmp(all->items[i].candidate, v->candidate) == 0 && strcmp(all->items[i].ladder.task, v->task) == 0)
      return &all->items[i];
  if (all->n == all->capacity) {
    int capacity = 2 * all->capacity + 64;
    struct kernelbenchx_result *more = base_realloc(all->items, (size_t)capacity * sizeof *more);
    if (!more) {
      all->status = error_nomem(all->err, "results");
      return NULL;
    }
    all->items = more;
    all->capacity = capacity;
  }
  struct kernelbenchx_result *r = &all->items[all->n];
  *r = (struct kernelbenchx_result){.called = true, .right = true};
  all->status = ladder_of(all->tasks, v, &r->ladder, all->err);
  if (all->status)
    return NULL;
  all->n++;
  snprintf(r->candidate, sizeof r->candidate, "%s", v->candidate);
  r->rows = base_calloc((size_t)r->ladder.n + 1, sizeof *r->rows);
  if (!r->rows)
    all->status = error_nomem(all->err, "results");
  return r->rows ? r : NULL;
}

static struct kernelbenchx_row row_of(const struct store_verdict *v) {
  struct verdict_view view;
  struct assay_error ignored = {0};
  struct kernelbenchx_row row = {.there = true, .reason = v->reason, .ms = NAN, .flops = NAN, .bytes = NAN};
  if (view_from_store(v, &view, &ignored) != ASSAY_OK)
    return row;
  row.right = v->reason == ASSAY_REASON_PASS && !store_is_suspicious(v);
  if (row.right && v->time_ns > 0 && !view.foreknown)
    row.ms = v->time_ns / 1e6;
  if (!row.right)
    snprintf(row.why, sizeof row.why, "%s", v->reason == ASSAY_REASON_PASS ? "its time is suspicious" : v->detail);
  row.flops = view.flops;
  row.bytes = view.bytes;
  view_release(&view);
  return row;
}

// The newest of a workload counts; beyond so many workloads, those before the last.
static void take_other(struct kernelbenchx_result *r, const struct store_verdict *v, bool right) {
  int i = 0;
  while (i < r->n_others && strcmp(r->others[i].workload, v->workload) != 0)
    i++;
  i -= i == KERNELBENCHX_MOST_OTHERS;
  struct kernelbenchx_other *o = &r->others[i];
  r->n_others = i < r->n_others ? r->n_others : i + 1;
  *o = (struct kernelbenchx_other){.called = came_back(v->reason), .right = right};
  snprintf(o->workload, sizeof o->workload, "%s", v->workload);
  bool suspicious = v->reason == ASSAY_REASON_PASS && !right;
  snprintf(o->why, sizeof o->why, "%s at %.60s: %.150s", suspicious ? "suspicious" : assay_reason_code(v->reason),
           v->workload, v->detail);
}

// Verdicts come oldest first. The rows have the newest of each size; other workloads can only fail it.
static bool take_verdict(void *arg, const struct store_verdict *v) {
  struct kernelbenchx_results *all = arg;
  if (strncmp(v->task, "kernelbenchx/", 13) != 0 || v->reason == ASSAY_REASON_JUDGE_FAILED)
    return true;
  struct kernelbenchx_result *r = result_for(all, v);
  if (!r)
    return all->status == ASSAY_ERR_NOT_FOUND; // a task that is no more
  struct kernelbenchx_row row = row_of(v);
  int size = kernelbenchx_size_of(&r->ladder, v->workload);
  json_t *entry = imported_entry(v);
  if (entry) {
    json_decref(r->entry);
    r->entry = entry;
  } else if (size >= 0) {
    r->rows[size] = row;
  } else {
    take_other(r, v, row.right);
  }
  return true;
}

// What its file says.
static void sum_up_entry(struct kernelbenchx_result *r) {
  enum kernelbenchx_stage said = KERNELBENCHX_NONE;
  struct assay_error ignored;
  const char *error = json_string_value(json_object_get(r->entry, "error"));
  (void)kernelbenchx_stage_of("", r->candidate, r->entry, &said, &ignored);
  r->called = said >= KERNELBENCHX_CALL;
  r->right = said >= KERNELBENCHX_EXE;
  r->timed = said >= KERNELBENCHX_PERF;
  r->total_ms = foreign_number(r->entry, "runtime_ms");
  snprintf(r->error, sizeof r->error, "%s", error ? error : "");
}

static void sum_up(struct kernelbenchx_result *r) {
  const char *missing = NULL;
  if (r->entry) {
    sum_up_entry(r);
    return;
  }
  for (int i = 0; i < r->n_others; i++) {
    r->called = r->called && r->others[i].called;
    r->right = r->right && r->others[i].right;
    if (!r->error[0] && !r->others[i].right)
      snprintf(r->error, sizeof r->error, "%s", r->others[i].why);
  }
  for (int i = 0; i < r->ladder.n; i++) {
    const struct kernelbenchx_row *row = &r->rows[i];
    r->called = r->called && (!row->there || came_back(row->reason));
    r->right = r->right && (!row->there || row->right);
    r->n_right += row->there && row->right;
    r->n_timed += !isnan(row->ms) && row->there;
    r->total_ms += row->there && !isnan(row->ms) ? row->ms : 0;
    if (!r->error[0] && row->there && !row->right)
      snprintf(r->error, sizeof r->error, "%s at %s: %s", assay_reason_code(row->reason), r->ladder.sizes[i].workload,
               row->why);
    if (!missing && (!row->there || isnan(row->ms)))
      missing = r->ladder.sizes[i].workload;
  }
  r->right = r->right && r->called;
  r->timed = r->right && r->ladder.n > 0 && r->n_timed == r->ladder.n;
  if (r->right && !r->timed && !r->error[0])
    snprintf(r->error, sizeof r->error, "timed at %d of %d sizes, and not at %s", r->n_timed, r->ladder.n,
             missing ? missing : "any");
}

static int by_file(const void *a, const void *b) {
  const struct kernelbenchx_result *x = a, *y = b;
  int order = strcmp(x->ladder.file, y->ladder.file);
  enum kernelbenchx_stage p = kernelbenchx_stage(x), q = kernelbenchx_stage(y);
  if (order)
    return order;
  if (p != q)
    return p > q ? -1 : 1;
  if (x->total_ms != y->total_ms && p == KERNELBENCHX_PERF)
    return x->total_ms < y->total_ms ? -1 : 1;
  return strcmp(x->candidate, y->candidate);
}

static void release(struct kernelbenchx_result *r) {
  kernelbenchx_ladder_release(&r->ladder);
  base_free(r->rows);
  json_decref(r->entry);
}

static void keep_best(struct kernelbenchx_results *all) {
  int kept = 0;
  for (int i = 0; i < all->n; i++)
    if (kept > 0 && strcmp(all->items[kept - 1].ladder.file, all->items[i].ladder.file) == 0)
      release(&all->items[i]);
    else
      all->items[kept++] = all->items[i];
  all->n = kept;
}

void kernelbenchx_results_release(struct kernelbenchx_results *r) {
  for (int i = 0; i < r->n; i++)
    release(&r->items[i]);
  base_free(r->items);
  *r = (struct kernelbenchx_results){0};
}

enum assay_status kernelbenchx_collect(struct store *s, const char *run, const char *tasks,
                                       struct kernelbenchx_results *out, struct assay_error *err) {
  struct kernelbenchx_results all = {.tasks = tasks, .err = err};
  enum assay_status status = store_each(s, run, take_verdict, &all, err);
  if (!status && all.status && all.status != ASSAY_ERR_NOT_FOUND)
    status = all.status;
  if (!status && all.n == 0)
    status = error_set(err, ASSAY_ERR_NOT_FOUND, "run \"%s\" has no verdicts on tasks of kernelbenchx", run);
  for (int i = 0; i < all.n; i++)
    sum_up(&all.items[i]);
  if (!status) {
    qsort(all.items, (size_t)all.n, sizeof *all.items, by_file);
    keep_best(&all);
    *out = all;
  } else {
    kernelbenchx_results_release(&all);
  }
  return status;
}

// ---- reference times

static const char *last_part(const struct kernelbenchx_ladder *l) {
  const char *slash = strrchr(l->file, '/');
  return slash ? slash + 1 : l->file;
}

// *rows: NULL where there is no such file.
static enum assay_status golden_rows(const char *folder, const struct kernelbenchx_ladder *l, json_t **rows,
                                     struct assay_error *err) {
  struct buf path = {0};
  const char *file = last_part(l);
  json_error_t where = {.line = 0};
  *rows = NULL;
  buf_printf(&path, "%s/%.*s.json", folder, (int)(strlen(file) - 3), file);
  enum assay_status status = buf_status(&path, err);
  if (!status && access(buf_str(&path), F_OK) == 0) {
    *rows = foreign_load_file(buf_str(&path), JSON_REJECT_DUPLICATES, &where);
    if (!*rows)
      status = error_set(err, ASSAY_ERR_SYNTAX, "%s:%d: %s", buf_str(&path), where.line, where.text);
    else if (!kernelbenchx_are_rows(*rows))
      status = error_set(err, ASSAY_ERR_INVALID, "%s: want a list of rows, [{\"input_size\": ..., \"ms\": ...}, ...]",
                         buf_str(&path));
  }
  buf_release(&path);
  return status;
}

enum assay_status kernelbenchx_check_baseline(const struct kernelbenchx_baseline *b,
                                              const struct kernelbenchx_results *r, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  int found = 0;
  for (int i = 0; i < r->n && b->folder && !status; i++) {
    json_t *rows = NULL;
    status = golden_rows(b->folder, &r->items[i].ladder, &rows, err);
    found += rows != NULL;
    json_decref(rows);
  }
  if (!status && b->folder && !found)
    status =
        error_set(err, ASSAY_ERR_NOT_FOUND,
                  "%s has no reference timings of the run's tasks, such as %.*s.json: name a folder as the suite's "
                  "metrics/golden_results/MACHINE, or a run",
                  b->folder, (int)strlen(last_part(&r->items[0].ladder)) - 3, last_part(&r->items[0].ladder));
  return status;
}

void kernelbenchx_baseline_rows(const struct kernelbenchx_baseline *b, const struct kernelbenchx_ladder *l,
                                double *ms) {
  json_t *rows = NULL;
  struct assay_error ignored;
  if (b->folder)
    (void)golden_rows(b->folder, l, &rows, &ignored);
  kernelbenchx_read_rows(l, rows, ms);
  json_decref(rows);
  for (int i = 0; b->run && i < b->run->n; i++)
    if (strcmp(b->run->items[i].ladder.task, l->task) == 0)
      for (int s = 0; s < l->n; s++)
        ms[s] = b->run->items[i].rows[s].there ? b->run->items[i].rows[s].ms : NAN;
}

// ---- writing

static json_t *rounded(double x, int digits) {
  double scale = pow(10, digits);
  return isfinite(x) ? json_real(round(x * scale) / scale) : json_string("N/A");
}

struct sums {
  double reference, generated, speedups; // over matched sizes; speedups: their sum over files
};

static double rate(double work, double ms, double unit) {
  return work / (ms / 1e3) / unit;
}

static json_t *performance(const struct kernelbenchx_result *r) {
  json_t *rows = json_array();
  for (int i = 0; i < r->ladder.n; i++) {
    const struct kernelbenchx_row *row = &r->rows[i];
    json_array_append_new(rows, json_pack("{s:O, s:f, s:o, s:o, s:s}", "input_size", r->ladder.sizes[i].shapes, "ms",
                                          row->ms, "GB/s", rounded(rate(row->bytes, row->ms, 1e9), 4), "TFLOPS",
                                          rounded(rate(row->flops, row->ms, 1e12), 6), "workload",
                                          r->ladder.sizes[i].workload));
  }
  return rows;
}

// The file's speed, over the sizes that both have; NaN: none.
static double speedup_of(const struct kernelbenchx_result *r, const struct kernelbenchx_baseline *b,
                         struct sums *sums) {
  double *ms = b && r->timed ? base_calloc((size_t)r->ladder.n, sizeof *ms) : NULL, reference = 0, generated = 0;
  if (!ms)
    return NAN;
  kernelbenchx_baseline_rows(b, &r->ladder, ms);
  for (int i = 0; i < r->ladder.n; i++)
    if (ms[i] > 0) {
      reference += ms[i];
      generated += r->rows[i].ms;
    }
  base_free(ms);
  sums->reference += reference;
  sums->generated += generated;
  sums->speedups += generated > 0 ? reference / generated : 0;
  return generated > 0 ? reference / generated : NAN;
}

// The speed that an imported entry has; NaN: none.
static double speedup_there(const struct kernelbenchx_result *r, struct sums *sums) {
  const double speedup = r->timed ? foreign_number(r->entry, "speedup") : NAN;
  if (!(speedup > 0))
    return NAN;
  if (r->total_ms > 0) {
    sums->reference += speedup * r->total_ms;
    sums->generated += r->total_ms;
  }
  sums->speedups += speedup;
  return speedup;
}

static json_t *entry_of(const struct kernelbenchx_result *r, double speedup) {
  double bytes = 0, flops = 0;
  for (int i = 0; i < r->ladder.n && r->timed; i++) {
    bytes += isnan(r->rows[i].bytes) ? 0 : r->rows[i].bytes;
    flops += isnan(r->rows[i].flops) ? 0 : r->rows[i].flops;
  }
  double ms = r->timed ? r->total_ms : NAN;
  json_t *assay = json_pack("{s:s, s:i, s:i, s:i}", "candidate", r->candidate, "sizes", r->ladder.n, "right_sizes",
                            r->n_right, "timed_sizes", r->n_timed);
  return json_pack("{s:s, s:b, s:b, s:b, s:s, s:o, s:o, s:o, s:o, s:s, s:{}, s:o, s:s, s:s, s:o}", "file",
                   r->ladder.file, "call_ok", r->called, "exe_ok", r->right, "perf_ok", r->timed, "dtype",
                   r->ladder.dtype, "runtime_ms", rounded(ms, 4), "gbs", rounded(rate(bytes, ms, 1e9), 4), "tflops",
                   rounded(rate(flops, ms, 1e12), 4), "speedup", rounded(speedup, 4), "maintainability", "N/A",
                   "code_quality", "performance", r->timed ? performance(r) : json_array(), "error", r->error, "code",
                   "", "assay", assay);
}

static json_t *percent(int part, int all) {
  return rounded(all ? 100.0 * part / all : 0, 1);
}

static json_t *summary_of(const char *name, const struct kernelbenchx_export *e, const struct sums *s) {
  double global = s->generated > 0 ? s->reference / s->generated : 0;
  return json_pack("{s:s, s:i, s:i, s:o, s:i, s:o, s:i, s:o, s:o, s:o, s:o}", "method", name, "total", e->files,
                   "call_pass", e->call, "call_rate", percent(e->call, e->files), "exe_pass", e->exe, "exe_rate",
                   percent(e->exe, e->files), "perf_pass", e->perf, "perf_rate", percent(e->perf, e->files),
                   "avg_speedup", rounded(global, 3), "avg_speedup_global", rounded(global, 3), "avg_speedup_per_task",
                   rounded(e->with_speedup ? s->speedups / e->with_speedup : 0, 3));
}

static enum assay_status put(const json_t *root, const char *folder, const char *name, const char *file,
                             struct assay_error *err) {
  struct buf path = {0};
  char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
  buf_printf(&path, "%s/%s/%s", folder, name, file);
  enum assay_status status = text ? buf_status(&path, err) : error_nomem(err, "the results");
  if (!status)
    status = file_write(buf_str(&path), text, strlen(text), err);
  buf_release(&path);
  free(text);
  return status;
}

enum assay_status kernelbenchx_write(const struct kernelbenchx_results *r, const struct kernelbenchx_baseline *b,
                                     const char *folder, const char *name, struct kernelbenchx_export *out,
                                     struct assay_error *err) {
  struct kernelbenchx_export e = {.files = r->n};
  struct sums sums = {0};
  struct buf path = {0};
  json_t *metrics = json_object(), *summary = NULL;
  for (int i = 0; i < r->n; i++) {
    const struct kernelbenchx_result *one = &r->items[i];
    double speedup = one->entry ? speedup_there(one, &sums) : speedup_of(one, b, &sums);
    e.call += one->called;
    e.exe += one->right;
    e.perf += one->timed;
    e.with_speedup += !isnan(speedup);
    e.incomplete += one->right && !one->timed && !one->entry;
    json_object_set_new(metrics, one->entry ? one->candidate : one->ladder.file,
                        one->entry ? json_incref(one->entry) : entry_of(one, speedup));
  }
  summary = summary_of(name, &e, &sums);
  buf_printf(&path, "%s/%s", folder, name);
  enum assay_status status = buf_status(&path, err);
  if (!status)
    status = file_make_folders(buf_str(&path), err);
  if (!status)
    status = put(metrics, folder, name, "metrics.json", err);
  if (!status)
    status = put(summary, folder, name, "summary.json", err);
  buf_release(&path);
  json_decref(metrics);
  json_decref(summary);
  if (!status)
    *out = e;
  return status;
}
