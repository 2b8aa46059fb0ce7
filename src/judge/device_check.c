// SPDX-License-Identifier: Apache-2.0
#include "judge/device_check.h"

#include <string.h>

#include "base/alloc.h"
#include "base/parallel.h"
#include "compare/device_compare.h"
#include "oracle/cuda/gpu.h"

// Below this many elements and operations for each CPU, the CPUs answer while the device would still be starting
// kernels. Also, timed calls are verified while the device already serves the next candidate.
enum { WORTH_ELEMENTS = 1 << 14 };
static const double WORTH_FLOPS = 2e6;

enum { REPLICAS = 8 }; // passes for the error scale; question_passes in question.c says why not fewer
// Enough passes to show that a timed call is right, but too few to show that it is wrong: by chance, all of them are
// small now and then.
enum { FIRST_REPLICAS = 4 };

// A borrowed scale comes from other data, so elements may err more than their neighbours did there. The factor is
// small: tf32 in place of fp32 errs dozens of times as much as the contract. (An element that errs far less than its
// neighbours is allowed the harmonic mean of their errors, which is at most KEPT_EACH times the least error of one
// draw. Where magnitudes change from draw to draw, an element that is tiny in this draw may be wrong by as much as it
// is tiny.)
static const double FACTOR = 4;
enum { MOST_UNSETTLED = 2 }; // first looks in vain, for data that differ too much from draw to draw

bool device_check_worth(const struct task *t, const struct layout *l) {
  int64_t elements = l->output_bytes / 4; // inputs and outputs, as in question.c
  struct task_cost cost;
  struct assay_error ignored = {0};
  for (int i = 0; i < l->n_in; i++)
    elements += tensor_type_count(&l->in[i]);
  int processors = parallel_cpus();
  if (elements >= WORTH_ELEMENTS * processors)
    return true;
  return task_cost(t, l->workload, &cost, &ignored) == ASSAY_OK &&
         cost.flops + cost.contraction_flops >= WORTH_FLOPS * processors;
}

// Again: the second look.
static enum assay_status compare_all(const struct device_check_request *r, const struct gpu_answer *a, bool again,
                                     struct assay_check *checks, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < r->question->layout->n_out && !status; i++) {
    struct compare_facts facts;
    struct tensor_type type = gpu_array_type(&a->y[i]);
    struct compare_device_input in = {.terms = question_terms(r->task, i, &type, r->poison),
                                      .got = r->out[i],
                                      .want = a->y[i].data,
                                      .sigma = a->sigma[i]};
    question_set_draws(r->task, r->question->layout, again, &in.terms);
    status = compare_on_device(r->compute, &in, &facts, err);
    if (!status)
      status = question_record(r->question, i, &facts, &type.shape, r->options, &checks[i], err);
  }
  return status;
}

// Makes one answer and compares with it; with QUESTION_MORE passes it is the second look. Failing to keep its scale
// only costs time later.
static enum assay_status check(const struct device_check_request *r, const struct gpu_array *inputs, int replicas,
                               struct assay_check *checks, struct assay_error *err) {
  const bool again = replicas == QUESTION_MORE;
  struct arith contract = question_arith(r->task, r->question->key, again);
  struct gpu_answer answer = {0};
  enum assay_status status =
      gpu_answer_make(r->compute, task_oracle_graph(r->task), inputs, &contract, replicas, &answer, err);
  if (status)
    return status;
  const bool skipped = !answer.representable && r->question->probe != PROBE_DECLARED;
  for (int i = 0; i < r->question->layout->n_out && skipped; i++)
    checks[i].skipped = true;
  if (!skipped)
    status = compare_all(r, &answer, again, checks, err);
  if (!status && r->question->scale == SCALE_KEEP)
    (void)gpu_scales_add(r->compute, &r->scales->kept, &answer, NULL);
  gpu_answer_release(r->compute, &answer);
  return status;
}

static bool all_pass(const struct assay_check *checks, int n) {
  for (int i = 0; i < n; i++)
    if (checks[i].reason != ASSAY_REASON_PASS)
      return false;
  return true;
}

static void forget(struct assay_check *checks, int n) {
  for (int i = 0; i < n; i++) {
    base_free(checks[i].description);
    checks[i] = (struct assay_check){0};
  }
}

// Whether the scales of other checks are enough to show that all is right. If not, the checks are emptied again.
static enum assay_status first_look(const struct device_check_request *r, const struct gpu_array *inputs,
                                    struct assay_check *checks, bool *settled, struct assay_error *err) {
  struct device_scales *scales = r->scales;
  struct arith contract = question_arith(r->task, r->question->key, false);
  struct gpu_answer answer = {0};
  int n = r->question->layout->n_out;
  *settled = false;
  struct gpu_loan loan = {.scales = &scales->kept, .factor = FACTOR};
  if (gpu_answer_borrow(r->compute, task_oracle_graph(r->task), inputs, &contract, &loan, &answer, NULL)) {
    scales->unsettled++;
    return ASSAY_OK; // if the error lasts, the whole answer that follows reports it
  }
  enum assay_status status = compare_all(r, &answer, false, checks, err);
  gpu_answer_release(r->compute, &answer);
  *settled = !status && all_pass(checks, n);
  if (!status && !*settled)
    forget(checks, n);
  for (int i = 0; i < n && !status; i++)
    checks[i].borrowed_scale = *settled;
  scales->unsettled += !*settled;
  return status;
}

enum assay_status device_check(const struct device_check_request *r, struct assay_check *checks,
                               struct assay_error *err) {
  const struct layout *l = r->question->layout;
  const bool borrow = r->question->scale == SCALE_BORROW;
  struct device_scales *scales = r->scales;
  bool settled = false;
  struct gpu_array *inputs = base_calloc((size_t)l->n_in + 1, sizeof *inputs);
  enum assay_status status = inputs ? ASSAY_OK : error_nomem(err, "a question's inputs");
  for (int i = 0; i < l->n_in && !status; i++) {
    inputs[i] = (struct gpu_array){.dtype = l->in[i].dtype, .shape = l->in[i].shape, .data = r->in[i]};
    status = gpu_storage_of(l->in[i].dtype, &inputs[i].storage, err);
  }
  if (!status && borrow && scales->kept.n_answers > 0 && scales->unsettled < MOST_UNSETTLED)
    status = first_look(r, inputs, checks, &settled, err);
  if (!status && !settled && ((borrow && !scales->uneven) || r->question->scale == SCALE_FEW)) {
    status = check(r, inputs, FIRST_REPLICAS, checks, err);
    settled = !status && all_pass(checks, l->n_out);
    scales->n_few += settled;
    scales->uneven = scales->uneven || (borrow && !status && !settled); // so it will be again
    if (!status && !settled)
      forget(checks, l->n_out);
  }
  if (!status && !settled)
    status = check(r, inputs, REPLICAS, checks, err);
  if (!status && !settled && question_drop_doubtful(r->options, checks, l->n_out))
    status = check(r, inputs, QUESTION_MORE, checks, err);
  base_free(inputs);
  return status;
}

void device_scales_release(struct compute *c, struct device_scales *s) {
  gpu_scales_release(c, &s->kept);
  s->unsettled = s->n_few = 0;
  s->uneven = false;
}
