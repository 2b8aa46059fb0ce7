// SPDX-License-Identifier: Apache-2.0
// The CUDA backend: a context of its own (not the primary one, which libraries share), one stream, programs compiled by
// NVRTC for the GPU at hand and kept on disk.
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "compute/code_cache.h"
#include "compute/backend.h"
#include "compute/cuda.h"
#include "compute/cuda_driver.h"
#include "compute/nvrtc.h"

enum {
  BLOCK_THREADS = 256,
  WARP = 32,
  SHARED_ALWAYS = 48 << 10, // shared memory that a kernel need not ask for
  JIT_LOG_BYTES = 4096,
  LOG_SHOWN = 600,
};

struct cuda {
  const struct cuda_driver *d;
  struct nvrtc *nvrtc;             // opened for the first program
  char *nvrtc_path, *cache_folder; // may be NULL
  CUdevice device;
  CUcontext context;
  CUstream stream;
  int architecture, processors; // 90 for compute capability 9.0; multiprocessors
};

struct cuda_kernel {
  CUfunction function;
  unsigned block;
  size_t param_bytes;       // 0: the driver is too old to say
  struct cuda_kernel *next; // of the same program
};

struct cuda_program {
  CUmodule module;
  struct cuda_kernel *kernels;
};

// The calling thread may have made another context current in between.
static enum assay_status enter(struct cuda *c, struct assay_error *err) {
  return cuda_check(c->d, c->d->cuCtxSetCurrent(c->context), "use the GPU's context", err);
}

// ---- memory

static enum assay_status cuda_alloc(void *self, size_t bytes, device_ptr *out, struct assay_error *err) {
  struct cuda *c = self;
  enum assay_status status = enter(c, err);
  return status ? status : cuda_check(c->d, c->d->cuMemAlloc(out, bytes), "allocate memory on the GPU", err);
}

static void cuda_free(void *self, device_ptr p) {
  struct cuda *c = self;
  if (enter(c, NULL))
    return;
  (void)c->d->cuStreamSynchronize(c->stream);
  (void)c->d->cuMemFree(p);
}

static void cuda_available(void *self, size_t *available, size_t *total) {
  struct cuda *c = self;
  if (enter(c, NULL) || c->d->cuMemGetInfo(available, total) != CUDA_SUCCESS)
    *available = *total = 0;
}

// Pageable memory may still be read after an asynchronous copy returned, so every transfer waits.
static enum assay_status wait_stream(struct cuda *c, const char *what, struct assay_error *err) {
  return cuda_check(c->d, c->d->cuStreamSynchronize(c->stream), what, err);
}

static enum assay_status cuda_upload(void *self, device_ptr to, const void *from, size_t bytes,
                                     struct assay_error *err) {
  struct cuda *c = self;
  enum assay_status status = enter(c, err);
  if (!status)
    status = cuda_check(c->d, c->d->cuMemcpyHtoDAsync(to, from, bytes, c->stream), "copy to the GPU", err);
  return status ? status : wait_stream(c, "copy to the GPU", err);
}

static enum assay_status cuda_download(void *self, void *to, device_ptr from, size_t bytes, struct assay_error *err) {
  struct cuda *c = self;
  enum assay_status status = enter(c, err);
  if (!status)
    status = cuda_check(c->d, c->d->cuMemcpyDtoHAsync(to, from, bytes, c->stream), "copy from the GPU", err);
  return status ? status : wait_stream(c, "copy from the GPU", err);
}

static enum assay_status cuda_copy(void *self, device_ptr to, device_ptr from, size_t bytes, struct assay_error *err) {
  struct cuda *c = self;
  enum assay_status status = enter(c, err);
  return status ? status
                : cuda_check(c->d, c->d->cuMemcpyDtoDAsync(to, from, bytes, c->stream), "copy on the GPU", err);
}

static enum assay_status cuda_set32(void *self, device_ptr to, uint32_t value, size_t words, struct assay_error *err) {
  struct cuda *c = self;
  enum assay_status status = enter(c, err);
  return status ? status
                : cuda_check(c->d, c->d->cuMemsetD32Async(to, value, words, c->stream), "fill memory of the GPU", err);
}

// ---- compiling

struct target {
  char option[48];  // --gpu-architecture=...
  char version[64]; // of NVRTC and the architecture, for the cache
};

// The nearest architecture that NVRTC knows: machine code where the GPU can run it (same major version), otherwise PTX,
// which the driver translates.
static enum assay_status choose_target(const struct cuda *c, struct target *t, struct assay_error *err) {
  int count, major, minor, best = 0;
  const int *list = nvrtc_architectures(c->nvrtc, &count);
  nvrtc_version(c->nvrtc, &major, &minor);
  for (int i = 0; i < count; i++)
    if (list[i] <= c->architecture && list[i] > best)
      best = list[i];
  if (!best)
    return error_set(err, ASSAY_ERR_ENVIRONMENT,
                     "NVRTC %d.%d no longer compiles for this GPU (sm_%d): install an older CUDA toolkit", major, minor,
                     c->architecture);
  const char *kind = best / 10 == c->architecture / 10 ? "sm" : "compute";
  snprintf(t->option, sizeof t->option, "--gpu-architecture=%s_%d", kind, best);
  snprintf(t->version, sizeof t->version, "nvrtc %d.%d %s_%d", major, minor, kind, best);
  return ASSAY_OK;
}

static enum assay_status compile(const struct cuda *c, const struct device_code *code, const char *text,
                                 const char *const *options, char **data, size_t *n, struct assay_error *err) {
  struct nvrtc_result result = {0};
  struct nvrtc_request r = {.source = text, .name = code->name, .options = options};
  enum assay_status status = nvrtc_compile(c->nvrtc, &r, &result, err);
  if (!status && !result.compiled)
    status = error_set(err, ASSAY_ERR_ENVIRONMENT, "NVRTC does not compile device code \"%s\": %.*s", code->name,
                       LOG_SHOWN, result.log);
  if (!status) {
    *data = result.code;
    *n = result.code_bytes;
    result.code = NULL;
  }
  nvrtc_result_release(&result);
  return status;
}

static enum assay_status load_module(struct cuda *c, const struct device_code *code, const char *data, CUmodule *out,
                                     struct assay_error *err) {
  char log[JIT_LOG_BYTES] = "", what[128];
  enum cu_jit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, (void *)(uintptr_t)sizeof log};
  enum cu_result result = c->d->cuModuleLoadDataEx(out, data, 2, options, values);
  snprintf(what, sizeof what, "load device code \"%s\"", code->name);
  enum assay_status status = cuda_check(c->d, result, what, err);
  if (status && log[0])
    return error_set(err, status, "cannot %s: %.*s", what, LOG_SHOWN, log);
  return status;
}

// From the cache if it is there and loads, else compiled.
static enum assay_status make_module(struct cuda *c, const struct device_code *code, const char *text, CUmodule *out,
                                     struct assay_error *err) {
  struct target target;
  char key[HASH_HEX_BYTES], *data = NULL;
  size_t n = 0;
  enum assay_status status = c->nvrtc ? ASSAY_OK : nvrtc_open(c->nvrtc_path, &c->nvrtc, err);
  if (!status)
    status = choose_target(c, &target, err);
  if (status)
    return status;
  const char *const options[] = {target.option, "--std=c++17", "--disable-warnings",
                                 code->exact ? "--fmad=false" : "--fmad=true", NULL};
  const char *const parts[] = {"cuda", target.version, options[0], options[1], options[2], options[3], text, NULL};
  status = code_cache_key(parts, key, err);
  if (status)
    return status;
  if (code_cache_read(c->cache_folder, key, &data, &n, NULL) == ASSAY_OK) {
    status = load_module(c, code, data, out, NULL);
    base_free(data);
    if (!status)
      return status;
    data = NULL;
  }
  status = compile(c, code, text, options, &data, &n, err);
  if (!status)
    status = load_module(c, code, data, out, err);
  if (!status && c->cache_folder)
    (void)code_cache_write(c->cache_folder, key, data, n, NULL);
  base_free(data);
  return status;
}

static enum assay_status cuda_load(void *self, const struct device_code *code, const char *text, compute_program *out,
                                   struct assay_error *err) {
  struct cuda *c = self;
  enum assay_status status = enter(c, err);
  if (status)
    return status;
  struct cuda_program *p = base_calloc(1, sizeof *p);
  if (!p)
    return error_nomem(err, "a device program");
  status = make_module(c, code, text, &p->module, err);
  if (status)
    base_free(p);
  else
    *out = p;
  return status;
}

static void cuda_unload(void *self, compute_program program) {
  struct cuda *c = self;
  struct cuda_program *p = program;
  if (!enter(c, NULL))
    (void)c->d->cuModuleUnload(p->module);
  for (struct cuda_kernel *k = p->kernels, *next; k; k = next) {
    next = k->next;
    base_free(k);
  }
  base_free(p);
}

// ---- running

static enum assay_status cuda_find(void *self, compute_program program, const char *name, compute_kernel *out,
                                   struct assay_error *err) {
  struct cuda *c = self;
  struct cuda_program *p = program;
  CUfunction function;
  int threads = 0;
  size_t offset = 0, bytes = 0;
  enum assay_status status = enter(c, err);
  if (status)
    return status;
  enum cu_result result = c->d->cuModuleGetFunction(&function, p->module, name);
  if (result == CUDA_ERROR_NOT_FOUND)
    return error_set(err, ASSAY_ERR_NOT_FOUND, "there is no kernel %s", name);
  status = cuda_check(c->d, result, "find a kernel", err);
  if (!status)
    status = cuda_check(c->d, c->d->cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function),
                        "ask for a kernel's block size", err);
  if (status)
    return status;
  if (c->d->cuFuncGetParamInfo && c->d->cuFuncGetParamInfo(function, 0, &offset, &bytes) != CUDA_SUCCESS)
    bytes = 0;
  struct cuda_kernel *k = base_calloc(1, sizeof *k);
  if (!k)
    return error_nomem(err, "a kernel");
  *k = (struct cuda_kernel){.function = function, .block = BLOCK_THREADS, .param_bytes = bytes, .next = p->kernels};
  while (k->block > WARP && (int)k->block > threads)
    k->block /= 2;
  p->kernels = k;
  *out = k;
  return ASSAY_OK;
}

static enum assay_status cuda_launch_blocks(void *self, compute_kernel kernel, const char *name,
                                            const struct compute_blocks *b, const void *args, size_t arg_bytes,
                                            struct assay_error *err) {
  struct cuda *c = self;
  const struct cuda_kernel *k = kernel;
  char what[128];
  void *params[] = {(void *)args};
  snprintf(what, sizeof what, "launch %s", name);
  if (k->param_bytes && k->param_bytes != arg_bytes)
    return error_set(err, ASSAY_ERR_INVALID, "cannot %s: it takes %zu bytes but is given %zu", what, k->param_bytes,
                     arg_bytes);
  if (b->blocks > INT32_MAX)
    return error_set(err, ASSAY_ERR_LIMIT, "cannot %s over %lld blocks: a grid has at most %d", what,
                     (long long)b->blocks, INT32_MAX);
  enum assay_status status = enter(c, err);
  if (!status && b->shared_bytes > SHARED_ALWAYS)
    status = cuda_check(
        c->d,
        c->d->cuFuncSetAttribute(k->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)b->shared_bytes),
        what, err);
  if (status)
    return status;
  return cuda_check(c->d,
                    c->d->cuLaunchKernel(k->function, (unsigned)b->blocks, 1, 1, (unsigned)b->threads, 1, 1,
                                         (unsigned)b->shared_bytes, c->stream, params, NULL),
                    what, err);
}

static enum assay_status cuda_launch(void *self, compute_kernel kernel, const char *name, int64_t n, const void *args,
                                     size_t arg_bytes, struct assay_error *err) {
  struct cuda *c = self;
  const struct cuda_kernel *k = kernel;
  unsigned block = k->block;
  // Few threads: smaller blocks, so that all multiprocessors have some.
  while (block > WARP && n < (int64_t)block * c->processors)
    block /= 2;
  const struct compute_blocks b = {.blocks = (n + block - 1) / block, .threads = (int)block};
  return cuda_launch_blocks(self, kernel, name, &b, args, arg_bytes, err);
}

static enum assay_status cuda_sync(void *self, struct assay_error *err) {
  struct cuda *c = self;
  enum assay_status status = enter(c, err);
  return status ? status : wait_stream(c, "finish the work on the GPU", err);
}

// ---- memory of another process

static enum assay_status map_handle(struct cuda *c, uint64_t handle, size_t bytes, device_ptr address,
                                    struct assay_error *err) {
  const struct cuda_driver *d = c->d;
  struct cu_mem_access_desc access = {.location = {CU_MEM_LOCATION_TYPE_DEVICE, c->device},
                                      .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  enum assay_status status = cuda_check(d, d->cuMemMap(address, bytes, 0, handle, 0), "map shared memory", err);
  if (status)
    return status;
  status = cuda_check(d, d->cuMemSetAccess(address, bytes, &access, 1), "allow access to shared memory", err);
  if (status)
    (void)d->cuMemUnmap(address, bytes);
  return status;
}

static enum assay_status cuda_map(void *self, int fd, size_t bytes, device_ptr *out, struct assay_error *err) {
  struct cuda *c = self;
  const struct cuda_driver *d = c->d;
  uint64_t handle, address;
  if (!d->cuMemImportFromShareableHandle || !d->cuMemAddressReserve || !d->cuMemMap || !d->cuMemSetAccess)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "the NVIDIA driver is too old to share memory: install a newer one");
  enum assay_status status = enter(c, err);
  if (status)
    return status;
  // A descriptor is passed in place of a pointer.
  status = cuda_check(
      d, d->cuMemImportFromShareableHandle(&handle, (void *)(uintptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
      "import shared memory", err);
  if (status)
    return status;
  status = cuda_check(d, d->cuMemAddressReserve(&address, bytes, 0, 0, 0), "reserve addresses", err);
  if (!status) {
    status = map_handle(c, handle, bytes, address, err);
    if (status)
      (void)d->cuMemAddressFree(address, bytes);
  }
  (void)d->cuMemRelease(handle); // the mapping keeps the memory
  if (!status)
    *out = address;
  return status;
}

static void cuda_unmap(void *self, device_ptr p, size_t bytes) {
  struct cuda *c = self;
  if (enter(c, NULL))
    return;
  (void)c->d->cuStreamSynchronize(c->stream);
  (void)c->d->cuMemUnmap(p, bytes);
  (void)c->d->cuMemAddressFree(p, bytes);
}

// ---- opening

static void cuda_close(void *self) {
  struct cuda *c = self;
  if (c->context && !enter(c, NULL)) {
    if (c->stream)
      (void)c->d->cuStreamDestroy(c->stream);
    (void)c->d->cuCtxDestroy(c->context);
  }
  nvrtc_close(c->nvrtc);
  cuda_driver_close(c->d);
  base_free(c->nvrtc_path);
  base_free(c->cache_folder);
  base_free(c);
}

static const struct compute_backend cuda_backend = {
    .cuda = true,
    .keeps = true,
    .close = cuda_close,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .available = cuda_available,
    .upload = cuda_upload,
    .download = cuda_download,
    .copy = cuda_copy,
    .set32 = cuda_set32,
    .load = cuda_load,
    .unload = cuda_unload,
    .find = cuda_find,
    .launch = cuda_launch,
    .launch_blocks = cuda_launch_blocks,
    .sync = cuda_sync,
    .map = cuda_map,
    .unmap = cuda_unmap,
};

static enum assay_status find_device(struct cuda *c, int index, struct assay_error *err) {
  const struct cuda_driver *d = c->d;
  int count = 0, major = 0, minor = 0;
  enum assay_status status = cuda_check(d, d->cuDeviceGetCount(&count), "count the GPUs", err);
  if (status)
    return status;
  if (index < 0 || index >= count)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "there is no GPU %d: this machine has %d, numbered from 0", index,
                     count);
  status = cuda_check(d, d->cuDeviceGet(&c->device, index), "find the GPU", err);
  if (!status)
    status = cuda_check(d, d->cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, c->device),
                        "ask for the GPU's compute capability", err);
  if (!status)
    status = cuda_check(d, d->cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, c->device),
                        "ask for the GPU's compute capability", err);
  if (!status)
    status = cuda_check(d, d->cuDeviceGetAttribute(&c->processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, c->device),
                        "ask for the GPU's multiprocessors", err);
  c->architecture = 10 * major + minor;
  return status;
}

// After a fault of a kernel no context can be made in the same process (CUresult in CUDA's driver API).
static enum assay_status make_context(struct cuda *c, struct assay_error *err) {
  char text[CUDA_RESULT_TEXT_BYTES];
  enum cu_result result = c->d->cuCtxCreate(&c->context, CU_CTX_SCHED_AUTO, c->device);
  if (result != CUDA_ERROR_ILLEGAL_ADDRESS && result != CUDA_ERROR_LAUNCH_FAILED)
    return cuda_check(c->d, result, "make a context on the GPU", err);
  return error_set(err, ASSAY_ERR_ENVIRONMENT,
                   "cannot make a context on the GPU: a kernel of this process failed before (%s); start it again",
                   cuda_result_text(c->d, result, text));
}

static enum assay_status cuda_init(struct cuda *c, const struct compute_options *o, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  if (o->nvrtc && !(c->nvrtc_path = base_strndup(o->nvrtc, strlen(o->nvrtc))))
    status = error_nomem(err, "the GPU's context");
  if (o->cache_folder && !(c->cache_folder = base_strndup(o->cache_folder, strlen(o->cache_folder))))
    status = error_nomem(err, "the GPU's context");
  if (!status)
    status = cuda_driver_open(&c->d, err);
  if (!status)
    status = find_device(c, o->device, err);
  if (!status)
    status = make_context(c, err);
  if (!status)
    status = cuda_check(c->d, c->d->cuStreamCreate(&c->stream, CU_STREAM_NON_BLOCKING), "make a stream", err);
  return status;
}

enum assay_status compute_open_cuda(const struct compute_options *o, struct compute **out, struct assay_error *err) {
  struct cuda *c = base_calloc(1, sizeof *c);
  if (!c)
    return error_nomem(err, "the GPU's context");
  enum assay_status status = cuda_init(c, o, err);
  if (status) {
    cuda_close(c);
    return status;
  }
  return compute_make(&cuda_backend, c, out, err);
}

enum assay_status compute_cuda_part(struct compute *compute, struct compute_cuda_part *out, struct assay_error *err) {
  struct cuda *c = compute_self(compute, &cuda_backend);
  if (!c)
    return error_set(err, ASSAY_ERR_INVALID, "this needs a GPU: it is computed on the host");
  enum assay_status status = enter(c, err);
  if (status)
    return status;
  *out = (struct compute_cuda_part){.driver = c->d,
                                    .device = c->device,
                                    .context = c->context,
                                    .stream = c->stream,
                                    .nvrtc_path = c->nvrtc_path,
                                    .cache_folder = c->cache_folder};
  // From Hopper on, the fastest instructions exist only in the architecture-specific target (sm_90a).
  snprintf(out->target, sizeof out->target, "sm_%d%s", c->architecture, c->architecture >= 90 ? "a" : "");
  return ASSAY_OK;
}
