// SPDX-License-Identifier: Apache-2.0
// From `assay NAME` to the function of the command.
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/printable.h"
#include "cli/argv.h"
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

static const char purpose[] =
    "Judges compute kernels: is it right, how fast is it, how far is it from the limit of the hardware?";

static void usage(FILE *to) {
  fprintf(to, "Usage: assay COMMAND [OPTION...]\n\n%s\n\nCommands:\n", purpose);
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
    fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].text);
  fprintf(to, "\n`assay help COMMAND` explains a command, as `assay COMMAND -h` does. Exit codes:\n0 pass, "
              "1 a candidate failed, 2 wrong usage, 3 something is wrong with the machine or a file.\n");
}

static void describe(void) {
  struct cli_word words[sizeof commands / sizeof *commands];
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
    words[i] = (struct cli_word){commands[i].name, commands[i].text};
  cli_describe_words("assay", "COMMAND [OPTION...]", purpose, "commands", words, sizeof words / sizeof *words);
}

static const struct command *find(const char *name) {
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
    if (strcmp(name, commands[i].name) == 0)
      return &commands[i];
  return NULL;
}

static int no_command(const char *word) {
  char shown[128], meant[64];
  struct nearest near = {.word = word};
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
    nearest_offer(&near, commands[i].name);
  fprintf(stderr, "assay: there is no command %s%s; `assay --help` lists them\n",
          printable_line(word, shown, sizeof shown), nearest_text(&near, meant, sizeof meant));
  return CLI_USAGE;
}

static int run(const struct command *c, int argc, char **argv) {
  char name[64];
  snprintf(name, sizeof name, "assay %s", c->name);
  argv[0] = name;
  return c->fast ? cli_in_front(c->run, argc, argv) : c->run(argc, argv);
}

static bool is_one_of(const char *word, const char *a, const char *b, const char *c) {
  return strcmp(word, a) == 0 || strcmp(word, b) == 0 || strcmp(word, c) == 0;
}

int cli_main(int argc, char **argv) {
  static char help[] = "--help";
  if (argc < 2) {
    usage(stderr);
    return CLI_USAGE;
  }
  if (argc >= 3 && strcmp(argv[1], "help") == 0) { // `help plan show` is `plan show --help`
    char *words[] = {argv[1], argc > 3 ? argv[3] : help, argc > 3 ? help : NULL, NULL};
    const struct command *c = find(argv[2]);
    return c ? run(c, argc > 3 ? 3 : 2, words) : no_command(argv[2]);
  }
  if (is_one_of(argv[1], "--help", "-h", "help")) {
    usage(stdout);
    return CLI_PASS;
  }
  if (is_one_of(argv[1], "--version", "-V", "version")) {
    puts("assay " ASSAY_VERSION);
    return CLI_PASS;
  }
  if (strcmp(argv[1], CLI_DESCRIBE) == 0) {
    describe();
    return CLI_PASS;
  }
  const struct command *c = find(argv[1]);
  return c ? run(c, argc - 1, argv + 1) : no_command(argv[1]);
}
