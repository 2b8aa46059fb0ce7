// SPDX-License-Identifier: Apache-2.0
// Starting a builder, and asking it to compile.
#include "toolchain/builder/builder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/build_id.h"
#include "base/clock.h"
#include "base/limit.h"
#include "sandbox/sandbox.h"

enum {
  HELLO_MS = 30000,       // to load a library of 100 MB from a slow disk
  END_MS = 10000,         // after the deadline: the server ends its children, this ends the waiting for the server
  SERVER_PROCESSES = 256, // threads of all its children
};
#define SERVER_FILE_BYTES ((size_t)1 << 30)

struct builder {
  struct sandbox_child child;
  int socket;
  char *folder; // made by us, or NULL
};

struct builder_job {
  int reply_fd, end_fd;
  int n_kernels;
  int64_t start_ns, deadline_ns;
};

static void close_fd(int *fd) {
  if (*fd >= 0)
    close(*fd);
  *fd = -1;
}

// ---- starting

// Where NVRTC and its headers are when they are not below /usr, which a builder may read anyway.
static const char *const *read_paths(const struct assay_paths *p, struct arena *a) {
  enum { MOST = 12 };
  const char **paths = arena_calloc(a, MOST, sizeof *paths);
  char real[PATH_MAX];
  int n = 0;
  if (!paths)
    return NULL;
  if (p->nvrtc && realpath(p->nvrtc, real)) {
    char *slash = strrchr(real, '/');
    *slash = '\0';
    paths[n++] = arena_strdup(a, real);
  }
  if (realpath("/usr/local/cuda/lib64", real))
    paths[n++] = arena_strdup(a, real);
  const char *const *include = builder_include_dirs(p->nvrtc, a);
  for (int i = 0; include && include[i] && n < MOST - 4; i++)
    paths[n++] = include[i];
  // What an OpenCL implementation reads to know itself and the machine.
  paths[n++] = "/etc/OpenCL";
  paths[n++] = "/sys/devices/system";
  paths[n++] = "/proc/cpuinfo";
  return paths;
}

static enum assay_status hear_hello(struct builder *b, struct assay_error *err) {
  struct builder_hello hello = {0};
  struct pollfd p = {.fd = b->socket, .events = POLLIN};
  int64_t deadline = clock_monotonic_ns() + HELLO_MS * INT64_C(1000000);
  ssize_t n = -1;
  for (int64_t left; (left = deadline - clock_monotonic_ns()) > 0 && n < 0;) {
    if (poll(&p, 1, (int)(left / 1000000) + 1) > 0)
      n = recv(b->socket, &hello, sizeof hello, 0);
    if (n < 0 && errno != EINTR && errno != EAGAIN)
      break;
  }
  if (n != (ssize_t)sizeof hello || hello.magic != BUILDER_MAGIC)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "the builder (assay-builder) does not start%s",
                     n == 0 ? ": it has ended; is it of the same build as assay?" : "");
  hello.text[sizeof hello.text - 1] = '\0';
  return hello.status == ASSAY_OK ? ASSAY_OK : error_set(err, ASSAY_ERR_ENVIRONMENT, "%s", hello.text);
}

static enum assay_status spawn(struct builder *b, const struct assay_paths *p, const struct builder_start *how,
                               int theirs, struct arena *a, struct assay_error *err) {
  static const char *const kinds[] = {"warm", "cold", "opencl"};
  const char *folder = how->folder ? how->folder : b->folder;
  char *argv[] = {(char *)p->builder, (char *)kinds[how->kind], (char *)(p->nvrtc ? p->nvrtc : ""), (char *)build_id,
                  NULL};
  char *envp[] = {"LC_ALL=C",
                  arena_printf(a, "TMPDIR=%s", folder),
                  arena_printf(a, "HOME=%s", folder),
                  arena_printf(a, "POCL_CACHE_DIR=%s", folder),
                  "PATH=/usr/bin:/bin",
                  NULL};
  struct sandbox_policy policy = {.role = SANDBOX_BUILDER,
                                  .folder = folder,
                                  .read_paths = read_paths(p, a),
                                  .file_bytes = how->file_bytes ? how->file_bytes : SERVER_FILE_BYTES,
                                  .processes = SERVER_PROCESSES};
  if (!envp[1] || !envp[2] || !envp[3] || !policy.read_paths)
    return error_nomem(err, "a builder");
  return sandbox_spawn(&policy, argv, envp, &theirs, 1, &b->child, err);
}

enum assay_status builder_spawn(const struct assay_paths *p, const struct builder_start *how, struct builder **out,
                                struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  struct arena arena = {0};
  int pair[2] = {-1, -1};
  struct builder *b = base_calloc(1, sizeof *b);
  if (!b)
    return error_nomem(err, "a builder");
  b->socket = b->child.pidfd = b->child.output = -1;
  if (!how->folder)
    status = sandbox_folder_make(p->temporary, &b->folder, err);
  if (status == ASSAY_OK && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    status = error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot make a socket for the builder: %s", strerror(errno));
  b->socket = pair[0];
  if (status == ASSAY_OK)
    status = spawn(b, p, how, pair[1], &arena, err);
  close_fd(&pair[1]);
  if (status == ASSAY_OK)
    status = hear_hello(b, err);
  arena_release(&arena);
  if (status == ASSAY_OK)
    *out = b;
  else
    builder_close(b);
  return status;
}

enum assay_status builder_open(const struct assay_paths *p, struct builder **out, struct assay_error *err) {
  const struct builder_start how = {.kind = BUILDER_WARM};
  return builder_spawn(p, &how, out, err);
}

void builder_close(struct builder *b) {
  if (!b)
    return;
  close_fd(&b->socket);
  sandbox_kill(&b->child, NULL);
  if (b->folder)
    sandbox_folder_remove(b->folder);
  base_free(b->folder);
  base_free(b);
}

// ---- asking

static enum assay_status memory_file(const char *name, const struct buf *content, int *fd, struct assay_error *err) {
  int made = memfd_create(name, MFD_CLOEXEC);
  int e = made < 0 ? errno : 0;
  for (size_t done = 0; content && !e && done < content->len;) {
    ssize_t n = write(made, content->data + done, content->len - done);
    if (n < 0 && errno != EINTR)
      e = errno;
    done += n > 0 ? (size_t)n : 0;
  }
  if (e) {
    close_fd(&made);
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot make memory to share with the builder: %s", strerror(e));
  }
  *fd = made;
  return ASSAY_OK;
}

static enum assay_status send_order(const struct builder *b, const struct builder_order *o, const int fds[3],
                                    struct assay_error *err) {
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE(3 * sizeof(int))];
  } control = {0};
  struct iovec data = {.iov_base = (void *)o, .iov_len = sizeof *o};
  struct msghdr m = {
      .msg_iov = &data, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
  struct cmsghdr *c = CMSG_FIRSTHDR(&m);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(3 * sizeof(int));
  memcpy(CMSG_DATA(c), fds, 3 * sizeof(int));
  ssize_t n;
  do
    n = sendmsg(b->socket, &m, MSG_NOSIGNAL);
  while (n < 0 && errno == EINTR);
  if (n == (ssize_t)sizeof *o)
    return ASSAY_OK;
  return error_set(err, ASSAY_ERR_ENVIRONMENT, "the builder is gone: %s", strerror(errno));
}

enum assay_status builder_submit(struct builder *b, const struct builder_request *r, const struct builder_limits *l,
                                 struct builder_job **out, struct assay_error *err) {
  struct buf request;
  int request_fd = -1, ends[2] = {-1, -1};
  const int64_t start_ns = clock_monotonic_ns();
  struct builder_order order = {.magic = BUILDER_MAGIC,
                                .memory_bytes = l->memory_bytes,
                                .file_bytes = l->file_bytes,
                                .limit_ns = l->deadline_ns - start_ns,
                                .cpu_seconds = l->cpu_seconds};
  struct builder_job *j = base_calloc(1, sizeof *j);
  if (!j)
    return error_nomem(err, "a build");
  *j = (struct builder_job){.reply_fd = -1, .end_fd = -1, .n_kernels = r->n_kernels, .deadline_ns = l->deadline_ns};
  j->start_ns = start_ns;
  buf_init(&request);
  builder_request_write(r, &request);
  enum assay_status status = buf_status(&request, err);
  if (status == ASSAY_OK)
    status = memory_file("assay-request", &request, &request_fd, err);
  if (status == ASSAY_OK)
    status = memory_file("assay-reply", NULL, &j->reply_fd, err);
  if (status == ASSAY_OK && pipe2(ends, O_CLOEXEC) != 0)
    status = error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot make a pipe for the builder: %s", strerror(errno));
  if (status == ASSAY_OK)
    status = send_order(b, &order, (int[]){request_fd, j->reply_fd, ends[1]}, err);
  j->end_fd = ends[0];
  close_fd(&ends[1]);
  close_fd(&request_fd);
  buf_release(&request);
  if (status == ASSAY_OK)
    *out = j;
  else
    builder_job_cancel(j);
  return status;
}

void builder_job_cancel(struct builder_job *j) {
  if (!j)
    return;
  close_fd(&j->end_fd); // the server sees that nobody waits, and ends the child
  close_fd(&j->reply_fd);
  base_free(j);
}

// ---- what came of it

static enum assay_status wait_for_end(const struct builder_job *j, struct builder_end *end, struct assay_error *err) {
  const int64_t patience = limit_last_ns(j->start_ns, j->deadline_ns - j->start_ns) + END_MS * INT64_C(1000000);
  struct pollfd p = {.fd = j->end_fd, .events = POLLIN};
  for (int64_t left; (left = patience - clock_monotonic_ns()) > 0;) {
    int64_t ms = left / 1000000 + 1;
    if (poll(&p, 1, ms > 60000 ? 60000 : (int)ms) <= 0)
      continue;
    ssize_t n = read(j->end_fd, end, sizeof *end);
    if (n < 0 && errno == EINTR)
      continue;
    if (n != (ssize_t)sizeof *end || end->magic != BUILDER_MAGIC)
      return error_set(err, ASSAY_ERR_ENVIRONMENT, "the builder ended in the middle of a build: is memory short?");
    return ASSAY_OK;
  }
  return error_set(err, ASSAY_ERR_ENVIRONMENT, "the builder does not answer");
}

// The child is gone, so nobody changes the reply any more.
static enum assay_status take_reply(const struct builder_job *j, struct arena *arena, struct builder_reply *out,
                                    struct assay_error *err) {
  struct stat st;
  if (fstat(j->reply_fd, &st) != 0 || st.st_size <= 0 || (uint64_t)st.st_size > BUILDER_MAX_REPLY)
    return error_set(err, ASSAY_ERR_PROTOCOL, "the builder's reply has no sensible size");
  size_t n = (size_t)st.st_size, done = 0;
  uint8_t *bytes = arena_alloc(arena, n);
  if (!bytes)
    return error_nomem(err, "a builder's reply");
  while (done < n) {
    ssize_t got = pread(j->reply_fd, bytes + done, n - done, (off_t)done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return error_set(err, ASSAY_ERR_PROTOCOL, "the builder's reply cannot be read");
    done += (size_t)got;
  }
  return builder_reply_read(bytes, n, j->n_kernels, arena, out, err);
}

// A child that did not finish.
static void explain_end(const struct builder_job *j, const struct builder_end *end, struct arena *a,
                        struct builder_found *out) {
  const double seconds = (double)(j->deadline_ns - j->start_ns) * 1e-9;
  if (end->deadline || end->signal == SIGXCPU) {
    out->outcome = BUILD_TIMED_OUT;
    out->diagnostics = arena_printf(a, "the compiler was not done after %.0f s", seconds);
  } else if (end->signal == SIGKILL || end->signal == SIGXFSZ || end->signal == SIGABRT) {
    out->outcome = BUILD_HIT_LIMIT; // NVRTC calls abort() when memory is exhausted
    out->diagnostics =
        end->signal == SIGXFSZ ? "the compiler wrote more than it may" : "the compiler ran out of memory";
  } else {
    out->outcome = BUILD_REJECTED;
    out->diagnostics = end->signal == SIGSYS
                           ? "the compiler was ended: it tried what a compiler need not do (a system call)"
                           : arena_printf(a, "the compiler crashed on this source (%s)",
                                          end->signal ? strsignal(end->signal) : "it exited");
  }
}

static enum assay_status judge_end(const struct builder_job *j, const struct builder_end *end, struct arena *arena,
                                   struct builder_found *out, struct assay_error *err) {
  struct assay_error why = {0};
  out->version = "";
  out->elapsed_ns = end->end_ns - end->start_ns;
  out->cpu_ns = end->cpu_ns;
  if (end->signal || end->deadline || end->code != 0) {
    explain_end(j, end, arena, out);
    return out->diagnostics ? ASSAY_OK : error_nomem(err, "a build");
  }
  enum assay_status status = take_reply(j, arena, &out->reply, &why);
  if (status == ASSAY_ERR_PROTOCOL) {
    out->outcome = BUILD_REJECTED;
    out->diagnostics = arena_strdup(arena, why.message);
    return out->diagnostics ? ASSAY_OK : error_nomem(err, "a build");
  }
  if (status != ASSAY_OK)
    return error_set(err, status, "%s", why.message);
  if (out->reply.outcome == BUILDER_FAILED)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "%s", out->reply.log);
  out->version = out->reply.version;
  out->diagnostics = out->reply.log;
  out->outcome = out->reply.outcome == BUILDER_COMPILED        ? BUILD_OK
                 : out->reply.outcome == BUILDER_OUT_OF_MEMORY ? BUILD_HIT_LIMIT
                                                               : BUILD_REJECTED;
  return ASSAY_OK;
}

enum assay_status builder_collect(struct builder_job *j, struct arena *arena, struct builder_found *out,
                                  struct assay_error *err) {
  struct builder_end end = {0};
  struct builder_found found = {0};
  enum assay_status status = wait_for_end(j, &end, err);
  if (status == ASSAY_OK)
    status = judge_end(j, &end, arena, &found, err);
  if (status == ASSAY_OK)
    *out = found;
  builder_job_cancel(j);
  return status;
}
