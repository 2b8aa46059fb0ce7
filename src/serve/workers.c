// SPDX-License-Identifier: Apache-2.0
#include "serve/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "serve/server.h"

enum { TICK_MS = 100, MOST_BACKOFF_S = 60, WORKER_ARGUMENTS = 64 };
static const int64_t SECOND = 1000000000;

// The child's side: it ends with the server, has a process group of its own, so that Ctrl-C in a terminal is not for
// it, and no signal is blocked.
static _Noreturn void become(const char *const *argv, pid_t parent, int in, int out) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  signal(SIGPIPE, SIG_DFL);
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (getppid() != parent || dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
    _exit(127);
  execv(argv[0], (char *const *)argv);
  _exit(127);
}

static void start(struct server *s, int i) {
  struct worker *w = &s->workers.items[i];
  const struct serve_unit *unit = &s->o->units[i];
  const char *argv[WORKER_ARGUMENTS];
  char index[16];
  int n = 0, in[2], out[2];
  pid_t parent = getpid();
  while (s->o->worker[n] && n < WORKER_ARGUMENTS - 5) {
    argv[n] = s->o->worker[n];
    n++;
  }
  snprintf(index, sizeof index, "%d", unit->index);
  argv[n++] = unit->name;
  argv[n++] = unit->device;
  argv[n++] = index;
  if (unit->ahead)
    argv[n++] = "ahead";
  argv[n] = NULL;
  if (pipe2(in, O_CLOEXEC) != 0)
    return;
  if (pipe2(out, O_CLOEXEC) != 0) {
    close(in[0]);
    close(in[1]);
    return;
  }
  pid_t pid = fork();
  if (pid == 0)
    become(argv, parent, in[0], out[1]);
  close(in[0]);
  close(out[1]);
  if (pid < 0) {
    close(in[1]);
    close(out[0]);
    return;
  }
  setpgid(pid, pid); // here too: whoever comes first
  fcntl(in[1], F_SETFL, O_NONBLOCK);
  fcntl(out[0], F_SETFL, O_NONBLOCK);
  *w = (struct worker){.pid = pid, .to = in[1], .from = out[0], .failures = w->failures};
  server_log(s, "worker_started", json_pack("{s:s, s:i}", "unit", unit->name, "pid", (int)pid));
}

// Lets the job of a process wait again that has ended, whether it had said that it has one or not. Returns the job's
// number, 0: it had none.
static int64_t put_back(struct server *s, pid_t owner, const char *why, int most_faults) {
  struct assay_error err = {0};
  struct queue_job job = {0};
  bool found = false;
  pthread_mutex_lock(&s->write_lock);
  enum assay_status status = queue_of_owner(s->writer, owner, &job, &found, &err);
  if (!status && found)
    status = queue_put_back(s->writer, job.id, job.attempt, why, most_faults, clock_wall_ns() + SECOND, &err);
  pthread_mutex_unlock(&s->write_lock);
  if (status)
    server_log(s, "error", json_pack("{s:s}", "message", err.message));
  if (found)
    metrics_put_back(&s->metrics);
  return found ? job.id : 0;
}

static void leave_device(struct server *s, int i, int64_t at_ns) {
  struct worker *w = &s->workers.items[i];
  if (w->busy_ns)
    metrics_busy(&s->metrics, i, at_ns - w->busy_ns);
  w->busy_ns = 0;
}

// The process has ended, however: what it had waits again.
static void bury(struct server *s, int i) {
  struct worker *w = &s->workers.items[i];
  int status = 0;
  char why[128];
  if (w->to >= 0)
    close(w->to);
  close(w->from);
  kill(-w->pid, SIGKILL);
  while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (w->too_long)
    snprintf(why, sizeof why, "the judgement took longer than %lld s (--limit)", (long long)(s->o->limit_ns / SECOND));
  else if (WIFSIGNALED(status))
    snprintf(why, sizeof why, "the judging process was ended by signal %d", WTERMSIG(status));
  else
    snprintf(why, sizeof why, "the judging process ended with code %d", WEXITSTATUS(status));
  leave_device(s, i, clock_monotonic_ns());
  int64_t job = put_back(s, w->pid, why, s->workers.closing ? 0 : s->o->most_faults);
  server_log(s, "worker_ended",
             json_pack("{s:s, s:i, s:s}", "unit", s->o->units[i].name, "pid", (int)w->pid, "why", why));
  int backoff = w->failures < 6 ? 1 << w->failures : MOST_BACKOFF_S;
  *w = (struct worker){.failures = w->failures + 1, .restart_ns = clock_monotonic_ns() + backoff * SECOND / 4};
  if (job) {
    hub_wake(&s->hub, job);
    workers_poke(s);
  }
}

static void take_done(struct server *s, int i, const char *line) {
  struct worker *w = &s->workers.items[i];
  char reason[64] = "";
  long long job = 0;
  int at = 0;
  int64_t stages[N_STAGES] = {0};
  if (sscanf(line, "done %lld %63s%n", &job, reason, &at) < 2)
    return;
  for (int k = 0; k < N_STAGES; k++) {
    long long ns = 0;
    int used = 0;
    if (sscanf(line + at, "%lld%n", &ns, &used) < 1)
      break;
    stages[k] = ns;
    at += used;
  }
  metrics_finished(&s->metrics, reason, stages);
  server_log(s, "judged",
             json_pack("{s:I, s:s, s:s, s:f}", "job", (json_int_t)job, "reason", reason, "unit", s->o->units[i].name,
                       "seconds", (double)stages[STAGE_TOTAL] / 1e9));
  w->failures = 0;
  renew_want(s);
}

// Lines about the device. Waiting for a turn is not part of a judgement's time.
static bool take_turn(struct server *s, int i, const char *line) {
  struct worker *w = &s->workers.items[i];
  const char *unit = s->o->units[i].name;
  long long job = 0, at_ns = 0;
  if (sscanf(line, "test %lld %lld", &job, &at_ns) == 2) {
    w->waits = false;
    w->since_ns = w->busy_ns = at_ns;
    server_log(s, "testing",
               json_pack("{s:I, s:s, s:I}", "job", (json_int_t)job, "unit", unit, "ns", (json_int_t)at_ns));
  } else if (sscanf(line, "left %lld %lld", &job, &at_ns) == 2) {
    leave_device(s, i, at_ns);
    server_log(s, "tested",
               json_pack("{s:I, s:s, s:I}", "job", (json_int_t)job, "unit", unit, "ns", (json_int_t)at_ns));
  } else if (strncmp(line, "ready ", 6) == 0) {
    w->waits = true;
  } else {
    return false;
  }
  return true;
}

static void take_line(struct server *s, int i, const char *line) {
  struct worker *w = &s->workers.items[i];
  long long job = 0, attempt = 0;
  if (sscanf(line, "claim %lld %lld", &job, &attempt) == 2) {
    w->job = job;
    w->since_ns = clock_monotonic_ns();
    server_log(s, "claimed",
               json_pack("{s:I, s:s, s:I}", "job", (json_int_t)job, "unit", s->o->units[i].name, "ns",
                         (json_int_t)w->since_ns));
    hub_wake(&s->hub, job);
    return;
  }
  if (take_turn(s, i, line))
    return;
  if (strncmp(line, "done ", 5) == 0)
    take_done(s, i, line);
  else if (strncmp(line, "back ", 5) == 0)
    metrics_put_back(&s->metrics);
  else if (strncmp(line, "lost ", 5) != 0)
    return;
  job = w->job;
  leave_device(s, i, clock_monotonic_ns());
  w->waits = false;
  w->job = 0;
  hub_wake(&s->hub, job);
  workers_poke(s); // the unit may be what another job waited for
}

static void hear(struct server *s, int i) {
  struct worker *w = &s->workers.items[i];
  for (;;) {
    ssize_t n = read(w->from, w->line + w->used, sizeof w->line - 1 - w->used);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0 && errno == EAGAIN)
      return;
    if (n <= 0) {
      bury(s, i);
      return;
    }
    w->used += (size_t)n;
    w->line[w->used] = '\0';
    for (char *end; (end = strchr(w->line, '\n'));) {
      *end = '\0';
      take_line(s, i, w->line);
      w->used -= (size_t)(end + 1 - w->line);
      memmove(w->line, end + 1, w->used + 1);
    }
    if (w->used == sizeof w->line - 1)
      w->used = 0; // no line of ours
  }
}

// Has all look at the queue. A worker that is just being started does so by itself.
static void poke_all(struct server *s) {
  for (int i = 0; i < s->o->n_units && s->workers.poked; i++)
    if (s->workers.items[i].pid && s->workers.items[i].to >= 0) {
      ssize_t n = write(s->workers.items[i].to, "\n", 1);
      (void)n; // full: it has something to look at
    }
  s->workers.poked = false;
}

// Starts what does not run, and ends what takes too long.
static void look_after(struct server *s, int64_t now) {
  for (int i = 0; i < s->o->n_units; i++) {
    struct worker *w = &s->workers.items[i];
    if (w->pid == 0 && !s->workers.closing && now >= w->restart_ns)
      start(s, i);
    if (w->pid && w->job && !w->waits && now - w->since_ns > s->o->limit_ns) {
      w->too_long = true;
      kill(-w->pid, SIGKILL); // hear() finds the end of its output
    }
  }
}

// All that has to do with processes happens here: a child gets the death signal when the thread ends that made it.
static void *keep(void *arg) {
  struct server *s = arg;
  for (bool running = true; running;) {
    struct pollfd fds[SERVE_MOST_UNITS + 1];
    pthread_mutex_lock(&s->workers.lock);
    look_after(s, clock_monotonic_ns());
    int alive = 0;
    for (int i = 0; i < s->o->n_units; i++) {
      fds[i] = (struct pollfd){.fd = s->workers.items[i].pid ? s->workers.items[i].from : -1, .events = POLLIN};
      alive += s->workers.items[i].pid != 0;
    }
    running = alive > 0 || !s->workers.closing;
    pthread_mutex_unlock(&s->workers.lock);
    fds[s->o->n_units] = (struct pollfd){.fd = s->workers.wake, .events = POLLIN};
    if (!running)
      break;
    poll(fds, (nfds_t)s->o->n_units + 1, TICK_MS);
    eventfd_t ignored;
    if (fds[s->o->n_units].revents)
      eventfd_read(s->workers.wake, &ignored);
    pthread_mutex_lock(&s->workers.lock);
    for (int i = 0; i < s->o->n_units; i++)
      if (fds[i].revents && s->workers.items[i].pid)
        hear(s, i);
    poke_all(s);
    pthread_mutex_unlock(&s->workers.lock);
    hub_tick(&s->hub, clock_monotonic_ns());
    http_tick(s, clock_monotonic_ns());
  }
  return NULL;
}

enum assay_status workers_start(struct server *s, struct assay_error *err) {
  struct workers *all = &s->workers;
  all->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  int e = all->wake < 0 ? errno : thread_start(&all->keeper, keep, s);
  if (e)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot start the thread that keeps workers: %s", strerror(e));
  all->started = true;
  return ASSAY_OK;
}

void workers_poke(struct server *s) {
  s->workers.poked = true;
  eventfd_write(s->workers.wake, 1);
}

// A worker says that it has lost a job before it claims the next: once its last words were heard, no other job can be
// ended in place of this one.
void workers_end_job(struct server *s, int64_t job) {
  pthread_mutex_lock(&s->workers.lock);
  for (int i = 0; i < s->o->n_units; i++) {
    struct worker *w = &s->workers.items[i];
    if (w->pid && w->job == job)
      hear(s, i);
    if (w->pid && w->job == job)
      kill(-w->pid, SIGKILL);
  }
  pthread_mutex_unlock(&s->workers.lock);
}

int workers_running(struct server *s) {
  int n = 0;
  pthread_mutex_lock(&s->workers.lock);
  for (int i = 0; i < s->o->n_units; i++)
    n += s->workers.items[i].pid != 0;
  pthread_mutex_unlock(&s->workers.lock);
  return n;
}

void workers_stop(struct server *s, int64_t limit_ns) {
  struct workers *all = &s->workers;
  if (!all->started)
    return;
  pthread_mutex_lock(&all->lock);
  all->closing = true;
  for (int i = 0; i < s->o->n_units; i++)
    if (all->items[i].pid && all->items[i].to >= 0) {
      close(all->items[i].to);
      all->items[i].to = -1;
    }
  pthread_mutex_unlock(&all->lock);
  while (workers_running(s) > 0 && clock_monotonic_ns() < limit_ns)
    poll(NULL, 0, TICK_MS / 2);
  pthread_mutex_lock(&all->lock);
  for (int i = 0; i < s->o->n_units; i++)
    if (all->items[i].pid)
      kill(-all->items[i].pid, SIGKILL);
  pthread_mutex_unlock(&all->lock);
  pthread_join(all->keeper, NULL);
  close(all->wake);
}
