#include <argp.h>

#include "cli/cli.h"

int main(int argc, char **argv) {
  argp_err_exit_status = CLI_USAGE;
  return cli_main(argc, argv);
}
