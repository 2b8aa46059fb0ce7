// SPDX-License-Identifier: Apache-2.0
#include "device/turn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"

enum { POLL_NS = 2000000 };

struct turn {
  // Whoever wants a turn holds the gate until it has it: so one that waits to be alone is not overtaken.
  int gate, lock;
  enum turn_kind held;
};

// A file of another user in a folder with the sticky bit may not be opened with O_CREAT, and one of ours must be open
// to all of them whatever the umask is.
static int open_shared(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd >= 0 || errno != ENOENT)
    return fd;
  fd = open(path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd >= 0)
    (void)fchmod(fd, 0644);
  return fd >= 0 || errno != EEXIST ? fd : open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

static int open_file(const char *folder, const char *device, const char *what) {
  char path[512];
  int n = snprintf(path, sizeof path, "%s/assay-%s.%s", folder, device, what);
  return n < (int)sizeof path ? open_shared(path) : -1;
}

enum assay_status turn_open(const char *folder, const char *device, struct turn **out, struct assay_error *err) {
  struct turn *t = base_calloc(1, sizeof *t);
  if (!t)
    return error_nomem(err, "turns on a device");
  folder = folder ? folder : "/tmp";
  t->gate = strchr(device, '/') ? -1 : open_file(folder, device, "gate");
  t->lock = t->gate < 0 ? -1 : open_file(folder, device, "turn");
  *out = t;
  return ASSAY_OK;
}

static bool wait_for(int fd, int how, int64_t end_ns) {
  const struct timespec pause = {0, POLL_NS};
  while (flock(fd, how | LOCK_NB)) {
    if ((errno != EWOULDBLOCK && errno != EINTR) || clock_monotonic_ns() > end_ns)
      return false;
    nanosleep(&pause, NULL);
  }
  return true;
}

int64_t turn_take(struct turn *t, enum turn_kind kind, int64_t most_ns) {
  if (!t || t->lock < 0 || kind == t->held)
    return 0;
  const int64_t begin_ns = clock_monotonic_ns();
  flock(t->lock, LOCK_UN);
  t->held = TURN_NONE;
  if (kind == TURN_NONE)
    return 0;
  if (wait_for(t->gate, LOCK_EX, begin_ns + most_ns)) {
    if (wait_for(t->lock, kind == TURN_ALONE ? LOCK_EX : LOCK_SH, begin_ns + most_ns))
      t->held = kind;
    flock(t->gate, LOCK_UN);
  }
  return clock_monotonic_ns() - begin_ns;
}

void turn_close(struct turn *t) {
  if (!t)
    return;
  if (t->gate >= 0)
    close(t->gate);
  if (t->lock >= 0)
    close(t->lock);
  base_free(t);
}
