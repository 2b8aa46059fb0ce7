// SPDX-License-Identifier: Apache-2.0
// In the builder's child: CUDA C++ by NVRTC.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "compute/nvrtc.h"
#include "toolchain/builder/builder.h"

static bool is_there(const char *folder, const char *file, char path[PATH_MAX]) {
  struct stat st;
  int n = snprintf(path, PATH_MAX, "%s/%s", folder, file);
  return n > 0 && n < PATH_MAX && stat(path, &st) == 0;
}

const char *const *builder_include_dirs(const char *library, struct arena *arena) {
  char path[PATH_MAX], real[PATH_MAX], beside[PATH_MAX + 16] = "";
  const char **dirs = arena_calloc(arena, 3, sizeof *dirs);
  if (!dirs)
    return NULL;
  // PREFIX/lib64/libnvrtc.so belongs to PREFIX/include; else where the toolkit usually is.
  if (library && library[0] == '/' && realpath(library, real)) {
    *strrchr(real, '/') = '\0';
    snprintf(beside, sizeof beside, "%s/../include", real);
  }
  const char *const places[] = {beside, "/usr/local/cuda/include", "/usr/include"};
  for (size_t i = 0; i < sizeof places / sizeof *places && !dirs[0]; i++)
    if (places[i][0] && is_there(places[i], "cuda_fp16.h", path) && realpath(places[i], real))
      if (!(dirs[0] = arena_strdup(arena, real)))
        return NULL;
  // From CUDA 13 on <cuda/barrier> and its like are in a folder of their own.
  if (dirs[0] && is_there(dirs[0], "cccl/cuda/barrier", path))
    dirs[1] = arena_printf(arena, "%s/cccl", dirs[0]);
  return dirs;
}

const char *builder_library(const struct nvrtc *n, char path[PATH_MAX]) {
  return nvrtc_path(n)[0] == '/' ? realpath(nvrtc_path(n), path) : NULL;
}

// NVRTC has an error message of its own for a kernel that a launch line names and the source lacks.
static void explain_log(const char *log, struct buf *out) {
  buf_puts(out, log);
  if (strstr(log, "__nv_name_map("))
    buf_puts(out, "note: __nv_name_map holds the kernels that the launch directives name: is there a __global__ "
                  "function of that name, with these template arguments?\n");
}

static void reply_with(enum builder_outcome outcome, const char *text, const char *version, struct buf *reply) {
  const struct builder_reply r = {.outcome = outcome, .log = text, .version = version, .code = (const uint8_t *)""};
  builder_reply_write(&r, reply);
}

// Flags with a NULL at the end, the folders of headers first.
static const char *const *flags(const struct nvrtc *n, const struct builder_request *r, struct arena *a) {
  const char **list = arena_calloc(a, (size_t)r->n_options + 4, sizeof *list);
  char library[PATH_MAX];
  const char *const *dirs = builder_include_dirs(builder_library(n, library), a);
  int count = 0;
  if (!list || !dirs)
    return NULL;
  for (int i = 0; dirs[i]; i++)
    if (!(list[count++] = arena_printf(a, "-I%s", dirs[i])))
      return NULL;
  for (int i = 0; i < r->n_options; i++)
    list[count++] = r->options[i];
  return list;
}

static void reply_compiled(const struct nvrtc_result *result, const struct builder_request *r, const char *version,
                           struct arena *a, struct buf *reply) {
  struct builder_reply out = {.outcome = BUILDER_COMPILED,
                              .log = result->log,
                              .version = version,
                              .code = (const uint8_t *)result->code,
                              .code_bytes = result->code_bytes,
                              .n_kernels = r->n_kernels,
                              .kernels = arena_calloc(a, (size_t)r->n_kernels + 1, sizeof *out.kernels)};
  if (!out.kernels) {
    reply_with(BUILDER_OUT_OF_MEMORY, "the compiler ran out of memory", version, reply);
    return;
  }
  for (int i = 0; i < r->n_kernels; i++)
    out.kernels[i] = (struct directive_kernel){.symbol = result->lowered[i], .n_parameters = -1};
  builder_reply_write(&out, reply);
}

void builder_compile_cuda(const struct nvrtc *nvrtc, const struct builder_request *r, struct buf *reply) {
  struct arena arena = {0};
  struct assay_error err = {0};
  struct nvrtc_result result = {0};
  struct buf log;
  char version[64];
  int major, minor;
  buf_init(&log);
  nvrtc_version(nvrtc, &major, &minor);
  snprintf(version, sizeof version, "NVRTC %d.%d", major, minor);
  const char *const *options = flags(nvrtc, r, &arena);
  const char **kernels = arena_calloc(&arena, (size_t)r->n_kernels + 1, sizeof *kernels);
  enum assay_status status = ASSAY_OK;
  if (!options || !kernels)
    status = error_nomem(&err, "a build");
  else if (!nvrtc_supports(nvrtc, r->architecture))
    status = error_set(&err, ASSAY_ERR_ENVIRONMENT, "%s does not compile for sm_%d: install another CUDA toolkit",
                       version, r->architecture);
  for (int i = 0; status == ASSAY_OK && i < r->n_kernels; i++)
    kernels[i] = r->kernels[i];
  const struct nvrtc_request request = {
      .source = r->source, .name = r->name, .options = options, .expressions = kernels};
  if (status == ASSAY_OK)
    status = nvrtc_compile(nvrtc, &request, &result, &err);
  if (status == ASSAY_OK && result.compiled) {
    reply_compiled(&result, r, version, &arena, reply);
  } else if (status == ASSAY_OK) {
    explain_log(result.log, &log);
    // As NVRTC puts it when memory ends in its front end.
    bool starved = strstr(result.log, "): catastrophic error: out of memory\n");
    reply_with(starved ? BUILDER_OUT_OF_MEMORY : BUILDER_REJECTED, buf_str(&log), version, reply);
  } else {
    // An option that NVRTC does not take is the source's: our own are right.
    reply_with(status == ASSAY_ERR_INVALID ? BUILDER_REJECTED
               : status == ASSAY_ERR_NOMEM ? BUILDER_OUT_OF_MEMORY
                                           : BUILDER_FAILED,
               err.message, version, reply);
  }
  nvrtc_result_release(&result);
  buf_release(&log);
  arena_release(&arena);
}
