// SPDX-License-Identifier: Apache-2.0
// Elementwise operators: the row's expression becomes a program in a kernel's argument. What ops/pointwise.c does, with
// one thread for each element.
#include <math.h>
#include <string.h>

#include "oracle/cuda/convert.h"
#include "oracle/cuda/gpu_table.h"
#include "oracle/cuda/gpu_run.h"
#include "oracle/cuda/pointwise.h"
#include "oracle/cuda/pointwise_args.h"
#include "ops/pointwise.h"

_Static_assert((int)POINTWISE_INSTRUCTIONS == (int)EXPR_MAX_INSTRUCTIONS, "as in ops/expr.h");
_Static_assert((int)POINTWISE_CONSTANTS == (int)EXPR_MAX_CONSTANTS, "as in ops/expr.h");
_Static_assert((int)POINTWISE_PARAMS == (int)EXPR_MAX_PARAMS, "as in ops/expr.h");
_Static_assert((int)POINTWISE_TEMPORARIES == (int)EXPR_MAX_TEMPORARIES, "as in ops/expr.h");
_Static_assert((int)POINTWISE_RANK == (int)SHAPE_MAX_RANK, "as in base/shape.h");
_Static_assert(sizeof(struct pointwise_args) <= 4096, "a kernel's argument");

extern const char code_convert_args[], code_convert_device[], code_pointwise_args[], code_pointwise[];

static const struct device_code program = {"pointwise",
                                           (const char *const[]){GPU_COMMON_TEXTS, code_convert_args,
                                                                 code_convert_device, code_pointwise_args,
                                                                 GPU_EXPRESSION_TEXTS, code_pointwise, NULL},
                                           true};

bool gpu_pointwise_covers(const struct op_def *op) {
  return gpu_find(op) == gpu_pointwise_eval;
}

int gpu_pointwise_error(int operation) {
  static const uint8_t errors[] = {
#define OPERATION_ERROR(name, spelling, arity, error, value, ...) EXPR_##error,
      EXPR_OPERATIONS(OPERATION_ERROR)};
  return errors[operation];
}

// One evaluation being prepared.
struct job {
  struct gpu_eval *c;
  struct arena arena;
  struct pointwise_args args;
  bool as_double;
};

// ---- the program

static void set_operand(struct operand o, uint8_t *kind, uint8_t *index) {
  bool param = o.kind == OPERAND_PARAM;
  *kind = param ? OPERAND_CONSTANT : o.kind;
  *index = (uint8_t)(param ? POINTWISE_CONSTANTS + o.index : o.index);
}

enum { OPERAND_LAST = OPERAND_PARAM }; // in the device's program, whose parameters are constants

static bool reads(const uint8_t *code, uint8_t temporary) {
  for (int k = 0; k < expr_arity((enum expr_operation)code[0]); k++)
    if (code[2 + 2 * k] == OPERAND_TEMPORARY && code[3 + 2 * k] == temporary)
      return true;
  return false;
}

// A result that the next instruction reads is still in a register there, and where nothing else reads it, it need not
// be put anywhere: temporaries lie in the device's memory.
static void forward_results(struct pointwise_args *a) {
  for (int i = 0; i < a->n_instructions; i++) {
    uint8_t target = a->code[i][1];
    bool later = false;
    for (int n = i + 2; n < a->n_instructions && !later && (n < i + 3 || a->code[n - 1][1] != target); n++)
      later = reads(a->code[n], target);
    // The next instruction may write to the same place, and what follows then reads that.
    if (i + 1 < a->n_instructions && a->code[i + 1][1] == target)
      later = false;
    if (i + 1 < a->n_instructions)
      for (int k = 0; k < 3; k++)
        if (a->code[i + 1][2 + 2 * k] == OPERAND_TEMPORARY && a->code[i + 1][3 + 2 * k] == target)
          a->code[i + 1][2 + 2 * k] = OPERAND_LAST;
    if (!later)
      a->code[i][1] = POINTWISE_NOWHERE;
  }
}

static void set_program(struct job *j, const struct expr *e, const double *params) {
  struct pointwise_args *a = &j->args;
  struct rounder r = {0};
  bool rounds = !j->c->arith.exact && j->as_double;
  if (rounds)
    r = arith_rounder(&j->c->arith);
  for (int i = 0; i < e->n_constants; i++)
    a->values[i] = rounds ? rounder_nearest(&r, e->constants[i]) : e->constants[i];
  for (int i = 0; i < e->n_params; i++)
    a->values[POINTWISE_CONSTANTS + i] = rounds ? rounder_nearest(&r, params[i]) : params[i];
  a->n_instructions = 0;
  set_operand(e->result, &a->result_kind, &a->result_index);
  for (int i = 0; i < e->n_instructions; i++) {
    const struct instruction *in = &e->code[i];
    // Guards look at attributes, which are known here.
    if (in->guard && (a->values[POINTWISE_CONSTANTS + in->guard - 1] != 0) == in->guard_if_zero)
      continue;
    uint8_t *code = a->code[a->n_instructions++];
    memset(code, 0, sizeof a->code[0]);
    code[0] = in->operation;
    code[1] = in->target;
    for (int k = 0; k < expr_arity((enum expr_operation)in->operation); k++)
      set_operand(in->from[k], &code[2 + 2 * k], &code[3 + 2 * k]);
  }
  if (a->n_instructions)
    a->result_kind = a->result_index = 0; // the last instruction's
  forward_results(a);
}

// ---- inputs

// Gives the kernel inputs in[0..n), broadcast to the output's shape.
static void set_inputs(struct job *j, const struct gpu_array *const *in, int n) {
  struct pointwise_args *a = &j->args;
  const struct shape *to = &j->c->out[0].shape;
  int64_t strides[3][SHAPE_MAX_RANK] = {{0}};
  a->n_in = n;
  a->rank = 0;
  memset(a->strides, 0, sizeof a->strides);
  for (int k = 0; k < n; k++) {
    a->in[k] = gpu_ref_of(in[k]);
    a->types[k] = convert_type_of(in[k]->dtype);
    shape_broadcast_strides(&in[k]->shape, to, strides[k]);
  }
  for (int d = 0; d < to->rank; d++) {
    if (to->dims[d] == 1)
      continue;
    bool merges = a->rank > 0;
    for (int k = 0; k < n && merges; k++)
      merges = a->strides[k][a->rank - 1] == strides[k][d] * to->dims[d];
    a->rank += !merges;
    a->dims[a->rank - 1] = merges ? a->dims[a->rank - 1] * to->dims[d] : to->dims[d];
    for (int k = 0; k < n; k++)
      a->strides[k][a->rank - 1] = strides[k][d];
  }
  // One dimension, or none: the index itself will do.
  if (a->rank == 1)
    a->rank = 0;
}

static enum assay_status launch(struct job *j, struct assay_error *err) {
  const char *kernel = j->as_double ? "pointwise_double" : "pointwise_integer";
  int64_t each = POINTWISE_LANES * POINTWISE_NEIGHBOURS;
  return compute_launch(j->c->compute, &program, kernel, (j->args.n + each - 1) / each * POINTWISE_NEIGHBOURS, &j->args,
                        sizeof j->args, err);
}

// ---- evaluation

// The inputs that are there, in order; returns their number.
static int present(struct job *j, const struct gpu_array **in) {
  int n = 0;
  for (int i = 0; i < j->c->n_in; i++)
    if (j->c->in[i])
      in[n++] = j->c->in[i];
  return n;
}

static void decide_types(struct job *j) {
  struct gpu_eval *c = j->c;
  for (int i = 0; i < c->n_in; i++) {
    j->as_double |= c->in[i] && dtype_is_float(c->in[i]->dtype);
    j->args.is_unsigned |= c->in[i] && c->in[i]->dtype == DTYPE_UINT64;
  }
  j->as_double |= pointwise_fractional(c->node->op);
  j->args.out = c->out[0].data;
  j->args.out_type = convert_type_of(c->out[0].dtype);
  j->args.n = shape_count(&c->out[0].shape);
  j->args.small = j->args.n <= INT32_MAX;
  j->args.arith = gpu_arith_of(&c->arith);
}

static enum assay_status run_once(struct job *j, const struct expr *e, const double *params, struct assay_error *err) {
  const struct gpu_array *in[3];
  if (j->c->n_in > 3)
    return op_unsupported(j->c->node, err, "an elementwise operator of more than three inputs");
  int n = present(j, in);
  set_program(j, e, params);
  set_inputs(j, in, n);
  return launch(j, err);
}

// The first input, then the expression over the result so far and each further one, then `finish`.
static enum assay_status run_fold(struct job *j, const struct expr *e, const double *params, const char *finish,
                                  struct assay_error *err) {
  struct gpu_eval *c = j->c;
  struct gpu_array so_far = c->out[0];
  const struct expr *first, *last = NULL;
  enum assay_status status = expr_parse("x", NULL, 0, &j->arena, &first, err);
  if (!status && finish)
    status = expr_parse(finish, (const char *const[]){"count"}, 1, &j->arena, &last, err);
  for (int i = 0; i < c->n_in && !status; i++) {
    j->args.arith.key = noise_derive(c->arith.key, (uint64_t)i);
    set_program(j, i == 0 ? first : e, params);
    if (i == 0)
      set_inputs(j, &c->in[0], 1);
    else
      set_inputs(j, (const struct gpu_array *const[]){&so_far, c->in[i]}, 2);
    status = launch(j, err);
  }
  if (status || !last)
    return status;
  double count = c->n_in;
  j->args.arith.key = noise_derive(c->arith.key, (uint64_t)c->n_in);
  set_program(j, last, &count);
  set_inputs(j, (const struct gpu_array *const[]){&so_far}, 1);
  return launch(j, err);
}

enum assay_status gpu_pointwise_eval(struct gpu_eval *c, struct assay_error *err) {
  const char *names[EXPR_MAX_PARAMS];
  double params[EXPR_MAX_PARAMS];
  const struct expr *e;
  struct job j = {.c = c};
  decide_types(&j);
  int n = pointwise_params(c->node, c->arith.exact, names, params);
  enum assay_status status = expr_parse(op_expr(c->node), names, n, &j.arena, &e, err);
  if (!status && !j.as_double && !expr_has_integers(e))
    status = op_unsupported(c->node, err, "not defined for integers");
  if (!status && c->node->op->max_in == OP_VARIADIC)
    status = run_fold(&j, e, params, c->node->op->expr_finish, err);
  else if (!status)
    status = run_once(&j, e, params, err);
  arena_release(&j.arena);
  return status;
}
