#include "judge/device_check.h"

#include <string.h>

#include "base/alloc.h"
#include "base/parallel.h"
#include "compare/device_compare.h"
#include "oracle/cuda/gpu.h"

// Below this many elements and operations for each of the processors they answer while the device would still be
// starting kernels; and timed calls are answered behind the candidate, while the device is the next one's.
enum { WORTH_ELEMENTS = 1 << 14 };
static const double WORTH_FLOPS = 2e6;

enum { REPLICAS = 8 }; // passes for the error scale; not fewer: see replicas_for in question.c
// Enough to see that a timed call is right, and not enough to say that it is wrong: all are small by chance now and then.
enum { FIRST_REPLICAS = 4 };

// A borrowed scale is that of other data: elements may err more than their neighbours did there. Not much: tf32 for
// fp32 errs dozens of times as much as the contract. (An element that errs far less than its neighbours is allowed
// what they err on harmonic average, which is at most KEPT_EACH times what the least of them errs in one draw. Where
// sizes change from draw to draw, what is tiny in this one may be anything as small.)
static const double FACTOR = 4;
enum { MOST_UNSETTLED = 2 }; // first looks in vain, for data that differ too much from draw to draw

bool device_check_worth(const struct task *t, const struct layout *l) {
  int64_t elements = l->output_bytes / 4;
  struct task_cost cost;
  struct assay_error ignored = {0};
  for (int i = 0; i < l->n_in; i++)
    elements += shape_count(&l->in[i].shape);
  int processors = parallel_cpus();
  if (elements >= WORTH_ELEMENTS * processors)
    return true;
  return task_cost(t, l->workload, &cost, &ignored) == ASSAY_OK &&
         cost.flops + cost.contraction_flops >= WORTH_FLOPS * processors;
}

static enum assay_status compare_all(struct compute *c, const struct task *t, const struct question *q,
                                     const struct gpu_answer *a, const device_ptr *out, uint32_t poison,
                                     const struct assay_judge_options *o, struct assay_check *checks,
                                     struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < q->layout->n_out && !status; i++) {
    struct compare_facts facts;
    struct compare_input terms = question_terms(t, i, a->y[i].dtype, &a->y[i].shape, poison);
    struct compare_device_input in = {.dtype = terms.dtype,
                                      .shape = terms.shape,
                                      .got = out[i],
                                      .want = a->y[i].data,
                                      .sigma = a->sigma[i],
                                      .u_out = terms.u_out,
                                      .eta_out = terms.eta_out,
                                      .poison = poison,
                                      .has_poison = true,
                                      .rtol = terms.rtol,
                                      .atol = terms.atol,
                                      .loose = terms.loose};
    status = compare_on_device(c, &in, &facts, err);
    if (!status)
      status = question_record(q, i, &facts, &in.shape, o, &checks[i], err);
  }
  return status;
}

static struct arith noise_of(const struct task *t, const struct question *q) {
  struct arith contract = t->contract.arith;
  contract.key = rng_derive(q->key, ORACLE_NOISE);
  return contract;
}

// One answer, and the comparison with it. A failure to keep its scale costs time later, and nothing else.
static enum assay_status check(struct compute *c, const struct task *t, const struct question *q,
                               const struct gpu_array *inputs, int replicas, const device_ptr *out, uint32_t poison,
                               const struct assay_judge_options *o, struct gpu_scales *kept, struct assay_check *checks,
                               struct assay_error *err) {
  struct arith contract = noise_of(t, q);
  struct gpu_answer answer = {0};
  enum assay_status status = gpu_answer_make(c, &t->model.flat, inputs, &contract, replicas, &answer, err);
  if (status)
    return status;
  status = compare_all(c, t, q, &answer, out, poison, o, checks, err);
  if (!status && q->scale == SCALE_KEEP)
    (void)gpu_scales_add(c, kept, &answer, NULL);
  gpu_answer_release(c, &answer);
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

// Whether scales of other checks are enough to see that all is right; where not, the checks are empty again.
static enum assay_status first_look(struct compute *c, const struct task *t, const struct question *q,
                                    const struct gpu_array *inputs, const device_ptr *out, uint32_t poison,
                                    const struct assay_judge_options *o, struct device_scales *scales,
                                    struct assay_check *checks, bool *settled, struct assay_error *err) {
  struct arith contract = noise_of(t, q);
  struct gpu_answer answer = {0};
  int n = q->layout->n_out;
  *settled = false;
  if (gpu_answer_borrow(c, &t->model.flat, inputs, &contract, &scales->kept, FACTOR, &answer, NULL)) {
    scales->unsettled++;
    return ASSAY_OK; // whatever it is, the whole answer will say it
  }
  enum assay_status status = compare_all(c, t, q, &answer, out, poison, o, checks, err);
  gpu_answer_release(c, &answer);
  *settled = !status && all_pass(checks, n);
  if (!status && !*settled)
    forget(checks, n);
  for (int i = 0; i < n && !status; i++)
    checks[i].borrowed_scale = *settled;
  scales->unsettled += !*settled;
  return status;
}

enum assay_status device_check(struct compute *c, const struct task *t, const struct question *q, const device_ptr *in,
                               const device_ptr *out, uint32_t poison, const struct assay_judge_options *o,
                               struct device_scales *scales, struct assay_check *checks, struct assay_error *err) {
  const struct layout *l = q->layout;
  bool settled = false;
  struct gpu_array *inputs = base_calloc((size_t)l->n_in + 1, sizeof *inputs);
  enum assay_status status = inputs ? ASSAY_OK : error_nomem(err, "a question's inputs");
  for (int i = 0; i < l->n_in && !status; i++) {
    inputs[i] = (struct gpu_array){.dtype = l->in[i].dtype, .shape = l->in[i].shape, .data = in[i]};
    status = gpu_storage_of(l->in[i].dtype, &inputs[i].storage, err);
  }
  if (!status && q->scale == SCALE_BORROW && scales->kept.n_answers > 0 && scales->unsettled < MOST_UNSETTLED)
    status = first_look(c, t, q, inputs, out, poison, o, scales, checks, &settled, err);
  if (!status && !settled && q->scale == SCALE_BORROW && !scales->uneven) {
    status = check(c, t, q, inputs, FIRST_REPLICAS, out, poison, o, &scales->kept, checks, err);
    settled = !status && all_pass(checks, l->n_out);
    scales->n_few += settled;
    scales->uneven = !status && !settled; // so it will be again
    if (!status && !settled)
      forget(checks, l->n_out);
  }
  if (!status && !settled)
    status = check(c, t, q, inputs, REPLICAS, out, poison, o, &scales->kept, checks, err);
  if (!status && !settled && question_drop_doubtful(o, checks, l->n_out))
    status = check(c, t, q, inputs, QUESTION_MORE, out, poison, o, &scales->kept, checks, err);
  base_free(inputs);
  return status;
}

void device_scales_release(struct compute *c, struct device_scales *s) {
  gpu_scales_release(c, &s->kept);
  s->unsettled = s->n_few = 0;
  s->uneven = false;
}
