// SPDX-License-Identifier: Apache-2.0
#include "report/lines.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "report/foreign.h"
#include "report/lines_peaks.h"
#include "report/lines_trial.h"
#include "report/publish.h"

static const char FORMAT[] = "assay verdicts";

// The columns by type. Texts of JSON are values of their own in a line; `is_ours` says that a text holds no path.
struct column {
  const char *name;
  size_t at;
  bool is_json, is_ours;
};
#define COLUMN(name) #name, offsetof(struct store_verdict, name)
static const struct column texts[] = {
    {COLUMN(run), false, false},          {COLUMN(task), false, false},          {COLUMN(task_hash), false, true},
    {COLUMN(form), false, true},          {COLUMN(workload), false, true},       {COLUMN(device), false, true},
    {COLUMN(candidate), false, false},    {COLUMN(candidate_hash), false, true}, {COLUMN(toolchain), false, false},
    {COLUMN(settings_hash), false, true}, {COLUMN(detail), false, false},        {COLUMN(machine), true, false},
    {COLUMN(command), false, false},      {COLUMN(evidence), true, false}};
static const struct column reals[] = {{COLUMN(error_z), false, true},      {COLUMN(error_limit), false, true},
                                      {COLUMN(time_ns), false, true},      {COLUMN(time_low_ns), false, true},
                                      {COLUMN(time_high_ns), false, true}, {COLUMN(hot_ns), false, true},
                                      {COLUMN(floor_ns), false, true}};
static const struct column bools[] = {{COLUMN(unstable), false, true}, {COLUMN(suspicious), false, true}};
enum { N_TEXTS = sizeof texts / sizeof *texts, N_REALS = sizeof reals / sizeof *reals };
enum { N_BOOLS = sizeof bools / sizeof *bools };

static const char **text_at(struct store_verdict *v, const struct column *c) {
  return (const char **)(void *)((char *)v + c->at);
}

static double *real_at(struct store_verdict *v, const struct column *c) {
  return (double *)(void *)((char *)v + c->at);
}

static bool *bool_at(struct store_verdict *v, const struct column *c) {
  return (bool *)(void *)((char *)v + c->at);
}

// --- writing

struct writing {
  struct buf *out;
  struct arena arena;
  bool is_compact;
  int64_t n;
  struct lines_devices devices;
};

// A copy without arrays of samples (of warm calls and of baselines), its texts as they may be published. NULL: no
// memory.
static json_t *compact(struct arena *arena, json_t *value) {
  const char *key, *text = json_string_value(value);
  json_t *member, *out;
  size_t i;
  if (text) {
    const char *fit = publish_text(arena, text);
    return fit ? json_string(fit) : NULL;
  }
  if (json_is_array(value)) {
    out = json_array();
    json_array_foreach(value, i, member) json_array_append_new(out, compact(arena, member));
    return out;
  }
  if (!json_is_object(value))
    return json_incref(value);
  out = json_object();
  json_object_foreach(value, key, member) if (!strstr(key, "samples_ns"))
      json_object_set_new(out, key, compact(arena, member));
  return out;
}

static json_t *text_value(struct writing *w, const struct column *c, const char *text) {
  if (!c->is_json) {
    const char *fit = w->is_compact && !c->is_ours ? publish_text(&w->arena, text) : text;
    return fit ? json_string(fit) : NULL;
  }
  json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
  if (!value || !w->is_compact)
    return value ? value : json_null();
  json_t *out = compact(&w->arena, value);
  json_decref(value);
  return out;
}

// Where a compact file rounds samples to: a power of ten that is at most a ten-thousandth of the median, and no less
// than a nanosecond. 0: it keeps them as they are.
static double rounding_of(const struct writing *w, const struct store_verdict *v) {
  double unit = 1;
  if (!w->is_compact)
    return 0;
  while (unit * 10 <= v->time_ns / 10000)
    unit *= 10;
  return unit;
}

static json_t *samples_value(const struct store_verdict *v, double unit) {
  json_t *out = json_array();
  for (int i = 0; i < v->n_samples; i++) {
    const double rounded = unit > 0 ? round(v->samples_ns[i] / unit) * unit : NAN;
    json_array_append_new(out, fabs(rounded) < 1e15 ? json_integer((json_int_t)rounded) : json_real(v->samples_ns[i]));
  }
  return out;
}

static json_t *number_text(const char *format, unsigned long long number) {
  char text[32];
  snprintf(text, sizeof text, format, number);
  return json_string(text);
}

static bool write_line(void *arg, const struct store_verdict *stored) {
  struct writing *w = arg;
  struct store_verdict v = *stored;
  json_t *line = json_object();
  for (int i = 0; i < N_TEXTS; i++)
    json_object_set_new(line, texts[i].name,
                        text_value(w, &texts[i], *text_at(&v, &texts[i]) ? *text_at(&v, &texts[i]) : ""));
  lines_add_device(&w->devices, json_object_get(line, strcmp(v.device, "cpu") == 0 ? "machine" : "evidence"));
  for (int i = 0; i < N_REALS; i++) {
    const double x = *real_at(&v, &reals[i]);
    json_object_set_new(line, reals[i].name, isfinite(x) ? json_real(x) : json_null());
  }
  for (int i = 0; i < N_BOOLS; i++)
    json_object_set_new(line, bools[i].name, json_boolean(*bool_at(&v, &bools[i])));
  json_object_set_new(line, "reason", json_string(assay_reason_code(v.reason)));
  json_object_set_new(line, "seed", number_text("%llu", v.seed));
  json_object_set_new(line, "at_ns", number_text("%llu", (unsigned long long)v.at_ns));
  json_object_set_new(line, "samples_ns", samples_value(&v, rounding_of(w, &v)));
  lines_put(line, N_TEXTS + N_REALS + N_BOOLS + 4, w->out);
  arena_release(&w->arena);
  w->n++;
  return !w->out->failed;
}

enum assay_status lines_write(struct store *s, const char *run, bool is_compact, struct buf *out, int64_t *n,
                              struct assay_error *err) {
  struct writing w = {.out = out, .is_compact = is_compact};
  buf_printf(out, "{\"format\":\"%s\",\"version\":%d}\n", FORMAT, LINES_VERSION);
  enum assay_status status = is_compact ? store_each_standing(s, run, STORE_EACH_WORKLOAD, write_line, &w, err)
                                        : store_each(s, run, write_line, &w, err);
  if (!status)
    status = buf_status(out, err);
  int64_t trials = 0;
  if (!status)
    status = lines_write_trials(s, run, is_compact, out, &trials, err);
  if (!status)
    status = lines_write_peaks(s, &w.devices, out, err);
  if (!status && w.n == 0 && trials == 0)
    status = store_no_run(s, run, err);
  if (!status)
    *n = w.n;
  return status;
}

// --- reading

struct parsing {
  struct store *store;
  const char *text, *end;
  int64_t line;
  char trial_run[LINES_RUN_BYTES]; // of the trial that was read last; ""
  // Of the verdict that was read last.
  json_t *object;
  char *dumps[N_TEXTS]; // texts of JSON
  double *samples;
};

static void drop_line(struct parsing *r) {
  for (int i = 0; i < N_TEXTS; i++) {
    free(r->dumps[i]);
    r->dumps[i] = NULL;
  }
  free(r->samples);
  r->samples = NULL;
  json_decref(r->object);
  r->object = NULL;
}

static enum assay_status fault(const struct parsing *r, const char *what, const char *name, struct assay_error *err) {
  return error_set(err, ASSAY_ERR_INVALID, "line %lld: %s%s", (long long)r->line, name, what);
}

// The next line that is not empty, as an object. *found is false at the end.
static enum assay_status next_line(struct parsing *r, bool *found, struct assay_error *err) {
  *found = false;
  while (r->text < r->end) {
    const char *begin = r->text, *newline = memchr(begin, '\n', (size_t)(r->end - begin));
    const size_t len = (size_t)((newline ? newline : r->end) - begin);
    r->text = newline ? newline + 1 : r->end;
    r->line++;
    if (len == 0)
      continue;
    json_error_t why;
    if (len > LINES_MOST_LINE_BYTES)
      return fault(r, "it is longer than 16 MiB", "", err);
    r->object = foreign_loadb(begin, len, JSON_REJECT_DUPLICATES, &why);
    *found = json_is_object(r->object);
    return *found ? ASSAY_OK : fault(r, "it is not a JSON object", "", err);
  }
  return ASSAY_OK;
}

static enum assay_status take_text(struct parsing *r, int i, struct store_verdict *v, struct assay_error *err) {
  const json_t *value = json_object_get(r->object, texts[i].name);
  const char **out = text_at(v, &texts[i]);
  *out = "";
  if (!value || json_is_null(value))
    return ASSAY_OK;
  if (!texts[i].is_json)
    *out = json_string_value(value);
  else if (json_is_object(value))
    *out = r->dumps[i] = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS);
  else
    return fault(r, " is to be an object", texts[i].name, err);
  if (!*out)
    return texts[i].is_json ? error_nomem(err, "a line") : fault(r, " is to be a text", texts[i].name, err);
  return ASSAY_OK;
}

static enum assay_status take_numbers(const struct parsing *r, struct store_verdict *v, struct assay_error *err) {
  for (int i = 0; i < N_REALS; i++) {
    const json_t *value = json_object_get(r->object, reals[i].name);
    if (value && !json_is_null(value) && !json_is_number(value))
      return fault(r, " is to be a number or null", reals[i].name, err);
    *real_at(v, &reals[i]) = json_is_number(value) ? json_number_value(value) : NAN;
  }
  for (int i = 0; i < N_BOOLS; i++) {
    const json_t *value = json_object_get(r->object, bools[i].name);
    if (value && !json_is_boolean(value))
      return fault(r, " is to be true or false", bools[i].name, err);
    *bool_at(v, &bools[i]) = json_is_true(value);
  }
  return ASSAY_OK;
}

static enum assay_status take_samples(struct parsing *r, struct store_verdict *v, struct assay_error *err) {
  const json_t *value = json_object_get(r->object, "samples_ns");
  const size_t n = json_array_size(value);
  if (value && !json_is_array(value))
    return fault(r, " is to be an array", "samples_ns", err);
  r->samples = malloc((n + 1) * sizeof *r->samples);
  if (!r->samples)
    return error_nomem(err, "a line");
  for (size_t i = 0; i < n; i++) {
    if (!json_is_number(json_array_get(value, i)))
      return fault(r, " is to hold numbers", "samples_ns", err);
    r->samples[i] = json_number_value(json_array_get(value, i));
  }
  v->samples_ns = r->samples;
  v->n_samples = (int)n;
  return ASSAY_OK;
}

// A number of up to 64 bits, as a text.
static enum assay_status take_big(const struct parsing *r, const char *name, uint64_t *out, struct assay_error *err) {
  const char *text = json_string_value(json_object_get(r->object, name));
  char *end = NULL;
  *out = 0;
  if (!json_object_get(r->object, name))
    return ASSAY_OK;
  errno = 0;
  if (text && text[0] >= '0' && text[0] <= '9')
    *out = strtoull(text, &end, 10);
  return end && !*end && !errno ? ASSAY_OK : fault(r, " is to be a number in quotes", name, err);
}

static enum assay_status take_reason(const struct parsing *r, struct store_verdict *v, struct assay_error *err) {
  const char *code = json_string_value(json_object_get(r->object, "reason"));
#define REASON_MATCH(name, text, meaning)                                                                              \
  if (code && strcmp(code, text) == 0) {                                                                               \
    v->reason = ASSAY_REASON_##name;                                                                                   \
    return ASSAY_OK;                                                                                                   \
  }
  ASSAY_REASONS(REASON_MATCH)
#undef REASON_MATCH
  return fault(r, " is to be one of the verdicts' words (docs/judging.md)", "reason", err);
}

// A member that nobody reads would be lost without a word.
static enum assay_status check_names(const struct parsing *r, struct assay_error *err) {
  const char *key;
  json_t *value;
  json_object_foreach(r->object, key, value) {
    bool known = strcmp(key, "reason") == 0 || strcmp(key, "seed") == 0 || strcmp(key, "at_ns") == 0 ||
                 strcmp(key, "samples_ns") == 0;
    for (int i = 0; i < N_TEXTS; i++)
      known = known || strcmp(key, texts[i].name) == 0;
    for (int i = 0; i < N_REALS; i++)
      known = known || strcmp(key, reals[i].name) == 0;
    for (int i = 0; i < N_BOOLS; i++)
      known = known || strcmp(key, bools[i].name) == 0;
    if (!known)
      return fault(r, ": no verdict has a member of this name", key, err);
  }
  return ASSAY_OK;
}

static enum assay_status take_line(struct parsing *r, struct store_verdict *v, struct assay_error *err) {
  uint64_t at = 0;
  *v = (struct store_verdict){0};
  enum assay_status status = check_names(r, err);
  for (int i = 0; i < N_TEXTS && !status; i++)
    status = take_text(r, i, v, err);
  if (!status)
    status = take_numbers(r, v, err);
  if (!status)
    status = take_samples(r, v, err);
  if (!status)
    status = take_reason(r, v, err);
  if (!status)
    status = take_big(r, "seed", &v->seed, err);
  if (!status)
    status = take_big(r, "at_ns", &at, err);
  v->at_ns = (int64_t)(at & INT64_MAX);
  if (!status && (!v->run[0] || !v->task[0] || !v->candidate[0] || !v->workload[0] || !v->device[0]))
    status = fault(r, "run, task, candidate, workload and device are to be there", "", err);
  return status;
}

static enum assay_status supply(void *arg, struct store_verdict *v, bool *more, struct assay_error *err) {
  struct parsing *r = arg;
  struct assay_error why = {0};
  enum assay_status status;
  for (;;) {
    drop_line(r);
    status = next_line(r, more, err);
    const bool is_trial = lines_is_trial(r->object), is_peaks = lines_is_peaks(r->object);
    if (status || !*more || (!is_trial && !is_peaks))
      return status || !*more ? status : take_line(r, v, err);
    status = is_trial ? lines_take_trial(r->store, r->object, r->trial_run, &why)
                      : lines_take_peaks(r->store, r->object, &why);
    if (status)
      return error_set(err, status, "line %lld: %s", (long long)r->line, why.message);
  }
}

enum assay_status lines_read(struct store *s, const char *text, size_t len, int64_t *n, struct assay_error *err) {
  struct parsing r = {.store = s, .text = text, .end = text + len};
  bool found = false;
  enum assay_status status = next_line(&r, &found, err);
  const char *format = json_string_value(json_object_get(r.object, "format"));
  const json_t *version = json_object_get(r.object, "version");
  if (!status && (!format || strcmp(format, FORMAT) != 0))
    status = error_set(err, ASSAY_ERR_INVALID,
                       "it does not begin with {\"format\": \"%s\"}: `assay runs export` writes such files", FORMAT);
  if (!status && json_integer_value(version) != LINES_VERSION)
    status = error_set(err, ASSAY_ERR_INVALID, "it is of another version of this format than %d", LINES_VERSION);
  if (!status)
    status = store_put_all(s, supply, &r, n, err);
  drop_line(&r);
  return status;
}
