// SPDX-License-Identifier: Apache-2.0
// Shared by the files of the oracle on a device: arrays, and the kernels that pass over a whole tensor.
#ifndef ORACLE_CUDA_GPU_RUN_H
#define ORACLE_CUDA_GPU_RUN_H

#include "oracle/cuda/gpu.h"

// An owned array with GPU_F64 or GPU_I64 storage; its elements are not set.
enum assay_status gpu_array_create(struct compute *c, enum dtype dtype, const struct shape *shape,
                                   struct gpu_array *out, struct assay_error *err);

// An owned array of a constant's elements in their own type.
enum assay_status gpu_array_upload(struct compute *c, const struct tensor *t, struct gpu_array *out,
                                   struct assay_error *err);

// The elements as doubles or int64; heap memory (base_free). Waits for the device.
enum assay_status gpu_array_download(struct compute *c, const struct gpu_array *a, uint64_t **out,
                                     struct assay_error *err);

// Rounds n doubles in place, as arith_store does to elements from 0 on. dtype: the storage type.
enum assay_status gpu_round(struct compute *c, enum dtype dtype, device_ptr values, int64_t n,
                            const struct arith *storing, struct assay_error *err);

// A rounded copy, owned, as run_store of oracle/run.h (convert.c).
enum assay_status gpu_array_round(struct compute *c, const struct gpu_array *from, const struct arith *storing,
                                  struct gpu_array *out, struct assay_error *err);

// Copies `from`, whatever its storage, to an array of gpu_array_create (convert.c).
enum assay_status gpu_array_widen(struct compute *c, const struct gpu_array *from, struct gpu_array *to,
                                  struct assay_error *err);

// Whether two arrays of gpu_array_create, of one shape, have the same bits (convert.c).
enum assay_status gpu_array_same(struct compute *c, const struct gpu_array *a, const struct gpu_array *b, bool *same,
                                 struct assay_error *err);

// Takes *settled back where the answer depends on casts of what an integer type cannot hold, as oracle_answer_make
// does.
enum assay_status gpu_find_open_casts(const struct gpu_request *r, bool *settled, struct assay_error *err);

#endif
