// SPDX-License-Identifier: Apache-2.0
#include "device/turn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"

enum { POLL_NS = 2000000, LINGER_POLLS = 4 };
static const int64_t MOST_OWED_NS = 20000000000; // of the time that who waited has before it gives way again
static const int64_t PATIENCE_NS = 3000000000;   // after that who waits to be together is next

struct turn {
  // Who wants to be alone holds the gate until it has its turn, who does not only while it looks. So nobody passes one
  // that waits to be alone, and when the last of those is through, all others go on together. Where there is no last
  // one, because others come meanwhile, one that has waited too long to be together holds `hurry`: nobody goes to the
  // gate then to be alone.
  int gate, lock, hurry; // hurry: -1 where there is no such file
  enum turn_kind held;
  bool missed;               // the last one asked for did not come in time
  int64_t since_ns, owed_ns; // when it was taken, and how long it is kept whoever wants it
};

// A folder with this name in `at` that nobody but us can open files of or put files into; made if it is not there. Who
// made such a folder in our name, or a link to another, keeps us from having turns there, and from nothing else.
static int open_own(int at, const char *name) {
  struct stat facts;
  if (mkdirat(at, name, 0700) && errno != EEXIST)
    return -1;
  int fd = openat(at, name, O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW);
  if (fd >= 0 && fstat(fd, &facts) == 0 && facts.st_uid == geteuid() && (facts.st_mode & 077) == 0)
    return fd;
  if (fd >= 0)
    close(fd);
  return -1;
}

static int open_own_in(const char *folder, const char *name) {
  int at = open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
  int fd = at < 0 ? -1 : open_own(at, name);
  if (at >= 0)
    close(at);
  return fd;
}

static int open_at_home(const char *home) {
  char space[4096];
  struct passwd user, *found = NULL;
  if (!home && getpwuid_r(geteuid(), &user, space, sizeof space, &found) == 0 && found)
    home = user.pw_dir;
  return home ? open_own_in(home, ".assay-turns") : -1;
}

// Where another user was first in the folder that all share, all our processes go to the same other place.
static int open_turns(const char *folder, const char *home) {
  char name[32];
  snprintf(name, sizeof name, "assay-%ju", (uintmax_t)geteuid());
  int fd = open_own_in(folder, name);
  return fd >= 0 ? fd : open_at_home(home);
}

static int open_file(int turns, const char *device, const char *what) {
  char name[NAME_MAX + 1];
  int n = snprintf(name, sizeof name, "%s.%s", device, what);
  if (n >= (int)sizeof name || strchr(device, '/'))
    return -1;
  return openat(turns, name, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
}

enum assay_status turn_open(const char *folder, const char *home, const char *device, struct turn **out,
                            struct assay_error *err) {
  struct turn *t = base_calloc(1, sizeof *t);
  if (!t)
    return error_nomem(err, "turns on a device");
  int turns = open_turns(folder ? folder : "/tmp", home);
  t->gate = turns < 0 ? -1 : open_file(turns, device, "gate");
  t->lock = t->gate < 0 ? -1 : open_file(turns, device, "turn");
  t->hurry = t->lock < 0 ? -1 : open_file(turns, device, "hurry");
  if (turns >= 0)
    close(turns);
  *out = t;
  return ASSAY_OK;
}

static void pause_for(int polls) {
  nanosleep(&(struct timespec){0, (long)polls * POLL_NS}, NULL);
}

static bool is_held_by_others(void) {
  return errno == EWOULDBLOCK || errno == EINTR;
}

static bool take_alone(struct turn *t, int64_t end_ns) {
  bool gate = false, taken = false, failed = false;
  while (!taken && !failed && clock_monotonic_ns() <= end_ns) {
    const bool calm = gate || t->hurry < 0 || flock(t->hurry, LOCK_SH | LOCK_NB) == 0;
    failed = !calm && !is_held_by_others();
    if (calm && !gate) {
      gate = flock(t->gate, LOCK_EX | LOCK_NB) == 0;
      failed = !gate && !is_held_by_others();
      if (t->hurry >= 0)
        flock(t->hurry, LOCK_UN);
    }
    taken = gate && flock(t->lock, LOCK_EX | LOCK_NB) == 0;
    failed = failed || (gate && !taken && !is_held_by_others());
    if (!taken && !failed)
      pause_for(1);
  }
  flock(t->gate, LOCK_UN);
  return taken;
}

static bool take_together(struct turn *t, int64_t end_ns) {
  const int64_t patient_ns = clock_monotonic_ns() + PATIENCE_NS;
  bool taken = false, failed = false, hurries = false;
  for (;;) {
    bool open = flock(t->gate, LOCK_SH | LOCK_NB) == 0;
    taken = open && flock(t->lock, LOCK_SH | LOCK_NB) == 0;
    failed = !taken && !is_held_by_others();
    if (open)
      flock(t->gate, LOCK_UN);
    const int64_t now_ns = clock_monotonic_ns();
    if (taken || failed || now_ns > end_ns)
      break;
    if (!hurries && t->hurry >= 0 && now_ns > patient_ns)
      hurries = flock(t->hurry, LOCK_EX | LOCK_NB) == 0;
    pause_for(1);
  }
  if (hurries && taken)
    pause_for(LINGER_POLLS); // all others who wait to be together look meanwhile
  if (hurries)
    flock(t->hurry, LOCK_UN);
  return taken;
}

int64_t turn_take(struct turn *t, enum turn_kind kind, int64_t most_ns) {
  if (!t || t->lock < 0)
    return 0;
  t->missed = false;
  if (kind == t->held)
    return 0;
  const int64_t begin_ns = clock_monotonic_ns();
  flock(t->lock, LOCK_UN);
  t->held = TURN_NONE;
  if (kind == TURN_NONE)
    return 0;
  if (kind == TURN_ALONE ? take_alone(t, begin_ns + most_ns) : take_together(t, begin_ns + most_ns))
    t->held = kind;
  t->since_ns = clock_monotonic_ns();
  // Locks that fail for another reason than their holder are no turns at all.
  t->missed = t->held == TURN_NONE && t->since_ns - begin_ns >= most_ns;
  t->owed_ns = t->since_ns - begin_ns < MOST_OWED_NS ? t->since_ns - begin_ns : MOST_OWED_NS;
  return t->since_ns - begin_ns;
}

bool turn_missed(const struct turn *t) {
  return t && t->missed;
}

bool turn_is_wanted(const struct turn *t) {
  if (!t || t->held != TURN_TOGETHER || clock_monotonic_ns() - t->since_ns < t->owed_ns)
    return false;
  if (flock(t->gate, LOCK_SH | LOCK_NB))
    return errno == EWOULDBLOCK;
  flock(t->gate, LOCK_UN);
  return false;
}

void turn_close(struct turn *t) {
  if (!t)
    return;
  if (t->gate >= 0)
    close(t->gate);
  if (t->hurry >= 0)
    close(t->hurry);
  if (t->lock >= 0) {
    flock(t->lock, LOCK_UN); // a child that was forked meanwhile has the file open, too
    close(t->lock);
  }
  base_free(t);
}
