// SPDX-License-Identifier: Apache-2.0
#include "runner/python_start.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/build_id.h"
#include "runner/threads.h"
#include "sandbox/gpu_python.h"
#include "sandbox/sandbox.h"

static size_t count(const char *const *list) {
  size_t n = 0;
  while (list && list[n])
    n++;
  return n;
}

// python -I -B worker.py serve WORKER_LIBRARY CANDIDATE THREADS BUILD DEVICE DEFINE...
static char *const *make_arguments(const struct runner_options *o, const char *threads, struct arena *a) {
  const struct runner_python *p = o->python;
  const char *const front[] = {p->interpreter, "-I",       "-B",    p->script, "serve",
                               p->library,     o->library, threads, build_id,  p->device->name};
  enum { N_FRONT = sizeof front / sizeof *front };
  size_t n_defines = count(p->defines), n = 0;
  char **argv = arena_calloc(a, N_FRONT + n_defines + 1, sizeof *argv);
  for (size_t i = 0; argv && i < N_FRONT; i++)
    argv[n++] = (char *)front[i];
  for (size_t i = 0; argv && i < n_defines; i++)
    argv[n++] = (char *)p->defines[i];
  return argv;
}

// Of its threads, and of its compilers; NULL-terminated.
enum { N_SETTINGS = 3 };
static const char *const *make_settings(const struct runner_python *p, const char *threads, struct arena *a) {
  size_t n = count(p->environment);
  const char **all = arena_calloc(a, N_SETTINGS + n + 1, sizeof *all);
  char *number = arena_printf(a, "OMP_NUM_THREADS=%s", threads);
  if (!all || !number)
    return NULL;
  all[0] = number;
  all[1] = "OMP_WAIT_POLICY=passive"; // see runner.c
  all[2] = "GLIBC_TUNABLES=" SANDBOX_NO_SEQUENCES;
  for (size_t i = 0; i < n; i++)
    all[N_SETTINGS + i] = p->environment[i];
  return all;
}

static char *const *make_environment(const struct runner_options *o, const char *const *settings, struct arena *a) {
  char *const all[] = {(char *)settings[0], (char *)settings[1], (char *)settings[2],
                       arena_printf(a, "HOME=%s", o->folder), arena_printf(a, "TMPDIR=%s", o->folder),
                       arena_strdup(a, "LC_ALL=C.UTF-8"),
                       // torch._dynamo wants a folder named after the user as it is imported. Without these, the C
                       // library would ask for the name by a socket, and then the folder would be made.
                       arena_strdup(a, "USER=assay"), arena_strdup(a, "LOGNAME=assay"),
                       arena_printf(a, "TORCHINDUCTOR_CACHE_DIR=%s", o->folder)};
  enum { N_ALL = sizeof all / sizeof *all };
  char **envp = arena_calloc(a, N_ALL + 1, sizeof *envp);
  for (size_t i = 0; envp && i < N_ALL; i++)
    if (!(envp[i] = all[i]))
      return NULL;
  return envp;
}

// In addition to the interpreter's files: the worker's own, and the source's folder, since what was compiled for it
// lies there too.
static const char *const *make_own_paths(const struct runner_options *o, struct arena *a) {
  const struct runner_python *p = o->python;
  const char *slash = strrchr(o->library, '/');
  const char *source = arena_printf(a, "%.*s", slash ? (int)(slash - o->library) : 1, slash ? o->library : ".");
  const char *const own[] = {p->interpreter,
                             p->script,
                             python_other_part(p->script, 0, a),
                             python_other_part(p->script, 1, a),
                             python_other_part(p->script, 2, a),
                             p->library,
                             source,
                             "/dev/urandom",
                             "/proc/cpuinfo",
                             "/sys/devices/system"};
  enum { N_OWN = sizeof own / sizeof *own };
  _Static_assert(PYTHON_OTHER_PARTS == 3, "each is in the list");
  const char **paths = arena_calloc(a, N_OWN + 1, sizeof *paths);
  for (size_t i = 0; paths && i < N_OWN; i++)
    if (!(paths[i] = own[i]))
      return NULL;
  return paths;
}

static const char *const *join(const char *const *first, const char *const *second, struct arena *a) {
  size_t n_first = count(first), n_second = count(second);
  const char **all = arena_calloc(a, n_first + n_second + 1, sizeof *all);
  for (size_t i = 0; all && i < n_first + n_second; i++)
    all[i] = i < n_first ? first[i] : second[i - n_first];
  return all;
}

static enum assay_status spawn_locked(const struct runner_options *o, char *const *argv, char *const *envp,
                                      const char *const *read_paths, int socket, struct sandbox_child *out,
                                      struct assay_error *err) {
  // Threads beyond this are late work anyway; without a limit, small ones use up the machine's process numbers.
  const struct sandbox_policy policy = {
      .role = SANDBOX_RUNNER, .folder = o->folder, .read_paths = read_paths, .processes = THREADS_MAX + 2 * o->threads};
  if (!envp || !read_paths)
    return error_nomem(err, "the start of a worker");
  return sandbox_spawn(&policy, argv, envp, &socket, 1, out, err);
}

enum assay_status python_start(const struct runner_options *o, int socket, struct sandbox_child *out,
                               struct assay_error *err) {
  const struct runner_python *p = o->python;
  struct arena arena = {0};
  char threads[16];
  snprintf(threads, sizeof threads, "%d", o->threads);
  char *const *argv = make_arguments(o, threads, &arena);
  const char *const *settings = make_settings(p, threads, &arena), *const *own = make_own_paths(o, &arena);
  enum assay_status status = argv && settings && own ? ASSAY_OK : error_nomem(err, "the start of a worker");
  const struct gpu_python unlocked = {.path_env = p->path_env,
                                      .folder = o->folder,
                                      .read_paths = p->read_paths,
                                      .more_paths = own,
                                      .more_environment = settings,
                                      .device_index = p->device_index,
                                      .without_landlock = p->without_landlock};
  if (!status)
    status = p->unlocked ? gpu_python_spawn(&unlocked, argv, socket, out, err)
                         : spawn_locked(o, argv, make_environment(o, settings, &arena),
                                        join(p->read_paths, own, &arena), socket, out, err);
  arena_release(&arena);
  return status;
}

// The last line of a traceback is the error.
static const char *last_line(const char *log, int *n) {
  size_t end = strlen(log);
  while (end > 0 && strchr(" \n", log[end - 1]))
    end--;
  size_t begin = end;
  while (begin > 0 && log[begin - 1] != '\n')
    begin--;
  *n = (int)(end - begin);
  return log + begin;
}

enum assay_status python_start_failed(const struct runner_python *p, const char *log, bool late,
                                      struct assay_error *err) {
  static const char nothing[] = "it said nothing";
  enum { SHOWN = 500 };
  int n;
  const char *line = last_line(log, &n);
  return error_set(err, ASSAY_ERR_ENVIRONMENT,
                   "the Python worker did not start%s: %.*s. Python candidates need a Python with PyTorch: name it in "
                   "ASSAY_PYTHON (%s was asked; `assay doctor` says more)",
                   late ? " in time" : "",
                   n == 0      ? (int)strlen(nothing)
                   : n < SHOWN ? n
                               : SHOWN,
                   n == 0 ? nothing : line, p->interpreter);
}
