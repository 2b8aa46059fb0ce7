// SPDX-License-Identifier: Apache-2.0
// Standard output as a place that can be full: a result that could not be printed is not a success.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

// The next file that is opened would get the number of a stream that is closed, and what is printed would go into the
// store. Each closed one is opened the wrong way round, so that its use fails.
void cli_keep_streams(void) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
      _exit(CLI_ENVIRONMENT);
}

int cli_flush(int code) {
  bool failed = ferror(stdout) != 0;
  errno = 0;
  if (fflush(stdout) == 0 && !failed)
    return code;
  fprintf(stderr, "assay: cannot write to standard output: %s; what was printed is not complete\n",
          errno ? strerror(errno) : "an earlier write failed");
  clearerr(stdout); // said once
  return CLI_ENVIRONMENT;
}
