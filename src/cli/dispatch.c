#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

struct command {
  const char *name;
  int (*run)(int argc, char **argv);
  const char *text;
  bool in_front; // somebody waits for each of its processes
};

static const struct command commands[] = {
    {"doctor", cli_doctor, "what this machine can do, and what would mend it", false},
    {"tasks", cli_tasks, "the tasks of a suite, with their size, floor and lint", false},
    {"show", cli_show, "one task: graph, workloads, floor, an equivalent PyTorch module", false},
    {"oracle", cli_oracle, "the answer to given or drawn inputs, in NumPy's files", false},
    {"judge", cli_judge, "judge candidates for one task", true},
    {"bench", cli_bench, "judge a folder of candidates over a suite; resumes where it stopped", false},
    {"score", cli_score, "what the runs in the store add up to", false},
    {"export", cli_export, "a run's verdicts in the files of KernelBench", false},
    {"plan", cli_plan, "launch plans: show, check, export as a C program", false},
    {"operators", cli_operators, "the page of all operators, as Markdown", false},
};

static void usage(FILE *to) {
  fprintf(to, "Usage: assay COMMAND [OPTION...]\n\n"
              "Judges compute kernels: is it right, how fast is it, how far from the hardware's limit.\n\nCommands:\n");
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
    fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].text);
  fprintf(to, "\n`assay COMMAND --help` explains a command. Exit codes: 0 pass, 1 a candidate failed, 2 wrong usage,\n"
              "3 the machine or a file is not as needed.\n");
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
      return commands[i].in_front ? cli_in_front(commands[i].run, argc - 1, argv + 1)
                                  : commands[i].run(argc - 1, argv + 1);
    }
  fprintf(stderr, "assay: there is no command %s; `assay --help` lists them\n", argv[1]);
  return CLI_USAGE;
}
