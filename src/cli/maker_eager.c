// SPDX-License-Identifier: Apache-2.0
// PyTorch, operator by operator (docs/baselines.md).
#include "cli/maker.h"

static enum assay_status yield(const struct maker_request *r, struct maker_candidate *out, struct assay_error *err) {
  (void)err;
  return maker_baseline(r, "torch.eager", out);
}

const struct maker maker_eager = {.name = "eager", .what = "PyTorch, operator by operator", .yield = yield};
