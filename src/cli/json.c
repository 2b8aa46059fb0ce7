// SPDX-License-Identifier: Apache-2.0
#include "cli/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/printable.h"

json_t *cli_json_of(const char *kind, json_t *object) {
  char schema[64];
  snprintf(schema, sizeof schema, "assay/%s/1", kind);
  if (object)
    json_object_set_new(object, "schema", json_string(schema));
  return object;
}

json_t *cli_json_real(double x) {
  return isfinite(x) ? json_real(x) : json_null();
}

json_t *cli_json_text(const char *text) {
  json_t *j = text && text[0] ? json_string(text) : json_null();
  if (j)
    return j;
  char *copy = base_strndup(text, strlen(text)); // a file's name may be any bytes
  if (copy)
    printable(copy);
  j = copy ? json_string(copy) : NULL;
  base_free(copy);
  return j ? j : json_null();
}

static void dump(json_t *taken) {
  if (taken)
    json_dumpf(taken, stdout, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_ENCODE_ANY);
  else
    fputs("null", stdout);
  json_decref(taken);
}

void cli_json_print(json_t *taken) {
  dump(taken);
  printf("\n");
}

void cli_json_begin(void) {
  printf("[\n");
}

void cli_json_next(struct cli_json_list *l, json_t *taken) {
  if (l->n++)
    printf(",\n");
  dump(taken);
}

void cli_json_end(const struct cli_json_list *l) {
  printf("%s]\n", l->n ? "\n" : "");
}

// ---- verdicts

// What the evidence has (judge/evidence.c). Verdicts of older versions lack some, and files without a verdict all.
static const char *const evidence_keys[] = {
    "baselines",
    "built_sha256",
    "build_command",
    "bytes",
    "candidate_sha256",
    "category",
    "checks",
    "compiler",
    "contract",
    "detail",
    "device",
    "diagnostics",
    "durations_ns",
    "elsewhere",
    "flops",
    "foreknown",
    "form",
    "judge",
    "kernels",
    "kernels_reach_host_memory",
    "meaning",
    "mode",
    "no_plan",
    "operator_kind",
    "resources",
    "rule",
    "sandbox",
    "scope",
    "secret",
    "seed",
    "settings_sha256",
    "shapes",
    "skipped_probes",
    "task",
    "task_contract",
    "task_sha256",
    "times_rank_nothing",
    "timing",
    "toolchain",
    "unsettled_arguments",
    "verdict",
    "weights",
    "workload",
    "worst_check",
};

// Older stores have "NaN" where a number is missing.
static void forget_nan(json_t *j) {
  const char *key;
  json_t *value;
  void *next;
  for (size_t i = 0; i < json_array_size(j); i++) {
    json_t *item = json_array_get(j, i);
    if (json_is_string(item) && strcmp(json_string_value(item), "NaN") == 0)
      json_array_set_new(j, i, json_null());
    else
      forget_nan(item);
  }
  json_object_foreach_safe(j, next, key, value) {
    if (json_is_string(value) && strcmp(json_string_value(value), "NaN") == 0)
      json_object_set_new(j, key, json_null());
    else
      forget_nan(value);
  }
}

// Parts of the evidence, of which older versions left out what was not known.
static const char *const timing_keys[] = {
    "called_ns",       "clock_mhz",        "high_ns",       "hot_ns",   "hot_samples_ns", "left_out",   "load",
    "low_ns",          "median_ns",        "overhead_ns",   "power_w",  "prepare_ns",     "samples_ns", "stamps_apart",
    "stamps_compared", "stamps_excess_ns", "temperature_c", "throttle", "unstable",       "wall_ns",
};

static void set_known(json_t *j, const char *key, json_t *taken) {
  if (json_is_null(taken) && json_object_get(j, key))
    json_decref(taken);
  else
    json_object_set_new(j, key, taken);
}

json_t *cli_json_verdict(const struct cli_verdict_about *about, const char *evidence, const char *said,
                         const char *why) {
  json_t *j = evidence ? json_loads(evidence, 0, NULL) : NULL;
  const char *slash = about->candidate ? strrchr(about->candidate, '/') : NULL;
  if (!json_is_object(j)) {
    json_decref(j);
    j = json_object();
  }
  forget_nan(j);
  set_known(j, "run", cli_json_text(about->run));
  set_known(j, "task", cli_json_text(about->task));
  set_known(j, "workload", cli_json_text(about->workload));
  set_known(j, "candidate", cli_json_text(about->candidate));
  set_known(j, "name", cli_json_text(slash ? slash + 1 : about->candidate));
  set_known(j, "command", cli_json_text(about->command));
  set_known(j, "verdict", cli_json_text(said));
  set_known(j, "detail", cli_json_text(why));
  for (size_t i = 0; i < sizeof evidence_keys / sizeof *evidence_keys; i++)
    set_known(j, evidence_keys[i], json_null());
  json_t *timing = json_object_get(j, "timing"), *checks = json_object_get(j, "checks");
  for (size_t i = 0; json_is_object(timing) && i < sizeof timing_keys / sizeof *timing_keys; i++)
    set_known(timing, timing_keys[i], json_null());
  for (size_t i = 0; i < json_array_size(checks); i++)
    set_known(json_array_get(checks, i), "worst", json_null());
  return cli_json_of("verdict", j);
}
