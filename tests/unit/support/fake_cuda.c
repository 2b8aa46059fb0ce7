// SPDX-License-Identifier: Apache-2.0
// A CUDA driver without a GPU, for the test of exported programs: memory is the host's, kernels are notes on stderr
// (scale copies x to its second argument), an event takes 7 us. Not part of the test programs; the test compiles it.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult;
typedef unsigned long long CUdeviceptr;
struct attribute {
  int id;
  char pad[4];
  union {
    char size[64];
    int number;
    unsigned three[3];
  } value;
};
struct config {
  unsigned grid[3], block[3], shared;
  void *stream;
  struct attribute *attributes;
  unsigned n_attributes;
};

enum { FAKE_ERROR = 999 };
static const char *const places[] = {"x", "y", "partial", "table"};
static CUdeviceptr starts[4];
static size_t sizes[4];
static int n_allocated;
static char coef[16], *names[] = {"scale", "turn", "tile"};

static int fails(const char *what) {
  const char *wish = getenv("FAKE_CUDA_FAIL");
  return wish && strcmp(wish, what) == 0 ? FAKE_ERROR : 0;
}

// "partial+512"; allocations come in the order of the plan's buffers and are aligned by the program.
static void put(CUdeviceptr p) {
  if (p >= (CUdeviceptr)(uintptr_t)coef && p < (CUdeviceptr)(uintptr_t)coef + sizeof coef) {
    fprintf(stderr, "coef+%llu", p - (CUdeviceptr)(uintptr_t)coef);
    return;
  }
  for (int i = 0; i < n_allocated; i++) {
    CUdeviceptr align = i == 2 ? 512 : 256, start = (starts[i] + align - 1) / align * align;
    if (p >= start && p <= starts[i] + sizes[i]) {
      fprintf(stderr, "%s+%llu", places[i], p - start);
      return;
    }
  }
  fprintf(stderr, "unknown");
}

static void put_bytes(const unsigned char *p) {
  fprintf(stderr, "%02x%02x%02x%02x", p[0], p[1], p[2], p[3]);
}

static CUdeviceptr get(const void *p) {
  CUdeviceptr v;
  memcpy(&v, p, sizeof v);
  return v;
}

#define API __attribute__((visibility("default"))) CUresult
API cuInit(unsigned flags);
API cuInit(unsigned flags) {
  return (int)flags;
}
API cuDeviceGet(int *device, int ordinal);
API cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return 0;
}
API cuDevicePrimaryCtxRetain(void **context, int device);
API cuDevicePrimaryCtxRetain(void **context, int device) {
  *context = coef + device;
  return 0;
}
API cuCtxSetCurrent(void *context);
API cuCtxSetCurrent(void *context) {
  return context ? 0 : FAKE_ERROR;
}
API cuGetErrorName(CUresult result, const char **text);
API cuGetErrorName(CUresult result, const char **text) {
  *text = result == FAKE_ERROR ? "CUDA_ERROR_FAKE" : "?";
  return 0;
}
API cuGetErrorString(CUresult result, const char **text);
API cuGetErrorString(CUresult result, const char **text) {
  *text = result == FAKE_ERROR ? "on purpose" : "?";
  return 0;
}
API cuModuleLoadData(void **module, const void *image);
API cuModuleLoadData(void **module, const void *image) {
  fprintf(stderr, "load %.3s\n", (const char *)image + 1);
  *module = coef;
  return 0;
}
API cuModuleGetFunction(void **function, void *module, const char *name);
API cuModuleGetFunction(void **function, void *module, const char *name) {
  fprintf(stderr, "function %s\n", name);
  for (size_t i = 0; i < 3; i++)
    if (strcmp(names[i], name) == 0)
      *function = names[i];
  return module == coef ? 0 : FAKE_ERROR;
}
API cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, void *module, const char *name);
API cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, void *module, const char *name) {
  fprintf(stderr, "global %s\n", name);
  *address = (CUdeviceptr)(uintptr_t)coef;
  *bytes = sizeof coef;
  return module == coef ? 0 : FAKE_ERROR;
}
API cuFuncGetAttribute(int *value, int attribute, void *function);
API cuFuncGetAttribute(int *value, int attribute, void *function) {
  *value = 0;
  return attribute == 8 && function ? 0 : FAKE_ERROR;
}
API cuFuncSetAttribute(void *function, int attribute, int value);
API cuFuncSetAttribute(void *function, int attribute, int value) {
  fprintf(stderr, "set %d = %d\n", attribute, value);
  return function ? 0 : FAKE_ERROR;
}
API cuMemAlloc_v2(CUdeviceptr *address, size_t bytes);
API cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
  fprintf(stderr, "alloc %zu\n", bytes);
  *address = starts[n_allocated] = (CUdeviceptr)(uintptr_t)malloc(bytes);
  sizes[n_allocated++] = bytes;
  return 0;
}
API cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes);
API cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
  memcpy((void *)(uintptr_t)to, from, bytes);
  return 0;
}
API cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes);
API cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
  memcpy(to, (const void *)(uintptr_t)from, bytes);
  return 0;
}
API cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t n);
API cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t n) {
  memset((void *)(uintptr_t)to, value, n);
  return 0;
}
API cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, void *stream);
API cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, void *stream) {
  fprintf(stderr, "copy ");
  put(to);
  fprintf(stderr, " < ");
  put(from);
  fprintf(stderr, " %zu\n", bytes);
  memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
  return stream ? 0 : FAKE_ERROR;
}
static CUresult fill(CUdeviceptr to, unsigned value, size_t bytes, int width, void *stream) {
  fprintf(stderr, "fill ");
  put(to);
  fprintf(stderr, " %x x %zu width %d\n", value, bytes, width);
  return stream ? 0 : FAKE_ERROR;
}
API cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t n, void *stream);
API cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t n, void *stream) {
  return fill(to, value, n, 1, stream);
}
API cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t n, void *stream);
API cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t n, void *stream) {
  return fill(to, value, n, 2, stream);
}
API cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t n, void *stream);
API cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t n, void *stream) {
  return fill(to, value, n, 4, stream);
}
API cuStreamCreate(void **stream, unsigned flags);
API cuStreamCreate(void **stream, unsigned flags) {
  *stream = coef + flags;
  return 0;
}
API cuStreamSynchronize(void *stream);
API cuStreamSynchronize(void *stream) {
  return stream ? 0 : FAKE_ERROR;
}
API cuEventCreate(void **event, unsigned flags);
API cuEventCreate(void **event, unsigned flags) {
  *event = coef + flags;
  return 0;
}
API cuEventRecord(void *event, void *stream);
API cuEventRecord(void *event, void *stream) {
  fprintf(stderr, "event\n");
  return event && stream ? 0 : FAKE_ERROR;
}
API cuEventSynchronize(void *event);
API cuEventSynchronize(void *event) {
  return event ? 0 : FAKE_ERROR;
}
API cuEventElapsedTime(float *milliseconds, void *begin, void *end);
API cuEventElapsedTime(float *milliseconds, void *begin, void *end) {
  *milliseconds = 0.007f;
  return begin && end ? 0 : FAKE_ERROR;
}

static void put_arguments(const char *name, void **a) {
  if (strcmp(name, "scale") == 0) {
    CUdeviceptr x = get(a[0]), y = get(a[1]);
    put(x);
    fprintf(stderr, " ");
    put(y);
    fprintf(stderr, " ");
    put_bytes(a[2]);
    memcpy((void *)(uintptr_t)y, (const void *)(uintptr_t)x, 128);
  } else if (strcmp(name, "turn") == 0) {
    const unsigned char *p = a[0];
    fprintf(stderr, "{");
    put(get(p));
    fprintf(stderr, " ");
    put(get(p + 8));
    fprintf(stderr, " ");
    put_bytes(p + 16);
    fprintf(stderr, " ");
    put_bytes(p + 20);
    fprintf(stderr, "}");
  } else {
    fprintf(stderr, (uintptr_t)a[0] % 64 ? "misaligned " : *(char *)a[0] == 'm' ? "map " : "garbage ");
    put(get(a[1]));
  }
  fprintf(stderr, "\n");
}

API cuLaunchKernelEx(const struct config *c, void *function, void **parameters, void **extra);
API cuLaunchKernelEx(const struct config *c, void *function, void **parameters, void **extra) {
  if (fails("launch"))
    return FAKE_ERROR;
  fprintf(stderr, "launch %s grid %u %u %u block %u %u %u shared %u", (const char *)function, c->grid[0], c->grid[1],
          c->grid[2], c->block[0], c->block[1], c->block[2], c->shared);
  for (unsigned i = 0; i < c->n_attributes; i++)
    if (c->attributes[i].id == 4)
      fprintf(stderr, " 4=%u,%u,%u", c->attributes[i].value.three[0], c->attributes[i].value.three[1],
              c->attributes[i].value.three[2]);
    else
      fprintf(stderr, " %d=%d", c->attributes[i].id, c->attributes[i].value.number);
  fprintf(stderr, ": ");
  put_arguments(function, parameters);
  return c->stream && !extra ? 0 : FAKE_ERROR;
}
API cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address, const uint64_t *dims,
                           const uint64_t *strides, const unsigned *box, const unsigned *elements, int interleave,
                           int swizzle, int promotion, int fill_mode);
API cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address, const uint64_t *dims,
                           const uint64_t *strides, const unsigned *box, const unsigned *elements, int interleave,
                           int swizzle, int promotion, int fill_mode) {
  memset(map, 'm', 128);
  fprintf(stderr, "map type %d rank %u at ", type, rank);
  put((CUdeviceptr)(uintptr_t)address);
  fprintf(stderr, " dims %d %d strides %d box %u %u elements %u %u rest %d %d %d %d\n", (int)dims[0], (int)dims[1],
          (int)strides[0], box[0], box[1], elements[0], elements[1], interleave, swizzle, promotion, fill_mode);
  return (uintptr_t)map % 64 ? FAKE_ERROR : 0;
}
