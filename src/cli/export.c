// SPDX-License-Identifier: Apache-2.0
// assay export RUN: a run's verdicts as KernelBench's files.
#include <argp.h>
#include <jansson.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/json.h"
#include "cli/judging.h"
#include "report/kernelbench.h"

enum { KEY_TO = 8000, KEY_LEVEL, KEY_NAME };

struct arguments {
  struct cli_judging judging;
  const char *run, *to, *name;
  int level;
};

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
  case KEY_LEVEL:
    a->level = strlen(arg) == 1 && arg[0] >= '1' && arg[0] <= '4' ? arg[0] - '0' : 0;
    if (!a->level)
      argp_error(state, "--level takes 1, 2, 3 or 4, not '%s'", arg);
    return 0;
  case ARGP_KEY_ARG:
    cli_take_argument(state, "RUN", arg, &a->run);
    return 0;
  case ARGP_KEY_END:
    if (!a->run)
      argp_error(state, "name a run: `assay runs` lists them");
    if (!a->to)
      argp_error(state, "say where to: --to FOLDER, KernelBench's folder `runs`");
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option options[] = {
    {"to", KEY_TO, "FOLDER", 0, "KernelBench's folder `runs`, or another; made if missing", 0},
    {"name", KEY_NAME, "NAME", 0,
     "the run's name there (default: RUN, with _ for everything but letters, digits, '.' and '-')", 0},
    {"level", KEY_LEVEL, "N", 0, "KernelBench's level, if the run has verdicts on several", 0},
    {0},
};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .children = cli_common_child,
    .args_doc = "RUN",
    .doc =
        "Writes the verdicts of a run in KernelBench's format, FOLDER/NAME/eval_results.json, for its scripts and "
        "other "
        "tools: one sample per candidate, times in milliseconds. `metadata` has what KernelBench has no field for: the "
        "reason, the error in units of honest error, the floor. A sample whose time is suspicious counts as incorrect.",
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
  printf("%s/%s/eval_results.json: level %d, %d problems, %d samples, %d correct\n", a->to, name, done->level,
         done->problems, done->samples, done->correct);
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

int cli_export(int argc, char **argv) {
  struct arguments a = {0};
  struct assay_error err = {0};
  struct store *store = NULL;
  struct kernelbench_export done;
  if (cli_begin(&argp, argc, argv, &a, &a.judging, &err) != ASSAY_OK)
    return cli_fail(&err);
  char *name = plain_name(a.name ? a.name : a.run);
  enum assay_status status = name ? store_open(a.judging.paths.store, &store, &err) : error_nomem(&err, "a name");
  if (!status)
    status = kernelbench_write_run(store, a.run, a.level, a.to, name, &done, &err);
  if (!status)
    print_done(&a, name, &done);
  store_close(store);
  base_free(name);
  return status ? cli_fail(&err) : CLI_PASS;
}
