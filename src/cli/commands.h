// SPDX-License-Identifier: Apache-2.0
// The commands. To add one: a row here, its function cli_NAME in src/cli/NAME.c, a test in tests/program/cli.sh, a line
// in the README.
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include <stdbool.h>

// X(name, fast, what it does). fast: somebody waits for the end of its process, so it must not wait for a GPU's driver
// (front.c).
#define CLI_COMMANDS(X)                                                                                                \
  X(doctor, false, "what this machine can do, and how to fix what it cannot")                                          \
  X(tasks, false, "the tasks of a suite, with their size, floor and lint")                                             \
  X(show, false, "one task: graph, workloads, floor, an equivalent PyTorch module")                                    \
  X(oracle, false, "the answer to given or drawn inputs, as NumPy files")                                              \
  X(judge, true, "judge candidates for one task")                                                                      \
  X(bench, false, "judge a folder of candidates over a suite; resumes where it stopped")                               \
  X(make, false, "have language models write kernels, with the judge in the loop")                                     \
  X(tune, false, "try the configurations that a kernel declares, and judge the fastest")                               \
  X(trials, false, "what tuning cost: best-so-far curves of the tuners in the store")                                  \
  X(score, false, "correctness and speed of the runs in the store")                                                    \
  X(runs, false, "the runs in the store: list, rename, delete, merge, export, import")                                 \
  X(compare, false, "two runs, task by task, with intervals; or makers of kernels, shape by shape")                    \
  X(report, false, "the leaderboard as a static site")                                                                 \
  X(export, false, "a run's verdicts in KernelBench's file format")                                                    \
  X(serve, false, "the judge as a service: an HTTP interface, a queue, workers")                                       \
  X(plan, false, "launch plans: show, check, export as a C program, save, replay")                                     \
  X(operators, false, "the page of all operators, as Markdown")

// Each takes argv[0] = "assay NAME" and returns an exit code.
#define CLI_COMMAND_DECLARATION(name, fast, text) int cli_##name(int argc, char **argv);
CLI_COMMANDS(CLI_COMMAND_DECLARATION)
#undef CLI_COMMAND_DECLARATION

// `assay compare SUITE --with MAKER,...`; whether the arguments ask for it.
int cli_side(int argc, char **argv);
bool cli_is_side_by_side(int argc, char **argv);
// The first option among the arguments that only makers have; NULL: none.
const char *cli_side_word(int argc, char **argv);
// What `compare` takes, with and without makers, as JSON.
struct argp;
void cli_side_describe(const char *program, const struct argp *runs);

// Actions of `assay plan` that have a file of their own.
int cli_plan_save(int argc, char **argv);
int cli_plan_replay(int argc, char **argv);

#endif
