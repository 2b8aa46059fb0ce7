// SPDX-License-Identifier: Apache-2.0
// /v1/verdicts/ID: what is published of a verdict. Listed fields only: paths of the judging machine stay here.
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "serve/server.h"

// Of the evidence; numbers of 64 bits, which JSON readers round, go as text.
static const char *const fields[] = {"baselines",      "bytes",
                                     "checks",         "compiler",
                                     "contract",       "elsewhere",
                                     "flops",          "foreknown",
                                     "judge",          "rule",
                                     "form",           "kernels",
                                     "meaning",        "mode",
                                     "no_plan",        "sandbox",
                                     "scope",          "shapes",
                                     "category",       "operator_kind",
                                     "skipped_probes", "task_contract",
                                     "task_sha256",    "timing",
                                     "durations_ns",   "times_rank_nothing",
                                     "toolchain",      "weights",
                                     "worst_check"};
static const char *const wide[] = {"seed", "secret"};

// "/tmp/assay-x1/relu.c:3: error" becomes "relu.c:3: error": of an absolute path the last part stays.
static void hide_paths(char *text) {
  static const char part[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-@~";
  char *to = text, before = ' ';
  for (const char *p = text; *p;) {
    if (*p == '/' && !strchr(part, before) && before != ')' && before != '/' && before != '*' && strchr(part, p[1])) {
      const char *last = p + 1;
      while (*p == '/') {
        last = p + 1;
        p = last + strspn(last, part);
      }
      size_t n = (size_t)(p - last);
      memmove(to, last, n);
      to += n;
      before = 'x';
      continue;
    }
    before = *p;
    *to++ = *p++;
  }
  *to = '\0';
}

static json_t *hidden_json(const char *text) {
  char *copy = text ? base_strndup(text, strlen(text)) : NULL;
  if (copy)
    hide_paths(copy);
  json_t *j = copy && copy[0] ? json_string(copy) : json_null();
  base_free(copy);
  return j;
}

json_t *verdicts_publish(const json_t *value) {
  json_t *out = NULL, *member;
  const char *key;
  size_t i;
  if (json_is_string(value) && json_string_length(value) > 0)
    return hidden_json(json_string_value(value));
  if (json_is_array(value)) {
    out = json_array();
    json_array_foreach((json_t *)value, i, member) json_array_append_new(out, verdicts_publish(member));
  } else if (json_is_object(value)) {
    out = json_object();
    json_object_foreach((json_t *)value, key, member) json_object_set_new(out, key, verdicts_publish(member));
  } else {
    out = value ? json_copy((json_t *)value) : json_null();
  }
  return out;
}

static json_t *real(double x) {
  return isfinite(x) ? json_real(x) : json_null();
}

static json_t *wide_json(const json_t *value) {
  char text[32];
  if (!json_is_integer(value))
    return json_null();
  snprintf(text, sizeof text, "%lld", (long long)json_integer_value(value));
  return json_string(text);
}

static void put_evidence(json_t *j, const char *evidence) {
  json_t *e = json_loads(evidence, 0, NULL);
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    json_object_set_new(j, fields[i], verdicts_publish(json_object_get(e, fields[i])));
  }
  for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
    json_object_set_new(j, wide[i], wide_json(json_object_get(e, wide[i])));
  json_object_set_new(j, "diagnostics", hidden_json(json_string_value(json_object_get(e, "diagnostics"))));
  json_object_set_new(j, "hardware", verdicts_publish(json_object_get(e, "device")));
  json_decref(e);
}

struct visit {
  const char *identity;
  json_t *json;
};

static bool visit_verdict(void *arg, const struct store_verdict *v) {
  struct visit *out = arg;
  json_t *j =
      json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:b}", "schema", "assay/published/1", "id",
                out->identity, "task", v->task, "workload", v->workload, "device", v->device, "candidate", v->candidate,
                "candidate_sha256", v->candidate_hash, "settings_sha256", v->settings_hash, "verdict",
                assay_reason_code(v->reason), "unstable", v->unstable, "suspicious", store_is_suspicious(v));
  if (!j)
    return false;
  json_object_set_new(j, "detail", hidden_json(v->detail));
  json_object_set_new(j, "command", hidden_json(v->command));
  json_object_set_new(j, "judged_at", time_json(v->at_ns));
  json_object_set_new(j, "time_ns", real(v->time_ns));
  json_object_set_new(j, "time_low_ns", real(v->time_low_ns));
  json_object_set_new(j, "time_high_ns", real(v->time_high_ns));
  json_object_set_new(j, "hot_ns", real(v->hot_ns));
  json_object_set_new(j, "floor_ns", real(v->floor_ns));
  json_object_set_new(j, "error_z", real(v->error_z));
  json_object_set_new(j, "error_limit", real(v->error_limit));
  put_evidence(j, v->evidence);
  out->json = j;
  return false;
}

enum MHD_Result verdicts_get(struct call *c) {
  struct visit out = {.identity = c->identity};
  struct assay_error err = {0};
  pthread_mutex_lock(&c->server->read_lock);
  enum assay_status status = queue_verdict(c->server->reader, c->identity, visit_verdict, &out, &err);
  pthread_mutex_unlock(&c->server->read_lock);
  if (status)
    return reply_failure(c, &err);
  return reply_json(c, 200, out.json);
}
