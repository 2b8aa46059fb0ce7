// SPDX-License-Identifier: Apache-2.0
// assay export RUN: a run's verdicts as files of KernelBench, KernelBench-X or flashinfer-bench; tasks as definitions
// of the last, or problems of GPU MODE.
#include <argp.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/json.h"
#include "cli/judging.h"
#include "report/flashinfer.h"
#include "report/gpu_mode.h"
#include "report/kernelbench.h"
#include "report/kernelbenchx.h"

enum { KEY_TO = 8000, KEY_LEVEL, KEY_NAME, KEY_FORMAT, KEY_TASK, KEY_BASELINE, MOST_TASKS = 256 };

enum format { FORMAT_KERNELBENCH, FORMAT_KERNELBENCHX, FORMAT_FLASHINFER, FORMAT_SOL, FORMAT_GPU_MODE };
static const char *const format_names[] = {"kernelbench",   "kernelbenchx", "flashinfer-bench",
                                           "sol-execbench", "gpu-mode",     NULL};

struct arguments {
  struct cli_judging judging;
  const char *run, *to, *name, *baseline;
  const char *tasks[MOST_TASKS];
  int level, n_tasks;
  enum format format;
};

static void check(struct argp_state *state, const struct arguments *a) {
  const bool definitions = a->format == FORMAT_FLASHINFER || a->format == FORMAT_SOL;
  const bool kernelbench = a->format == FORMAT_KERNELBENCH || a->format == FORMAT_KERNELBENCHX;
  if (!a->run && ((!definitions && a->format != FORMAT_GPU_MODE) || a->n_tasks == 0))
    argp_error(state, "name a run: `assay runs` lists them");
  if (!a->to)
    argp_error(state, "say where to: --to FOLDER%s",
               kernelbench   ? ", KernelBench's folder `runs`"
               : definitions ? ", that of a data set"
                             : "");
  if (kernelbench && a->n_tasks > 0)
    argp_error(state, "--task is for other formats than KernelBench's");
  if (!kernelbench && a->name)
    argp_error(state, "--name is for KernelBench's formats");
  if (a->format != FORMAT_KERNELBENCH && a->level)
    argp_error(state, "--level is for KernelBench's format");
  if (a->format != FORMAT_KERNELBENCHX && a->baseline)
    argp_error(state, "--baseline is for --format kernelbenchx, whose files have speedups");
}

static error_t parse(int key, char *arg, struct argp_state *state) {
  struct arguments *a = state->input;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &a->judging;
    return 0;
  case KEY_TO:
    a->to = arg;
    return 0;
  case KEY_NAME:
    a->name = arg;
    return 0;
  case KEY_FORMAT:
    a->format = (enum format)cli_take_choice(state, "--format takes", format_names, arg);
    return 0;
  case KEY_TASK:
    if (a->n_tasks == MOST_TASKS)
      argp_error(state, "--task is given more than %d times", MOST_TASKS);
    a->tasks[a->n_tasks++] = arg;
    return 0;
  case KEY_BASELINE:
    a->baseline = arg;
    return 0;
  case KEY_LEVEL:
    a->level = strlen(arg) == 1 && arg[0] >= '1' && arg[0] <= '4' ? arg[0] - '0' : 0;
    if (!a->level)
      argp_error(state, "--level takes 1, 2, 3 or 4, not '%s'", arg);
    return 0;
  case ARGP_KEY_ARG:
    cli_take_argument(state, "RUN", arg, &a->run);
    return 0;
  case ARGP_KEY_END:
    check(state, a);
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option options[] = {
    {"to", KEY_TO, "FOLDER", 0, "KernelBench's folder `runs`, that of a data set, or another; made if missing", 0},
    {"format", KEY_FORMAT, "FORMAT", 0,
     "kernelbench (default): eval_results.json; kernelbenchx: metrics.json and summary.json; flashinfer-bench or "
     "sol-execbench: traces; gpu-mode: results",
     0},
    {"task", KEY_TASK, "TASK", 0,
     "where a task of the run is, if not among the suites; without RUN, what to write as definitions or problems", 0},
    {"name", KEY_NAME, "NAME", 0,
     "the run's name there (default: RUN, with _ for everything but letters, digits, '.' and '-')", 0},
    {"level", KEY_LEVEL, "N", 0, "KernelBench's level, if the run has verdicts on several", 0},
    {"baseline", KEY_BASELINE, "RUN|FOLDER", 0,
     "for kernelbenchx: what speedups are over, a run of the store at the same sizes, or a folder of reference "
     "timings, metrics/golden_results/MACHINE",
     0},
    {0},
};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .children = cli_both_child,
    .args_doc = "RUN\n--format flashinfer-bench --task TASK\n--format gpu-mode --task TASK",
    .doc =
        "Writes the verdicts of a run in KernelBench's format, FOLDER/NAME/eval_results.json, or in KernelBench-X's, "
        "for their scripts and other tools: one sample per candidate, times in milliseconds. `metadata` has what "
        "KernelBench has no field for: the reason, the error in units of honest error, the floor. A sample whose time "
        "is suspicious counts as incorrect. In flashinfer-bench's format: traces, "
        "FOLDER/traces/assay/OP/DEFINITION.jsonl; and without RUN the tasks themselves, FOLDER/definitions and "
        "FOLDER/workloads. In GPU MODE's: FOLDER/PROBLEM/SUBMISSION.json; and without RUN the tasks as problems, "
        "FOLDER/PROBLEM/task.yml with its files.",
};

static char *plain_name(const char *run) {
  char *name = base_strndup(run, strlen(run));
  for (char *c = name; name && *c; c++)
    if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-", *c))
      *c = '_';
  return name;
}

static void print_done(const struct arguments *a, const char *name, const struct kernelbench_export *done) {
  if (a->judging.json) {
    json_t *j =
        json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "folder", a->to, "name", name, "level", done->level,
                  "problems", done->problems, "samples", done->samples, "correct", done->correct, "without_time",
                  done->without_time, "not_at_full", done->not_full, "judged_shape_only", done->judged_shape_only);
    cli_json_print(cli_json_of("export", j));
    return;
  }
  printf("%s/%s/eval_results.json: level %d, %d problem%s, %d sample%s, %d correct\n", a->to, name, done->level,
         done->problems, done->problems == 1 ? "" : "s", done->samples, done->samples == 1 ? "" : "s", done->correct);
  if (done->judged_shape_only > 0)
    printf(
        "%d of the correct samples are right at the judged shape alone, which `metadata` says and `assay score` counts "
        "apart\n",
        done->judged_shape_only);
  if (done->without_time > 0)
    printf("%d correct samples have no time: KernelBench's speedups will be wrong\n", done->without_time);
  if (done->not_full > 0)
    printf("%d samples were not judged at full: KernelBench's baseline times are of the published sizes\n",
           done->not_full);
}

static void print_done_x(const struct arguments *a, const char *name, const struct kernelbenchx_export *e) {
  if (a->judging.json) {
    cli_json_print(
        cli_json_of("export_stages", json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i}", "folder", a->to, "name",
                                               name, "files", e->files, "call", e->call, "exe", e->exe, "perf", e->perf,
                                               "with_speedup", e->with_speedup, "incomplete", e->incomplete)));
    return;
  }
  printf("%s/%s/metrics.json: %d files, call %d, exe %d, perf %d\n", a->to, name, e->files, e->call, e->exe, e->perf);
  if (e->incomplete > 0)
    printf("%d files are right and not timed at every size, so that their perf is false: judge with --workload "
           "'size*'\n",
           e->incomplete);
  if (e->perf > e->with_speedup)
    printf("%d timed files have no speedup: %s\n", e->perf - e->with_speedup,
           a->baseline ? "the baseline has none of their sizes" : "name what to compare with, --baseline RUN|FOLDER");
}

static enum assay_status export_x(const struct arguments *a, struct store *store, const char *name,
                                  struct assay_error *err) {
  struct kernelbenchx_results results = {0}, reference = {0};
  struct kernelbenchx_baseline baseline = {0};
  struct kernelbenchx_export done;
  const char *tasks = a->judging.paths.tasks;
  bool folder = a->baseline && access(a->baseline, X_OK) == 0;
  enum assay_status status = store_check_run(store, a->run, err);
  if (!status)
    status = kernelbenchx_collect(store, a->run, tasks, &results, err);
  if (!status && a->baseline && !folder && !(status = store_check_run(store, a->baseline, err)))
    status = kernelbenchx_collect(store, a->baseline, tasks, &reference, err);
  baseline.folder = folder ? a->baseline : NULL;
  baseline.run = folder ? NULL : &reference;
  if (!status)
    status = kernelbenchx_check_baseline(&baseline, &results, err);
  if (!status)
    status = kernelbenchx_write(&results, a->baseline ? &baseline : NULL, a->to, name, &done, err);
  if (!status)
    print_done_x(a, name, &done);
  kernelbenchx_results_release(&results);
  kernelbenchx_results_release(&reference);
  return status;
}

static enum assay_status write_kernelbench(struct arguments *a, struct store *store, struct assay_error *err) {
  struct kernelbench_export done;
  char *name = plain_name(a->name ? a->name : a->run);
  enum assay_status status = name ? ASSAY_OK : error_nomem(err, "a name");
  if (!status && a->format == FORMAT_KERNELBENCHX)
    status = export_x(a, store, name, err);
  else if (!status && !(status = kernelbench_write_run(store, a->run, a->level, a->to, name, &done, err)))
    print_done(a, name, &done);
  base_free(name);
  return status;
}

static void print_traces(const struct arguments *a, const struct flashinfer_export *done) {
  if (a->judging.json) {
    json_t *j =
        json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i}", "folder", a->to, "format", format_names[a->format],
                  "definitions", done->definitions, "traces", done->traces, "passed", done->passed, "failed",
                  done->failed, "without_time", done->without_time, "without_task", done->without_place);
    cli_json_print(cli_json_of("export_traces", j));
    return;
  }
  printf("%s/traces: %d definitions, %d traces, %d passed\n", a->to, done->definitions, done->traces, done->passed);
  if (done->without_time > 0)
    printf("%d passes have no time and are left out: a trace that passed has one; judge them without --no-timing\n",
           done->without_time);
  if (done->without_place > 0)
    printf(
        "%d verdicts are left out: their task's file was not found, or has no definition; name it with --task FILE\n",
        done->without_place);
}

static enum assay_status write_submissions(const struct arguments *a, struct store *store, char *const *paths,
                                           struct assay_error *err) {
  struct gpu_mode_export done;
  const struct task_files_where places = {a->judging.paths.tasks, (const char *const *)paths, a->n_tasks};
  enum assay_status status = gpu_mode_write_run(store, a->run, &places, a->to, &done, err);
  if (status)
    return status;
  if (a->judging.json) {
    cli_json_print(
        cli_json_of("export_submissions",
                    json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:i}", "folder", a->to, "format", format_names[a->format],
                              "submissions", done.submissions, "cases", done.cases, "unjudged", done.unjudged,
                              "untested", done.untested, "without_task", done.without_place)));
    return ASSAY_OK;
  }
  printf("%s: %d submissions, %d cases\n", a->to, done.submissions, done.cases);
  if (done.unjudged > 0)
    printf("%d cases are left out: not judged at their sizes, or without a time (assay bench --workload each)\n",
           done.unjudged);
  if (done.untested > 0)
    printf(
        "%d submissions have no file: none was judged at the sizes of a test, and none of these says that it fails\n",
        done.untested);
  if (done.without_place > 0)
    printf("%d verdicts are left out: their task's file was not found, or is not made of a problem; name it with "
           "--task FILE\n",
           done.without_place);
  return ASSAY_OK;
}

// Paths of the tasks that were named; *paths: heap array of heap strings.
static enum assay_status find_tasks(const struct arguments *a, char **paths, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < a->n_tasks && !status; i++)
    status = task_find(a->judging.paths.tasks, a->tasks[i], &paths[i], err);
  return status;
}

static enum assay_status write_traces(const struct arguments *a, struct store *store, char *const *paths,
                                      struct assay_error *err) {
  struct flashinfer_export done;
  const struct task_files_where places = {a->judging.paths.tasks, (const char *const *)paths, a->n_tasks};
  const enum flashinfer_dialect dialect = a->format == FORMAT_SOL ? FLASHINFER_SOL : FLASHINFER_BENCH;
  enum assay_status status = flashinfer_write_run(store, a->run, dialect, &places, a->to, &done, err);
  if (!status)
    print_traces(a, &done);
  return status;
}

static enum assay_status write_definitions(const struct arguments *a, char *const *paths, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  int workloads = 0, all = 0;
  for (int i = 0; i < a->n_tasks && !status; i++) {
    struct task t;
    status = task_read(paths[i], false, &t, err);
    if (status)
      break;
    if (a->format == FORMAT_GPU_MODE)
      status = gpu_mode_write_task(&t, a->to, err);
    else
      status = flashinfer_write_task(&t, a->to, &workloads, err);
    all += workloads;
    task_release(&t);
  }
  if (!status && a->judging.json)
    cli_json_print(cli_json_of("export_definitions",
                               json_pack("{s:s, s:s, s:i, s:i}", "folder", a->to, "format", format_names[a->format],
                                         "definitions", a->n_tasks, "workloads", all)));
  else if (!status && a->format == FORMAT_GPU_MODE)
    printf("%s: %d problem%s\n", a->to, a->n_tasks, a->n_tasks == 1 ? "" : "s");
  else if (!status)
    printf("%s/definitions: %d, with %d workload%s\n", a->to, a->n_tasks, all, all == 1 ? "" : "s");
  return status;
}

int cli_export(int argc, char **argv) {
  struct arguments a = {0};
  struct assay_error err = {0};
  struct store *store = NULL;
  char *paths[MOST_TASKS] = {0};
  if (cli_begin(&argp, argc, argv, &a, &a.judging, &err) != ASSAY_OK)
    return cli_fail(&err);
  enum assay_status status = find_tasks(&a, paths, &err);
  if (!status && a.run)
    status = store_open_existing(a.judging.paths.store, &store, &err);
  if (!status && !a.run)
    status = write_definitions(&a, paths, &err);
  else if (!status && a.format == FORMAT_GPU_MODE)
    status = write_submissions(&a, store, paths, &err);
  else if (!status)
    status = a.format == FORMAT_FLASHINFER || a.format == FORMAT_SOL ? write_traces(&a, store, paths, &err)
                                                                     : write_kernelbench(&a, store, &err);
  store_close(store);
  for (int i = 0; i < a.n_tasks; i++)
    base_free(paths[i]);
  return status ? cli_fail(&err) : CLI_PASS;
}
