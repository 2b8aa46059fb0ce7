// SPDX-License-Identifier: Apache-2.0
// What the judge would say of wrong graphs: bench_mutants TASK_FILE MUTANT_FILE...
//
// A mutant is the task's file with its graph changed: another epsilon, a value rounded to bfloat16 on its way. It is
// computed in double, its outputs are rounded to their types, and they are held against the task's answers to the
// questions that an exam asks: the small workload twice, every ragged shape, every probe at the largest of them. One
// JSON line a mutant: whether any question fails, the largest error over what is allowed and where. What passes is
// either equivalent or a gap in the exam. bench/mutants.py makes mutants of all tasks.
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parallel.h"
#include "judge/question.h"

enum { REPLICAS = 8, QUESTIONS = 64 };

struct asked {
  struct question q;
  struct array *inputs;
};

struct exam {
  struct task task;
  struct layout layouts[QUESTIONS];
  struct asked asked[QUESTIONS];
  int n_layouts, n;
};

struct finding {
  double ratio; // of the largest error to what is allowed
  bool caught;
  const struct question *at;
};

static enum assay_status draw(const struct exam *e, struct asked *a, struct assay_error *err) {
  const struct layout *l = a->q.layout;
  a->inputs = base_calloc((size_t)l->n_in + 1, sizeof *a->inputs);
  void **bytes = base_calloc((size_t)l->n_in + 1, sizeof *bytes);
  enum assay_status status = a->inputs && bytes ? ASSAY_OK : error_nomem(err, "inputs");
  for (int i = 0; i < l->n_in && !status; i++)
    if (!(bytes[i] = base_alloc((size_t)shape_count(&l->in[i].shape) * dtype_bytes(l->in[i].dtype) + 1)))
      status = error_nomem(err, "inputs");
  if (!status)
    status = task_make_inputs(&e->task, l->workload, a->q.probe, a->q.key, parallel_cpus(), bytes, err);
  for (int i = 0; i < l->n_in && !status; i++) {
    struct tensor view = {.type = l->in[i], .data = bytes[i]};
    status = array_from_tensor(&view, &a->inputs[i], err);
  }
  for (int i = 0; i < l->n_in && bytes; i++)
    base_free(bytes[i]);
  base_free(bytes);
  return status;
}

static enum assay_status ask(struct exam *e, int layout, enum probe probe, struct assay_error *err) {
  struct asked *a = &e->asked[e->n];
  uint64_t key = rng_derive(17, (uint64_t)e->n);
  a->q = (struct question){.layout = &e->layouts[layout], .probe = probe, .key = key};
  enum assay_status status = question_answer(&e->task, &a->q, REPLICAS, parallel_cpus(), err);
  if (status)
    return status;
  e->n++;
  if (!a->q.answer.representable && probe != PROBE_DECLARED) {
    question_release(&a->q);
    e->n--; // no question: a straightforward implementation does not survive it
    return ASSAY_OK;
  }
  return draw(e, a, err);
}

static enum assay_status exam_make(struct exam *e, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  int64_t most = -1;
  int largest = 0;
  for (int i = 0; i < e->task.n_workloads && e->n_layouts < QUESTIONS && !status; i++) {
    if (i == 1) // full
      continue;
    struct layout *l = &e->layouts[e->n_layouts++];
    status = layout_make(&e->task, &e->task.workloads[i], l, err);
    int64_t size = l->output_bytes;
    for (int k = 0; k < l->n_in && !status; k++)
      size += shape_count(&l->in[k].shape) * 4;
    if (i > 1 && size > most) {
      most = size;
      largest = e->n_layouts - 1;
    }
  }
  if (!status)
    status = ask(e, 0, PROBE_DECLARED, err);
  for (int i = 0; i < e->n_layouts && !status && e->n < QUESTIONS; i++)
    status = ask(e, i, PROBE_DECLARED, err);
  for (int p = PROBE_DECLARED + 1; p < PROBE_COUNT && !status && e->n < QUESTIONS; p++)
    if (e->task.probes >> p & 1)
      status = ask(e, largest, (enum probe)p, err);
  return status;
}

static void exam_release(struct exam *e) {
  for (int i = 0; i < e->n; i++) {
    for (int k = 0; k < e->asked[i].q.layout->n_in && e->asked[i].inputs; k++)
      array_release(&e->asked[i].inputs[k]);
    base_free(e->asked[i].inputs);
    question_release(&e->asked[i].q);
  }
  for (int i = 0; i < e->n_layouts; i++)
    layout_release(&e->layouts[i]);
  task_release(&e->task);
}

static enum assay_status compare_one(const struct exam *e, const struct asked *a, int output, const struct array *got,
                                     struct finding *f, struct assay_error *err) {
  const struct array *want = &a->q.answer.y[output];
  int64_t n = shape_count(&want->shape);
  bool floating = dtype_is_float(want->dtype);
  if (got->dtype != want->dtype || !shape_equal(&got->shape, &want->shape))
    return error_set(err, ASSAY_ERR_INVALID, "the mutant's output has another shape or type");
  void *bytes = base_alloc((size_t)n * dtype_bytes(want->dtype) + 1);
  if (!bytes)
    return error_nomem(err, "a mutant's output");
  if (floating)
    dtype_from_f64(want->dtype, got->f64, n, bytes);
  else
    dtype_from_i64(want->dtype, got->i64, n, bytes);
  struct tensor_type type = array_type(want);
  struct compare_input in = question_terms(&e->task, output, &type, POISON_NAN);
  struct compare_facts facts;
  in.got = bytes;
  in.want = floating ? want->f64 : NULL;
  in.want_int = floating ? NULL : want->i64;
  in.sigma = a->q.answer.sigma[output];
  in.threads = parallel_cpus();
  enum assay_status status = compare_outputs(&in, &facts, err);
  base_free(bytes);
  if (status)
    return status;
  bool caught = compare_verdict(&facts, COMPARE_CONTRACT) != COMPARE_PASS;
  double ratio = facts.n_nan_mismatch + facts.n_inf_mismatch ? INFINITY : facts.z_max / facts.z_limit;
  if (!f->at || (caught && !f->caught) || (caught == f->caught && ratio > f->ratio)) {
    f->ratio = ratio;
    f->at = &a->q;
  }
  f->caught = f->caught || caught;
  return ASSAY_OK;
}

static enum assay_status examine(const struct exam *e, const struct task *mutant, struct finding *f,
                                 struct assay_error *err) {
  struct array *out = base_calloc((size_t)e->task.n_outputs + 1, sizeof *out);
  enum assay_status status = out ? ASSAY_OK : error_nomem(err, "a mutant's outputs");
  if (mutant->n_inputs != e->task.n_inputs || mutant->n_outputs != e->task.n_outputs)
    status = error_set(err, ASSAY_ERR_INVALID, "the mutant has other inputs or outputs than the task");
  for (int i = 0; i < e->n && !status; i++) {
    struct oracle_request r = {.graph = &mutant->model.flat,
                               .inputs = e->asked[i].inputs,
                               .arith = arith_truth(&e->task.contract.arith),
                               .threads = parallel_cpus()};
    status = oracle_eval(&r, out, err);
    for (int o = 0; o < e->task.n_outputs && !status; o++)
      status = compare_one(e, &e->asked[i], o, &out[o], f, err);
    for (int o = 0; o < e->task.n_outputs; o++)
      array_release(&out[o]);
    memset(out, 0, (size_t)e->task.n_outputs * sizeof *out);
  }
  base_free(out);
  return status;
}

int main(int argc, char **argv) {
  struct assay_error err = {0};
  struct exam *e = base_calloc(1, sizeof *e);
  if (argc < 3 || !e) {
    fprintf(stderr, "usage: bench_mutants TASK_FILE MUTANT_FILE...\n");
    return 2;
  }
  if (task_read(argv[1], false, &e->task, &err) || exam_make(e, &err)) {
    fprintf(stderr, "bench_mutants: %s\n", err.message);
    return 1;
  }
  int failed = 0;
  for (int i = 2; i < argc; i++) {
    struct task mutant;
    struct finding f = {0};
    enum assay_status status = task_read(argv[i], false, &mutant, &err);
    if (!status) {
      status = examine(e, &mutant, &f, &err);
      task_release(&mutant);
    }
    if (status) {
      fprintf(stderr, "bench_mutants: %s: %s\n", argv[i], err.message);
      failed = 1;
      continue;
    }
    printf("{\"mutant\": \"%s\", \"caught\": %s, \"error\": %.4g, \"probe\": \"%s\", \"workload\": \"%s\"}\n", argv[i],
           f.caught ? "true" : "false", fmin(f.ratio, 1e300), probe_name(f.at->probe), f.at->layout->workload->name);
  }
  exam_release(e);
  base_free(e);
  return failed;
}
