// SPDX-License-Identifier: Apache-2.0
#include "serve/request.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static enum assay_status wrong(struct assay_error *err, const char *what, const char *should) {
  return error_set(err, ASSAY_ERR_INVALID, "%.80s %s", what, should);
}

// JSON is read by recursion: its depth is looked at before.
static enum assay_status check_depth(const char *text, size_t len, struct assay_error *err) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < len; i++) {
    if (quoted && text[i] == '\\')
      i++;
    else if (text[i] == '"')
      quoted = !quoted;
    else if (!quoted && (text[i] == '{' || text[i] == '['))
      depth++;
    else if (!quoted && (text[i] == '}' || text[i] == ']'))
      depth--;
    if (depth > REQUEST_MOST_DEPTH)
      return error_set(err, ASSAY_ERR_LIMIT, "the JSON is nested deeper than %d", REQUEST_MOST_DEPTH);
  }
  return ASSAY_OK;
}

// Keys that are not known are refused: a misspelled one would change what is judged.
static enum assay_status only_keys(const json_t *object, const char *const *known, const char *where,
                                   struct assay_error *err) {
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)object, key, value) {
    int i = 0;
    while (known[i] && strcmp(known[i], key) != 0)
      i++;
    if (!known[i])
      return error_set(err, ASSAY_ERR_INVALID, "%s has no key \"%.60s\"", where, key);
  }
  return ASSAY_OK;
}

// A task's name, never a path: components of letters, digits and "_-", separated by "/".
static bool is_task_name(const char *name) {
  static const char part[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
  int parts = 0;
  for (const char *p = name;; p++, parts++) {
    size_t n = strspn(p, part);
    p += n;
    if (n == 0 || (*p && *p != '/'))
      return false;
    if (!*p)
      break;
  }
  return parts >= 1 && strlen(name) < QUEUE_NAME;
}

// A file's name that needs no care anywhere.
static bool is_file_name(const char *name) {
  static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
  size_t n = strlen(name);
  return n > 0 && n < 100 && strspn(name, plain) == n && name[0] != '.' && name[0] != '-';
}

static bool is_workload(const char *text) {
  size_t n = strlen(text);
  for (size_t i = 0; i < n; i++)
    if (text[i] < 0x20 || text[i] > 0x7e)
      return false;
  return n > 0 && n < QUEUE_NAME;
}

static bool is_choice(const char *values, const char *text) {
  size_t n = strlen(text);
  for (const char *p = values; p; p = strchr(p, '|')) {
    p += *p == '|';
    if (n > 0 && n == strcspn(p, "|") && strncmp(p, text, n) == 0)
      return true;
  }
  return false;
}

enum setting_kind { BOOL, INTEGER, CHOICE };
static const struct setting {
  const char *key;
  enum setting_kind kind;
  int least, most;
  const char *values;
} settings[] = {
#define SETTING_ROW(key, kind, least, most, values) {key, kind, least, most, values},
    REQUEST_SETTINGS(SETTING_ROW)
#undef SETTING_ROW
};

static enum assay_status check_setting(const char *key, const json_t *value, struct assay_error *err) {
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    const struct setting *s = &settings[i];
    if (strcmp(s->key, key) != 0)
      continue;
    if (s->kind == BOOL && !json_is_boolean(value))
      return error_set(err, ASSAY_ERR_INVALID, "settings.%s is true or false", key);
    if (s->kind == INTEGER &&
        (!json_is_integer(value) || json_integer_value(value) < s->least || json_integer_value(value) > s->most))
      return error_set(err, ASSAY_ERR_INVALID, "settings.%s is a whole number from %d to %d", key, s->least, s->most);
    if (s->kind == CHOICE && (!json_is_string(value) || !is_choice(s->values, json_string_value(value))))
      return error_set(err, ASSAY_ERR_INVALID, "settings.%s is one of: %s", key, s->values);
    return ASSAY_OK;
  }
  return error_set(err, ASSAY_ERR_INVALID, "settings has no key \"%.60s\"", key);
}

static enum assay_status take_settings(struct request *r, const json_t *given, struct assay_error *err) {
  const char *key;
  json_t *value, *taken = given ? json_incref((json_t *)given) : json_object();
  enum assay_status status = taken ? ASSAY_OK : error_nomem(err, "settings");
  if (!status && !json_is_object(taken))
    status = wrong(err, "settings", "is an object");
  if (!status) {
    json_object_foreach(taken, key, value) {
      status = check_setting(key, value, err);
      if (status)
        break;
    }
  }
  char *text = status ? NULL : json_dumps(taken, JSON_SORT_KEYS | JSON_COMPACT);
  if (!status)
    r->settings = text ? base_strndup(text, strlen(text)) : NULL;
  if (!status && !r->settings)
    status = error_nomem(err, "settings");
  free(text);
  json_decref(taken);
  return status;
}

static enum assay_status take_candidate(const json_t *object, struct serve_candidate *c, struct assay_error *err) {
  static const char *const keys[] = {"name", "source", NULL};
  const json_t *source = json_object_get(object, "source");
  const char *name = json_string_value(json_object_get(object, "name"));
  if (!json_is_object(object))
    return wrong(err, "each of candidates", "is an object with name and source");
  enum assay_status status = only_keys(object, keys, "a candidate", err);
  if (status)
    return status;
  if (!name || !is_file_name(name))
    return wrong(err, "a candidate's name", "is a file's name of letters, digits, \"_-.\", such as relu.cu");
  if (!json_is_string(source))
    return wrong(err, name, "has no source: it is the file's text, a string");
  c->name = name;
  c->source = json_string_value(source);
  c->source_bytes = json_string_length(source);
  if (c->source_bytes > SERVE_MOST_SOURCE)
    return error_set(err, ASSAY_ERR_LIMIT, "%s has %zu bytes; at most %d are accepted", name, c->source_bytes,
                     SERVE_MOST_SOURCE);
  return ASSAY_OK;
}

static enum assay_status take_all(struct request *r, struct assay_error *err) {
  static const char *const keys[] = {"task", "workload", "device", "settings", "candidates", NULL};
  const json_t *j = r->json, *device = json_object_get(j, "device"), *workload = json_object_get(j, "workload");
  const json_t *candidates = json_object_get(j, "candidates");
  const char *task = json_string_value(json_object_get(j, "task"));
  if (!json_is_object(j))
    return wrong(err, "the body", "is an object with task and candidates");
  enum assay_status status = only_keys(j, keys, "the body", err);
  if (status)
    return status;
  if (!task || !is_task_name(task))
    return wrong(err, "task", "is a task's name, such as kernelbench/1/19");
  if (workload && (!json_is_string(workload) || !is_workload(json_string_value(workload))))
    return wrong(err, "workload", "is small, full, or sizes such as \"M=64, N=3\"");
  if (device && !json_is_null(device) && !json_is_string(device))
    return wrong(err, "device", "is a device's name: cpu, cuda or opencl");
  r->n = (int)json_array_size(candidates);
  if (!json_is_array(candidates) || r->n < 1 || json_array_size(candidates) > QUEUE_MOST_JOBS)
    return error_set(err, ASSAY_ERR_INVALID, "candidates is a list of 1 to %d", QUEUE_MOST_JOBS);
  status = take_settings(r, json_object_get(j, "settings"), err);
  for (int i = 0; i < r->n && !status; i++) {
    struct serve_candidate *c = &r->candidates[i];
    *c = (struct serve_candidate){.task = task,
                                  .workload = workload ? json_string_value(workload) : "small",
                                  .device = json_string_value(device),
                                  .settings = json_object_get(j, "settings")};
    status = take_candidate(json_array_get(candidates, (size_t)i), c, err);
  }
  return status;
}

enum assay_status request_parse(const char *text, size_t len, struct request *out, struct assay_error *err) {
  json_error_t why;
  memset(out, 0, sizeof *out);
  enum assay_status status = check_depth(text, len, err);
  if (status)
    return status;
  // Without JSON_ALLOW_NUL a source with a NUL is refused.
  out->json = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
  if (!out->json)
    return error_set(err, ASSAY_ERR_SYNTAX, "the body is not JSON: line %d: %.120s", why.line, why.text);
  status = take_all(out, err);
  if (status)
    out->n = 0;
  return status;
}

void request_release(struct request *r) {
  json_decref(r->json);
  base_free(r->settings);
  memset(r, 0, sizeof *r);
}
