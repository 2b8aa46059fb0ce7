// The oracle's answers of a session.
#include "base/alloc.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "api/session.h"
#include "oracle/oracle.h"
#include "task/task.h"

struct assay_answered {
  struct task task;
  uint64_t seed;
  struct array *arrays;      // inputs, then outputs
  struct assay_array *shown; // the same, for the caller
};

static void show(struct assay_answered *a) {
  const struct graph *g = &a->task.model.flat;
  for (int i = 0; i < a->task.n_inputs + a->task.n_outputs; i++) {
    const struct array *from = &a->arrays[i];
    bool is_float = dtype_is_float(from->dtype), in = i < a->task.n_inputs;
    a->shown[i] = (struct assay_array){.name = g->values[in ? g->inputs[i] : g->outputs[i - a->task.n_inputs]].name,
                                       .dtype = dtype_name(from->dtype),
                                       .rank = from->shape.rank,
                                       .dims = from->shape.dims,
                                       .count = shape_count(&from->shape),
                                       .f64 = is_float ? from->f64 : NULL,
                                       .i64 = is_float ? NULL : from->i64};
  }
}

static enum assay_status answer(struct assay_answered *a, const struct assay_request *r, struct assay_error *err) {
  struct arena arena = {0};
  struct workload w;
  int threads = r->threads > 0 ? r->threads : parallel_cpus();
  size_t n = (size_t)a->task.n_inputs + (size_t)a->task.n_outputs;
  a->arrays = base_calloc(n, sizeof *a->arrays);
  a->shown = base_calloc(n, sizeof *a->shown);
  a->seed = r->seed;
  enum assay_status status = a->arrays && a->shown ? ASSAY_OK : error_nomem(err, "an answer");
  if (!status && !a->seed)
    status = rng_entropy(&a->seed, err);
  if (!status)
    status = task_parse_workload(&a->task, r->workload ? r->workload : "small", &arena, &w, err);
  if (!status)
    status = task_draw_inputs(&a->task, &w, PROBE_DECLARED, a->seed, threads, a->arrays, err);
  struct oracle_request o = {.graph = &a->task.model.flat,
                             .inputs = a->arrays,
                             .arith = arith_truth(&a->task.contract.arith),
                             .threads = threads};
  if (!status)
    status = oracle_eval(&o, a->arrays + a->task.n_inputs, err);
  if (!status)
    show(a);
  arena_release(&arena);
  return status;
}

enum assay_status assay_session_ask(struct assay_session *s, const struct assay_request *r, struct assay_answered **out,
                                    struct assay_error *err) {
  struct api_asked asked;
  enum assay_status status = api_ask(s, r, false, &asked, err);
  if (status)
    return status;
  struct assay_answered *a = base_calloc(1, sizeof *a);
  status = a ? task_read(asked.task_path, false, &a->task, err) : error_nomem(err, "an answer");
  if (!status) {
    status = answer(a, &asked.request, err);
    if (status)
      assay_answered_free(a);
    else
      *out = a;
  } else {
    base_free(a);
  }
  base_free(asked.task_path);
  return status;
}

int assay_answered_inputs(const struct assay_answered *a) {
  return a->task.n_inputs;
}

int assay_answered_outputs(const struct assay_answered *a) {
  return a->task.n_outputs;
}

const struct assay_array *assay_answered_input(const struct assay_answered *a, int i) {
  return i >= 0 && i < a->task.n_inputs ? &a->shown[i] : NULL;
}

const struct assay_array *assay_answered_output(const struct assay_answered *a, int i) {
  return i >= 0 && i < a->task.n_outputs ? &a->shown[a->task.n_inputs + i] : NULL;
}

uint64_t assay_answered_seed(const struct assay_answered *a) {
  return a->seed;
}

void assay_answered_free(struct assay_answered *a) {
  if (!a)
    return;
  for (int i = 0; a->arrays && i < a->task.n_inputs + a->task.n_outputs; i++)
    array_release(&a->arrays[i]);
  base_free(a->arrays);
  base_free(a->shown);
  task_release(&a->task);
  base_free(a);
}
