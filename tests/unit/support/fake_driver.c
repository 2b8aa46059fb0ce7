// SPDX-License-Identifier: Apache-2.0
// A CUDA driver that counts instead of computing, for test_compute_cuda.c, which compiles it: once as it is, once with
// -DREST for all entries that nobody calls there. Memory is the host's; kernels do not run.
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "compute/cuda_driver.h"
#include "fake_driver.h"

#ifdef REST

#define REST_ENTRY(field, symbol, need, params)                                                                        \
  enum cu_result symbol params;                                                                                        \
  __attribute__((weak)) enum cu_result symbol params {                                                                 \
    return CUDA_ERROR_NOT_SUPPORTED;                                                                                   \
  }
CUDA_DRIVER_FUNCTIONS(REST_ENTRY)

#else

#define DECLARATION(field, symbol, need, params) enum cu_result symbol params;
CUDA_DRIVER_FUNCTIONS(DECLARATION)

struct fake_driver fake_driver = {.capability = 90, .memory = (size_t)1 << 30, .param_bytes = 40, .max_threads = 1024};
#define F fake_driver

// NVRTC, which asks the driver of its process for a table of its own, gets one that has nothing in it.
enum cu_result cuGetExportTable(const void **table, const void *id);
enum cu_result cuGetExportTable(const void **table, const void *id) {
  static const uint64_t empty = sizeof empty;
  *table = &empty;
  return id ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static enum cu_result count(int *what, int by) {
  *what += by;
  return CUDA_SUCCESS;
}

enum cu_result cuInit(unsigned flags) {
  return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
enum cu_result cuDriverGetVersion(int *v) {
  return *v = 13000, CUDA_SUCCESS;
}
enum cu_result cuGetErrorName(enum cu_result e, const char **t) {
  return *t = e == 700 ? "FAKE_700" : "FAKE", CUDA_SUCCESS;
}
enum cu_result cuGetErrorString(enum cu_result e, const char **t) {
  return *t = e == 2 ? "none left" : "words", CUDA_SUCCESS;
}
enum cu_result cuDeviceGetCount(int *n) {
  return *n = 2, CUDA_SUCCESS;
}
enum cu_result cuDeviceGet(CUdevice *d, int i) {
  return *d = i, CUDA_SUCCESS;
}
enum cu_result cuDeviceGetAttribute(int *v, enum cu_device_attribute a, CUdevice d) {
  *v = a == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? F.capability / 10
       : a == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? F.capability % 10
       : a == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT     ? 100
                                                           : -1;
  return *v < 0 || d < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
enum cu_result cuCtxCreate_v2(CUcontext *c, unsigned flags, CUdevice d) {
  *c = (CUcontext)&F;
  F.device = d;
  return flags ? CUDA_ERROR_INVALID_VALUE : count(&F.contexts, 1);
}
enum cu_result cuCtxDestroy_v2(CUcontext c) {
  return c == (CUcontext)&F ? count(&F.contexts, -1) : CUDA_ERROR_INVALID_CONTEXT;
}
enum cu_result cuCtxSetCurrent(CUcontext c) {
  return c == (CUcontext)&F ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
enum cu_result cuStreamCreate(CUstream *s, unsigned flags) {
  *s = (CUstream)&F.streams;
  return flags == CU_STREAM_NON_BLOCKING ? count(&F.streams, 1) : CUDA_ERROR_INVALID_VALUE;
}
enum cu_result cuStreamDestroy_v2(CUstream s) {
  return s == (CUstream)&F.streams ? count(&F.streams, -1) : CUDA_ERROR_INVALID_HANDLE;
}
enum cu_result cuStreamSynchronize(CUstream s) {
  return s == (CUstream)&F.streams ? (enum cu_result)F.fail_sync : CUDA_ERROR_INVALID_HANDLE;
}

// ---- memory: a header before each block holds its size

enum { HEADER = 256 };
enum cu_result cuMemAlloc_v2(uint64_t *p, size_t n) {
  if (n > F.memory - F.used)
    return CUDA_ERROR_OUT_OF_MEMORY;
  char *block = aligned_alloc(256, n + HEADER);
  memcpy(block, &n, sizeof n);
  F.used += n;
  *p = (uintptr_t)block + HEADER;
  return count(&F.allocations, 1);
}
enum cu_result cuMemFree_v2(uint64_t p) {
  char *block = (char *)(uintptr_t)p - HEADER;
  size_t n;
  memcpy(&n, block, sizeof n);
  F.used -= n;
  free(block);
  return count(&F.frees, 1);
}
enum cu_result cuMemGetInfo_v2(size_t *available, size_t *total) {
  *available = F.memory - F.used;
  *total = F.memory;
  return CUDA_SUCCESS;
}
enum cu_result cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t n, CUstream s) {
  memcpy((void *)(uintptr_t)to, from, n);
  return s ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
enum cu_result cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t n, CUstream s) {
  memcpy(to, (void *)(uintptr_t)from, n);
  return s ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
enum cu_result cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t n, CUstream s) {
  memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, n);
  return s ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
enum cu_result cuMemsetD32Async(uint64_t to, unsigned value, size_t n, CUstream s) {
  for (size_t i = 0; i < n; i++)
    ((uint32_t *)(uintptr_t)to)[i] = value;
  return s ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

// ---- modules

enum cu_result cuModuleLoadDataEx(CUmodule *m, const void *image, unsigned n, enum cu_jit_option *o, void **values) {
  memcpy(F.image, image, sizeof F.image);
  bool code = memcmp(image, "\177ELF", 4) == 0 || memcmp(image, "//", 2) == 0;
  if (!code && n == 2 && o[0] == CU_JIT_ERROR_LOG_BUFFER && o[1] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES &&
      (size_t)(uintptr_t)values[1] > 20)
    strcpy(values[0], "this is no code");
  *m = (CUmodule)F.image;
  return code ? count(&F.modules, 1) : CUDA_ERROR_INVALID_IMAGE;
}
enum cu_result cuModuleUnload(CUmodule m) {
  return m == (CUmodule)F.image ? count(&F.modules, -1) : CUDA_ERROR_INVALID_HANDLE;
}
enum cu_result cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name) {
  *f = (CUfunction)&F.launches;
  return m == (CUmodule)F.image && strcmp(name, "nowhere") != 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
enum cu_result cuFuncGetAttribute(int *v, enum cu_function_attribute a, CUfunction f) {
  *v = F.max_threads;
  return f && a == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
enum cu_result cuFuncGetParamInfo(CUfunction f, size_t i, size_t *offset, size_t *bytes) {
  *offset = 0;
  *bytes = (size_t)F.param_bytes;
  return f && i == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
enum cu_result cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                              unsigned bz, unsigned shared, CUstream s, void **params, void **extra) {
  if (!f || gy != 1 || gz != 1 || by != 1 || bz != 1 || shared || !s || extra)
    return CUDA_ERROR_INVALID_VALUE;
  F.grid = gx;
  F.block = bx;
  memcpy(&F.first_word, params[0], sizeof F.first_word);
  return F.fail_launch ? (enum cu_result)F.fail_launch : count(&F.launches, 1);
}

// ---- shared memory

enum cu_result cuMemImportFromShareableHandle(uint64_t *h, void *from, enum cu_mem_handle_type type) {
  *h = 77;
  return (intptr_t)from == 5 && type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ? count(&F.handles, 1)
                                                                                 : CUDA_ERROR_INVALID_HANDLE;
}
enum cu_result cuMemRelease(uint64_t h) {
  return h == 77 ? count(&F.handles, -1) : CUDA_ERROR_INVALID_HANDLE;
}
enum cu_result cuMemAddressReserve(uint64_t *p, size_t n, size_t alignment, uint64_t hint, unsigned long long flags) {
  *p = 0x7000000;
  return n && !alignment && !hint && !flags ? count(&F.reservations, 1) : CUDA_ERROR_INVALID_VALUE;
}
enum cu_result cuMemAddressFree(uint64_t p, size_t n) {
  return p == 0x7000000 && n ? count(&F.reservations, -1) : CUDA_ERROR_INVALID_VALUE;
}
enum cu_result cuMemMap(uint64_t p, size_t n, size_t offset, uint64_t h, unsigned long long flags) {
  return p == 0x7000000 && n && !offset && h == 77 && !flags ? count(&F.mappings, 1) : CUDA_ERROR_INVALID_VALUE;
}
enum cu_result cuMemUnmap(uint64_t p, size_t n) {
  return p == 0x7000000 && n ? count(&F.mappings, -1) : CUDA_ERROR_INVALID_VALUE;
}
enum cu_result cuMemSetAccess(uint64_t p, size_t n, const struct cu_mem_access_desc *d, size_t count_) {
  bool right = p == 0x7000000 && n && count_ == 1 && d->location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
               d->location.id == F.device && d->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return F.fail_access ? CUDA_ERROR_NOT_SUPPORTED : right ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

#endif
