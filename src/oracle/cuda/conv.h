// SPDX-License-Identifier: Apache-2.0
// Convolutions on the device, as Conv and ConvTranspose call them.
#ifndef ORACLE_CUDA_CONV_H
#define ORACLE_CUDA_CONV_H

#include "oracle/cuda/contraction.h"

enum assay_status gpu_conv_run(struct gpu_eval *c, bool transposed, const struct product_budget *budget,
                               struct assay_error *err);

#endif
