// SPDX-License-Identifier: Apache-2.0
// Messages with descriptors.
#include "base/channel.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

// Room for descriptors, aligned as its header requires.
union control {
  struct cmsghdr header;
  char space[CMSG_SPACE(sizeof(int) * CHANNEL_MAX_FDS)];
};

int channel_send(int fd, int flags, const void *message, size_t bytes, const int *fds, int n_fds) {
  union control control = {0};
  struct iovec io = {(void *)(uintptr_t)message, bytes};
  struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1};
  ssize_t n;
  assert(n_fds <= CHANNEL_MAX_FDS);
  if (n_fds > 0) {
    m.msg_control = control.space;
    m.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)n_fds);
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)n_fds);
    memcpy(CMSG_DATA(c), fds, sizeof(int) * (size_t)n_fds);
  }
  do
    n = sendmsg(fd, &m, flags | MSG_NOSIGNAL);
  while (n < 0 && errno == EINTR);
  return n < 0 ? errno : 0;
}

bool channel_is_deaf(int error) {
  return error == EPIPE || error == ECONNRESET || error == EAGAIN;
}

ssize_t channel_receive(int fd, int flags, void *message, size_t bytes, int *fds, int max_fds, int *n_fds) {
  union control control = {0};
  struct iovec io = {message, bytes};
  // CMSG_LEN, not CMSG_SPACE: into the padding of the latter one descriptor too many would fit.
  struct msghdr m = {.msg_iov = &io,
                     .msg_iovlen = 1,
                     .msg_control = control.space,
                     .msg_controllen = CMSG_LEN(sizeof(int) * (size_t)max_fds)};
  ssize_t n;
  assert(max_fds <= CHANNEL_MAX_FDS);
  *n_fds = 0;
  do
    n = recvmsg(fd, &m, flags | MSG_CMSG_CLOEXEC);
  while (n < 0 && errno == EINTR);
  for (struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL; c; c = CMSG_NXTHDR(&m, c))
    if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
      *n_fds = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
      memcpy(fds, CMSG_DATA(c), sizeof(int) * (size_t)*n_fds);
    }
  return n;
}
