// The command line. Only this folder prints, exits and reads the environment.
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>

#include "assay/judge.h"
#include "base/arena.h"
#include "base/buf.h"
#include "store/store.h"

// Exit codes.
enum { CLI_PASS = 0, CLI_FAIL = 1, CLI_USAGE = 2, CLI_ENVIRONMENT = 3, CLI_INTERRUPTED = 130 };

// Where Assay's own files are, found from the program's place or the environment.
struct cli_paths {
  char program[4096]; // this executable
  char tasks[4096], include[4096], runner[4096], store[4096], temporary[4096];
  char device_runner[4096], builder[4096], recorder[4096];
  char worker_script[4096], worker_library[4096], library[4096];
  char cache[4096];                     // for Assay's own compiled device code; "": none
  const char *nvrtc;                    // $ASSAY_NVRTC or NULL
  const char *python;                   // $ASSAY_PYTHON or NULL
  const char *cublaslt, *cudnn, *cupti; // $ASSAY_CUBLASLT and so on, or NULL
  const char *path_env;
};
enum assay_status cli_paths_find(struct cli_paths *p, struct assay_error *err);

// Prints "assay: MESSAGE" to stderr and returns the exit code for the status.
int cli_fail(const struct assay_error *err);

int cli_main(int argc, char **argv);

// One function a command; argv[0] is "assay COMMAND". Each returns an exit code.
int cli_doctor(int argc, char **argv);
int cli_tasks(int argc, char **argv);
int cli_show(int argc, char **argv);
int cli_oracle(int argc, char **argv);
int cli_judge(int argc, char **argv);
int cli_bench(int argc, char **argv);
int cli_score(int argc, char **argv);
int cli_export(int argc, char **argv);
int cli_operators(int argc, char **argv);
int cli_plan(int argc, char **argv);
int cli_plan_save(int argc, char **argv);
int cli_plan_replay(int argc, char **argv);

// Options that commands share; the input of both is a struct cli_judging *.
extern const struct argp cli_common_argp; // --tasks, --store, --json
extern const struct argp cli_judge_argp;  // these and --workload, --as-published, --threads, ...
extern const struct argp_child cli_common_child[], cli_judge_child[]; // the children of a command's own argp
enum { CLI_MOST_BASELINES = 4 };
struct cli_judging {
  struct assay_judge_options options;
  struct cli_paths paths;
  const char *defines[32 + 1];
  int n_defines;
  const char *baselines[CLI_MOST_BASELINES + 1];
  int n_baselines;
  char *baseline_folder; // of those that are written; NULL: none yet
  struct buf baseline_path;
  bool json, no_store;
  const char *device; // --device, or NULL: by the candidate's ending
  struct assay_peaks cpu_peaks, cuda_peaks;
  struct assay_workbench *workbenches[2]; // opencl, cuda: opened when first needed
};
void cli_judging_init(struct cli_judging *j, const struct cli_paths *paths);
// Finds the paths, initialises `j`, which is part of *arguments, and parses; help and wrong usage end the program.
enum assay_status cli_begin(const struct argp *argp, int argc, char **argv, void *arguments, struct cli_judging *j,
                            struct assay_error *err);
// For a command that takes one argument only: a second one is wrong usage.
void cli_take_argument(const struct argp_state *state, const char *what, const char *arg, const char **out);
// After parsing: resolves threads, reads the machine's peaks from the store. `store` may be NULL.
void cli_judging_finish(struct cli_judging *j, struct store *store);
void cli_judging_close(struct cli_judging *j);
void cli_read_peaks(struct store *store, const char *key, struct assay_peaks *out);

// The device for a file's ending, or NULL. Python candidates run on a GPU where the machine has one, and on the CPU
// elsewhere; `wanted` (may be NULL) says otherwise.
const char *cli_device_of(const char *path, const char *wanted);

// Makes this file the candidate, and its device the device. `several`: more will follow, so what they share is opened.
enum assay_status cli_use_candidate(struct cli_judging *j, const char *path, bool several, struct assay_error *err);

// Baselines (docs/baselines.md) that go by a name: "torch.eager", ... In a table they are called so.
bool cli_is_baseline(const char *name);
// Another name is wrong usage; `or_file`: unless it is a candidate's file.
void cli_check_baseline(const struct argp_state *state, const char *name, bool or_file);
const char *cli_baseline_ending(const char *name); // ".py"; of one that there is
// The candidate that a name means for this task and workload, as text and as a file.
enum assay_status cli_baseline_text(const char *name, const char *task_path, bool as_published, const char *workload,
                                    struct buf *out, struct assay_error *err);
enum assay_status cli_baseline_write(const char *name, const char *task_path, bool as_published, const char *workload,
                                     const char *path, struct assay_error *err);
enum assay_status cli_baseline_folder(struct cli_judging *j, struct assay_error *err); // where files of them may be

// The command that repeats a judgement; heap string or NULL.
char *cli_repeat_command(const struct cli_judging *j, const char *task, const char *candidate, uint64_t seed);

// The store, or NULL with a warning on stderr when it cannot be opened and --no-store is not given.
struct store *cli_store_open(const struct cli_judging *j);

// Whether this machine has an NVIDIA driver; its GPU may be missing all the same.
bool cli_has_nvidia(void);

// Carries a command out; where there is an NVIDIA driver, in a child, so that nobody waits for the driver's last words.
// The exit code, or the signal, is the child's.
int cli_in_front(int (*command)(int argc, char **argv), int argc, char **argv);

// Text tables: cells are copied; columns are as wide as their widest cell, the last one is cut at the terminal's edge.
struct table;
struct table *table_create(const char *const *headers, int columns, const char *align); // align: 'l' or 'r' a column
void table_row(struct table *t, const char *const *cells);
void table_print(const struct table *t, FILE *to);
void table_destroy(struct table *t);

// "12.3 us"; text has room for 32 bytes; returns it. "-" for NaN.
const char *cli_time_text(double ns, char *text);
const char *cli_count_text(double n, const char *unit, char *text); // "1.2 GFLOP"
bool cli_colour(FILE *to);

// Verdicts as a table, for judge and bench; with baselines it has a column more.
struct table *cli_verdict_table(const struct cli_judging *j);
void cli_verdict_row(struct table *t, const struct cli_judging *j, const struct store_verdict *v);

// A progress bar on stderr; silent unless stderr is a terminal.
void cli_progress(const char *what, int done, int total);
void cli_progress_clear(void);

#endif
