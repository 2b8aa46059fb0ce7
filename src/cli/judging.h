// SPDX-License-Identifier: Apache-2.0
// What commands that judge, or need the judge's options, share: options, candidates, baselines, the store, rows of
// verdicts.
#ifndef CLI_JUDGING_H
#define CLI_JUDGING_H

#include <argp.h>
#include <stdbool.h>

#include "assay/judge.h"
#include "base/arena.h"
#include "base/buf.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "judge/form.h"
#include "plan/device.h"
#include "report/view.h"
#include "store/store.h"

enum { CLI_MOST_BASELINES = 4, CLI_MOST_DEFINES = 32 };

// The arguments of an option that may be repeated. NULL-terminated.
struct cli_list {
  const char *items[CLI_MOST_DEFINES + 2]; // room for a twin's macro after those of the options
  int n;
};

// What candidates for one device share.
struct cli_device {
  const struct plan_device *device;
  struct assay_peaks peaks;          // all 0: never measured, or times there are not ranked
  struct assay_workbench *workbench; // opened when first needed; NULL also where the device has no plans
};
#define CLI_COUNT_DEVICE(...) +1
enum { CLI_DEVICES = 0 PLAN_DEVICES(CLI_COUNT_DEVICE) };
#undef CLI_COUNT_DEVICE

struct cli_judging {
  struct assay_judge_options options;
  struct cli_paths paths;
  bool store_named; // by an option: then that there is none is said
  struct cli_list defines, baselines;
  char *baseline_folder; // for the files of baselines that have a name; NULL: not made yet
  struct buf baseline_path;
  bool json, no_store;
  enum cli_color color;
  enum cli_progress progress;
  const char *tasks;  // --tasks, or NULL: paths.tasks was found next to the program
  const char *device; // --device, or NULL: by the candidate's ending
  struct cli_device devices[CLI_DEVICES];
};

// --- a command's beginning and end (common.c, judging.c)

extern const struct argp cli_common_argp;   // --tasks, --store, --json
extern const struct argp cli_judge_argp;    // these and the options of a judgement (options.c)
extern const struct argp cli_no_store_argp; // --no-store, for a command that can do without; input: cli_judging
extern const struct argp_child cli_common_child[], cli_judge_child[]; // for a command's own argp; input: cli_judging
// For one in which some of the common options would do nothing: those of tasks, of the store, of both, ...
extern const struct argp_child cli_tasks_child[], cli_store_child[], cli_both_child[], cli_server_child[],
    cli_plan_child[], cli_color_child[];
// For one in which most options of a judgement would: those with these names (NULL-terminated), and `common`.
const struct argp_child *cli_judge_some(const char *const *names, const struct argp_child *common);
// For one in which few of them would: all but those, and all common options.
const struct argp_child *cli_judge_but(const char *const *names);

// Finds the paths, initialises `j`, which is part of *arguments, and parses. Help and wrong usage end the process.
enum assay_status cli_begin(const struct argp *argp, int argc, char **argv, void *arguments, struct cli_judging *j,
                            struct assay_error *err);
// The index of `arg` in `names` (NULL-terminated). Else the usage error "WHAT a or b, not 'arg'; did you mean a?".
int cli_take_choice(const struct argp_state *state, const char *what, const char *const *names, const char *arg);
// The whole number from `least` to `most` that --NAME was given; else a usage error.
int cli_take_whole(const struct argp_state *state, const char *name, int least, int most, const char *arg);
// --color, for every command: its row of options, and its value.
#define CLI_COLOR_OPTION(key)                                                                                          \
  {                                                                                                                    \
    "color", (key), "WHEN", 0,                                                                                         \
        "colours in tables and messages: auto (default: on a terminal, unless $NO_COLOR is set), always or never", 0   \
  }
enum cli_color cli_take_color(const struct argp_state *state, const char *arg);
// "no run is in STORE yet: ..."
void cli_say_no_runs(const char *store);
// On stderr: which of the candidate's directives is not understood, if one is. The second: this one.
void cli_note_directives(const char *candidate);
void cli_say_malformed(const char *candidate, const char *malformed);
// For a command that takes one argument: a second one is wrong usage.
void cli_take_argument(const struct argp_state *state, const char *what, const char *arg, const char **out);

// For a command whose arguments are names alone, with the common options and some of CLI_KEY_YES and CLI_KEY_COMPACT.
// Its argp has cli_parse_words as parser and cli_common_child as children; the input is a struct cli_words.
enum { CLI_MOST_WORDS = 64, CLI_KEY_YES = 9000, CLI_KEY_COMPACT };
struct cli_words {
  struct cli_judging judging;
  bool yes, compact;
  const char *items[CLI_MOST_WORDS + 1]; // NULL after the last
  int n;
};
error_t cli_parse_words(int key, char *arg, struct argp_state *state);

// Finds the paths. The options point into *j, which is not copied.
enum assay_status cli_judging_init(struct cli_judging *j, struct assay_error *err);
// After parsing: sets the number of threads and reads the machine's peaks from the store, which may be NULL.
void cli_judging_finish(struct cli_judging *j, struct store *store);
void cli_judging_close(struct cli_judging *j);

// The store. With --no-store NULL; NULL and a warning on stderr when it cannot be opened.
struct store *cli_store_open(const struct cli_judging *j);
// For its peaks alone: where there is none, none is made, and there is nothing to warn of.
struct store *cli_store_read(const struct cli_judging *j);

// --- options (options.c)

// The name of the first option whose value differs; NULL: none.
const char *cli_judging_differ(const struct cli_judging *a, const struct cli_judging *b);

// The shell command that repeats a judgement, with the seed and the secret of its verdict; heap string or NULL.
char *cli_repeat_command(const struct cli_judging *j, const char *task, const char *candidate,
                         const struct assay_verdict *v);

// --- workloads (workloads.c)

// "each": a task's sweep, all but small, full and the ragged ones.
#define CLI_EACH_WORKLOAD "each"
// Whether --workload stands for several: "each" or a shell pattern, "size*".
bool cli_is_workload_pattern(const char *text);
// The task's workloads that it stands for, in the task's order; else the text itself. NULL-terminated, in the arena.
// ASSAY_ERR_USAGE: none.
enum assay_status cli_workloads_of(const char *task_path, const char *pattern, struct arena *arena,
                                   const char *const **names, struct assay_error *err);

// --- candidates (candidate.c)

// The form of a file by its ending, for the device of the name `wanted` if it has one for it; else, or where that is
// NULL, the usual one: Python candidates run on a GPU where the machine has one, else on the CPU. ASSAY_ERR_USAGE for
// other endings.
enum assay_status cli_form_of(const char *path, const char *wanted, const struct form **out, struct assay_error *err);

// The task of a file that is called as KernelBench calls them, level_1_problem_19_sample_0_kernel.py. False: it is not.
bool cli_task_of_kernelbench(const char *path, char *name, size_t size);

struct cli_device *cli_device(struct cli_judging *j, const struct plan_device *device);

// Makes this file the candidate and its device the device. `several`: more follow, so it is worth opening what they
// share.
enum assay_status cli_use_candidate(struct cli_judging *j, const char *path, bool several, struct assay_error *err);
void cli_workbenches_leave(struct cli_judging *j); // at the end of the process

// --- baselines that have a name, "torch.eager" (baseline.c, docs/baselines.md)

bool cli_is_baseline(const char *name);
// ASSAY_ERR_USAGE for a name that --contract does not take.
enum assay_status cli_contract_check(const char *name, struct assay_error *err);
// ASSAY_ERR_USAGE for any other name; with `or_file` a candidate's file is fine too.
enum assay_status cli_baseline_check(const char *name, bool or_file, struct assay_error *err);
const char *cli_baseline_ending(const char *name); // of its file, ".py"; the name must be a baseline's

// The candidate that a name means for a task and a workload.
struct cli_baseline_request {
  const char *name, *task_path, *workload;
  bool as_published;
  const char *contract; // as in the options of a judgement
};
struct cli_baseline_request cli_baseline_of(const char *name, const char *task_path,
                                            const struct assay_judge_options *o);
enum assay_status cli_baseline_text(const struct cli_baseline_request *r, struct buf *out, struct assay_error *err);
enum assay_status cli_baseline_write(const struct cli_baseline_request *r, const char *path, struct assay_error *err);
enum assay_status cli_baseline_folder(struct cli_judging *j, struct assay_error *err); // makes the folder for the files
enum assay_status cli_baselines_open(struct cli_judging *j, struct assay_error *err);  // those of --baseline
void cli_baselines_close(struct cli_judging *j);

// --- messages (own_path.c)

// A compiler's messages with the path that the user gave in place of the judge's name for its copy. Appends to `out`.
// Twins ("x.cu -DTAIL") are files too.
void cli_own_paths(const char *text, const char *candidate, struct buf *out);

// What a verdict's candidate is called: with the command's macros it is another kernel ("x.cu -DTILE=64"), as twins
// are.
void cli_put_label(const char *candidate, const struct cli_list *defines, struct buf *out);

// --- verdicts as a table (verdict_row.c)

// `speedups`: with a column for the speedups over baselines. No cell is ever "nan" or "inf".
struct table *cli_verdict_table(bool speedups, enum cli_color color);
void cli_verdict_row(struct table *t, bool speedups, const struct verdict_view *v);
// Of a file that has no verdict: `said` stands in its place, `why` in the last column.
void cli_unjudged_row(struct table *t, bool speedups, const char *task, const char *file, const char *said,
                      const char *why);

#endif
