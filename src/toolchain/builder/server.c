// SPDX-License-Identifier: Apache-2.0
// The builder's own process: it takes orders, forks a child for each, and reports how the child ended. It never looks
// at a source itself, so that the next child starts clean.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <limits.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limit.h"
#include "compute/nvrtc.h"
#include "sandbox/sandbox.h"
#include "toolchain/builder/builder.h"

enum { MAX_CHILDREN = 64, POLL_MS = 5, CHILD_FILES = 64 };

struct child {
  pid_t pid;
  int pidfd, end_fd;
  int64_t start_ns, limit_ns, look_ns; // look_ns: its time is not up before
};

struct server {
  enum builder_kind kind;
  const char *nvrtc_path; // NULL: searched
  struct nvrtc *nvrtc;    // NULL for OpenCL
  char version[64];
  int n;
  struct child children[MAX_CHILDREN];
};

// ---- the child

static int set_limit(int resource, uint64_t soft, uint64_t hard) {
  const struct rlimit r = {soft, hard};
  return setrlimit((__rlimit_resource_t)resource, &r);
}

// AddressSanitizer reserves terabytes of addresses.
#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ASAN 1
#endif
#endif
#ifndef UNDER_ASAN
#define UNDER_ASAN 0
#endif

static bool set_limits(const struct builder_order *o) {
  uint64_t cpu = (uint64_t)(o->cpu_seconds > 0 ? o->cpu_seconds : 1);
  int bad = set_limit(RLIMIT_CPU, cpu, cpu + 1) | set_limit(RLIMIT_NOFILE, CHILD_FILES, CHILD_FILES);
  if (o->file_bytes)
    bad |= set_limit(RLIMIT_FSIZE, o->file_bytes, o->file_bytes);
  if (o->memory_bytes && !UNDER_ASAN)
    bad |= set_limit(RLIMIT_AS, o->memory_bytes, o->memory_bytes);
  return bad == 0;
}

// From here on: reading the compiler's own files, computing, and writing the reply, which is descriptor 1 because the
// filter lets that one be written.
static enum assay_status lock(const struct server *s, int reply_fd, struct assay_error *err) {
  struct arena arena = {0};
  char real[PATH_MAX];
  const char *library = builder_library(s->nvrtc, real);
  const char *const *dirs = builder_include_dirs(library, &arena);
  const char *paths[8] = {NULL};
  int n = 0;
  if (library) { // its companion is in the same folder
    *strrchr(real, '/') = '\0';
    paths[n++] = real;
  }
  for (int i = 0; dirs && dirs[i]; i++)
    paths[n++] = dirs[i];
  if (dup2(reply_fd, STDOUT_FILENO) < 0 || dup2(STDIN_FILENO, STDERR_FILENO) < 0)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot arrange descriptors");
  if (syscall(SYS_close_range, 3u, ~0u, 0) != 0)
    for (int fd = 3; fd < CHILD_FILES * 4; fd++)
      close(fd);
  enum assay_status status = sandbox_lock_files(paths, err);
  if (status == ASSAY_OK)
    status = sandbox_lock_runner(false, err);
  arena_release(&arena);
  return status;
}

static bool write_all(int fd, const struct buf *b) {
  for (size_t done = 0; done < b->len;) {
    ssize_t n = write(fd, b->data + done, b->len - done);
    if (n < 0 && errno != EINTR)
      return false;
    done += n > 0 ? (size_t)n : 0;
  }
  return true;
}

static void reply_failure(const char *message, struct buf *reply) {
  const struct builder_reply r = {
      .outcome = BUILDER_FAILED, .log = message, .version = "", .code = (const uint8_t *)""};
  builder_reply_write(&r, reply);
}

// The request's bytes stay mapped; the descriptor may be closed.
static enum assay_status map_request(int fd, struct arena *a, struct builder_request *out, struct assay_error *err) {
  struct stat st;
  void *bytes = MAP_FAILED;
  if (fstat(fd, &st) == 0 && st.st_size > 0)
    bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (bytes == MAP_FAILED)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot read the request");
  return builder_request_read(bytes, (size_t)st.st_size, a, out, err);
}

// The child's whole life; its exit code.
static int compile(const struct server *s, const struct builder_order *o, int request_fd, int reply_fd) {
  struct arena arena = {0};
  struct assay_error err = {0};
  struct builder_request request = {0};
  struct buf reply;
  int out = STDOUT_FILENO;
  buf_init(&reply);
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  enum assay_status status = map_request(request_fd, &arena, &request, &err);
  if (status == ASSAY_OK && !set_limits(o))
    status = error_set(&err, ASSAY_ERR_ENVIRONMENT, "cannot set the limits of a build: %s", strerror(errno));
  if (status == ASSAY_OK && s->kind != BUILDER_FOR_OPENCL)
    status = lock(s, reply_fd, &err);
  else
    out = reply_fd; // an OpenCL implementation writes files and runs the linker: it is locked by its server's policy
  if (status != ASSAY_OK)
    reply_failure(err.message, &reply);
  else if (request.language == BUILDER_OPENCL)
    builder_compile_opencl(&request, &reply);
  else if (s->nvrtc)
    builder_compile_cuda(s->nvrtc, &request, &reply);
  else
    reply_failure("this builder is for OpenCL", &reply);
  return !reply.failed && write_all(out, &reply) ? 0 : 1;
}

// ---- orders

struct received {
  struct builder_order order;
  int fds[3];
};

// 1: an order; 0: something that is not one; -1: the other end is closed.
static int receive(struct received *r) {
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE(3 * sizeof(int))];
  } control = {0};
  struct iovec data = {.iov_base = &r->order, .iov_len = sizeof r->order};
  struct msghdr m = {
      .msg_iov = &data, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
  ssize_t n = recvmsg(BUILDER_FD, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
    return -1;
  struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
  if (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(3 * sizeof(int)))
    return 0;
  memcpy(r->fds, CMSG_DATA(c), 3 * sizeof(int));
  return n == (ssize_t)sizeof r->order && r->order.magic == BUILDER_MAGIC ? 1 : 0;
}

static void begin(struct server *s, const struct received *r) {
  struct child *c = &s->children[s->n];
  *c = (struct child){.pidfd = -1, .end_fd = r->fds[2], .limit_ns = r->order.limit_ns};
  c->start_ns = clock_monotonic_ns();
  c->look_ns = c->start_ns + c->limit_ns;
  c->pid = fork();
  if (c->pid == 0)
    _exit(compile(s, &r->order, r->fds[0], r->fds[1]));
  close(r->fds[0]);
  close(r->fds[1]);
  if (c->pid < 0) {
    close(c->end_fd); // the judge sees the end of the pipe
    return;
  }
  c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
  if (c->pidfd >= 0)
    fcntl(c->pidfd, F_SETFD, FD_CLOEXEC);
  s->n++;
}

// ---- ends

static int64_t timeval_ns(struct timeval t) {
  return (int64_t)t.tv_sec * 1000000000 + (int64_t)t.tv_usec * 1000;
}

// Whether a child's time is up. A compiler computes: what counts, once the limit is over, is its processor time, so
// that a busy machine does not end it; but LIMIT_MOST limits are the most.
static bool is_late(struct child *c) {
  struct timespec used = {0};
  clockid_t id;
  int64_t now = clock_monotonic_ns(), last = limit_last_ns(c->start_ns, c->limit_ns), left = c->limit_ns;
  if (now < c->look_ns)
    return false;
  if (clock_getcpuclockid(c->pid, &id) == 0 && clock_gettime(id, &used) == 0)
    left -= (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
  c->look_ns = now + (left > POLL_MS * INT64_C(1000000) ? left : POLL_MS * INT64_C(1000000));
  c->look_ns = c->look_ns < last ? c->look_ns : last;
  return left <= 0 || now >= last;
}

// Collects a child that has ended, or ends one that has to; false while it is at work.
static bool settle(struct child *c, bool abandoned) {
  int status = 0;
  struct rusage use = {0};
  bool late = is_late(c);
  pid_t got = wait4(c->pid, &status, WNOHANG, &use);
  if (got == 0 && !late && !abandoned)
    return false;
  bool killed = got == 0;
  if (killed) {
    kill(c->pid, SIGKILL);
    while ((got = wait4(c->pid, &status, 0, &use)) < 0 && errno == EINTR)
      ;
  }
  const struct builder_end end = {.magic = BUILDER_MAGIC,
                                  .code = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
                                  .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
                                  .deadline = killed && late,
                                  .start_ns = c->start_ns,
                                  .end_ns = clock_monotonic_ns(),
                                  .cpu_ns = timeval_ns(use.ru_utime) + timeval_ns(use.ru_stime)};
  ssize_t n = write(c->end_fd, &end, sizeof end);
  (void)n; // nobody may be waiting
  close(c->end_fd);
  if (c->pidfd >= 0)
    close(c->pidfd);
  return true;
}

static int timeout_ms(const struct server *s) {
  int64_t least = INT64_MAX, now = clock_monotonic_ns();
  bool blind = false;
  for (int i = 0; i < s->n; i++) {
    least = s->children[i].look_ns < least ? s->children[i].look_ns : least;
    blind |= s->children[i].pidfd < 0;
  }
  if (s->n == 0)
    return -1;
  int64_t ms = least <= now ? 0 : (least - now) / 1000000 + 1;
  return blind ? POLL_MS : ms > 60000 ? 60000 : (int)ms;
}

static int serve(struct server *s) {
  struct pollfd p[1 + 2 * MAX_CHILDREN];
  for (;;) {
    p[0] = (struct pollfd){.fd = s->n < MAX_CHILDREN ? BUILDER_FD : -1, .events = POLLIN};
    for (int i = 0; i < s->n; i++) {
      p[1 + 2 * i] = (struct pollfd){.fd = s->children[i].pidfd, .events = POLLIN};
      p[2 + 2 * i] = (struct pollfd){.fd = s->children[i].end_fd}; // POLLERR: the judge waits no longer
    }
    if (poll(p, 1 + 2 * (nfds_t)s->n, timeout_ms(s)) < 0 && errno != EINTR)
      return 1;
    // From the last: the one that takes a gone one's place has been looked at.
    for (int i = s->n - 1; i >= 0; i--)
      if (settle(&s->children[i], p[2 + 2 * i].revents & POLLERR))
        s->children[i] = s->children[--s->n];
    if (p[0].revents) {
      struct received r;
      int got = receive(&r);
      if (got < 0)
        return 0;
      if (got > 0)
        begin(s, &r);
    }
  }
}

// ---- start

static enum assay_status load(struct server *s, struct assay_error *err) {
  int major, minor;
  if (s->kind == BUILDER_FOR_OPENCL)
    return ASSAY_OK;
  enum assay_status status = nvrtc_open(s->nvrtc_path, &s->nvrtc, err);
  if (status == ASSAY_OK) {
    nvrtc_version(s->nvrtc, &major, &minor);
    snprintf(s->version, sizeof s->version, "NVRTC %d.%d", major, minor);
  }
  return status;
}

// The first compilation loads NVRTC's companion and fills its tables; children that are forked later have both.
static void warm_up(const struct server *s) {
  int count;
  const int *architectures = nvrtc_architectures(s->nvrtc, &count);
  char target[48];
  snprintf(target, sizeof target, "--gpu-architecture=sm_%d",
           nvrtc_supports(s->nvrtc, 90) ? 90
           : count                      ? architectures[0]
                                        : 75);
  const char *const options[] = {target, NULL};
  const struct nvrtc_request r = {.source = "extern \"C\" __global__ void warm(float *x) { x[threadIdx.x] *= 2; }\n",
                                  .name = "warm.cu",
                                  .options = options};
  struct nvrtc_result result = {0};
  (void)nvrtc_compile(s->nvrtc, &r, &result, NULL); // without it the first build is slower, no more
  nvrtc_result_release(&result);
}

int builder_serve(enum builder_kind kind, const char *library) {
  struct server s = {.kind = kind, .nvrtc_path = library};
  struct assay_error err = {0};
  struct builder_hello hello = {.magic = BUILDER_MAGIC};
  fcntl(BUILDER_FD, F_SETFD, FD_CLOEXEC);
  signal(SIGPIPE, SIG_IGN);
  enum assay_status status = load(&s, &err);
  hello.status = status;
  snprintf(hello.text, sizeof hello.text, "%.500s", status == ASSAY_OK ? s.version : err.message);
  if (send(BUILDER_FD, &hello, sizeof hello, MSG_NOSIGNAL) != (ssize_t)sizeof hello || status != ASSAY_OK)
    return 1;
  if (kind == BUILDER_WARM)
    warm_up(&s);
  int code = serve(&s);
  nvrtc_close(s.nvrtc);
  return code;
}
