// SPDX-License-Identifier: Apache-2.0
// Allocations, memsets and copies. Addresses of the device are numbers: there is no memory at them here.
#include <stdlib.h>
#include <string.h>

#include "toolchain/recorder/recorder.h"

enum copy_kind { HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, BY_ADDRESS };
enum { PITCH_BYTES = 512, MAX_PINNED = 4096 };

static struct { uint64_t begin, end; } pinned[MAX_PINNED];
static int n_pinned;

bool is_device_address(const void *p) {
  uint64_t a = (uint64_t)(uintptr_t)p;
  return a >= RECORD_FIRST_ADDRESS - RECORD_GAP_BYTES && a < RECORD_LAST_ADDRESS;
}

bool host_allocated(uint64_t word) {
  for (int i = 0; i < n_pinned; i++)
    if (word >= pinned[i].begin && word < pinned[i].end)
      return true;
  return false;
}

static int allocate(void **out, size_t bytes, uint32_t stream) {
  if (!out)
    return fail(CUDA_INVALID_VALUE);
  *out = NULL;
  if (bytes == 0)
    return CUDA_OK;
  if (bytes > recorder.request->device.memory_bytes - recorder.allocated_bytes)
    return fail(CUDA_OUT_OF_MEMORY);
  struct record_alloc e = {.address = recorder.next_address, .bytes = bytes, .stream = stream};
  if (bytes > RECORD_LAST_ADDRESS - e.address)
    refuse("it allocates more than there are addresses for: allocate once and use the memory again");
  recorder.next_address = record_next_address(e.address, bytes);
  recorder.allocated_bytes += bytes;
  LOG(RECORD_ALLOC, e);
  *out = (void *)(uintptr_t)e.address;
  return CUDA_OK;
}

// What was freed counts on against the device's memory: a rough limit, the plan's own check is exact.
static int release(void *address, uint32_t stream) {
  if (!address)
    return CUDA_OK;
  struct record_free e = {.address = (uint64_t)(uintptr_t)address, .stream = stream};
  LOG(RECORD_FREE, e);
  return CUDA_OK;
}

EXPORT(int, cudaMalloc, void **out, size_t bytes) {
  return allocate(out, bytes, RECORD_NO_STREAM);
}

EXPORT(int, cudaMallocAsync, void **out, size_t bytes, void *stream) {
  return allocate(out, bytes, stream_of(stream));
}

EXPORT(int, cudaMallocFromPoolAsync, void **out, size_t bytes, void *pool, void *stream) {
  (void)pool;
  return allocate(out, bytes, stream_of(stream));
}

EXPORT(int, cudaMallocPitch, void **out, size_t *pitch, size_t width, size_t height) {
  if (!pitch || width > SIZE_MAX / 2 || (height && width > SIZE_MAX / 2 / height))
    return fail(CUDA_INVALID_VALUE);
  *pitch = (width + PITCH_BYTES - 1) / PITCH_BYTES * PITCH_BYTES;
  return allocate(out, *pitch * height, RECORD_NO_STREAM);
}

EXPORT(int, cudaFree, void *address) {
  return release(address, RECORD_NO_STREAM);
}

EXPORT(int, cudaFreeAsync, void *address, void *stream) {
  return release(address, stream_of(stream));
}

// Pinned memory of the host is memory of the host.
EXPORT(int, cudaHostAlloc, void **out, size_t bytes, unsigned flags) {
  (void)flags;
  *out = n_pinned < MAX_PINNED ? aligned_alloc(4096, (bytes + 4095) / 4096 * 4096) : NULL;
  if (!*out)
    return fail(CUDA_OUT_OF_MEMORY);
  pinned[n_pinned].begin = (uint64_t)(uintptr_t)*out;
  pinned[n_pinned++].end = (uint64_t)(uintptr_t)*out + bytes;
  return CUDA_OK;
}

EXPORT(int, cudaMallocHost, void **out, size_t bytes) {
  return cudaHostAlloc(out, bytes, 0);
}

EXPORT(int, cudaFreeHost, void *p) {
  free(p);
  return CUDA_OK;
}

EXPORT(int, cudaMemGetInfo, size_t *free_bytes, size_t *total) {
  *total = recorder.request->device.memory_bytes;
  *free_bytes = *total - recorder.allocated_bytes;
  return CUDA_OK;
}

struct cuda_pointer_attributes {
  int type, device; // 0: not CUDA's, 2: of the device
  void *device_pointer, *host_pointer;
};

EXPORT(int, cudaPointerGetAttributes, struct cuda_pointer_attributes *out, const void *p) {
  bool device = is_device_address(p);
  *out = (struct cuda_pointer_attributes){.type = device ? 2 : 0,
                                          .device_pointer = device ? (void *)(uintptr_t)p : NULL,
                                          .host_pointer = device ? NULL : (void *)(uintptr_t)p};
  return CUDA_OK;
}

static void fill(const void *address, int value, size_t bytes, void *stream) {
  struct record_fill e = {.address = (uint64_t)(uintptr_t)address,
                          .bytes = bytes,
                          .value = (unsigned char)value,
                          .width = 1,
                          .stream = stream_of(stream)};
  LOG(RECORD_FILL, e);
}

EXPORT(int, cudaMemsetAsync, void *address, int value, size_t bytes, void *stream) {
  fill(address, value, bytes, stream);
  return CUDA_OK;
}

EXPORT(int, cudaMemset, void *address, int value, size_t bytes) {
  return cudaMemsetAsync(address, value, bytes, NULL);
}

EXPORT(int, cudaMemset2DAsync, void *address, size_t pitch, int value, size_t width, size_t height, void *stream) {
  if (pitch == width || height <= 1)
    fill(address, value, width * height, stream);
  else
    for (size_t i = 0; i < height; i++)
      fill((char *)address + i * pitch, value, width, stream);
  return CUDA_OK;
}

EXPORT(int, cudaMemset2D, void *address, size_t pitch, int value, size_t width, size_t height) {
  return cudaMemset2DAsync(address, pitch, value, width, height, NULL);
}

static void host_waits(uint32_t stream) {
  struct record_host_wait e = {RECORD_AWAIT_STREAM, stream};
  LOG(RECORD_HOST_WAIT, e);
}

// One row of bytes. `call` is for the message.
static void copy(const char *call, void *to, const void *from, size_t bytes, int kind, uint32_t stream) {
  bool to_device = is_device_address(to), from_device = is_device_address(from);
  if (bytes == 0)
    return;
  if (kind < HOST_TO_HOST || kind > BY_ADDRESS)
    refuse("%s: %d is not a kind of copy", call, kind);
  if (kind != BY_ADDRESS && (to_device != (kind == HOST_TO_DEVICE || kind == DEVICE_TO_DEVICE) ||
                             from_device != (kind == DEVICE_TO_HOST || kind == DEVICE_TO_DEVICE)))
    refuse("%s: it copies from %p to %p, which are not where the kind %d says (host and device)", call, from, to, kind);
  if (from_device && !to_device)
    refuse("%s from the device to the host cannot be recorded: the host has no data to decide on; make the decision "
           "in a kernel",
           call);
  if (!from_device && !to_device) {
    memcpy(to, from, bytes);
    return;
  }
  if (from_device) {
    struct record_copy e = {(uint64_t)(uintptr_t)to, (uint64_t)(uintptr_t)from, bytes, stream, 0};
    LOG(RECORD_COPY, e);
  } else {
    struct record_upload e = {.to = (uint64_t)(uintptr_t)to, .stream = stream};
    log_entry(RECORD_UPLOAD, &e, sizeof e, (struct part){from, bytes}, (struct part){0});
  }
}

EXPORT(int, cudaMemcpyAsync, void *to, const void *from, size_t bytes, int kind, void *stream) {
  copy("cudaMemcpyAsync", to, from, bytes, kind, stream_of(stream));
  return CUDA_OK;
}

EXPORT(int, cudaMemcpy, void *to, const void *from, size_t bytes, int kind) {
  copy("cudaMemcpy", to, from, bytes, kind, RECORD_DEFAULT_STREAM);
  if (!is_device_address(from))
    host_waits(RECORD_DEFAULT_STREAM);
  return CUDA_OK;
}

struct rows {
  char *to;
  size_t to_pitch;
  const char *from;
  size_t from_pitch, width, height;
};

static int copy_rows(const char *call, const struct rows *r, int kind, uint32_t stream) {
  if (r->width > r->to_pitch || r->width > r->from_pitch)
    return fail(CUDA_INVALID_VALUE);
  if (r->to_pitch == r->width && r->from_pitch == r->width)
    copy(call, r->to, r->from, r->width * r->height, kind, stream);
  else
    for (size_t i = 0; i < r->height; i++)
      copy(call, r->to + i * r->to_pitch, r->from + i * r->from_pitch, r->width, kind, stream);
  return CUDA_OK;
}

EXPORT(int, cudaMemcpy2DAsync, void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
       size_t height, int kind, void *stream) {
  const struct rows r = {
      .to = to, .to_pitch = to_pitch, .from = from, .from_pitch = from_pitch, .width = width, .height = height};
  return copy_rows("cudaMemcpy2DAsync", &r, kind, stream_of(stream));
}

EXPORT(int, cudaMemcpy2D, void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
       int kind) {
  const struct rows r = {
      .to = to, .to_pitch = to_pitch, .from = from, .from_pitch = from_pitch, .width = width, .height = height};
  int e = copy_rows("cudaMemcpy2D", &r, kind, RECORD_DEFAULT_STREAM);
  if (e == CUDA_OK && !is_device_address(from))
    host_waits(RECORD_DEFAULT_STREAM);
  return e;
}

static int copy_to_symbol(const char *call, const void *symbol, const void *from, size_t bytes, size_t offset,
                          uint32_t stream) {
  const struct variable *v = variable_of(symbol);
  if (is_device_address(from))
    refuse("%s(%s) from the device cannot be recorded: let a kernel write the variable", call, v->name);
  if (offset > v->bytes || bytes > v->bytes - offset)
    return fail(CUDA_INVALID_VALUE);
  struct record_symbol e = {
      .module = module_of(v->binary), .stream = stream, .offset = offset, .name_bytes = (uint32_t)strlen(v->name) + 1};
  log_entry(RECORD_SYMBOL, &e, sizeof e, (struct part){v->name, e.name_bytes}, (struct part){from, bytes});
  return CUDA_OK;
}

EXPORT(int, cudaMemcpyToSymbolAsync, const void *symbol, const void *from, size_t bytes, size_t offset, int kind,
       void *stream) {
  (void)kind;
  return copy_to_symbol("cudaMemcpyToSymbolAsync", symbol, from, bytes, offset, stream_of(stream));
}

EXPORT(int, cudaMemcpyToSymbol, const void *symbol, const void *from, size_t bytes, size_t offset, int kind) {
  (void)kind;
  int e = copy_to_symbol("cudaMemcpyToSymbol", symbol, from, bytes, offset, RECORD_DEFAULT_STREAM);
  host_waits(RECORD_DEFAULT_STREAM);
  return e;
}

// Memory pools: there is one, and what one may tune does not matter here.
EXPORT(int, cudaDeviceGetDefaultMemPool, void **pool, int device) {
  (void)device;
  *pool = pinned;
  return CUDA_OK;
}

EXPORT(int, cudaDeviceGetMemPool, void **pool, int device) {
  return cudaDeviceGetDefaultMemPool(pool, device);
}

EXPORT(int, cudaMemPoolSetAttribute, void *pool, int attribute, void *value) {
  (void)pool, (void)attribute, (void)value;
  return CUDA_OK;
}

EXPORT(int, cudaMemPoolTrimTo, void *pool, size_t bytes) {
  (void)pool, (void)bytes;
  return CUDA_OK;
}
