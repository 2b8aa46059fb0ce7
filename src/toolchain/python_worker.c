#include "toolchain/python_worker.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/build_id.h"
#include "base/parallel.h"

// Importing PyTorch keeps a processor busy for seconds, and a judgement takes less: one waits for each so many.
enum { CPUS_A_WAITING = 4 };
enum { MOST_WAITING = 4 };

struct waiting {
  struct lift_worker *worker;
  const char *interpreter; // by which it is known, with the two below; of its arena
  int device_index;
  bool without_landlock;
};

struct python_standby {
  pthread_mutex_t lock;
  struct waiting waiting[MOST_WAITING]; // the longest first
  int n;
};

// python -I -B worker.py lift LIFT_LIBRARY BUILD
static char *const *make_arguments(const struct python_place *p, struct arena *a) {
  const char *const all[] = {p->interpreter, "-I", "-B", p->script, "lift", p->lift, build_id};
  enum { N_ALL = sizeof all / sizeof *all };
  char **argv = arena_calloc(a, N_ALL + 1, sizeof *argv);
  for (size_t i = 0; argv && i < N_ALL; i++)
    if (!(argv[i] = arena_strdup(a, all[i])))
      return NULL;
  return argv;
}

static char *const *make_environment(const struct python_worker_options *o, const char *folder, struct arena *a) {
  const char *interpreter = o->python->interpreter, *slash = strrchr(interpreter, '/');
  int bin = slash ? (int)(slash - interpreter) : 0; // where an environment has its own ninja
  char *const all[] = {arena_strdup(a, "LC_ALL=C.UTF-8"),
                       arena_printf(a, "PATH=%.*s:%s", bin, interpreter, o->path_env),
                       arena_printf(a, "HOME=%s", folder),
                       arena_printf(a, "TMPDIR=%s", folder),
                       arena_strdup(a, "USER=assay"), // PyTorch names a folder after it
                       arena_printf(a, "TORCH_EXTENSIONS_DIR=%s/extensions", folder),
                       arena_printf(a, "TRITON_CACHE_DIR=%s/triton", folder),
                       arena_printf(a, "TORCHINDUCTOR_CACHE_DIR=%s/inductor", folder),
                       arena_printf(a, "CUDA_CACHE_PATH=%s/cuda", folder),
                       arena_printf(a, "CUDA_VISIBLE_DEVICES=%d", o->device_index)};
  enum { N_ALL = sizeof all / sizeof *all };
  char **envp = arena_calloc(a, N_ALL + 1, sizeof *envp);
  for (size_t i = 0; envp && i < N_ALL; i++)
    if (!(envp[i] = all[i]))
      return NULL;
  return envp;
}

// The interpreter's, and Assay's own.
static const char *const *make_read_paths(const struct python_place *p, struct arena *a) {
  const char *const own[] = {p->script, p->lift};
  enum { N_OWN = sizeof own / sizeof *own };
  size_t n = 0, n_paths = 0;
  while (p->read_paths[n_paths])
    n_paths++;
  const char **paths = arena_calloc(a, n_paths + N_OWN + 1, sizeof *paths);
  for (size_t i = 0; paths && i < n_paths; i++)
    paths[n++] = p->read_paths[i];
  for (size_t i = 0; paths && i < N_OWN; i++)
    paths[n++] = own[i];
  return paths;
}

static enum assay_status create(const struct python_worker_options *o, struct waiting *out, struct assay_error *err) {
  struct lift_worker *w = NULL;
  enum assay_status status = lift_worker_create(o->temporary_dir, &w, err);
  if (status)
    return status;
  struct arena *a = lift_worker_arena(w);
  const struct lift_command c = {.argv = make_arguments(o->python, a),
                                 .envp = make_environment(o, lift_worker_folder(w), a),
                                 .read_paths = make_read_paths(o->python, a),
                                 .without_landlock = o->without_landlock};
  const char *interpreter = arena_strdup(a, o->python->interpreter);
  status = c.argv && c.envp && c.read_paths && interpreter ? lift_worker_spawn(w, &c, err)
                                                           : error_nomem(err, "a worker's start");
  if (status)
    lift_worker_end(w);
  else
    *out = (struct waiting){w, interpreter, o->device_index, o->without_landlock};
  return status;
}

static bool fits(const struct waiting *w, const struct python_worker_options *o) {
  return lift_worker_waits(w->worker) && w->device_index == o->device_index &&
         w->without_landlock == o->without_landlock && strcmp(w->interpreter, o->python->interpreter) == 0;
}

// False: none waits.
static bool take_waiting(struct python_standby *s, struct waiting *out) {
  pthread_mutex_lock(&s->lock);
  bool found = s->n > 0;
  if (found) {
    *out = s->waiting[0];
    memmove(s->waiting, s->waiting + 1, (size_t)--s->n * sizeof *s->waiting);
  }
  pthread_mutex_unlock(&s->lock);
  return found;
}

enum assay_status python_worker_start(struct python_standby *standby, const struct python_worker_options *o,
                                      struct lift_worker **out, struct assay_error *err) {
  struct waiting w;
  while (standby && take_waiting(standby, &w)) {
    if (fits(&w, o)) {
      *out = w.worker;
      return ASSAY_OK;
    }
    lift_worker_end(w.worker);
  }
  enum assay_status status = create(o, &w, err);
  if (!status)
    *out = w.worker;
  return status;
}

void python_standby_fill(struct python_standby *s, const struct python_worker_options *o) {
  struct assay_error ignored = {0};
  pthread_mutex_lock(&s->lock);
  int wanted = 1 + parallel_cpus() / CPUS_A_WAITING;
  while (s->n < wanted && s->n < MOST_WAITING && create(o, &s->waiting[s->n], &ignored) == ASSAY_OK)
    s->n++;
  pthread_mutex_unlock(&s->lock);
}

enum assay_status python_standby_open(struct python_standby **out, struct assay_error *err) {
  struct python_standby *s = base_calloc(1, sizeof *s);
  if (!s)
    return error_nomem(err, "workers in waiting");
  pthread_mutex_init(&s->lock, NULL);
  *out = s;
  return ASSAY_OK;
}

void python_standby_close(struct python_standby *s) {
  struct waiting w;
  if (!s)
    return;
  while (take_waiting(s, &w))
    lift_worker_end(w.worker);
  pthread_mutex_destroy(&s->lock);
  base_free(s);
}
