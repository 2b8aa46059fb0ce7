// SPDX-License-Identifier: Apache-2.0
#include "runner/serve_cuda.h"

#include <stdio.h>

static enum assay_status find_context(struct device *d, struct assay_error *err) {
  const struct cuda_driver *cu = d->cu;
  enum assay_status status = cuda_check(cu, cu->cuCtxGetCurrent(&d->context), "find PyTorch's context", err);
  if (!status && !d->context)
    status = error_set(err, ASSAY_ERR_ENVIRONMENT, "PyTorch has no context on the GPU");
  // CUDA_VISIBLE_DEVICES leaves one, which is number 0 here.
  return status ? status : cuda_check(cu, cu->cuDeviceGet(&d->id, 0), "find the GPU", err);
}

enum assay_status serve_cuda_open(struct serve_cuda *c, const struct cuda_driver *driver, struct assay_error *err) {
  *c = (struct serve_cuda){.device = {.cu = driver}};
  struct device *d = &c->device;
  enum assay_status status = driver ? ASSAY_OK : cuda_driver_open(&d->cu, err);
  if (status)
    return status;
  const struct cuda_driver *cu = d->cu;
  if (!cu->cuMemImportFromShareableHandle || !cu->cuMemAddressReserve || !cu->cuMemAddressFree || !cu->cuMemMap ||
      !cu->cuMemUnmap || !cu->cuMemSetAccess || !cu->cuMemRelease || !cu->cuMemGetAllocationGranularity)
    return error_set(
        err, ASSAY_ERR_ENVIRONMENT,
        "the NVIDIA driver is too old to share memory between processes; install one for CUDA 12 or later");
  status = find_context(d, err);
  const struct cu_mem_allocation_prop prop = {
      .type = CU_MEM_ALLOCATION_TYPE_PINNED,
      .requested_handle_types = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
      .location = {CU_MEM_LOCATION_TYPE_DEVICE, d->id},
  };
  return status
             ? status
             : cuda_check(cu, cu->cuMemGetAllocationGranularity(&d->granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                          "ask for the unit of mappings", err);
}

bool serve_cuda_map(void *self, int fd, uint64_t map_bytes, bool writable, struct serve_mapping *out, char *message,
                    size_t bytes) {
  struct device *d = &((struct serve_cuda *)self)->device;
  const struct device_buffer b = {.fd = fd, .map_bytes = map_bytes, .writable = writable};
  struct cuda_mapping m;
  char text[CUDA_RESULT_TEXT_BYTES];
  // Its own code may have made another context current.
  enum cu_result r = d->cu->cuCtxSetCurrent(d->context);
  if (r == CUDA_SUCCESS)
    r = cuda_map_import(d, &b, &m);
  if (r != CUDA_SUCCESS) {
    snprintf(message, bytes, "mapping a buffer of %llu bytes: %s", (unsigned long long)map_bytes,
             cuda_result_text(d->cu, r, text));
    return false;
  }
  *out = (struct serve_mapping){m.reserved, m.reserved_bytes, m.address, m.bytes};
  return true;
}

void serve_cuda_unmap(void *self, struct serve_mapping *m) {
  struct device *d = &((struct serve_cuda *)self)->device;
  struct cuda_mapping mapping = {m->reserved, m->reserved_bytes, m->base, m->bytes};
  if (d->cu->cuCtxSetCurrent(d->context) == CUDA_SUCCESS)
    cuda_unmap(d, &mapping);
  *m = (struct serve_mapping){0};
}
