#include "runner/python_start.h"

#include <string.h>

#include "base/build_id.h"

static size_t count(const char *const *list) {
  size_t n = 0;
  while (list && list[n])
    n++;
  return n;
}

// python -I -B worker.py serve WORKER_LIBRARY CANDIDATE THREADS BUILD DEFINE...
static bool make_arguments(const struct runner_options *o, char *threads, struct python_start *out) {
  const struct runner_python *p = o->python;
  const char *const front[] = {p->interpreter, "-I",       "-B",    p->script, "serve",
                               p->library,     o->library, threads, build_id};
  enum { N_FRONT = sizeof front / sizeof *front };
  size_t n_defines = count(p->defines), n = 0;
  out->argv = arena_calloc(&out->arena, N_FRONT + n_defines + 1, sizeof *out->argv);
  for (size_t i = 0; out->argv && i < N_FRONT; i++)
    out->argv[n++] = (char *)front[i];
  for (size_t i = 0; out->argv && i < n_defines; i++)
    out->argv[n++] = (char *)p->defines[i];
  return out->argv;
}

static bool make_environment(const struct runner_options *o, const char *threads, struct python_start *out) {
  struct arena *a = &out->arena;
  char *const all[] = {arena_printf(a, "OMP_NUM_THREADS=%s", threads),
                       arena_strdup(a, "OMP_WAIT_POLICY=passive"), // see runner.c
                       arena_printf(a, "HOME=%s", o->folder), arena_printf(a, "TMPDIR=%s", o->folder),
                       arena_strdup(a, "LC_ALL=C.UTF-8")};
  enum { N_ALL = sizeof all / sizeof *all };
  out->envp = arena_calloc(a, N_ALL + 1, sizeof *out->envp);
  for (size_t i = 0; out->envp && i < N_ALL; i++)
    if (!(out->envp[i] = all[i]))
      return false;
  return out->envp;
}

// The interpreter's own files, and the source's folder: what was compiled for it lies there too.
static bool make_read_paths(const struct runner_options *o, struct python_start *out) {
  const struct runner_python *p = o->python;
  const char *slash = strrchr(o->library, '/');
  const char *source =
      arena_printf(&out->arena, "%.*s", slash ? (int)(slash - o->library) : 1, slash ? o->library : ".");
  const char *const own[] = {p->interpreter, p->script,       p->library,           source,
                             "/dev/urandom", "/proc/cpuinfo", "/sys/devices/system"};
  enum { N_OWN = sizeof own / sizeof *own };
  size_t n_paths = count(p->read_paths), n = 0;
  out->read_paths = arena_calloc(&out->arena, n_paths + N_OWN + 1, sizeof *out->read_paths);
  for (size_t i = 0; out->read_paths && i < n_paths; i++)
    out->read_paths[n++] = p->read_paths[i];
  for (size_t i = 0; out->read_paths && i < N_OWN; i++)
    out->read_paths[n++] = own[i];
  return out->read_paths && source;
}

enum assay_status python_start_make(const struct runner_options *o, char *threads, struct python_start *out,
                                    struct assay_error *err) {
  if (make_arguments(o, threads, out) && make_environment(o, threads, out) && make_read_paths(o, out))
    return ASSAY_OK;
  return error_nomem(err, "the start of a worker");
}

void python_start_release(struct python_start *p) {
  arena_release(&p->arena);
}

enum assay_status python_start_failed(const struct runner_python *p, const char *log, bool late,
                                      struct assay_error *err) {
  enum { SHOWN = 500 }; // of a traceback the end, where the error is
  if (strlen(log) > SHOWN)
    log += strlen(log) - SHOWN;
  return error_set(err, ASSAY_ERR_ENVIRONMENT,
                   "the Python worker did not start%s: %s\nPython candidates need a Python with PyTorch: name it in "
                   "ASSAY_PYTHON (%s was asked; `assay doctor` says more)",
                   late ? " in time" : "", log[0] ? log : "it said nothing", p->interpreter);
}
