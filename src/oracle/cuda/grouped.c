// SPDX-License-Identifier: Apache-2.0
// Products of groups of rows on the device: a product for each group. Where the groups end is read on the host.
#include "ops/grouped.h"

#include "base/alloc.h"
#include "oracle/cuda/contraction.h"
#include "oracle/cuda/gpu_table.h"

static struct gpu_ref part_of(const struct gpu_array *a, int64_t first) {
  struct gpu_ref ref = gpu_ref_of(a);
  ref.data += (uint64_t)first * gpu_storage_bytes(a->storage);
  return ref;
}

// `terms`: of each sum; 0 where rows have no group.
static enum assay_status run_group(struct gpu_eval *c, int64_t group, struct grouped_rows rows, int64_t terms,
                                   struct assay_error *err) {
  const struct shape *w = &c->in[GROUPED_W]->shape;
  const int64_t k = w->dims[1], n = w->dims[2], m = rows.end - rows.begin;
  struct product p = {.batches = 1,
                      .m = m,
                      .n = n,
                      .k = terms,
                      .a = part_of(c->in[GROUPED_X], rows.begin * k),
                      .b = part_of(c->in[GROUPED_W], group * k * n),
                      .a_batch = product_line(1, 0),
                      .a_line = product_line(m, k),
                      .a_depth = product_line(terms, 1),
                      .b_batch = product_line(1, 0),
                      .b_line = product_line(n, 1),
                      .b_depth = product_line(terms, n),
                      .arith = gpu_arith_of(&c->arith),
                      .out = c->out[0].data + (uint64_t)(rows.begin * n) * sizeof(double),
                      .sigma = c->sigma ? c->sigma + (uint64_t)(rows.begin * n) * sizeof(float) : 0,
                      .products = true,
                      .sums = true,
                      .alpha = 1};
  p.arith.key = noise_derive(p.arith.key, (uint64_t)group);
  gpu_start_init(&p.start, c, 1);
  for (int i = 0; i < p.start.n; i++)
    p.start.from[i].data +=
        (uint64_t)(rows.begin * p.start.stride[i][0]) * gpu_storage_bytes((enum gpu_storage)p.start.from[i].storage);
  p.start.extent[0] = m;
  return product_run(c, &p, err);
}

enum assay_status gpu_grouped_eval(struct gpu_eval *c, struct assay_error *err) {
  const struct shape *w = &c->in[GROUPED_W]->shape;
  const int64_t t = c->out[0].shape.dims[0];
  uint64_t *ends = NULL;
  struct grouped_rows rows = {0};
  enum assay_status status = gpu_host_values(c, GROUPED_ENDS, &ends, err);
  c->has_sigma = c->sigma != 0;
  for (int64_t g = 0; g < w->dims[0] && !status; g++) {
    rows = grouped_rows_of((const int64_t *)ends, g, t, rows.end);
    status = run_group(c, g, rows, w->dims[1], err);
  }
  if (!status)
    status = run_group(c, 0, (struct grouped_rows){rows.end, t}, 0, err);
  base_free(ends);
  return status;
}
