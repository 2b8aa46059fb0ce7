// SPDX-License-Identifier: Apache-2.0
// The order, as the judge sends it (lift_worker.h): one byte, a file with the text, and the descriptors of all
// workloads.
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "toolchain/vendor/vendor.h"

enum { ORDER_FD = 3, MOST_FDS = sizeof((struct vendor_order *)0)->fds / sizeof(int) };

static enum assay_status read_text(int fd, json_t **out, struct assay_error *err) {
  json_error_t why;
  if (lseek(fd, 0, SEEK_SET) != 0)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "the order cannot be read: %s", strerror(errno));
  *out = json_loadfd(fd, 0, &why);
  if (!*out)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "the order is not JSON: %s", why.text);
  return ASSAY_OK;
}

enum assay_status vendor_order_receive(struct vendor_order *out, bool *wanted, struct assay_error *err) {
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE(MOST_FDS * sizeof(int))];
  } control;
  char byte;
  struct iovec data = {.iov_base = &byte, .iov_len = 1};
  struct msghdr m = {
      .msg_iov = &data, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
  ssize_t n;
  memset(out, 0, sizeof *out);
  do
    n = recvmsg(ORDER_FD, &m, MSG_CMSG_CLOEXEC);
  while (n < 0 && errno == EINTR);
  if (n < 0)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "no order comes: %s", strerror(errno));
  const struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
  *wanted = c != NULL;
  if (!c)
    return ASSAY_OK;
  int fds[MOST_FDS], count = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof *fds);
  memcpy(fds, CMSG_DATA(c), (size_t)count * sizeof *fds);
  memcpy(out->fds, fds + 1, (size_t)(count - 1) * sizeof *fds);
  out->n_fds = count - 1;
  enum assay_status status = read_text(fds[0], &out->text, err);
  close(fds[0]);
  size_t workloads = json_array_size(json_object_get(out->text, "workloads"));
  if (!status && (size_t)out->n_fds != 4 * workloads)
    status = error_set(err, ASSAY_ERR_ENVIRONMENT,
                       "the order has %d descriptors for %zu workloads: assay and "
                       "assay-library differ",
                       out->n_fds, workloads);
  return status;
}
