// SPDX-License-Identifier: Apache-2.0
// What casts and elementwise operators share on the host side.
#ifndef ORACLE_CUDA_CONVERT_H
#define ORACLE_CUDA_CONVERT_H

#include "ops/narrow.h"
#include "oracle/cuda/gpu.h"
#include "oracle/cuda/convert_args.h"

struct convert_type convert_type_of(enum dtype t);
struct gpu_narrowing gpu_narrowing_of(const struct narrowing *n);
// Rounding to a contract's storage type, as arith_storing and arith_store of ops/arith.h.
struct gpu_narrowing gpu_storing_of(const struct arith *storing, enum dtype dtype);

#endif
