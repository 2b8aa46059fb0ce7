// SPDX-License-Identifier: Apache-2.0
// The first steps: reading the task and the source, and taking in the result of the build.
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "judge/hold_out.h"
#include "judge/session.h"
#include "sandbox/sandbox.h"
#include "stats/stats.h"
#include "task/given.h"
#include "task/kind.h"

bool session_is_good(const struct session *s) {
  return s->v->reason == ASSAY_REASON_PASS;
}

void session_decide(struct session *s, enum assay_reason reason, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  s->v->reason = reason;
  vsnprintf(s->v->detail, sizeof s->v->detail, fmt, ap);
  va_end(ap);
}

// Memory loses time when it switches between reading and writing, so the rate of a mixture lies between that of its
// parts alone and that of a copy.
static double memory_seconds(const struct assay_peaks *p, double read, double written) {
  double at_half = 1 / p->bytes_per_s, bytes = read + written;
  double pure = written > read ? p->write_bytes_per_s : p->read_bytes_per_s;
  double at_end = pure > 0 ? 1 / pure : at_half;
  // 0: only reads or only writes; 1: as many of both, as in a copy
  double mixed = bytes > 0 ? 2 * fmin(read, written) / bytes : 0;
  return bytes * (at_end + (at_half - at_end) * mixed);
}

double assay_floor_ns(const struct assay_peaks *p, const char *contract, double input_bytes, double output_bytes,
                      double flops, double contraction_flops) {
  if (!(p->bytes_per_s > 0 && p->flops_per_s > 0))
    return NAN;
  double rate = p->contraction_flops_per_s > 0 ? p->contraction_flops_per_s : p->flops_per_s;
  double special = strcmp(contract, "tf32") == 0   ? p->tf32_flops_per_s
                   : strcmp(contract, "fp32") == 0 ? 0
                   : strcmp(contract, "fp8") == 0  ? 2 * p->half_flops_per_s
                                                   : p->half_flops_per_s;
  double seconds = memory_seconds(p, input_bytes, fmax(0, output_bytes - p->cache_bytes));
  return 1e9 * fmax(seconds, fmax(flops / p->flops_per_s, contraction_flops / (special > 0 ? special : rate)));
}

// No cache that holds a task's tensors is this much faster than the memory.
static const double CACHE_OVER_MEMORY = 32;

static struct assay_peaks hot_peaks(const struct assay_peaks *memory) {
  struct assay_peaks p = *memory;
  p.bytes_per_s *= CACHE_OVER_MEMORY;
  p.read_bytes_per_s *= CACHE_OVER_MEMORY;
  p.write_bytes_per_s *= CACHE_OVER_MEMORY;
  return p;
}

enum assay_status session_prepare(struct session *s, struct assay_error *err) {
  s->oom_kills = load_oom_kills(s->o->paths->proc);
  s->lost = sandbox_lost();
  enum assay_status status = task_read(s->o->task, s->o->as_published, &s->task, err);
  if (!status)
    s->task.probes = hold_out_probes(s->o->hold_out, s->task.probes);
  if (!status)
    status = task_take_contract(&s->task, s->o->contract, err);
  if (!status)
    status = task_parse_workload(&s->task, s->o->workload, &s->arena, &s->workload, err);
  if (!status && s->o->weights)
    status = task_take_weights(&s->task, s->o->weights, &s->workload, err);
  if (!status)
    status = assay_settings_hash(s->o, s->v->settings_hash, err);
  struct task_cost cost;
  if (!status)
    status = task_cost(&s->task, &s->workload, &cost, err);
  if (status)
    return status;
  struct assay_verdict *v = s->v;
  snprintf(v->task_name, sizeof v->task_name, "%s", s->task.name);
  task_category(s->task.name, v->category);
  v->operator_kind = task_kind(&s->task);
  snprintf(v->workload, sizeof v->workload, "%s", s->workload.name);
  snprintf(v->task_hash, sizeof v->task_hash, "%s", s->task.hash);
  v->rule = s->o->rule;
  v->form = s->o->as_published ? "published" : "default";
  snprintf(v->contract, sizeof v->contract, "%s", s->task.contract.name);
  snprintf(v->task_contract, sizeof v->task_contract, "%s", s->task.own_contract);
  v->flops = cost.flops + cost.contraction_flops;
  v->bytes = cost.input_bytes + cost.output_bytes;
  v->timing.floor_ns = assay_floor_ns(&s->o->peaks, s->task.contract.name, cost.least_input_bytes, cost.output_bytes,
                                      cost.flops, cost.least_contraction_flops);
  const struct assay_peaks hot = hot_peaks(&s->o->peaks);
  s->hot_floor_ns = assay_floor_ns(&hot, s->task.contract.name, cost.least_input_bytes, cost.output_bytes, cost.flops,
                                   cost.least_contraction_flops);
  return ASSAY_OK;
}

// Reads the source, makes the folders and the hash; the same for every kind of candidate.
enum assay_status session_read_source(struct session *s, struct assay_error *err) {
  int64_t size = 0;
  enum assay_status status =
      file_read_start(s->o->candidate, FORM_MOST_BYTES, &s->source, &s->source_bytes, &size, err);
  if (!status)
    status = sandbox_folder_make(s->o->paths->temporary, &s->build_folder, err);
  if (!status)
    status = sandbox_folder_make(s->o->paths->temporary, &s->run_folder, err);
  if (!status)
    hash_sha256_hex(s->source, s->source_bytes, s->v->candidate_hash);
  if (!status && size > FORM_MOST_BYTES)
    session_decide(s, ASSAY_REASON_BUILD_LIMIT, "the source has %lld bytes; at most %d are accepted", (long long)size,
                   FORM_MOST_BYTES);
  return status;
}

// The first line that is a Markdown fence, counted from 1; 0: none. A file that holds a model's whole reply has one.
static int fence_line(const char *text, size_t bytes) {
  int line = 1;
  for (size_t at = 0; at + 3 <= bytes; at++) {
    if ((at == 0 || text[at - 1] == '\n') && memcmp(text + at, "```", 3) == 0)
      return line;
    line += text[at] == '\n';
  }
  return 0;
}

// The line that "FILE:LINE: ..." names; 0: none.
static int line_named(const char *error, size_t n) {
  for (size_t i = 0; i + 1 < n; i++)
    if (error[i] == ':' && error[i + 1] >= '0' && error[i + 1] <= '9')
      return atoi(error + i + 1);
  return 0;
}

void session_take_build(struct session *s, struct build_result *r) {
  static const enum assay_reason reasons[] = {ASSAY_REASON_PASS, ASSAY_REASON_BUILD_FAILED, ASSAY_REASON_BUILD_TIMEOUT,
                                              ASSAY_REASON_BUILD_LIMIT};
  s->v->durations.build_ns = r->elapsed_ns;
  base_free(s->v->diagnostics);
  base_free(s->v->build_command); // of the build before, where the session changed its subject
  base_free(s->v->compiler_version);
  s->v->diagnostics = r->diagnostics;
  s->v->build_command = r->command;
  s->v->compiler_version = r->compiler_version;
  memcpy(s->v->built_hash, r->built, sizeof s->v->built_hash);
  if (r->outcome != BUILD_OK) {
    const char *error;
    size_t line = build_first_error(r->diagnostics, &error);
    // Prose before the fence, or the fence itself, is what the compiler does not understand; one in a comment is not.
    int fence =
        reasons[r->outcome] == ASSAY_REASON_BUILD_FAILED && line > 0 ? fence_line(s->source, s->source_bytes) : 0;
    if (fence > 0 && line_named(error, line) <= fence)
      session_decide(s, reasons[r->outcome],
                     "%.*s; line %d is a Markdown fence (```): of a model's reply the code alone is a candidate",
                     (int)(line < 320 ? line : 320), error, fence);
    else if (line > 0)
      session_decide(s, reasons[r->outcome], "%.*s", (int)(line < 400 ? line : 400), error);
    else
      session_decide(s, reasons[r->outcome], "the compiler said nothing: %s", assay_reason_text(reasons[r->outcome]));
  }
}

// What an event of the runner means for the candidate.
enum assay_reason session_event_reason(const struct runner_report *r) {
  static const enum assay_reason reasons[] = {
      [RUNNER_OK] = ASSAY_REASON_PASS,
      [RUNNER_LOAD_FAILED] = ASSAY_REASON_LOAD_FAILED,
      [RUNNER_CRASHED] = ASSAY_REASON_CRASHED,
      [RUNNER_EXITED] = ASSAY_REASON_EXITED,
      [RUNNER_TIMED_OUT] = ASSAY_REASON_TIMEOUT,
      [RUNNER_OUT_OF_MEMORY] = ASSAY_REASON_OUT_OF_MEMORY,
      [RUNNER_FORBIDDEN_CALL] = ASSAY_REASON_FORBIDDEN_CALL,
      [RUNNER_OUT_OF_BOUNDS] = ASSAY_REASON_OUT_OF_BOUNDS,
      [RUNNER_WROTE_INPUT] = ASSAY_REASON_WROTE_INPUT,
      [RUNNER_LATE_WORK] = ASSAY_REASON_LATE_WORK,
      [RUNNER_LAUNCH_FAILED] = ASSAY_REASON_LAUNCH_FAILED,
      [RUNNER_UNRECORDABLE] = ASSAY_REASON_UNRECORDABLE,
      [RUNNER_INVALID_PLAN] = ASSAY_REASON_INVALID_PLAN,
      [RUNNER_RAISED] = ASSAY_REASON_RAISED,
  };
  return reasons[r->event];
}

void session_decide_event(struct session *s, const struct runner_report *r) {
  session_decide(s, session_event_reason(r), "%s", r->detail);
}
