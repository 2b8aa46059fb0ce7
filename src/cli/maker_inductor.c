// SPDX-License-Identifier: Apache-2.0
// torch.compile in its default mode (docs/baselines.md).
#include "cli/maker.h"

static enum assay_status yield(const struct maker_request *r, struct maker_candidate *out, struct assay_error *err) {
  (void)err;
  return maker_baseline(r, "torch.compile", out);
}

const struct maker maker_inductor = {.name = "inductor", .what = "torch.compile in its default mode", .yield = yield};
