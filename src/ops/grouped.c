// SPDX-License-Identifier: Apache-2.0
// Products of groups of rows whose sizes are data, as experts have them.
#include "ops/grouped.h"

#include <string.h>

#include "ops/families.h"
#include "ops/gemm.h"
#include "ops/loops.h"
#include "ops/pytorch.h"

struct grouped_rows grouped_rows_of(const int64_t *ends, int64_t group, int64_t rows, int64_t begin) {
  const int64_t end = ends[group] < rows ? ends[group] : rows;
  return (struct grouped_rows){begin, end > begin ? end : begin};
}

static enum assay_status grouped_infer(struct op_infer *c, struct assay_error *err) {
  const struct shape *x = &c->in[GROUPED_X]->shape, *w = &c->in[GROUPED_W]->shape, *ends = &c->in[GROUPED_ENDS]->shape;
  const enum dtype index = c->in[GROUPED_ENDS]->dtype;
  char tx[SHAPE_TEXT_BYTES], tw[SHAPE_TEXT_BYTES], te[SHAPE_TEXT_BYTES];
  enum assay_status status = loops_need_float(c, GROUPED_X, err);
  if (!status)
    status = loops_need_same(c, GROUPED_W, err);
  if (status)
    return status;
  if (index != DTYPE_INT32 && index != DTYPE_INT64)
    return op_invalid(c->node, err, "the groups' ends (input 2) must be int32 or int64, not %s", dtype_name(index));
  if (x->rank != 2 || w->rank != 3 || ends->rank != 1)
    return op_invalid(c->node, err, "shapes %s, %s and %s: rows [t, k], matrices [e, k, n] and ends [e] are wanted",
                      shape_text(x, tx), shape_text(w, tw), shape_text(ends, te));
  if (x->dims[1] != w->dims[1])
    return op_invalid(c->node, err, "shapes %s and %s: %lld columns meet %lld rows", shape_text(x, tx),
                      shape_text(w, tw), (long long)x->dims[1], (long long)w->dims[1]);
  if (ends->dims[0] != w->dims[0])
    return op_invalid(c->node, err, "%lld matrices have %lld ends", (long long)w->dims[0], (long long)ends->dims[0]);
  return op_output(c, 0, c->in[GROUPED_X]->dtype, 2, (int64_t[]){x->dims[0], w->dims[2]}, err);
}

static void grouped_cost(const struct op_infer *c, struct op_cost *cost) {
  const struct shape *x = &c->in[GROUPED_X]->shape;
  cost->contraction_flops = 2.0 * (double)shape_count(&c->out[0].shape) * (double)x->dims[1];
}

// The group's rows alone, with errors of their own.
static enum assay_status run_group(struct op_eval *c, int64_t group, struct grouped_rows rows,
                                   struct assay_error *err) {
  const struct shape *w = &c->in[GROUPED_W]->shape;
  const int64_t k = w->dims[1], n = w->dims[2];
  struct arith arith = c->arith;
  struct start start;
  arith.key = noise_derive(arith.key, (uint64_t)group);
  start_init(&start, c, 1);
  for (int i = 0; i < start.n; i++)
    start.part[i].from += rows.begin * start.part[i].strides[0];
  start.shape.dims[0] = rows.end - rows.begin;
  const struct gemm_batch batch = {.g = {.m = rows.end - rows.begin,
                                         .n = n,
                                         .k = k,
                                         .a = c->in[GROUPED_X]->f64 + rows.begin * k,
                                         .b = c->in[GROUPED_W]->f64 + group * k * n,
                                         .a_row = k,
                                         .a_col = 1,
                                         .b_row = n,
                                         .b_col = 1},
                                   .count = 1,
                                   .c = c->out[0].f64 + rows.begin * n,
                                   .arith = &arith,
                                   .start = &start,
                                   .sigma = c->sigma ? c->sigma + rows.begin * n : NULL,
                                   .threads = c->threads};
  return gemm_run(&batch, err);
}

static enum assay_status grouped_eval(struct op_eval *c, struct assay_error *err) {
  const int64_t t = c->out[0].shape.dims[0], n = c->out[0].shape.dims[1];
  struct grouped_rows rows = {0};
  enum assay_status status = ASSAY_OK;
  c->has_sigma = c->sigma != NULL;
  for (int64_t g = 0; g < c->in[GROUPED_W]->shape.dims[0] && !status; g++) {
    rows = grouped_rows_of(c->in[GROUPED_ENDS]->i64, g, t, rows.end);
    status = run_group(c, g, rows, err);
  }
  memset(c->out[0].f64 + rows.end * n, 0, (size_t)((t - rows.end) * n) * sizeof(double));
  if (c->sigma)
    memset(c->sigma + rows.end * n, 0, (size_t)((t - rows.end) * n) * sizeof *c->sigma);
  return status;
}

static bool grouped_contracted(const struct op_infer *c, int which, struct op_contracted *out) {
  (void)c;
  *out = (struct op_contracted){.axis = {1, 1}};
  return which == 0;
}

static const char grouped_helper[] = "def grouped_matmul(x, w, ends):\n"
                                     "    \"\"\"Rows of each group times the group's matrix.\"\"\"\n"
                                     "    y, begin = x.new_zeros(x.shape[0], w.shape[2]), 0\n"
                                     "    for group, end in enumerate(ends.tolist()):\n"
                                     "        end = min(max(end, begin), x.shape[0])\n"
                                     "        y[begin:end] = x[begin:end] @ w[group]\n"
                                     "        begin = end\n"
                                     "    return y\n\n\n";

static const struct op_def rows[] = {
    {OP_ROW_OF("ai.assay", "GroupedMatMul", 1, 3, 3, 1, 1, OP_CONTRACTION), .infer = grouped_infer,
     .eval = grouped_eval, .cost = grouped_cost, .contracted = grouped_contracted, .factors = 2,
     .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_MANY},
     .pytorch = {.text = "grouped_matmul($0, $1, $2)", .helper = grouped_helper},
     .doc =
         "Rows [t, k], in groups that lie one after the other, times a matrix for each group, [e, k, n]: group g has "
         "the rows from where the group before ends to below element g of input 2, int32 or int64 [e]. An end that "
         "is not above the one before makes an empty group; what is above t counts as t. Rows after the last end are "
         "0.",
     .example = "(float[7,4] x, float[3,4,5] w) => (float[7,5] y) { ends = Constant<value_ints = [2, 2, 6]>() "
                "y = ai.assay.GroupedMatMul(x, w, ends) }"},
};

const struct op_family ops_grouped_family = {"Products of groups", rows, sizeof rows / sizeof rows[0]};
