#include "toolchain/python_worker.h"

#include <errno.h>
#include <glob.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/build_id.h"
#include "base/clock.h"
#include "base/parallel.h"
#include "toolchain/cc.h"

enum { LOG_TEXT_BYTES = 64 << 10, MAX_PROCESSES = 512, MOST_WAITING = 4 };
// Importing PyTorch keeps a processor busy for seconds, and a judgement takes less: one waits for each so many.
enum { CPUS_A_WAITING = 4 };

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

// The interpreter's, and what the device's driver and compilers need.
static const char *const *make_read_paths(const struct python_place *p, struct arena *a) {
  const char *const own[] = {p->script, p->lift, "/proc", "/sys", "/opt", "/etc/nvidia"};
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

static enum assay_status spawn(struct python_worker *w, const struct python_worker_options *o,
                               struct assay_error *err) {
  char *const *argv = make_arguments(o->python, &w->arena);
  char *const *envp = make_environment(o, w->folder, &w->arena);
  const char *const *read_paths = make_read_paths(o->python, &w->arena);
  int pair[2];
  glob_t files = {0};
  if (!argv || !envp || !read_paths)
    return error_nomem(err, "a worker's start");
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot make a socket for the Python worker: %s", strerror(errno));
  (void)glob("/dev/nvidia*", GLOB_NOSORT, NULL, &files);
  const struct sandbox_policy policy = {.role = SANDBOX_DEVICE,
                                        .folder = w->folder,
                                        .read_paths = read_paths,
                                        .device_paths = (const char *const *)files.gl_pathv,
                                        .without_landlock = o->without_landlock,
                                        .file_bytes = (size_t)1 << 32,
                                        .processes = MAX_PROCESSES};
  enum assay_status status = sandbox_spawn(&policy, argv, envp, &pair[1], 1, &w->child, err);
  w->running = status == ASSAY_OK;
  w->socket = pair[0];
  close(pair[1]);
  globfree(&files);
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
  struct python_worker *w;
  if (!s)
    return;
  while ((w = take_waiting(s)))
    python_worker_end(w);
  pthread_mutex_destroy(&s->lock);
  base_free(s);
}
