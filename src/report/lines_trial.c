// SPDX-License-Identifier: Apache-2.0
#include "report/lines_trial.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "report/publish.h"

// The columns by type. Whole numbers fit into JSON as this house reads it; `at` is where the field is.
struct column {
  const char *name;
  size_t at;
};
#define COLUMN(name) {#name, offsetof(struct store_trial, name)},
static const struct column texts[] = {TRIAL_TEXTS(COLUMN)};
static const struct column numbers[] = {TRIAL_NUMBERS(COLUMN)};
static const struct column reals[] = {TRIAL_REALS(COLUMN)};
enum {
  N_TEXTS = sizeof texts / sizeof *texts,
  N_NUMBERS = sizeof numbers / sizeof *numbers,
  N_REALS = sizeof reals / sizeof *reals
};

static void *field(struct store_trial *t, const struct column *c) {
  return (char *)t + c->at;
}

static bool is_kept(const struct column *c) {
  return strcmp(c->name, "verdict") != 0;
}

// ---- writing

void lines_put(json_t *line, size_t members, struct buf *out) {
  char *text = json_object_size(line) == members ? json_dumps(line, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
  json_decref(line);
  out->failed = out->failed || !text;
  if (text)
    buf_printf(out, "%s\n", text);
  free(text);
}

struct writing {
  struct buf *out;
  struct arena arena;
  bool is_compact;
  int64_t n;
};

static bool write_trial(void *arg, const struct store_trial *stored) {
  struct writing *w = arg;
  struct store_trial t = *stored;
  json_t *line = json_object();
  size_t wanted = 1 + N_TEXTS + N_REALS;
  json_object_set_new(line, "trial", json_string(store_trial_status_name(t.status)));
  for (int i = 0; i < N_TEXTS; i++) {
    const char *text = *(const char **)field(&t, &texts[i]);
    text = w->is_compact ? publish_text(&w->arena, text) : text;
    json_object_set_new(line, texts[i].name, text ? json_string(text) : NULL);
  }
  for (int i = 0; i < N_NUMBERS; i++) {
    wanted += is_kept(&numbers[i]);
    if (is_kept(&numbers[i]))
      json_object_set_new(line, numbers[i].name, json_integer(*(int64_t *)field(&t, &numbers[i])));
  }
  for (int i = 0; i < N_REALS; i++) {
    double x = *(double *)field(&t, &reals[i]);
    json_object_set_new(line, reals[i].name, isfinite(x) ? json_real(x) : json_null());
  }
  lines_put(line, wanted, w->out);
  arena_release(&w->arena);
  w->n++;
  return !w->out->failed;
}

enum assay_status lines_write_trials(struct store *s, const char *run, bool is_compact, struct buf *out, int64_t *n,
                                     struct assay_error *err) {
  struct writing w = {.out = out, .is_compact = is_compact};
  enum assay_status status = store_each_trial(s, run, write_trial, &w, err);
  *n = w.n;
  return status ? status : buf_status(out, err);
}

// ---- reading

bool lines_is_trial(const json_t *object) {
  return json_object_get(object, "trial") != NULL;
}

static bool is_known(const char *key) {
  bool known = strcmp(key, "trial") == 0;
  for (int i = 0; i < N_TEXTS; i++)
    known = known || strcmp(key, texts[i].name) == 0;
  for (int i = 0; i < N_NUMBERS; i++)
    known = known || (is_kept(&numbers[i]) && strcmp(key, numbers[i].name) == 0);
  for (int i = 0; i < N_REALS; i++)
    known = known || strcmp(key, reals[i].name) == 0;
  return known;
}

static enum assay_status take_columns(const json_t *object, struct store_trial *t, struct assay_error *err) {
  for (int i = 0; i < N_TEXTS; i++) {
    const json_t *value = json_object_get(object, texts[i].name);
    if (value && !json_is_string(value))
      return error_set(err, ASSAY_ERR_INVALID, "%s is to be a text", texts[i].name);
    *(const char **)field(t, &texts[i]) = value ? json_string_value(value) : "";
  }
  for (int i = 0; i < N_NUMBERS; i++) {
    const json_t *value = json_object_get(object, numbers[i].name);
    if (value && (!json_is_integer(value) || json_integer_value(value) < 0))
      return error_set(err, ASSAY_ERR_INVALID, "%s is to be a whole number from 0", numbers[i].name);
    *(int64_t *)field(t, &numbers[i]) = json_integer_value(value);
  }
  for (int i = 0; i < N_REALS; i++) {
    const json_t *value = json_object_get(object, reals[i].name);
    if (value && !json_is_null(value) && !json_is_number(value))
      return error_set(err, ASSAY_ERR_INVALID, "%s is to be a number or null", reals[i].name);
    *(double *)field(t, &reals[i]) = json_is_number(value) ? json_number_value(value) : NAN;
  }
  return ASSAY_OK;
}

static bool stop_at_first(void *arg, const struct store_trial *t) {
  (void)t;
  *(bool *)arg = true;
  return false;
}

// A run that begins in the file is new to the store.
static enum assay_status begin_run(struct store *s, const char *name, char run[LINES_RUN_BYTES],
                                   struct assay_error *err) {
  bool there = false;
  if (strlen(name) >= LINES_RUN_BYTES)
    return error_set(err, ASSAY_ERR_INVALID, "the run's name is longer than %d bytes", LINES_RUN_BYTES - 1);
  enum assay_status status = store_each_trial(s, name, stop_at_first, &there, err);
  if (!status && there)
    status = error_set(err, ASSAY_ERR_USAGE,
                       "the store has trials of a run named \"%s\": rename that with `assay runs rename`, or delete it",
                       name);
  memcpy(run, name, strlen(name) + 1);
  return status;
}

enum assay_status lines_take_trial(struct store *s, json_t *object, char run[LINES_RUN_BYTES],
                                   struct assay_error *err) {
  struct store_trial t = {0};
  const char *status_name = json_string_value(json_object_get(object, "trial")), *key;
  json_t *value;
  json_object_foreach(object, key, value) if (!is_known(key)) return error_set(
      err, ASSAY_ERR_INVALID, "%s: no trial has a member of this name", key);
  if (!status_name || !store_trial_status_by_name(status_name, &t.status))
    return error_set(err, ASSAY_ERR_INVALID, "trial is to be one of a trial's statuses (docs/tuning.md)");
  enum assay_status status = take_columns(object, &t, err);
  if (!status && (!t.run[0] || !t.task[0] || !t.workload[0] || !t.device[0] || !t.maker[0]))
    status = error_set(err, ASSAY_ERR_INVALID, "run, task, workload, device and maker of a trial are to be there");
  if (!status && strcmp(run, t.run) != 0)
    status = begin_run(s, t.run, run, err);
  return status ? status : store_put_trial(s, &t, err);
}
