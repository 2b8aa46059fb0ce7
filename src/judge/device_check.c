// SPDX-License-Identifier: Apache-2.0
#include "judge/device_check.h"

#include <string.h>

#include "base/alloc.h"
#include "base/parallel.h"
#include "compare/device_compare.h"
#include "judge/device_judged.h"

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
  if (!device_judged_can(t, l))
    return false;
  for (int i = 0; i < l->n_in; i++)
    elements += tensor_type_count(&l->in[i]);
  int processors = parallel_cpus();
  if (elements >= WORTH_ELEMENTS * processors)
    return true;
  return task_cost(t, l->workload, &cost, &ignored) == ASSAY_OK &&
         cost.flops + cost.contraction_flops >= WORTH_FLOPS * processors;
}

// What looks at one call's outputs share.
struct looks {
  const struct device_check_request *r;
  struct gpu_array *inputs;
  struct device_judged judged;
};

// Again: the second look.
static enum assay_status compare_one(const struct looks *l, const struct gpu_answer *a, int i, bool again,
                                     struct assay_check *check, struct assay_error *err) {
  const struct device_check_request *r = l->r;
  struct compare_facts facts;
  struct tensor_type type = gpu_array_type(&a->y[i]);
  struct compare_device_input in = {
      .terms = question_terms(r->task, i, &type, r->poison), .want = a->y[i].data, .sigma = a->sigma[i]};
  device_ptr own = 0;
  question_set_draws(r->task, r->question->layout, again, &in.terms);
  in.terms.has_poison = !l->judged.checked;
  enum assay_status status = device_judged_value(r->compute, &l->judged, i, &a->y[i], &in.got, &own, err);
  if (!status)
    status = compare_on_device(r->compute, &in, &facts, err);
  if (!status && l->judged.unwritten > 0 && compare_verdict(&facts, COMPARE_CONTRACT) != COMPARE_PASS)
    facts.n_poisoned = l->judged.unwritten;
  if (!status)
    status = question_record(r->question, i, &facts, &type.shape, r->options, check, err);
  if (!status && l->judged.checked)
    status = question_name_judged(r->task, i, check, err);
  compute_free(r->compute, own);
  return status;
}

static enum assay_status compare_all(const struct looks *l, const struct gpu_answer *a, bool again,
                                     struct assay_check *checks, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < l->r->question->layout->n_judged && !status; i++)
    status = compare_one(l, a, i, again, &checks[i], err);
  return status;
}

// Makes one answer and compares with it; with QUESTION_MORE passes it is the second look. Failing to keep its scale
// only costs time later.
static enum assay_status check(const struct looks *l, int replicas, struct assay_check *checks,
                               struct assay_error *err) {
  const struct device_check_request *r = l->r;
  const bool again = replicas == QUESTION_MORE;
  struct arith contract = question_arith(r->task, r->question->key, again);
  struct gpu_answer answer = {0};
  enum assay_status status =
      gpu_answer_make(r->compute, task_oracle_graph(r->task), l->inputs, &contract, replicas, &answer, err);
  if (status)
    return status;
  const bool skipped = !answer.representable && r->question->probe != PROBE_DECLARED;
  for (int i = 0; i < r->question->layout->n_judged && skipped; i++)
    checks[i].skipped = true;
  if (!skipped)
    status = compare_all(l, &answer, again, checks, err);
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
static enum assay_status first_look(const struct looks *l, struct assay_check *checks, bool *settled,
                                    struct assay_error *err) {
  const struct device_check_request *r = l->r;
  struct device_scales *scales = r->scales;
  struct arith contract = question_arith(r->task, r->question->key, false);
  struct gpu_answer answer = {0};
  int n = r->question->layout->n_judged;
  *settled = false;
  struct gpu_loan loan = {.scales = &scales->kept, .factor = FACTOR};
  if (gpu_answer_borrow(r->compute, task_oracle_graph(r->task), l->inputs, &contract, &loan, &answer, NULL)) {
    scales->unsettled++;
    return ASSAY_OK; // if the error lasts, the whole answer that follows reports it
  }
  enum assay_status status = compare_all(l, &answer, false, checks, err);
  gpu_answer_release(r->compute, &answer);
  *settled = !status && all_pass(checks, n);
  if (!status && !*settled)
    forget(checks, n);
  for (int i = 0; i < n && !status; i++)
    checks[i].borrowed_scale = *settled;
  scales->unsettled += !*settled;
  return status;
}

// One look after the other, until one settles it.
static enum assay_status look(const struct looks *looks, struct assay_check *checks, struct assay_error *err) {
  const struct device_check_request *r = looks->r;
  const int n = r->question->layout->n_judged;
  const bool borrow = r->question->scale == SCALE_BORROW;
  struct device_scales *scales = r->scales;
  bool settled = false;
  enum assay_status status = ASSAY_OK;
  if (borrow && scales->kept.n_answers > 0 && scales->unsettled < MOST_UNSETTLED)
    status = first_look(looks, checks, &settled, err);
  if (!status && !settled && ((borrow && !scales->uneven) || r->question->scale == SCALE_FEW)) {
    status = check(looks, FIRST_REPLICAS, checks, err);
    settled = !status && all_pass(checks, n);
    scales->n_few += settled;
    scales->uneven = scales->uneven || (borrow && !status && !settled); // so it will be again
    if (!status && !settled)
      forget(checks, n);
  }
  if (!status && !settled)
    status = check(looks, REPLICAS, checks, err);
  if (!status && !settled && question_drop_doubtful(r->options, checks, n))
    status = check(looks, QUESTION_MORE, checks, err);
  return status;
}

enum assay_status device_check(const struct device_check_request *r, struct assay_check *checks,
                               struct assay_error *err) {
  const struct layout *l = r->question->layout;
  struct looks looks = {.r = r, .inputs = base_calloc((size_t)l->n_in + 1, sizeof *looks.inputs)};
  enum assay_status status = looks.inputs ? ASSAY_OK : error_nomem(err, "a question's inputs");
  for (int i = 0; i < l->n_in && !status; i++) {
    looks.inputs[i] = (struct gpu_array){.dtype = l->in[i].dtype, .shape = l->in[i].shape, .data = r->in[i]};
    status = gpu_storage_of(l->in[i].dtype, &looks.inputs[i].storage, err);
  }
  if (!status && r->question->rows)
    status = device_judged_hash(r->compute, l, r->out, r->question->rows, err);
  if (!status)
    status = device_judged_make(r, looks.inputs, &looks.judged, err);
  if (!status)
    status = look(&looks, checks, err);
  device_judged_release(r->compute, &looks.judged);
  base_free(looks.inputs);
  return status;
}

void device_scales_release(struct compute *c, struct device_scales *s) {
  gpu_scales_release(c, &s->kept);
  s->unsettled = s->n_few = 0;
  s->uneven = false;
}
