// SPDX-License-Identifier: Apache-2.0
#include "compute/nvrtc.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

// The library's own interface ("NVRTC" manual), as much as is used.
enum nvrtc_code {
  NVRTC_SUCCESS = 0,
  NVRTC_ERROR_OUT_OF_MEMORY = 1,
  NVRTC_ERROR_INVALID_INPUT = 3,
  NVRTC_ERROR_INVALID_OPTION = 5,
  NVRTC_ERROR_COMPILATION = 6,
  NVRTC_ERROR_BUILTIN_OPERATION_FAILURE = 7,
  NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID = 10,
};

typedef struct _nvrtcProgram *nvrtc_program;

// X(name, parameters)
#define NVRTC_FUNCTIONS(X)                                                                                             \
  X(nvrtcVersion, (int *major, int *minor))                                                                            \
  X(nvrtcGetNumSupportedArchs, (int *count))                                                                           \
  X(nvrtcGetSupportedArchs, (int *list))                                                                               \
  X(nvrtcCreateProgram, (nvrtc_program * program, const char *source, const char *name, int n_headers,                 \
                         const char *const *headers, const char *const *include_names))                                \
  X(nvrtcDestroyProgram, (nvrtc_program * program))                                                                    \
  X(nvrtcCompileProgram, (nvrtc_program program, int n_options, const char *const *options))                           \
  X(nvrtcGetPTXSize, (nvrtc_program program, size_t * n))                                                              \
  X(nvrtcGetPTX, (nvrtc_program program, char *text))                                                                  \
  X(nvrtcGetCUBINSize, (nvrtc_program program, size_t * n))                                                            \
  X(nvrtcGetCUBIN, (nvrtc_program program, char *bytes))                                                               \
  X(nvrtcGetProgramLogSize, (nvrtc_program program, size_t * n))                                                       \
  X(nvrtcGetProgramLog, (nvrtc_program program, char *text))                                                           \
  X(nvrtcAddNameExpression, (nvrtc_program program, const char *expression))                                           \
  X(nvrtcGetLoweredName, (nvrtc_program program, const char *expression, const char **lowered))

struct nvrtc {
#define NVRTC_FIELD(name, params) enum nvrtc_code(*name) params;
  NVRTC_FUNCTIONS(NVRTC_FIELD)
#undef NVRTC_FIELD
  const char *(*nvrtcGetErrorString)(enum nvrtc_code code);
  char *path;
  int major, minor, n_architectures;
  int *architectures;
};

struct entry {
  const char *symbol;
  size_t offset;
};

static const struct entry entries[] = {
#define NVRTC_ENTRY(name, params) {#name, offsetof(struct nvrtc, name)},
    NVRTC_FUNCTIONS(NVRTC_ENTRY){"nvrtcGetErrorString", offsetof(struct nvrtc, nvrtcGetErrorString)},
};

static const char advice[] = "install the CUDA toolkit (12 or later), or `pip install nvidia-cuda-nvrtc` and point "
                             "ASSAY_NVRTC to its libnvrtc.so";

static void *load_library(const char *library, const char **loaded, struct assay_error *err) {
  static const char *const usual[] = {"libnvrtc.so.13",
                                      "libnvrtc.so.12",
                                      "libnvrtc.so",
                                      "/usr/local/cuda/lib64/libnvrtc.so.13",
                                      "/usr/local/cuda/lib64/libnvrtc.so.12",
                                      "/usr/local/cuda/lib64/libnvrtc.so"};
  void *handle = NULL;
  if (library) {
    *loaded = library;
    handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      error_set(err, ASSAY_ERR_ENVIRONMENT, "NVRTC cannot be loaded: %s; %s", dlerror(), advice);
    return handle;
  }
  for (size_t i = 0; i < sizeof usual / sizeof *usual && !handle; i++) {
    *loaded = usual[i];
    handle = dlopen(usual[i], RTLD_NOW | RTLD_LOCAL);
  }
  if (!handle)
    error_set(err, ASSAY_ERR_ENVIRONMENT, "NVRTC (libnvrtc.so) is not on this machine: %s", advice);
  return handle;
}

static enum assay_status fill_table(void *library, struct nvrtc *n, struct assay_error *err) {
  for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
    void *address = dlsym(library, entries[i].symbol);
    if (!address)
      return error_set(err, ASSAY_ERR_ENVIRONMENT, "NVRTC in %s is too old (it has no %s): %s", n->path,
                       entries[i].symbol, advice);
    memcpy((char *)n + entries[i].offset, &address, sizeof address);
  }
  return ASSAY_OK;
}

static enum assay_status check(const struct nvrtc *n, enum nvrtc_code code, const char *what, struct assay_error *err) {
  if (code == NVRTC_SUCCESS)
    return ASSAY_OK;
  if (code == NVRTC_ERROR_OUT_OF_MEMORY)
    return error_nomem(err, "a program with NVRTC");
  return error_set(err, ASSAY_ERR_ENVIRONMENT, "NVRTC cannot %s: %s%s%s", what, n->nvrtcGetErrorString(code),
                   code == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE ? "; libnvrtc-builtins must lie in the same folder: "
                                                                 : "",
                   code == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE ? advice : "");
}

static enum assay_status learn(struct nvrtc *n, struct assay_error *err) {
  enum assay_status status = check(n, n->nvrtcVersion(&n->major, &n->minor), "tell its version", err);
  if (!status)
    status = check(n, n->nvrtcGetNumSupportedArchs(&n->n_architectures), "tell its architectures", err);
  if (status)
    return status;
  n->architectures = base_calloc((size_t)n->n_architectures, sizeof *n->architectures);
  if (!n->architectures)
    return error_nomem(err, "the list of NVRTC's architectures");
  return check(n, n->nvrtcGetSupportedArchs(n->architectures), "tell its architectures", err);
}

// The library's path: it may have been loaded by a name that the linker searched for. Best effort: else the name stays.
static enum assay_status find_file(void *library, struct nvrtc *n, struct assay_error *err) {
  char real[PATH_MAX];
  Dl_info info;
  void *inside = dlsym(library, "nvrtcVersion");
  if (!inside || !dladdr(inside, &info) || !info.dli_fname || !realpath(info.dli_fname, real))
    return ASSAY_OK;
  char *path = base_strndup(real, strlen(real));
  if (!path)
    return error_nomem(err, "NVRTC");
  base_free(n->path);
  n->path = path;
  return ASSAY_OK;
}

// NVRTC loads its companion by name when it first compiles. The linker finds that name only in the toolkit's usual
// place, and not at all in a child that may not read the linker's cache. A library that is already loaded is found by
// its name, so it is loaded here. Best effort: without it, compiling reports what is missing.
static void load_companion(const struct nvrtc *n) {
  char file[PATH_MAX + 64];
  const char *slash = strrchr(n->path, '/');
  if (!slash)
    return;
  snprintf(file, sizeof file, "%.*s/libnvrtc-builtins.so.%d.%d", (int)(slash - n->path), n->path, n->major, n->minor);
  (void)dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

enum assay_status nvrtc_open(const char *library, struct nvrtc **out, struct assay_error *err) {
  const char *loaded = NULL;
  void *handle = load_library(library, &loaded, err);
  if (!handle)
    return ASSAY_ERR_ENVIRONMENT;
  enum assay_status status = ASSAY_OK;
  struct nvrtc *n = base_calloc(1, sizeof *n);
  if (!n || !(n->path = base_strndup(loaded, strlen(loaded))))
    status = error_nomem(err, "NVRTC");
  if (!status)
    status = fill_table(handle, n, err);
  if (!status)
    status = learn(n, err);
  if (!status)
    status = find_file(handle, n, err);
  if (!status)
    load_companion(n);
  if (status)
    nvrtc_close(n);
  else
    *out = n;
  return status;
}

void nvrtc_close(struct nvrtc *n) {
  if (!n)
    return;
  base_free(n->path);
  base_free(n->architectures);
  base_free(n);
}

void nvrtc_version(const struct nvrtc *n, int *major, int *minor) {
  *major = n->major;
  *minor = n->minor;
}

const char *nvrtc_path(const struct nvrtc *n) {
  return n->path;
}

const int *nvrtc_architectures(const struct nvrtc *n, int *count) {
  *count = n->n_architectures;
  return n->architectures;
}

bool nvrtc_supports(const struct nvrtc *n, int architecture) {
  for (int i = 0; i < n->n_architectures; i++)
    if (n->architectures[i] == architecture)
      return true;
  return false;
}

static int count_of(const char *const *list) {
  int n = 0;
  while (list && list[n])
    n++;
  return n;
}

typedef enum nvrtc_code size_fn(nvrtc_program program, size_t *n);
typedef enum nvrtc_code text_fn(nvrtc_program program, char *text);

// One of NVRTC's results: a function for its size, one for its bytes, and a description for error messages.
struct result_part {
  size_fn *size;
  text_fn *text;
  const char *what;
};

// The result's bytes, and a NUL after them.
static enum assay_status fetch(const struct nvrtc *n, nvrtc_program program, struct result_part part, char **out,
                               size_t *len, struct assay_error *err) {
  enum assay_status status = check(n, part.size(program, len), part.what, err);
  if (status)
    return status;
  char *bytes = base_calloc(*len + 1, 1);
  if (!bytes)
    return error_nomem(err, "NVRTC's result");
  status = *len ? check(n, part.text(program, bytes), part.what, err) : ASSAY_OK;
  if (status)
    base_free(bytes);
  else
    *out = bytes;
  return status;
}

static enum assay_status fetch_names(const struct nvrtc *n, nvrtc_program program, const struct nvrtc_request *r,
                                     struct nvrtc_result *result, struct assay_error *err) {
  int count = count_of(r->expressions);
  enum assay_status status = ASSAY_OK;
  result->lowered = base_calloc((size_t)count + 1, sizeof *result->lowered);
  if (!result->lowered)
    return error_nomem(err, "the names of kernels");
  for (int i = 0; i < count && !status; i++) {
    const char *name = NULL;
    status = check(n, n->nvrtcGetLoweredName(program, r->expressions[i], &name), "tell a kernel's name", err);
    if (!status && !(result->lowered[i] = base_strndup(name, strlen(name))))
      status = error_nomem(err, "the names of kernels");
  }
  return status;
}

static enum assay_status fetch_code(const struct nvrtc *n, nvrtc_program program, struct nvrtc_result *result,
                                    struct assay_error *err) {
  const struct result_part cubin = {n->nvrtcGetCUBINSize, n->nvrtcGetCUBIN, "give the cubin"},
                           ptx = {n->nvrtcGetPTXSize, n->nvrtcGetPTX, "give the PTX"};
  enum assay_status status = fetch(n, program, cubin, &result->code, &result->code_bytes, err);
  if (status || result->code_bytes)
    return status;
  base_free(result->code);
  result->code = NULL;
  return fetch(n, program, ptx, &result->code, &result->code_bytes, err);
}

static enum assay_status compile(const struct nvrtc *n, nvrtc_program program, const struct nvrtc_request *r,
                                 struct nvrtc_result *result, struct assay_error *err) {
  const struct result_part log = {n->nvrtcGetProgramLogSize, n->nvrtcGetProgramLog, "give its log"};
  size_t log_bytes;
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < count_of(r->expressions) && !status; i++)
    status = check(n, n->nvrtcAddNameExpression(program, r->expressions[i]), "take a kernel's name", err);
  if (status)
    return status;
  enum nvrtc_code code = n->nvrtcCompileProgram(program, count_of(r->options), r->options);
  status = fetch(n, program, log, &result->log, &log_bytes, err);
  if (status)
    return status;
  if (code == NVRTC_ERROR_INVALID_OPTION)
    return error_set(err, ASSAY_ERR_INVALID, "NVRTC %d.%d does not take these options: %.400s", n->major, n->minor,
                     result->log);
  if (code == NVRTC_ERROR_COMPILATION || code == NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID)
    return ASSAY_OK;
  status = check(n, code, "compile", err);
  if (!status)
    status = fetch_names(n, program, r, result, err);
  if (!status)
    status = fetch_code(n, program, result, err);
  result->compiled = !status;
  return status;
}

enum assay_status nvrtc_compile(const struct nvrtc *n, const struct nvrtc_request *r, struct nvrtc_result *result,
                                struct assay_error *err) {
  // Declares what host code needs: a source with launch lines may include it for nothing.
  static const char *const names[] = {"assay/cuda.h"}, *const texts[] = {""};
  struct nvrtc_result made = {0};
  nvrtc_program program = NULL;
  enum assay_status status =
      check(n, n->nvrtcCreateProgram(&program, r->source, r->name, 1, texts, names), "take the source", err);
  if (status)
    return status;
  status = compile(n, program, r, &made, err);
  (void)n->nvrtcDestroyProgram(&program);
  if (status)
    nvrtc_result_release(&made);
  else
    *result = made;
  return status;
}

void nvrtc_result_release(struct nvrtc_result *r) {
  for (int i = 0; r->lowered && r->lowered[i]; i++)
    base_free(r->lowered[i]);
  base_free(r->lowered);
  base_free(r->code);
  base_free(r->log);
  memset(r, 0, sizeof *r);
}
