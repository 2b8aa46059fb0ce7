// SPDX-License-Identifier: Apache-2.0
// Traces as verdicts of a run.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/flashinfer.h"
#include "report/foreign.h"

enum { DETAIL_BYTES = 256, NAME_BYTES = 512 };

struct reading {
  const char *run, *text, *end;
  int64_t line;
  // Of the verdict that was read last.
  json_t *trace;
  char *evidence;
  char task[NAME_BYTES], detail[DETAIL_BYTES], sizes[NAME_BYTES];
};

static enum assay_status fault(const struct reading *r, const char *what, struct assay_error *err) {
  return error_set(err, ASSAY_ERR_INVALID, "line %lld: %s", (long long)r->line, what);
}

static void drop(struct reading *r) {
  json_decref(r->trace);
  free(r->evidence);
  r->trace = NULL;
  r->evidence = NULL;
}

static bool is_blank(const char *text, size_t len) {
  for (size_t i = 0; i < len; i++)
    if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r')
      return false;
  return true;
}

// The next line that is not empty; *found is false at the end.
static enum assay_status next_trace(struct reading *r, bool *found, struct assay_error *err) {
  *found = false;
  while (r->text < r->end && !*found) {
    const char *begin = r->text, *newline = memchr(begin, '\n', (size_t)(r->end - begin));
    const size_t len = (size_t)((newline ? newline : r->end) - begin);
    r->text = newline ? newline + 1 : r->end;
    r->line++;
    if (is_blank(begin, len))
      continue;
    if (len > FLASHINFER_MOST_LINE_BYTES)
      return fault(r, "it is longer than 64 MiB", err);
    r->trace = foreign_loadb(begin, len, JSON_REJECT_DUPLICATES, NULL);
    *found = json_is_object(r->trace);
    if (!*found)
      return fault(r, "it is not a JSON object", err);
  }
  return ASSAY_OK;
}

static const char *text_of(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text && text[0] ? text : NULL;
}

// Their statuses in ours; what theirs does not tell apart is the commonest of it.
static bool take_status(const char *status, struct store_verdict *v) {
  static const struct {
    const char *name;
    enum assay_reason reason;
  } known[] = {{"PASSED", ASSAY_REASON_PASS},
               {"INCORRECT_SHAPE", ASSAY_REASON_RAISED},
               {"INCORRECT_DTYPE", ASSAY_REASON_RAISED},
               {"INCORRECT_NUMERICAL", ASSAY_REASON_WRONG_VALUE},
               {"RUNTIME_ERROR", ASSAY_REASON_CRASHED},
               {"COMPILE_ERROR", ASSAY_REASON_BUILD_FAILED},
               {"TIMEOUT", ASSAY_REASON_TIMEOUT},
               {"REWARD_HACK", ASSAY_REASON_CHANGED_BEHAVIOUR},
               {"INVALID_REFERENCE", ASSAY_REASON_JUDGE_FAILED}};
  for (size_t i = 0; status && i < sizeof known / sizeof *known; i++)
    if (strcmp(status, known[i].name) == 0) {
      v->reason = known[i].reason;
      return true;
    }
  return false;
}

// "2026-03-01T12:30:00.123456" as nanoseconds; 0: it is something else.
static int64_t time_of(const char *text) {
  struct tm tm = {0};
  if (!text || sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour, &tm.tm_min,
                      &tm.tm_sec) != 6)
    return 0;
  if (tm.tm_year < 1970 || tm.tm_year > 2200)
    return 0;
  tm.tm_year -= 1900;
  tm.tm_mon -= 1;
  const time_t seconds = timegm(&tm);
  return seconds > 0 ? (int64_t)seconds * 1000000000 : 0;
}

static void put_detail(struct reading *r, const char *status, const char *log) {
  int n = snprintf(r->detail, sizeof r->detail, "%s", status);
  const size_t first = log ? strcspn(log, "\r\n") : 0;
  if (first > 0 && n > 0 && (size_t)n < sizeof r->detail)
    snprintf(r->detail + n, sizeof r->detail - (size_t)n, ": %.*s", (int)(first < 200 ? first : 200), log);
}

// The evidence: the whole Trace, and what views look for.
static enum assay_status put_evidence(struct reading *r, const json_t *evaluation, struct store_verdict *v,
                                      struct assay_error *err) {
  const char *hardware = text_of(json_object_get(evaluation, "environment"), "hardware");
  json_t *e = json_pack("{s:{s:O}, s:b, s:s, s:s, s:s}", "flashinfer_bench", "trace", r->trace, "foreknown", true,
                        "device", hardware ? hardware : "", "rule", "allclose", "judge", "flashinfer-bench");
  r->evidence = e ? json_dumps(e, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
  json_decref(e);
  v->evidence = r->evidence;
  return r->evidence ? ASSAY_OK : error_nomem(err, "a trace");
}

// The workload's name: its uuid; of older files, which have none, its axes ("M=256, N=64"). NULL: neither.
static const char *workload_of(struct reading *r, const json_t *workload) {
  const char *uuid = text_of(workload, "uuid"), *name;
  json_t *axes = json_object_get(workload, "axes"), *extent;
  size_t n = 0;
  if (uuid || !json_is_object(axes))
    return uuid;
  r->sizes[0] = '\0';
  json_object_foreach(axes, name, extent) {
    const int put = snprintf(r->sizes + n, sizeof r->sizes - n, "%s%s=%lld", n ? ", " : "", name,
                             (long long)json_integer_value(extent));
    if (put < 0 || (size_t)put >= sizeof r->sizes - n)
      return NULL;
    n += (size_t)put;
  }
  return n ? r->sizes : NULL;
}

// A time as their classes have it: a number of ms from 0 on. 0 is what they write where there is none.
static enum assay_status take_time(const struct reading *r, const json_t *performance, const char *name, double *ms,
                                   struct assay_error *err) {
  const json_t *value = json_object_get(performance, name);
  *ms = json_number_value(value);
  if (!value || json_is_null(value) || (json_is_number(value) && *ms >= 0 && *ms < 1e9))
    return ASSAY_OK;
  return error_set(err, ASSAY_ERR_INVALID, "line %lld: evaluation.performance.%s is no time (ms, from 0 to 10^9)",
                   (long long)r->line, name);
}

static enum assay_status take(struct reading *r, struct store_verdict *v, struct assay_error *err) {
  const json_t *evaluation = json_object_get(r->trace, "evaluation"), *workload = json_object_get(r->trace, "workload");
  const char *definition = text_of(r->trace, "definition"), *solution = text_of(r->trace, "solution");
  const char *name = workload_of(r, workload), *status = text_of(evaluation, "status");
  if (!definition || !solution || !name)
    return fault(r, "a trace has the texts definition, solution and workload.uuid (or workload.axes)", err);
  if (!take_status(status, v))
    return fault(r, "evaluation.status is none of theirs (PASSED, INCORRECT_NUMERICAL, ...)", err);
  const json_t *performance = json_object_get(evaluation, "performance");
  const double nan = NAN;
  double ms, reference_ms;
  if (take_time(r, performance, "reference_latency_ms", &reference_ms, err) ||
      take_time(r, performance, "latency_ms", &ms, err))
    return ASSAY_ERR_INVALID;
  if (snprintf(r->task, sizeof r->task, "flashinfer_bench/%s", definition) >= (int)sizeof r->task)
    return fault(r, "the definition's name is too long", err);
  put_detail(r, status, text_of(evaluation, "log"));
  v->run = r->run;
  v->task = r->task;
  v->workload = name;
  v->candidate = solution;
  v->device = "cuda";
  v->task_hash = v->candidate_hash = v->settings_hash = v->toolchain = v->command = "";
  v->form = "default";
  v->machine = "{}";
  v->detail = v->reason == ASSAY_REASON_PASS ? "" : r->detail;
  v->error_z = v->error_limit = v->time_low_ns = v->time_high_ns = v->hot_ns = v->floor_ns = nan;
  v->time_ns = ms > 0 ? ms * 1e6 : nan;
  v->at_ns = time_of(text_of(evaluation, "timestamp"));
  return put_evidence(r, evaluation, v, err);
}

static enum assay_status supply(void *arg, struct store_verdict *v, bool *more, struct assay_error *err) {
  struct reading *r = arg;
  *v = (struct store_verdict){0};
  for (;;) {
    drop(r);
    enum assay_status status = next_trace(r, more, err);
    if (status || !*more)
      return status;
    const json_t *evaluation = json_object_get(r->trace, "evaluation");
    if (evaluation && !json_is_null(evaluation))
      return take(r, v, err);
  }
}

bool flashinfer_is_traces(const char *text, size_t len) {
  struct reading r = {.text = text, .end = text + len};
  struct assay_error ignored = {0};
  bool found = false;
  const enum assay_status status = next_trace(&r, &found, &ignored);
  found = !status && found && json_is_string(json_object_get(r.trace, "definition")) &&
          json_is_object(json_object_get(r.trace, "workload"));
  drop(&r);
  return found;
}

enum assay_status flashinfer_read(struct store *s, const char *run, const char *text, size_t len, int64_t *n,
                                  struct assay_error *err) {
  struct reading r = {.run = run, .text = text, .end = text + len};
  enum assay_status status = store_put_all(s, supply, &r, n, err);
  drop(&r);
  return status;
}
