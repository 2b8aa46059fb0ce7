// SPDX-License-Identifier: Apache-2.0
// What a workload makes of a task: shapes, cost, and the inputs themselves.
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "oracle/oracle.h"
#include "task/metadata.h"
#include "task/drawing.h"
#include "task/given.h"
#include "task/task.h"

static const struct value *input_value(const struct task *t, int i) {
  return &t->model.flat.values[t->model.flat.inputs[i]];
}

enum assay_status task_input_shapes(const struct task *t, const struct workload *w, struct array *inputs,
                                    struct assay_error *err) {
  enum assay_status status = metadata_check_workload(t, w, err);
  if (status)
    return error_prefix(err, status, "%s, workload %s: ", t->name, w->name);
  for (int i = 0; i < t->n_inputs; i++) {
    const struct value *v = input_value(t, i);
    inputs[i] = (struct array){.dtype = v->dtype, .shape.rank = v->rank};
    for (int k = 0; k < v->rank; k++)
      inputs[i].shape.dims[k] = v->dims[k].symbol ? workload_value(w, v->dims[k].symbol) : v->dims[k].value;
  }
  return ASSAY_OK;
}

static void add_tensor(const struct array *a, double *bytes, struct task_cost *cost) {
  int64_t n = shape_count(&a->shape);
  *bytes += (double)n * (double)dtype_bytes(a->dtype);
  cost->largest_elements = n > cost->largest_elements ? n : cost->largest_elements;
}

enum assay_status task_cost(const struct task *t, const struct workload *w, struct task_cost *out,
                            struct assay_error *err) {
  const struct graph *g = &t->model.flat;
  struct task_cost cost = {0};
  struct graph_shapes shapes;
  struct arena arena = {0};
  struct array *inputs = arena_calloc(&arena, (size_t)t->n_inputs + 1, sizeof *inputs);
  enum assay_status status = inputs ? task_input_shapes(t, w, inputs, err) : error_nomem(err, "a task's cost");
  if (!status)
    status = oracle_infer(g, inputs, &arena, &shapes, err);
  if (status) {
    status = error_prefix(err, status, "%s: ", t->path);
    goto out;
  }
  for (int i = 0; i < t->n_inputs; i++) {
    add_tensor(&inputs[i], &cost.input_bytes, &cost);
    if (t->inputs[i].distribution.is_static)
      add_tensor(&inputs[i], &cost.weight_bytes, &cost);
  }
  for (int i = 0; i < t->n_outputs; i++)
    add_tensor(&shapes.values[g->outputs[i]], &cost.output_bytes, &cost);
  cost.least_input_bytes = (cost.input_bytes - cost.weight_bytes) * t->input_part + cost.weight_bytes * t->weight_part;
  cost.flops = shapes.cost.flops;
  cost.contraction_flops = shapes.cost.contraction_flops;
  cost.least_contraction_flops = cost.contraction_flops * t->contraction_part;
  *out = cost;
out:
  arena_release(&arena);
  return status;
}

static bool resolve(const struct workload *w, const char *symbol, bool root, double *number) {
  const int64_t value = symbol ? workload_value(w, symbol) : 0;
  if (symbol && value >= 0)
    *number = root ? *number / sqrt((double)value) : (double)value;
  return value >= 0;
}

const char *task_distribution_numbers(const struct distribution *d, const struct workload *w, double *a, double *b) {
  *a = d->a;
  *b = d->b;
  if (!resolve(w, d->a_symbol, d->a_root, a))
    return d->a_symbol;
  return resolve(w, d->b_symbol, d->b_root, b) ? NULL : d->b_symbol;
}

static int count_free(const struct task *t) {
  int n = 0;
  for (int i = 0; i < t->n_inputs; i++)
    n += task_is_free(t, i, false);
  return n;
}

struct draw_request task_draw_request(const struct task *t, const struct workload *w, const struct array *inputs, int i,
                                      enum probe probe, uint64_t key) {
  const struct distribution *d = &t->inputs[i].distribution;
  double a, b;
  task_distribution_numbers(d, w, &a, &b); // reading the task made sure that every workload binds them
  return (struct draw_request){.distribution = d,
                               .a = a,
                               .b = b,
                               .type = array_type(&inputs[i]),
                               .probe = probe,
                               .near_overflow = t->near_overflow,
                               .n_tiny = count_free(t),
                               .key = key,
                               .input = i,
                               .threads = 1};
}

enum assay_status draw_plan_make(const struct task *t, const struct workload *w, enum probe probe, uint64_t key,
                                 struct arena *arena, struct draw_plan *out, struct assay_error *err) {
  *out = (struct draw_plan){.t = t, .w = w, .probe = probe, .key = key};
  out->inputs = arena_calloc(arena, (size_t)t->n_inputs + 1, sizeof *out->inputs);
  enum assay_status status =
      out->inputs ? task_input_shapes(t, w, out->inputs, err) : error_nomem(err, "a task's inputs");
  if (!status && probe == PROBE_OPPOSED)
    status = task_oppose(t, out->inputs, key, arena, &out->scales, err);
  if (!status && probe == PROBE_SMALL_SPREAD)
    status = task_spread(t, key, arena, &out->scales, err);
  return status;
}

struct draw_request draw_plan_request(const struct draw_plan *p, int i) {
  struct draw_request r = task_draw_request(p->t, p->w, p->inputs, i, p->probe, p->key);
  r.scales = p->scales && p->scales[i].n > 0 ? &p->scales[i] : NULL;
  return r;
}

// `count` elements of an input of a draw from `first` on, to their place.
static enum assay_status make_input(const struct task *t, const struct draw_request *r, int64_t first, int64_t count,
                                    void *to, struct assay_error *err) {
  if (task_is_given(t, r->input, &r->type.shape, r->probe))
    return task_give(t, r->input, first, count, to, err);
  distribution_draw_part(r, first, count, to);
  return ASSAY_OK;
}

enum assay_status task_make_inputs(const struct task *t, const struct workload *w, enum probe probe, uint64_t key,
                                   int threads, void *const *buffers, struct assay_error *err) {
  struct arena arena = {0};
  struct draw_plan plan;
  enum assay_status status = draw_plan_make(t, w, probe, key, &arena, &plan, err);
  for (int i = 0; i < t->n_inputs && !status; i++) {
    struct draw_request r = draw_plan_request(&plan, i);
    r.threads = threads;
    status = make_input(t, &r, 0, shape_count(&r.type.shape), buffers[i], err);
  }
  arena_release(&arena);
  return status;
}

// One input as an array: the bytes that are drawn are the bytes of the whole draw.
static enum assay_status draw_array(const struct task *t, const struct draw_request *r, const struct task_members *m,
                                    bool apart, struct array *out, struct assay_error *err) {
  struct tensor_type type = r->type;
  const int64_t inner = apart ? shape_span(&type.shape, 1, type.shape.rank) : 0;
  if (apart)
    type.shape.dims[0] = m->count;
  void *bytes = base_alloc(tensor_type_bytes(&type));
  if (!bytes)
    return error_nomem(err, "a task's inputs");
  enum assay_status status = make_input(t, r, apart ? m->first * inner : 0, shape_count(&type.shape), bytes, err);
  if (!status)
    status = array_from_tensor(&(struct tensor){.type = type, .data = bytes}, out, err);
  base_free(bytes);
  return status;
}

enum assay_status task_draw_members(const struct task *t, const struct task_draw *d, struct array *arrays,
                                    struct assay_error *err) {
  struct arena arena = {0};
  struct draw_plan plan;
  enum assay_status status = draw_plan_make(t, d->workload, d->probe, d->key, &arena, &plan, err);
  for (int i = 0; i < t->n_inputs && !status; i++) {
    struct draw_request r = draw_plan_request(&plan, i);
    r.threads = d->threads;
    status = draw_array(t, &r, d->members, d->members && d->members->apart[i], &arrays[i], err);
  }
  arena_release(&arena);
  return status;
}

enum assay_status task_draw_inputs(const struct task *t, const struct workload *w, enum probe probe, uint64_t key,
                                   int threads, struct array *arrays, struct assay_error *err) {
  const struct task_draw d = {.workload = w, .probe = probe, .key = key, .threads = threads};
  return task_draw_members(t, &d, arrays, err);
}
