// SPDX-License-Identifier: Apache-2.0
#include <argp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"

// Ends of the process that do not come back to main: argp prints help and exits.
static void at_exit(void) {
  if (cli_flush(CLI_PASS) != CLI_PASS)
    _exit(CLI_ENVIRONMENT);
}

int main(int argc, char **argv) {
  argp_err_exit_status = CLI_USAGE;
  cli_keep_streams();
  signal(SIGCHLD, SIG_DFL); // whoever started us may ignore it, and then nobody learns how a child ended
  signal(SIGXFSZ, SIG_IGN); // a limit on files is an error of writing, which says what could not be written
  atexit(at_exit);
  int code = cli_flush(cli_main(argc, argv));
#if !defined(__SANITIZE_ADDRESS__)
  // Without the exit handlers of a GPU's driver, which take long to free what the system frees anyway.
  fflush(NULL);
  _exit(code);
#endif
  return code;
}
