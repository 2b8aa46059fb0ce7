// SPDX-License-Identifier: Apache-2.0
// A CUDA driver that does nothing but remember: what test_cuda_device.c holds the CUDA device against on machines
// without a GPU.
#ifndef TESTS_UNIT_FAKE_CUDA_H
#define TESTS_UNIT_FAKE_CUDA_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "device/cuda_device.h"

enum { FAKE_GRANULE = 2 << 20, FAKE_MAPPINGS = 256, FAKE_LOG = 1 << 16 };

struct fake_mapping {
  uint64_t reserved, reserved_bytes, address, bytes;
  enum cu_mem_access_flags access;
  bool live;
};

static struct fake {
  struct fake_mapping mappings[FAKE_MAPPINGS];
  int n_mappings, handles; // handles: not yet released
  uint64_t next_address;
  char log[FAKE_LOG]; // one letter for each thing that was queued or waited for
  int n_log, launches_while_closed;
  struct device *device;
  // What is to go wrong: the n-th cuMemCreate (from 0, -1: none), the n-th cuLaunchKernelEx, the last synchronisation
  int fail_create, fail_launch, fail_sync_after, holds_that_fail;
  int creates, launches;
  uint64_t opens_at, ended;    // what the kernels around a timed part write
  size_t kernel_parameters[8]; // sizes, ended by 0
  int local_bytes;
  size_t stack, symbol_bytes;
  struct cu_launch_config last_config;
  uint64_t last_pointer; // first parameter of the last launch
} fake;

static void note(char c) {
  if (fake.n_log < FAKE_LOG - 1)
    fake.log[fake.n_log++] = c;
  fake.log[fake.n_log] = '\0';
}

static bool gate_is_closed(void) {
  return fake.device && (int32_t)(fake.device->gate->released - fake.device->ticket) < 0;
}

static struct fake_mapping *fake_find(uint64_t address) {
  for (int i = 0; i < fake.n_mappings; i++) {
    struct fake_mapping *m = &fake.mappings[i];
    if (m->live && address >= m->reserved && address < m->reserved + m->reserved_bytes)
      return m;
  }
  return NULL;
}

static bool fake_writable(uint64_t address, uint64_t bytes) {
  const struct fake_mapping *m = fake_find(address);
  return m && address >= m->address && bytes <= m->address + m->bytes - address &&
         m->access == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

static enum cu_result fake_reserve(uint64_t *address, size_t bytes, size_t alignment, uint64_t hint,
                                   unsigned long long flags) {
  (void)alignment, (void)hint, (void)flags;
  *address = fake.next_address += (uint64_t)1 << 32;
  fake.mappings[fake.n_mappings++] = (struct fake_mapping){.reserved = *address, .reserved_bytes = bytes, .live = true};
  return CUDA_SUCCESS;
}

static enum cu_result fake_free(uint64_t address, size_t bytes) {
  struct fake_mapping *m = fake_find(address);
  if (!m || m->reserved != address || m->reserved_bytes != bytes || m->bytes)
    return CUDA_ERROR_INVALID_VALUE;
  m->live = false;
  return CUDA_SUCCESS;
}

static enum cu_result fake_create(uint64_t *handle, size_t bytes, const struct cu_mem_allocation_prop *prop,
                                  unsigned long long flags) {
  (void)prop, (void)flags;
  if (fake.creates++ == fake.fail_create)
    return CUDA_ERROR_OUT_OF_MEMORY;
  fake.handles++;
  *handle = bytes;
  return CUDA_SUCCESS;
}

static enum cu_result fake_import(uint64_t *handle, void *from, enum cu_mem_handle_type type) {
  (void)type;
  fake.handles++;
  *handle = (uint64_t)(uintptr_t)from << 20; // a descriptor of n has n MiB
  return CUDA_SUCCESS;
}

static enum cu_result fake_release(uint64_t handle) {
  (void)handle;
  fake.handles--;
  return CUDA_SUCCESS;
}

static enum cu_result fake_map(uint64_t address, size_t bytes, size_t offset, uint64_t handle,
                               unsigned long long flags) {
  (void)flags;
  struct fake_mapping *m = fake_find(address);
  if (!m || bytes != handle || offset)
    return CUDA_ERROR_INVALID_VALUE;
  m->address = address;
  m->bytes = bytes;
  return CUDA_SUCCESS;
}

static enum cu_result fake_unmap(uint64_t address, size_t bytes) {
  struct fake_mapping *m = fake_find(address);
  if (!m || m->address != address || m->bytes != bytes)
    return CUDA_ERROR_INVALID_VALUE;
  m->bytes = 0;
  return CUDA_SUCCESS;
}

static enum cu_result fake_access(uint64_t address, size_t bytes, const struct cu_mem_access_desc *desc, size_t count) {
  struct fake_mapping *m = fake_find(address);
  if (!m || m->address != address || m->bytes != bytes || count != 1)
    return CUDA_ERROR_INVALID_VALUE;
  m->access = desc->flags;
  return CUDA_SUCCESS;
}

static enum cu_result fake_upload(uint64_t to, const void *from, size_t bytes, CUstream stream) {
  (void)from, (void)stream;
  return fake_writable(to, bytes) ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
}

static enum cu_result fake_set32(uint64_t to, unsigned int value, size_t n, CUstream stream) {
  (void)value, (void)stream;
  note('f');
  return fake_writable(to, 4 * n) ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
}

static enum cu_result fake_copy(uint64_t to, uint64_t from, size_t bytes, CUstream stream) {
  (void)to, (void)from, (void)bytes, (void)stream;
  note('c');
  return CUDA_SUCCESS;
}

static enum cu_result fake_module(CUmodule *module, const void *image, unsigned int n, enum cu_jit_option *options,
                                  void **values) {
  if (memcmp(image, "bad", 4) == 0) {
    for (unsigned int i = 0; i < n; i++)
      if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
        strcpy(values[i], "\n ptxas fatal: it is bad\nmore\n");
    return CUDA_ERROR_INVALID_IMAGE;
  }
  *module = (CUmodule)(uintptr_t)1;
  return CUDA_SUCCESS;
}

static enum cu_result fake_unload(CUmodule module) {
  (void)module;
  return CUDA_SUCCESS;
}

static enum cu_result fake_function(CUfunction *function, CUmodule module, const char *name) {
  (void)module;
  *function = (CUfunction)(uintptr_t)2;
  return strcmp(name, "missing") == 0 ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

static enum cu_result fake_global(uint64_t *address, size_t *bytes, CUmodule module, const char *name) {
  (void)module, (void)name;
  *address = 0x1000;
  *bytes = fake.symbol_bytes;
  return CUDA_SUCCESS;
}

static enum cu_result fake_parameter(CUfunction function, size_t index, size_t *offset, size_t *bytes) {
  (void)function;
  size_t n = 0;
  while (fake.kernel_parameters[n])
    n++;
  *offset = 0;
  *bytes = index < n ? fake.kernel_parameters[index] : 0;
  return index < n ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static enum cu_result fake_attribute(int *value, enum cu_function_attribute attribute, CUfunction function) {
  (void)function;
  *value = attribute == CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES ? fake.local_bytes : 48 << 10;
  return CUDA_SUCCESS;
}

static enum cu_result fake_set_attribute(CUfunction function, enum cu_function_attribute attribute, int value) {
  (void)function;
  return attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES && value > 232448 ? CUDA_ERROR_INVALID_VALUE
                                                                                        : CUDA_SUCCESS;
}

static enum cu_result fake_get_limit(size_t *value, enum cu_limit limit) {
  (void)limit;
  *value = fake.stack;
  return CUDA_SUCCESS;
}

static enum cu_result fake_set_limit(enum cu_limit limit, size_t value) {
  if (limit == CU_LIMIT_STACK_SIZE)
    fake.stack = value;
  return CUDA_SUCCESS;
}

// Helpers of the device: their names are the letters.
static enum cu_result fake_helper(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
                                  unsigned int by, unsigned int bz, unsigned int shared, CUstream stream, void **params,
                                  void **extra) {
  (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)stream, (void)extra;
  volatile struct cuda_gate *g = fake.device->gate;
  char letter = (char)(uintptr_t)f;
  note(letter);
  if (letter == 'h') {
    g->arrived = fake.device->ticket;
    g->opens_at = fake.opens_at;
  }
  if (letter == 'h' && fake.holds_that_fail-- > 0)
    g->failed = fake.device->ticket;
  if (letter == 't')
    g->ended = fake.ended;
  if (letter == 'c')
    memcpy((void *)&g->confirmed, params[1], sizeof g->confirmed);
  return CUDA_SUCCESS;
}

static enum cu_result fake_launch(const struct cu_launch_config *config, CUfunction f, void **params, void **extra) {
  (void)f, (void)extra;
  note('L');
  fake.launches_while_closed += gate_is_closed();
  fake.last_config = *config;
  if (params[0])
    memcpy(&fake.last_pointer, params[0], sizeof fake.last_pointer);
  return fake.launches++ == fake.fail_launch ? CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES : CUDA_SUCCESS;
}

static enum cu_result fake_record(CUevent event, CUstream stream) {
  (void)stream;
  note((char)(uintptr_t)event);
  return CUDA_SUCCESS;
}

static enum cu_result fake_elapsed(float *ms, CUevent start, CUevent end) {
  *ms = (char)(uintptr_t)start == 'p' ? 0.5f : 0.25f;
  (void)end;
  return CUDA_SUCCESS;
}

// A wait with the gate closed would never end.
static enum cu_result fake_sync(CUstream stream) {
  (void)stream;
  note(gate_is_closed() ? '!' : 's');
  return fake.fail_sync_after-- == 0 ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_SUCCESS;
}

static enum cu_result fake_reset(void) {
  note('r');
  return CUDA_SUCCESS;
}

static enum cu_result fake_current(CUcontext context) {
  (void)context;
  return CUDA_SUCCESS;
}

static enum cu_result fake_text(enum cu_result result, const char **text) {
  (void)result;
  *text = "CUDA_ERROR_FAKE";
  return CUDA_SUCCESS;
}

static const struct cuda_driver fake_driver = {
    .cuMemAddressReserve = fake_reserve,
    .cuMemAddressFree = fake_free,
    .cuMemCreate = fake_create,
    .cuMemImportFromShareableHandle = fake_import,
    .cuMemRelease = fake_release,
    .cuMemMap = fake_map,
    .cuMemUnmap = fake_unmap,
    .cuMemSetAccess = fake_access,
    .cuMemcpyHtoDAsync = fake_upload,
    .cuMemcpyDtoDAsync = fake_copy,
    .cuMemsetD32Async = fake_set32,
    .cuModuleLoadDataEx = fake_module,
    .cuModuleUnload = fake_unload,
    .cuModuleGetFunction = fake_function,
    .cuModuleGetGlobal = fake_global,
    .cuFuncGetParamInfo = fake_parameter,
    .cuFuncGetAttribute = fake_attribute,
    .cuFuncSetAttribute = fake_set_attribute,
    .cuCtxGetLimit = fake_get_limit,
    .cuCtxSetLimit = fake_set_limit,
    .cuCtxSetCurrent = fake_current,
    .cuCtxResetPersistingL2Cache = fake_reset,
    .cuLaunchKernel = fake_helper,
    .cuLaunchKernelEx = fake_launch,
    .cuEventRecord = fake_record,
    .cuEventElapsedTime = fake_elapsed,
    .cuStreamSynchronize = fake_sync,
    .cuGetErrorName = fake_text,
    .cuGetErrorString = fake_text,
};

#endif
