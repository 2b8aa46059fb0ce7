// SPDX-License-Identifier: Apache-2.0
// Elements placed by index, on a device. Updates are sorted by where they go, those to one place in their own order,
// and put there one after the other: as on the CPU the last one stays, and every run gives the same.
#include "oracle/cuda/gather.h"
#include "oracle/cuda/gpu_table.h"
#include "oracle/cuda/sort.h"

#include <string.h>

static int reduction_of(const struct node *node) {
  static const char *const names[] = {"none", "add", "mul", "max", "min"};
  const char *name = node_string(node, "reduction", "none");
  for (int i = 0; i < 5; i++)
    if (strcmp(name, names[i]) == 0)
      return i;
  return -1;
}

// The data are where the updates will go.
static enum assay_status begin(struct gpu_eval *c, struct scatter_args *s, int64_t n, int64_t inner,
                               struct assay_error *err) {
  enum dtype t = c->in[0]->dtype;
  int64_t padded = gpu_sort_padded(n);
  *s = (struct scatter_args){.updates = gpu_ref_of(c->in[2]),
                             .arith = gpu_arith_of(&c->arith),
                             .y = c->out[0].data,
                             .n = n,
                             .inner = inner,
                             .reduction = reduction_of(c->node),
                             .is_float = dtype_is_float(t),
                             .is_unsigned64 = t == DTYPE_UINT64,
                             .dtype = t};
  if (s->reduction < 0)
    return op_invalid(c->node, err, "reduction is \"%s\"; it must be none, add, mul, max or min",
                      node_string(c->node, "reduction", "none"));
  enum assay_status status = gpu_copy_all(c, c->in[0], c->out[0].data, err);
  if (!status)
    status = gpu_scratch(c, padded, &s->keys, err);
  return status ? status : gpu_scratch(c, padded, &s->values, err);
}

static enum assay_status finish(struct gpu_eval *c, const struct scatter_args *s, struct assay_error *err) {
  enum assay_status status = gpu_sort(c, s->keys, s->values, 1, gpu_sort_padded(s->n), err);
  if (status)
    return status;
  return compute_launch(c->compute, &gpu_gather_program, "scatter_put", s->n * s->inner, s, sizeof *s, err);
}

enum assay_status gpu_scatter_elements_eval(struct gpu_eval *c, struct assay_error *err) {
  struct scatter_element_args a = {0};
  struct scatter_args s;
  enum assay_status status = gpu_element_args(c, &a.e, err);
  if (!status)
    status = begin(c, &s, a.e.walk.count, 1, err);
  if (status || s.n == 0)
    return status;
  a.keys = s.keys;
  a.values = s.values;
  a.padded = gpu_sort_padded(s.n);
  status = compute_launch(c->compute, &gpu_gather_program, "scatter_element_targets", a.padded, &a, sizeof a, err);
  if (!status)
    status = gpu_check_indices(c, a.e.bad, &a.e.extent, 1, err);
  return status ? status : finish(c, &s, err);
}

enum assay_status gpu_scatter_nd_eval(struct gpu_eval *c, struct assay_error *err) {
  struct scatter_tuple_args a = {0};
  struct scatter_args s;
  enum assay_status status = gpu_tuple_args(c, 0, &a.t, err);
  if (!status)
    status = begin(c, &s, a.t.n_tuples, a.t.inner, err);
  if (status || s.n == 0)
    return status;
  a.keys = s.keys;
  a.values = s.values;
  a.padded = gpu_sort_padded(s.n);
  status = compute_launch(c->compute, &gpu_gather_program, "scatter_tuple_targets", a.padded, &a, sizeof a, err);
  if (!status)
    status = gpu_check_indices(c, a.t.bad, a.t.extents, a.t.tuple, err);
  return status ? status : finish(c, &s, err);
}
