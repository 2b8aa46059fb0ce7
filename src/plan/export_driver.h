// SPDX-License-Identifier: Apache-2.0
// --- what every exported program needs -------------------------------------------------------------------------------
// The driver's functions as cuda.h declares them (CUDA 12 and later), so that no CUDA header is needed.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef unsigned long long CUdeviceptr;
typedef int CUresult, CUdevice; // CUresult: 0 is success
typedef struct {
  _Alignas(64) uint64_t opaque[16];
} CUtensorMap;

enum {
  FUNCTION_DYNAMIC_SHARED = 8, // CUfunction_attribute
  FUNCTION_LARGE_CLUSTERS = 14,
  LAUNCH_COOPERATIVE = 2, // CUlaunchAttributeID
  LAUNCH_CLUSTER = 4,
  LAUNCH_PROGRAMMATIC = 6,
  LAUNCH_CARVEOUT = 14,
};
typedef struct {
  int id;
  char pad[4];
  union {
    char size[64];
    int number;
    unsigned three[3];
    void *alignment;
  } value;
} CUlaunchAttribute;
typedef struct {
  unsigned grid[3], block[3], shared;
  CUstream stream;
  CUlaunchAttribute *attributes;
  unsigned n_attributes;
} CUlaunchConfig;

CUresult cuInit(unsigned flags);
CUresult cuDeviceGet(CUdevice *device, int ordinal);
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuGetErrorName(CUresult result, const char **text);
CUresult cuGetErrorString(CUresult result, const char **text);
CUresult cuModuleLoadData(CUmodule *module, const void *image);
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name);
CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name);
CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction function);
CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value);
CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes);
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes);
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes);
CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t n);
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t n, CUstream stream);
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t n, CUstream stream);
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t n, CUstream stream);
CUresult cuStreamCreate(CUstream *stream, unsigned flags);
CUresult cuStreamSynchronize(CUstream stream);
CUresult cuEventCreate(CUevent *event, unsigned flags);
CUresult cuEventRecord(CUevent event, CUstream stream);
CUresult cuEventSynchronize(CUevent event);
CUresult cuEventElapsedTime(float *milliseconds, CUevent begin, CUevent end);
CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra);
CUresult cuTensorMapEncodeTiled(CUtensorMap *map, int data_type, unsigned rank, void *address, const uint64_t *dims,
                                const uint64_t *strides, const unsigned *box, const unsigned *element_strides,
                                int interleave, int swizzle, int l2_promotion, int oob_fill);

#define HELPER static __attribute__((unused))
#define CHECK(call) check((call), #call, __LINE__)

enum role { INPUT, OUTPUT, SCRATCH, CONSTANT };
struct buffer {
  const char *name;
  enum role role;
  int index, dtype; // inputs and outputs; dtype is ONNX's number
  size_t bytes, alignment;
  const char *file; // constants: what they hold
  CUdeviceptr address;
  int zeroed; // scratch
};

struct module {
  const char *file;
  CUmodule handle;
};

struct launch {
  unsigned grid[3], block[3], cluster[3], shared;
  int cooperative, programmatic, carveout;
};

struct program {
  int n_modules, n_buffers, n_steps, n_prepare;
  struct module *modules;
  struct buffer *buffers;
  void (*load)(void); // after modules and buffers are there: kernels, symbols, tensor maps
  void (*const *steps)(CUstream stream);
};

HELPER void die(const char *what, const char *which) {
  fprintf(stderr, "%s%s\n", what, which);
  exit(1);
}

HELPER void check(CUresult result, const char *call, int line) {
  const char *name = "an error without a name", *text = "";
  if (result == 0)
    return;
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &text);
  fprintf(stderr, "line %d: %s: %s (%s)\n", line, call, name, text);
  exit(1);
}

// A whole file; exactly `bytes` long where that is not 0. A NUL is put after it: PTX is text.
HELPER void *read_file(const char *path, size_t bytes) {
  FILE *f = fopen(path, "rb");
  if (!f)
    die("cannot open ", path);
  if (fseek(f, 0, SEEK_END) != 0)
    die("cannot read ", path);
  long size = ftell(f);
  rewind(f);
  if (size < 0 || (bytes && (size_t)size != bytes)) {
    fprintf(stderr, "%s has %ld bytes, %zu are needed\n", path, size, bytes);
    exit(1);
  }
  char *data = malloc((size_t)size + 1);
  if (!data || fread(data, 1, (size_t)size, f) != (size_t)size)
    die("cannot read ", path);
  data[size] = '\0';
  fclose(f);
  return data;
}

// A file in the program's folder.
HELPER void *read_beside(const char *program, const char *file, size_t bytes) {
  const char *slash = strrchr(program, '/');
  size_t folder = slash ? (size_t)(slash - program) + 1 : 0;
  char *path = malloc(folder + strlen(file) + 1);
  if (!path)
    die("out of memory for ", file);
  memcpy(path, program, folder);
  strcpy(path + folder, file);
  void *data = read_file(path, bytes);
  free(path);
  return data;
}

HELPER CUfunction get_kernel(const struct module *m, const char *name, unsigned shared, unsigned cluster_blocks) {
  CUfunction function;
  int now = 0;
  CHECK(cuModuleGetFunction(&function, m->handle, name));
  // Several steps may launch one kernel: the largest wish counts.
  CHECK(cuFuncGetAttribute(&now, FUNCTION_DYNAMIC_SHARED, function));
  if (shared > (unsigned)now)
    CHECK(cuFuncSetAttribute(function, FUNCTION_DYNAMIC_SHARED, (int)shared));
  if (cluster_blocks > 8)
    CHECK(cuFuncSetAttribute(function, FUNCTION_LARGE_CLUSTERS, 1));
  return function;
}

HELPER CUdeviceptr get_symbol(const struct module *m, const char *name, size_t needed) {
  CUdeviceptr address;
  size_t bytes;
  CHECK(cuModuleGetGlobal_v2(&address, &bytes, m->handle, name));
  if (bytes < needed)
    die("too small: ", name);
  return address;
}

HELPER void put_pointer(unsigned char *argument, CUdeviceptr address) {
  memcpy(argument, &address, sizeof address);
}

HELPER void launch(CUfunction function, const struct launch *l, void **arguments, CUstream stream) {
  CUlaunchAttribute attributes[4];
  CUlaunchConfig c = {
      {l->grid[0], l->grid[1], l->grid[2]}, {l->block[0], l->block[1], l->block[2]}, l->shared, stream, attributes, 0};
  memset(attributes, 0, sizeof attributes);
  if (l->cluster[0]) {
    attributes[c.n_attributes].id = LAUNCH_CLUSTER;
    memcpy(attributes[c.n_attributes++].value.three, l->cluster, sizeof l->cluster);
  }
  if (l->cooperative) {
    attributes[c.n_attributes].id = LAUNCH_COOPERATIVE;
    attributes[c.n_attributes++].value.number = 1;
  }
  if (l->programmatic) {
    attributes[c.n_attributes].id = LAUNCH_PROGRAMMATIC;
    attributes[c.n_attributes++].value.number = 1;
  }
  if (l->carveout >= 0) {
    attributes[c.n_attributes].id = LAUNCH_CARVEOUT;
    attributes[c.n_attributes++].value.number = l->carveout;
  }
  CHECK(cuLaunchKernelEx(&c, function, arguments, NULL));
}

HELPER void fill(CUdeviceptr to, unsigned value, int width, size_t bytes, CUstream stream) {
  if (width == 1)
    CHECK(cuMemsetD8Async(to, (unsigned char)value, bytes, stream));
  else if (width == 2)
    CHECK(cuMemsetD16Async(to, (unsigned short)value, bytes / 2, stream));
  else
    CHECK(cuMemsetD32Async(to, value, bytes / 4, stream));
}

// One element of made-up data: floats in [-1, 1) in steps of 1/64, small integers, 0 or 1 for bool.
HELPER void make_element(int dtype, uint64_t random, unsigned char *to) {
  int32_t i = (int32_t)(random % 128) - 64;
  int64_t small = (int64_t)(random % 16);
  float f = (float)i / 64;
  double d = f;
  uint32_t bits;
  memcpy(&bits, &f, 4);
  uint16_t half = (uint16_t)(i ? (bits >> 16 & 0x8000) | ((bits >> 23 & 255) - 112) << 10 | (bits >> 13 & 1023) : 0);
  uint16_t brain = (uint16_t)(bits >> 16);
  switch (dtype) {
  case 1: // float
    memcpy(to, &f, 4);
    break;
  case 11: // double
    memcpy(to, &d, 8);
    break;
  case 10: // float16
    memcpy(to, &half, 2);
    break;
  case 16: // bfloat16
    memcpy(to, &brain, 2);
    break;
  case 17: // float8e4m3fn and
  case 19: // float8e5m2: finite, whatever the bits
    to[0] = (unsigned char)(random & 0xb7);
    break;
  case 9: // bool
    to[0] = (unsigned char)(random & 1);
    break;
  case 7:  // int64
  case 13: // uint64
    memcpy(to, &small, 8);
    break;
  case 6:  // int32
  case 12: // uint32
    memcpy(to, &small, 4);
    break;
  case 4: // uint16
  case 5: // int16
    memcpy(to, &small, 2);
    break;
  default: // int8, uint8
    to[0] = (unsigned char)small;
    break;
  }
}

HELPER size_t element_bytes(int dtype) {
  return dtype == 1 || dtype == 6 || dtype == 12                  ? 4
         : dtype == 7 || dtype == 11 || dtype == 13               ? 8
         : dtype == 4 || dtype == 5 || dtype == 10 || dtype == 16 ? 2
                                                                  : 1;
}

// The same data in every run of the program (splitmix64).
HELPER void *make_input(const struct buffer *b) {
  unsigned char *data = malloc(b->bytes);
  uint64_t state = 0x9e3779b97f4a7c15u * (uint64_t)(b->index + 1);
  size_t size = element_bytes(b->dtype);
  if (!data)
    die("out of memory for ", b->name);
  for (size_t i = 0; i + size <= b->bytes; i += size) {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    make_element(b->dtype, z ^ z >> 31, data + i);
  }
  return data;
}

HELPER void make_buffer(struct buffer *b, const char *program, const char *input) {
  CUdeviceptr start;
  void *data = NULL;
  CHECK(cuMemAlloc_v2(&start, b->bytes + b->alignment));
  b->address = (start + b->alignment - 1) / b->alignment * b->alignment;
  if (b->bytes == 0) // an input without elements: an address, and nothing there
    return;
  CHECK(cuMemsetD8_v2(b->address, b->zeroed ? 0 : 0xa5, b->bytes)); // or garbage, the same in every run
  if (b->role == INPUT)
    data = input ? read_file(input, b->bytes) : make_input(b);
  else if (b->role == CONSTANT)
    data = read_beside(program, b->file, b->bytes);
  if (data)
    CHECK(cuMemcpyHtoD_v2(b->address, data, b->bytes));
  free(data);
}

HELPER void write_output(const struct buffer *b, const char *path) {
  void *data = malloc(b->bytes);
  if (!data)
    die("out of memory for ", b->name);
  CHECK(cuMemcpyDtoH_v2(data, b->address, b->bytes));
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(data, 1, b->bytes, f) != b->bytes || fclose(f) != 0)
    die("cannot write ", path);
  free(data);
}

// Steps [begin, end), in microseconds between two events.
HELPER double run_steps(const struct program *p, int begin, int end, CUstream stream, CUevent events[2]) {
  float milliseconds;
  CHECK(cuEventRecord(events[0], stream));
  for (int i = begin; i < end; i++)
    p->steps[i](stream);
  CHECK(cuEventRecord(events[1], stream));
  CHECK(cuEventSynchronize(events[1]));
  CHECK(cuEventElapsedTime(&milliseconds, events[0], events[1]));
  return 1000.0 * (double)milliseconds;
}

HELPER int compare_times(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

HELPER void time_steps(const struct program *p, int runs, CUstream stream, CUevent events[2]) {
  double *times = calloc((size_t)runs, sizeof *times);
  if (!times)
    die("out of memory for ", "the times");
  if (p->n_prepare)
    printf("prepared in %.2f us\n", run_steps(p, 0, p->n_prepare, stream, events));
  for (int i = 0; i < 3; i++) // warm-up
    run_steps(p, p->n_prepare, p->n_steps, stream, events);
  for (int i = 0; i < runs; i++)
    times[i] = run_steps(p, p->n_prepare, p->n_steps, stream, events);
  qsort(times, (size_t)runs, sizeof *times, compare_times);
  printf("%.2f us a run: the median of %d, from %.2f to %.2f\n", times[runs / 2], runs, times[0], times[runs - 1]);
  free(times);
}

HELPER void usage(const struct program *p, const char *name) {
  printf("usage: %s [-i INDEX=FILE]... [-o INDEX=FILE]... [-n RUNS] [-d DEVICE]\n"
         "Carries out the steps and prints their time. Files hold the tensors' bytes. Inputs without a file get\n"
         "made-up data, the same in every run.\n\n",
         name);
  for (int i = 0; i < p->n_buffers; i++)
    if (p->buffers[i].role == INPUT || p->buffers[i].role == OUTPUT)
      printf("%s %d: %s, %zu bytes\n", p->buffers[i].role == INPUT ? "input " : "output", p->buffers[i].index,
             p->buffers[i].name, p->buffers[i].bytes);
}

struct wishes {
  const char **files; // by buffer
  int runs, device;
};

// "-i 0=x.bin"
HELPER void take_file(const struct program *p, enum role role, const char *text, struct wishes *w) {
  char *end;
  long index = strtol(text, &end, 10);
  if (end == text || *end != '=')
    die("not of the form INDEX=FILE: ", text);
  for (int i = 0; i < p->n_buffers; i++)
    if (p->buffers[i].role == role && p->buffers[i].index == index) {
      w->files[i] = end + 1;
      return;
    }
  die("there is no such tensor: ", text);
}

HELPER void take_arguments(const struct program *p, int argc, char **argv, struct wishes *w) {
  for (int i = 1; i < argc; i += 2) {
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0) {
      usage(p, argv[0]);
      exit(0);
    }
    if (!value)
      die("a value is missing, or not known (-h helps): ", argv[i]);
    if (strcmp(argv[i], "-i") == 0)
      take_file(p, INPUT, value, w);
    else if (strcmp(argv[i], "-o") == 0)
      take_file(p, OUTPUT, value, w);
    else if (strcmp(argv[i], "-n") == 0)
      w->runs = atoi(value);
    else if (strcmp(argv[i], "-d") == 0)
      w->device = atoi(value);
    else
      die("not known (-h helps): ", argv[i]);
  }
  if (w->runs < 1 || w->runs > 1000000)
    die("the number of runs must be from 1 to ", "1000000");
}

HELPER int run_program(const struct program *p, int argc, char **argv) {
  struct wishes w = {calloc((size_t)p->n_buffers + 1, sizeof(char *)), 20, 0};
  CUdevice device;
  CUcontext context;
  CUstream stream;
  CUevent events[2];
  if (!w.files)
    die("out of memory for ", "the arguments");
  take_arguments(p, argc, argv, &w);
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, w.device));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  for (int i = 0; i < p->n_modules; i++) {
    void *image = read_beside(argv[0], p->modules[i].file, 0);
    CHECK(cuModuleLoadData(&p->modules[i].handle, image));
    free(image);
  }
  for (int i = 0; i < p->n_buffers; i++)
    make_buffer(&p->buffers[i], argv[0], p->buffers[i].role == INPUT ? w.files[i] : NULL);
  p->load();
  CHECK(cuStreamCreate(&stream, 0));
  CHECK(cuEventCreate(&events[0], 0));
  CHECK(cuEventCreate(&events[1], 0));
  time_steps(p, w.runs, stream, events);
  CHECK(cuStreamSynchronize(stream));
  for (int i = 0; i < p->n_buffers; i++)
    if (p->buffers[i].role == OUTPUT && w.files[i])
      write_output(&p->buffers[i], w.files[i]);
  free((void *)w.files);
  return 0;
}
