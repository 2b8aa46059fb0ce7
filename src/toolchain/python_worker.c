#include "toolchain/python_worker.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/build_id.h"
#include "base/clock.h"
#include "sandbox/gpu_python.h"
#include "toolchain/cc.h"

enum { LOG_TEXT_BYTES = 64 << 10, MOST_WAITING = 2 };

struct python_worker {
  struct arena arena;
  const char *interpreter; // by which a waiting one is known, with the two below
  int device_index;
  bool without_landlock;
  char *folder; // its own
  int socket;
  struct sandbox_child child;
  bool running;
};

struct python_standby {
  pthread_mutex_t lock;
  struct python_worker *waiting[MOST_WAITING]; // the longest first
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

static enum assay_status spawn(struct python_worker *w, const struct python_worker_options *o,
                               struct assay_error *err) {
  const char *const own[] = {o->python->script, o->python->lift, NULL};
  const struct gpu_python process = {.interpreter = o->python->interpreter,
                                     .path_env = o->path_env,
                                     .folder = w->folder,
                                     .read_paths = o->python->read_paths,
                                     .more_paths = own,
                                     .device_index = o->device_index,
                                     .without_landlock = o->without_landlock};
  char *const *argv = make_arguments(o->python, &w->arena);
  int pair[2];
  if (!argv)
    return error_nomem(err, "a worker's start");
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot make a socket for the Python worker: %s", strerror(errno));
  enum assay_status status = gpu_python_spawn(&process, argv, pair[1], &w->child, err);
  w->running = status == ASSAY_OK;
  w->socket = pair[0];
  close(pair[1]);
  return status;
}

static enum assay_status create(const struct python_worker_options *o, struct python_worker **out,
                                struct assay_error *err) {
  struct python_worker *w = base_calloc(1, sizeof *w);
  if (!w)
    return error_nomem(err, "a worker");
  w->socket = -1;
  w->device_index = o->device_index;
  w->without_landlock = o->without_landlock;
  w->interpreter = arena_strdup(&w->arena, o->python->interpreter);
  enum assay_status status =
      w->interpreter ? sandbox_folder_make(o->temporary_dir, &w->folder, err) : error_nomem(err, "a worker");
  if (!status)
    status = spawn(w, o, err);
  if (status)
    python_worker_end(w);
  else
    *out = w;
  return status;
}

static bool fits(const struct python_worker *w, const struct python_worker_options *o) {
  char nothing;
  bool lives = recv(w->socket, &nothing, 1, MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  return lives && w->device_index == o->device_index && w->without_landlock == o->without_landlock &&
         strcmp(w->interpreter, o->python->interpreter) == 0;
}

// NULL: none waits.
static struct python_worker *take_waiting(struct python_standby *s) {
  struct python_worker *w = NULL;
  pthread_mutex_lock(&s->lock);
  if (s->n > 0) {
    w = s->waiting[0];
    memmove(s->waiting, s->waiting + 1, (size_t)--s->n * sizeof(struct python_worker *));
  }
  pthread_mutex_unlock(&s->lock);
  return w;
}

enum assay_status python_worker_start(struct python_standby *standby, const struct python_worker_options *o,
                                      struct python_worker **out, struct assay_error *err) {
  struct python_worker *w;
  while (standby && (w = take_waiting(standby))) {
    if (fits(w, o)) {
      *out = w;
      return ASSAY_OK;
    }
    python_worker_end(w);
  }
  return create(o, out, err);
}

const char *python_worker_folder(const struct python_worker *w) {
  return w->folder;
}

// A sealed file with the text, for it may be longer than a socket holds.
static int make_text_file(const struct buf *text) {
  int fd = memfd_create("assay-order", MFD_CLOEXEC);
  for (size_t done = 0; fd >= 0 && done < text->len;) {
    ssize_t n = write(fd, text->data + done, text->len - done);
    if (n < 0 && errno != EINTR) {
      close(fd);
      return -1;
    }
    done += n > 0 ? (size_t)n : 0;
  }
  return fd;
}

enum assay_status python_worker_order(struct python_worker *w, const struct buf *text, const int *fds, int n_fds,
                                      struct assay_error *err) {
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE((1 + PYTHON_WORKER_FDS) * sizeof(int))];
  } control = {0};
  int all[1 + PYTHON_WORKER_FDS] = {make_text_file(text)};
  char byte = 1;
  struct iovec data = {.iov_base = &byte, .iov_len = 1};
  if (all[0] < 0)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot write the Python worker's order: %s", strerror(errno));
  memcpy(all + 1, fds, (size_t)n_fds * sizeof *fds);
  size_t bytes = (1 + (size_t)n_fds) * sizeof *all;
  struct msghdr m = {
      .msg_iov = &data, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = CMSG_SPACE(bytes)};
  struct cmsghdr *c = CMSG_FIRSTHDR(&m);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(bytes);
  memcpy(CMSG_DATA(c), all, bytes);
  ssize_t n = sendmsg(w->socket, &m, MSG_NOSIGNAL);
  int e = errno;
  close(all[0]);
  // One that is gone has said why: python_worker_wait has its text, and what it was to write is as it was.
  if (n < 0 && e != EPIPE && e != ECONNRESET)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot send the Python worker its order: %s", strerror(e));
  return ASSAY_OK;
}

enum assay_status python_worker_wait(struct python_worker *w, int64_t deadline_ns, struct buf *text,
                                     struct sandbox_end *end, struct assay_error *err) {
  struct buf raw;
  buf_init(&raw);
  enum assay_status status = sandbox_wait(&w->child, deadline_ns, &raw, LOG_TEXT_BYTES, end, err);
  w->running = false;
  if (!status)
    diagnostics_clean(&raw, w->folder, NULL, text);
  buf_release(&raw);
  return status;
}

void python_worker_end(struct python_worker *w) {
  struct sandbox_end end;
  if (!w)
    return;
  if (w->running)
    sandbox_kill(&w->child, &end);
  if (w->socket >= 0)
    close(w->socket);
  if (w->folder)
    sandbox_folder_remove(w->folder);
  base_free(w->folder);
  arena_release(&w->arena);
  base_free(w);
}

void python_standby_fill(struct python_standby *s, const struct python_worker_options *o) {
  struct assay_error ignored = {0};
  pthread_mutex_lock(&s->lock);
  if (s->n < MOST_WAITING && create(o, &s->waiting[s->n], &ignored) == ASSAY_OK)
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
  struct python_worker *w;
  if (!s)
    return;
  while ((w = take_waiting(s)))
    python_worker_end(w);
  pthread_mutex_destroy(&s->lock);
  base_free(s);
}
