// A verdict as it is published: listed fields of its evidence, texts without the machine's paths, seeds as texts
// (JavaScript's numbers hold 53 bits).
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "site/kernel.h"
#include "report/publish.h"

// Those of the evidence that hold nothing but numbers and words of ours are taken as they are.
static const char *const as_they_are[] = {"bytes",
                                          "flops",
                                          "form",
                                          "foreknown",
                                          "kernels",
                                          "kernels_reach_host_memory",
                                          "mode",
                                          "resources",
                                          "shapes",
                                          "skipped_probes",
                                          "task",
                                          "timing",
                                          "times_rank_nothing",
                                          "unsettled_arguments",
                                          "workload",
                                          "worst_check",
                                          "contract",
                                          "task_contract",
                                          "rule",
                                          "judge",
                                          "scope",
                                          "toolchain",
                                          "task_sha256",
                                          "candidate_sha256",
                                          "settings_sha256"};
// Texts that may name files.
static const char *const texts[] = {"build_command", "compiler", "detail",  "device",  "diagnostics", "elsewhere",
                                    "meaning",       "no_plan",  "sandbox", "verdict", "weights"};
static const char *const of_a_check[] = {
    "workload",          "probe", "output", "timed",  "reason",     "elements",      "wrong",         "z_max",
    "z_limit",           "z_rms", "gate",   "gate_z", "gate_limit", "max_abs_error", "max_rel_error", "allclose_bad",
    "allclose_1e-2_bad", "hint",  "worst"};
static const char *const of_a_baseline[] = {"name",    "verdict", "mode",        "pairs",        "median_ns", "low_ns",
                                            "high_ns", "speedup", "speedup_low", "speedup_high", "samples_ns"};

static json_t *published(struct kernel *k, const json_t *value) {
  const char *text = json_string_value(value);
  const char *fit = text ? publish_text(&k->arena, text) : NULL;
  return fit ? json_string(fit) : json_null();
}

// Objects with the listed keys; their texts are published.
static json_t *listed(struct kernel *k, const json_t *all, const char *const *keys, size_t n) {
  json_t *out = json_array();
  for (size_t i = 0; i < json_array_size(all); i++) {
    json_t *item = json_object();
    for (size_t key = 0; key < n; key++) {
      json_t *value = json_object_get(json_array_get(all, i), keys[key]);
      if (value)
        json_object_set_new(item, keys[key], json_is_string(value) ? published(k, value) : json_incref(value));
    }
    json_array_append_new(out, item);
  }
  return out;
}

json_t *kernel_json(struct kernel *k) {
  char seed[32], secret[32];
  const json_t *secret_value = json_object_get(k->evidence, "secret");
  json_t *j = json_object();
  for (size_t i = 0; i < sizeof as_they_are / sizeof *as_they_are; i++) {
    json_t *value = json_object_get(k->evidence, as_they_are[i]);
    json_object_set_new(j, as_they_are[i], value ? json_incref(value) : json_null());
  }
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    json_object_set_new(j, texts[i], published(k, json_object_get(k->evidence, texts[i])));
  json_object_set_new(
      j, "checks",
      listed(k, json_object_get(k->evidence, "checks"), of_a_check, sizeof of_a_check / sizeof *of_a_check));
  json_object_set_new(j, "baselines",
                      listed(k, json_object_get(k->evidence, "baselines"), of_a_baseline,
                             sizeof of_a_baseline / sizeof *of_a_baseline));
  snprintf(seed, sizeof seed, "%" PRIu64, k->v.seed);
  snprintf(secret, sizeof secret, "%" PRIu64, (uint64_t)json_integer_value(secret_value));
  const char *command = publish_text(&k->arena, k->v.command);
  json_object_set_new(j, "schema", json_string("assay/site_verdict/1"));
  json_object_set_new(j, "page", json_string(k->row->key));
  json_object_set_new(j, "candidate", json_string(k->row->candidate));
  json_object_set_new(j, "run", json_string(k->site->runs[k->row->run].title));
  json_object_set_new(j, "seed", kernel_has_seed(k) ? json_string(seed) : json_null());
  json_object_set_new(j, "secret", secret_value ? json_string(secret) : json_null());
  json_object_set_new(j, "command", command ? json_string(command) : json_null());
  return j;
}
