// SPDX-License-Identifier: Apache-2.0
// Opening the GPU with the recorder listening; loading what is needed; memory and time.
#include <dlfcn.h>
#include <string.h>

#include "toolchain/vendor/vendor.h"

void *vendor_load(const char *path, const char *const *names, const char **loaded) {
  void *library = NULL;
  if (path[0]) {
    *loaded = path;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
  }
  for (; *names && !library; names++) {
    *loaded = *names;
    library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
  }
  return library;
}

enum assay_status vendor_fill(void *library, const struct vendor_entry *entries, size_t n, void *table,
                              const char *title, struct assay_error *err) {
  for (size_t i = 0; i < n; i++) {
    void *address = dlsym(library, entries[i].symbol);
    if (!address)
      return error_set(err, ASSAY_ERR_ENVIRONMENT, "%s has no %s: it is of a release that the baseline does not know",
                       title, entries[i].symbol);
    memcpy((char *)table + entries[i].offset, &address, sizeof address);
  }
  return ASSAY_OK;
}

static enum assay_status open_lift(const struct vendor_paths *p, struct vendor_lift *out, struct assay_error *err) {
#define ENTRY(name)                                                                                                    \
  { #name, offsetof(struct vendor_lift, name) }
  static const struct vendor_entry entries[] = {
      ENTRY(assay_lift_subscribe), ENTRY(assay_lift_open),  ENTRY(assay_lift_counts), ENTRY(assay_lift_tensor),
      ENTRY(assay_lift_look),      ENTRY(assay_lift_begin), ENTRY(assay_lift_end),    ENTRY(assay_lift_failed)};
#undef ENTRY
  void *library = dlopen(p->lift, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "%s cannot be loaded: %s; build or install Assay whole", p->lift,
                     dlerror());
  return vendor_fill(library, entries, sizeof entries / sizeof *entries, out, p->lift, err);
}

const char *const vendor_cupti_names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so", NULL};

static enum assay_status subscribe(const struct vendor_paths *p, const struct vendor_lift *lift,
                                   struct assay_error *err) {
  const char *path;
  if (!dlopen("libcuda.so.1", RTLD_NOW)) // without it CUPTI calls itself for ever
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "no NVIDIA driver: %s; install it to use the GPU", dlerror());
  if (!vendor_load(p->cupti, vendor_cupti_names, &path))
    return error_set(err, ASSAY_ERR_ENVIRONMENT,
                     "CUPTI, which reports what a library launches, cannot be loaded: %s; install the CUDA toolkit, or "
                     "`pip install nvidia-cuda-cupti` and point ASSAY_CUPTI to its libcupti.so",
                     dlerror());
  const char *why = lift->assay_lift_subscribe(path, p->build);
  return why ? error_set(err, ASSAY_ERR_ENVIRONMENT, "%s", why) : ASSAY_OK;
}

// The device's primary context, which the libraries' CUDA runtime takes too.
static enum assay_status open_context(const struct cuda_driver *cu, struct assay_error *err) {
  enum cu_result (*retain)(CUcontext * context, CUdevice device) = NULL;
  CUdevice device;
  CUcontext context;
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  void *symbol = library ? dlsym(library, "cuDevicePrimaryCtxRetain") : NULL;
  memcpy(&retain, &symbol, sizeof retain);
  if (!retain)
    return error_set(err, ASSAY_ERR_ENVIRONMENT,
                     "the NVIDIA driver has no cuDevicePrimaryCtxRetain; install one for "
                     "CUDA 12 or later");
  enum assay_status status = cuda_check(cu, cu->cuDeviceGet(&device, 0), "find the GPU", err);
  if (!status)
    status = cuda_check(cu, retain(&context, device), "make a context on the GPU", err);
  return status ? status : cuda_check(cu, cu->cuCtxSetCurrent(context), "use the GPU's context", err);
}

enum assay_status vendor_gpu_open(const struct vendor_paths *p, struct vendor_gpu *out, struct assay_error *err) {
  enum assay_status status = open_lift(p, &out->lift, err);
  if (!status)
    status = subscribe(p, &out->lift, err);
  if (!status)
    status = cuda_driver_open(&out->cu, err);
  return status ? status : open_context(out->cu, err);
}

// ---- memory

enum assay_status vendor_workspace_take(const struct cuda_driver *cu, size_t bytes, struct vendor_workspace *out,
                                        struct assay_error *err) {
  // lift/memory.c keeps the contents of 64 MiB and less (MOST_CONTENT).
  const size_t least = (size_t)66 << 20;
  size_t size = bytes + 2 * RECORD_ALIGNMENT;
  enum assay_status status =
      cuda_check(cu, cu->cuMemAlloc(&out->allocation, size > least ? size : least), "take a library's workspace", err);
  out->address = status ? 0 : (out->allocation + 511) / 512 * 512 + RECORD_ALIGNMENT;
  out->bytes = status ? 0 : bytes;
  return status;
}

void vendor_workspace_give_back(const struct cuda_driver *cu, struct vendor_workspace *w) {
  if (w->allocation)
    (void)cu->cuMemFree(w->allocation);
  *w = (struct vendor_workspace){0};
}

// ---- time

struct stopwatch {
  CUevent start, end;
};

static enum assay_status time_once(const struct cuda_driver *cu, const struct vendor_ops *ops, struct vendor_engine *e,
                                   const struct vendor_tensors *t, const struct stopwatch *w, double *us,
                                   struct assay_error *err) {
  float ms = 0;
  enum assay_status status = cuda_check(cu, cu->cuEventRecord(w->start, NULL), "time a library", err);
  if (!status)
    status = ops->run(e, t, err);
  if (!status)
    status = cuda_check(cu, cu->cuEventRecord(w->end, NULL), "time a library", err);
  if (!status)
    status = cuda_check(cu, cu->cuEventSynchronize(w->end), "run a library's kernels", err);
  if (!status)
    status = cuda_check(cu, cu->cuEventElapsedTime(&ms, w->start, w->end), "time a library", err);
  *us = 1e3 * (double)ms;
  return status;
}

enum assay_status vendor_time(const struct cuda_driver *cu, const struct vendor_ops *ops, struct vendor_engine *e,
                              const struct vendor_tensors *t, double *us, struct assay_error *err) {
  enum { WARM_UP = 2, CALLS = 5 };
  struct stopwatch w = {0};
  double best = 0, one = 0;
  enum assay_status status = cuda_check(cu, cu->cuEventCreate(&w.start, 0), "time a library", err);
  if (!status)
    status = cuda_check(cu, cu->cuEventCreate(&w.end, 0), "time a library", err);
  for (int i = 0; i < WARM_UP + CALLS && !status; i++) {
    status = time_once(cu, ops, e, t, &w, &one, err);
    best = i <= WARM_UP || one < best ? one : best;
  }
  if (w.start)
    (void)cu->cuEventDestroy(w.start);
  if (w.end)
    (void)cu->cuEventDestroy(w.end);
  *us = best;
  return status;
}
