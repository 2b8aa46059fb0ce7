// The build of a Python candidate: worker.py looks at its syntax in a sandboxed builder, and compiles what it wants to
// load as an extension in C++.
#include "toolchain/python.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "toolchain/cc.h"
#include "toolchain/compile.h"

static const char source_name[] = "candidate.py";
static const size_t EXTENSION_BYTES = (size_t)64 << 30;
static const int64_t EXTENSION_NS = 300000000000;

struct python_build {
  struct compile compile;
  const char *script;
  bool extensions;
};

// PREFIX of PREFIX/bin/python, in place; false when there is none.
static bool prefix_of(char *path) {
  for (int up = 0; up < 2; up++) {
    char *slash = strrchr(path, '/');
    if (!slash || slash == path)
      return false;
    *slash = '\0';
  }
  return true;
}

// Parts of a prefix, and not the prefix itself, which could be somebody's home.
static bool add_prefix(const char *prefix, const char **paths, int *n, struct arena *a) {
  static const char *const parts[] = {"bin", "lib", "lib64", "include", "share", "pyvenv.cfg"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    // The system's own programs are no interpreter's files.
    if (strcmp(prefix, "/usr") == 0 && strncmp(parts[i], "lib", 3) != 0)
      continue;
    if (!(paths[*n] = arena_printf(a, "%s/%s", prefix, parts[i])))
      return false;
    ++*n;
  }
  return true;
}

// A virtual environment's files, those of the Python that it was made from, and the system's packages.
static const char *const *find_read_paths(const char *interpreter, struct arena *a) {
  enum { MOST = 24 };
  char own[PATH_MAX], real[PATH_MAX];
  const char **paths = arena_calloc(a, MOST, sizeof *paths);
  int n = 0;
  if (!paths || strlen(interpreter) >= sizeof own)
    return NULL;
  memcpy(own, interpreter, strlen(interpreter) + 1);
  if (prefix_of(own) && !add_prefix(own, paths, &n, a))
    return NULL;
  if (realpath(interpreter, real) && prefix_of(real) && strcmp(own, real) != 0 && !add_prefix(real, paths, &n, a))
    return NULL;
  paths[n++] = "/usr/local"; // CUDA's libraries are there, which PyTorch may be linked with
  return paths;
}

enum assay_status python_find(const struct python_options *o, struct arena *a, struct python_place *out,
                              struct assay_error *err) {
  const char *name = o->interpreter ? o->interpreter : "python3";
  char *found = NULL;
  struct assay_error why = {0};
  enum assay_status status = compiler_find(name, o->path_env, a, &found, &why);
  if (status == ASSAY_ERR_NOT_FOUND)
    return error_set(err, status,
                     "no interpreter \"%s\": Python candidates need a Python with PyTorch; name it in ASSAY_PYTHON",
                     name);
  if (status)
    return error_set(err, status, "%s", why.message);
  if (!o->script || access(o->script, R_OK) != 0 || !o->worker || access(o->worker, R_OK) != 0)
    return error_set(err, ASSAY_ERR_NOT_FOUND, "%s and %s must be there: build or install Assay whole",
                     o->script ? o->script : "worker.py", o->worker ? o->worker : "assay-worker.so");
  *out = (struct python_place){
      .interpreter = found, .script = o->script, .worker = o->worker, .read_paths = find_read_paths(found, a)};
  const char *slash = strrchr(o->worker, '/');
  out->lift = arena_printf(a, "%.*sassay-lift.so", slash ? (int)(slash + 1 - o->worker) : 0, o->worker);
  return out->read_paths && out->lift ? ASSAY_OK : error_nomem(err, "the interpreter's paths");
}

// The interpreter's paths and more.
static const char *const *builder_paths(const struct python_place *p, struct arena *a) {
  size_t n = 0;
  while (p->read_paths[n])
    n++;
  const char **paths = arena_calloc(a, n + 2, sizeof *paths);
  for (size_t i = 0; paths && i < n; i++)
    if (!(paths[i] = arena_strdup(a, p->read_paths[i])))
      return NULL;
  if (paths && !(paths[n] = arena_strdup(a, p->script)))
    return NULL;
  return paths;
}

enum assay_status python_ask(const struct python_place *p, const char *folder, char **json, struct assay_error *err) {
  enum { SECONDS = 120, TEXT_BYTES = 16 << 10 };
  struct arena arena = {0};
  struct buf text;
  struct sandbox_child child = {0};
  struct sandbox_end end = {0};
  buf_init(&text);
  char *const argv[] = {(char *)p->interpreter, "-I", "-B", (char *)p->script, "facts", NULL};
  char *const envp[] = {"LC_ALL=C.UTF-8", arena_printf(&arena, "HOME=%s", folder),
                        arena_printf(&arena, "TMPDIR=%s", folder), NULL};
  const struct sandbox_policy policy = {
      .role = SANDBOX_BUILDER, .folder = folder, .read_paths = builder_paths(p, &arena), .processes = 64};
  enum assay_status status =
      envp[1] && envp[2] && policy.read_paths ? ASSAY_OK : error_nomem(err, "asking the interpreter");
  if (!status)
    status = sandbox_spawn(&policy, argv, envp, NULL, 0, &child, err);
  if (!status)
    status = sandbox_wait(&child, clock_monotonic_ns() + (int64_t)SECONDS * 1000000000, &text, TEXT_BYTES, &end, err);
  const char *object = strchr(buf_str(&text), '{'); // warnings may stand before it
  if (!status && (!end.exited || end.code != 0 || !object))
    status = error_set(err, ASSAY_ERR_ENVIRONMENT, "%s does not say what it has: %.300s", p->interpreter,
                       text.len ? buf_str(&text) : "it said nothing");
  if (!status && !(*json = base_strndup(object, strlen(object))))
    status = error_nomem(err, "what the interpreter has");
  buf_release(&text);
  arena_release(&arena);
  return status;
}

// ---- the build

// Not compile_command: a macro's -D means nothing to Python.
static char **command(struct compile *c) {
  const struct python_build *b = c->owner;
  size_t n = 0, n_defines = 0;
  while (c->defines[n_defines])
    n_defines++;
  const char *const front[] = {c->program,  "-I",           "-B", b->script, b->extensions ? "check" : "syntax",
                               source_name, COMPILE_LIBRARY};
  char **argv = arena_calloc(&c->arena, sizeof front / sizeof *front + n_defines + 1, sizeof *argv);
  for (size_t i = 0; argv && i < sizeof front / sizeof *front; i++)
    argv[n++] = (char *)front[i];
  for (size_t i = 0; argv && i < n_defines; i++)
    argv[n++] = (char *)c->defines[i];
  return argv;
}

static const struct compile_way way = {
    .source_name = source_name,
    .processes = 64, // an extension: ninja, a shell, g++ and what it runs
    .command = command,
};

static void destroy(struct python_build *b) {
  compile_release(&b->compile);
  base_free(b);
}

enum assay_status python_build_start(const struct python_place *p, const struct build_options *o, bool extensions,
                                     const char *source, size_t n, struct python_build **out, struct assay_error *err) {
  struct build_options options = *o;
  struct python_build *b = base_calloc(1, sizeof *b);
  if (!b)
    return error_nomem(err, "a build");
  struct arena *a = &b->compile.arena;
  // PyTorch's own libraries take gigabytes of addresses, and its headers a compiler's minute.
  if (extensions) {
    options.memory_bytes = o->memory_bytes ? o->memory_bytes + EXTENSION_BYTES : 0;
    options.timeout_ns = o->timeout_ns > EXTENSION_NS ? o->timeout_ns : EXTENSION_NS;
  }
  options.compiler = "python";
  options.include_dir = o->folder; // none is needed
  compile_init(&b->compile, &way, b, options.timeout_ns);
  b->script = arena_strdup(a, p->script);
  b->extensions = extensions;
  char *program = arena_strdup(a, p->interpreter);
  enum assay_status status = b->script && program ? ASSAY_OK : error_nomem(err, "a build");
  if (!status)
    status = compile_prepare(&b->compile, &options, program, err);
  if (!status && !(b->compile.policy.read_paths = builder_paths(p, a)))
    status = error_nomem(err, "a build");
  if (!status)
    status = compile_start(&b->compile, source, n, err);
  if (status)
    destroy(b);
  else
    *out = b;
  return status;
}

// What worker.py left in place of a library: a line that says what it ran with.
static enum assay_status read_versions(const char *path, struct build_result *r, struct assay_error *err) {
  char *text = NULL;
  size_t n = 0;
  enum { MOST = 4096 };
  enum assay_status status = file_read(path, MOST, &text, &n, err);
  if (!status) {
    base_free(r->compiler_version);
    r->compiler_version = base_strndup(text, strcspn(text, "\n"));
    if (!r->compiler_version)
      status = error_nomem(err, "the result of a build");
  }
  base_free(text);
  return status;
}

enum assay_status python_build_finish(struct python_build *b, struct build_result *out, struct assay_error *err) {
  struct build_result r = {0};
  enum assay_status status = compile_finish(&b->compile, &r, err);
  if (!status && r.outcome == BUILD_OK) {
    const char *path = arena_printf(&b->compile.arena, "%s/%s", b->compile.policy.folder, source_name);
    r.library = path ? base_strndup(path, strlen(path)) : NULL;
    status = r.library ? read_versions(b->compile.library, &r, err) : error_nomem(err, "the result of a build");
  }
  if (!status)
    *out = r;
  else
    build_result_release(&r);
  destroy(b);
  return status;
}

void python_build_cancel(struct python_build *b) {
  if (!b)
    return;
  compile_cancel(&b->compile);
  destroy(b);
}
