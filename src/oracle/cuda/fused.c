// SPDX-License-Identifier: Apache-2.0
#include "oracle/cuda/fused.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "oracle/cuda/fused_program.h"
#include "oracle/cuda/gpu_table.h"
#include "oracle/cuda/gpu_run.h"
#include "oracle/cuda/pointwise.h"
#include "ops/pointwise.h"
#include "oracle/run.h"

_Static_assert((int)FUSED_RANK == (int)SHAPE_MAX_RANK, "as in base/shape.h");
_Static_assert(sizeof(struct fused_args) <= 4096, "a kernel's argument");

extern const char code_convert_args[], code_convert_device[], code_deviation[], code_fused_args[], code_fused[];

static const struct device_code program = {"fused",
                                           (const char *const[]){GPU_COMMON_TEXTS, code_convert_args,
                                                                 code_convert_device, code_deviation, code_fused_args,
                                                                 GPU_EXPRESSION_TEXTS, code_fused, NULL},
                                           true};

enum { EXACT, CONTRACT, WAYS };

// One output being planned.
struct job {
  const struct gpu_request *r;
  const struct graph *g;
  const struct array *shapes; // of all values
  struct gpu_fused *f;
  struct arena arena;
  struct fused_program *p;
  struct fused_value (*values)[WAYS];
  bool *known; // the value is in values[]
  struct rounder rounder;
  int n_maps;
  int64_t strides[FUSED_MAPS][FUSED_RANK];
};

// One expression on its way into the program.
struct part {
  const struct node *node;
  const struct fused_value *in;
  bool exact, as_double;
  struct fused_source source;
  int key; // -1: nothing has erred yet
  int draw;
};

// ---- how elements are found

// The map for tensors of this shape.
static int map_for(struct job *j, const struct shape *s) {
  const struct shape *to = &j->f->type.shape;
  int64_t strides[FUSED_RANK] = {0};
  shape_broadcast_strides(s, to, strides);
  for (int d = 0; d < to->rank; d++)
    if (to->dims[d] == 1)
      strides[d] = 0;
  for (int m = 0; m < j->n_maps; m++)
    if (memcmp(j->strides[m], strides, sizeof strides) == 0)
      return m;
  if (j->n_maps == FUSED_MAPS) {
    j->p->full = true;
    return 0;
  }
  memcpy(j->strides[j->n_maps], strides, sizeof strides);
  return j->n_maps++;
}

static bool stretches(const struct shape *s, const struct shape *to) {
  bool fits = s->rank <= to->rank;
  for (int d = 0; fits && d < s->rank; d++)
    fits = s->dims[d] == 1 || s->dims[d] == to->dims[to->rank - s->rank + d];
  return fits;
}

// Adjacent dimensions become one where every map allows it.
static void merge_dimensions(const struct job *j) {
  struct fused_args *a = &j->f->args;
  const struct shape *to = &j->f->type.shape;
  for (int d = 0; d < to->rank; d++) {
    if (to->dims[d] == 1)
      continue;
    bool merges = a->rank > 0;
    for (int m = 1; m < j->n_maps && merges; m++)
      merges = a->strides[m][a->rank - 1] == j->strides[m][d] * to->dims[d];
    a->rank += !merges;
    a->dims[a->rank - 1] = merges ? a->dims[a->rank - 1] * to->dims[d] : to->dims[d];
    for (int m = 1; m < j->n_maps; m++)
      a->strides[m][a->rank - 1] = j->strides[m][d];
  }
}

// ---- where values begin

static void set_value(struct job *j, int v, struct fused_value exact, struct fused_value contract) {
  j->values[v][EXACT] = exact;
  j->values[v][CONTRACT] = contract;
  j->known[v] = true;
}

static void add_input(struct job *j, int v, const struct gpu_array *a) {
  struct fused_args *args = &j->f->args;
  if (j->p->n_inputs == FUSED_INPUTS) {
    j->p->full = true;
    return;
  }
  int k = j->p->n_inputs++;
  args->in[k] = gpu_ref_of(a);
  args->types[k] = convert_type_of(a->dtype);
  args->in_maps[k] = (uint8_t)map_for(j, &a->shape);
  struct fused_value value = {.kind = FUSED_IS_INPUT, .index = (int16_t)k};
  set_value(j, v, value, value);
}

// A single number is part of the program. False for others.
static bool add_number(struct job *j, int v) {
  const struct array *a = &j->shapes[v];
  if (!a->bits || shape_count(&a->shape) != 1)
    return false;
  double x = dtype_is_float(a->dtype)   ? a->f64[0]
             : a->dtype == DTYPE_UINT64 ? (double)a->bits[0]
             : a->dtype == DTYPE_BOOL   ? a->i64[0] != 0
                                        : (double)a->i64[0];
  struct fused_value value = fused_constant(j->p, x);
  set_value(j, v, value, value);
  return true;
}

static enum assay_status add_leaf(struct job *j, int v, struct assay_error *err) {
  const struct tensor *constant = j->g->values[v].constant;
  for (int i = 0; i < j->g->n_inputs; i++)
    if (j->g->inputs[i] == v) {
      add_input(j, v, &j->r->inputs[i]);
      return ASSAY_OK;
    }
  if (!constant || add_number(j, v))
    return ASSAY_OK;
  int k = j->p->n_inputs;
  if (k == FUSED_INPUTS) {
    j->p->full = true;
    return ASSAY_OK;
  }
  enum assay_status status = gpu_array_upload(j->r->compute, constant, &j->f->constants[k], err);
  if (!status)
    add_input(j, v, &j->f->constants[k]);
  return status;
}

// ---- nodes

// The noise of the next operation of this part that errs.
static struct fused_noise next_noise(struct job *j, struct part *part, int error) {
  struct gpu_fused *f = j->f;
  struct fused_noise noise = {.error = error, .draw = part->draw};
  part->draw += error == EXPR_ROUNDED ? 1 : 2; // as many as pointwise.cu takes
  if (part->key < 0 && f->n_keys == FUSED_KEYS)
    j->p->full = true;
  else if (part->key < 0) {
    part->key = f->n_keys++;
    f->sources[part->key] = part->source;
    f->args.key_maps[part->key] = (uint8_t)map_for(j, &j->shapes[part->node->outputs[0]].shape);
  }
  noise.key = part->key < 0 ? 0 : part->key;
  return noise;
}

static double number_of(const struct job *j, const struct part *part, double x) {
  return part->exact || !part->as_double ? x : rounder_nearest(&j->rounder, x);
}

static struct fused_value operand_of(struct job *j, const struct part *part, const struct expr *e, const double *params,
                                     const struct fused_value *temporaries, struct operand o) {
  switch (o.kind) {
  case OPERAND_INPUT:
    return part->in[o.index];
  case OPERAND_TEMPORARY:
    return temporaries[o.index];
  case OPERAND_CONSTANT:
    return fused_constant(j->p, number_of(j, part, e->constants[o.index]));
  default:
    return fused_constant(j->p, number_of(j, part, params[o.index]));
  }
}

// As set_program in pointwise.c.
static struct fused_value add_expression(struct job *j, struct part *part, const struct expr *e, const double *params) {
  struct fused_value temporaries[EXPR_MAX_TEMPORARIES] = {{0}}, result = {0};
  bool any = false;
  for (int i = 0; i < e->n_instructions; i++) {
    const struct instruction *in = &e->code[i];
    if (in->guard && (number_of(j, part, params[in->guard - 1]) != 0) == in->guard_if_zero)
      continue;
    struct fused_value from[3] = {{0}};
    for (int k = 0; k < expr_arity((enum expr_operation)in->operation); k++)
      from[k] = operand_of(j, part, e, params, temporaries, in->from[k]);
    int error = part->exact || !part->as_double ? EXPR_EXACT : gpu_pointwise_error(in->operation);
    struct fused_noise noise = {0};
    if (error != EXPR_EXACT)
      noise = next_noise(j, part, error);
    result = fused_apply(j->p, in->operation, from, error != EXPR_EXACT ? &noise : NULL);
    if (i + 1 < e->n_instructions) // the last one has no target
      temporaries[in->target] = result;
    any = true;
  }
  return any ? result : operand_of(j, part, e, params, temporaries, e->result);
}

// The first input, then the expression over the result so far and each further one, then `finish`.
static struct fused_value add_fold(struct job *j, struct part *part, const struct expr *e, const struct expr *last,
                                   const double *params) {
  const struct fused_value *in = part->in;
  struct fused_value so_far = in[0];
  int n = part->node->n_inputs;
  for (int i = 1; i < n; i++) {
    struct fused_value both[3] = {so_far, in[i]};
    *part = (struct part){.node = part->node,
                          .in = both,
                          .exact = part->exact,
                          .as_double = part->as_double,
                          .source = {part->source.node, i},
                          .key = -1};
    so_far = add_expression(j, part, e, params);
  }
  if (!last)
    return so_far;
  double count = n;
  *part = (struct part){.node = part->node,
                        .in = &so_far,
                        .exact = part->exact,
                        .as_double = part->as_double,
                        .source = {part->source.node, n},
                        .key = -1};
  return add_expression(j, part, last, &count);
}

static bool is_truth_value(const struct fused_program *p, struct fused_value v) {
  int operation = v.kind == FUSED_IS_TERM ? p->terms[v.index].operation : EXPR_OPERATION_COUNT;
  return (operation >= EXPR_LT && operation <= EXPR_NOT) || operation == EXPR_ISNAN || operation == EXPR_ISINF;
}

// A node's value in one way of computing, from its inputs' values.
static enum assay_status add_way(struct job *j, int index, int way, bool as_double, struct assay_error *err) {
  const struct node *n = &j->g->nodes[index];
  const char *names[EXPR_MAX_PARAMS], *finish = n->op->expr_finish;
  double params[EXPR_MAX_PARAMS];
  const struct expr *e, *last = NULL;
  int n_params = pointwise_params(n, way == EXACT, names, params), v = n->outputs[0], n_in = 0;
  struct fused_value *in = arena_calloc(&j->arena, (size_t)n->n_inputs + 3, sizeof *in), value;
  enum assay_status status = in ? ASSAY_OK : error_nomem(err, "a program of elementwise nodes");
  if (!status)
    status = expr_parse(op_expr(n), names, n_params, &j->arena, &e, err);
  if (!status && finish)
    status = expr_parse(finish, (const char *const[]){"count"}, 1, &j->arena, &last, err);
  if (status)
    return status;
  for (int k = 0; k < n->n_inputs; k++)
    if (n->inputs[k] >= 0)
      in[n_in++] = j->values[n->inputs[k]][way];
  struct part part = {
      .node = n, .in = in, .exact = way == EXACT, .as_double = as_double, .source = {index, -1}, .key = -1};
  if (n->op->max_in == OP_VARIADIC)
    value = add_fold(j, &part, e, last, params);
  else
    value = add_expression(j, &part, e, params);
  if (!dtype_is_float(j->shapes[v].dtype) && !is_truth_value(j->p, value))
    value = fused_apply(j->p, EXPR_NE, (const struct fused_value[3]){value, fused_constant(j->p, 0)}, NULL);
  j->values[v][way] = value;
  return ASSAY_OK;
}

// Numbers are computed with as doubles, so of integers there may be truth values and inputs only.
static bool node_fits(const struct job *j, const struct node *n, bool *as_double) {
  if (n->n_outputs != 1 || !gpu_pointwise_covers(n->op))
    return false;
  const struct array *to = &j->shapes[n->outputs[0]];
  bool all_bool = to->dtype == DTYPE_BOOL, fold = n->op->max_in == OP_VARIADIC;
  *as_double = pointwise_fractional(n->op);
  for (int k = 0; k < n->n_inputs; k++) {
    if (n->inputs[k] < 0)
      continue;
    enum dtype t = j->shapes[n->inputs[k]].dtype;
    *as_double = *as_double || dtype_is_float(t);
    all_bool = all_bool && t == DTYPE_BOOL;
  }
  return (*as_double || all_bool) && (dtype_is_float(to->dtype) || (to->dtype == DTYPE_BOOL && !fold)) &&
         (fold || n->n_inputs <= 3) && n->n_inputs >= 1 && stretches(&to->shape, &j->f->type.shape);
}

// Puts node `index` into the program; *fits is false where it cannot be.
static enum assay_status add_node(struct job *j, int index, bool *fits, struct assay_error *err) {
  const struct node *n = &j->g->nodes[index];
  bool as_double = true;
  enum assay_status status = ASSAY_OK;
  if (n->op->max_in == 0 && n->n_outputs == 1) { // it makes a constant
    *fits = add_number(j, n->outputs[0]);
    return ASSAY_OK;
  }
  *fits = node_fits(j, n, &as_double);
  for (int k = 0; k < n->n_inputs && *fits && !status; k++)
    if (n->inputs[k] >= 0 && !j->known[n->inputs[k]]) {
      status = add_leaf(j, n->inputs[k], err);
      *fits = j->known[n->inputs[k]];
    }
  for (int way = 0; way < WAYS && *fits && !status; way++)
    status = add_way(j, index, way, as_double, err);
  if (*fits && !status)
    j->known[n->outputs[0]] = true;
  return status;
}

// The nodes that the output is made by, in order.
static enum assay_status add_nodes(struct job *j, int output, bool *fits, struct assay_error *err) {
  const struct graph *g = j->g;
  bool *needed = arena_calloc(&j->arena, (size_t)g->n_values + 1, sizeof *needed);
  enum assay_status status = needed ? ASSAY_OK : error_nomem(err, "a program of elementwise nodes");
  if (status)
    return status;
  needed[output] = true;
  for (int i = g->n_nodes - 1; i >= 0; i--)
    for (int o = 0; o < g->nodes[i].n_outputs; o++)
      for (int k = 0; k < g->nodes[i].n_inputs && g->nodes[i].outputs[o] >= 0 && needed[g->nodes[i].outputs[o]]; k++)
        if (g->nodes[i].inputs[k] >= 0)
          needed[g->nodes[i].inputs[k]] = true;
  for (int i = 0; i < g->n_nodes && *fits && !status; i++) {
    bool any = false;
    for (int o = 0; o < g->nodes[i].n_outputs; o++)
      any = any || (g->nodes[i].outputs[o] >= 0 && needed[g->nodes[i].outputs[o]]);
    if (any)
      status = add_node(j, i, fits, err);
    *fits = *fits && !j->p->full;
  }
  return status;
}

// ---- the plan

static void set_format(struct fused_args *a, const struct arith *contract, const struct rounder *r) {
  uint64_t limit, max;
  memcpy(&limit, &r->limit, sizeof limit);
  memcpy(&max, &r->max, sizeof max);
  a->arith = gpu_arith_of(contract);
  a->ratio = r->quantum / r->limit;
  a->unit = ldexp(1, -contract->bits);
  // Numbers below the largest one's upper word round to at most that: the word itself is on the grid, or the largest
  // number is, where the grid is coarser.
  bool regular = r->mask <= UINT32_MAX || (max & r->mask) == 0;
  a->low = (uint32_t)(limit >> 32);
  a->span = regular && (limit & UINT32_MAX) == 0 && max > limit ? (uint32_t)(max >> 32) - a->low : 0;
}

static bool job_init(struct job *j) {
  size_t n = (size_t)j->g->n_values + 1;
  j->p = arena_calloc(&j->arena, 1, sizeof *j->p);
  j->values = arena_calloc(&j->arena, n, sizeof *j->values);
  j->known = arena_calloc(&j->arena, n, sizeof *j->known);
  return j->p && j->values && j->known;
}

static enum assay_status plan(struct job *j, int output, bool *planned, struct assay_error *err) {
  struct gpu_fused *f = j->f;
  struct float_format format = {0};
  enum assay_status status = job_init(j) ? ASSAY_OK : error_nomem(err, "a program of elementwise nodes");
  *planned = false;
  f->args.is_float = dtype_float_format(f->type.dtype, &format);
  if (status || !(f->args.is_float || f->type.dtype == DTYPE_BOOL) || shape_count(&f->type.shape) == 0)
    return status;
  bool fits = true;
  (void)map_for(j, &f->type.shape); // number 0
  status = add_nodes(j, output, &fits, err);
  if (!status && fits && !j->known[output])
    status = add_leaf(j, output, err);
  if (status || !fits || !j->known[output])
    return status;
  const struct fused_value *v = j->values[output];
  f->steady = fused_same(v[EXACT], v[CONTRACT]);
  *planned = fused_lower(j->p, v[EXACT], f->args.is_float ? v[CONTRACT] : v[EXACT], &f->args);
  f->args.n = shape_count(&f->type.shape);
  f->args.n_in = j->p->n_inputs;
  f->args.small = f->args.n <= INT32_MAX;
  f->args.output_max = format.max;
  merge_dimensions(j);
  return ASSAY_OK;
}

enum assay_status gpu_fused_plan(const struct gpu_request *r, const struct graph_shapes *shapes, int output,
                                 const struct arith *contract, struct gpu_fused *out, bool *planned,
                                 struct assay_error *err) {
  struct job j = {.r = r, .g = r->graph, .shapes = shapes->values, .f = out};
  *out = (struct gpu_fused){.compute = r->compute, .contract = *contract, .type = array_type(&shapes->values[output])};
  j.rounder = arith_rounder(contract);
  set_format(&out->args, contract, &j.rounder);
  enum assay_status status = plan(&j, output, planned, err);
  arena_release(&j.arena);
  // An expression that cannot be is for the node itself to report.
  return status == ASSAY_ERR_NOMEM || !status ? status : ASSAY_OK;
}

void gpu_fused_release(struct gpu_fused *f) {
  for (int k = 0; k < FUSED_INPUTS; k++)
    gpu_array_release(f->compute, &f->constants[k]);
}

// ---- running

static void set_keys(const struct gpu_fused *f, int first, struct fused_args *a) {
  const struct run_passes passes = {.n = first + FUSED_PASSES, .normal = first + FUSED_PASSES};
  for (int k = 0; k < f->n_keys; k++)
    for (int p = 0; p < FUSED_PASSES; p++) {
      uint64_t key = run_pass(&f->contract, first + p, &passes).arith.key;
      key = noise_derive(key, (uint64_t)f->sources[k].node);
      a->keys[k][p] = f->sources[k].step < 0 ? key : noise_derive(key, (uint64_t)f->sources[k].step);
    }
}

enum assay_status gpu_fused_run(const struct gpu_fused *f, int replicas, const struct gpu_array *y, device_ptr sigma,
                                device_ptr broken, struct assay_error *err) {
  struct fused_args a = f->args;
  const int64_t each = FUSED_ELEMENTS * FUSED_NEIGHBOURS, threads = (a.n + each - 1) / each * FUSED_NEIGHBOURS;
  bool passes = sigma && !f->steady;
  enum assay_status status = ASSAY_OK;
  a.y = y->data;
  a.sigma = f->steady ? sigma : 0;
  a.sum = passes ? sigma : 0;
  a.broken = broken;
  for (int k = 0; (k == 0 || (passes && k < replicas)) && !status; k += FUSED_PASSES) {
    a.first = k == 0;
    a.passes = replicas - k < FUSED_PASSES ? replicas - k : FUSED_PASSES;
    set_keys(f, k, &a);
    status = compute_launch(f->compute, &program, "fused", threads, &a, sizeof a, err);
  }
  return status;
}
