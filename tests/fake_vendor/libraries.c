// SPDX-License-Identifier: Apache-2.0
// cuBLASLt and cuDNN that say on standard error what they are asked, and launch kernels of
// tests/fuzz/corpus/cubin/small.cu, whose cubin lies next to them.
//
// Algorithms: number 1 is the fastest, and uses workspace. Number 2 was proposed and fails. A product with m = 7, and a
// convolution of one image, have none.
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_vendor/fake.h"
#include "toolchain/vendor/cublaslt_api.h"
#include "toolchain/vendor/cudnn_api.h"

#define EXPORTED __attribute__((visibility("default")))
#define DECLARATION(name, result, params) EXPORTED result name params;
CUBLASLT_FUNCTIONS(DECLARATION)
CUDNN_FUNCTIONS(DECLARATION)

enum { N_ALGORITHMS = 3 };
static const float MS[N_ALGORITHMS] = {0.5f, 0.25f, 0.125f};
static const size_t WORKSPACE[N_ALGORITHMS] = {0, 4096, 0};

static void load_code(void) {
  static char code[1 << 16], path[4096];
  static bool loaded;
  Dl_info info;
  if (loaded || !dladdr((const void *)WORKSPACE, &info))
    return;
  snprintf(path, sizeof path, "%s", info.dli_fname);
  char *slash = strrchr(path, '/');
  snprintf(slash, sizeof path - (size_t)(slash - path), "/small.cubin");
  FILE *f = fopen(path, "rb");
  size_t n = f ? fread(code, 1, sizeof code, f) : 0;
  if (f)
    fclose(f);
  fake_load(code, n);
  loaded = true;
}

// "scale" reads `from` and writes `to`; with workspace "turn" does so from there.
static void compute(const void *from, const void *to, int n, int algo, const void *workspace) {
  struct {
    const void *x, *y;
    int64_t n;
  } pair = {workspace, to, n};
  void *scale[] = {&from, workspace ? (void *)&workspace : (void *)&to, &n}, *turn[] = {&pair};
  fake_launch(0x101, "scale", scale, MS[algo]);
  if (workspace)
    fake_launch(0x102, "turn", turn, MS[algo]);
}

// ---- cuBLASLt

struct cublas_lt_matmul_desc {
  enum cublas_compute_type compute;
  int32_t transposed[2];
  uint32_t epilogue;
  const void *bias;
};
struct cublas_lt_matrix_layout {
  enum cuda_data_type type;
  uint64_t rows, columns;
  int64_t ld, stride;
  int32_t batch;
};
struct cublas_lt_preference {
  uint64_t bytes;
};

enum cublas_status cublasLtCreate(cublasLtHandle_t *handle) {
  load_code();
  *handle = (cublasLtHandle_t)(uintptr_t)1;
  return CUBLAS_STATUS_SUCCESS;
}
size_t cublasLtGetVersion(void) {
  return 130000;
}
const char *cublasLtGetStatusString(enum cublas_status status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED ? "not supported" : "a fake's error";
}
enum cublas_status cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc, enum cublas_compute_type compute,
                                            enum cuda_data_type scale) {
  *desc = calloc(1, sizeof **desc);
  (*desc)->compute = compute;
  (*desc)->epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  return scale == CUDA_R_32F ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
enum cublas_status cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  free(desc);
  return CUBLAS_STATUS_SUCCESS;
}
enum cublas_status cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc, enum cublas_lt_desc_attribute attribute,
                                                  const void *value, size_t bytes) {
  void *to = attribute == CUBLASLT_MATMUL_DESC_TRANSA     ? (void *)&desc->transposed[0]
             : attribute == CUBLASLT_MATMUL_DESC_TRANSB   ? (void *)&desc->transposed[1]
             : attribute == CUBLASLT_MATMUL_DESC_EPILOGUE ? (void *)&desc->epilogue
                                                          : (void *)&desc->bias;
  if (bytes != (attribute == CUBLASLT_MATMUL_DESC_BIAS_POINTER ? sizeof desc->bias : sizeof(int32_t)))
    return CUBLAS_STATUS_INVALID_VALUE;
  memcpy(to, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}
enum cublas_status cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, enum cuda_data_type type, uint64_t rows,
                                              uint64_t columns, int64_t ld) {
  *layout = malloc(sizeof **layout);
  **layout = (struct cublas_lt_matrix_layout){type, rows, columns, ld, 0, 1};
  return ld >= (int64_t)rows ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
enum cublas_status cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  free(layout);
  return CUBLAS_STATUS_SUCCESS;
}
enum cublas_status cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                    enum cublas_lt_layout_attribute attribute, const void *value,
                                                    size_t bytes) {
  bool count = attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT;
  if (bytes != (count ? sizeof layout->batch : sizeof layout->stride))
    return CUBLAS_STATUS_INVALID_VALUE;
  memcpy(count ? (void *)&layout->batch : (void *)&layout->stride, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}
enum cublas_status cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  *preference = calloc(1, sizeof **preference);
  return CUBLAS_STATUS_SUCCESS;
}
enum cublas_status cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  free(preference);
  return CUBLAS_STATUS_SUCCESS;
}
enum cublas_status cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                        enum cublas_lt_preference_attribute attribute,
                                                        const void *value, size_t bytes) {
  if (attribute != CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES || bytes != sizeof preference->bytes)
    return CUBLAS_STATUS_INVALID_VALUE;
  memcpy(&preference->bytes, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

static void say_matrix(const char *name, cublasLtMatrixLayout_t l) {
  fprintf(stderr, "fake %s: type %d, %d x %d, ld %d, batch %d by %d\n", name, (int)l->type, (int)l->rows,
          (int)l->columns, (int)l->ld, (int)l->batch, (int)l->stride);
}

enum cublas_status cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                                  cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                                  cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                                  cublasLtMatmulPreference_t preference, int wanted,
                                                  struct cublas_lt_heuristic *results, int *count) {
  (void)handle, (void)c;
  fprintf(stderr, "fake product: compute %d, transposed %d %d, epilogue %d, bias %s, workspace %d MiB\n",
          (int)desc->compute, (int)desc->transposed[0], (int)desc->transposed[1], (int)desc->epilogue,
          desc->bias ? "given" : "none", (int)(preference->bytes >> 20));
  say_matrix("a", a);
  say_matrix("b", b);
  say_matrix("d", d);
  *count = 0;
  for (int i = 0; i < N_ALGORITHMS && i < wanted && d->rows != 7; i++) {
    results[i] = (struct cublas_lt_heuristic){.workspace_bytes = WORKSPACE[i]};
    results[i].algo.data[0] = (uint64_t)i;
    ++*count;
  }
  return CUBLAS_STATUS_SUCCESS;
}

enum cublas_status cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha, const void *a,
                                  cublasLtMatrixLayout_t a_layout, const void *b, cublasLtMatrixLayout_t b_layout,
                                  const void *beta, const void *c, cublasLtMatrixLayout_t c_layout, void *d,
                                  cublasLtMatrixLayout_t d_layout, const struct cublas_lt_algo *algo, void *workspace,
                                  size_t workspace_bytes, CUstream stream) {
  (void)handle, (void)desc, (void)alpha, (void)a_layout, (void)b, (void)b_layout, (void)beta, (void)c, (void)c_layout;
  int number = (int)algo->data[0];
  if (number == 2 || stream || workspace_bytes != WORKSPACE[number] || !workspace != !workspace_bytes ||
      (uintptr_t)workspace % 256 != 0)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  compute(a, d, (int)(d_layout->rows * d_layout->columns), number, workspace);
  return CUBLAS_STATUS_SUCCESS;
}

// ---- cuDNN

struct dims {
  enum cudnn_data_type type;
  int rank, dims[8];
};
struct cudnnTensorStruct {
  struct dims d;
};
struct cudnnFilterStruct {
  struct dims d;
};
struct cudnnConvolutionStruct {
  int space, pads[3], strides[3], dilations[3], groups;
  enum cudnn_math math;
};

enum cudnn_status cudnnCreate(cudnnHandle_t *handle) {
  load_code();
  *handle = (cudnnHandle_t)(uintptr_t)1;
  return CUDNN_STATUS_SUCCESS;
}
size_t cudnnGetVersion(void) {
  return 91900;
}
const char *cudnnGetErrorString(enum cudnn_status status) {
  (void)status;
  return "a fake's error";
}
static void set(struct dims *d, enum cudnn_data_type type, int rank, const int *dims) {
  *d = (struct dims){.type = type, .rank = rank};
  memcpy(d->dims, dims, (size_t)rank * sizeof *dims);
}
enum cudnn_status cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *desc) {
  *desc = calloc(1, sizeof **desc);
  return CUDNN_STATUS_SUCCESS;
}
enum cudnn_status cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t desc) {
  free(desc);
  return CUDNN_STATUS_SUCCESS;
}
enum cudnn_status cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t desc, enum cudnn_data_type type, int rank,
                                             const int *dims, const int *strides) {
  set(&desc->d, type, rank, dims);
  return strides[rank - 1] == 1 && rank >= 4 ? CUDNN_STATUS_SUCCESS : (enum cudnn_status)2000;
}
enum cudnn_status cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t *desc) {
  *desc = calloc(1, sizeof **desc);
  return CUDNN_STATUS_SUCCESS;
}
enum cudnn_status cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t desc) {
  free(desc);
  return CUDNN_STATUS_SUCCESS;
}
enum cudnn_status cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t desc, enum cudnn_data_type type,
                                             enum cudnn_tensor_format format, int rank, const int *dims) {
  set(&desc->d, type, rank, dims);
  return format == CUDNN_TENSOR_NCHW ? CUDNN_STATUS_SUCCESS : (enum cudnn_status)2000;
}
enum cudnn_status cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *desc) {
  *desc = calloc(1, sizeof **desc);
  return CUDNN_STATUS_SUCCESS;
}
enum cudnn_status cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t desc) {
  free(desc);
  return CUDNN_STATUS_SUCCESS;
}
enum cudnn_status cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t desc, int space, const int *pads,
                                                  const int *strides, const int *dilations,
                                                  enum cudnn_convolution_mode mode, enum cudnn_data_type type) {
  desc->space = space;
  memcpy(desc->pads, pads, (size_t)space * sizeof *pads);
  memcpy(desc->strides, strides, (size_t)space * sizeof *strides);
  memcpy(desc->dilations, dilations, (size_t)space * sizeof *dilations);
  return mode == CUDNN_CROSS_CORRELATION && type == CUDNN_DATA_FLOAT ? CUDNN_STATUS_SUCCESS : (enum cudnn_status)2000;
}
enum cudnn_status cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t desc, int groups) {
  desc->groups = groups;
  return CUDNN_STATUS_SUCCESS;
}
enum cudnn_status cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t desc, enum cudnn_math math) {
  desc->math = math;
  return CUDNN_STATUS_SUCCESS;
}

static void say_dims(const char *name, const int *dims, int n) {
  fprintf(stderr, " %s", name);
  for (int i = 0; i < n; i++)
    fprintf(stderr, "%s%d", i ? "," : " ", dims[i]);
}

static enum cudnn_status find(const char *what, const struct dims *x, const struct dims *w, const struct dims *y,
                              cudnnConvolutionDescriptor_t desc, int wanted, int *count, struct cudnn_perf *results) {
  static const int order[N_ALGORITHMS] = {2, 1, 0}; // the fastest first; the first failed
  fprintf(stderr, "fake %s: type %d, math %d, groups %d,", what, (int)x->type, (int)desc->math, desc->groups);
  say_dims("x", x->dims, x->rank);
  say_dims("w", w->dims, w->rank);
  say_dims("y", y->dims, y->rank);
  say_dims("pads", desc->pads, desc->space);
  say_dims("strides", desc->strides, desc->space);
  say_dims("dilations", desc->dilations, desc->space);
  fprintf(stderr, "\n");
  *count = 0;
  for (int i = 0; i < N_ALGORITHMS && i < wanted && x->dims[0] != 1; i++) {
    int algo = order[i];
    results[i] = (struct cudnn_perf){.algo = algo,
                                     .status = algo == 2 ? (enum cudnn_status)3000 : CUDNN_STATUS_SUCCESS,
                                     .ms = MS[algo],
                                     .workspace_bytes = WORKSPACE[algo],
                                     .math = CUDNN_TENSOR_OP_MATH};
    ++*count;
  }
  return CUDNN_STATUS_SUCCESS;
}

enum cudnn_status cudnnFindConvolutionForwardAlgorithmEx(cudnnHandle_t handle, cudnnTensorDescriptor_t x_desc,
                                                         const void *x, cudnnFilterDescriptor_t w_desc, const void *w,
                                                         cudnnConvolutionDescriptor_t desc,
                                                         cudnnTensorDescriptor_t y_desc, void *y, int wanted,
                                                         int *count, struct cudnn_perf *results, void *workspace,
                                                         size_t workspace_bytes) {
  (void)handle, (void)x, (void)w, (void)y, (void)workspace;
  fprintf(stderr, "fake workspace: %d MiB\n", (int)(workspace_bytes >> 20));
  return find("forward", &x_desc->d, &w_desc->d, &y_desc->d, desc, wanted, count, results);
}
enum cudnn_status cudnnFindConvolutionBackwardDataAlgorithmEx(cudnnHandle_t handle, cudnnFilterDescriptor_t w_desc,
                                                              const void *w, cudnnTensorDescriptor_t dy_desc,
                                                              const void *dy, cudnnConvolutionDescriptor_t desc,
                                                              cudnnTensorDescriptor_t dx_desc, void *dx, int wanted,
                                                              int *count, struct cudnn_perf *results, void *workspace,
                                                              size_t workspace_bytes) {
  (void)handle, (void)w, (void)dy, (void)dx, (void)workspace, (void)workspace_bytes;
  return find("backward", &dy_desc->d, &w_desc->d, &dx_desc->d, desc, wanted, count, results);
}
enum cudnn_status cudnnConvolutionForward(cudnnHandle_t handle, const void *alpha, cudnnTensorDescriptor_t x_desc,
                                          const void *x, cudnnFilterDescriptor_t w_desc, const void *w,
                                          cudnnConvolutionDescriptor_t desc, int algo, void *workspace,
                                          size_t workspace_bytes, const void *beta, cudnnTensorDescriptor_t y_desc,
                                          void *y) {
  (void)handle, (void)alpha, (void)x_desc, (void)w_desc, (void)w, (void)beta, (void)y_desc;
  // A contract without TF32 stays without it, whatever the search reported.
  if (workspace_bytes != WORKSPACE[algo] || desc->math != CUDNN_FMA_MATH)
    return (enum cudnn_status)2000;
  compute(x, y, 64, algo, workspace);
  return CUDNN_STATUS_SUCCESS;
}
enum cudnn_status cudnnConvolutionBackwardData(cudnnHandle_t handle, const void *alpha, cudnnFilterDescriptor_t w_desc,
                                               const void *w, cudnnTensorDescriptor_t dy_desc, const void *dy,
                                               cudnnConvolutionDescriptor_t desc, int algo, void *workspace,
                                               size_t workspace_bytes, const void *beta,
                                               cudnnTensorDescriptor_t dx_desc, void *dx) {
  (void)handle, (void)alpha, (void)w_desc, (void)w, (void)desc, (void)beta, (void)dy_desc, (void)dx_desc;
  if (workspace_bytes != WORKSPACE[algo])
    return (enum cudnn_status)2000;
  compute(dy, dx, 64, algo, workspace);
  return CUDNN_STATUS_SUCCESS;
}
enum cudnn_status cudnnAddTensor(cudnnHandle_t handle, const void *alpha, cudnnTensorDescriptor_t a_desc, const void *a,
                                 const void *beta, cudnnTensorDescriptor_t c_desc, void *c) {
  (void)handle, (void)alpha, (void)beta;
  say_dims("fake bias", a_desc->d.dims, a_desc->d.rank);
  fprintf(stderr, "\n");
  compute(a, c, c_desc->d.dims[1], 0, NULL);
  return CUDNN_STATUS_SUCCESS;
}
