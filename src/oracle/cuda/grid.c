// SPDX-License-Identifier: Apache-2.0
// GridSample on a device.
#include "ops/grid.h"

#include "oracle/cuda/convert.h"
#include "oracle/cuda/gpu_table.h"
#include "oracle/cuda/grid_args.h"
#include "oracle/cuda/rows.h"

_Static_assert(GRID_SAMPLE_DIMS >= (int)GRID_MAX_DIMS && GRID_SAMPLE_NEAREST == (int)GRID_NEAREST &&
                   GRID_SAMPLE_LINEAR == (int)GRID_LINEAR && GRID_SAMPLE_ZEROS == (int)GRID_ZEROS &&
                   GRID_SAMPLE_BORDER == (int)GRID_BORDER,
               "as in ops/grid.h");

extern const char code_convert_args[], code_convert_device[], code_grid_args[], code_grid[];
static const struct device_code program = {
    "grid",
    (const char *const[]){GPU_COMMON_TEXTS, code_convert_args, code_convert_device, code_grid_args, code_grid, NULL},
    false};

enum assay_status gpu_grid_sample_eval(struct gpu_eval *c, struct assay_error *err) {
  struct gpu_node_view v;
  struct grid g;
  enum assay_status status = gpu_node_view_init(&v, c, 0, err);
  if (!status)
    status = grid_read(&v.infer, &g, err);
  gpu_node_view_release(&v);
  if (status)
    return status;
  struct convert_type to = convert_type_of(c->out[0].dtype);
  struct grid_args a = {.x = gpu_ref_of(c->in[0]),
                        .at = gpu_ref_of(c->in[1]),
                        .arith = gpu_arith_of(&c->arith),
                        .y = c->out[0].data,
                        .count = shape_count(&c->out[0].shape),
                        .channels = g.channels,
                        .space = g.space,
                        .places = g.places,
                        .dims = g.dims,
                        .mode = (int32_t)g.mode,
                        .padding = (int32_t)g.padding,
                        .align_corners = g.align_corners,
                        .to_float = to.is_float,
                        .to_bits = to.bits,
                        .to_unsigned = to.is_unsigned};
  for (int d = 0; d < g.dims; d++) {
    a.extent[d] = g.extent[d];
    a.stride[d] = g.stride[d];
  }
  return compute_launch(c->compute, &program, "grid_sample", a.count, &a, sizeof a, err);
}
