// SPDX-License-Identifier: Apache-2.0
// The driver's functions that recording calls: the common table, and those beyond it.
#ifndef TOOLCHAIN_LIFT_DRIVER_H
#define TOOLCHAIN_LIFT_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "compute/cuda_driver.h"

struct lift_driver {
  const struct cuda_driver *cu; // NULL until it is opened
  // Beyond the common table; NULL where the driver is older than they are.
  enum cu_result (*cuFuncGetModule)(CUmodule *module, CUfunction function);
  enum cu_result (*cuKernelGetFunction)(CUfunction *function, void *kernel);
  enum cu_result (*cuKernelGetName)(const char **name, void *kernel);
  enum cu_result (*cuStreamGetFlags)(CUstream stream, unsigned int *flags);
  enum cu_result (*cuStreamIsCapturing)(CUstream stream, int *status);
  enum cu_result (*cuPointerGetAttribute)(void *data, int attribute, uint64_t address);
};

// May be called again. Returns NULL, or why memory cannot be mapped; the text may be in *err.
const char *lift_driver_open(struct lift_driver *d, struct assay_error *err);

// What a launch's handle is; it may be a CUkernel's. NULL: the driver does not know.
CUmodule lift_driver_module(const struct lift_driver *d, CUfunction function);
const char *lift_driver_kernel_name(const struct lift_driver *d, CUfunction function);
// How many kernels the module has; -1: the driver does not know.
int64_t lift_driver_kernel_count(const struct lift_driver *d, CUmodule module);

// Memory that the driver has around an address.
struct driver_memory {
  uint64_t start;
  size_t bytes;
  bool of_host;
};
// Returns false when the driver knows of none.
bool lift_driver_memory(const struct lift_driver *d, uint64_t address, struct driver_memory *out);

#endif
