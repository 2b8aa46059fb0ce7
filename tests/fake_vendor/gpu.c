// SPDX-License-Identifier: Apache-2.0
// A GPU that is not there, for tests of assay-library: the driver (libcuda.so.1) and CUPTI (libcupti.so) in one file.
// Device memory is the host's, kernels do not run, and a subscriber gets the same callbacks as from CUPTI. REST: all
// entries that nobody calls.
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "toolchain/lift/cupti.h"

#define EXPORTED __attribute__((visibility("default")))

#ifdef REST

#pragma GCC diagnostic ignored "-Wunused-parameter" // of functions whose parameters a macro names

#define REST_ENTRY(field, symbol, need, params)                                                                        \
  EXPORTED enum cu_result symbol params;                                                                               \
  __attribute__((weak)) enum cu_result symbol params {                                                                 \
    return CUDA_ERROR_NOT_SUPPORTED;                                                                                   \
  }
CUDA_DRIVER_FUNCTIONS(REST_ENTRY)

#else

#include "fake_vendor/fake.h"

#define DECLARATION(field, symbol, need, params) EXPORTED enum cu_result symbol params;
CUDA_DRIVER_FUNCTIONS(DECLARATION)

enum { GRANULE = 2 << 20 };
static cupti_callback *subscriber;
static uint64_t correlation;
static float next_ms = 1;

// ---- CUPTI

EXPORTED cupti_subscribe_fn cuptiSubscribe;
EXPORTED cupti_enable_domain_fn cuptiEnableDomain;

int cuptiSubscribe(void **handle, cupti_callback *callback, void *arg) {
  *handle = arg;
  subscriber = callback;
  return 0;
}
int cuptiEnableDomain(uint32_t enable, void *handle, enum cupti_domain domain) {
  (void)enable, (void)handle, (void)domain;
  return 0;
}

static void tell(enum cupti_site site, const char *name, const void *params, const char *symbol) {
  enum cu_result success = CUDA_SUCCESS;
  const struct cupti_call c = {.site = site,
                               .name = name,
                               .params = params,
                               .result = &success,
                               .symbol = symbol,
                               .correlation_data = &correlation};
  if (subscriber)
    subscriber(NULL, CUPTI_CB_DOMAIN_DRIVER_API, 0, &c);
}

// ---- for the libraries

void fake_load(const void *cubin, size_t n) {
  CUmodule module = (CUmodule)(uintptr_t)0x100;
  const struct call_module params = {&module};
  struct cupti_module m = {.bytes = n, .cubin = cubin};
  const struct cupti_resource r = {.descriptor = &m};
  tell(CUPTI_API_ENTER, "cuModuleLoadData", &params, NULL);
  if (subscriber)
    subscriber(NULL, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED, &r);
  tell(CUPTI_API_EXIT, "cuModuleLoadData", &params, NULL);
}

void fake_launch(uintptr_t function, const char *name, void **arguments, float ms) {
  const struct call_launch l = {
      .function = (CUfunction)function, .grid = {1, 1, 1}, .block = {64, 1, 1}, .params = arguments};
  tell(CUPTI_API_ENTER, "cuLaunchKernel", &l, name);
  tell(CUPTI_API_EXIT, "cuLaunchKernel", &l, name);
  next_ms = ms;
}

// ---- the driver

EXPORTED enum cu_result cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
enum cu_result cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  *context = (CUcontext)(uintptr_t)1;
  return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
enum cu_result cuInit(unsigned int flags) {
  return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
enum cu_result cuDriverGetVersion(int *version) {
  *version = 13000;
  return CUDA_SUCCESS;
}
enum cu_result cuGetErrorName(enum cu_result error, const char **text) {
  (void)error;
  *text = "FAKE";
  return CUDA_SUCCESS;
}
enum cu_result cuGetErrorString(enum cu_result error, const char **text) {
  (void)error;
  *text = "words";
  return CUDA_SUCCESS;
}
enum cu_result cuDeviceGet(CUdevice *device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}
enum cu_result cuCtxSetCurrent(CUcontext context) {
  return context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
enum cu_result cuCtxSynchronize(void) {
  return CUDA_SUCCESS;
}

static uint64_t map_anywhere(uint64_t hint, size_t bytes) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void *p = MAP_FAILED;
  if (hint)
    p = mmap((void *)(uintptr_t)hint, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED_NOREPLACE, -1, 0);
  if (p != MAP_FAILED)
    return hint;
  p = mmap(NULL, bytes + GRANULE, PROT_READ | PROT_WRITE, flags, -1, 0);
  return p == MAP_FAILED ? 0 : ((uint64_t)(uintptr_t)p + GRANULE - 1) / GRANULE * GRANULE;
}

enum cu_result cuMemAddressReserve(uint64_t *address, size_t bytes, size_t alignment, uint64_t hint,
                                   unsigned long long flags) {
  (void)alignment, (void)flags;
  *address = map_anywhere(hint, bytes);
  return *address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
enum cu_result cuMemCreate(uint64_t *handle, size_t bytes, const struct cu_mem_allocation_prop *prop,
                           unsigned long long flags) {
  (void)bytes, (void)prop, (void)flags;
  *handle = 1;
  return CUDA_SUCCESS;
}
enum cu_result cuMemMap(uint64_t address, size_t bytes, size_t offset, uint64_t handle, unsigned long long flags) {
  (void)address, (void)bytes, (void)offset, (void)handle, (void)flags;
  return CUDA_SUCCESS;
}
enum cu_result cuMemSetAccess(uint64_t address, size_t bytes, const struct cu_mem_access_desc *desc, size_t count) {
  (void)address, (void)bytes, (void)desc, (void)count;
  return CUDA_SUCCESS;
}
enum cu_result cuMemUnmap(uint64_t address, size_t bytes) {
  (void)address, (void)bytes;
  return CUDA_SUCCESS;
}
enum cu_result cuMemRelease(uint64_t handle) {
  (void)handle;
  return CUDA_SUCCESS;
}
enum cu_result cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  const size_t most = (size_t)1 << 30; // of memory, so that what asks for more has to ask again
  *address = bytes > most ? 0 : map_anywhere(0, bytes);
  const struct call_alloc params = {address, bytes};
  if (*address)
    tell(CUPTI_API_EXIT, "cuMemAlloc_v2", &params, NULL);
  return *address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
enum cu_result cuMemFree_v2(uint64_t address) {
  const struct call_free params = {address};
  tell(CUPTI_API_ENTER, "cuMemFree_v2", &params, NULL);
  return CUDA_SUCCESS;
}
enum cu_result cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, CUstream stream) {
  (void)stream;
  memcpy((void *)(uintptr_t)to, from, bytes);
  return CUDA_SUCCESS;
}
enum cu_result cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, CUstream stream) {
  (void)stream;
  memcpy(to, (const void *)(uintptr_t)from, bytes);
  return CUDA_SUCCESS;
}
enum cu_result cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, CUstream stream) {
  (void)stream;
  memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
  return CUDA_SUCCESS;
}
enum cu_result cuStreamSynchronize(CUstream stream) {
  (void)stream;
  return CUDA_SUCCESS;
}
enum cu_result cuEventCreate(CUevent *event, unsigned int flags) {
  (void)flags;
  *event = (CUevent)(uintptr_t)1;
  return CUDA_SUCCESS;
}
enum cu_result cuEventRecord(CUevent event, CUstream stream) {
  (void)event, (void)stream;
  return CUDA_SUCCESS;
}
enum cu_result cuEventSynchronize(CUevent event) {
  (void)event;
  return CUDA_SUCCESS;
}
enum cu_result cuEventDestroy_v2(CUevent event) {
  (void)event;
  return CUDA_SUCCESS;
}
enum cu_result cuEventElapsedTime(float *ms, CUevent start, CUevent end) {
  (void)start, (void)end;
  *ms = next_ms;
  return CUDA_SUCCESS;
}

#endif
