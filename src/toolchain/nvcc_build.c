// SPDX-License-Identifier: Apache-2.0
// Ordinary CUDA files, with host code: nvcc in a sandboxed builder makes a shared library whose undefined symbols are
// the CUDA runtime; assay-recorder, which has them, runs its entry once for each workload (record_run.h).
//
// Two front ends and a host compiler read cuda_runtime.h anew for every build, which is most of the time: see
// docs/recording.md for figures. No flag of nvcc changes that, so the flags here are the plain ones.
#include <string.h>

#include "base/alloc.h"
#include "toolchain/cc.h"
#include "toolchain/compile.h"
#include "toolchain/record_run.h"

static const char source_name[] = "candidate.cu";

struct nvcc_program {
  struct program base;
  struct arena arena;
  struct record_options record;
};

struct nvcc_build {
  struct program_build base;
  struct compile compile;
  const char *host_compiler;
  const char *source; // for messages: the folder has another one by then, of the compiler's control
  bool hasty;
  struct record_options record; // the program's, in the making
};

static struct nvcc_build *build_of(struct program_build *b) {
  return (struct nvcc_build *)b;
}

// The arguments of nvcc; NULL when memory fails. No -O: it is for host code, which runs once (device code is optimised
// without it). -no-compress, for the recorder reads the device code. -cudart none: the runtime is the recorder. Lazy
// binding: what the recorder does not have is named when it is called.
static char **command(struct compile *c) {
  const struct nvcc_build *b = c->owner;
  const char *target = b->record.target;
  char *arch = arena_printf(&c->arena, "arch=compute_%s,code=%s", target + strlen("sm_"), target);
  if (!arch)
    return NULL;
  const char *const front[] = {c->program,
                               "-std=c++17",
                               "-shared",
                               "-cudart",
                               "none",
                               "-no-compress",
                               "-Xcompiler",
                               "-fPIC",
                               "-Xcompiler",
                               "-fmax-errors=20",
                               "-Xlinker",
                               "-z",
                               "-Xlinker",
                               "lazy",
                               "-ccbin",
                               b->host_compiler,
                               "-gencode",
                               arch,
                               "-I",
                               c->include_dir,
                               b->hasty ? "--Ofast-compile=max" : NULL};
  const char *const back[] = {"-o", COMPILE_LIBRARY, source_name};
  return compile_command(c, front, sizeof front / sizeof *front, back, sizeof back / sizeof *back);
}

static const struct compile_way way = {
    .source_name = source_name,
    .version_mark = "Cuda compilation tools", // "Cuda compilation tools, release 13.0, V13.0.88" of five lines
    .processes = 64,                          // nvcc, a shell, a compiler's driver and what it runs
    .command = command,
    .control = "#include <assay/cuda.h>\n__global__ void control(float *x) { *x = 1; }\n",
};

// The toolkit is found from the program's place, through links: PREFIX/bin/nvcc needs PREFIX/nvvm and PREFIX/targets
// in addition to what compilers usually have.
static const char *const *toolkit_paths(struct compile *c) {
  static const char *const parts[] = {"nvvm", "targets"};
  enum { N_PARTS = sizeof parts / sizeof *parts };
  const char *const *usual = c->policy.read_paths;
  size_t n = 0;
  while (usual[n])
    n++;
  const char **all = arena_calloc(&c->arena, n + N_PARTS + 1, sizeof *all);
  if (!all)
    return NULL;
  memcpy(all, usual, n * sizeof *all);
  // The usual ones are PREFIX/bin and so on, or none below /usr, which is readable as a whole.
  const char *bin = n > 1 ? all[1] : NULL;
  const char *slash = bin ? strrchr(bin, '/') : NULL;
  for (size_t i = 0; slash && i < N_PARTS; i++)
    if (!(all[n + i] = arena_printf(&c->arena, "%.*s/%s", (int)(slash - bin), bin, parts[i])))
      return NULL;
  return all;
}

static enum assay_status find_nvcc(const char *name, const char *path_env, struct arena *a, char **program,
                                   struct assay_error *err) {
  enum assay_status status = compiler_find(name, path_env, a, program, NULL);
  if (status == ASSAY_ERR_ENVIRONMENT && !strchr(name, '/')) // where toolkits put themselves without asking the PATH
    status = compiler_find("/usr/local/cuda/bin/nvcc", path_env, a, program, NULL);
  if (status == ASSAY_ERR_ENVIRONMENT)
    return error_set(err, status,
                     "no compiler \"%s\" on the PATH (%s): CUDA files with host code need the CUDA toolkit's nvcc; "
                     "put its bin folder on the PATH, name it with its path, or use launch directives",
                     name, path_env ? path_env : "empty");
  return status == ASSAY_OK ? ASSAY_OK : error_nomem(err, "the compiler's path");
}

static enum assay_status find_programs(struct nvcc_build *b, const struct program_options *o, char **program,
                                       struct assay_error *err) {
  struct arena *a = &b->compile.arena;
  char *host = NULL;
  const char *name = o->compiler ? o->compiler : "nvcc";
  if (compiler_is_clang(name))
    return error_set(err, ASSAY_ERR_UNSUPPORTED,
                     "%s: CUDA files with host code are compiled by nvcc only (clang needs a release that knows both "
                     "this toolkit and %s): name nvcc, or use launch directives",
                     name, o->target);
  enum assay_status status = find_nvcc(name, o->paths->path_env, a, program, err);
  if (status == ASSAY_OK)
    status = compiler_find("g++", o->paths->path_env, a, &host, err);
  b->host_compiler = host;
  return status;
}

static enum assay_status prepare_record(struct nvcc_build *b, const struct program_options *o,
                                        struct assay_error *err) {
  struct arena *a = &b->compile.arena;
  b->record = (struct record_options){
      .recorder = o->paths->recorder,
      .library = b->compile.library,
      .folder = b->compile.policy.folder,
      .target = arena_strdup(a, o->target),
      .source_name = arena_strdup(a, o->name ? o->name : source_name),
      .timeout_ns = o->record_timeout_ns,
      .memory_bytes = o->memory_bytes,
  };
  bool complete = b->record.target && b->record.source_name;
  return complete ? ASSAY_OK : error_nomem(err, "a build");
}

static enum assay_status prepare(struct nvcc_build *b, const struct program_options *o, struct assay_error *err) {
  char *program;
  const struct build_options options = {.compiler = o->compiler ? o->compiler : "nvcc",
                                        .path_env = o->paths->path_env,
                                        .include_dir = o->paths->include,
                                        .folder = o->folder,
                                        .defines = o->defines,
                                        .timeout_ns = o->timeout_ns,
                                        .memory_bytes = o->memory_bytes,
                                        .file_bytes = o->file_bytes};
  if (strncmp(o->target, "sm_", 3) != 0 || strlen(o->target) >= sizeof((struct program *)0)->target)
    return error_set(err, ASSAY_ERR_UNSUPPORTED, "target \"%s\": nvcc's targets are called sm_90a, sm_80, ...",
                     o->target);
  enum assay_status status = find_programs(b, o, &program, err);
  if (status == ASSAY_OK)
    status = compile_prepare(&b->compile, &options, program, err);
  if (status == ASSAY_OK && !(b->compile.policy.read_paths = toolkit_paths(&b->compile)))
    status = error_nomem(err, "a build");
  return status == ASSAY_OK ? prepare_record(b, o, err) : status;
}

static void destroy(struct nvcc_build *b) {
  compile_release(&b->compile);
  base_free(b);
}

static enum assay_status nvcc_start(const struct program_options *o, const char *source, size_t n,
                                    struct program_build **out, struct assay_error *err) {
  struct nvcc_build *b = base_calloc(1, sizeof *b);
  if (!b)
    return error_nomem(err, "a build");
  b->base.toolchain = &toolchain_nvcc;
  b->hasty = o->hasty;
  compile_init(&b->compile, &way, b, o->timeout_ns);
  enum assay_status status = prepare(b, o, err);
  if (status == ASSAY_OK && !(b->source = arena_strndup(&b->compile.arena, source, n)))
    status = error_nomem(err, "a build");
  if (status == ASSAY_OK)
    status = compile_start(&b->compile, source, n, err);
  if (status == ASSAY_OK)
    *out = &b->base;
  else
    destroy(b);
  return status;
}

enum assay_status toolchain_ask_nvcc(const char *path_env, const char *folder, char **path, char **version,
                                     struct assay_error *err) {
  enum { SECONDS = 10 };
  struct compile c;
  char *program, *line = NULL, *copy = NULL;
  const struct build_options options = {.compiler = "nvcc",
                                        .path_env = path_env,
                                        .include_dir = folder, // none is needed
                                        .folder = folder,
                                        .timeout_ns = (int64_t)SECONDS * 1000000000};
  compile_init(&c, &way, NULL, options.timeout_ns);
  enum assay_status status = find_nvcc(options.compiler, path_env, &c.arena, &program, err);
  if (status == ASSAY_OK)
    status = compile_prepare(&c, &options, program, err);
  if (status == ASSAY_OK && !(c.policy.read_paths = toolkit_paths(&c)))
    status = error_nomem(err, "a build");
  if (status == ASSAY_OK)
    status = compile_ask_version(&c, &line, err);
  if (status == ASSAY_OK && !(copy = base_strndup(program, strlen(program))))
    status = error_nomem(err, "the compiler's path");
  if (status == ASSAY_OK) {
    *path = copy;
    *version = line;
  } else {
    base_free(line);
  }
  compile_release(&c);
  return status;
}

// "nvcc 13.0", in the arena.
static const char *toolchain_title(struct nvcc_build *b) {
  static const char before[] = "release ";
  const char *p = strstr(buf_str(&b->compile.version), before);
  p = p ? p + strlen(before) : "";
  return arena_printf(&b->compile.arena, "nvcc%s%.*s", *p ? " " : "", (int)strspn(p, "0123456789."), p);
}

// The build's arena goes on as the program's.
static enum assay_status make_program(struct nvcc_build *b, struct program **out, struct assay_error *err) {
  struct nvcc_program *p = base_calloc(1, sizeof *p);
  if (!p)
    return error_nomem(err, "a program");
  p->base.toolchain = &toolchain_nvcc;
  memcpy(p->base.target, b->record.target, strlen(b->record.target) + 1);
  p->record = b->record;
  p->record.toolchain = toolchain_title(b);
  if (!p->record.toolchain) {
    base_free(p);
    return error_nomem(err, "a program");
  }
  p->arena = b->compile.arena;
  b->compile.arena = (struct arena){0};
  *out = &p->base;
  return ASSAY_OK;
}

// The messages with places as editors read them.
static enum assay_status name_places(const struct nvcc_build *b, struct build_result *r, struct assay_error *err) {
  struct buf text = {0};
  diagnostics_of_cuda(r->diagnostics, source_name, b->source, &text);
  char *copy = text.failed ? NULL : base_strndup(buf_str(&text), text.len);
  buf_release(&text);
  if (!copy)
    return error_nomem(err, "the result of a build");
  base_free(r->diagnostics);
  r->diagnostics = copy;
  return ASSAY_OK;
}

static enum assay_status nvcc_finish(struct program_build *base, struct build_result *result, struct program **program,
                                     struct assay_error *err) {
  struct nvcc_build *b = build_of(base);
  struct build_result r = {0};
  enum assay_status status = compile_finish(&b->compile, &r, err);
  if (status == ASSAY_OK)
    status = name_places(b, &r, err);
  if (status == ASSAY_OK && r.outcome == BUILD_OK)
    status = make_program(b, program, err);
  if (status == ASSAY_OK)
    *result = r;
  else
    build_result_release(&r);
  destroy(b);
  return status;
}

static void nvcc_cancel(struct program_build *base) {
  struct nvcc_build *b = build_of(base);
  compile_cancel(&b->compile);
  destroy(b);
}

static enum assay_status nvcc_plan(struct program *base, const struct plan_subject *subject, struct plan *out,
                                   struct plan_report *report, struct assay_error *err) {
  struct nvcc_program *p = (struct nvcc_program *)base;
  if (!p->record.recorder)
    return error_set(err, ASSAY_ERR_USAGE, "the path of assay-recorder is not given");
  return record_run(&p->record, subject, out, report, err);
}

static void nvcc_release(struct program *base) {
  struct nvcc_program *p = (struct nvcc_program *)base;
  arena_release(&p->arena);
  base_free(p);
}

const struct toolchain_ops toolchain_ops_nvcc = {
    .start = nvcc_start,
    .finish = nvcc_finish,
    .cancel = nvcc_cancel,
    .plan = nvcc_plan,
    .release = nvcc_release,
};
