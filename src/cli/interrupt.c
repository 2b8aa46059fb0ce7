// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/thread.h"
#include "cli/cli.h"
#include "sandbox/sandbox.h"

enum { PATIENCE_MS = 10000 };

// The one mutable global: a handler cannot be given an argument. It writes its signal into the pipe, and a thread
// reads.
static struct {
  int pipe[2];
  _Atomic(struct cli_interrupt *) asked; // who wants to end in good order
  _Atomic(const char *) temporary;       // where this process may have folders
  char path[4096];
} watched = {.pipe = {-1, -1}};

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNALS = sizeof signals / sizeof *signals };

static void on_signal(int number) {
  int e = errno;
  char byte = (char)number;
  ssize_t n = write(watched.pipe[1], &byte, 1);
  (void)n;
  errno = e;
}

// Nobody reads the output any more (`| head`): the thread that was writing goes no further.
static void on_broken_pipe(int number) {
  on_signal(number);
  for (;;)
    pause();
}

static int await_signal(void) {
  char byte = SIGTERM;
  while (read(watched.pipe[0], &byte, 1) < 0 && errno == EINTR)
    ;
  return byte;
}

static void all_signals(int how) {
  sigset_t set;
  sigemptyset(&set);
  for (int i = 0; i < SIGNALS; i++)
    sigaddset(&set, signals[i]);
  pthread_sigmask(how, &set, NULL);
}

// Temporary folders are removed after this process has ended, by a child that waits for that: what is being built or
// judged in them must not see them vanish and become a verdict.
static void leave_cleaner(void) {
  const char *temporary = watched.temporary;
  pid_t ending = getpid();
  char maker[SANDBOX_MAKER_BYTES];
  sandbox_maker(maker);
  if (!temporary || fork() != 0)
    return;
  syscall(SYS_close_range, 0u, ~0u, 0); // locks and pipes that others wait for
  for (int ms = 0; ms < PATIENCE_MS && getppid() == ending; ms++)
    usleep(1000);
  sandbox_folders_remove_of(temporary, maker);
  _exit(0);
}

// As a process ends that has no handlers.
static _Noreturn void end_by(int number) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  signal(number, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  raise(number);
  _exit(128 + number); // process 1 of a container is not ended by a signal
}

static _Noreturn void end_at_once(struct cli_interrupt *i) {
  if (i->last)
    i->last(i->arg);
  int code = cli_flush(CLI_INTERRUPTED);
  leave_cleaner();
  _exit(code);
}

// The second Ctrl-C prints what there is and ends at once; nothing is lost then either, as the store has everything
// that is finished.
static void *watch(void *arg) {
  sigset_t broken;
  (void)arg;
  sigemptyset(&broken);
  sigaddset(&broken, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &broken, NULL); // what this thread says to a closed pipe is lost
  all_signals(SIG_UNBLOCK);
  for (bool asked = false;;) {
    int number = await_signal();
    struct cli_interrupt *i = watched.asked;
    if (!i || number == SIGHUP || number == SIGPIPE) {
      leave_cleaner();
      end_by(number);
    }
    if (asked)
      end_at_once(i);
    flockfile(stderr); // whoever sees `stop` and says so comes after this
    i->stop = asked = true;
    cli_progress_clear();
    fprintf(stderr, "assay: finishing %s; press Ctrl-C again to end at once\n", i->finishing);
    funlockfile(stderr);
  }
}

static void handle(int number, bool even_ignored) {
  struct sigaction now, action = {.sa_handler = number == SIGPIPE ? on_broken_pipe : on_signal, .sa_flags = SA_RESTART};
  if (even_ignored || (sigaction(number, NULL, &now) == 0 && now.sa_handler != SIG_IGN))
    sigaction(number, &action, NULL);
}

// Threads made from here on leave the signals to the watcher. Threads that libraries made before may still receive
// them, so there is a handler, without which the process would end.
static enum assay_status start(struct assay_error *err) {
  pthread_t watcher;
  if (watched.pipe[0] >= 0)
    return ASSAY_OK;
  if (pipe2(watched.pipe, O_CLOEXEC) != 0)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot make a pipe: %s", strerror(errno));
  all_signals(SIG_BLOCK);
  for (int i = 0; i < SIGNALS; i++)
    handle(signals[i], false);
  handle(SIGPIPE, false);
  int e = thread_start(&watcher, watch, NULL);
  if (e)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot start a thread: %s", strerror(e));
  pthread_detach(watcher);
  return ASSAY_OK;
}

enum assay_status cli_interrupt_watch(struct cli_interrupt *i, struct assay_error *err) {
  watched.asked = i;
  enum assay_status status = start(err);
  if (!status) {
    handle(SIGINT, true);
    handle(SIGTERM, true);
  }
  return status;
}

void cli_interrupt_clean(const char *temporary) {
  struct assay_error ignored = {0};
  sandbox_folders_sweep(temporary);
  if (snprintf(watched.path, sizeof watched.path, "%s", temporary) < (int)sizeof watched.path &&
      start(&ignored) == ASSAY_OK)
    watched.temporary = watched.path;
}
