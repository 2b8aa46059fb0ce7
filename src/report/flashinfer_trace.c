// SPDX-License-Identifier: Apache-2.0
// What a Trace says of one verdict.
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "report/flashinfer.h"

// The worker says "it returned torch.float32 of shape (2, 3), output 0 is torch.float32 of shape (2, 4)".
static const char *status_of_exception(const char *detail) {
  char got[64], got_shape[128], want[64], want_shape[128];
  const char *said = strstr(detail, "it returned torch.");
  if (!said || sscanf(said, "it returned %63s of shape (%127[^)]), output %*d is %63s of shape (%127[^)])", got,
                      got_shape, want, want_shape) != 4)
    return "RUNTIME_ERROR";
  return strcmp(got_shape, want_shape) != 0 ? "INCORRECT_SHAPE" : "INCORRECT_DTYPE";
}

// What the verdict is called there.
static const char *status_of(const struct verdict_view *view, enum flashinfer_dialect dialect) {
  const bool sol = dialect == FLASHINFER_SOL;
  if (!view_is_loadable(view->stored.reason))
    return "COMPILE_ERROR";
  switch (view->stored.reason) {
  case ASSAY_REASON_PASS: // faster than can be: its outputs were right, and it did not do the work
    return !store_is_suspicious(&view->stored) ? "PASSED" : sol ? "REWARD_HACK" : "RUNTIME_ERROR";
  case ASSAY_REASON_TIMEOUT:
    return "TIMEOUT";
  case ASSAY_REASON_WRONG_VALUE:
  case ASSAY_REASON_WRONG_CLASS:
  case ASSAY_REASON_LOW_PRECISION:
  case ASSAY_REASON_UNWRITTEN:
    return "INCORRECT_NUMERICAL";
  case ASSAY_REASON_CHANGED_BEHAVIOUR:
    return sol ? "REWARD_HACK" : "INCORRECT_NUMERICAL";
  case ASSAY_REASON_LATE_WORK:
  case ASSAY_REASON_FORBIDDEN_CALL:
    return sol ? "REWARD_HACK" : "RUNTIME_ERROR";
  case ASSAY_REASON_RAISED:
    return status_of_exception(view->stored.detail ? view->stored.detail : "");
  default:
    return "RUNTIME_ERROR";
  }
}

struct errors {
  double absolute, relative;
  bool nan, inf;
};

// The largest errors of the checks on declared inputs at the judged workload; of a failure those of the check that
// decided as well, wherever it was.
static struct errors errors_of(const struct verdict_view *view) {
  struct errors e = {0};
  const json_t *evidence = view->evidence, *checks = json_object_get(evidence, "checks"), *check;
  const json_t *worst = json_array_get(checks, (size_t)json_integer_value(json_object_get(evidence, "worst_check")));
  size_t i;
  json_array_foreach(checks, i, check) {
    const char *probe = json_string_value(json_object_get(check, "probe"));
    const char *workload = json_string_value(json_object_get(check, "workload"));
    const bool declared = probe && strcmp(probe, "declared") == 0 && workload && view->stored.workload &&
                          strcmp(workload, view->stored.workload) == 0;
    if (!declared && (check != worst || view->stored.reason == ASSAY_REASON_PASS))
      continue;
    const json_t *a = json_object_get(check, "max_abs_error"), *r = json_object_get(check, "max_rel_error");
    e.inf = e.inf || json_is_string(a) || json_is_string(r);
    e.absolute = fmax(e.absolute, json_number_value(a));
    e.relative = fmax(e.relative, json_number_value(r));
    const char *reason = json_string_value(json_object_get(check, "reason"));
    e.nan = e.nan || (reason && strcmp(reason, assay_reason_code(ASSAY_REASON_WRONG_CLASS)) == 0);
  }
  return e;
}

static json_t *number(double x) {
  return isnan(x) ? json_null() : isfinite(x) ? json_real(x) : json_string("Infinity");
}

// What the format has no place for.
static json_t *extra_of(const struct verdict_view *view) {
  const struct store_verdict *v = &view->stored;
  json_t *x =
      json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o}", "verdict", assay_reason_code(v->reason), "workload", v->workload,
                "candidate", v->candidate, "seed_known_beforehand", view->foreknown ? "yes" : "no", "error_over_scale",
                number(v->error_z), "error_allowed", number(v->error_limit), "floor_ms", number(v->floor_ns / 1e6));
  if (view->scope[0])
    json_object_set_new(x, "scope", json_string(view->scope));
  if (view->contract[0])
    json_object_set_new(x, "contract", json_string(view->contract));
  if (view_time_ns(view) > 0) {
    json_object_set_new(x, "time_low_ms", number(v->time_low_ns / 1e6));
    json_object_set_new(x, "time_high_ms", number(v->time_high_ns / 1e6));
  }
  if (v->command && v->command[0])
    json_object_set_new(x, "command", json_string(v->command));
  return json_pack("{s:o}", "assay", x);
}

static json_t *correctness_of(const struct verdict_view *view, enum flashinfer_dialect dialect) {
  struct errors e = errors_of(view);
  if (dialect == FLASHINFER_SOL) { // no number: the flags say why
    const bool none = e.nan || e.inf;
    return json_pack("{s:f, s:f, s:b, s:b, s:o}", "max_relative_error", none ? 0 : e.relative, "max_absolute_error",
                     none ? 0 : e.absolute, "has_nan", e.nan, "has_inf", e.inf && !e.nan, "extra", extra_of(view));
  }
  return json_pack("{s:o, s:o, s:o}", "max_relative_error",
                   e.nan ? json_string("NaN") : number(e.inf ? INFINITY : e.relative), "max_absolute_error",
                   e.nan ? json_string("NaN") : number(e.inf ? INFINITY : e.absolute), "extra", extra_of(view));
}

// The time of the reference is that of the first baseline that has one; without: 0, as in their own defaults.
static json_t *performance_of(const struct verdict_view *view) {
  double reference = 0, speedup = 0;
  for (int i = 0; i < view->n_baselines && speedup == 0; i++)
    if (view->baselines[i].time_ns > 0 && view->baselines[i].speedup > 0) {
      reference = view->baselines[i].time_ns;
      speedup = view->baselines[i].speedup;
    }
  return json_pack("{s:f, s:f, s:f}", "latency_ms", view_time_ns(view) / 1e6, "reference_latency_ms", reference / 1e6,
                   "speedup_factor", speedup);
}

static json_t *environment_of(const struct verdict_view *view) {
  const char *hardware = view->device_name[0] ? view->device_name : view->processor;
  const char *judge = view->judge[0] ? view->judge : "assay";
  json_t *libs = json_pack("{s:s}", "assay", strncmp(judge, "assay ", 6) == 0 ? judge + 6 : judge);
  const char *compiler = json_string_value(json_object_get(view->evidence, "compiler"));
  if (compiler && compiler[0])
    json_object_set_new(libs, "compiler", json_string(compiler));
  return json_pack("{s:s, s:o}", "hardware", hardware[0] ? hardware : "unknown", "libs", libs);
}

static json_t *log_of(const struct verdict_view *view) {
  struct buf text = {0};
  buf_printf(&text, "%s: %s", assay_reason_code(view->stored.reason),
             view->stored.detail && view->stored.detail[0] ? view->stored.detail
                                                           : assay_reason_text(view->stored.reason));
  if (store_is_suspicious(&view->stored))
    buf_puts(&text, "\nits time is less than the work can take: suspicious");
  if (view->stored.reason != ASSAY_REASON_PASS && view->worst[0])
    buf_printf(&text, "\n%s", view->worst);
  if (view->diagnostics[0])
    buf_printf(&text, "\n%s", view->diagnostics);
  json_t *log = text.failed ? NULL : json_string(buf_str(&text));
  buf_release(&text);
  return log ? log : json_string("");
}

json_t *flashinfer_evaluation(const struct verdict_view *view, enum flashinfer_dialect dialect) {
  const char *status = status_of(view, dialect);
  char at[40] = "";
  const time_t seconds = (time_t)(view->stored.at_ns / 1000000000);
  struct tm tm;
  if (gmtime_r(&seconds, &tm))
    strftime(at, sizeof at, "%Y-%m-%dT%H:%M:%S", &tm);
  json_t *e = json_pack("{s:s, s:o, s:s, s:o, s:n, s:n}", "status", status, "environment", environment_of(view),
                        "timestamp", at, "log", log_of(view), "correctness", "performance");
  const bool passed = strcmp(status, "PASSED") == 0;
  if (passed || strcmp(status, "INCORRECT_NUMERICAL") == 0)
    json_object_set_new(e, "correctness", correctness_of(view, dialect));
  if (passed)
    json_object_set_new(e, "performance", performance_of(view));
  return e;
}
