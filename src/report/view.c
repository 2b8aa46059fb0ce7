// SPDX-License-Identifier: Apache-2.0
#include "report/view.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "judge/record.h"
#include "report/skim.h"

// Whether a check counts for the published rule: a draw of the task's own distribution at the judged sizes. Timed calls
// do not count: the judge chose them.
static bool counts_for_allclose(const char *probe, const char *workload, const char *judged, bool timed) {
  enum { SHOWN = sizeof((struct assay_check *)0)->workload - 1 }; // longer names are cut
  return strcmp(probe, "declared") == 0 && strncmp(workload, judged, SHOWN) == 0 && !timed;
}

static void add_check(struct verdict_view *view, bool bad, bool loose_bad) {
  view->n_declared++;
  view->n_allclose_bad += bad;
  view->n_allclose_loose_bad += loose_bad;
}

static enum assay_status make_baselines(struct verdict_view *view, int n, struct assay_error *err) {
  view->baselines = base_calloc((size_t)n + 1, sizeof *view->baselines);
  return view->baselines ? ASSAY_OK : error_nomem(err, "a verdict's baselines");
}

// The contract if it is not the task's own. (Verdicts from before 2026-11-24 name none, and are under that.)
static const char *other_contract(const char *contract, const char *own) {
  return strcmp(contract, own) != 0 ? contract : "";
}

// --- from the judge

static void take_checks(const struct assay_verdict *v, struct verdict_view *view) {
  for (int i = 0; i < v->n_checks; i++) {
    const struct assay_check *c = &v->checks[i];
    if (counts_for_allclose(c->probe, c->workload, v->workload, c->timed))
      add_check(view, c->allclose_bad > 0, c->allclose_loose_bad > 0);
  }
  if (v->worst_check < 0)
    return;
  view->gate = v->checks[v->worst_check].gate;
  if (v->checks[v->worst_check].description)
    view->worst = v->checks[v->worst_check].description;
}

enum assay_status view_from_verdict(const struct assay_verdict *v, const char *candidate, struct verdict_view *out,
                                    struct assay_error *err) {
  // As in the evidence, they count only where the candidate's own time does.
  int n = v->timing.measured ? v->n_comparisons : 0;
  struct verdict_view view = {.device_name = v->device,
                              .processor = "",
                              .mode = v->mode,
                              .no_plan = v->no_plan,
                              .weights = v->weights,
                              .gate = "",
                              .worst = "",
                              .diagnostics = v->diagnostics,
                              .not_a_gpu = v->times_rank_nothing,
                              .rule = assay_rule_name(v->rule),
                              .judge = "assay " ASSAY_VERSION,
                              .flops = v->flops,
                              .bytes = v->bytes,
                              .foreknown = v->foreknown,
                              .timed_again = v->timing.left_out.n_samples > 0,
                              .scope = assay_scope_name(v->scope),
                              .elsewhere = v->elsewhere,
                              .contract = other_contract(v->contract, v->task_contract),
                              .kernels = v->kernels};
  view.stored = (struct store_verdict){.run = "", .task = v->task_name, .form = v->form, .workload = v->workload};
  view.stored.candidate = candidate;
  record_fill(v, &view.stored);
  if (v->timing.measured && isfinite(v->timing.overhead_ns))
    view.overhead_ns = v->timing.overhead_ns;
  for (int i = 0; i < ASSAY_ORIGINS; i++)
    view.kernels.part[i] = isfinite(v->kernels.part[i]) ? v->kernels.part[i] : 0;
  take_checks(v, &view);
  enum assay_status status = make_baselines(&view, n, err);
  for (int i = 0; i < n && !status; i++) {
    const struct assay_comparison *c = &v->comparisons[i];
    view.baselines[view.n_baselines++] = (struct view_baseline){.name = c->name,
                                                                .verdict = assay_reason_code(c->reason),
                                                                .detail = c->detail,
                                                                .speedup = isfinite(c->ratio) ? c->ratio : NAN,
                                                                .speedup_interval = {c->ratio_low, c->ratio_high},
                                                                .time_ns = c->median_ns,
                                                                .time = {c->low_ns, c->high_ns}};
  }
  if (!status)
    *out = view;
  return status;
}

// --- from the store

static const char *text_of(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

// NaN and infinity are texts there, and become `otherwise`.
static double number_of(const json_t *object, const char *key, double otherwise) {
  const json_t *number = json_object_get(object, key);
  return json_is_number(number) ? json_number_value(number) : otherwise;
}

static struct interval interval_of(const json_t *object) {
  return (struct interval){number_of(object, "speedup_low", NAN), number_of(object, "speedup_high", NAN)};
}

static void read_checks(const json_t *evidence, struct verdict_view *view) {
  const json_t *checks = json_object_get(evidence, "checks");
  for (size_t i = 0; i < json_array_size(checks); i++) {
    const json_t *c = json_array_get(checks, i);
    if (counts_for_allclose(text_of(c, "probe"), text_of(c, "workload"), view->stored.workload,
                            json_is_true(json_object_get(c, "timed"))))
      add_check(view, number_of(c, "allclose_bad", 0) > 0, number_of(c, "allclose_1e-2_bad", 0) > 0);
  }
  json_int_t worst = json_integer_value(json_object_get(evidence, "worst_check"));
  if (worst < 0)
    return;
  view->gate = text_of(json_array_get(checks, (size_t)worst), "gate");
  view->worst = text_of(json_array_get(checks, (size_t)worst), "worst");
}

static void read_kernels(const json_t *evidence, struct assay_kernels *k) {
  static const char *const names[ASSAY_ORIGINS] = {
      [ASSAY_OWN_KERNELS] = "own", [ASSAY_LIBRARY_KERNELS] = "library", [ASSAY_PYTORCH_KERNELS] = "pytorch"};
  const json_t *kernels = json_object_get(evidence, "kernels");
  k->known = json_is_object(kernels);
  for (int i = 0; i < ASSAY_ORIGINS; i++) {
    const json_t *origin = json_object_get(kernels, names[i]);
    k->launches[i] = json_integer_value(json_object_get(origin, "launches"));
    k->part[i] = number_of(origin, "part", 0);
  }
  k->unsettled_arguments = (int)json_integer_value(json_object_get(evidence, "unsettled_arguments"));
}

static enum assay_status read_baselines(const json_t *evidence, struct verdict_view *view, struct assay_error *err) {
  const json_t *all = json_object_get(evidence, "baselines");
  enum assay_status status = make_baselines(view, (int)json_array_size(all), err);
  for (size_t i = 0; i < json_array_size(all) && !status; i++) {
    const json_t *b = json_array_get(all, i);
    view->baselines[view->n_baselines++] =
        (struct view_baseline){.name = text_of(b, "name"),
                               .verdict = text_of(b, "verdict"),
                               .detail = text_of(b, "detail"),
                               .speedup = number_of(b, "speedup", NAN),
                               .speedup_interval = interval_of(b),
                               .time_ns = number_of(b, "median_ns", NAN),
                               .time = {number_of(b, "low_ns", NAN), number_of(b, "high_ns", NAN)}};
  }
  return status;
}

// All that a view reads of the evidence; the rest, samples above all, is left out before a tree is made of it.
#define COUNT(list) (int)(sizeof(list) / sizeof *(list))
static const char *const check_keys[] = {"probe",        "workload",          "timed", "gate",
                                         "allclose_bad", "allclose_1e-2_bad", "worst"};
static const struct skim_rules of_a_check = {check_keys, COUNT(check_keys), false, NULL, 0};
static const char *const timing_keys[] = {"overhead_ns", "left_out"};
static const struct skim_rules of_timing = {timing_keys, COUNT(timing_keys), false, NULL, 0};
static const char *const not_of_a_baseline[] = {"samples_ns"};
static const struct skim_rules of_a_baseline = {not_of_a_baseline, COUNT(not_of_a_baseline), true, NULL, 0};
static const char *const evidence_keys[] = {
    "device",    "mode",     "no_plan",       "weights", "diagnostics",         "times_rank_nothing",
    "rule",      "judge",    "flops",         "bytes",   "foreknown",           "scope",
    "elsewhere", "contract", "task_contract", "kernels", "unsettled_arguments", "worst_check"};
static const struct skim_inside evidence_parts[] = {
    {"checks", &of_a_check}, {"timing", &of_timing}, {"baselines", &of_a_baseline}};
static const struct skim_rules of_evidence = {evidence_keys, COUNT(evidence_keys), false, evidence_parts,
                                              COUNT(evidence_parts)};

// The part of it that scores ask for.
static const char *const score_keys[] = {"device",        "mode",       "times_rank_nothing", "rule",  "judge",
                                         "flops",         "bytes",      "foreknown",          "scope", "contract",
                                         "task_contract", "worst_check"};
static const struct skim_inside score_parts[] = {{"timing", &of_timing}, {"baselines", &of_a_baseline}};
static const struct skim_rules of_scores = {score_keys, COUNT(score_keys), false, score_parts, COUNT(score_parts)};

static const char *const machine_keys[] = {"processor"};
static const struct skim_rules of_machine = {machine_keys, COUNT(machine_keys), false, NULL, 0};

// `evidence` becomes the view's.
static enum assay_status from_store(const struct store_verdict *row, json_t *evidence, struct verdict_view *out,
                                    struct assay_error *err) {
  json_t *machine = row->machine ? skim_load(row->machine, &of_machine) : NULL;
  struct verdict_view view = {.stored = *row,
                              .device_name = text_of(evidence, "device"),
                              .processor = text_of(machine, "processor"),
                              .mode = text_of(evidence, "mode"),
                              .no_plan = text_of(evidence, "no_plan"),
                              .weights = text_of(evidence, "weights"),
                              .gate = "",
                              .worst = "",
                              .diagnostics = text_of(evidence, "diagnostics"),
                              .not_a_gpu = json_is_true(json_object_get(evidence, "times_rank_nothing")),
                              .rule = text_of(evidence, "rule"),
                              .judge = text_of(evidence, "judge"),
                              .flops = number_of(evidence, "flops", NAN),
                              .bytes = number_of(evidence, "bytes", NAN),
                              .foreknown = json_is_true(json_object_get(evidence, "foreknown")),
                              .scope = text_of(evidence, "scope"),
                              .elsewhere = text_of(evidence, "elsewhere"),
                              .contract =
                                  other_contract(text_of(evidence, "contract"), text_of(evidence, "task_contract")),
                              .evidence = evidence,
                              .machine = machine};
  const json_t *timing = json_object_get(evidence, "timing");
  view.overhead_ns = number_of(timing, "overhead_ns", 0);
  view.timed_again = json_is_object(json_object_get(timing, "left_out"));
  read_checks(evidence, &view);
  read_kernels(evidence, &view.kernels);
  enum assay_status status = read_baselines(evidence, &view, err);
  if (status)
    view_release(&view);
  else
    *out = view;
  return status;
}

enum assay_status view_from_store(const struct store_verdict *row, struct verdict_view *out, struct assay_error *err) {
  return from_store(row, row->evidence ? skim_load(row->evidence, &of_evidence) : NULL, out, err);
}

// Of all checks scores ask for one gate: that of the worst. It becomes a member of what is read.
struct gate {
  json_t *evidence;
  json_int_t left; // checks before it
};

static bool find_gate(void *arg, const struct skim_raw *members) {
  struct gate *g = arg;
  if (g->left-- > 0)
    return true;
  json_t *gate = members[0].at ? json_loadb(members[0].at, members[0].n, JSON_DECODE_ANY, NULL) : NULL;
  if (json_is_string(gate) && json_string_length(gate) > 0)
    json_object_set(g->evidence, "worst_gate", gate);
  json_decref(gate);
  return false;
}

enum assay_status view_scores_from_store(const struct store_verdict *row, struct verdict_view *out,
                                         struct assay_error *err) {
  static const char *const gate_key[] = {"gate"};
  json_t *evidence = row->evidence ? skim_load(row->evidence, &of_scores) : NULL;
  const json_t *worst = json_object_get(evidence, "worst_check");
  struct gate g = {evidence, json_integer_value(worst)};
  const struct skim_array checks = {"checks", gate_key, 1, find_gate, &g};
  if (json_is_integer(worst) && g.left >= 0)
    (void)skim_each(row->evidence, &checks);
  enum assay_status status = from_store(row, evidence, out, err);
  if (!status)
    out->gate = text_of(evidence, "worst_gate");
  return status;
}

enum assay_status view_whole_from_store(const struct store_verdict *row, struct verdict_view *out,
                                        struct assay_error *err) {
  return from_store(row, row->evidence ? json_loads(row->evidence, 0, NULL) : NULL, out, err);
}

void view_release(struct verdict_view *view) {
  base_free(view->baselines);
  json_decref(view->evidence);
  json_decref(view->machine);
  view->machine = NULL;
  view->baselines = NULL;
  view->evidence = NULL;
}

// --- what follows

bool view_is_loadable(enum assay_reason reason) {
  return !assay_reason_is_of_build(reason) && reason != ASSAY_REASON_LOAD_FAILED &&
         reason != ASSAY_REASON_UNRECORDABLE && reason != ASSAY_REASON_INVALID_PLAN;
}

bool view_is_narrow(const struct verdict_view *view) {
  return view->stored.reason == ASSAY_REASON_PASS && strcmp(view->scope, "judged") == 0;
}

bool view_is_right(const struct verdict_view *view) {
  return view->stored.reason == ASSAY_REASON_PASS && !view_is_narrow(view) && !store_is_suspicious(&view->stored);
}

const char *view_task_label(const struct verdict_view *view, char *text, size_t size) {
  const bool own = !view->contract[0];
  snprintf(text, size, "%s%s%s%s", view->stored.task, own ? "" : " (", view->contract, own ? "" : ")");
  return text;
}

double view_ranked_ns(const struct verdict_view *view) {
  bool ranks = view_is_right(view) && !view->foreknown;
  return ranks ? view_time_ns(view) : NAN;
}

double view_time_ns(const struct verdict_view *view) {
  double ns = view->stored.time_ns;
  return isfinite(ns) && ns > 0 ? ns : NAN;
}

// The number at a place of what the worker says; 0: there is none, or none of seconds.
static double seconds_at(const char *at) {
  double seconds = at ? strtod(at, NULL) : 0;
  return seconds > 0 && seconds < 1e7 ? seconds : 0;
}

double view_compile_seconds(const struct verdict_view *view) {
  static const char mark[] = "assay: torch.compile: "; // "... 3.250 s, in a first call of 4.500 s" (worker.py)
  const char *at = strstr(view->diagnostics, mark);
  return seconds_at(at ? at + sizeof mark - 1 : NULL);
}

double view_first_call_processor_seconds(const struct verdict_view *view) {
  static const char mark[] = "assay: first call: "; // "... 4.500 s, 12.250 s of processors" (worker.py)
  const char *at = strstr(view->diagnostics, mark), *comma = at ? strchr(at, ',') : NULL;
  return seconds_at(comma ? comma + 1 : NULL);
}

const char *view_no_time(const struct verdict_view *view) {
  const struct store_verdict *v = &view->stored;
  if (v->reason != ASSAY_REASON_PASS || !isnan(view_time_ns(view)))
    return NULL;
  if (v->detail && v->detail[0])
    return v->detail;
  // Stores from before 2026-11-23 have times of 0.
  return isnan(v->time_ns) ? NULL : "no time: the calls took no longer than calls without a kernel";
}
