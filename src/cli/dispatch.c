// From `assay NAME` to the function of the command.
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static const struct command {
  const char *name;
  int (*run)(int argc, char **argv);
  bool fast;
  const char *text;
} commands[] = {
#define COMMAND_ROW(name, fast, text) {#name, cli_##name, fast, text},
    CLI_COMMANDS(COMMAND_ROW)
#undef COMMAND_ROW
};

static void usage(FILE *to) {
  fprintf(to, "Usage: assay COMMAND [OPTION...]\n\n"
              "Judges compute kernels: is it right, how fast is it, how far is it from the limit of the "
              "hardware?\n\nCommands:\n");
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
    fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].text);
  fprintf(to, "\n`assay COMMAND --help` explains a command. Exit codes: 0 pass, 1 a candidate failed, 2 wrong usage,\n"
              "3 something is wrong with the machine or a file.\n");
}

int cli_main(int argc, char **argv) {
  if (argc < 2) {
    usage(stderr);
    return CLI_USAGE;
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
    usage(stdout);
    return CLI_PASS;
  }
  if (strcmp(argv[1], "--version") == 0) {
    puts("assay " ASSAY_VERSION);
    return CLI_PASS;
  }
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
    if (strcmp(argv[1], commands[i].name) == 0) {
      char name[64];
      snprintf(name, sizeof name, "assay %s", commands[i].name);
      argv[1] = name;
      return commands[i].fast ? cli_in_front(commands[i].run, argc - 1, argv + 1) : commands[i].run(argc - 1, argv + 1);
    }
  fprintf(stderr, "assay: there is no command %s; `assay --help` lists them\n", argv[1]);
  return CLI_USAGE;
}
