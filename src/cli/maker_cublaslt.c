// SPDX-License-Identifier: Apache-2.0
// The fastest kernel that cuBLASLt proposes, for products (docs/baselines.md).
#include "cli/maker.h"

static enum assay_status yield(const struct maker_request *r, struct maker_candidate *out, struct assay_error *err) {
  return maker_library_of(r, "cublaslt", out, err);
}

const struct maker maker_cublaslt = {
    .name = "cublaslt", .what = "the fastest kernel that cuBLASLt proposes, for products", .yield = yield};
