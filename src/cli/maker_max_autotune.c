// SPDX-License-Identifier: Apache-2.0
// torch.compile, mode max-autotune (docs/baselines.md).
#include "cli/maker.h"

static enum assay_status yield(const struct maker_request *r, struct maker_candidate *out, struct assay_error *err) {
  (void)err;
  return maker_baseline(r, "torch.compile.max-autotune", out);
}

const struct maker maker_max_autotune = {
    .name = "max-autotune", .what = "torch.compile, mode max-autotune", .log = "inductor", .yield = yield};
