// What casts and elementwise operators share on the host side.
#ifndef ORACLE_CUDA_CONVERT_H
#define ORACLE_CUDA_CONVERT_H

#include "ops/narrow.h"
#include "oracle/cuda/gpu.h"
#include "oracle/cuda/convert_args.h"

struct convert_type convert_type_of(enum dtype t);
struct gpu_narrowing gpu_narrowing_of(const struct narrowing *n);

// Rounds n doubles where they lie, as arith_stored does on the CPU (convert.c).
enum assay_status gpu_store_in_place(struct compute *c, device_ptr values, int64_t n, enum dtype t,
                                     const struct arith *storing, struct assay_error *err);

#endif
