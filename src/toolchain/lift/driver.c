// SPDX-License-Identifier: Apache-2.0
#include "toolchain/lift/driver.h"

#include <dlfcn.h>
#include <string.h>

static void load_more(struct lift_driver *d) {
  const struct {
    const char *name;
    void *place; // of a function pointer
  } functions[] = {
      {.name = "cuFuncGetModule", .place = &d->cuFuncGetModule},
      {.name = "cuKernelGetFunction", .place = &d->cuKernelGetFunction},
      {.name = "cuKernelGetName", .place = &d->cuKernelGetName},
      {.name = "cuStreamGetFlags", .place = &d->cuStreamGetFlags},
      {.name = "cuStreamIsCapturing", .place = &d->cuStreamIsCapturing},
      {.name = "cuPointerGetAttribute", .place = &d->cuPointerGetAttribute},
  };
  void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  for (size_t i = 0; cuda && i < sizeof functions / sizeof *functions; i++) {
    void *symbol = dlsym(cuda, functions[i].name);
    memcpy(functions[i].place, &symbol, sizeof symbol);
  }
}

const char *lift_driver_open(struct lift_driver *d, struct assay_error *err) {
  const char *why = NULL;
  if (!d->cu && cuda_driver_open(&d->cu, err) != ASSAY_OK)
    why = err->message;
  else if (!d->cu->cuMemCreate || !d->cu->cuMemAddressReserve || !d->cu->cuMemMap || !d->cu->cuMemSetAccess)
    why = "the driver cannot map memory";
  load_more(d);
  return why;
}

CUmodule lift_driver_module(const struct lift_driver *d, CUfunction function) {
  CUmodule module = NULL;
  CUfunction inner = NULL;
  if (d->cuFuncGetModule && d->cuFuncGetModule(&module, function) == CUDA_SUCCESS)
    return module;
  if (d->cuKernelGetFunction && d->cuFuncGetModule &&
      d->cuKernelGetFunction(&inner, (void *)function) == CUDA_SUCCESS &&
      d->cuFuncGetModule(&module, inner) == CUDA_SUCCESS)
    return module;
  return NULL;
}

const char *lift_driver_kernel_name(const struct lift_driver *d, CUfunction function) {
  const char *name = NULL;
  if (d->cu->cuFuncGetName && d->cu->cuFuncGetName(&name, function) != CUDA_SUCCESS)
    name = NULL;
  if (!name && d->cuKernelGetName && d->cuKernelGetName(&name, (void *)function) != CUDA_SUCCESS)
    name = NULL;
  return name;
}

int64_t lift_driver_kernel_count(const struct lift_driver *d, CUmodule module) {
  unsigned int n = 0;
  bool known = module && d->cu->cuModuleGetFunctionCount && d->cu->cuModuleGetFunctionCount(&n, module) == CUDA_SUCCESS;
  return known ? (int64_t)n : -1;
}

bool lift_driver_memory(const struct lift_driver *d, uint64_t address, struct driver_memory *out) {
  enum { MEMORY_TYPE = 2, RANGE_START = 11, RANGE_BYTES = 12 }; // CUpointer_attribute
  enum { OF_HOST = 1, OF_DEVICE = 2 };                          // CUmemorytype
  unsigned int type = 0;
  *out = (struct driver_memory){0};
  if (d->cuPointerGetAttribute(&type, MEMORY_TYPE, address) != CUDA_SUCCESS || (type != OF_HOST && type != OF_DEVICE) ||
      d->cuPointerGetAttribute(&out->start, RANGE_START, address) != CUDA_SUCCESS ||
      d->cuPointerGetAttribute(&out->bytes, RANGE_BYTES, address) != CUDA_SUCCESS)
    return false;
  out->of_host = type == OF_HOST;
  return out->bytes > 0 && address >= out->start && address - out->start < out->bytes;
}
