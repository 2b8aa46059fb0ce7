// SPDX-License-Identifier: Apache-2.0
#include "judge/replay.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/rng.h"
#include "judge/workbench.h"
#include "stats/stats.h"
#include "task/distribution.h"

struct replay {
  const struct plan *plan;
  struct assay_workbench *bench;
  struct device_runner *runner;
  int n_in, n_out;
  struct shared_memory in[RUNNER_MAX_BUFFERS], out[RUNNER_MAX_BUFFERS];
  uint64_t seed;
  struct replay_result *result;
};

// The plan's buffer for the task's i-th input or output, or NULL.
static const struct plan_buffer *find_buffer(const struct plan *p, enum plan_role role, int index) {
  for (int i = 0; i < p->n_buffers; i++)
    if (p->buffers[i].role == role && p->buffers[i].index == index)
      return &p->buffers[i];
  return NULL;
}

static enum assay_status make_buffers(struct replay *r, struct compute *c, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  const struct plan_buffer *b;
  for (; !status && r->n_in < RUNNER_MAX_BUFFERS && (b = find_buffer(r->plan, PLAN_INPUT, r->n_in)); r->n_in += !status)
    status = shared_create(c, b->bytes, &r->in[r->n_in], err);
  for (; !status && r->n_out < RUNNER_MAX_BUFFERS && (b = find_buffer(r->plan, PLAN_OUTPUT, r->n_out));
       r->n_out += !status)
    status = shared_create(c, b->bytes, &r->out[r->n_out], err);
  for (int i = 0; i < r->plan->n_buffers && !status; i++) {
    b = &r->plan->buffers[i];
    if ((b->role == PLAN_INPUT && b->index >= r->n_in) || (b->role == PLAN_OUTPUT && b->index >= r->n_out))
      status = error_set(err, ASSAY_ERR_INVALID, "the plan mentions %s %d but not all before it",
                         b->role == PLAN_INPUT ? "input" : "output", b->index);
  }
  return status;
}

static enum assay_status draw_input(struct replay *r, int i, struct assay_error *err) {
  const struct plan_buffer *b = find_buffer(r->plan, PLAN_INPUT, i);
  enum dtype dtype = b->tensor.dtype;
  if (dtype_bytes(dtype) == 0)
    return error_set(err, ASSAY_ERR_UNSUPPORTED, "input %d has elements of an unknown type", i);
  struct distribution d = {.kind = dtype_is_float(dtype) ? DIST_NORMAL : DIST_INTEGERS,
                           .b = dtype_is_float(dtype) ? 1 : 8};
  if (dtype == DTYPE_BOOL)
    d = (struct distribution){.kind = DIST_BERNOULLI, .a = 0.5};
  struct draw_request q = {.distribution = &d,
                           .a = d.a,
                           .b = d.b,
                           .type = {dtype, {.rank = 1, .dims = {(int64_t)(b->bytes / dtype_bytes(dtype))}}},
                           .key = r->seed,
                           .input = i,
                           .threads = 4};
  void *bytes = base_alloc(b->bytes);
  if (!bytes)
    return error_nomem(err, "a plan's input");
  distribution_draw(&q, bytes);
  enum assay_status status = shared_write(&r->in[i], bytes, err);
  base_free(bytes);
  return status;
}

// The median of some calls. When one fails: NaN, and the failure in the result.
static enum assay_status sample(struct replay *r, enum device_mode mode, int n, double *median,
                                struct assay_error *err) {
  double *ns = base_calloc((size_t)n + 1, sizeof *ns);
  enum assay_status status = ns ? ASSAY_OK : error_nomem(err, "the samples");
  *median = NAN;
  for (int i = 0; i < n && !status && !r->result->failure[0]; i++) {
    struct runner_report report = {0};
    struct device_times times;
    int64_t wall_ns;
    status = device_runner_call(r->runner, mode, &report, &times, &wall_ns, err);
    ns[i] = (double)report.elapsed_ns;
    if (!status && report.event != RUNNER_OK)
      snprintf(r->result->failure, sizeof r->result->failure, "%s: %s", runner_event_name(report.event), report.detail);
  }
  if (!status && !r->result->failure[0])
    *median = stats_median(ns, n);
  base_free(ns);
  return status;
}

static enum assay_status digest_outputs(struct replay *r, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  r->result->digests = base_calloc((size_t)r->n_out + 1, sizeof *r->result->digests);
  if (!r->result->digests)
    return error_nomem(err, "digests");
  r->result->n_digests = r->n_out;
  for (int i = 0; i < r->n_out && !status; i++) {
    void *bytes = base_alloc(r->out[i].bytes);
    status = bytes ? shared_read(&r->out[i], bytes, err) : error_nomem(err, "a plan's output");
    char hex[HASH_HEX_BYTES];
    if (!status) {
      hash_sha256_hex(bytes, r->out[i].bytes, hex);
      hex[16] = '\0';
      unsigned long long digest = 0;
      sscanf(hex, "%llx", &digest);
      r->result->digests[i] = digest;
    }
    base_free(bytes);
  }
  return status;
}

static enum assay_status measure(struct replay *r, int samples, struct assay_error *err) {
  struct runner_report report = {0};
  double null = 0;
  enum assay_status status = workbench_runner(r->bench, &r->runner, err);
  if (!status)
    status = device_runner_load(r->runner, r->plan, &(struct shared_buffers){r->n_in, r->n_out, r->in, r->out}, false,
                                &report, err);
  if (!status && report.event != RUNNER_OK)
    snprintf(r->result->failure, sizeof r->result->failure, "%s: %s", runner_event_name(report.event), report.detail);
  if (status || report.event != RUNNER_OK)
    return status;
  double ignored;
  if (r->plan->n_prepare > 0)
    status = sample(r, DEVICE_PREPARE, 1, &ignored, err);
  if (!status)
    status = sample(r, DEVICE_COLD, 3, &ignored, err);
  if (!status)
    status = sample(r, DEVICE_NULL, 15, &null, err);
  if (!status)
    status = sample(r, DEVICE_COLD, samples, &r->result->cold_ns, err);
  if (!status)
    status = sample(r, DEVICE_HOT, samples, &r->result->hot_ns, err);
  if (!status)
    status = sample(r, DEVICE_AS_CALLED, samples, &r->result->called_ns, err);
  r->result->cold_ns = fmax(0, r->result->cold_ns - null);
  r->result->hot_ns = fmax(0, r->result->hot_ns - null);
  r->result->samples = samples;
  return status ? status : r->result->failure[0] ? ASSAY_OK : digest_outputs(r, err);
}

enum assay_status replay_plan(const struct assay_judge_options *o, const struct plan *p, int samples, uint64_t seed,
                              struct replay_result *out, struct assay_error *err) {
  struct replay *r = base_calloc(1, sizeof *r);
  if (!r)
    return error_nomem(err, "a replay");
  *out = (struct replay_result){.cold_ns = NAN, .hot_ns = NAN, .called_ns = NAN};
  r->plan = p;
  r->seed = seed;
  r->result = out;
  enum assay_status status = assay_workbench_open(o, false, &r->bench, err);
  if (!status)
    status = workbench_wait(r->bench, err);
  if (!status) {
    snprintf(out->device, sizeof out->device, "%.100s, driver %.40s", workbench_facts(r->bench)->name,
             workbench_facts(r->bench)->driver);
    status = make_buffers(r, workbench_compute(r->bench), err);
  }
  for (int i = 0; i < r->n_in && !status; i++)
    status = draw_input(r, i, err);
  workbench_turn(r->bench, TURN_ALONE);
  if (!status && workbench_turn_missed(r->bench))
    status =
        error_set(err, ASSAY_ERR_ENVIRONMENT, "judges had the GPU for ten minutes, so nothing was timed; run it again");
  if (!status)
    status = measure(r, samples, err);
  for (int i = 0; i < r->n_in; i++)
    shared_release(&r->in[i]);
  for (int i = 0; i < r->n_out; i++)
    shared_release(&r->out[i]);
  assay_workbench_close(r->bench);
  base_free(r);
  return status;
}
