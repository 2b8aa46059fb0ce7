// SPDX-License-Identifier: Apache-2.0
// Files of predictions: a JSON object a line, {"file": "Activation/gelu.py", "predict": "code, or a reply with code"}.
// In place of "file" there may be the text that a model was asked with. Records of KernelBench-X's published corpus
// ("task_id", "before_code", "after_code") are two candidates each.
#include "cli/bench_predictions.h"

#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "cli/prediction_code.h"
#include "report/foreign.h"

enum { MOST_FILE_BYTES = 1 << 30, MOST_NAME = 128 };

bool bench_is_predictions(const char *path) {
  size_t n = strlen(path);
  return n > 6 && strcmp(path + n - 6, ".jsonl") == 0;
}

bool bench_task_of_stem(const char *root, char *const *tasks, int n, const char *stem, char *name, size_t size) {
  const char *file = foreign_last_part(stem);
  size_t length = strlen(file), ahead = strlen(root);
  if (length > 3 && strcmp(file + length - 3, ".py") == 0)
    length -= 3;
  for (int i = 0; i < n && length > 0; i++) {
    const char *task = foreign_last_part(tasks[i]);
    if (strncasecmp(task, file, length) != 0 || task[length] != '.' || strncmp(tasks[i], root, ahead) != 0)
      continue;
    snprintf(name, size, "%.*s", (int)(task + length - (tasks[i] + ahead + 1)), tasks[i] + ahead + 1);
    return true;
  }
  return false;
}

struct reading {
  struct bench *b;
  const char *path, *label;
  int line;
  bool found; // a line that is not blank
  bench_take_prediction *take;
  const json_t *record;
};

static enum assay_status leave(struct reading *r, const char *task, const char *why, struct assay_error *err) {
  struct assay_error what = {0};
  error_set(&what, ASSAY_ERR_INVALID, "%s", why);
  const struct bench_item item = {.path = r->path, .label = r->label, .task = task};
  return bench_leave_unjudged(r->b, &item, &what, err);
}

// The function that a question's text wants: after "Wrapper Entry Information:", where the suite's questions have it.
static const char *function_of_question(const char *text, char *name, size_t size) {
  static const char mark[] = "Wrapper Entry Information:";
  const char *at = text ? strstr(text, mark) : NULL, *open = at ? strchr(at, '(') : NULL;
  if (!open)
    return NULL;
  const char *begin = open;
  while (begin > at + strlen(mark) && (isalnum((unsigned char)begin[-1]) || begin[-1] == '_'))
    begin--;
  snprintf(name, size, "%.*s", (int)(open - begin), begin);
  size_t n = strlen(name);
  if (n > 5 && strcmp(name + n - 5, "_step") == 0) // Optimizer/AdamW asks for adamw_step
    name[n - 5] = '\0';
  return name;
}

// What the record says its task is.
static const char *asked_task(const json_t *record, char *text, size_t size) {
  static const char *const files[] = {"file", "task_id", "task"}, *const questions[] = {"instruction", "prompt",
                                                                                        "query"};
  const char *said = NULL;
  for (size_t i = 0; i < 3 && !said; i++)
    said = json_string_value(json_object_get(record, files[i]));
  for (size_t i = 0; i < 3 && !said; i++)
    said = function_of_question(json_string_value(json_object_get(record, questions[i])), text, size);
  return said;
}

// The task's name: of the stem, or as Assay has it ("kernelbench/1/19").
static bool find_task(const struct reading *r, const char *said, char *name, size_t size) {
  const char *suite = r->b->suite;
  size_t n = strcspn(suite, "/");
  if (bench_task_of_stem(r->b->judging.paths.tasks, r->b->tasks, r->b->n_tasks, said, name, size))
    return true;
  snprintf(name, size, "%s", said);
  return strlen(said) < size && strncmp(said, suite, n) == 0 && said[n] == '/';
}

// The code as a file, named by what it is, so that a command that repeats a verdict finds it later.
static enum assay_status keep_code(struct reading *r, const char *task, const char *code, const char **path,
                                   struct assay_error *err) {
  struct cli_judging *j = &r->b->judging;
  char hash[HASH_HEX_BYTES];
  const size_t n = strlen(code);
  hash_sha256_hex(code, n, hash);
  enum assay_status status = j->paths.cache[0] ? ASSAY_OK : cli_baseline_folder(j, err);
  const char *root = j->paths.cache[0] ? j->paths.cache : j->baseline_folder;
  const char *folder = status ? NULL : arena_printf(&r->b->arena, "%s/predictions", root);
  *path = folder ? arena_printf(&r->b->arena, "%s/%.16s_%s.py", folder, hash, foreign_last_part(task)) : NULL;
  if (!status && !*path)
    status = error_nomem(err, "a prediction");
  if (!status)
    status = file_make_folders(folder, err);
  return status ? status : file_write(*path, code, n, err);
}

// One of the record's members with code; `what` goes after the label.
static enum assay_status take_code(struct reading *r, const char *task, const char *member, const char *what,
                                   struct assay_error *err) {
  const char *given = json_string_value(json_object_get(r->record, member));
  struct bench_prediction p = {.task = arena_strdup(&r->b->arena, task)};
  p.label = arena_printf(&r->b->arena, "%s%s", r->label, what);
  if (!p.label || !p.task)
    return error_nomem(err, "a prediction");
  struct buf code = {0};
  prediction_code(given ? given : "", foreign_last_part(task), &code);
  enum assay_status status = buf_status(&code, err);
  if (!status)
    status = keep_code(r, task, buf_str(&code), &p.path, err);
  buf_release(&code);
  return status ? status : r->take(r->b, &p, err);
}

static enum assay_status take_record(struct reading *r, struct assay_error *err) {
  char asked[MOST_NAME], task[MOST_NAME], why[2 * MOST_NAME];
  const char *said = asked_task(r->record, asked, sizeof asked);
  bool predicts = json_is_string(json_object_get(r->record, "predict"));
  bool corpus = json_is_string(json_object_get(r->record, "after_code"));
  if (!said)
    return leave(r, "", "the record names no task: give it \"file\", as \"Activation/gelu.py\"", err);
  bool known = find_task(r, said, task, sizeof task);
  if (!known && strchr(r->b->suite, '/')) { // another level's, most likely
    r->b->n_left_out++;
    return ASSAY_OK;
  }
  if (!known) {
    snprintf(why, sizeof why, "%.60s has no task of the name %.120s", r->b->suite, said);
    return leave(r, said, why, err);
  }
  if (!predicts && !corpus)
    return leave(r, task, "the record has no code: \"predict\" must be a text", err);
  if (predicts)
    return take_code(r, task, "predict", "", err);
  enum assay_status status = take_code(r, task, "before_code", " before", err);
  return status ? status : take_code(r, task, "after_code", " after", err);
}

static enum assay_status take_line(struct reading *r, const char *text, size_t n, struct assay_error *err) {
  json_error_t where;
  if (strspn(text, " \t\r") >= n)
    return ASSAY_OK;
  r->found = true;
  r->label = arena_printf(&r->b->arena, "%s:%d", r->path, r->line);
  if (!r->label)
    return error_nomem(err, "a prediction");
  json_t *record = foreign_loadb(text, n, JSON_REJECT_DUPLICATES, &where);
  enum assay_status status;
  r->record = record;
  if (!json_is_object(record)) {
    char why[2 * MOST_NAME + sizeof where.text];
    const bool nul = !record && json_error_code(&where) == json_error_null_character;
    snprintf(why, sizeof why,
             "the line is no JSON object%s%s; one is {\"file\": \"Activation/gelu.py\", \"predict\": \"code\"}",
             record ? "" : ": ",
             record ? ""
             : nul  ? "a text has \\u0000"
                    : where.text);
    status = leave(r, "", why, err);
  } else {
    status = take_record(r, err);
  }
  json_decref(record);
  return status;
}

enum assay_status bench_each_prediction(struct bench *b, const char *path, bench_take_prediction *take,
                                        struct assay_error *err) {
  struct reading r = {.b = b, .path = path, .take = take};
  char *text = NULL;
  size_t n = 0;
  enum assay_status status = file_read(path, MOST_FILE_BYTES, &text, &n, err);
  for (const char *line = text, *end; !status && line < text + n; line = end + 1) {
    end = memchr(line, '\n', (size_t)(text + n - line));
    end = end ? end : text + n;
    r.line++;
    status = take_line(&r, line, (size_t)(end - line), err);
  }
  base_free(text);
  if (!status && !r.found)
    status = error_set(err, ASSAY_ERR_INVALID, "%s has no prediction: its lines are empty", path);
  return status;
}
