// SPDX-License-Identifier: Apache-2.0
// Convolutions by cuDNN: its own search measures its algorithms, and the fastest is taken. A transposed convolution is
// the gradient of a convolution with regard to its data.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "toolchain/vendor/cudnn_api.h"
#include "toolchain/vendor/vendor.h"

enum { MOST_RESULTS = 16 };
// What the search may use: many algorithms of large images want to lay them out anew. As much as there is.
static const size_t MOST_WORKSPACE = (size_t)4 << 30, LEAST_WORKSPACE = (size_t)64 << 20;

struct vendor_library {
  struct cudnn dnn;
  const struct cuda_driver *cu;
  cudnnHandle_t handle;
};

struct vendor_engine {
  struct vendor_library *library;
  struct vendor_convolution convolution;
  cudnnTensorDescriptor_t x, y, bias;
  cudnnFilterDescriptor_t w;
  cudnnConvolutionDescriptor_t desc;
  struct cudnn_perf chosen;
  struct vendor_workspace workspace;
};

static const struct vendor_entry entries[] = {
#define ENTRY(name, result, params) {#name, offsetof(struct cudnn, name)},
    CUDNN_FUNCTIONS(ENTRY)
#undef ENTRY
};

static const char *const names[] = {"libcudnn.so.9", "libcudnn.so", NULL};

static enum assay_status check(const struct vendor_library *l, enum cudnn_status status, const char *what,
                               struct assay_error *err) {
  if (status == CUDNN_STATUS_SUCCESS)
    return ASSAY_OK;
  return error_set(err, ASSAY_ERR_UNSUPPORTED, "cuDNN cannot %s: %s", what, l->dnn.cudnnGetErrorString(status));
}

static enum assay_status load(const struct vendor_paths *p, const struct cuda_driver *cu, struct vendor_library **out,
                              struct assay_error *err) {
  const char *path;
  void *handle = vendor_load(p->cudnn, names, &path);
  if (!handle)
    return error_set(
        err, ASSAY_ERR_ENVIRONMENT,
        "cuDNN cannot be loaded: %s; install it (libcudnn9-cuda-13 in NVIDIA's repository), or `pip install "
        "nvidia-cudnn-cu13` and point ASSAY_CUDNN to its libcudnn.so.9",
        dlerror());
  struct vendor_library *l = base_calloc(1, sizeof *l);
  if (!l)
    return error_nomem(err, "cuDNN");
  l->cu = cu;
  enum assay_status status = vendor_fill(handle, entries, sizeof entries / sizeof *entries, &l->dnn, path, err);
  if (!status && check(l, l->dnn.cudnnCreate(&l->handle), "start", err) != ASSAY_OK)
    status =
        error_set(err, ASSAY_ERR_ENVIRONMENT, "cuDNN does not start: %s; is it for this driver and GPU?", err->message);
  if (status)
    base_free(l);
  else
    *out = l;
  return status;
}

// ---- describing the convolution

static enum assay_status make_tensor(struct vendor_library *l, enum cudnn_data_type type, int rank, const int *dims,
                                     cudnnTensorDescriptor_t *out, struct assay_error *err) {
  int strides[VENDOR_DIMS];
  int64_t stride = 1;
  for (int i = rank - 1; i >= 0; i--) {
    strides[i] = (int)stride;
    stride *= dims[i];
    if (stride > INT32_MAX && i > 0)
      return error_set(err, ASSAY_ERR_UNSUPPORTED, "a tensor is beyond cuDNN's numbers (2^31 elements of an image)");
  }
  enum assay_status status = check(l, l->dnn.cudnnCreateTensorDescriptor(out), "describe a tensor", err);
  return status
             ? status
             : check(l, l->dnn.cudnnSetTensorNdDescriptor(*out, type, rank, dims, strides), "describe a tensor", err);
}

static enum assay_status describe(struct vendor_engine *e, const struct vendor_call *call, struct assay_error *err) {
  static const enum cudnn_data_type types[] = {
      [VENDOR_FLOAT] = CUDNN_DATA_FLOAT, [VENDOR_HALF] = CUDNN_DATA_HALF, [VENDOR_BFLOAT] = CUDNN_DATA_BFLOAT16};
  struct vendor_library *l = e->library;
  const struct vendor_convolution *c = &e->convolution;
  enum cudnn_data_type type = types[call->type];
  enum cudnn_math math = call->type != VENDOR_FLOAT ? CUDNN_TENSOR_OP_MATH
                         : call->tf32               ? CUDNN_DEFAULT_MATH
                                                    : CUDNN_FMA_MATH;
  int rank = c->space + 2, bias[VENDOR_DIMS] = {1, c->y[1], 1, 1, 1};
  enum assay_status status = make_tensor(l, type, rank, c->x, &e->x, err);
  if (!status)
    status = make_tensor(l, type, rank, c->y, &e->y, err);
  if (!status && c->bias >= 0)
    status = make_tensor(l, type, rank, bias, &e->bias, err);
  if (!status)
    status = check(l, l->dnn.cudnnCreateFilterDescriptor(&e->w), "describe the weights", err);
  if (!status)
    status = check(l, l->dnn.cudnnSetFilterNdDescriptor(e->w, type, CUDNN_TENSOR_NCHW, rank, c->w),
                   "describe the weights", err);
  if (!status)
    status = check(l, l->dnn.cudnnCreateConvolutionDescriptor(&e->desc), "describe the convolution", err);
  if (!status)
    status = check(l,
                   l->dnn.cudnnSetConvolutionNdDescriptor(e->desc, c->space, c->pads, c->strides, c->dilations,
                                                          CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
                   "describe the convolution", err);
  if (!status)
    status = check(l, l->dnn.cudnnSetConvolutionGroupCount(e->desc, c->groups), "describe the groups", err);
  if (!status)
    status = check(l, l->dnn.cudnnSetConvolutionMathType(e->desc, math), "describe the precision", err);
  return status;
}

// ---- running it

static enum assay_status run(struct vendor_engine *e, const struct vendor_tensors *t, struct assay_error *err) {
  static const float one = 1, zero = 0;
  struct vendor_library *l = e->library;
  const struct vendor_convolution *c = &e->convolution;
  const void *x = (const void *)(uintptr_t)t->inputs[c->x_input], *w = (const void *)(uintptr_t)t->inputs[c->w_input];
  void *y = (void *)(uintptr_t)t->output;
  size_t bytes = e->chosen.workspace_bytes;
  void *workspace = bytes ? (void *)(uintptr_t)e->workspace.address : NULL;
  enum cudnn_status result = c->transposed
                                 ? l->dnn.cudnnConvolutionBackwardData(l->handle, &one, e->w, w, e->x, x, e->desc,
                                                                       e->chosen.algo, workspace, bytes, &zero, e->y, y)
                                 : l->dnn.cudnnConvolutionForward(l->handle, &one, e->x, x, e->w, w, e->desc,
                                                                  e->chosen.algo, workspace, bytes, &zero, e->y, y);
  enum assay_status status = check(l, result, "compute the convolution", err);
  if (!status && c->bias >= 0)
    status = check(
        l, l->dnn.cudnnAddTensor(l->handle, &one, e->bias, (const void *)(uintptr_t)t->inputs[c->bias], &one, e->y, y),
        "add the bias", err);
  return status;
}

// ---- choosing an algorithm

static enum assay_status search(struct vendor_engine *e, const struct vendor_tensors *t, struct cudnn_perf *results,
                                int *n, struct assay_error *err) {
  struct vendor_library *l = e->library;
  const struct vendor_convolution *c = &e->convolution;
  const void *x = (const void *)(uintptr_t)t->inputs[c->x_input], *w = (const void *)(uintptr_t)t->inputs[c->w_input];
  void *y = (void *)(uintptr_t)t->output, *workspace = (void *)(uintptr_t)e->workspace.address;
  size_t bytes = e->workspace.bytes;
  enum cudnn_status result =
      c->transposed ? l->dnn.cudnnFindConvolutionBackwardDataAlgorithmEx(l->handle, e->w, w, e->x, x, e->desc, e->y, y,
                                                                         MOST_RESULTS, n, results, workspace, bytes)
                    : l->dnn.cudnnFindConvolutionForwardAlgorithmEx(l->handle, e->x, x, e->w, w, e->desc, e->y, y,
                                                                    MOST_RESULTS, n, results, workspace, bytes);
  return check(l, result, "find an algorithm for this convolution", err);
}

static enum assay_status take_workspace(struct vendor_engine *e, struct assay_error *err) {
  enum assay_status status = ASSAY_ERR_NOMEM;
  for (size_t bytes = MOST_WORKSPACE; bytes >= LEAST_WORKSPACE && status == ASSAY_ERR_NOMEM; bytes /= 2)
    status = vendor_workspace_take(e->library->cu, bytes, &e->workspace, err);
  return status;
}

static enum assay_status choose(struct vendor_engine *e, const struct vendor_call *call, const struct vendor_tensors *t,
                                struct assay_error *err) {
  struct cudnn_perf results[MOST_RESULTS] = {0};
  struct vendor_library *l = e->library;
  int n = 0, best = -1;
  enum assay_status status = take_workspace(e, err);
  if (!status)
    status = search(e, t, results, &n, err);
  if (status)
    return status;
  for (int i = n - 1; i >= 0; i--) // the fastest stands first
    if (i < MOST_RESULTS && results[i].status == CUDNN_STATUS_SUCCESS &&
        results[i].workspace_bytes <= e->workspace.bytes)
      best = i;
  if (best < 0)
    return error_set(err, ASSAY_ERR_UNSUPPORTED, "cuDNN has no algorithm for this convolution");
  e->chosen = results[best];
  // Under a contract that does not allow TF32 the descriptor's own setting stays, whatever the search says.
  if (call->type != VENDOR_FLOAT || call->tf32)
    status = check(l, l->dnn.cudnnSetConvolutionMathType(e->desc, e->chosen.math), "describe the precision", err);
  vendor_workspace_give_back(l->cu, &e->workspace);
  if (!status && e->chosen.workspace_bytes > 0)
    status = vendor_workspace_take(l->cu, e->chosen.workspace_bytes, &e->workspace, err);
  if (!status)
    fprintf(stderr, "cuDNN %zu: %s: algorithm %d, the best of %d, %.1f us, %zu bytes of workspace\n",
            l->dnn.cudnnGetVersion(), e->convolution.transposed ? "backward data" : "forward", e->chosen.algo, n,
            1e3 * (double)e->chosen.ms, e->chosen.workspace_bytes);
  return status;
}

static void release(struct vendor_engine *e) {
  if (!e)
    return;
  struct cudnn *dnn = &e->library->dnn;
  const cudnnTensorDescriptor_t tensors[] = {e->x, e->y, e->bias};
  for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
    if (tensors[i])
      (void)dnn->cudnnDestroyTensorDescriptor(tensors[i]);
  if (e->w)
    (void)dnn->cudnnDestroyFilterDescriptor(e->w);
  if (e->desc)
    (void)dnn->cudnnDestroyConvolutionDescriptor(e->desc);
  vendor_workspace_give_back(e->library->cu, &e->workspace);
  base_free(e);
}

static enum assay_status prepare(struct vendor_library *l, const struct vendor_call *c, const struct vendor_tensors *t,
                                 struct vendor_engine **out, struct assay_error *err) {
  struct vendor_engine *e = base_calloc(1, sizeof *e);
  if (!e)
    return error_nomem(err, "a convolution");
  e->library = l;
  e->convolution = c->convolution;
  enum assay_status status = describe(e, c, err);
  if (!status)
    status = choose(e, c, t, err);
  if (status)
    release(e);
  else
    *out = e;
  return status;
}

const struct vendor_ops vendor_cudnn = {.title = "cuDNN",
                                        .names = names,
                                        .version = "cudnnGetVersion",
                                        .load = load,
                                        .prepare = prepare,
                                        .run = run,
                                        .release = release};
