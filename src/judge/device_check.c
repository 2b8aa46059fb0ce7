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

// One answer, and the comparison with it.
static enum assay_status check(struct compute *c, const struct task *t, const struct question *q,
                               const struct gpu_array *inputs, int replicas, const device_ptr *out, uint32_t poison,
                               const struct assay_judge_options *o, struct assay_check *checks,
                               struct assay_error *err) {
  struct arith contract = t->contract.arith;
  struct gpu_answer answer = {0};
  contract.key = rng_derive(q->key, ORACLE_NOISE);
  enum assay_status status = gpu_answer_make(c, &t->model.flat, inputs, &contract, replicas, &answer, err);
  if (status)
    return status;
  status = compare_all(c, t, q, &answer, out, poison, o, checks, err);
  gpu_answer_release(c, &answer);
  return status;
}

enum assay_status device_check(struct compute *c, const struct task *t, const struct question *q, const device_ptr *in,
                               const device_ptr *out, uint32_t poison, const struct assay_judge_options *o,
                               struct assay_check *checks, struct assay_error *err) {
  const struct layout *l = q->layout;
  struct gpu_array *inputs = base_calloc((size_t)l->n_in + 1, sizeof *inputs);
  enum assay_status status = inputs ? ASSAY_OK : error_nomem(err, "a question's inputs");
  for (int i = 0; i < l->n_in && !status; i++) {
    inputs[i] = (struct gpu_array){.dtype = l->in[i].dtype, .shape = l->in[i].shape, .data = in[i]};
    status = gpu_storage_of(l->in[i].dtype, &inputs[i].storage, err);
  }
  if (!status)
    status = check(c, t, q, inputs, REPLICAS, out, poison, o, checks, err);
  if (!status && question_drop_doubtful(o, checks, l->n_out))
    status = check(c, t, q, inputs, QUESTION_MORE, out, poison, o, checks, err);
  base_free(inputs);
  return status;
}
