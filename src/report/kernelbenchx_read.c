// SPDX-License-Identifier: Apache-2.0
// What KernelBench-X's harness said (metrics.json) as verdicts of a run.
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "report/foreign.h"
#include "report/kernelbenchx.h"
#include "task/task.h"

enum { MOST_FILES = 4096, NAME_BYTES = 512, DETAIL_BYTES = 256 };

struct reading {
  const char *run, *path, *tasks;
  char **names; // of the suite's tasks' files
  int n_names;
  json_t *root;
  void *entry; // the next one
  int64_t now_ns;
  // Of the verdict that was read last.
  char *evidence;
  char task[NAME_BYTES], detail[DETAIL_BYTES];
};

// The suite's task, by its stem; of others what the key says.
static bool name_task(struct reading *r, const char *file, struct kernelbenchx_ladder *l) {
  struct assay_error ignored = {0};
  const size_t head = strlen(r->tasks) + 1;
  for (int i = 0; i < r->n_names; i++) {
    if (strncmp(r->names[i], r->tasks, head - 1) != 0)
      continue; // of another folder
    const char *name = foreign_last_part(r->names[i]), *dot = strchr(name, '.'), *own = r->names[i] + head;
    snprintf(r->task, sizeof r->task, "%.*s", (int)((dot ? dot : name + strlen(name)) - own), own);
    if (!kernelbenchx_same_file(r->task, file))
      continue;
    return kernelbenchx_ladder(r->tasks, r->task, l, &ignored) == ASSAY_OK;
  }
  const size_t n = strlen(file);
  const bool ends = n > 3 && strcmp(file + n - 3, ".py") == 0;
  snprintf(r->task, sizeof r->task, "kernelbenchx/%.*s", (int)(ends ? n - 3 : n), file);
  for (char *at = r->task; *at; at++)
    *at = *at == '\\' ? '/' : *at;
  return false;
}

// The sum of the times of all sizes; NaN where one is missing, or sizes are not known.
static double total_of(const struct kernelbenchx_ladder *l, const json_t *rows, int *timed) {
  double *ms = base_calloc((size_t)l->n + 1, sizeof *ms), sum = 0;
  *timed = 0;
  if (ms && rows)
    kernelbenchx_read_rows(l, rows, ms);
  for (int i = 0; ms && rows && i < l->n; i++) {
    *timed += !isnan(ms[i]);
    sum += ms[i];
  }
  base_free(ms);
  return l->n > 0 && *timed == l->n ? sum : NAN;
}

static void put_detail(struct reading *r, const char *stage, const json_t *error) {
  const char *text = json_is_string(error) ? json_string_value(error) : "";
  const size_t first = strcspn(text, "\r\n");
  snprintf(r->detail, sizeof r->detail, "%s%s%.*s", stage, first ? ": " : "", (int)(first < 200 ? first : 200), text);
}

// The evidence: the entry, and what views look for. Its speed is one over the reference's time at all sizes.
static enum assay_status put_evidence(struct reading *r, const char *file, json_t *entry, double ms, int timed,
                                      int sizes, struct assay_error *err) {
  const json_t *speed = json_object_get(entry, "speedup");
  const double speedup = json_number_value(speed);
  json_t *e = json_pack("{s:{s:s, s:O, s:i, s:i}, s:b, s:s, s:s, s:s, s:[]}", "kernelbenchx", "file", file, "entry",
                        entry, "timed_sizes", timed, "sizes", sizes, "foreknown", true, "device", "", "rule",
                        "allclose", "judge", "KernelBench-X", "baselines");
  if (e && !isnan(ms) && speedup > 0 && speedup < 1e12)
    json_array_append_new(json_object_get(e, "baselines"),
                          json_pack("{s:s, s:s, s:f, s:f}", "name", "torch.eager", "verdict", "pass", "speedup",
                                    speedup, "median_ns", speedup * ms * 1e6));
  r->evidence = e ? json_dumps(e, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
  json_decref(e);
  return r->evidence ? ASSAY_OK : error_nomem(err, "results");
}

static enum assay_status take(struct reading *r, const char *file, json_t *entry, struct store_verdict *v,
                              struct assay_error *err) {
  struct kernelbenchx_ladder ladder = {0};
  enum kernelbenchx_stage said;
  enum assay_status status = kernelbenchx_stage_of(r->path, file, entry, &said, err);
  if (status)
    return status;
  const bool known = name_task(r, file, &ladder), timed = said == KERNELBENCHX_PERF;
  int n_timed = 0;
  const double ms = total_of(&ladder, known && timed ? json_object_get(entry, "performance") : NULL, &n_timed);
  put_detail(r, said == KERNELBENCHX_NONE ? "call" : "exe", json_object_get(entry, "error"));
  v->run = r->run;
  v->task = r->task;
  v->workload = KERNELBENCHX_IMPORTED;
  v->candidate = file;
  v->device = "cuda";
  v->task_hash = v->candidate_hash = v->settings_hash = v->toolchain = v->command = "";
  v->form = "published";
  v->machine = "{}";
  v->reason = said == KERNELBENCHX_NONE   ? ASSAY_REASON_RAISED
              : said == KERNELBENCHX_CALL ? ASSAY_REASON_WRONG_VALUE
                                          : ASSAY_REASON_PASS;
  v->detail = v->reason == ASSAY_REASON_PASS ? "" : r->detail;
  const double nan = NAN;
  v->error_z = v->error_limit = v->time_low_ns = v->time_high_ns = v->hot_ns = v->floor_ns = nan;
  v->time_ns = ms * 1e6;
  v->at_ns = r->now_ns; // theirs have no date
  status = put_evidence(r, file, entry, ms, n_timed, ladder.n, err);
  v->evidence = r->evidence;
  kernelbenchx_ladder_release(&ladder);
  return status;
}

static enum assay_status supply(void *arg, struct store_verdict *v, bool *more, struct assay_error *err) {
  struct reading *r = arg;
  *v = (struct store_verdict){0};
  free(r->evidence);
  r->evidence = NULL;
  *more = r->entry != NULL;
  if (!*more)
    return ASSAY_OK;
  void *at = r->entry;
  r->entry = json_object_iter_next(r->root, at);
  return take(r, json_object_iter_key(at), json_object_iter_value(at), v, err);
}

enum assay_status kernelbenchx_read_run(struct store *s, const char *run, const char *tasks, const char *path,
                                        int64_t *n, struct assay_error *err) {
  struct reading r = {.run = run, .path = path, .tasks = tasks, .now_ns = (int64_t)time(NULL) * 1000000000};
  json_error_t where;
  r.root = foreign_load_file(path, JSON_REJECT_DUPLICATES, &where);
  enum assay_status status = ASSAY_OK;
  if (!r.root)
    status = error_set(err, ASSAY_ERR_SYNTAX, "%s:%d: %s", path, where.line, where.text);
  else if (json_object_size(r.root) > MOST_FILES)
    status = error_set(err, ASSAY_ERR_INVALID, "%s: it has %zu files, at most %d are read", path,
                       json_object_size(r.root), MOST_FILES);
  if (!status)
    status = task_list(tasks, "kernelbenchx", &r.names, &r.n_names, err);
  r.entry = r.root ? json_object_iter(r.root) : NULL;
  if (!status)
    status = store_put_all(s, supply, &r, n, err);
  if (r.names)
    task_list_release(r.names, r.n_names);
  free(r.evidence);
  json_decref(r.root);
  return status;
}
