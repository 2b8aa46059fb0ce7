// What is done to the words of a command before argp sees them.
#ifndef CLI_ARGV_H
#define CLI_ARGV_H

#include <argp.h>

// -h becomes --help. -V and an option that no row of `argp` or its children has end the process: the latter with the
// name that was perhaps meant, where there is one.
void cli_argv_check(const struct argp *argp, int argc, char **argv);

#endif
