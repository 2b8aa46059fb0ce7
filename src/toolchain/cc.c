// SPDX-License-Identifier: Apache-2.0
// C for the CPU to a shared library, by gcc or clang in a sandboxed builder.
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "toolchain/cc.h"
#include "toolchain/compile.h"

enum { MOST_LIBRARY_BYTES = 256 << 20 };
static const char source_name[] = "candidate.c";
static const char no_openmp_note[] = "[clang finds no OpenMP runtime here (libomp-dev): built without -fopenmp]\n";

struct build {
  struct compile compile;
  bool openmp; // the waiter's, then ours
};

static char **command(struct compile *c) {
  const struct build *b = c->owner;
  const char *const front[] = {
      c->program, "-std=gnu17", "-O3", "-march=native", b->openmp ? "-fopenmp" : NULL, "-fPIC", "-shared", "-Wall",
      // A crash report of clang would compile everything once more; clang stops after 20 errors, gcc never.
      compiler_is_clang(c->program) ? "-fno-crash-diagnostics" : "-fmax-errors=20", "-I", c->include_dir};
  const char *const back[] = {"-o", COMPILE_LIBRARY, source_name, "-lm"};
  return compile_command(c, front, sizeof front / sizeof *front, back, sizeof back / sizeof *back);
}

static bool again_without_openmp(struct compile *c) {
  struct build *b = c->owner;
  if (!compiler_is_clang(c->program) || !diagnostics_lack_openmp(buf_str(&c->log)))
    return false;
  buf_clear(&c->log);
  buf_puts(&c->log, no_openmp_note);
  b->openmp = false;
  return true;
}

static const struct compile_way way = {
    .source_name = source_name,
    .processes = 32, // gcc needs five at a time
    .command = command,
    .again = again_without_openmp,
    .control = "#include <assay/candidate.h>\n#include <math.h>\n#include <stdlib.h>\n#include <string.h>\n"
               "void assay_kernel(const struct assay_args *args) { (void)args; }\n",
};

static void destroy(struct build *b) {
  compile_release(&b->compile);
  base_free(b);
}

enum assay_status build_start(const struct build_options *o, const char *source, size_t n, struct build **out,
                              struct assay_error *err) {
  char *program;
  struct build *b = base_calloc(1, sizeof *b);
  if (!b)
    return error_nomem(err, "a build");
  compile_init(&b->compile, &way, b, o->timeout_ns);
  b->openmp = true;
  enum assay_status status = compiler_find(o->compiler, o->path_env, &b->compile.arena, &program, err);
  if (status == ASSAY_OK)
    status = compile_prepare(&b->compile, o, program, err);
  if (status == ASSAY_OK)
    status = compile_start(&b->compile, source, n, err);
  if (status == ASSAY_OK)
    *out = b;
  else
    destroy(b);
  return status;
}

static enum assay_status hash_library(const char *path, char hex[HASH_HEX_BYTES], struct assay_error *err) {
  char *bytes;
  size_t n;
  enum assay_status status = file_read(path, MOST_LIBRARY_BYTES, &bytes, &n, err);
  if (status == ASSAY_ERR_LIMIT)
    return ASSAY_OK; // it is compared with no other
  if (status)
    return status;
  hash_sha256_hex(bytes, n, hex);
  base_free(bytes);
  return ASSAY_OK;
}

enum assay_status build_finish(struct build *b, struct build_result *out, struct assay_error *err) {
  struct build_result r = {0};
  enum assay_status status = compile_finish(&b->compile, &r, err);
  if (status == ASSAY_OK && r.outcome == BUILD_OK) {
    r.library = base_strndup(b->compile.library, strlen(b->compile.library));
    if (!r.library)
      status = error_nomem(err, "the result of a build");
    else
      status = hash_library(r.library, r.built, err);
  }
  if (status == ASSAY_OK)
    *out = r;
  else
    build_result_release(&r);
  destroy(b);
  return status;
}

void build_cancel(struct build *b) {
  if (!b)
    return;
  compile_cancel(&b->compile);
  destroy(b);
}
