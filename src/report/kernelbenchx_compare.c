// SPDX-License-Identifier: Apache-2.0
// What KernelBench-X's harness said (metrics.json) next to the verdicts of a run.
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "report/foreign.h"
#include "report/kernelbenchx.h"

static const json_t *first_value(const json_t *root) {
  return json_is_object(root) ? json_object_iter_value(json_object_iter((json_t *)root)) : NULL;
}

static enum assay_status read_json(const char *path, json_t **root, struct assay_error *err) {
  json_error_t where;
  *root = foreign_load_file(path, JSON_REJECT_DUPLICATES, &where);
  if (!*root && where.line < 0)
    return error_set(err, ASSAY_ERR_IO, "cannot read a file of results: %s", where.text);
  return *root ? ASSAY_OK : error_set(err, ASSAY_ERR_SYNTAX, "%s:%d: %s", path, where.line, where.text);
}

enum assay_status kernelbenchx_file_of(const char *path, enum kernelbenchx_file *form, struct assay_error *err) {
  json_t *root = NULL;
  enum assay_status status = read_json(path, &root, err);
  const json_t *first = first_value(root);
  *form = json_object_get(first, "call_ok") || json_object_get(first, "exe_ok")  ? KERNELBENCHX_METRICS
          : json_object_get(root, "call_pass") && json_object_get(root, "total") ? KERNELBENCHX_SUMMARY
                                                                                 : KERNELBENCHX_OTHER;
  json_decref(root);
  return status;
}

enum assay_status kernelbenchx_read_summary(const char *path, struct kernelbenchx_summary *out,
                                            struct assay_error *err) {
  static const char *const keys[] = {"total", "call_pass", "exe_pass", "perf_pass"};
  json_t *root = NULL;
  enum assay_status status = read_json(path, &root, err);
  json_int_t values[4] = {0}, most = INT_MAX;
  for (int i = 0; i < 4 && !status; i++) {
    const json_t *v = json_object_get(root, keys[i]);
    values[i] = json_integer_value(v);
    if (!json_is_integer(v) || values[i] < 0 || values[i] > most)
      status = error_set(err, ASSAY_ERR_INVALID, "%s: \"%s\": want a whole number from 0 to %s", path, keys[i],
                         i ? "\"total\"" : "2147483647");
    most = values[0];
  }
  json_decref(root);
  *out = (struct kernelbenchx_summary){.total = (int)values[0]};
  for (int i = 0; i < 3; i++)
    out->passed[i] = (int)values[i + 1];
  return status;
}

// Their length without folders and ending.
static size_t stem_of(const char *file, const char **stem) {
  *stem = foreign_last_part(file);
  size_t n = strlen(*stem);
  return n > 3 && strcasecmp(*stem + n - 3, ".py") == 0 ? n - 3 : n;
}

bool kernelbenchx_same_file(const char *a, const char *b) {
  const size_t n = stem_of(a, &a);
  return n == stem_of(b, &b) && strncasecmp(a, b, n) == 0;
}

static const struct kernelbenchx_result *ours_of(const struct kernelbenchx_results *r, const char *file) {
  for (int i = 0; i < r->n; i++)
    if (kernelbenchx_same_file(r->items[i].ladder.file, file))
      return &r->items[i];
  return NULL;
}

static void match_rows(const struct kernelbenchx_results *r, const json_t *rows, struct kernelbenchx_pair *p) {
  struct kernelbenchx_ladder own = {0};
  struct assay_error ignored = {0};
  char task[160];
  snprintf(task, sizeof task, "kernelbenchx/%.*s", (int)strlen(p->file) - 3, p->file);
  p->rows = rows ? (int)json_array_size(rows) : -1;
  if (!p->ours && (!r->tasks || kernelbenchx_ladder(r->tasks, task, &own, &ignored) != ASSAY_OK))
    return;
  const struct kernelbenchx_ladder *l = p->ours ? &p->ours->ladder : &own;
  double *ms = base_calloc((size_t)l->n + 1, sizeof *ms);
  if (ms) {
    kernelbenchx_read_rows(l, rows, ms);
    p->sizes = l->n;
    for (int s = 0; s < l->n; s++)
      p->rows_matched += !isnan(ms[s]);
  }
  base_free(ms);
  kernelbenchx_ladder_release(&own);
}

enum assay_status kernelbenchx_stage_of(const char *path, const char *file, const json_t *entry,
                                        enum kernelbenchx_stage *said, struct assay_error *err) {
  const json_t *call = json_object_get(entry, "call_ok"), *exe = json_object_get(entry, "exe_ok");
  const json_t *perf = json_object_get(entry, "perf_ok"), *rows = json_object_get(entry, "performance");
  if (!json_is_boolean(call) || !json_is_boolean(exe) || !json_is_boolean(perf) || strlen(file) < 4)
    return error_set(err, ASSAY_ERR_INVALID,
                     "%s: \"%.80s\": want {\"call_ok\": ..., \"exe_ok\": ..., \"perf_ok\": ..., ...}", path, file);
  if (rows && !kernelbenchx_are_rows(rows))
    return error_set(err, ASSAY_ERR_INVALID,
                     "%s: \"%.80s\": \"performance\": want a list of rows, [{\"input_size\": ..., \"ms\": ...}, ...]",
                     path, file);
  *said = !json_is_true(call)   ? KERNELBENCHX_NONE
          : !json_is_true(exe)  ? KERNELBENCHX_CALL
          : !json_is_true(perf) ? KERNELBENCHX_EXE
                                : KERNELBENCHX_PERF;
  return ASSAY_OK;
}

static enum assay_status take_entry(const struct kernelbenchx_results *r, const char *path, const char *file,
                                    const json_t *entry, struct kernelbenchx_pair *p, struct assay_error *err) {
  const json_t *rows = json_object_get(entry, "performance"), *error = json_object_get(entry, "error");
  enum kernelbenchx_stage said;
  enum assay_status status = kernelbenchx_stage_of(path, file, entry, &said, err);
  if (status)
    return status;
  *p = (struct kernelbenchx_pair){.there = true, .ours = ours_of(r, file)};
  snprintf(p->file, sizeof p->file, "%s", p->ours ? p->ours->ladder.file : file);
  p->here = p->ours != NULL;
  p->said = said;
  p->runtime_ms = foreign_number(entry, "runtime_ms");
  p->speedup = foreign_number(entry, "speedup");
  snprintf(p->error, sizeof p->error, "%s", json_is_string(error) ? json_string_value(error) : "");
  match_rows(r, rows, p);
  return ASSAY_OK;
}

static int by_file(const void *a, const void *b) {
  return strcmp(((const struct kernelbenchx_pair *)a)->file, ((const struct kernelbenchx_pair *)b)->file);
}

static bool has(const struct kernelbenchx_pair *pairs, int n, const struct kernelbenchx_result *r) {
  for (int i = 0; i < n; i++)
    if (pairs[i].ours == r)
      return true;
  return false;
}

bool kernelbenchx_differ(const struct kernelbenchx_pair *p) {
  return p->here && p->there && (p->said >= KERNELBENCHX_EXE) != p->ours->right;
}

enum assay_status kernelbenchx_compare(const struct kernelbenchx_results *r, const char *path,
                                       struct kernelbenchx_pair **pairs, int *n, struct assay_error *err) {
  enum { MOST = 4096 }; // the suite has 184
  json_t *root = NULL, *entry;
  const char *file;
  enum assay_status status = read_json(path, &root, err);
  if (!status && json_object_size(root) > MOST) {
    status = error_set(err, ASSAY_ERR_INVALID, "%s: it has %zu files, at most %d are read", path,
                       json_object_size(root), MOST);
    json_decref(root);
  }
  if (status)
    return status;
  struct kernelbenchx_pair *all = base_calloc(json_object_size(root) + (size_t)r->n + 1, sizeof *all);
  status = all ? ASSAY_OK : error_nomem(err, "results");
  int count = 0;
  json_object_foreach(root, file, entry) {
    if (!status)
      status = take_entry(r, path, file, entry, &all[count], err);
    count += !status;
  }
  for (int i = 0, there = count; i < r->n && !status; i++)
    if (!has(all, there, &r->items[i])) {
      all[count] = (struct kernelbenchx_pair){.here = true, .ours = &r->items[i], .runtime_ms = NAN, .speedup = NAN};
      snprintf(all[count++].file, sizeof all->file, "%s", r->items[i].ladder.file);
    }
  json_decref(root);
  if (status) {
    base_free(all);
    return status;
  }
  qsort(all, (size_t)count, sizeof *all, by_file);
  *pairs = all;
  *n = count;
  return ASSAY_OK;
}
