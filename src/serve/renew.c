// SPDX-License-Identifier: Apache-2.0
#include "serve/renew.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "serve/server.h"

enum { LOOK_MS = 200, NICE = 10, MOST_SAID = 512 };
static const int64_t SECOND = 1000000000, MS = 1000000;

bool renew_is_due(const struct renewal *r, bool busy, int64_t now_ns) {
  const bool quiet = !busy && now_ns - r->last_ns >= RENEW_QUIET_NS;
  return r->wanted && now_ns >= r->rest_ns && (quiet || now_ns - r->first_ns >= RENEW_LATE_NS);
}

void renew_init(struct renewal *r) {
  pthread_mutex_init(&r->lock, NULL);
  pthread_cond_init(&r->changed, NULL);
}

void renew_release(struct renewal *r) {
  pthread_mutex_destroy(&r->lock);
  pthread_cond_destroy(&r->changed);
}

void renew_want(struct server *s) {
  struct renewal *r = &s->renewal;
  if (!r->started)
    return;
  pthread_mutex_lock(&r->lock);
  r->last_ns = clock_monotonic_ns();
  if (!r->wanted)
    r->first_ns = r->last_ns;
  r->wanted = true;
  pthread_cond_signal(&r->changed);
  pthread_mutex_unlock(&r->lock);
}

// The child's side. It comes after others: kernels may be timed on the same processors.
static _Noreturn void become(const char *const *argv, pid_t parent, int said) {
  sigset_t all;
  sigemptyset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  signal(SIGPIPE, SIG_DFL);
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  const int nothing = open("/dev/null", O_RDWR);
  if (getppid() != parent || nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(nothing, STDOUT_FILENO) < 0 ||
      dup2(said, STDERR_FILENO) < 0)
    _exit(127);
  if (nice(NICE) == -1)
    _exit(127);
  execv(argv[0], (char *const *)argv);
  _exit(127);
}

// The last line of what it says; its progress is no line.
static void listen_to(int from, char said[MOST_SAID]) {
  char bytes[256];
  size_t used = 0;
  for (ssize_t n; (n = read(from, bytes, sizeof bytes)) > 0 || (n < 0 && errno == EINTR);)
    for (ssize_t i = 0; i < n; i++) {
      if (bytes[i] == '\r' || (bytes[i] == '\n' && used > 0 && i + 1 < n))
        used = 0;
      else if (bytes[i] != '\n' && used < MOST_SAID - 1)
        said[used++] = bytes[i];
    }
  said[used] = '\0';
}

// Starts the child; -1: there is none.
static pid_t begin(struct server *s, int *from) {
  int said[2];
  const pid_t parent = getpid();
  if (pipe2(said, O_CLOEXEC) != 0)
    return -1;
  pthread_mutex_lock(&s->renewal.lock);
  const pid_t pid = s->renewal.closing ? -1 : fork();
  if (pid == 0)
    become(s->o->renew, parent, said[1]);
  s->renewal.child = pid > 0 ? pid : 0;
  pthread_mutex_unlock(&s->renewal.lock);
  close(said[1]);
  if (pid < 0)
    close(said[0]);
  *from = said[0];
  return pid;
}

static void make(struct server *s) {
  struct renewal *r = &s->renewal;
  char why[MOST_SAID] = "it could not be started";
  int status = 1, from = -1;
  const int64_t begin_ns = clock_monotonic_ns();
  const pid_t pid = begin(s, &from);
  if (pid > 0) {
    listen_to(from, why);
    close(from);
    // Its number stays its own until it was waited for, and renew_stop() looks with the lock.
    siginfo_t ended;
    while (waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
    }
    pthread_mutex_lock(&r->lock);
    r->child = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    pthread_mutex_unlock(&r->lock);
  }
  const int64_t took_ns = clock_monotonic_ns() - begin_ns;
  const bool made = pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (made)
    site_look(s->site);
  pthread_mutex_lock(&r->lock);
  r->rest_ns = clock_monotonic_ns() + (made ? RENEW_REST * took_ns : RENEW_LATE_NS);
  const bool closing = r->closing;
  pthread_mutex_unlock(&r->lock);
  if (made)
    server_log(s, "site_made", json_pack("{s:f}", "seconds", (double)took_ns / 1e9));
  else if (!closing)
    server_log(s, "site_not_made", json_pack("{s:s}", "why", why));
  if (!made && !closing)
    renew_want(s);
}

static bool is_busy(struct server *s) {
  bool busy = false;
  pthread_mutex_lock(&s->workers.lock);
  for (int i = 0; i < s->o->n_units; i++)
    busy = busy || s->workers.items[i].job;
  pthread_mutex_unlock(&s->workers.lock);
  return busy;
}

// Waits for a verdict, or a little while where one is there already.
static void await(struct renewal *r) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  const int64_t ns = until.tv_nsec + LOOK_MS * MS;
  until.tv_sec += ns / SECOND;
  until.tv_nsec = ns % SECOND;
  if (r->wanted)
    pthread_cond_timedwait(&r->changed, &r->lock, &until);
  else
    pthread_cond_wait(&r->changed, &r->lock);
}

static void *keep(void *arg) {
  struct server *s = arg;
  struct renewal *r = &s->renewal;
  for (;;) {
    const bool busy = is_busy(s); // before the lock: who says that a verdict is new may have the workers'
    pthread_mutex_lock(&r->lock);
    const bool due = !r->closing && renew_is_due(r, busy, clock_monotonic_ns());
    if (due)
      r->wanted = false;
    else if (!r->closing)
      await(r);
    const bool closing = r->closing;
    pthread_mutex_unlock(&r->lock);
    if (closing)
      return NULL;
    if (due)
      make(s);
  }
}

enum assay_status renew_start(struct server *s, struct assay_error *err) {
  struct renewal *r = &s->renewal;
  if (!s->o->renew)
    return ASSAY_OK;
  r->wanted = true; // the first pages
  const int e = thread_start(&r->thread, keep, s);
  if (e)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot start the thread that keeps the site: %s", strerror(e));
  r->started = true;
  return ASSAY_OK;
}

void renew_stop(struct server *s) {
  struct renewal *r = &s->renewal;
  if (!r->started)
    return;
  pthread_mutex_lock(&r->lock);
  r->closing = true;
  if (r->child)
    kill(r->child, SIGKILL);
  pthread_cond_signal(&r->changed);
  pthread_mutex_unlock(&r->lock);
  pthread_join(r->thread, NULL);
  r->started = false;
}
