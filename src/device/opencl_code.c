// SPDX-License-Identifier: Apache-2.0
// From OpenCL C to machine code.
//
// PoCL compiles in two stages: a program when it is built, and each kernel when it is first launched, for which it runs
// the system's linker. By then kernels of the candidate run in this process and nothing may be run any more, so the
// second stage is forced here: a query for the program's binary compiles all of its kernels. Launches use this code
// when POCL_WORK_GROUP_SPECIALIZATION is 0 (PoCL's manual, "Environment variables"). The process that starts this one
// must set that; else PoCL would compile every kernel again for each work-group size. Where a driver compiles
// everything at once, the query costs nothing.
//
// A judgement loads a candidate's program some twenty times, each time in a new process. What the compiler made is kept
// in the device's folder, as PoCL keeps its own results there; but PoCL finds those only after it has preprocessed the
// source with all of OpenCL's header, which is most of the work of such a load. No kernel can write to the folder: when
// kernels run, their process can open files no more.
#include <string.h>

#include "base/alloc.h"
#include "compute/code_cache.h"
#include "device/opencl_device.h"

// NULL when there is none, or the driver does not take it any more.
static cl_program from_kept(struct device *d, const char *key, const char *options) {
  struct assay_error ignored = {0};
  char *data = NULL;
  size_t n = 0;
  cl_int taken = CL_SUCCESS, result = CL_SUCCESS;
  if (code_cache_read(d->folder, key, &data, &n, &ignored) != ASSAY_OK)
    return NULL;
  const unsigned char *binary = (const unsigned char *)data;
  cl_program p = d->cl.CreateProgramWithBinary(d->context, 1, &d->id, &n, &binary, &taken, &result);
  base_free(data);
  if (p && (taken != CL_SUCCESS || result != CL_SUCCESS ||
            d->cl.BuildProgram(p, 1, &d->id, options, NULL, NULL) != CL_SUCCESS)) {
    d->cl.ReleaseProgram(p);
    p = NULL;
  }
  return p;
}

// How large the binary is, which makes the driver compile all kernels.
static size_t compile_kernels(struct device *d, cl_program p) {
  size_t bytes = 0;
  if (d->cl.GetProgramInfo(p, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL) != CL_SUCCESS)
    return 0;
  return bytes;
}

static void keep(struct device *d, cl_program p, size_t bytes, const char *key) {
  struct assay_error ignored = {0};
  unsigned char *binary = bytes > 0 ? base_alloc(bytes) : NULL;
  if (binary && d->cl.GetProgramInfo(p, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == CL_SUCCESS)
    (void)code_cache_write(d->folder, key, binary, bytes, &ignored);
  base_free(binary);
}

// False: the code is not to be kept. What a source includes may be another file the next time.
static bool make_key(const struct device *d, const char *text, size_t size, const char *options,
                     char key[HASH_HEX_BYTES]) {
  static const char directive[] = "include";
  struct assay_error ignored = {0};
  char source[HASH_HEX_BYTES];
  if (!d->folder || memmem(text, size, directive, strlen(directive)) || strstr(options, directive))
    return false;
  hash_sha256_hex(text, size, source);
  const char *parts[] = {"opencl", d->facts.name, d->facts.driver, options, source, NULL};
  return code_cache_key(parts, key, &ignored) == ASSAY_OK;
}

cl_int opencl_code_make(struct device *d, const char *text, size_t size, const char *options, cl_program *out) {
  char key[HASH_HEX_BYTES];
  bool kept = make_key(d, text, size, options, key);
  cl_int result = CL_SUCCESS;
  *out = kept ? from_kept(d, key, options) : NULL;
  if (*out) {
    compile_kernels(d, *out);
    return CL_SUCCESS;
  }
  *out = d->cl.CreateProgramWithSource(d->context, 1, &text, &size, &result);
  if (*out && result == CL_SUCCESS)
    result = d->cl.BuildProgram(*out, 1, &d->id, options, NULL, NULL);
  if (!*out || result != CL_SUCCESS)
    return result;
  size_t bytes = compile_kernels(d, *out);
  if (kept)
    keep(d, *out, bytes, key);
  return CL_SUCCESS;
}
