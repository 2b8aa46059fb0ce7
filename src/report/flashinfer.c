// SPDX-License-Identifier: Apache-2.0
// A run's verdicts as Traces.
#include "report/flashinfer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"

struct line {
  char task[128], candidate[256], workload[128];
  char *op, *definition, *text; // text: NULL where the verdict is not written
  bool passed;
  size_t number; // in the order of the store
};

struct writing {
  enum flashinfer_dialect dialect;
  struct task_files *places;
  struct flashinfer_export *out;
  struct line *lines;
  size_t n, capacity;
  bool any;
  enum assay_status status;
  struct assay_error *err;
};

// The definition of the verdict's task, with *task. NULL: its file is not found, or has none.
static const json_t *definition_of(struct writing *w, const char *name, const struct task **task) {
  struct assay_error ignored = {0};
  struct task_file *p = task_files_find(w->places, name);
  if (p && p->task && !p->kept && flashinfer_definition(p->task, &p->kept, &ignored) != ASSAY_OK)
    p->kept = NULL;
  *task = p ? p->task : NULL;
  return p ? p->kept : NULL;
}

// The verdict's workload as their Workload; one that the task does not list, such as "B=3", as it is written.
static json_t *workload_of(const struct task *t, const char *name) {
  struct arena arena = {0};
  struct workload w;
  struct assay_error ignored = {0};
  json_t *out = NULL;
  if (task_parse_workload(t, name, &arena, &w, &ignored) == ASSAY_OK &&
      flashinfer_workload(t, &w, &out, &ignored) != ASSAY_OK)
    out = NULL;
  arena_release(&arena);
  return out;
}

// "DIR/rmsnorm_fast.py": "rmsnorm_fast".
static json_t *solution_of(const char *candidate) {
  const char *slash = strrchr(candidate, '/'), *name = slash ? slash + 1 : candidate, *dot = strrchr(name, '.');
  return json_stringn(name, dot > name ? (size_t)(dot - name) : strlen(name));
}

// The Trace that the verdict came from, or NULL.
static json_t *own_trace(const struct verdict_view *view) {
  const json_t *evidence = view->evidence;
  return json_object_get(json_object_get(evidence, "flashinfer_bench"), "trace");
}

// The Trace of a verdict; NULL, and counted why, where it has none.
static json_t *trace_of(struct writing *w, const struct verdict_view *view, char **op) {
  json_t *own = own_trace(view);
  const struct task *task = NULL;
  if (own) {
    *op = base_strndup("imported", 8);
    return json_incref(own);
  }
  const json_t *definition = definition_of(w, view->stored.task, &task);
  json_t *workload = definition ? workload_of(task, view->stored.workload) : NULL;
  if (!workload) {
    w->out->without_place++;
    return NULL;
  }
  const bool timed = view_time_ns(view) > 0;
  if (view->stored.reason == ASSAY_REASON_PASS && !timed && !store_is_suspicious(&view->stored)) {
    json_decref(workload);
    w->out->without_time++;
    return NULL;
  }
  const char *kind = json_string_value(json_object_get(definition, "op_type"));
  *op = base_strndup(kind ? kind : "other", strlen(kind ? kind : "other"));
  return json_pack("{s:O, s:o, s:o, s:o}", "definition", json_object_get(definition, "name"), "workload", workload,
                   "solution", solution_of(view->stored.candidate), "evaluation",
                   flashinfer_evaluation(view, w->dialect));
}

// The verdict's line; that of an older one of the same unless each counts (`each`). NULL: no memory.
static struct line *line_for(struct writing *w, const struct store_verdict *v, bool each) {
  for (size_t i = 0; i < w->n && !each; i++)
    if (strcmp(w->lines[i].task, v->task) == 0 && strcmp(w->lines[i].candidate, v->candidate) == 0 &&
        strcmp(w->lines[i].workload, v->workload) == 0)
      return &w->lines[i];
  void *more = task_files_grow(w->lines, w->n, &w->capacity, sizeof *w->lines);
  if (!more)
    return NULL;
  w->lines = more;
  struct line *l = &w->lines[w->n++];
  *l = (struct line){.number = w->n};
  snprintf(l->task, sizeof l->task, "%s", v->task);
  snprintf(l->candidate, sizeof l->candidate, "%s", v->candidate);
  snprintf(l->workload, sizeof l->workload, "%s", v->workload);
  return l;
}

static void drop_text(struct line *l) {
  free(l->text);
  base_free(l->op);
  base_free(l->definition);
  l->text = l->op = l->definition = NULL;
}

static bool add_verdict(void *arg, const struct store_verdict *v) {
  struct writing *w = arg;
  struct verdict_view view;
  w->any = true;
  w->status = view_whole_from_store(v, &view, w->err);
  if (w->status)
    return false;
  const bool imported = own_trace(&view) != NULL;
  struct line *l = imported || v->reason != ASSAY_REASON_JUDGE_FAILED ? line_for(w, v, imported) : NULL;
  if (l) {
    drop_text(l); // a newer verdict of the same
    json_t *trace = trace_of(w, &view, &l->op);
    const char *definition = json_string_value(json_object_get(trace, "definition"));
    const char *status = json_string_value(json_object_get(json_object_get(trace, "evaluation"), "status"));
    l->definition = definition ? base_strndup(definition, strlen(definition)) : NULL;
    l->text = definition ? json_dumps(trace, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    l->passed = status && strcmp(status, "PASSED") == 0;
    json_decref(trace);
  } else if (imported || v->reason != ASSAY_REASON_JUDGE_FAILED) {
    w->status = error_nomem(w->err, "the traces");
  }
  view_release(&view);
  return !w->status;
}

// Those without a text last.
static int by_definition(const struct line *x, const struct line *y) {
  if (!x->text || !y->text)
    return (x->text == NULL) - (y->text == NULL);
  const int order = strcmp(x->op, y->op);
  return order ? order : strcmp(x->definition, y->definition);
}

static int in_order(const void *a, const void *b) {
  const struct line *x = a, *y = b;
  const int order = by_definition(x, y);
  return order ? order : (x->number > y->number) - (x->number < y->number);
}

static enum assay_status write_file(const char *folder, const struct line *first, const struct buf *text,
                                    struct assay_error *err) {
  struct buf path = {0};
  buf_printf(&path, "%s/traces/assay/", folder);
  flashinfer_file_name(first->op, &path);
  enum assay_status status = buf_status(text, err);
  if (!status)
    status = buf_status(&path, err);
  if (!status)
    status = file_make_folders(buf_str(&path), err);
  buf_puts(&path, "/");
  flashinfer_file_name(first->definition, &path);
  buf_puts(&path, ".jsonl");
  if (!status)
    status = buf_status(&path, err);
  if (!status)
    status = file_write(buf_str(&path), buf_str(text), text->len, err);
  buf_release(&path);
  return status;
}

static enum assay_status write_files(struct writing *w, const char *folder, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  struct buf text = {0};
  qsort(w->lines, w->n, sizeof *w->lines, in_order);
  for (size_t i = 0; i < w->n && w->lines[i].text && !status; i++) {
    const struct line *l = &w->lines[i], *next = i + 1 < w->n && w->lines[i + 1].text ? l + 1 : NULL;
    buf_printf(&text, "%s\n", l->text);
    w->out->traces++;
    w->out->passed += l->passed;
    w->out->failed += !l->passed;
    if (next && by_definition(l, next) == 0)
      continue;
    status = write_file(folder, l, &text, err);
    w->out->definitions++;
    buf_clear(&text);
  }
  buf_release(&text);
  return status;
}

static void release(struct writing *w) {
  for (size_t i = 0; i < w->n; i++)
    drop_text(&w->lines[i]);
  base_free(w->lines);
  task_files_destroy(w->places);
}

enum assay_status flashinfer_write_run(struct store *s, const char *run, enum flashinfer_dialect dialect,
                                       const struct task_files_where *where, const char *folder,
                                       struct flashinfer_export *out, struct assay_error *err) {
  struct writing w = {.dialect = dialect, .places = task_files_create(where), .out = out, .err = err};
  *out = (struct flashinfer_export){0};
  enum assay_status status = w.places ? store_each(s, run, add_verdict, &w, err) : error_nomem(err, "the traces");
  if (!status)
    status = w.status;
  if (!status && !w.any)
    status = store_no_run(s, run, err);
  if (!status)
    status = write_files(&w, folder, err);
  release(&w);
  return status;
}
