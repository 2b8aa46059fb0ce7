// SPDX-License-Identifier: Apache-2.0
// assay tune TASK FILE: every configuration that the file declares, timed by the judge; the fastest judged in full.
#include <argp.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/printable.h"
#include "cli/cells.h"
#include "cli/interrupt.h"
#include "cli/json.h"
#include "cli/judging.h"
#include "cli/progress.h"
#include "cli/trials.h"
#include "judge/form.h"
#include "task/task.h"
#include "tune/tuner.h"

struct arguments {
  struct cli_judging judging;
  const char *task, *file, *run, *out;
  long trials, parallel, finalists;
  double seconds, give_up;
  bool retime;
  uint64_t seed;
  struct tuner_options tuner;
  struct cli_interrupt interrupt;
  struct cli_meter meter;
  char said[400]; // why the trial before had no time
};

enum {
  KEY_RUN = 9100,
  KEY_OUT,
  KEY_TRIALS,
  KEY_PARALLEL,
  KEY_SECONDS,
  KEY_GIVE_UP,
  KEY_FINALISTS,
  KEY_RETIME,
  KEY_SEED
};

// Options of a judgement that mean nothing here: the seed of a search is another, its secret follows from that, the
// finalists have fresh ones, and the fastest is chosen by times.
static const char *const left_out[] = {"seed", "secret", "no-timing", NULL};

static long whole(struct argp_state *state, const char *what, const char *arg, long low, long high) {
  char *end;
  errno = 0;
  long n = strtol(arg, &end, 10);
  if (*arg == '\0' || *end || errno || n < low || n > high)
    argp_error(state, "--%s takes a number from %ld to %ld, not '%s'", what, low, high, arg);
  return n;
}

static double real(struct argp_state *state, const char *what, const char *arg, double low) {
  char *end;
  double x = strtod(arg, &end);
  if (*arg == '\0' || *end || !(x >= low) || !isfinite(x))
    argp_error(state, "--%s takes a number that is not below %g, not '%s'", what, low, arg);
  return x;
}

static error_t parse(int key, char *arg, struct argp_state *state) {
  struct arguments *a = state->input;
  switch (key) {
  case KEY_TRIALS:
    a->trials = whole(state, "trials", arg, 1, TUNE_MOST_CONFIGURATIONS);
    return 0;
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &a->judging;
    return 0;
  case KEY_RUN:
    a->run = arg;
    return 0;
  case KEY_OUT:
    a->out = arg;
    return 0;
  case KEY_PARALLEL:
    a->parallel = whole(state, "parallel", arg, 1, 64);
    return 0;
  case KEY_FINALISTS:
    a->finalists = whole(state, "finalists", arg, 1, 64);
    return 0;
  case KEY_SECONDS:
    a->seconds = real(state, "budget-seconds", arg, 0.001);
    return 0;
  case KEY_RETIME:
    a->retime = true;
    return 0;
  case KEY_SEED:
    a->seed = (uint64_t)whole(state, "seed", arg, 1, INT64_MAX);
    return 0;
  case KEY_GIVE_UP:
    a->give_up = real(state, "give-up", arg, 1);
    return 0;
  case ARGP_KEY_ARG:
    if (!a->task)
      a->task = arg;
    else
      cli_take_argument(state, "file", arg, &a->file);
    return 0;
  case ARGP_KEY_END:
    if (!a->file)
      argp_error(state, "name a task and a file: assay tune kernelbench/1/1 matmul.cu");
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option options[] = {
    {"run", KEY_RUN, "NAME", 0, "name of the run in the store (default: after task, workload, device and file)", 0},
    {"out", KEY_OUT, "DIR", 0, "folder for the best configuration's source (default: tuned/ next to the store)", 0},
    {"trials", KEY_TRIALS, "N", 0, "try at most so many configurations (default: all that the constraints allow)", 0},
    {"budget-seconds", KEY_SECONDS, "S", 0, "end the search after so many seconds, earlier calls included", 0},
    {"parallel", KEY_PARALLEL, "N", 0, "compile so many configurations at once (default: one for each CPU)", 0},
    {"give-up", KEY_GIVE_UP, "X", 0, "stop timing what is X times slower than the best (default 1.5; 1: never)", 0},
    {"finalists", KEY_FINALISTS, "N", 0, "judge so many of the fastest in full (default 3)", 0},
    {"seed", KEY_SEED, "N", 0,
     "the order of the search and the inputs of its trials follow from N (default 1); the fastest are judged with "
     "fresh ones",
     0},
    {"retime", KEY_RETIME, 0, 0,
     "judge in full whatever was the best so far when it was tried, and take the curve's times from there", 0},
    {0},
};
static const struct argp argp = {
    .args_doc = "TASK FILE",
    .options = options,
    .parser = parse,
    .doc =
        "Tunes a candidate (.c, .cl, .cu, .py) that declares parameters, `// assay: tune TILE 16,32,64`.\vEvery "
        "configuration is compiled, checked and timed briefly; the fastest are judged in full, with fresh inputs, "
        "and the best of these wins. Every trial is in the store as soon as it ended: the same command goes on where "
        "it was. `assay trials` shows the curve again.",
};

static bool is_timed(const struct store_trial *t) {
  return t->status == STORE_TRIAL_OK || t->status == STORE_TRIAL_SLOW;
}

static void show_trial(void *arg, const struct store_trial *t, double best_ns, int64_t count) {
  struct arguments *a = arg;
  char time[32], best[32], detail[400];
  if (a->judging.progress == CLI_PROGRESS_NONE)
    return;
  cli_progress_clear();
  cells_printf(stderr, "%lld/%lld  %s  %s %s  best %s\n", (long long)t->number + 1, (long long)count, t->configuration,
               store_trial_status_name(t->status), cli_time_text(t->time_ns, time), cli_time_text(best_ns, best));
  if (!is_timed(t) && t->detail && t->detail[0]) {
    printable_line(t->detail, detail, sizeof detail);
    cells_printf(stderr, "    %s\n", strcmp(detail, a->said) == 0 ? "the same" : detail);
    memcpy(a->said, detail, sizeof a->said);
  }
  snprintf(detail, sizeof detail, t->number + 1 < count ? "best %s" : "the fastest are judged in full", best);
  if (cli_progress_is_bar(a->judging.progress))
    cli_meter_show(&a->meter, detail, (int)t->number + 1, (int)count);
}

static char *command_of(void *arg, const struct assay_judge_options *o, const struct assay_verdict *v) {
  struct arguments *a = arg;
  struct cli_judging j = a->judging;
  j.options = *o;
  return cli_repeat_command(&j, a->task, o->candidate, v);
}

// The run's name, where none was given: another file is another run.
static enum assay_status name_run(struct arguments *a, const char *task_name, struct buf *run,
                                  struct assay_error *err) {
  const struct assay_judge_options *o = &a->judging.options;
  char *source = NULL, hash[HASH_HEX_BYTES];
  size_t n = 0;
  enum assay_status status = file_read(a->file, FORM_MOST_BYTES, &source, &n, err);
  if (status)
    return status;
  hash_sha256_hex(source, n, hash);
  base_free(source);
  const char *slash = strrchr(a->file, '/');
  buf_printf(run, "tune %s %s %s on %s, %.12s", slash ? slash + 1 : a->file, task_name, o->workload, o->device, hash);
  if (a->tuner.seed != 1)
    buf_printf(run, ", seed %llu", (unsigned long long)a->tuner.seed);
  return buf_status(run, err);
}

static enum assay_status make_folder(const struct arguments *a, struct buf *folder, struct assay_error *err) {
  const char *store = a->judging.paths.store, *slash = strrchr(store, '/');
  char hash[HASH_HEX_BYTES];
  hash_sha256_hex(a->tuner.run, strlen(a->tuner.run), hash);
  if (a->out)
    buf_puts(folder, a->out);
  else
    buf_printf(folder, "%.*s/tuned/%.12s", slash ? (int)(slash - store) : 1, slash ? store : ".", hash);
  enum assay_status status = buf_status(folder, err);
  return status ? status : file_make_folders(buf_str(folder), err);
}

// The first configuration without a time, and why.
static bool note_failure(void *arg, const struct store_trial *t) {
  struct buf *why = arg;
  char detail[400];
  if (is_timed(t))
    return true;
  printable_line(t->detail ? t->detail : "", detail, sizeof detail);
  buf_printf(why, "; the first without: %.100s, %s%s%s", t->configuration, store_trial_status_name(t->status),
             detail[0] ? ": " : "", detail);
  return false;
}

static void print_none(const struct arguments *a, const struct tuner_result *r, struct store *store) {
  struct buf why = {0};
  struct assay_error ignored = {0};
  if (a->interrupt.stop) {
    cells_printf(stdout, "\ninterrupted before the fastest were judged in full; the same command goes on\n");
    return;
  }
  if (r->untimed_best[0])
    buf_printf(&why, ": %s", r->untimed_best);
  else
    store_each_trial(store, a->tuner.run, note_failure, &why, &ignored);
  cells_printf(stdout, "\nno configuration is right at every question and has a time%s\n", buf_str(&why));
  buf_release(&why);
}

static void print_text(const struct arguments *a, const struct tuner_result *r, struct store *store,
                       const struct trials *all) {
  char time[32], name[512];
  cli_trials_print(store, all, a->tuner.run, stdout);
  if (r->best < 0)
    print_none(a, r, store);
  else
    printf("\nbest: %s  %s, judged in full\n%s\n", printable_line(r->configuration, name, sizeof name),
           cli_time_text(r->best_ns, time), r->file);
  bool spent = a->tuner.budget_ns > 0 && r->spent_ns >= a->tuner.budget_ns;
  const char *how = spent ? "with more --budget-seconds, as these are spent, the same command" : "the same command";
  if (r->untimed > 0)
    printf("%lld of %lld configurations are right and have no time; %s tries them again\n", (long long)r->untimed,
           (long long)r->tried, how);
  if (!r->complete)
    printf("%lld of %lld configurations were tried; %s goes on\n", (long long)r->tried, (long long)r->count, how);
}

static void print_json(const struct arguments *a, const struct tuner_result *r, struct store *store,
                       const struct trials *all) {
  json_t *object =
      json_pack("{s:o, s:I, s:I, s:I, s:b, s:o, s:o, s:o, s:o}", "run", cli_json_text(a->tuner.run), "configurations",
                (json_int_t)r->count, "tried", (json_int_t)r->tried, "tried_before", (json_int_t)r->tried_before,
                "complete", r->complete, "configuration", cli_json_text(r->best < 0 ? NULL : r->configuration), "file",
                cli_json_text(r->best < 0 ? NULL : r->file), "time_ns", cli_json_real(r->best_ns), "curves",
                cli_trials_json(store, all, a->tuner.run));
  cli_json_print(cli_json_of("tune", object));
}

static enum assay_status print(const struct arguments *a, const struct tuner_result *r, struct store *store,
                               struct assay_error *err) {
  struct trials all;
  enum assay_status status = trials_gather(store, &all, err);
  if (!status && a->judging.json)
    print_json(a, r, store, &all);
  else if (!status)
    print_text(a, r, store, &all);
  arena_release(&all.arena);
  return status;
}

static enum assay_status tune(struct arguments *a, struct store *store, const char *task_path,
                              struct tuner_result *result, struct assay_error *err) {
  struct task task;
  struct buf run = {0}, folder = {0};
  struct arena arena = {0};
  struct assay_judge_options *o = &a->judging.options;
  enum assay_status status = task_read(task_path, o->as_published, &task, err);
  if (status)
    return status;
  o->task = task_path;
  o->workload = task_workload_name(task_path, o->workload, &arena);
  a->tuner.store = store;
  a->tuner.seed = a->seed;
  status = cli_use_candidate(&a->judging, a->file, true, err);
  if (!status)
    status = a->run ? ASSAY_OK : name_run(a, task.name, &run, err);
  a->tuner.run = a->run ? a->run : buf_str(&run);
  if (!status)
    status = make_folder(a, &folder, err);
  a->tuner.task_name = task.name;
  a->tuner.folder = buf_str(&folder);
  a->tuner.judging = o;
  if (!status)
    status = tuner_run(&a->tuner, result, err);
  cli_progress_clear();
  if (!status)
    status = print(a, result, store, err);
  buf_release(&run);
  buf_release(&folder);
  arena_release(&arena);
  task_release(&task);
  return status;
}

int cli_tune(int argc, char **argv) {
  struct arguments a = {.parallel = parallel_cpus(), .finalists = 3, .give_up = 1.5, .seed = 1};
  struct argp options_too = argp;
  options_too.children = cli_judge_but(left_out);
  struct assay_error err = {0};
  struct store *store = NULL;
  char *task_path = NULL;
  a.interrupt.finishing = "the current configuration";
  if (cli_begin(&options_too, argc, argv, &a, &a.judging, &err) != ASSAY_OK)
    return cli_fail(&err);
  a.meter.form = a.judging.progress;
  a.tuner = (struct tuner_options){.retime = a.retime,
                                   .parallel = (int)a.parallel,
                                   .most_trials = a.trials,
                                   .budget_ns = (int64_t)(a.seconds * 1e9),
                                   .give_up = a.give_up,
                                   .finalists = (int)a.finalists,
                                   .stop = &a.interrupt.stop,
                                   .progress = show_trial,
                                   .progress_arg = &a,
                                   .command = command_of,
                                   .command_arg = &a};
  struct tuner_result result = {.best = -1};
  enum assay_status status = task_find(a.judging.paths.tasks, a.task, &task_path, &err);
  if (!status)
    status = store_open(a.judging.paths.store, &store, &err);
  if (!status)
    status = cli_interrupt_watch(&a.interrupt, &err);
  if (!status) {
    cli_judging_finish(&a.judging, store);
    status = tune(&a, store, task_path, &result, &err);
  }
  int code = status ? cli_fail(&err) : a.interrupt.stop ? CLI_INTERRUPTED : result.best < 0 ? CLI_FAIL : CLI_PASS;
  cli_judging_close(&a.judging);
  store_close(store);
  base_free(task_path);
  return code;
}
