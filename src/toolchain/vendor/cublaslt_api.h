// SPDX-License-Identifier: Apache-2.0
// The part of cuBLASLt's interface that the library baseline uses, declared here so that building needs no CUDA (names,
// values and meaning as in NVIDIA's "cuBLAS" manual, chapter "Using the cuBLASLt API"). It is the same in CUDA 12
// and 13.
#ifndef TOOLCHAIN_VENDOR_CUBLASLT_API_H
#define TOOLCHAIN_VENDOR_CUBLASLT_API_H

#include <stddef.h>
#include <stdint.h>

#include "compute/cuda_driver.h"

enum cublas_status {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
};
enum cublas_operation { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 };
enum cublas_compute_type { CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_32F_FAST_TF32 = 77 };
enum cuda_data_type { CUDA_R_32F = 0, CUDA_R_16F = 2, CUDA_R_16BF = 14 };

typedef struct cublasLtContext *cublasLtHandle_t;
typedef struct cublas_lt_matmul_desc *cublasLtMatmulDesc_t;
typedef struct cublas_lt_matrix_layout *cublasLtMatrixLayout_t;
typedef struct cublas_lt_preference *cublasLtMatmulPreference_t;

enum cublas_lt_layout_attribute {
  CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5,          // int32_t
  CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6, // int64_t, elements
};
enum cublas_lt_desc_attribute {
  CUBLASLT_MATMUL_DESC_TRANSA = 3,       // int32_t
  CUBLASLT_MATMUL_DESC_TRANSB = 4,       // int32_t
  CUBLASLT_MATMUL_DESC_EPILOGUE = 7,     // uint32_t
  CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8, // const void *
};
enum cublas_lt_epilogue { CUBLASLT_EPILOGUE_DEFAULT = 1, CUBLASLT_EPILOGUE_BIAS = 4 };
enum cublas_lt_preference_attribute { CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1 }; // uint64_t

struct cublas_lt_algo {
  uint64_t data[8];
};
struct cublas_lt_heuristic {
  struct cublas_lt_algo algo;
  size_t workspace_bytes;
  enum cublas_status state; // the other members mean something only with CUBLAS_STATUS_SUCCESS
  float waves;
  int reserved[4];
};

// X(name, result, parameters)
#define CUBLASLT_FUNCTIONS(X)                                                                                          \
  X(cublasLtCreate, enum cublas_status, (cublasLtHandle_t * handle))                                                   \
  X(cublasLtGetVersion, size_t, (void))                                                                                \
  X(cublasLtGetStatusString, const char *, (enum cublas_status status))                                                \
  X(cublasLtMatmulDescCreate, enum cublas_status,                                                                      \
    (cublasLtMatmulDesc_t * desc, enum cublas_compute_type compute, enum cuda_data_type scale))                        \
  X(cublasLtMatmulDescDestroy, enum cublas_status, (cublasLtMatmulDesc_t desc))                                        \
  X(cublasLtMatmulDescSetAttribute, enum cublas_status,                                                                \
    (cublasLtMatmulDesc_t desc, enum cublas_lt_desc_attribute attribute, const void *value, size_t bytes))             \
  X(cublasLtMatrixLayoutCreate, enum cublas_status,                                                                    \
    (cublasLtMatrixLayout_t * layout, enum cuda_data_type type, uint64_t rows, uint64_t columns, int64_t ld))          \
  X(cublasLtMatrixLayoutDestroy, enum cublas_status, (cublasLtMatrixLayout_t layout))                                  \
  X(cublasLtMatrixLayoutSetAttribute, enum cublas_status,                                                              \
    (cublasLtMatrixLayout_t layout, enum cublas_lt_layout_attribute attribute, const void *value, size_t bytes))       \
  X(cublasLtMatmulPreferenceCreate, enum cublas_status, (cublasLtMatmulPreference_t * preference))                     \
  X(cublasLtMatmulPreferenceDestroy, enum cublas_status, (cublasLtMatmulPreference_t preference))                      \
  X(cublasLtMatmulPreferenceSetAttribute, enum cublas_status,                                                          \
    (cublasLtMatmulPreference_t preference, enum cublas_lt_preference_attribute attribute, const void *value,          \
     size_t bytes))                                                                                                    \
  X(cublasLtMatmulAlgoGetHeuristic, enum cublas_status,                                                                \
    (cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,           \
     cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference, int wanted,            \
     struct cublas_lt_heuristic *results, int *count))                                                                 \
  X(cublasLtMatmul, enum cublas_status,                                                                                \
    (cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha, const void *a,                             \
     cublasLtMatrixLayout_t a_layout, const void *b, cublasLtMatrixLayout_t b_layout, const void *beta, const void *c, \
     cublasLtMatrixLayout_t c_layout, void *d, cublasLtMatrixLayout_t d_layout, const struct cublas_lt_algo *algo,     \
     void *workspace, size_t workspace_bytes, CUstream stream))

struct cublaslt {
#define CUBLASLT_FIELD(name, result, params) result(*name) params;
  CUBLASLT_FUNCTIONS(CUBLASLT_FIELD)
#undef CUBLASLT_FIELD
};

#endif
