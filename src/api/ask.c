// SPDX-License-Identifier: Apache-2.0
// The oracle's answers of a session.
#include <string.h>

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

static enum assay_status draw(struct assay_answered *a, const struct assay_request *r, int threads,
                              struct assay_error *err) {
  struct arena arena = {0};
  struct workload w;
  a->seed = r->seed;
  enum assay_status status = a->seed ? ASSAY_OK : rng_entropy(&a->seed, err);
  if (!status)
    status = task_parse_workload(&a->task, r->workload ? r->workload : "small", &arena, &w, err);
  if (!status)
    status = task_draw_inputs(&a->task, &w, PROBE_DECLARED, a->seed, threads, a->arrays, err);
  arena_release(&arena);
  return status;
}

// A copy of what the caller gave as input i. Values are not rounded to the input's type.
static enum assay_status take_input(const struct task *t, int i, const struct assay_given *given, struct array *out,
                                    struct assay_error *err) {
  const struct value *v = &t->model.flat.values[t->model.flat.inputs[i]];
  struct shape shape = {.rank = given->rank};
  bool is_float = dtype_is_float(v->dtype);
  const void *data = is_float ? (const void *)given->f64 : (const void *)given->i64;
  if (!data || (given->f64 && given->i64))
    return error_set(err, ASSAY_ERR_INVALID, "input %d (%s) is %s: give its elements as %s, and nothing else", i,
                     v->name, dtype_name(v->dtype), is_float ? "f64" : "i64");
  if (given->rank < 0 || given->rank > SHAPE_MAX_RANK || (given->rank > 0 && !given->dims))
    return error_set(err, ASSAY_ERR_INVALID, "input %d (%s) has %d dimensions; tensors have 0 to %d, in dims", i,
                     v->name, given->rank, SHAPE_MAX_RANK);
  for (int k = 0; k < given->rank; k++)
    shape.dims[k] = given->dims[k];
  enum assay_status status = array_create(v->dtype, &shape, out, err);
  if (!status)
    memcpy(out->bits, data, (size_t)shape_count(&shape) * sizeof *out->bits);
  return status;
}

// Inputs of the caller, which bring their sizes with them.
static enum assay_status take_inputs(struct assay_answered *a, const struct assay_given *given, int n,
                                     struct assay_error *err) {
  struct arena arena = {0};
  struct graph_shapes shapes;
  enum assay_status status = ASSAY_OK;
  if (n != a->task.n_inputs)
    return error_set(err, ASSAY_ERR_INVALID, "%s has %d inputs, and %d were given", a->task.name, a->task.n_inputs, n);
  const char *at = (const char *)given;
  for (int i = 0; i < n && !status; i++, at += given->size) {
    struct assay_given one;
    status = api_take(&one, sizeof one, at, "assay_given", err);
    if (!status && ((const struct assay_given *)at)->size != given->size)
      status = error_set(err, ASSAY_ERR_USAGE, "all inputs have the same size: {.size = sizeof(struct assay_given)}");
    if (!status)
      status = take_input(&a->task, i, &one, &a->arrays[i], err);
  }
  if (!status) // errors of shapes name inputs and dimensions
    status = oracle_infer(&a->task.model.flat, a->arrays, &arena, &shapes, err);
  arena_release(&arena);
  return status;
}

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

// given: NULL to draw.
struct question {
  const struct assay_request *request;
  const struct assay_given *given;
  int n_given;
};

static enum assay_status answer(struct assay_answered *a, const struct question *q, struct assay_error *err) {
  int threads = q->request->threads > 0 ? q->request->threads : parallel_cpus();
  size_t n = (size_t)a->task.n_inputs + (size_t)a->task.n_outputs;
  a->arrays = base_calloc(n, sizeof *a->arrays);
  a->shown = base_calloc(n, sizeof *a->shown);
  enum assay_status status = a->arrays && a->shown ? ASSAY_OK : error_nomem(err, "an answer");
  if (!status)
    status = q->given ? take_inputs(a, q->given, q->n_given, err) : draw(a, q->request, threads, err);
  struct oracle_request o = {.graph = &a->task.model.flat,
                             .inputs = a->arrays,
                             .arith = arith_truth(&a->task.contract.arith),
                             .threads = threads};
  if (!status)
    status = oracle_eval(&o, a->arrays + a->task.n_inputs, err);
  if (!status)
    show(a);
  return status;
}

static enum assay_status ask_plainly(struct assay_session *s, struct question *q, struct assay_answered **out,
                                     struct assay_error *err) {
  struct api_asked asked;
  enum assay_status status = api_ask(s, q->request, false, &asked, err);
  if (status)
    return status;
  q->request = &asked.request;
  struct assay_answered *a = base_calloc(1, sizeof *a);
  if (!a)
    status = error_nomem(err, "an answer");
  else if (q->given && (asked.request.workload || asked.request.seed))
    status = error_set(err, ASSAY_ERR_USAGE,
                       "given inputs have their sizes and values: workload and seed are for drawn ones");
  else
    status = task_read(asked.task_path, false, &a->task, err);
  if (status) {
    base_free(a);
  } else {
    status = answer(a, q, err);
    if (status)
      assay_answered_free(a);
    else
      *out = a;
  }
  base_free(asked.task_path);
  return status;
}

static enum assay_status ask(struct assay_session *s, struct question *q, struct assay_answered **out,
                             struct assay_error *err) {
  locale_t hosts = uselocale(s->plain);
  enum assay_status status = ask_plainly(s, q, out, err);
  uselocale(hosts);
  return status;
}

enum assay_status assay_session_ask(struct assay_session *s, const struct assay_request *r, struct assay_answered **out,
                                    struct assay_error *err) {
  struct question q = {.request = r};
  return ask(s, &q, out, err);
}

enum assay_status assay_session_answer(struct assay_session *s, const struct assay_request *r,
                                       const struct assay_given *inputs, int n_inputs, struct assay_answered **out,
                                       struct assay_error *err) {
  if (!inputs)
    return error_set(err, ASSAY_ERR_USAGE, "give the inputs; assay_session_ask draws them");
  struct question q = {.request = r, .given = inputs, .n_given = n_inputs};
  return ask(s, &q, out, err);
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
