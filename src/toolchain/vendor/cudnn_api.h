// SPDX-License-Identifier: Apache-2.0
// The part of cuDNN's interface that the library baseline uses, declared here so that building needs no CUDA (names,
// values and meaning as in NVIDIA's "cuDNN" API reference, the legacy API of cudnn_cnn and cudnn_ops). cuDNN 9 calls
// these functions deprecated and has them all.
#ifndef TOOLCHAIN_VENDOR_CUDNN_API_H
#define TOOLCHAIN_VENDOR_CUDNN_API_H

#include <stddef.h>

enum cudnn_status { CUDNN_STATUS_SUCCESS = 0 };
enum cudnn_data_type { CUDNN_DATA_FLOAT = 0, CUDNN_DATA_HALF = 2, CUDNN_DATA_BFLOAT16 = 9 };
enum cudnn_tensor_format { CUDNN_TENSOR_NCHW = 0 };
enum cudnn_convolution_mode { CUDNN_CROSS_CORRELATION = 1 };
// How numbers of type float may be multiplied: DEFAULT in TF32 where the GPU has it, FMA not. (There is also
// TENSOR_OP_MATH_ALLOW_CONVERSION, which rounds them to half precision: no contract of float tensors allows that.)
enum cudnn_math { CUDNN_DEFAULT_MATH = 0, CUDNN_TENSOR_OP_MATH = 1, CUDNN_FMA_MATH = 3 };

typedef struct cudnnContext *cudnnHandle_t;
typedef struct cudnnTensorStruct *cudnnTensorDescriptor_t;
typedef struct cudnnFilterStruct *cudnnFilterDescriptor_t;
typedef struct cudnnConvolutionStruct *cudnnConvolutionDescriptor_t;

// cudnnConvolutionFwdAlgoPerf_t, and cudnnConvolutionBwdDataAlgoPerf_t likewise.
struct cudnn_perf {
  int algo;
  enum cudnn_status status;
  float ms;
  size_t workspace_bytes;
  int determinism;
  enum cudnn_math math;
  int reserved[3];
};

// X(name, result, parameters)
#define CUDNN_FUNCTIONS(X)                                                                                             \
  X(cudnnCreate, enum cudnn_status, (cudnnHandle_t * handle))                                                          \
  X(cudnnGetVersion, size_t, (void))                                                                                   \
  X(cudnnGetErrorString, const char *, (enum cudnn_status status))                                                     \
  X(cudnnCreateTensorDescriptor, enum cudnn_status, (cudnnTensorDescriptor_t * desc))                                  \
  X(cudnnDestroyTensorDescriptor, enum cudnn_status, (cudnnTensorDescriptor_t desc))                                   \
  X(cudnnSetTensorNdDescriptor, enum cudnn_status,                                                                     \
    (cudnnTensorDescriptor_t desc, enum cudnn_data_type type, int rank, const int *dims, const int *strides))          \
  X(cudnnCreateFilterDescriptor, enum cudnn_status, (cudnnFilterDescriptor_t * desc))                                  \
  X(cudnnDestroyFilterDescriptor, enum cudnn_status, (cudnnFilterDescriptor_t desc))                                   \
  X(cudnnSetFilterNdDescriptor, enum cudnn_status,                                                                     \
    (cudnnFilterDescriptor_t desc, enum cudnn_data_type type, enum cudnn_tensor_format format, int rank,               \
     const int *dims))                                                                                                 \
  X(cudnnCreateConvolutionDescriptor, enum cudnn_status, (cudnnConvolutionDescriptor_t * desc))                        \
  X(cudnnDestroyConvolutionDescriptor, enum cudnn_status, (cudnnConvolutionDescriptor_t desc))                         \
  X(cudnnSetConvolutionNdDescriptor, enum cudnn_status,                                                                \
    (cudnnConvolutionDescriptor_t desc, int space, const int *pads, const int *strides, const int *dilations,          \
     enum cudnn_convolution_mode mode, enum cudnn_data_type compute))                                                  \
  X(cudnnSetConvolutionGroupCount, enum cudnn_status, (cudnnConvolutionDescriptor_t desc, int groups))                 \
  X(cudnnSetConvolutionMathType, enum cudnn_status, (cudnnConvolutionDescriptor_t desc, enum cudnn_math math))         \
  X(cudnnFindConvolutionForwardAlgorithmEx, enum cudnn_status,                                                         \
    (cudnnHandle_t handle, cudnnTensorDescriptor_t x_desc, const void *x, cudnnFilterDescriptor_t w_desc,              \
     const void *w, cudnnConvolutionDescriptor_t desc, cudnnTensorDescriptor_t y_desc, void *y, int wanted,            \
     int *count, struct cudnn_perf *results, void *workspace, size_t workspace_bytes))                                 \
  X(cudnnFindConvolutionBackwardDataAlgorithmEx, enum cudnn_status,                                                    \
    (cudnnHandle_t handle, cudnnFilterDescriptor_t w_desc, const void *w, cudnnTensorDescriptor_t dy_desc,             \
     const void *dy, cudnnConvolutionDescriptor_t desc, cudnnTensorDescriptor_t dx_desc, void *dx, int wanted,         \
     int *count, struct cudnn_perf *results, void *workspace, size_t workspace_bytes))                                 \
  X(cudnnConvolutionForward, enum cudnn_status,                                                                        \
    (cudnnHandle_t handle, const void *alpha, cudnnTensorDescriptor_t x_desc, const void *x,                           \
     cudnnFilterDescriptor_t w_desc, const void *w, cudnnConvolutionDescriptor_t desc, int algo, void *workspace,      \
     size_t workspace_bytes, const void *beta, cudnnTensorDescriptor_t y_desc, void *y))                               \
  X(cudnnConvolutionBackwardData, enum cudnn_status,                                                                   \
    (cudnnHandle_t handle, const void *alpha, cudnnFilterDescriptor_t w_desc, const void *w,                           \
     cudnnTensorDescriptor_t dy_desc, const void *dy, cudnnConvolutionDescriptor_t desc, int algo, void *workspace,    \
     size_t workspace_bytes, const void *beta, cudnnTensorDescriptor_t dx_desc, void *dx))                             \
  X(cudnnAddTensor, enum cudnn_status,                                                                                 \
    (cudnnHandle_t handle, const void *alpha, cudnnTensorDescriptor_t a_desc, const void *a, const void *beta,         \
     cudnnTensorDescriptor_t c_desc, void *c))

struct cudnn {
#define CUDNN_FIELD(name, result, params) result(*name) params;
  CUDNN_FUNCTIONS(CUDNN_FIELD)
#undef CUDNN_FIELD
};

#endif
