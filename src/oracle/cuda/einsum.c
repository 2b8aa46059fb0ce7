// SPDX-License-Identifier: Apache-2.0
// Einsum on the device: its operands two by two, each pair a product (contraction.c).
#include <string.h>

#include "oracle/cuda/contraction.h"
#include "oracle/cuda/gpu_table.h"
#include "ops/einsum.h"

_Static_assert((int)PRODUCT_LABELS >= (int)EINSUM_LABELS, "a group of labels fits an index");
_Static_assert((int)PRODUCT_OPERANDS >= (int)EINSUM_OPERANDS, "all operands fit");

// One operand, or an intermediate result, and where its elements are.
struct operand {
  struct einsum_view view;
  struct gpu_ref ref;
};

// The equation as a plan of products, from the operands' shapes.
static enum assay_status plan_of(const struct gpu_eval *c, struct einsum_plan *p, struct assay_error *err) {
  struct array in[EINSUM_OPERANDS];
  const struct array *list[EINSUM_OPERANDS];
  struct op_infer infer = {.node = c->node, .n_in = c->n_in, .n_out = c->n_out, .in = list};
  if (c->n_in > EINSUM_OPERANDS)
    return op_unsupported(c->node, err, "%d operands; at most %d are supported", c->n_in, (int)EINSUM_OPERANDS);
  for (int i = 0; i < c->n_in; i++) {
    in[i] = (struct array){.dtype = c->in[i]->dtype, .shape = c->in[i]->shape};
    list[i] = &in[i];
  }
  return einsum_plan_make(&infer, p, err);
}

static struct product_group group_in(const struct einsum_plan *p, const struct einsum_group *g,
                                     const struct einsum_view *v) {
  struct product_group out = {.n = g->n};
  for (int i = 0; i < g->n; i++) {
    out.extent[i] = p->extent[g->label[i]];
    out.stride[i] = v->stride[g->label[i]];
  }
  return out;
}

// Two operands that become one over the labels still needed; `key` is of the product's noise.
struct pair {
  const struct operand *a, *b;
  uint64_t keep, key;
};

// The result is dense, [batch][m][n]: in `to` if that is the output's own layout (0: operands are still to come), else
// in new memory.
static enum assay_status combine(struct gpu_eval *c, const struct einsum_plan *p, const struct pair *pair,
                                 device_ptr to, struct operand *out, struct assay_error *err) {
  const struct operand *a = pair->a, *b = pair->b;
  struct einsum_split s = {0};
  bool is_output;
  einsum_split_labels(p, &a->view, &b->view, pair->keep, &s);
  *out =
      (struct operand){.view = {.labels = (a->view.labels | b->view.labels) & pair->keep}, .ref = {.storage = GPU_F64}};
  int64_t count = einsum_lay_out(p, &s, &out->view, &is_output);
  out->ref.data = to;
  enum assay_status status = ASSAY_OK;
  if (!to || !is_output)
    status = gpu_temporary(c, (size_t)(count + 1) * 8, &out->ref.data, err);
  if (status)
    return status;
  struct product work = {.batches = s.batch.count,
                         .m = s.m.count,
                         .n = s.n.count,
                         .k = s.k.count,
                         .a = a->ref,
                         .b = b->ref,
                         .a_batch = group_in(p, &s.batch, &a->view),
                         .a_line = group_in(p, &s.m, &a->view),
                         .a_depth = group_in(p, &s.k, &a->view),
                         .b_batch = group_in(p, &s.batch, &b->view),
                         .b_line = group_in(p, &s.n, &b->view),
                         .b_depth = group_in(p, &s.k, &b->view),
                         .arith = gpu_arith_of(&c->arith),
                         .out = out->ref.data,
                         .sigma = to && is_output && p->n_in == 2 ? c->sigma : 0,
                         .products = true,
                         .sums = true,
                         .alpha = 1};
  work.arith.key = pair->key;
  c->has_sigma = work.sigma != 0;
  return product_run(c, &work, err);
}

// Sums one operand into the output: the end of every Einsum, and all of one with a single operand.
static enum assay_status gather(struct gpu_eval *c, const struct einsum_plan *p, const struct operand *from,
                                struct assay_error *err) {
  struct einsum_group out = {.count = 1}, k = {.count = 1};
  for (int i = 0; i < p->n_out; i++)
    einsum_group_add(p, &out, p->out[i]);
  for (int l = 0; l < EINSUM_LABELS; l++)
    if ((from->view.labels >> l & 1) && !(p->out_labels >> l & 1))
      einsum_group_add(p, &k, l);
  struct product work = {.batches = 1,
                         .m = out.count,
                         .n = 1,
                         .k = k.count,
                         .a = from->ref,
                         .a_line = group_in(p, &out, &from->view),
                         .a_depth = group_in(p, &k, &from->view),
                         .arith = gpu_arith_of(&c->arith),
                         .out = c->out[0].data,
                         .sums = k.count > 1,
                         .alpha = 1};
  return product_run(c, &work, err);
}

// Integers: every output sums the products of all operands, exactly but for wrapping.
static enum assay_status integers(struct gpu_eval *c, const struct einsum_plan *p, struct assay_error *err) {
  struct einsum_group out = {.count = 1}, k = {.count = 1};
  int64_t extents[EINSUM_LABELS], strides[EINSUM_OPERANDS * EINSUM_LABELS];
  for (int i = 0; i < p->n_out; i++)
    einsum_group_add(p, &out, p->out[i]);
  for (int l = 0; l < EINSUM_LABELS; l++)
    if (!(p->out_labels >> l & 1))
      einsum_group_add(p, &k, l);
  struct product_einsum_args a = {.out = c->out[0].data,
                                  .count = out.count,
                                  .terms = k.count,
                                  .n_in = p->n_in,
                                  .n_out_labels = out.n,
                                  .n_labels = out.n + k.n};
  product_wrap(c->out[0].dtype, &a.wrap_bits, &a.wrap_signed);
  for (int i = 0; i < a.n_labels; i++)
    extents[i] = p->extent[i < out.n ? out.label[i] : k.label[i - out.n]];
  for (int o = 0; o < p->n_in; o++) {
    a.in[o] = gpu_ref_of(c->in[o]);
    for (int i = 0; i < a.n_labels; i++)
      strides[o * a.n_labels + i] = p->in[o].stride[i < out.n ? out.label[i] : k.label[i - out.n]];
  }
  size_t bytes = (size_t)a.n_labels * 8;
  enum assay_status status = gpu_temporary(c, sizeof extents, &a.extents, err);
  if (!status)
    status = gpu_temporary(c, sizeof strides, &a.strides, err);
  if (!status && bytes)
    status = compute_upload(c->compute, a.extents, extents, bytes, err);
  if (!status && bytes)
    status = compute_upload(c->compute, a.strides, strides, (size_t)p->n_in * bytes, err);
  return status ? status
                : compute_launch(c->compute, &product_code, "product_einsum_integer", a.count, &a, sizeof a, err);
}

enum assay_status gpu_einsum_eval(struct gpu_eval *c, struct assay_error *err) {
  struct einsum_plan p;
  enum assay_status status = plan_of(c, &p, err);
  if (status || shape_count(&c->out[0].shape) == 0)
    return status;
  if (dtype_is_integer(c->in[0]->dtype))
    return integers(c, &p, err);
  struct operand now = {.view = p.in[0], .ref = gpu_ref_of(c->in[0])};
  for (int i = 1; i < p.n_in && !status; i++) {
    struct operand with = {.view = p.in[i], .ref = gpu_ref_of(c->in[i])}, next;
    struct pair pair = {
        .a = &now, .b = &with, .keep = einsum_needed_after(&p, i), .key = noise_derive(c->arith.key, (uint64_t)i)};
    status = combine(c, &p, &pair, i == p.n_in - 1 ? c->out[0].data : 0, &next, err);
    now = next;
  }
  if (!status && now.ref.data != c->out[0].data)
    status = gather(c, &p, &now, err);
  return status;
}
