// From files to a loaded candidate.
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "judge/session.h"
#include "sandbox/sandbox.h"
#include "stats/stats.h"

enum { MAX_CANDIDATE_BYTES = 4 << 20 };

// Coming to the start line may take this much longer than usual before it counts as the kernel's time.
static const double ARMING_SLACK = 1.25;

void session_decide(struct session *s, enum assay_reason reason, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  s->v->reason = reason;
  vsnprintf(s->v->detail, sizeof s->v->detail, fmt, ap);
  va_end(ap);
}

enum assay_status session_prepare(struct session *s, struct assay_error *err) {
  enum assay_status status = task_read(s->o->task, s->o->as_published, &s->task, err);
  if (!status)
    status = task_parse_workload(&s->task, s->o->workload, &s->arena, &s->workload, err);
  if (!status)
    status = assay_settings_hash(s->o, s->v->settings_hash, err);
  struct task_cost cost;
  if (!status)
    status = task_cost(&s->task, &s->workload, &cost, err);
  if (status)
    return status;
  struct assay_verdict *v = s->v;
  snprintf(v->task_name, sizeof v->task_name, "%s", s->task.name);
  snprintf(v->workload, sizeof v->workload, "%s", s->o->workload);
  snprintf(v->task_hash, sizeof v->task_hash, "%s", s->task.hash);
  v->form = s->o->as_published ? "published" : "default";
  v->flops = cost.flops + cost.contraction_flops;
  v->bytes = cost.input_bytes + cost.output_bytes;
  // Outputs may stay in the cache when the call returns, so only what must be read from memory counts.
  if (s->o->read_bytes_per_s > 0 && s->o->flops_per_s > 0)
    v->timing.floor_ns = 1e9 * fmax(cost.input_bytes / s->o->read_bytes_per_s, v->flops / s->o->flops_per_s);
  return ASSAY_OK;
}

enum assay_status session_start_build(struct session *s, struct assay_error *err) {
  enum assay_status status = file_read(s->o->candidate, MAX_CANDIDATE_BYTES, &s->source, &s->source_bytes, err);
  if (!status)
    status = sandbox_folder_make(s->o->temporary_dir, &s->build_folder, err);
  if (!status)
    status = sandbox_folder_make(s->o->temporary_dir, &s->run_folder, err);
  if (status)
    return status;
  hash_sha256_hex(s->source, s->source_bytes, s->v->candidate_hash);
  struct build_options b = {.compiler = s->o->compiler,
                            .path_env = s->o->path_env,
                            .include_dir = s->o->include_dir,
                            .folder = s->build_folder,
                            .defines = s->o->defines,
                            .timeout_ns = s->o->build_timeout_ns,
                            .memory_bytes = s->o->build_memory_bytes,
                            .file_bytes = (size_t)64 << 20};
  return build_start(&b, s->source, s->source_bytes, &s->build, err);
}

enum assay_status session_finish_build(struct session *s, bool *good, struct assay_error *err) {
  struct build_result r;
  enum assay_status status = build_finish(s->build, &r, err);
  s->build = NULL;
  if (status)
    return status;
  static const enum assay_reason reasons[] = {ASSAY_REASON_PASS, ASSAY_REASON_BUILD_FAILED, ASSAY_REASON_BUILD_TIMEOUT,
                                              ASSAY_REASON_BUILD_LIMIT};
  s->v->durations.build_ns = r.elapsed_ns;
  base_free(s->v->diagnostics);
  s->v->diagnostics = r.diagnostics;
  s->v->build_command = r.command;
  s->v->compiler_version = r.compiler_version;
  s->library = r.library;
  *good = r.outcome == BUILD_OK;
  if (!*good) {
    size_t line = strcspn(r.diagnostics, "\n");
    if (line > 0)
      session_decide(s, reasons[r.outcome], "%.*s", (int)(line < 400 ? line : 400), r.diagnostics);
    else
      session_decide(s, reasons[r.outcome], "the compiler said nothing: %s", assay_reason_text(reasons[r.outcome]));
  }
  return ASSAY_OK;
}

// What an event of the runner means for the candidate.
void session_decide_event(struct session *s, const struct runner_report *r) {
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
  };
  session_decide(s, reasons[r->event], "%s", r->detail);
}

// Calls without a kernel, in every other respect like timed ones, while the candidate is not there to influence them:
// what the protocol costs, and how long the runner takes to come to the start line.
static enum assay_status calibrate(struct session *s, int64_t *arming_ns, struct assay_error *err) {
  enum { CALLS = 16, WARM_UP = 4 };
  double overhead[CALLS], arming[CALLS];
  struct runner_report report;
  enum assay_status status = session_bind(s, &s->layouts[0], &report, err);
  for (int i = 0; i < CALLS + WARM_UP && !status; i++) {
    status = session_fill(s, &s->layouts[0], PROBE_DECLARED, rng_derive(s->v->seed, (uint64_t)i), POISON_NAN, err);
    if (!status)
      status = runner_call(s->runner, RUNNER_COLD, true, &report, err);
    if (!status && report.event != RUNNER_OK)
      status = error_set(err, ASSAY_ERR_ENVIRONMENT, "the runner failed without a kernel: %s", report.detail);
    if (!status && i >= WARM_UP) {
      overhead[i - WARM_UP] = (double)report.elapsed_ns;
      arming[i - WARM_UP] = (double)report.arming_ns;
    }
  }
  if (status)
    return status;
  s->overhead_ns = stats_median(overhead, CALLS);
  *arming_ns = (int64_t)(ARMING_SLACK * stats_median(arming, CALLS));
  return ASSAY_OK;
}

enum assay_status session_load(struct session *s, bool *good, struct assay_error *err) {
  int64_t start = clock_monotonic_ns(), arming_ns = 0;
  struct runner_options r = {.program = s->o->runner_program,
                             .library = s->library,
                             .folder = s->run_folder,
                             .threads = s->o->threads,
                             .load_timeout_ns = s->o->load_timeout_ns,
                             .call_timeout_ns = s->o->call_timeout_ns,
                             .memory_bytes = s->o->runner_memory_bytes};
  struct runner_report report = {0};
  enum assay_status status = runner_open(&r, &s->runner, err);
  if (!status && s->o->timing)
    status = calibrate(s, &arming_ns, err);
  if (!status)
    status = runner_load(s->runner, arming_ns, &report, err);
  s->v->durations.load_ns = clock_monotonic_ns() - start;
  *good = !status && report.event == RUNNER_OK;
  if (!status && !*good)
    session_decide_event(s, &report);
  return status;
}
