// SPDX-License-Identifier: Apache-2.0
// A GPU's memory for serve(): the judge's buffers, mapped into the context that the process already has (PyTorch's).
#ifndef RUNNER_SERVE_CUDA_H
#define RUNNER_SERVE_CUDA_H

#include "device/cuda_device.h"
#include "runner/serve.h"

struct serve_cuda {
  struct device device; // of which mapping takes the driver, the number, the granule and the context
};

// To be called in the thread that serves, where a context of the one visible GPU is current: it is the one that is used
// from here on. `driver` is borrowed; NULL: this machine's. ASSAY_ERR_ENVIRONMENT says what is missing.
enum assay_status serve_cuda_open(struct serve_cuda *c, const struct cuda_driver *driver, struct assay_error *err);

// The slots of serve_host with these names; self: a struct serve_cuda. Inputs are mapped for reading only, as far as
// kernels go: the process could ask the driver for more (docs/python-candidates.md).
bool serve_cuda_map(void *self, int fd, uint64_t map_bytes, bool writable, struct serve_mapping *out, char *message,
                    size_t bytes);
void serve_cuda_unmap(void *self, struct serve_mapping *m);

#endif
