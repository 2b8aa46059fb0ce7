// SPDX-License-Identifier: Apache-2.0
#include "toolchain/python_worker.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/build_id.h"
#include "base/parallel.h"
#include "sandbox/gpu_python.h"

// Importing PyTorch keeps a core busy for seconds, and a judgement takes less: one worker waits for each so many cores.
enum { CPUS_A_WAITING = 4 };
enum { MOST_WAITING = 4 };
#define MOST_SETTLING_NS INT64_C(10000000000)

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

static enum assay_status create(const struct python_worker_options *o, struct waiting *out, struct assay_error *err) {
  struct lift_worker *w = NULL;
  enum assay_status status = lift_worker_create(o->paths->temporary, &w, err);
  if (status)
    return status;
  struct arena *a = lift_worker_arena(w);
  const char *script = o->python->script;
  const char *own[PYTHON_OTHER_PARTS + 3] = {script, o->python->lift};
  for (int i = 0; i < PYTHON_OTHER_PARTS; i++)
    own[2 + i] = python_other_part(script, i, a);
  const struct gpu_python process = {.path_env = o->python->path_env,
                                     .folder = lift_worker_folder(w),
                                     .read_paths = o->python->read_paths,
                                     .more_paths = own,
                                     .more_environment = o->python->environment,
                                     .device_index = o->device_index};
  const struct lift_command c = {.argv = make_arguments(o->python, a),
                                 .envp = gpu_python_environment(&process, a),
                                 .read_paths = gpu_python_read_paths(&process, a),
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

static bool fits(struct waiting *w, const struct python_worker_options *o) {
  return lift_worker_waits(w->worker) && w->device_index == o->device_index &&
         w->without_landlock == o->without_landlock && strcmp(w->interpreter, o->python->interpreter) == 0;
}

static void rouse_next(struct python_standby *s) {
  pthread_mutex_lock(&s->lock);
  if (s->n > 0)
    lift_worker_rouse(s->waiting[0].worker);
  pthread_mutex_unlock(&s->lock);
}

void python_standby_settle(struct python_standby *s) {
  if (!s)
    return;
  pthread_mutex_lock(&s->lock);
  for (int i = 0; i < s->n; i++)
    lift_worker_settle(s->waiting[i].worker, MOST_SETTLING_NS);
  pthread_mutex_unlock(&s->lock);
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
      rouse_next(standby);
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
