// SPDX-License-Identifier: Apache-2.0
#include "oracle/cuda/rows.h"

#include <string.h>

#include "base/alloc.h"
#include "ops/loops.h"

struct gpu_rows gpu_rows_of(const struct shape *s, unsigned axes, const int64_t *strides) {
  struct rows r;
  struct gpu_rows g = {0};
  rows_init(&r, s, axes, strides);
  g.count = r.count;
  g.length = r.length;
  g.n_kept = r.n_kept;
  g.n_reduced = r.n_reduced;
  memcpy(g.kept, r.kept, sizeof g.kept);
  memcpy(g.kept_stride, r.kept_stride, sizeof g.kept_stride);
  memcpy(g.reduced, r.reduced, sizeof g.reduced);
  memcpy(g.reduced_stride, r.reduced_stride, sizeof g.reduced_stride);
  return g;
}

struct gpu_rows gpu_rows_dense(int64_t count, int64_t length) {
  struct shape s = {.rank = 2, .dims = {count, length}};
  return gpu_rows_of(&s, 1u << 1, NULL);
}

bool gpu_rows_side_by_side(const struct gpu_rows *r) {
  bool contiguous = r->n_reduced > 0 && r->reduced_stride[r->n_reduced - 1] == 1;
  return !contiguous && r->n_kept > 0 && r->kept_stride[r->n_kept - 1] == 1;
}

// Dimension d strides as one with the last of the walk, in all sets.
static bool merges(const struct gpu_walk *w, int64_t dim, int n, const int64_t *const *steps, int d) {
  bool same = w->rank > 0;
  for (int k = 0; k < n && same; k++)
    same = w->step[k][w->rank - 1] == steps[k][d] * dim;
  return same;
}

struct gpu_walk gpu_walk_of(int rank, const int64_t *dims, int n, const int64_t *const *steps) {
  struct gpu_walk w = {.count = 1};
  for (int d = 0; d < rank; d++) {
    w.count *= dims[d];
    if (dims[d] == 1)
      continue;
    bool merged = merges(&w, dims[d], n, steps, d);
    int at = merged ? w.rank - 1 : w.rank++;
    w.dims[at] = merged ? w.dims[at] * dims[d] : dims[d];
    for (int k = 0; k < n; k++)
      w.step[k][at] = steps[k][d];
  }
  return w;
}

void gpu_row_numbers(const struct shape *s, unsigned axes, int64_t *strides) {
  int64_t rows = 1;
  for (int d = s->rank - 1; d >= 0; d--) {
    strides[d] = axes >> d & 1 ? 0 : rows;
    rows *= axes >> d & 1 ? 1 : s->dims[d];
  }
}

enum assay_status gpu_node_view_init(struct gpu_node_view *v, struct gpu_eval *c, unsigned wanted,
                                     struct assay_error *err) {
  memset(v, 0, sizeof *v);
  int n = c->n_in < GPU_NODE_INPUTS ? c->n_in : GPU_NODE_INPUTS;
  v->infer = (struct op_infer){.node = c->node, .n_in = n, .n_out = c->n_out, .in = v->in_p};
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < n && !status; i++) {
    if (!c->in[i])
      continue;
    v->in[i] = (struct array){.dtype = c->in[i]->dtype, .shape = c->in[i]->shape};
    v->in_p[i] = &v->in[i];
    if (!(wanted >> i & 1))
      continue;
    status = gpu_host_values(c, i, &v->downloaded[i], err);
    v->in[i].bits = v->downloaded[i];
  }
  if (status)
    gpu_node_view_release(v);
  return status;
}

void gpu_node_view_release(struct gpu_node_view *v) {
  for (int i = 0; i < GPU_NODE_INPUTS; i++)
    base_free(v->downloaded[i]);
  memset(v, 0, sizeof *v);
}

enum assay_status gpu_scratch(struct gpu_eval *c, int64_t n, device_ptr *out, struct assay_error *err) {
  return gpu_temporary(c, (size_t)(n > 0 ? n : 1) * 8, out, err);
}

enum assay_status gpu_bad_make(struct gpu_eval *c, device_ptr *out, struct assay_error *err) {
  enum assay_status status = gpu_scratch(c, 1, out, err);
  return status ? status : compute_set32(c->compute, *out, UINT32_MAX, 2, err);
}

enum assay_status gpu_bad_read(struct gpu_eval *c, device_ptr bad, int64_t *position, struct assay_error *err) {
  return compute_download(c->compute, position, bad, sizeof *position, err);
}

int64_t gpu_input_integer(struct gpu_eval *c, int i, int64_t at) {
  uint64_t *values = NULL;
  int64_t value = 0;
  if (gpu_host_values(c, i, &values, NULL) == ASSAY_OK)
    value = (int64_t)values[at];
  base_free(values);
  return value;
}

struct gpu_ref gpu_ref_f64(device_ptr p) {
  return (struct gpu_ref){.data = p, .storage = GPU_F64};
}
