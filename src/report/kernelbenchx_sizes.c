// SPDX-License-Identifier: Apache-2.0
#include "report/kernelbenchx_sizes.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "judge/python.h"
#include "task/task.h"

enum { SHAPES_PART = 4 }; // of a line of init_arguments.txt, counted from 0

static int64_t symbol_value(const struct workload *w, const char *name, size_t n) {
  for (int i = 0; i < w->n; i++)
    if (strlen(w->bindings[i].symbol) == n && memcmp(w->bindings[i].symbol, name, n) == 0)
      return w->bindings[i].value;
  return 0;
}

// "2*H": a product of numbers and symbols; 0 for what it cannot be.
static int64_t extent_of(const struct workload *w, const char *text, const char *end) {
  int64_t product = 1;
  while (text < end) {
    text += strspn(text, " *");
    size_t n = 0;
    while (text + n < end && (isalnum((unsigned char)text[n]) || text[n] == '_'))
      n++;
    if (n == 0)
      break;
    product *= isdigit((unsigned char)*text) ? strtoll(text, NULL, 10) : symbol_value(w, text, n);
    text += n;
  }
  return product;
}

// "[N, 64] [N]" at a workload.
static json_t *shapes_at(const struct workload *w, const char *text) {
  json_t *shapes = json_array();
  for (const char *open = strchr(text, '['), *close; open && (close = strchr(open, ']')); open = strchr(close, '[')) {
    json_t *shape = json_array();
    for (const char *at = open + 1; at < close;) {
      const char *end = memchr(at, ',', (size_t)(close - at));
      end = end ? end : close;
      json_array_append_new(shape, json_integer(extent_of(w, at, end)));
      at = end + 1;
    }
    json_array_append_new(shapes, shape);
  }
  return shapes;
}

static const char *part_of(const char *line, int part) {
  for (int i = 0; line && i < part; i++)
    line = (line = strchr(line, ';')) ? line + 1 : NULL;
  return line ? line : "";
}

static bool is_size(const char *workload) {
  return strncmp(workload, "size", 4) == 0 && isdigit((unsigned char)workload[4]);
}

static enum assay_status fill(const struct task *t, struct kernelbenchx_ladder *out, struct assay_error *err) {
  struct arena arena = {0};
  const char *line = NULL, *suite = "kernelbenchx/", *type = t->own_contract;
  enum assay_status status = judge_init_arguments(t, &arena, &line, err);
  out->sizes = base_calloc((size_t)t->n_workloads + 1, sizeof *out->sizes);
  if (!status && !out->sizes)
    status = error_nomem(err, "a ladder of sizes");
  snprintf(out->task, sizeof out->task, "%s", t->name);
  snprintf(out->file, sizeof out->file, "%s.py", t->name + (strncmp(t->name, suite, 13) == 0 ? 13 : 0));
  out->dtype = strcmp(type, "fp16") == 0 ? "float16" : strcmp(type, "bf16") == 0 ? "bfloat16" : "float32";
  for (int i = 0; i < t->n_workloads && !status; i++) {
    const struct workload *w = &t->workloads[i];
    if (!is_size(w->name))
      continue;
    struct kernelbenchx_size *size = &out->sizes[out->n++];
    snprintf(size->workload, sizeof size->workload, "%s", w->name);
    size->shapes = shapes_at(w, part_of(line, SHAPES_PART));
    if (!size->shapes)
      status = error_nomem(err, "a ladder of sizes");
  }
  arena_release(&arena);
  return status;
}

enum assay_status kernelbenchx_ladder(const char *tasks, const char *task, struct kernelbenchx_ladder *out,
                                      struct assay_error *err) {
  char *path = NULL;
  struct task t;
  *out = (struct kernelbenchx_ladder){0};
  enum assay_status status = task_find(tasks, task, &path, err);
  if (!status)
    status = task_read(path, false, &t, err);
  base_free(path);
  if (status)
    return status;
  status = fill(&t, out, err);
  task_release(&t);
  if (status)
    kernelbenchx_ladder_release(out);
  return status;
}

void kernelbenchx_ladder_release(struct kernelbenchx_ladder *l) {
  for (int i = 0; i < l->n; i++)
    json_decref(l->sizes[i].shapes);
  base_free(l->sizes);
  *l = (struct kernelbenchx_ladder){0};
}

int kernelbenchx_size_of(const struct kernelbenchx_ladder *l, const char *workload) {
  for (int i = 0; i < l->n; i++)
    if (strcmp(l->sizes[i].workload, workload) == 0)
      return i;
  return strcmp(workload, "full") == 0 ? l->n - 1 : -1;
}

// ---- their rows

static bool is_shape(const json_t *v) {
  bool all = json_array_size(v) > 0;
  for (size_t i = 0; i < json_array_size(v) && all; i++)
    all = json_is_integer(json_array_get(v, i));
  return all;
}

// The shapes in a row's "input_size", which may be nested, and has numbers among them.
static void flatten(const json_t *v, int depth, json_t *shapes) {
  if (is_shape(v))
    json_array_append(shapes, (json_t *)v);
  else if (depth > 0)
    for (size_t i = 0; i < json_array_size(v); i++)
      flatten(json_array_get(v, i), depth - 1, shapes);
}

static bool has_in_order(const json_t *shapes, const json_t *wanted) {
  size_t found = 0;
  for (size_t i = 0; i < json_array_size(shapes) && found < json_array_size(wanted); i++)
    found += (size_t)json_equal(json_array_get(shapes, i), json_array_get(wanted, found));
  return found == json_array_size(wanted);
}

int kernelbenchx_size_of_row(const struct kernelbenchx_ladder *l, const json_t *rows, size_t i) {
  json_t *shapes = json_array();
  int found = -1;
  flatten(json_object_get(json_array_get(rows, i), "input_size"), 4, shapes);
  for (int s = 0; s < l->n && found < 0 && json_array_size(shapes) > 0; s++)
    if (has_in_order(shapes, l->sizes[s].shapes))
      found = s;
  if (json_array_size(shapes) == 0 && json_array_size(rows) == (size_t)l->n)
    found = (int)i;
  json_decref(shapes);
  return found;
}

bool kernelbenchx_are_rows(const json_t *rows) {
  bool all = json_is_array(rows);
  for (size_t i = 0; i < json_array_size(rows) && all; i++)
    all = json_is_object(json_array_get(rows, i));
  return all;
}

void kernelbenchx_read_rows(const struct kernelbenchx_ladder *l, const json_t *rows, double *ms) {
  for (int s = 0; s < l->n; s++)
    ms[s] = NAN;
  for (size_t i = 0; i < json_array_size(rows); i++) {
    double given = json_number_value(json_object_get(json_array_get(rows, i), "ms"));
    int s = given > 0 ? kernelbenchx_size_of_row(l, rows, i) : -1;
    if (s >= 0)
      ms[s] = given;
  }
}
