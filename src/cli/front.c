// SPDX-License-Identifier: Apache-2.0
// A command that returns before a GPU's driver has released its context.
//
// When a process with a context ends, the driver works for 0.1 to 0.2 s more (H200, driver 580), and whoever started
// the process waits for it. So a child runs the command, and the process that was started ends as soon as the child has
// reported its exit code: by then everything is stored and printed.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"

// In the child. It ends with its parent, by a signal that lets it remove its temporary folders, and gets the parent's
// signals too: both are in one process group.
static _Noreturn void work(int (*command)(int argc, char **argv), int argc, char **argv, pid_t parent, int to) {
  signal(SIGTERM, SIG_DFL); // also where whoever started us ignores it
  prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
  if (getppid() != parent)
    _exit(CLI_ENVIRONMENT);
  int code = cli_flush(command(argc, argv));
  fflush(NULL);
  close(STDOUT_FILENO); // a reader of the output sees its end when the command is done
  close(STDERR_FILENO);
  while (write(to, &code, sizeof code) < 0 && errno == EINTR) {
  }
  _exit(code);
}

// The exit code of a child that reported none: argp's help, a crash.
static int end_of(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status))
    return WEXITSTATUS(status);
  signal(WTERMSIG(status), SIG_DFL);
  raise(WTERMSIG(status)); // ends as the child did
  return CLI_ENVIRONMENT;
}

bool cli_has_nvidia(void) {
  return access("/dev/nvidiactl", F_OK) == 0;
}

int cli_in_front(int (*command)(int argc, char **argv), int argc, char **argv) {
  int ends[2], code = 0;
  pid_t parent = getpid();
#if defined(__SANITIZE_ADDRESS__)
  return command(argc, argv); // the leak checker needs an ordinary end
#endif
  if (!cli_has_nvidia() || pipe2(ends, O_CLOEXEC) != 0)
    return command(argc, argv);
  fflush(NULL);
  pid_t child = fork();
  if (child < 0) {
    close(ends[0]);
    close(ends[1]);
    return command(argc, argv);
  }
  if (child == 0) {
    close(ends[0]);
    work(command, argc, argv, parent, ends[1]);
  }
  close(ends[1]);
  ssize_t n;
  do
    n = read(ends[0], &code, sizeof code);
  while (n < 0 && errno == EINTR);
  close(ends[0]);
  return n == (ssize_t)sizeof code ? code : end_of(child);
}
