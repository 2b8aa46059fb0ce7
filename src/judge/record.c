// SPDX-License-Identifier: Apache-2.0
#include "judge/record.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "judge/form.h"
#include "judge/machine.h"

void record_key(const char *run, const struct assay_judge_options *o, const char *task_name, const char *candidate,
                const char *candidate_hash, const char *settings_hash, struct store_verdict *out) {
  *out = (struct store_verdict){.run = run,
                                .task = task_name,
                                .form = o->as_published ? "published" : "default",
                                .workload = o->workload,
                                .device = o->device,
                                .candidate = candidate,
                                .candidate_hash = candidate_hash,
                                .settings_hash = settings_hash};
}

enum assay_status record_key_of_file(const char *run, const struct assay_judge_options *o, const char *task_name,
                                     const char *candidate, struct record_hashes *hashes, struct store_verdict *out,
                                     struct assay_error *err) {
  char *source = NULL;
  size_t n = 0;
  enum assay_status status = assay_settings_hash(o, hashes->settings, err);
  if (!status)
    status = file_read(o->candidate, FORM_MOST_BYTES, &source, &n, err);
  if (status)
    return status;
  hash_sha256_hex(source, n, hashes->candidate);
  base_free(source);
  record_key(run, o, task_name, candidate, hashes->candidate, hashes->settings, out);
  return ASSAY_OK;
}

void record_fill(const struct assay_verdict *v, struct store_verdict *out) {
  const struct assay_check *worst = v->worst_check >= 0 ? &v->checks[v->worst_check] : NULL;
  out->task_hash = v->task_hash;
  out->toolchain = v->toolchain;
  out->reason = v->reason;
  out->detail = v->detail;
  out->error_z = worst ? worst->gate_z : NAN;
  out->error_limit = worst ? worst->gate_limit : NAN;
  out->time_ns = v->timing.measured ? v->timing.median_ns : NAN;
  out->time_low_ns = v->timing.measured ? v->timing.low_ns : NAN;
  out->time_high_ns = v->timing.measured ? v->timing.high_ns : NAN;
  out->hot_ns = v->timing.measured ? v->timing.hot_ns : NAN;
  out->floor_ns = v->timing.floor_ns;
  out->unstable = v->timing.unstable;
  out->suspicious = v->timing.suspicious;
  out->n_samples = v->timing.measured ? v->timing.n_samples : 0;
  out->samples_ns = v->timing.samples_ns;
  out->seed = v->seed;
}

enum assay_status record_row_make(const struct store_verdict *key, const struct assay_verdict *v, const char *command,
                                  struct record_row *out, struct assay_error *err) {
  *out = (struct record_row){.verdict = *key, .evidence = assay_verdict_json(v), .machine = machine_json()};
  if (!out->evidence || !out->machine) {
    record_row_release(out);
    return error_nomem(err, "a verdict's evidence");
  }
  record_fill(v, &out->verdict);
  out->verdict.at_ns = clock_wall_ns();
  out->verdict.machine = out->machine;
  out->verdict.command = command;
  out->verdict.evidence = out->evidence;
  return ASSAY_OK;
}

void record_row_release(struct record_row *row) {
  free(row->evidence);
  base_free(row->machine);
  row->evidence = row->machine = NULL;
}

enum assay_status record_put(struct store *s, const struct store_verdict *key, const struct assay_verdict *v,
                             const char *command, struct assay_error *err) {
  struct record_row row;
  int64_t id;
  enum assay_status status = record_row_make(key, v, command, &row, err);
  if (!status)
    status = store_put(s, &row.verdict, &id, err);
  record_row_release(&row);
  return status;
}
