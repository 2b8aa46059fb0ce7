// SPDX-License-Identifier: Apache-2.0
// What a compute's GPU is called and how large its last-level cache is.
#ifndef DEVICE_DESCRIBE_H
#define DEVICE_DESCRIBE_H

#include "compute/compute.h"

struct compute_description {
  char name[128]; // "NVIDIA H100 80GB HBM3"
  int64_t cache_bytes;
};

// ASSAY_ERR_ENVIRONMENT when the compute is not a GPU's.
enum assay_status compute_describe(struct compute *c, struct compute_description *out, struct assay_error *err);

#endif
