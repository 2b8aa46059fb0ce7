// SPDX-License-Identifier: Apache-2.0
#include "toolchain/lift_worker.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "sandbox/gpu_process.h"
#include "toolchain/cc.h"

enum { LOG_TEXT_BYTES = 64 << 10 };

struct lift_worker {
  struct arena arena;
  char *folder; // its own
  int socket;
  struct sandbox_child child;
  bool running;
  bool roused; // and not known to be up
};

enum assay_status lift_worker_create(const char *temporary_dir, struct lift_worker **out, struct assay_error *err) {
  struct lift_worker *w = base_calloc(1, sizeof *w);
  if (!w)
    return error_nomem(err, "a worker");
  w->socket = -1;
  enum assay_status status = sandbox_folder_make(temporary_dir, &w->folder, err);
  if (status)
    base_free(w);
  else
    *out = w;
  return status;
}

enum assay_status lift_worker_spawn(struct lift_worker *w, const struct lift_command *c, struct assay_error *err) {
  const struct gpu_process process = {.argv = c->argv,
                                      .envp = c->envp,
                                      .folder = w->folder,
                                      .read_paths = c->read_paths,
                                      .without_landlock = c->without_landlock};
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot make a socket for a worker: %s", strerror(errno));
  enum assay_status status = gpu_process_spawn(&process, pair[1], &w->child, err);
  w->running = status == ASSAY_OK;
  w->socket = pair[0];
  close(pair[1]);
  return status;
}

struct arena *lift_worker_arena(struct lift_worker *w) {
  return &w->arena;
}

bool lift_worker_waits(struct lift_worker *w) {
  char said;
  ssize_t n = recv(w->socket, &said, 1, MSG_DONTWAIT);
  if (n > 0 && w->roused) {
    w->roused = false;
    n = recv(w->socket, &said, 1, MSG_DONTWAIT);
  }
  return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

void lift_worker_rouse(struct lift_worker *w) {
  const char byte = 1;
  w->roused = w->roused || send(w->socket, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

void lift_worker_settle(struct lift_worker *w, int64_t most_ns) {
  struct pollfd p = {.fd = w->socket, .events = POLLIN};
  if (w->roused && poll(&p, 1, (int)(most_ns / 1000000)) == 1)
    (void)lift_worker_waits(w);
}

const char *lift_worker_folder(const struct lift_worker *w) {
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

enum assay_status lift_worker_order(struct lift_worker *w, const struct buf *text, const int *fds, int n_fds,
                                    struct assay_error *err) {
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE((1 + LIFT_WORKER_FDS) * sizeof(int))];
  } control = {0};
  int all[1 + LIFT_WORKER_FDS] = {make_text_file(text)};
  char byte = 1;
  struct iovec data = {.iov_base = &byte, .iov_len = 1};
  if (all[0] < 0)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot write a worker's order: %s", strerror(errno));
  if (n_fds > 0)
    memcpy(all + 1, fds, (size_t)n_fds * sizeof *fds);
  size_t bytes = (1 + (size_t)n_fds) * sizeof *all;
  struct msghdr m = {
      .msg_iov = &data, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = CMSG_SPACE(bytes)};
  struct cmsghdr *c = CMSG_FIRSTHDR(&m);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(bytes);
  memcpy(CMSG_DATA(c), all, bytes);
  ssize_t n;
  do
    n = sendmsg(w->socket, &m, MSG_NOSIGNAL);
  while (n < 0 && errno == EINTR);
  int e = errno;
  close(all[0]);
  // One that is gone has said why: lift_worker_wait has its text, and what it was to write is as it was.
  if (n < 0 && e != EPIPE && e != ECONNRESET)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot send a worker its order: %s", strerror(e));
  return ASSAY_OK;
}

enum assay_status lift_worker_wait(struct lift_worker *w, const struct sandbox_pauses *pauses, int64_t deadline_ns,
                                   struct buf *text, struct sandbox_end *end, struct assay_error *err) {
  struct buf raw;
  buf_init(&raw);
  w->child.pauses = pauses;
  enum assay_status status = sandbox_wait(&w->child, deadline_ns, &raw, LOG_TEXT_BYTES, end, err);
  w->running = false;
  if (!status)
    diagnostics_clean(&raw, w->folder, NULL, text);
  buf_release(&raw);
  return status;
}

void lift_worker_end(struct lift_worker *w) {
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
