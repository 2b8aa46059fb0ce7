// SPDX-License-Identifier: Apache-2.0
// Mappings of the CUDA device: memory put into address space with nothing before and after it. It uses only the driver,
// the number and the granule of the device, so that runner/serve_cuda.c, which has these, can map in the same way.
#include "device/cuda_device.h"

static uint64_t round_up(uint64_t n, uint64_t to) {
  return (n + to - 1) / to * to;
}

static struct cu_mem_access_desc access_of(const struct device *d, bool writable) {
  return (struct cu_mem_access_desc){
      .location = {CU_MEM_LOCATION_TYPE_DEVICE, d->id},
      .flags = writable ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_READ,
  };
}

enum cu_result cuda_map_protect(struct device *d, const struct cuda_mapping *m, bool writable) {
  struct cu_mem_access_desc access = access_of(d, writable);
  return d->cu->cuMemSetAccess(m->address, m->bytes, &access, 1);
}

void cuda_unmap(struct device *d, struct cuda_mapping *m) {
  if (m->bytes)
    d->cu->cuMemUnmap(m->address, m->bytes);
  if (m->reserved_bytes)
    d->cu->cuMemAddressFree(m->reserved, m->reserved_bytes);
  *m = (struct cuda_mapping){0};
}

// Puts an allocation into address space with nothing before and after it; the mapping keeps the memory alive.
static enum cu_result map_handle(struct device *d, uint64_t handle, uint64_t bytes, bool writable,
                                 struct cuda_mapping *out) {
  struct cuda_mapping m = {.reserved_bytes = bytes + 2 * d->granule};
  enum cu_result r = d->cu->cuMemAddressReserve(&m.reserved, m.reserved_bytes, 0, 0, 0);
  if (r != CUDA_SUCCESS)
    return r;
  m.address = m.reserved + d->granule;
  r = d->cu->cuMemMap(m.address, bytes, 0, handle, 0);
  if (r == CUDA_SUCCESS) {
    m.bytes = bytes;
    r = cuda_map_protect(d, &m, writable);
  }
  if (r == CUDA_SUCCESS)
    *out = m;
  else
    cuda_unmap(d, &m);
  return r;
}

enum cu_result cuda_map_new(struct device *d, uint64_t bytes, uint64_t alignment, struct cuda_mapping *out,
                            uint64_t *data) {
  struct cu_mem_allocation_prop prop = {
      .type = CU_MEM_ALLOCATION_TYPE_PINNED,
      .location = {CU_MEM_LOCATION_TYPE_DEVICE, d->id},
  };
  uint64_t handle, map_bytes = round_up(bytes, d->granule);
  enum cu_result r = d->cu->cuMemCreate(&handle, map_bytes, &prop, 0);
  if (r != CUDA_SUCCESS)
    return r;
  r = map_handle(d, handle, map_bytes, true, out);
  d->cu->cuMemRelease(handle);
  if (r == CUDA_SUCCESS)
    *data = (out->address + map_bytes - bytes) & ~(alignment - 1);
  return r;
}

enum cu_result cuda_map_import(struct device *d, const struct device_buffer *b, struct cuda_mapping *out) {
  uint64_t handle;
  enum cu_result r = d->cu->cuMemImportFromShareableHandle(&handle, (void *)(uintptr_t)b->fd,
                                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  if (r != CUDA_SUCCESS)
    return r;
  r = map_handle(d, handle, b->map_bytes, b->writable, out);
  d->cu->cuMemRelease(handle);
  return r;
}
