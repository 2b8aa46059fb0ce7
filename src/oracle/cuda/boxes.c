// SPDX-License-Identifier: Apache-2.0
// NonMaxSuppression beside a device: its inputs are constants, and known on the host.
#include "ops/boxes.h"

#include "base/alloc.h"
#include "oracle/cuda/gpu_table.h"
#include "oracle/cuda/rows.h"

enum assay_status gpu_suppression_eval(struct gpu_eval *c, struct assay_error *err) {
  struct gpu_node_view v;
  int64_t count = 0, n = c->out[0].shape.dims[0], *indices = base_calloc((size_t)(3 * n) + 1, sizeof *indices);
  enum assay_status status = indices ? gpu_node_view_init(&v, c, 0x1f, err) : error_nomem(err, "boxes");
  if (!status) {
    status = boxes_select(&v.infer, &count, indices, err);
    gpu_node_view_release(&v);
  }
  if (!status && n > 0)
    status = compute_upload(c->compute, c->out[0].data, indices, (size_t)(3 * n) * sizeof *indices, err);
  base_free(indices);
  return status;
}
