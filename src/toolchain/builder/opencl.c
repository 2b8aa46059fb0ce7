// SPDX-License-Identifier: Apache-2.0
// In the builder's child: OpenCL C by whatever implementation the machine has for it. Nothing of the result is kept:
// the device's own compiler makes the code later. Here it is only found out whether the source compiles, and which
// parameters its kernels have.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/opencl_api.h"
#include "toolchain/builder/builder.h"

enum { MAX_PLATFORMS = 16, MAX_TYPE_NAME = 64 };

struct session {
  struct opencl_api api;
  cl_device_id device;
  cl_context context;
  cl_program program;
  char version[256];
};

static enum assay_status find_device(struct session *s, struct assay_error *err) {
  cl_platform_id platforms[MAX_PLATFORMS];
  cl_uint n = 0, n_devices = 0;
  s->api.GetPlatformIDs(MAX_PLATFORMS, platforms, &n);
  for (cl_uint i = 0; i < n && i < MAX_PLATFORMS && !s->device; i++)
    if (s->api.GetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &s->device, &n_devices) != CL_SUCCESS || !n_devices)
      s->device = NULL;
  if (!s->device)
    return error_set(err, ASSAY_ERR_ENVIRONMENT,
                     "no OpenCL implementation without a device of its own is here to check sources: install one (on "
                     "Debian: apt-get install pocl-opencl-icd)");
  if (s->api.GetDeviceInfo(s->device, CL_DEVICE_VERSION, sizeof s->version, s->version, NULL) != CL_SUCCESS)
    s->version[0] = '\0';
  s->version[sizeof s->version - 1] = '\0';
  return ASSAY_OK;
}

static enum assay_status open_session(struct session *s, struct assay_error *err) {
  cl_int code = CL_SUCCESS;
  enum assay_status status = opencl_api_open(&s->api, err);
  if (status == ASSAY_OK)
    status = find_device(s, err);
  if (status != ASSAY_OK)
    return status;
  s->context = s->api.CreateContext(NULL, 1, &s->device, NULL, NULL, &code);
  return s->context ? ASSAY_OK : error_set(err, ASSAY_ERR_ENVIRONMENT, "OpenCL makes no context (error %d)", code);
}

// Bytes of a scalar or vector type, as implementations spell it; 0 when it is something else.
static uint32_t size_of_type(const char *name) {
  static const struct {
    const char *name;
    uint32_t size;
  } types[] = {{"unsigned char", 1}, {"unsigned short", 2}, {"unsigned int", 4}, {"unsigned long", 8}, {"uchar", 1},
               {"ushort", 2},        {"uint", 4},           {"ulong", 8},        {"char", 1},          {"short", 2},
               {"int", 4},           {"long", 8},           {"half", 2},         {"float", 4},         {"double", 8}};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    size_t n = strlen(types[i].name);
    if (strncmp(name, types[i].name, n) != 0)
      continue;
    char *end;
    long width = name[n] ? strtol(name + n, &end, 10) : 1;
    if (name[n] && *end)
      return 0;
    // A vector of three takes the room of four (section 6.1.5).
    if (width == 1 || width == 2 || width == 3 || width == 4 || width == 8 || width == 16)
      return types[i].size * (uint32_t)(width == 3 ? 4 : width);
  }
  return 0;
}

static uint32_t parameter_size(const struct session *s, cl_kernel kernel, cl_uint index) {
  char type[MAX_TYPE_NAME];
  cl_uint space = 0;
  if (s->api.GetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof space, &space, NULL) != CL_SUCCESS)
    return DIRECTIVE_SIZE_UNKNOWN;
  if (space == CL_KERNEL_ARG_ADDRESS_LOCAL)
    return DIRECTIVE_SIZE_LOCAL;
  if (space != CL_KERNEL_ARG_ADDRESS_PRIVATE)
    return 8;
  opencl_parameter_type(&s->api, kernel, index, type, sizeof type);
  uint32_t size = size_of_type(type);
  return size ? size : DIRECTIVE_SIZE_UNKNOWN;
}

// The first parameter that is an object of OpenCL's own, its type in `type`; -1 when there is none.
static int object_among(const struct session *s, cl_kernel kernel, cl_uint n, char *type, size_t size) {
  for (cl_uint i = 0; i < n; i++) {
    if (opencl_takes_object(&s->api, kernel, i, type, size))
      return (int)i;
  }
  return -1;
}

static enum assay_status learn_kernel(const struct session *s, const char *name, struct arena *a,
                                      struct directive_kernel *out, struct assay_error *err) {
  cl_int code = CL_SUCCESS;
  cl_uint n = 0;
  cl_kernel kernel = s->api.CreateKernel(s->program, name, &code);
  if (!kernel)
    return error_set(err, ASSAY_ERR_INVALID,
                     "the source has no kernel %s, which a directive launches: it must be a __kernel function (error "
                     "%d)\n",
                     name, code);
  code = s->api.GetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof n, &n, NULL);
  uint32_t *sizes = n <= PLAN_MAX_ARGUMENTS ? arena_calloc(a, (size_t)n + 1, sizeof *sizes) : NULL;
  for (cl_uint i = 0; sizes && i < n; i++)
    sizes[i] = parameter_size(s, kernel, i);
  char type[MAX_TYPE_NAME];
  int object = object_among(s, kernel, n, type, sizeof type);
  (void)s->api.ReleaseKernel(kernel);
  if (code != CL_SUCCESS || !sizes)
    return error_set(err, ASSAY_ERR_INVALID, "kernel %s: its parameters are not known (error %d)\n", name, code);
  if (object >= 0)
    return error_set(
        err, ASSAY_ERR_INVALID,
        "parameter %d of kernel %s is of the type %s, an image, a sampler or another of OpenCL's objects: a kernel is "
        "given buffers (__global pointers), local memory and values\n",
        object, name, type);
  *out = (struct directive_kernel){.symbol = name, .n_parameters = (int)n, .sizes = sizes};
  return ASSAY_OK;
}

static void append_log(const struct session *s, struct buf *log) {
  size_t n = 0;
  if (s->api.GetProgramBuildInfo(s->program, s->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &n) != CL_SUCCESS || n == 0 ||
      n > (size_t)64 << 20)
    return;
  char *text = calloc(n + 1, 1);
  if (text && s->api.GetProgramBuildInfo(s->program, s->device, CL_PROGRAM_BUILD_LOG, n, text, NULL) == CL_SUCCESS)
    buf_puts(log, text);
  free(text);
}

// ASSAY_ERR_INVALID: the source is wrong, and `log` or the message says how.
static enum assay_status compile(struct session *s, const struct builder_request *r, struct buf *log,
                                 struct assay_error *err) {
  struct buf options;
  const char *text = r->source;
  cl_int code = CL_SUCCESS;
  s->program = s->api.CreateProgramWithSource(s->context, 1, &text, &r->source_bytes, &code);
  if (!s->program)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "OpenCL does not take the source (error %d)", code);
  buf_init(&options);
  buf_puts(&options, "-cl-kernel-arg-info");
  for (int i = 0; i < r->n_options; i++)
    buf_printf(&options, " %s", r->options[i]);
  code = s->api.BuildProgram(s->program, 1, &s->device, buf_str(&options), NULL, NULL);
  buf_release(&options);
  append_log(s, log);
  if (code == CL_OUT_OF_HOST_MEMORY)
    return error_nomem(err, "an OpenCL program");
  if (code != CL_SUCCESS)
    return error_set(err, ASSAY_ERR_INVALID, "the source does not compile (error %d)\n", code);
  return ASSAY_OK;
}

void builder_compile_opencl(const struct builder_request *r, struct buf *reply) {
  struct session s = {0};
  struct arena arena = {0};
  struct assay_error err = {0};
  struct buf log;
  struct builder_reply out = {.n_kernels = r->n_kernels, .code = (const uint8_t *)""};
  buf_init(&log);
  out.kernels = arena_calloc(&arena, (size_t)r->n_kernels + 1, sizeof *out.kernels);
  enum assay_status status = out.kernels ? open_session(&s, &err) : error_nomem(&err, "a build");
  if (status == ASSAY_OK)
    status = compile(&s, r, &log, &err);
  for (int i = 0; i < r->n_kernels && status == ASSAY_OK; i++)
    status = learn_kernel(&s, r->kernels[i], &arena, &out.kernels[i], &err);
  out.outcome = status == ASSAY_OK            ? BUILDER_COMPILED
                : status == ASSAY_ERR_INVALID ? BUILDER_REJECTED
                : status == ASSAY_ERR_NOMEM   ? BUILDER_OUT_OF_MEMORY
                                              : BUILDER_FAILED;
  if (status != ASSAY_OK) {
    out.n_kernels = 0;
    buf_puts(&log, err.message);
  }
  out.log = buf_str(&log);
  out.version = s.version;
  builder_reply_write(&out, reply);
  buf_release(&log);
  arena_release(&arena); // what OpenCL has is released with the process
}
