// SPDX-License-Identifier: Apache-2.0
#include <argp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/thread.h"
#include "cli/cli.h"

// Ends of the process that do not come back to main: argp prints help and exits.
static void at_exit(void) {
  if (cli_flush(CLI_PASS) != CLI_PASS)
    _exit(CLI_ENVIRONMENT);
}

// OpenBLAS starts a thread for each further processor when it is loaded, and each spins for 30 ms: on two processors,
// as long as a small kernel is built and its oracle is made. The oracle has threads of its own (ops/gemm.h). The
// library counts the processors that the process may use; until main begins, which is after it has, that is a single
// one.
static unsigned long processors[1024 / sizeof(unsigned long)]; // the mask of the system
static long mask_bytes;                                        // 0: it was left as it is

// Runs before the libraries' own beginnings, a sanitizer's among them.
__attribute__((no_sanitize("address", "undefined"))) static void leave_one_processor(void) {
  enum { BITS = 8 * sizeof(unsigned long) };
  unsigned long one[sizeof processors / sizeof processors[0]] = {0};
  unsigned here = 0;
  long bytes = syscall(SYS_sched_getaffinity, 0, sizeof processors, processors);
  if (bytes <= 0 || syscall(SYS_getcpu, &here, NULL, NULL) != 0 || here >= 8 * (unsigned long)bytes)
    return;
  one[here / BITS] = processors[here / BITS] & 1ul << here % BITS;
  if (syscall(SYS_sched_setaffinity, 0, bytes, one) == 0)
    mask_bytes = bytes;
}

static void give_back_processors(void) {
  if (mask_bytes > 0)
    syscall(SYS_sched_setaffinity, 0, mask_bytes, processors);
}

__attribute__((section(".preinit_array"), used)) static void (*const first_of_all)(void) = leave_one_processor;

int main(int argc, char **argv) {
  give_back_processors();
  argp_err_exit_status = CLI_USAGE;
  cli_keep_streams();
  signal(SIGCHLD, SIG_DFL); // whoever started us may ignore it, and then nobody learns how a child ended
  signal(SIGXFSZ, SIG_IGN); // a limit on files is an error of writing, which says what could not be written
  atexit(at_exit);
  thread_raise_limit();
  struct assay_error err;
  int code = cli_flush(thread_has_stack(&err) ? cli_fail(&err) : cli_main(argc, argv));
#if !defined(__SANITIZE_ADDRESS__)
  // Without the exit handlers of a GPU's driver, which take long to free what the system frees anyway.
  fflush(NULL);
  _exit(code);
#endif
  return code;
}
