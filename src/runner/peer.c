// SPDX-License-Identifier: Apache-2.0
#include "runner/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LOG_BYTES = 64 << 10, MOST_READS = 64 };

void peer_sleep(_Atomic uint32_t *word, uint32_t value, int64_t ns) {
  struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
  syscall(SYS_futex, word, FUTEX_WAIT, value, &t, NULL, 0);
}

bool peer_ended(pid_t pid) {
  siginfo_t info = {0};
  return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
}

void peer_read_log(int output, struct buf *log) {
  char bytes[4096];
  ssize_t n = output >= 0;
  for (int i = 0; i < MOST_READS && n > 0; i++) {
    n = read(output, bytes, sizeof bytes);
    if (n > 0 && log->len + (size_t)n <= LOG_BYTES)
      buf_append(log, bytes, (size_t)n);
  }
}

enum assay_status peer_share(size_t bytes, void **page, int *fd, struct assay_error *err) {
  *fd = memfd_create("assay-control", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (*fd < 0 || ftruncate(*fd, (off_t)bytes) != 0 ||
      fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot make shared memory: %s", strerror(errno));
  void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
  if (map == MAP_FAILED)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot map shared memory: %s", strerror(errno));
  *page = map;
  return ASSAY_OK;
}
