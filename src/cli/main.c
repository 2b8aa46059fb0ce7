#include <argp.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"

int main(int argc, char **argv) {
  argp_err_exit_status = CLI_USAGE;
  int code = cli_main(argc, argv);
#if !defined(__SANITIZE_ADDRESS__)
  // A GPU's driver takes its time to put things away that the system puts away by itself.
  fflush(NULL);
  _exit(code);
#endif
  return code;
}
