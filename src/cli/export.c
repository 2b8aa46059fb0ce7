// assay export RUN
#include <argp.h>
#include <jansson.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/cli.h"
#include "report/kernelbench.h"

enum { KEY_TO = 8000, KEY_LEVEL, KEY_NAME, KEY_STORE };

struct arguments {
  struct cli_paths paths;
  const char *run, *to, *name;
  int level;
};

static error_t parse(int key, char *arg, struct argp_state *state) {
  struct arguments *a = state->input;
  switch (key) {
  case KEY_TO:
    a->to = arg;
    return 0;
  case KEY_NAME:
    a->name = arg;
    return 0;
  case KEY_LEVEL:
    a->level = strlen(arg) == 1 && arg[0] >= '1' && arg[0] <= '4' ? arg[0] - '0' : 0;
    if (!a->level)
      argp_error(state, "--level is 1, 2, 3 or 4, not %s", arg);
    return 0;
  case KEY_STORE:
    snprintf(a->paths.store, sizeof a->paths.store, "%s", arg);
    return 0;
  case ARGP_KEY_ARG:
    if (a->run)
      argp_error(state, "one RUN only");
    a->run = arg;
    return 0;
  case ARGP_KEY_END:
    if (!a->run)
      argp_error(state, "name a run: `assay score` lists them");
    if (!a->to)
      argp_error(state, "say where to: --to FOLDER, KernelBench's folder `runs`");
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option options[] = {
    {"to", KEY_TO, "FOLDER", 0, "KernelBench's folder `runs`, or one like it; made if it is not there", 0},
    {"name", KEY_NAME, "NAME", 0,
     "the run's name there (default: RUN, with _ for what is no letter, digit, '.' or '-')", 0},
    {"level", KEY_LEVEL, "N", 0, "KernelBench's level, if the run has verdicts on several", 0},
    {"store", KEY_STORE, "FILE", 0, "the store", 0},
    {0},
};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "RUN",
    .doc =
        "Writes the verdicts of a run as KernelBench keeps its own, FOLDER/NAME/eval_results.json, for its scripts and "
        "whatever reads such files: one sample for each candidate, times in milliseconds. What KernelBench has no "
        "place for (the reason, the error in units of honest error, the floor) stands in `metadata`. A time that "
        "no hardware allows makes a sample incorrect there.",
};

static char *plain_name(const char *run) {
  char *name = base_strndup(run, strlen(run));
  for (char *c = name; name && *c; c++)
    if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-", *c))
      *c = '_';
  return name;
}

int cli_export(int argc, char **argv) {
  struct arguments a = {0};
  struct assay_error err = {0};
  struct store *store = NULL;
  struct kernelbench_export done;
  if (cli_paths_find(&a.paths, &err) != ASSAY_OK)
    return cli_fail(&err);
  argp_parse(&argp, argc, argv, 0, NULL, &a);
  char *name = plain_name(a.name ? a.name : a.run);
  enum assay_status status = name ? store_open(a.paths.store, &store, &err) : error_nomem(&err, "a name");
  if (!status)
    status = kernelbench_write_run(store, a.run, a.level, a.to, name, &done, &err);
  if (!status)
    printf("%s/%s/eval_results.json: level %d, %d problems, %d samples, %d correct\n", a.to, name, done.level,
           done.problems, done.samples, done.correct);
  if (!status && done.without_time > 0)
    printf("%d correct samples have no time (judged with --no-timing): KernelBench's speedups will be wrong\n",
           done.without_time);
  if (!status && done.not_full > 0)
    printf("%d samples were not judged at full: KernelBench's baseline times are of the published sizes\n",
           done.not_full);
  store_close(store);
  base_free(name);
  return status ? cli_fail(&err) : CLI_PASS;
}
