// SPDX-License-Identifier: Apache-2.0
// The fastest kernel that cuDNN finds, for convolutions (docs/baselines.md).
#include "cli/maker.h"

static enum assay_status yield(const struct maker_request *r, struct maker_candidate *out, struct assay_error *err) {
  return maker_library_of(r, "cudnn", out, err);
}

const struct maker maker_cudnn = {
    .name = "cudnn", .what = "the fastest kernel that cuDNN finds, for convolutions", .yield = yield};
