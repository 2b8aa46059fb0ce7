// SPDX-License-Identifier: Apache-2.0
#include "device/shared_cuda.h"

#include <fcntl.h>
#include <stdio.h>

#include "compute/cuda.h"

static struct cu_mem_allocation_prop properties(const struct compute_cuda_part *part) {
  return (struct cu_mem_allocation_prop){
      .type = CU_MEM_ALLOCATION_TYPE_PINNED,
      .requested_handle_types = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
      .location = {CU_MEM_LOCATION_TYPE_DEVICE, part->device},
  };
}

static enum assay_status open_part(struct compute *c, struct compute_cuda_part *part, struct assay_error *err) {
  enum assay_status status = compute_cuda_part(c, part, err);
  if (!status && !(part->driver->cuMemCreate && part->driver->cuMemRelease &&
                   part->driver->cuMemExportToShareableHandle && part->driver->cuMemGetAllocationGranularity))
    return error_set(
        err, ASSAY_ERR_ENVIRONMENT,
        "the NVIDIA driver is too old to share memory between processes; install one for CUDA 12 or later");
  return status;
}

enum assay_status shared_cuda_granularity(struct compute *c, size_t *bytes, struct assay_error *err) {
  struct compute_cuda_part part;
  enum assay_status status = open_part(c, &part, err);
  if (status)
    return status;
  struct cu_mem_allocation_prop prop = properties(&part);
  return cuda_check(part.driver,
                    part.driver->cuMemGetAllocationGranularity(bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                    "ask for the unit of shared memory", err);
}

enum assay_status shared_cuda_create(struct compute *c, size_t map_bytes, int *fd, struct assay_error *err) {
  struct compute_cuda_part part;
  uint64_t handle;
  enum assay_status status = open_part(c, &part, err);
  if (status)
    return status;
  const struct cuda_driver *cu = part.driver;
  struct cu_mem_allocation_prop prop = properties(&part);
  enum cu_result r = cu->cuMemCreate(&handle, map_bytes, &prop, 0);
  if (r == CUDA_ERROR_OUT_OF_MEMORY) { // what was freed is kept for the next allocation: give it back first
    compute_trim(c);
    r = cu->cuMemCreate(&handle, map_bytes, &prop, 0);
  }
  char what[80];
  snprintf(what, sizeof what, "make a shared buffer of %zu bytes on the GPU", map_bytes);
  status = cuda_check(cu, r, what, err);
  if (status)
    return status;
  // The descriptor keeps the memory; the handle is not needed for that.
  status = cuda_check(cu, cu->cuMemExportToShareableHandle(fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
                      "export a shared buffer", err);
  cu->cuMemRelease(handle);
  if (!status)
    fcntl(*fd, F_SETFD, FD_CLOEXEC); // other children have no business with it
  return status;
}
