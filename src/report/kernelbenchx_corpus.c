// SPDX-License-Identifier: Apache-2.0
#include "report/kernelbenchx_corpus.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "report/foreign.h"

enum { MOST_BYTES = 1 << 28, MOST_PATH = 4096 };

static double number(const json_t *object, const char *name) {
  const json_t *v = json_object_get(object, name);
  return json_is_number(v) ? json_number_value(v) : NAN;
}

static const char *text(const json_t *object, const char *name) {
  const char *v = json_string_value(json_object_get(object, name));
  return v ? v : "";
}

static struct kernelbenchx_outcome outcome_of(const json_t *v) {
  return (struct kernelbenchx_outcome){.call = json_is_true(json_object_get(v, "call_ok")),
                                       .exe = json_is_true(json_object_get(v, "exe_ok")),
                                       .perf = json_is_true(json_object_get(v, "perf_ok")),
                                       .runtime_ms = number(v, "runtime_ms"),
                                       .gbs = number(v, "gbs"),
                                       .speedup = number(v, "speedup")};
}

static const char *file_part(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static bool is_listed(const json_t *list, const char *task) {
  for (size_t i = 0; i < json_array_size(list); i++)
    if (strcmp(file_part(text(json_array_get(list, i), "file")), file_part(task)) == 0)
      return true;
  return false;
}

static bool same_text(const char *a, const char *b) {
  static const char white[] = " \t\r\n";
  a += strspn(a, white);
  b += strspn(b, white);
  size_t n = strlen(a), m = strlen(b);
  while (n > 0 && strchr(white, a[n - 1]))
    n--;
  while (m > 0 && strchr(white, b[m - 1]))
    m--;
  return n == m && memcmp(a, b, n) == 0;
}

static enum assay_status take_record(struct kernelbenchx_corpus *c, const json_t *list, const json_t *v,
                                     size_t *capacity, struct assay_error *err) {
  if ((size_t)c->n == *capacity &&
      !(c->records = arena_grow(&c->arena, c->records, (size_t)c->n, capacity, sizeof *c->records)))
    return error_nomem(err, "a corpus");
  struct kernelbenchx_record *r = &c->records[c->n++];
  *r = (struct kernelbenchx_record){.task = arena_strdup(&c->arena, text(v, "task_id")),
                                    .transition = arena_strdup(&c->arena, text(v, "transition")),
                                    .kind = arena_strdup(&c->arena, text(v, "kind")),
                                    .in_suite = is_listed(list, text(v, "task_id")),
                                    .same_code = same_text(text(v, "before_code"), text(v, "after_code")),
                                    .has_code = text(v, "before_code")[0] && text(v, "after_code")[0],
                                    .before = outcome_of(json_object_get(v, "before")),
                                    .after = outcome_of(json_object_get(v, "after"))};
  return r->task && r->transition && r->kind ? ASSAY_OK : error_nomem(err, "a corpus");
}

static enum assay_status take_lines(struct kernelbenchx_corpus *c, const char *path, const json_t *list, char *lines,
                                    size_t n, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  size_t capacity = 0;
  int number_of_line = 1;
  for (char *line = lines, *end; line < lines + n && !status; line = end + 1, number_of_line++) {
    end = memchr(line, '\n', (size_t)(lines + n - line));
    end = end ? end : lines + n;
    if (strspn(line, " \t\r\n") >= (size_t)(end - line))
      continue;
    json_error_t where;
    json_t *v = foreign_loadb(line, (size_t)(end - line), 0, &where);
    if (!v)
      status = error_set(err, ASSAY_ERR_SYNTAX, "%s:%d: %s", path, number_of_line, where.text);
    else if (!json_is_object(json_object_get(v, "before")) || !json_is_object(json_object_get(v, "after")) ||
             !text(v, "task_id")[0])
      status = error_set(err, ASSAY_ERR_INVALID, "%s:%d: want {\"task_id\", \"before\": {...}, \"after\": {...}}", path,
                         number_of_line);
    else
      status = take_record(c, list, v, &capacity, err);
    json_decref(v);
  }
  return status;
}

enum assay_status kernelbenchx_corpus_read(const char *checkout, struct kernelbenchx_corpus *out,
                                           struct assay_error *err) {
  char path[MOST_PATH], *lines = NULL;
  size_t n = 0;
  struct kernelbenchx_corpus c = {0};
  snprintf(path, sizeof path, "%s/data/kernelbenchx_v1.json", checkout);
  json_t *list = foreign_load_file(path, 0, NULL);
  snprintf(path, sizeof path, "%s/data/kbx_corpus/all_records.jsonl", checkout);
  enum assay_status status = file_read(path, MOST_BYTES, &lines, &n, err);
  if (!status)
    status = take_lines(&c, path, list, lines, n, err);
  c.n_suite = (int)json_array_size(list);
  json_decref(list);
  base_free(lines);
  if (status)
    kernelbenchx_corpus_release(&c);
  else
    *out = c;
  return status;
}

void kernelbenchx_corpus_release(struct kernelbenchx_corpus *c) {
  arena_release(&c->arena);
  *c = (struct kernelbenchx_corpus){0};
}
