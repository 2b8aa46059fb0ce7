// SPDX-License-Identifier: Apache-2.0
#include "compute/cuda_driver.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

// One entry of the table: where it goes, what it is called in the library.
struct entry {
  const char *symbol;
  size_t offset;
  bool required;
};

enum { OPTIONAL = 0, REQUIRED = 1 };

static const struct entry entries[] = {
#define ENTRY(field, symbol, need, params) {#symbol, offsetof(struct cuda_driver, field), need},
    CUDA_DRIVER_FUNCTIONS(ENTRY)
#undef ENTRY
};

static enum assay_status fill_table(void *library, struct cuda_driver *d, struct assay_error *err) {
  for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
    // POSIX gives functions as object pointers; the bytes are the same.
    void *address = dlsym(library, entries[i].symbol);
    if (!address && entries[i].required)
      return error_set(err, ASSAY_ERR_ENVIRONMENT,
                       "the NVIDIA driver is too old: libcuda.so.1 has no %s; install a driver for CUDA 12 or later",
                       entries[i].symbol);
    memcpy((char *)d + entries[i].offset, &address, sizeof address);
  }
  return ASSAY_OK;
}

static enum assay_status initialise(struct cuda_driver *d, struct assay_error *err) {
  char text[CUDA_RESULT_TEXT_BYTES];
  enum cu_result result = d->cuInit(0);
  if (result == CUDA_ERROR_NO_DEVICE)
    return error_set(err, ASSAY_ERR_ENVIRONMENT,
                     "the NVIDIA driver finds no GPU: see `nvidia-smi`, and CUDA_VISIBLE_DEVICES if it is set");
  if (result != CUDA_SUCCESS)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "the NVIDIA driver does not start: %s; see `nvidia-smi`",
                     cuda_result_text(d, result, text));
  return cuda_check(d, d->cuDriverGetVersion(&d->version), "ask for the driver's version", err);
}

enum assay_status cuda_driver_open(const struct cuda_driver **out, struct assay_error *err) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "no NVIDIA driver: %s; install it to use the GPU", dlerror());
  struct cuda_driver *d = base_calloc(1, sizeof *d);
  if (!d)
    return error_nomem(err, "the table of the CUDA driver");
  enum assay_status status = fill_table(library, d, err);
  if (!status)
    status = initialise(d, err);
  // Threads of the driver may still run its code: the library is never unloaded.
  if (status)
    base_free(d);
  else
    *out = d;
  return status;
}

void cuda_driver_close(const struct cuda_driver *d) {
  base_free((void *)d);
}

const char *cuda_result_text(const struct cuda_driver *d, enum cu_result result, char text[CUDA_RESULT_TEXT_BYTES]) {
  const char *name = NULL, *words = NULL;
  if (d->cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
    snprintf(text, CUDA_RESULT_TEXT_BYTES, "CUDA error %d", (int)result);
  else if (d->cuGetErrorString(result, &words) != CUDA_SUCCESS || !words)
    snprintf(text, CUDA_RESULT_TEXT_BYTES, "%s", name);
  else
    snprintf(text, CUDA_RESULT_TEXT_BYTES, "%s (%s)", name, words);
  return text;
}

enum assay_status cuda_check(const struct cuda_driver *d, enum cu_result result, const char *what,
                             struct assay_error *err) {
  char text[CUDA_RESULT_TEXT_BYTES];
  if (result == CUDA_SUCCESS)
    return ASSAY_OK;
  return error_set(err, result == CUDA_ERROR_OUT_OF_MEMORY ? ASSAY_ERR_NOMEM : ASSAY_ERR_ENVIRONMENT, "cannot %s: %s",
                   what, cuda_result_text(d, result, text));
}
