// SPDX-License-Identifier: Apache-2.0
// Waiting for a child, and ending it.
#include "sandbox/sandbox.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/limit.h"
#include "sandbox/starved.h"

enum {
  CHUNK_BYTES = 16 << 10,
  POLL_MS = 5,       // how often to look where there is no pidfd (before Linux 5.3)
  QUOTA_MS = 50,     // how often to look what the child has taken
  PAUSE_MS = 10,     // and whether it is to stand still
  STARVED_MS = 100,  // and whether it has processors, once the first part of its time is over
  STARVED_AFTER = 8, // of its time, one part in so many: few children take as long
};

// The child's output so far, as much of it as is wanted.
struct tap {
  struct buf *log;
  size_t room;
  uint64_t dropped;
  bool ended; // every writer has closed it
};

// Takes what is in the pipe now. A child that writes faster than we read must not hold us here: a bounded number of
// chunks a call.
static void drain(int fd, struct tap *t) {
  char chunk[CHUNK_BYTES];
  for (int i = 0; i < 64 && !t->ended; i++) {
    ssize_t n = read(fd, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0 && errno == EAGAIN)
      return;
    if (n <= 0) {
      t->ended = true;
      return;
    }
    size_t keep = (size_t)n < t->room ? (size_t)n : t->room;
    if (t->log && keep)
      buf_append(t->log, chunk, keep);
    t->room -= keep;
    t->dropped += (uint64_t)n - keep;
  }
}

static int64_t timeval_ns(struct timeval t) {
  return (int64_t)t.tv_sec * 1000000000 + (int64_t)t.tv_usec * 1000;
}

static atomic_uint lost;

unsigned sandbox_lost(void) {
  return atomic_load(&lost);
}

// Collects the child if it has ended.
static bool reap(struct sandbox_child *c, int flags, struct sandbox_end *end) {
  int status = 0;
  struct rusage use;
  pid_t got;
  do
    got = wait4(c->pid, &status, flags, &use);
  while (got < 0 && errno == EINTR);
  if (got == 0)
    return false;
  memset(end, 0, sizeof *end);
  if (got < 0) { // somebody else in this process has collected it
    end->lost = true;
    atomic_fetch_add(&lost, 1);
    return true;
  }
  end->exited = WIFEXITED(status);
  end->code = end->exited ? WEXITSTATUS(status) : 0;
  end->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  end->cpu_ns = timeval_ns(use.ru_utime) + timeval_ns(use.ru_stime);
  end->peak_bytes = (int64_t)use.ru_maxrss * 1024;
  return true;
}

// Kills the child and all of its kind: with a pid namespace the kernel ends everything in it together with process 1;
// without one, nobody could leave the process group (seccomp_builder), and SIGKILL to a group reaches all members at
// one moment, forks under way included. The child is not collected yet, so its number still names it and its group.
static void kill_all(const struct sandbox_child *c) {
  kill(-c->pid, SIGKILL);
  kill(c->pid, SIGKILL);
}

static void forget(struct sandbox_child *c) {
  if (c->pidfd >= 0)
    close(c->pidfd);
  if (c->output >= 0)
    close(c->output);
  c->pid = 0;
  c->pidfd = c->output = -1;
}

static bool has_quota(const struct sandbox_child *c) {
  return c->quota.folder_bytes || c->quota.processes || c->quota.memory_bytes;
}

// A child's time.
struct stay {
  int64_t start_ns, limit_ns, end_ns; // clock_monotonic_ns; until end_ns for now
  int64_t paused_ns;
  struct starved starved;
};

static void stay_init(struct stay *s, const struct sandbox_child *c, int64_t deadline_ns) {
  s->start_ns = clock_monotonic_ns();
  s->limit_ns = deadline_ns > s->start_ns ? deadline_ns - s->start_ns : 0;
  s->end_ns = deadline_ns;
  s->paused_ns = 0;
  starved_init(&s->starved, c->pid, s->start_ns);
}

// What is left of it, 0 when it is up.
static int64_t stay_left_ns(struct stay *s) {
  int64_t now_ns = clock_monotonic_ns();
  const bool late = now_ns >= s->end_ns;
  if (s->limit_ns > 0 && now_ns - s->start_ns >= s->limit_ns / STARVED_AFTER &&
      (late || now_ns - s->starved.looked_ns >= STARVED_MS * INT64_C(1000000)))
    starved_note(&s->starved, now_ns);
  if (late)
    s->end_ns = limit_end_ns(s->start_ns, s->limit_ns, s->starved.total_ns, now_ns);
  return s->end_ns > now_ns ? s->end_ns - now_ns : 0;
}

// When to look again at the latest.
static int64_t stay_sleep_ns(const struct stay *s, int64_t left_ns) {
  int64_t first_ns = s->start_ns + s->limit_ns / STARVED_AFTER, now_ns = clock_monotonic_ns();
  int64_t look_ns = first_ns > now_ns ? first_ns - now_ns : STARVED_MS * INT64_C(1000000);
  return left_ns < look_ns ? left_ns : look_ns;
}

// Gives back time in which the child was not to work.
static void stay_longer(struct stay *s, int64_t passed_ns) {
  s->paused_ns += passed_ns;
  s->start_ns += passed_ns;
  if (s->end_ns < INT64_MAX - passed_ns)
    s->end_ns += passed_ns;
}

// Lets others pass who want to. Without a pid namespace a process of a session of its own goes on: compilers may be
// such, and what uses a device is none.
static void pause_child(const struct sandbox_child *c, struct stay *s) {
  if (!c->pauses || !c->pauses->wanted(c->pauses->arg))
    return;
  int64_t begin_ns = clock_monotonic_ns();
  kill(-c->pid, SIGSTOP);
  c->pauses->give_way(c->pauses->arg);
  kill(-c->pid, SIGCONT);
  stay_longer(s, clock_monotonic_ns() - begin_ns);
}

// Until the child has ended, time is up or it has taken too much (`quota`, QUOTA_TEXT_BYTES). The zombie is left
// uncollected: see kill_all.
static bool wait_for_end(const struct sandbox_child *c, struct stay *stay, struct tap *t, char *quota) {
  const bool limited = has_quota(c);
  int64_t looked_ns = clock_monotonic_ns();
  for (;;) {
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno != EINTR)
      return true;
    if (info.si_pid == c->pid)
      return true;
    pause_child(c, stay);
    int64_t left_ns = stay_left_ns(stay);
    if (left_ns <= 0)
      return false;
    int64_t ms = (stay_sleep_ns(stay, left_ns) + 999999) / 1000000;
    if (c->pidfd < 0 && ms > POLL_MS)
      ms = POLL_MS;
    if (limited && ms > QUOTA_MS)
      ms = QUOTA_MS;
    if (c->pauses && ms > PAUSE_MS)
      ms = PAUSE_MS;
    if (limited && clock_monotonic_ns() - looked_ns >= (int64_t)QUOTA_MS * 1000000) {
      if (quota_exceeded(&c->quota, c->folder, c->pid, quota))
        return true;
      looked_ns = clock_monotonic_ns();
    }
    // A child may close its output and go on; a pipe without writers would wake us all the time.
    struct pollfd p[2] = {{.fd = c->pidfd, .events = POLLIN}, {.fd = t->ended ? -1 : c->output, .events = POLLIN}};
    int64_t begin_ns = clock_monotonic_ns();
    if (poll(p, 2, ms > 60000 ? 60000 : (int)ms) > 0 && p[1].revents)
      drain(c->output, t);
    stay_longer(stay, limit_stopped_ns(begin_ns, clock_monotonic_ns(), ms * 1000000));
  }
}

enum assay_status sandbox_wait(struct sandbox_child *c, int64_t deadline_ns, struct buf *log, size_t log_bytes,
                               struct sandbox_end *end, struct assay_error *err) {
  if (c->pid <= 0)
    return error_set(err, ASSAY_ERR_USAGE, "waiting for a child that was not started or is gone");
  struct tap t = {.log = log, .room = log_bytes};
  char quota[QUOTA_TEXT_BYTES] = "";
  struct stay stay;
  stay_init(&stay, c, deadline_ns);
  bool in_time = wait_for_end(c, &stay, &t, quota);
  struct sandbox_end e;
  if (has_quota(c) && !quota[0]) // what it took since, and what others of its group still do
    (void)quota_exceeded(&c->quota, c->folder, c->pid, quota);
  kill_all(c);
  (void)reap(c, 0, &e);
  e.deadline = !in_time;
  e.starved_ns = stay.starved.total_ns;
  e.paused_ns = stay.paused_ns;
  memcpy(e.quota, quota, sizeof e.quota);
  drain(c->output, &t);
  forget(c);
  if (log && t.dropped)
    buf_printf(log, "\n[%llu more bytes of output were dropped]\n", (unsigned long long)t.dropped);
  if (end)
    *end = e;
  if (e.lost)
    return error_set(
        err, ASSAY_ERR_ENVIRONMENT,
        "nobody knows how a child of Assay's ended: something else in this process waits for its children");
  return log ? buf_status(log, err) : ASSAY_OK;
}

void sandbox_kill(struct sandbox_child *c, struct sandbox_end *end) {
  struct sandbox_end e = {0};
  if (c->pid > 0) {
    kill_all(c);
    (void)reap(c, 0, &e);
    forget(c);
  }
  if (end)
    *end = e;
}
