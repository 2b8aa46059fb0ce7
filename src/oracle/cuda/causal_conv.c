// SPDX-License-Identifier: Apache-2.0
// CausalConvWithState on a device.
#include "ops/causal_conv.h"

#include "ops/start.h"
#include "oracle/cuda/gpu_table.h"
#include "oracle/cuda/rows.h"

#include "oracle/cuda/causal_conv_args.h"

extern const char code_causal_conv_args[], code_causal_conv[];
static const struct device_code program = {
    "causal_conv", (const char *const[]){GPU_COMMON_TEXTS, code_causal_conv_args, code_causal_conv, NULL}, false};

enum assay_status gpu_causal_conv_eval(struct gpu_eval *c, struct assay_error *err) {
  struct gpu_node_view view;
  struct causal_conv v;
  enum assay_status status = gpu_node_view_init(&view, c, 0, err);
  if (!status)
    status = causal_conv_read(&view.infer, &v, err);
  bool bias = !status && op_has(&view.infer, CAUSAL_BIAS), past = !status && op_has(&view.infer, CAUSAL_PAST);
  gpu_node_view_release(&view);
  if (status)
    return status;
  struct causal_conv_args a = {.x = gpu_ref_of(c->in[CAUSAL_X]),
                               .w = gpu_ref_of(c->in[CAUSAL_W]),
                               .arith = gpu_arith_of(&c->arith),
                               .y = c->out[0].data,
                               .state = c->n_out > 1 ? c->out[1].data : 0,
                               .count = shape_count(&c->out[0].shape),
                               .channels = v.channels,
                               .length = v.length,
                               .taps = v.taps,
                               .states = v.batch * v.channels * (v.taps - 1),
                               .swish = v.swish};
  struct shape channels = start_channels(v.channels, 3);
  gpu_start_init(&a.start, c, 1);
  if (v.swish)
    a.start.n = 0; // what is added comes after the activation
  if (bias) {
    a.bias = gpu_ref_of(c->in[CAUSAL_BIAS]);
    gpu_start_add(&a.start, c->in[CAUSAL_BIAS], &channels, 1);
  }
  if (past)
    a.past = gpu_ref_of(c->in[CAUSAL_PAST]);
  status = compute_launch(c->compute, &program, "causal_conv", a.count, &a, sizeof a, err);
  return status || !a.state ? status
                            : compute_launch(c->compute, &program, "causal_state", a.states, &a, sizeof a, err);
}
