// SPDX-License-Identifier: Apache-2.0
// A verdict as JSON, and the hash of what it depends on.
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "assay/judge.h"
#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "judge/baseline.h"
#include "judge/form.h"
#include "judge/machine.h"
#include "task/given.h"

// JSON has no such numbers: NaN, which is no number, is null, and infinity a string.
static json_t *number(double x) {
  if (isnan(x))
    return json_null();
  if (isinf(x))
    return json_string(x > 0 ? "Infinity" : "-Infinity");
  return json_real(x);
}

static json_t *numbers(const double *x, int n) {
  json_t *a = json_array();
  for (int i = 0; i < n && a; i++)
    json_array_append_new(a, number(x[i]));
  return a;
}

static json_t *check_json(const struct assay_check *c) {
  return json_pack("{s:s, s:s, s:i, s:b, s:s, s:I, s:I, s:b, s:b, s:o, s:o, s:o,"
                   " s:s, s:o, s:o, s:o, s:o, s:I, s:I, s:s, s:s?}",
                   "workload", c->workload, "probe", c->probe, "output", c->output, "timed", c->timed, "reason",
                   assay_reason_code(c->reason), "elements", (json_int_t)c->n, "wrong", (json_int_t)c->wrong,
                   "looked_again", c->looked_again, "borrowed_scale", c->borrowed_scale, "z_max", number(c->z_max),
                   "z_limit", number(c->z_limit), "z_rms", number(c->z_rms), "gate", c->gate, "gate_z",
                   number(c->gate_z), "gate_limit", number(c->gate_limit), "max_abs_error", number(c->max_abs),
                   "max_rel_error", number(c->max_rel), "allclose_bad", (json_int_t)c->allclose_bad,
                   "allclose_1e-2_bad", (json_int_t)c->allclose_loose_bad, "hint", c->hint, "worst", c->description);
}

static json_t *shapes_json(const struct assay_verdict *v) {
  json_t *a = json_array();
  for (int i = 0; i < v->n_shapes && a; i++)
    json_array_append_new(a, json_pack("{s:s, s:s}", "name", v->shapes[i].name, "extents", v->shapes[i].extents));
  return a;
}

static json_t *load_json(const struct assay_load *l) {
  if (!l->known)
    return json_null();
  return json_pack("{s:i, s:o, s:o, s:o}", "cpus", l->cpus, "average", number(l->average), "others_cpus",
                   number(l->others), "stolen_cpus", number(l->stolen));
}

static json_t *number_if(bool known, double x) {
  return known ? number(x) : json_null();
}

static json_t *integer_if(bool known, int x) {
  return known ? json_integer(x) : json_null();
}

static json_t *left_out_json(const struct assay_left_out *l) {
  if (l->n_samples == 0)
    return json_null();
  return json_pack("{s:i, s:o, s:o}", "samples", l->n_samples, "median_ns", number(l->median_ns), "wall_ns",
                   number(l->wall_ns));
}

// What nobody measured is null.
static json_t *timing_json(const struct assay_timing *t) {
  const bool m = t->measured;
  return json_pack(
      "{s:b, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
      "s:o, s:o, s:o, s:s?, s:o, s:o}",
      "measured", m, "unstable", m ? json_boolean(t->unstable) : json_null(), "suspicious", t->suspicious, "median_ns",
      number_if(m, t->median_ns), "low_ns", number_if(m, t->low_ns), "high_ns", number_if(m, t->high_ns), "hot_ns",
      number_if(m, t->hot_ns), "overhead_ns", number_if(m, t->overhead_ns), "floor_ns", number(t->floor_ns), "stopped",
      t->stop, "dropped", t->n_dropped, "samples_ns", m ? numbers(t->samples_ns, t->n_samples) : json_null(),
      "hot_samples_ns", m ? numbers(t->hot_samples_ns, t->n_hot) : json_null(), "called_ns", number_if(m, t->called_ns),
      "wall_ns", number_if(m, t->wall_ns), "stamps_apart", integer_if(m, t->stamps_apart), "stamps_compared",
      integer_if(m, t->stamps_compared), "stamps_excess_ns", number_if(m, t->stamps_excess_ns), "prepare_ns",
      number_if(m, t->prepare_ns), "clock_mhz", integer_if(m, t->clock_mhz), "temperature_c",
      integer_if(m, t->temperature_c), "power_w", integer_if(m, t->power_w), "throttle", m ? t->throttle : NULL, "load",
      load_json(&t->load), "left_out", left_out_json(&t->left_out));
}

static json_t *durations_json(const struct assay_durations *d) {
  return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "total",
                   (json_int_t)d->total_ns, "build", (json_int_t)d->build_ns, "oracle", (json_int_t)d->oracle_ns,
                   "load", (json_int_t)d->load_ns, "checks", (json_int_t)d->checks_ns, "timing",
                   (json_int_t)d->timing_ns, "verify", (json_int_t)d->verify_ns, "kernel", (json_int_t)d->kernel_ns,
                   "open", (json_int_t)d->open_ns, "plan", (json_int_t)d->plan_ns, "bind", (json_int_t)d->bind_ns,
                   "fill", (json_int_t)d->fill_ns, "call", (json_int_t)d->call_ns, "inspect", (json_int_t)d->inspect_ns,
                   "close", (json_int_t)d->close_ns);
}

// Null where it is not known: for plans whose kernels can only be the candidate's.
static json_t *kernels_json(const struct assay_kernels *k) {
  static const char *const names[] = {
      [ASSAY_OWN_KERNELS] = "own", [ASSAY_LIBRARY_KERNELS] = "library", [ASSAY_PYTORCH_KERNELS] = "pytorch"};
  json_t *all = k->known ? json_object() : json_null();
  for (int i = 0; i < ASSAY_ORIGINS && k->known; i++)
    json_object_set_new(all, names[i],
                        json_pack("{s:I, s:o}", "launches", (json_int_t)k->launches[i], "part", number(k->part[i])));
  return all;
}

static json_t *needs_json(const struct assay_kernels *k) {
  json_t *a = json_array();
  for (int i = 0; i < k->n_needs && a; i++) {
    const struct assay_need *n = &k->needs[i];
    json_array_append_new(a, json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "kernel", n->name, "launches",
                                       (json_int_t)n->launches, "registers", (json_int_t)n->registers, "local_bytes",
                                       (json_int_t)n->local_bytes, "shared_bytes", (json_int_t)n->shared_bytes,
                                       "threads", (json_int_t)n->threads, "blocks", (json_int_t)n->blocks, "occupancy",
                                       number(n->occupancy)));
  }
  return a;
}

static json_t *comparison_json(const struct assay_comparison *c) {
  return json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name", c->name, "verdict",
                   assay_reason_code(c->reason), "detail", c->detail, "mode", c->mode, "made_with", c->made_with,
                   "pairs", c->n_pairs, "median_ns", number(c->median_ns), "low_ns", number(c->low_ns), "high_ns",
                   number(c->high_ns), "speedup", number(c->ratio), "speedup_low", number(c->ratio_low), "speedup_high",
                   number(c->ratio_high), "samples_ns", numbers(c->samples_ns, c->n_pairs), "candidate_samples_ns",
                   numbers(c->candidate_ns, c->n_pairs));
}

// What the candidate was held against; nothing where its own time does not count.
static json_t *comparisons_json(const struct assay_verdict *v) {
  json_t *a = json_array();
  for (int i = 0; i < v->n_comparisons && a && v->timing.measured; i++)
    json_array_append_new(a, comparison_json(&v->comparisons[i]));
  return a;
}

char *assay_verdict_json(const struct assay_verdict *v) {
  json_t *checks = json_array();
  for (int i = 0; i < v->n_checks && checks; i++)
    json_array_append_new(checks, check_json(&v->checks[i]));
  json_t *j = json_pack(
      "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s?, s:s, s:I, s:o, s:i, s:i, s:o, s:o, s:o, s:o, s:s, "
      "s:s, s:s, s:s, s:s, s:s, s:s?, s:s, s:b, s:b, s:o, s:o, s:i, s:o, s:I, s:o, s:b, s:s?, s:s?, s:s?, s:s, "
      "s:s, s:s, s:s, s:s?, s:s?}",
      "task", v->task_name, "form", v->form, "workload", v->workload, "verdict", assay_reason_code(v->reason),
      "meaning", assay_reason_text(v->reason), "detail", v->detail, "task_sha256", v->task_hash, "candidate_sha256",
      v->candidate_hash, "built_sha256", v->built_hash[0] ? v->built_hash : NULL, "settings_sha256", v->settings_hash,
      "seed", (json_int_t)v->seed, "checks", checks, "worst_check", v->worst_check, "skipped_probes",
      v->n_skipped_probes, "timing", timing_json(&v->timing), "durations_ns", durations_json(&v->durations), "flops",
      number(v->flops), "bytes", number(v->bytes), "diagnostics", v->diagnostics, "build_command", v->build_command,
      "compiler", v->compiler_version, "sandbox", v->sandbox, "toolchain", v->toolchain, "mode", v->mode, "no_plan",
      v->no_plan[0] ? v->no_plan : NULL, "device", v->device, "times_rank_nothing", v->times_rank_nothing,
      "kernels_reach_host_memory", v->reaches_host, "kernels", kernels_json(&v->kernels), "resources",
      needs_json(&v->kernels), "unsettled_arguments", v->kernels.unsettled_arguments, "baselines", comparisons_json(v),
      "secret", (json_int_t)v->secret, "shapes", shapes_json(v), "foreknown", v->foreknown, "scope",
      v->scope ? assay_scope_name(v->scope) : NULL, "elsewhere", v->elsewhere[0] ? v->elsewhere : NULL, "weights",
      v->weights[0] ? v->weights : NULL, "contract", v->contract, "task_contract", v->task_contract, "rule",
      assay_rule_name(v->rule), "judge", "assay " ASSAY_VERSION, "category", v->category[0] ? v->category : NULL,
      "operator_kind", v->operator_kind);
  char *text = j ? json_dumps(j, JSON_SORT_KEYS | JSON_INDENT(2)) : NULL;
  json_decref(j);
  return text;
}

// NULL: none is set.
static json_t *settings_json(const char *const *settings) {
  json_t *all = settings && settings[0] ? json_array() : NULL;
  for (int i = 0; all && settings[i]; i++)
    json_array_append_new(all, json_string(settings[i]));
  return all;
}

enum assay_status assay_settings_hash(const struct assay_judge_options *o, char hex[65], struct assay_error *err) {
  enum { MAX_TASK_BYTES = 64 << 20 };
  char *task = NULL, *text = NULL;
  size_t len = 0;
  struct form_choice choice;
  char weights[HASH_HEX_BYTES] = "";
  enum assay_status status = form_choose(o, &choice, err);
  if (!status && o->weights)
    status = given_hash(o->weights, weights, err);
  if (!status)
    status = file_read(o->task, MAX_TASK_BYTES, &task, &len, err);
  if (status)
    return status;
  char task_hex[HASH_HEX_BYTES];
  hash_sha256_hex(task, len, task_hex);
  json_t *defines = json_array(), *baselines = json_array();
  for (int i = 0; o->defines && o->defines[i]; i++)
    json_array_append_new(defines, json_string(o->defines[i]));
  for (int i = 0; i < baselines_count(o->baselines); i++)
    json_array_append_new(baselines, json_string(baselines_name(o->baselines, i)));
  // Its extensions are another program with another compiler.
  json_t *compilers = choice.form->python ? settings_json(o->paths->compiler_settings) : NULL;
  // The same sizes are the same question, however a caller writes them.
  struct arena arena = {0};
  const char *workload = task_workload_name(o->task, o->workload, &arena);
  // Another GPU is another device: a verdict of one says nothing of the other's time.
  char *gpus = choice.form->device->dialect == PLAN_CUDA_LAUNCHES ? machine_gpus(o->paths->proc) : NULL;
  char device[32];
  snprintf(device, sizeof device, "%s %d %s", o->device, o->device_index, o->toolchain ? o->toolchain : "");
  // What a Python candidate without a plan means depends on it, on a GPU.
  const char *mode = choice.form->device->gpu ? (o->mode ? o->mode : "any") : NULL;
  // Those of a plan are only the oracle's, and the same work may go on where there are more processors.
  bool host = choice.form->device->dialect == PLAN_NO_LAUNCHES || (choice.form->python && choice.mode != FORM_PLAN);
  int threads = host ? o->threads : 0;
  json_t *j = json_pack("{s:s, s:b, s:s, s:s, s:s, s:o, s:o, s:i, s:i, s:i, s:b, s:s*, s:i, s:b, s:i, s:i, s:i, s:i, "
                        "s:s*, s:o*, s:s*, s:o*, s:s*, s:s*}",
                        "task", task_hex, "published", o->as_published, "workload", workload, "compiler",
                        o->compiler ? o->compiler : "", "device", device, "defines", defines, "baselines", baselines,
                        "rule", (int)o->rule, "threads", threads, "checks", o->declared_checks, "probes", o->probes,
                        "shapes", o->shapes == ASSAY_SHAPES_JUDGED ? "judged" : NULL, "replicas", o->replicas, "timing",
                        o->timing, "min_samples", o->min_samples, "max_samples", o->max_samples, "hot_samples",
                        o->hot_samples, "verified", o->verified_calls, "mode", mode, "compilers", compilers, "contract",
                        o->contract, "hold_out", o->hold_out ? json_integer((json_int_t)o->hold_out) : NULL, "weights",
                        weights[0] ? weights : NULL, "gpus", gpus && gpus[0] ? gpus : NULL);
  text = j ? json_dumps(j, JSON_SORT_KEYS) : NULL;
  json_decref(j);
  if (text)
    hash_sha256_hex(text, strlen(text), hex);
  else
    status = error_nomem(err, "the settings' hash");
  free(text);
  arena_release(&arena);
  base_free(gpus);
  base_free(task);
  return status;
}
