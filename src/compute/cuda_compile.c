// SPDX-License-Identifier: Apache-2.0
// Compiles our own CUDA C++ for the GPU at hand (compute/cuda.h): code with instructions that the dialect lacks.
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "compute/code_cache.h"
#include "compute/cuda.h"
#include "compute/nvrtc.h"

enum { LOG_SHOWN = 600 };

static enum assay_status compile(const struct nvrtc *n, const struct nvrtc_request *r, void **cubin, size_t *bytes,
                                 struct assay_error *err) {
  struct nvrtc_result result = {0};
  enum assay_status status = nvrtc_compile(n, r, &result, err);
  if (!status && !result.compiled)
    status = error_set(err, ASSAY_ERR_ENVIRONMENT, "NVRTC does not compile %s: %.*s", r->name, LOG_SHOWN, result.log);
  if (!status) {
    *cubin = result.code;
    *bytes = result.code_bytes;
    result.code = NULL;
  }
  nvrtc_result_release(&result);
  return status;
}

static enum assay_status compile_or_find(const struct nvrtc *n, const struct compute_cuda_part *part, const char *name,
                                         const char *source, void **cubin, size_t *bytes, struct assay_error *err) {
  char version[32], architecture[48], key[HASH_HEX_BYTES], *found = NULL;
  int major, minor;
  nvrtc_version(n, &major, &minor);
  snprintf(version, sizeof version, "nvrtc %d.%d", major, minor);
  snprintf(architecture, sizeof architecture, "--gpu-architecture=%s", part->target);
  const char *const options[] = {architecture, "--std=c++17", "--disable-warnings", NULL};
  const char *const parts[] = {"cubin", version, options[0], options[1], options[2], source, NULL};
  struct nvrtc_request request = {.source = source, .name = name, .options = options};
  enum assay_status status = code_cache_key(parts, key, err);
  if (status)
    return status;
  if (code_cache_read(part->cache_folder, key, &found, bytes, NULL) == ASSAY_OK) {
    *cubin = found;
    return ASSAY_OK;
  }
  status = compile(n, &request, cubin, bytes, err);
  if (!status && part->cache_folder)
    (void)code_cache_write(part->cache_folder, key, *cubin, *bytes, NULL);
  return status;
}

enum assay_status compute_cuda_compile(struct compute *c, const char *name, const char *source, void **cubin,
                                       size_t *bytes, struct assay_error *err) {
  struct compute_cuda_part part;
  struct nvrtc *n = NULL;
  enum assay_status status = compute_cuda_part(c, &part, err);
  if (!status)
    status = nvrtc_open(part.nvrtc_path, &n, err);
  if (!status)
    status = compile_or_find(n, &part, name, source, cubin, bytes, err);
  nvrtc_close(n);
  return status;
}
