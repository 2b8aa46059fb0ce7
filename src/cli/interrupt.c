// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

// A signal handler writes a byte here. The one mutable global: a handler cannot be given an argument.
static int signal_pipe[2] = {-1, -1};

static void on_signal(int number) {
  int e = errno;
  char byte = (char)number;
  ssize_t n = write(signal_pipe[1], &byte, 1);
  (void)n;
  errno = e;
}

static void await_signal(void) {
  char byte;
  while (read(signal_pipe[0], &byte, 1) < 0 && errno == EINTR)
    ;
}

// The second Ctrl-C prints what there is and ends at once; nothing is lost then either, as the store has everything
// that is finished.
static void *watch(void *arg) {
  struct cli_interrupt *i = arg;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  await_signal();
  cli_progress_clear();
  fprintf(stderr, "assay: finishing %s; press Ctrl-C again to end at once\n", i->finishing);
  i->stop = true;
  await_signal();
  if (i->last)
    i->last(i->arg);
  _exit(cli_flush(CLI_INTERRUPTED));
}

// Threads made from here on leave the signals to the watcher. Threads that libraries made before may still receive
// them, so there is a handler, without which the process would end.
enum assay_status cli_interrupt_watch(struct cli_interrupt *i, struct assay_error *err) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  pthread_t watcher;
  sigset_t set;
  if (pipe2(signal_pipe, O_CLOEXEC) != 0)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot make a pipe: %s", strerror(errno));
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  int e = pthread_create(&watcher, NULL, watch, i);
  if (e)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot start a thread: %s", strerror(e));
  pthread_detach(watcher);
  return ASSAY_OK;
}
