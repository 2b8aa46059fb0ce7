// SPDX-License-Identifier: Apache-2.0
#include "device/describe.h"

#include <string.h>

#include "compute/cuda.h"

enum assay_status compute_describe(struct compute *c, struct compute_description *out, struct assay_error *err) {
  struct compute_cuda_part p;
  int bytes = 0;
  memset(out, 0, sizeof *out);
  enum assay_status status = compute_cuda_part(c, &p, err);
  if (!status)
    status = cuda_check(p.driver, p.driver->cuDeviceGetName(out->name, (int)sizeof out->name, p.device),
                        "read the GPU's name", err);
  if (!status)
    status = cuda_check(p.driver, p.driver->cuDeviceGetAttribute(&bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, p.device),
                        "read the size of the GPU's cache", err);
  out->cache_bytes = bytes;
  return status;
}
