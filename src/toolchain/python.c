// SPDX-License-Identifier: Apache-2.0
// The build of a Python candidate: worker.py looks at its syntax in a sandboxed builder, and compiles what it wants to
// load as an extension in C++.
#include "toolchain/python.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "toolchain/cc.h"
#include "toolchain/compile.h"
#include "toolchain/python_ask.h"
#include "toolchain/python_keep.h"
#include "toolchain/python_paths.h"
#include "toolchain/python_script.h"
#include "toolchain/python_settings.h"

static const char source_name[] = "candidate.py";
static const size_t EXTENSION_BYTES = (size_t)64 << 30;
static const int64_t EXTENSION_NS = 300000000000;
enum { VERSION_LINE = 4096 }; // the most that worker.py writes of what it ran with

struct python_build {
  struct compile compile;
  const char *script, *settings, *source;
  size_t source_bytes;
  bool extensions;
  const char *cache; // NULL: extensions are not kept
  char key[HASH_HEX_BYTES];
  bool restored; // from an earlier build
};

enum assay_status python_find(const struct assay_paths *p, struct arena *a, struct python_place *out,
                              struct assay_error *err) {
  const char *name = p->python ? p->python : "python3";
  char *found = NULL;
  struct assay_error why = {0};
  enum assay_status status = compiler_find(name, p->path_env, a, &found, &why);
  if (status == ASSAY_ERR_ENVIRONMENT)
    return error_set(err, status,
                     "no interpreter \"%s\": Python candidates need a Python with PyTorch; name it in ASSAY_PYTHON",
                     name);
  if (status)
    return error_set(err, status, "%s", why.message);
  const char *interpreter;
  if ((status = python_behind_script(found, a, &interpreter, err)) != ASSAY_OK)
    return status;
  if (!p->worker_script || access(p->worker_script, R_OK) != 0 || !p->worker || access(p->worker, R_OK) != 0)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "%s and %s must be there: build or install Assay whole",
                     p->worker_script ? p->worker_script : "worker.py", p->worker ? p->worker : "assay-worker.so");
  struct python_settings settings;
  if ((status = python_settings_make(p, interpreter, a, &settings, err)) != ASSAY_OK)
    return status;
  *out = (struct python_place){.interpreter = interpreter,
                               .script = p->worker_script,
                               .worker = p->worker,
                               .read_paths = python_paths_find(interpreter, settings.read_paths, a),
                               .cache = p->cache,
                               .path_env = settings.path_env,
                               .environment = settings.environment,
                               .settings = settings.summary};
  const char *slash = strrchr(p->worker, '/');
  out->lift = arena_printf(a, "%.*sassay-lift.so", slash ? (int)(slash + 1 - p->worker) : 0, p->worker);
  return out->read_paths && out->lift ? ASSAY_OK : error_nomem(err, "the interpreter's paths");
}

// ---- the build

// worker.py itself finds out whether what was restored is good for the machine as it is now.
static const char *mode_of(const struct python_build *b) {
  if (b->extensions)
    return b->restored ? "kept" : "check";
  return b->restored ? "there" : "syntax";
}

// Not compile_command: a macro's -D means nothing to Python.
static char **command(struct compile *c) {
  const struct python_build *b = c->owner;
  size_t n = 0, n_defines = 0;
  while (c->defines[n_defines])
    n_defines++;
  const char *const front[] = {c->program, "-I", "-B", b->script, mode_of(b), source_name, COMPILE_LIBRARY};
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
    .control = "class ModelNew:\n    pass\n",
};

static void destroy(struct python_build *b) {
  compile_release(&b->compile);
  base_free(b);
}

enum assay_status python_build_start(const struct python_place *p, const struct build_options *o, const char *gpu,
                                     const char *source, size_t n, struct python_build **out, struct assay_error *err) {
  const bool extensions = !gpu;
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
  options.path_env = p->path_env;
  options.environment = p->environment;
  options.include_dir = o->folder; // none is needed
  compile_init(&b->compile, &way, b, options.timeout_ns);
  b->script = arena_strdup(a, p->script);
  b->settings = arena_strdup(a, p->settings);
  b->extensions = extensions;
  b->source = arena_strndup(a, source, n);
  b->source_bytes = n;
  char *program = arena_strdup(a, p->interpreter);
  enum assay_status status = b->script && b->settings && b->source && program ? ASSAY_OK : error_nomem(err, "a build");
  if (!status)
    status = compile_prepare(&b->compile, &options, program, err);
  if (!status && !(b->compile.policy.read_paths = python_builder_paths(p, a)))
    status = error_nomem(err, "a build");
  if (!status && p->cache && python_keep_asked(source, n)) {
    const struct python_kept what = {source, n, o->defines, gpu};
    b->cache = arena_strdup(a, p->cache);
    status = b->cache ? python_keep_key(p, &what, b->key, err) : error_nomem(err, "a build");
  }
  b->restored = !status && b->cache && python_keep_restore(b->cache, b->key, o->folder);
  if (!status)
    status = compile_start(&b->compile, source, n, err);
  if (status)
    destroy(b);
  else
    *out = b;
  return status;
}

// What worker.py left in place of a library: a line that says what it ran with. And which compilers a user wanted.
static enum assay_status read_versions(const struct python_build *b, struct build_result *r, struct assay_error *err) {
  char *text = NULL;
  size_t n = 0;
  enum assay_status status = file_read(b->compile.library, VERSION_LINE, &text, &n, err);
  if (!status) {
    base_free(r->compiler_version);
    struct buf line;
    buf_init(&line);
    buf_printf(&line, "%.*s%s%s", (int)strcspn(text, "\n"), text, b->settings[0] ? ", " : "", b->settings);
    r->compiler_version = buf_status(&line, NULL) ? NULL : base_strndup(buf_str(&line), line.len);
    buf_release(&line);
    if (!r->compiler_version)
      status = error_nomem(err, "the result of a build");
  }
  base_free(text);
  return status;
}

bool python_is_file_of(const char *path, size_t least, size_t most) {
  struct stat st;
  return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 && (size_t)st.st_size >= least &&
         (size_t)st.st_size <= most;
}

// A build may import the candidate, which may write in its folder: what is there afterwards is looked at before it is
// used. NULL: it is as it was left by worker.py; else what the candidate did.
static const char *find_change(const struct python_build *b, const char *source_path) {
  if (!python_is_file_of(b->compile.library, 1, VERSION_LINE))
    return "the build left no line of versions where worker.py writes one: the file writes there itself";
  if (!python_is_file_of(source_path, b->source_bytes, b->source_bytes))
    return "the file removed or replaced its own source while it was built";
  char *text = NULL;
  size_t n = 0;
  bool same = file_read(source_path, b->source_bytes, &text, &n, NULL) == ASSAY_OK && n == b->source_bytes &&
              memcmp(text, b->source, n) == 0;
  base_free(text);
  return same ? NULL : "the file changed its own source while it was built";
}

// What is wrong with a build goes before what it printed.
static enum assay_status reject(struct build_result *r, const char *why, struct assay_error *err) {
  struct buf text;
  buf_init(&text);
  buf_printf(&text, "%s\n%s", why, r->diagnostics ? r->diagnostics : "");
  char *joined = text.failed ? NULL : base_strndup(buf_str(&text), text.len);
  buf_release(&text);
  if (!joined)
    return error_nomem(err, "the result of a build");
  base_free(r->diagnostics);
  r->diagnostics = joined;
  r->outcome = BUILD_REJECTED;
  return ASSAY_OK;
}

enum assay_status python_build_finish(struct python_build *b, struct build_result *out, struct assay_error *err) {
  struct build_result r = {0};
  enum assay_status status = compile_finish(&b->compile, &r, err);
  if (!status && r.outcome == BUILD_OK) {
    const char *path = arena_printf(&b->compile.arena, "%s/%s", b->compile.policy.folder, source_name);
    const char *change = path ? find_change(b, path) : NULL;
    r.library = path && !change ? base_strndup(path, strlen(path)) : NULL;
    if (!change && b->cache && b->extensions)
      python_keep_store(b->cache, b->key, b->compile.policy.folder);
    if (change)
      status = reject(&r, change, err);
    else
      status = r.library ? read_versions(b, &r, err) : error_nomem(err, "the result of a build");
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
