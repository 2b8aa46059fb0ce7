// SPDX-License-Identifier: Apache-2.0
// Fat binaries, kernels and global variables, as nvcc's generated host code registers them.
//
// The container, as fatbinary writes it and cuobjdump shows it: a header (magic, version, its own size, the size of
// what follows), then entries (kind 1 PTX, kind 2 cubin; the entry's header's size, the size of what follows it,
// padded). nvcc is asked not to compress.
#include <stdlib.h>
#include <string.h>

#include "toolchain/record/name.h"
#include "toolchain/recorder/recorder.h"

enum { WRAPPER_MAGIC = 0x466243b1, KIND_CUBIN = 2 };
#define CONTAINER_MAGIC 0xba55ed50u

struct wrapper {
  uint32_t magic, version;
  const uint8_t *container;
  const void *more;
};
struct container {
  uint32_t magic;
  uint16_t version, header_bytes;
  uint64_t bytes;
};
struct container_entry {
  uint16_t kind, version;
  uint32_t header_bytes;
  uint64_t bytes;
};

// The first cubin: the library was compiled for one target.
static bool find_cubin(const uint8_t *container, const uint8_t **cubin, size_t *n) {
  struct container head;
  struct container_entry e;
  memcpy(&head, container, sizeof head);
  if (head.magic != CONTAINER_MAGIC || head.header_bytes < sizeof head)
    return false;
  for (uint64_t at = 0; at < head.bytes && head.bytes - at >= sizeof e; at += e.header_bytes + e.bytes) {
    const uint8_t *entry = container + head.header_bytes + at;
    memcpy(&e, entry, sizeof e);
    if (e.header_bytes < sizeof e || e.header_bytes > head.bytes - at || e.bytes > head.bytes - at - e.header_bytes)
      return false;
    if (e.kind == KIND_CUBIN && e.bytes > 4 && !memcmp(entry + e.header_bytes, "\177ELF", 4)) {
      *cubin = entry + e.header_bytes;
      *n = e.bytes;
      return true;
    }
  }
  return false;
}

static void read_binary(struct binary *b) {
  const struct wrapper *w = b->wrapper;
  struct assay_error err = {0};
  if (b->read)
    return;
  if (w->magic != WRAPPER_MAGIC || !find_cubin(w->container, &b->cubin, &b->cubin_bytes))
    refuse("its fat binary has no uncompressed device code for %s: device code that was not compiled with it cannot be "
           "recorded",
           recorder.request->device.target);
  if (cubin_read(b->cubin, b->cubin_bytes, &recorder.arena, &b->info, &err) != ASSAY_OK)
    refuse("its device code cannot be read: %s", err.message);
  b->read = true;
}

uint32_t module_of(struct binary *b) {
  read_binary(b);
  if (b->module < 0) {
    b->module = (int32_t)recorder.n_modules_logged++;
    log_entry(RECORD_MODULE, NULL, 0, (struct part){b->cubin, b->cubin_bytes}, (struct part){0});
  }
  return (uint32_t)b->module;
}

static struct kernel *find_kernel(const void *function) {
  for (size_t i = 0; i < recorder.n_kernels; i++)
    if (recorder.kernels[i]->host == function || recorder.kernels[i] == function)
      return recorder.kernels[i];
  return NULL;
}

struct kernel *kernel_of(const void *function) {
  struct kernel *k = find_kernel(function);
  if (!k)
    refuse("host code names a function that is not a kernel of this file (%p)", function);
  if (!k->cubin) {
    read_binary(k->binary);
    k->cubin = cubin_find(&k->binary->info, k->name);
    if (!k->cubin || k->cubin->n_parameters < 0)
      refuse("the kernel %s is not in the device code for %s", k->name, recorder.request->device.target);
  }
  return k;
}

const struct variable *variable_of(const void *symbol) {
  for (size_t i = 0; i < recorder.n_variables; i++)
    if (recorder.variables[i]->host == symbol)
      return recorder.variables[i];
  refuse("host code names a symbol that is not a __device__ or __constant__ variable of this file (%p)", symbol);
}

EXPORT(void **, __cudaRegisterFatBinary, void *wrapper) {
  recorder.binaries = add_to_list(recorder.binaries, &recorder.n_binaries, sizeof(struct binary));
  struct binary *b = recorder.binaries[recorder.n_binaries - 1];
  b->wrapper = wrapper;
  b->module = -1;
  return (void **)(void *)b;
}

EXPORT(void, __cudaRegisterFatBinaryEnd, void **handle) {
  (void)handle;
}

EXPORT(void, __cudaUnregisterFatBinary, void **handle) {
  (void)handle;
}

EXPORT(char, __cudaInitModule, void **handle) {
  (void)handle;
  return 1;
}

EXPORT(void, __cudaRegisterFunction, void **handle, const char *host, char *device, const char *name, int threads,
       void *tid, void *bid, void *block, void *grid, int *warp) {
  (void)device, (void)threads, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
  recorder.kernels = add_to_list(recorder.kernels, &recorder.n_kernels, sizeof(struct kernel));
  *recorder.kernels[recorder.n_kernels - 1] = (struct kernel){
      .binary = (struct binary *)(void *)handle, .host = host, .name = name, .number = -1, .carveout = -1};
  struct kernel *k = recorder.kernels[recorder.n_kernels - 1];
  k->label = record_short_name(name, &k->label_length);
}

EXPORT(void, __cudaRegisterVar, void **handle, char *host, char *device, const char *name, int external, size_t bytes,
       int constant, int global) {
  (void)device, (void)external, (void)constant, (void)global;
  recorder.variables = add_to_list(recorder.variables, &recorder.n_variables, sizeof(struct variable));
  *recorder.variables[recorder.n_variables - 1] =
      (struct variable){.binary = (struct binary *)(void *)handle, .host = host, .name = name, .bytes = bytes};
}

EXPORT(void, __cudaRegisterManagedVar, void **handle, void **host, char *device, const char *name, int external,
       size_t bytes, int constant, int global) {
  (void)handle, (void)host, (void)device, (void)external, (void)bytes, (void)constant, (void)global;
  refuse("the __managed__ variable %s cannot be recorded: host code would see what kernels write; use a __device__ "
         "variable",
         name);
}

EXPORT(int, __cudaGetKernel, void **kernel, const void *host) {
  *kernel = find_kernel(host);
  return *kernel ? CUDA_OK : fail(CUDA_INVALID_DEVICE_FUNCTION);
}

EXPORT(int, cudaGetKernel, void **kernel, const void *host) {
  return __cudaGetKernel(kernel, host);
}

EXPORT(int, cudaGetFuncBySymbol, void **function, const void *host) {
  return __cudaGetKernel(function, host);
}

EXPORT(int, cudaGetSymbolSize, size_t *bytes, const void *symbol) {
  *bytes = variable_of(symbol)->bytes;
  return CUDA_OK;
}

EXPORT(int, cudaGetSymbolAddress, void **address, const void *symbol) {
  (void)address;
  refuse("cudaGetSymbolAddress(%s) cannot be recorded: the address is known only where the plan runs; use the variable "
         "in the kernel, set it with cudaMemcpyToSymbol, or take memory from cudaMalloc instead",
         variable_of(symbol)->name);
}

EXPORT(int, cudaFuncGetName, const char **name, const void *function) {
  *name = kernel_of(function)->name;
  return CUDA_OK;
}

EXPORT(int, cudaFuncGetParamInfo, const void *function, size_t index, size_t *offset, size_t *bytes) {
  const struct cubin_kernel *k = kernel_of(function)->cubin;
  if (index >= (size_t)k->n_parameters)
    return fail(CUDA_INVALID_VALUE);
  if (offset)
    *offset = k->parameters[index].offset;
  if (bytes)
    *bytes = k->parameters[index].size;
  return CUDA_OK;
}
