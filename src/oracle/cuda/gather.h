// SPDX-License-Identifier: Apache-2.0
// Indices as data on a device: what gathering and scattering share.
#ifndef ORACLE_CUDA_GATHER_H
#define ORACLE_CUDA_GATHER_H

#include "oracle/cuda/move.h"

#include "oracle/cuda/gather_args.h"

extern const struct device_code gpu_gather_program;

// What the node's data (input 0) and indices (input 1) say; `bad` is made.
enum assay_status gpu_element_args(struct gpu_eval *c, struct element_args *a, struct assay_error *err);
enum assay_status gpu_tuple_args(struct gpu_eval *c, int batch_dims, struct tuple_args *a, struct assay_error *err);

// ASSAY_ERR_INVALID when an index was outside; the k-th of every `tuple` belongs to extents[k].
enum assay_status gpu_check_indices(struct gpu_eval *c, device_ptr bad, const int64_t *extents, int tuple,
                                    struct assay_error *err);

#endif
