// SPDX-License-Identifier: Apache-2.0
// The JSON that Triton's autotuner keeps: {"key": ..., "configs_timings": [[{"kwargs": {...}, "num_warps": 4, ...},
// [median, low, high]], ...]}; times are in ms, and infinite where a configuration failed. It has no seconds.
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/foreign_json.h"
#include "tune/log.h"

static bool is(const char *text, size_t n) {
  return n > 0 && text[0] == '{' && strstr(text, "\"configs_timings\"");
}

static void put_value(const char *name, const json_t *value, struct buf *out) {
  if (json_is_integer(value))
    buf_printf(out, "%s%s=%lld", out->len ? "," : "", name, (long long)json_integer_value(value));
  else if (json_is_string(value))
    buf_printf(out, "%s%s=%.60s", out->len ? "," : "", name, json_string_value(value));
  else if (json_is_boolean(value))
    buf_printf(out, "%s%s=%d", out->len ? "," : "", name, json_is_true(value));
  else if (json_is_real(value))
    buf_printf(out, "%s%s=%g", out->len ? "," : "", name, json_real_value(value));
}

static void put_configuration(json_t *config, struct buf *out) {
  static const char *const own[] = {"num_warps", "num_stages", "num_ctas", "maxnreg"};
  const char *name;
  json_t *value;
  json_object_foreach(json_object_get(config, "kwargs"), name, value) put_value(name, value, out);
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    put_value(own[i], json_object_get(config, own[i]), out);
}

static enum assay_status read_log(struct tune_log_reader *r, const char *text, size_t n, struct assay_error *err) {
  struct buf json = {0}, name = {0};
  json_error_t why;
  foreign_json(text, n, "null", &json); // they stand for a failure
  enum assay_status status = buf_status(&json, err);
  json_t *all = status ? NULL : json_loadb(buf_str(&json), json.len, 0, &why);
  if (!status && !all)
    status = error_set(err, ASSAY_ERR_SYNTAX, "%s: no JSON: %.100s", r->about->file, why.text);
  size_t i;
  json_t *pair;
  json_array_foreach(json_object_get(all, "configs_timings"), i, pair) {
    json_t *times = json_array_get(pair, 1), *median = json_is_array(times) ? json_array_get(times, 0) : times;
    struct store_trial t = tune_log_trial(r, "triton");
    if (status)
      break;
    buf_clear(&name);
    put_configuration(json_array_get(pair, 0), &name);
    t.configuration = buf_str(&name);
    double ms = json_is_number(median) ? json_number_value(median) : NAN;
    if (ms > 0 && isfinite(ms))
      t.tuner_ns = ms * 1e6;
    else
      t.status = STORE_TRIAL_FAILED;
    status = tune_log_emit(r, &t, err);
  }
  json_decref(all);
  buf_release(&json);
  buf_release(&name);
  return status;
}

const struct tune_log_format tune_log_triton = {.name = "triton", .is = is, .read = read_log};
