// SPDX-License-Identifier: Apache-2.0
// assay score [RUN...]: correctness and speed of runs, by level.
#include <argp.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/argv.h"
#include "cli/cells.h"
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/judging.h"
#include "cli/score.h"
#include "cli/sheet.h"
#include "cli/table.h"
#include "report/kernelbenchx.h"
#include "report/report.h"

enum {
  KEY_BASELINE = 3000,
  KEY_STORE,
  KEY_JSON,
  KEY_COLOR,
  KEY_COMPARE,
  KEY_LEVEL,
  KEY_STABLE,
  KEY_AGAINST,
  KEY_DEVIANCE,
  KEY_OF,
  KEY_PLOT,
  KEY_BY,
  KEY_ROUNDS,
  KEY_DEVICES,
  KEY_CORPUS,
  KEY_PUBLISHED,
  MAX_RUNS = SCORE_MOST_RUNS
};

struct arguments {
  struct cli_paths paths;
  const char *baseline, *theirs, *against, *of, *plot, *plot_file, *corpus;
  bool json, stable, deviance, rounds, devices, published, by_kind;
  enum score_by by;
  enum cli_format format;
  enum cli_color color;
  int n_runs, level;
  char *runs[MAX_RUNS];
};

// Whether something else than scores is asked for.
static bool is_analysis(const struct arguments *a) {
  return a->plot || a->theirs || a->against || a->deviance || a->rounds || a->devices || a->corpus || a->published;
}

static void take_by(const struct argp_state *state, const char *arg, struct arguments *a) {
  const char *const names[] = {"level", score_by_code(SCORE_BY_CATEGORY), score_by_code(SCORE_BY_OPERATOR_KIND), NULL};
  const int by = cli_take_choice(state, "--by takes", names, arg);
  a->by_kind = by > 0;
  a->by = by == 1 ? SCORE_BY_CATEGORY : SCORE_BY_OPERATOR_KIND;
}

static const char *named_twice(const struct arguments *a) {
  for (int i = 0; i < a->n_runs; i++)
    for (int k = 0; k < i; k++)
      if (strcmp(a->runs[i], a->runs[k]) == 0)
        return a->runs[i];
  return NULL;
}

static error_t parse(int key, char *arg, struct argp_state *state) {
  struct arguments *a = state->input;
  switch (key) {
  case ARGP_KEY_INIT:
    cli_argv_errors(state);
    state->child_inputs[0] = &a->format;
    return 0;
  case KEY_BASELINE:
    a->baseline = arg;
    return 0;
  case KEY_STORE:
    snprintf(a->paths.store, sizeof a->paths.store, "%s", arg);
    return 0;
  case KEY_JSON:
    a->json = true;
    return 0;
  case KEY_COLOR:
    a->color = cli_take_color(state, arg);
    return 0;
  case KEY_STABLE:
    a->stable = true;
    return 0;
  case KEY_PLOT:
    a->plot = arg;
    a->plot_file = state->next < state->argc ? state->argv[state->next++] : "";
    return 0;
  case KEY_OF:
    a->of = arg;
    return 0;
  case KEY_BY:
    take_by(state, arg, a);
    return 0;
  case KEY_DEVIANCE:
    a->deviance = true;
    return 0;
  case KEY_ROUNDS:
    a->rounds = true;
    return 0;
  case KEY_DEVICES:
    a->devices = true;
    return 0;
  case KEY_PUBLISHED:
    a->published = true;
    return 0;
  case KEY_CORPUS:
    a->corpus = arg;
    return 0;
  case KEY_AGAINST:
    a->against = arg;
    return 0;
  case KEY_COMPARE:
    a->theirs = arg;
    return 0;
  case KEY_LEVEL:
    a->level = arg[0] >= '1' && arg[0] <= '4' && !arg[1] ? arg[0] - '0' : 0;
    if (!a->level)
      argp_error(state, "--level takes 1, 2, 3 or 4, not '%s'", arg);
    return 0;
  case ARGP_KEY_END:
    if (a->format == CLI_FORMAT_JUNIT && a->n_runs != 1)
      argp_error(state, "--junit takes one run: assay score RUN --junit");
    if (a->format && (a->json || is_analysis(a)))
      argp_error(state, "--csv, --markdown and --junit are for scores alone, without --json, --plot, --compare, "
                        "--against, --deviance, --rounds, --devices, --published and --corpus");
    if (a->rounds && a->n_runs < 2)
      argp_error(state, "--rounds takes runs in their order: assay score FIRST SECOND --rounds");
    if ((a->devices || a->published) && a->n_runs == 0)
      argp_error(state, "--devices and --published take runs: assay score RUN RUN --devices");
    if (a->corpus && a->n_runs > 0)
      argp_error(state, "--corpus takes no runs: assay score --corpus CHECKOUT");
    if (a->deviance && a->n_runs == 0)
      argp_error(state, "--deviance takes the runs to explain: assay score RUN RUN --deviance");
    if ((a->rounds || a->devices || a->deviance) && named_twice(a))
      argp_error(state, "--rounds, --devices and --deviance take each run once, not %s twice", named_twice(a));
    if (a->against && a->n_runs != 1)
      argp_error(state, "--against takes one run: assay score RUN --against OTHER");
    if (a->theirs && a->n_runs != 1)
      argp_error(state, "--compare takes one run: assay score RUN --compare eval_results.json");
    return 0;
  case ARGP_KEY_ARG:
    if (a->n_runs == MAX_RUNS)
      argp_error(state, "at most %d runs", MAX_RUNS);
    a->runs[a->n_runs++] = arg;
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option options[] = {
    {"baseline", KEY_BASELINE, "RUN|FILE|NAME", 0,
     "compare times with those of this run, with KernelBench's baseline file, *.json (verdicts at full only), or with "
     "a baseline that was timed in turn with the run's candidates, torch.eager; gives fast_p and the geometric mean",
     0},
    {"stable", KEY_STABLE, 0, 0, "leave out times that are unstable; their tasks count as correct, without a time", 0},
    {"of", KEY_OF, "SUITE[/LEVEL]", 0,
     "all of its tasks count: those without a verdict as failed, and others not at all", 0},
    {"by", KEY_BY, "WHAT", 0,
     "a line for each level (the default), category (the suite's own) or operator_kind (matmul, convolution, "
     "reduction, ...: the greatest operator of the task's graph) of a level",
     0},
    {"plot", KEY_PLOT, "FORM FILE", 0,
     "draw distribution (times in units of the floor, one run), fast_p (with --baseline, one curve a run) or roofline "
     "(one run) into FILE, *.svg or *.png",
     0},
    {"compare", KEY_COMPARE, "FILE", 0,
     "compare verdicts with KernelBench's results for the same samples, eval_results.json, or with KernelBench-X's for "
     "the "
     "same files, metrics.json or summary.json, and list the differences",
     0},
    {"against", KEY_AGAINST, "RUN", 0,
     "compare two runs of assay make on the tasks that both have, with as many requests; says so when there is no "
     "difference to show",
     0},
    {"deviance", KEY_DEVIANCE, 0, 0,
     "how much of success and failure the kind of task explains, and how much the run (binomial deviance)", 0},
    {"rounds", KEY_ROUNDS, 0, 0,
     "runs are rounds of one method, in their order: how many tasks are rescued, persistent, lost and failing from one "
     "to "
     "the next; with --baseline their speeds",
     0},
    {"devices", KEY_DEVICES, 0, 0,
     "for each kernel that the runs have on several devices, its largest speed (--baseline; else time) over its least",
     0},
    {"published", KEY_PUBLISHED, 0, 0,
     "what the suite's own rule (the task's published tolerance) says of the same outputs, and where it differs", 0},
    {"corpus", KEY_CORPUS, "CHECKOUT", 0,
     "a checkout of KernelBench-X: its published records and reference timings, analysed and checked, next to the "
     "figures "
     "of its paper",
     0},
    {"level", KEY_LEVEL, "N", 0, "the level of that file, if the run has several", 0},
    {"store", KEY_STORE, "FILE", 0, "the store", 0},
    {"json", KEY_JSON, 0, 0, "print JSON", 0},
    CLI_COLOR_OPTION(KEY_COLOR),
    {0},
};
static const struct argp_child children[] = {{&cli_format_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .children = children,
    .args_doc = "[RUN...]",
    .doc =
        "Sums up the verdicts of a run by level: correct tasks, pass@1, quartiles of floor / time, and with --baseline "
        "KernelBench's fast_p. Without RUN: all runs.",
};

struct run_list {
  char **names;
  int n, capacity;
  bool failed; // no memory
};

static bool note_run(void *arg, const struct store_run *r) {
  struct run_list *l = arg;
  if (l->n == l->capacity) {
    int capacity = 2 * l->capacity + 64;
    char **more = base_realloc(l->names, (size_t)capacity * sizeof *more);
    l->failed = !more;
    if (l->failed)
      return false;
    l->names = more;
    l->capacity = capacity;
  }
  char *name = base_strndup(r->name, strlen(r->name));
  l->failed = !name;
  if (name)
    l->names[l->n++] = name;
  return !l->failed;
}

struct printed {
  struct table *scores, *steps;
  bool any_steps;
  json_t *array;
};

static enum assay_status score_all(struct arguments *a, struct store *store, struct printed *out,
                                   struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  struct run_list list = {0};
  struct score_expected expected = {0};
  if (a->of)
    status = score_expect(a->paths.tasks, a->of, &expected, err);
  if (!status && a->n_runs == 0)
    status = store_each_run(store, note_run, &list, err);
  if (!status && list.failed)
    status = error_nomem(err, "a list of runs");
  char **runs = a->n_runs ? a->runs : list.names;
  int n = a->n_runs ? a->n_runs : list.n;
  for (int i = 0; i < n && !status; i++) {
    struct score *scores = NULL;
    int count = 0;
    const struct score_options o = {.baseline = a->baseline,
                                    .stable = a->stable,
                                    .expected = a->of ? &expected.names : NULL,
                                    .by = a->by_kind ? &a->by : NULL,
                                    .tasks = a->paths.tasks};
    status = score_run(store, runs[i], &o, &scores, &count, err);
    for (int k = 0; k < count; k++) {
      score_row(out->scores, &scores[k], a->stable);
      json_array_append_new(out->array, score_json(&scores[k]));
    }
    if (!status || status == ASSAY_ERR_NOT_FOUND) { // attempts may have brought not a single verdict
      bool any = false;
      struct assay_error why = {0};
      enum assay_status counted = score_steps(store, runs[i], a->baseline, out->steps, out->array, &any, &why);
      out->any_steps = out->any_steps || any;
      if (counted)
        *err = why;
      status = counted ? counted : any ? ASSAY_OK : status;
    }
    base_free(scores);
  }
  for (int i = 0; i < list.n; i++)
    base_free(list.names[i]);
  base_free(list.names);
  score_expected_release(&expected);
  return status;
}

static enum assay_status plot(struct arguments *a, struct store *store, struct assay_error *err) {
  struct score_expected expected = {0};
  struct score_plot p = {.form = a->plot,
                         .file = a->plot_file,
                         .runs = a->runs,
                         .n_runs = a->n_runs,
                         .options = {.baseline = a->baseline, .stable = a->stable},
                         .png = a->paths.png};
  enum assay_status status = a->of ? score_expect(a->paths.tasks, a->of, &expected, err) : ASSAY_OK;
  p.options.expected = a->of ? &expected.names : NULL;
  if (!status)
    status = score_plot(store, &p, err);
  score_expected_release(&expected);
  return status;
}

static bool add_case(void *arg, const struct store_verdict *v) {
  const struct cli_verdict_about about = {
      .run = v->run, .task = v->task, .candidate = v->candidate, .workload = v->workload, .command = v->command};
  json_t *j = cli_json_verdict(&about, v->evidence, assay_reason_code(v->reason), v->detail);
  cli_junit_case(arg, j);
  json_decref(j);
  return true;
}

// The run's verdicts that stand.
static enum assay_status print_junit(struct store *store, const char *run, struct assay_error *err) {
  struct cli_junit junit = {0};
  enum assay_status status = store_each_standing(store, run, NULL, add_case, &junit, err);
  cli_junit_end(&junit, run, stdout);
  return status;
}

static void print_table(const struct table *t, FILE *to) {
  table_print(t, to);
}

// Scores in the form that was asked for.
static void print_scores(const struct arguments *a, const struct printed *out) {
  size_t i;
  json_t *row;
  if (a->json) {
    cli_json_print(json_incref(out->array));
    return;
  }
  if (a->format == CLI_FORMAT_CSV) {
    cli_csv_head(cli_score_columns, stdout);
    json_array_foreach(out->array, i,
                       row) if (strcmp(json_string_value(json_object_get(row, "schema")), "assay/score/1") == 0)
        cli_csv_row(cli_score_columns, row, stdout);
    return;
  }
  if (a->format == CLI_FORMAT_TABLE && json_array_size(out->array) == 0) {
    cli_say_no_runs(a->paths.store);
    return;
  }
  void (*print)(const struct table *t, FILE *to) = a->format == CLI_FORMAT_MARKDOWN ? table_markdown : print_table;
  print(out->scores, stdout);
  if (out->any_steps) {
    printf("\n");
    print(out->steps, stdout);
  }
}

static enum assay_status compare(const struct arguments *a, struct store *store, struct assay_error *err) {
  enum kernelbenchx_file form;
  enum assay_status status = kernelbenchx_file_of(a->theirs, &form, err);
  if (!status && form != KERNELBENCHX_OTHER)
    return score_compare_x(store, a->runs[0], a->paths.tasks, a->theirs, a->json, err);
  return status ? status : score_compare(store, a->runs[0], a->level, a->theirs, a->json, err);
}

// What is asked in place of scores.
static enum assay_status analyse(struct arguments *a, struct store *store, struct assay_error *err) {
  const struct score_options how = {.baseline = a->baseline, .stable = a->stable};
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < a->n_runs && !status; i++)
    status = store_check_run(store, a->runs[i], err);
  if (!status && a->against)
    status = store_check_run(store, a->against, err);
  if (status)
    return status;
  if (a->plot)
    return plot(a, store, err);
  if (a->rounds)
    return score_rounds(store, a->runs, a->n_runs, &how, a->json, err);
  if (a->published)
    return score_published(store, a->runs, a->n_runs, a->json, err);
  if (a->devices)
    return score_devices(store, a->runs, a->n_runs, &how, a->json, err);
  if (a->theirs)
    return compare(a, store, err);
  if (a->deviance)
    return score_deviance(store, a->runs, a->n_runs, a->json, err);
  return score_against(store, a->runs[0], a->against, a->json, err);
}

int cli_score(int argc, char **argv) {
  static const char *const headers[] = {
      "run", "level", "correct", "pass@1", "floor/time q1 q2 q3", "speed", "fast_p at 0 .5 .8 1 1.5 2"};
  struct arguments a = {0};
  struct assay_error err = {0};
  struct store *store;
  if (cli_paths_find(&a.paths, &err) != ASSAY_OK)
    return cli_fail(&err);
  cli_argv_check(&argp, argc, argv);
  argp_parse(&argp, argc, argv, 0, NULL, &a);
  if (a.corpus) // of a checkout alone: no store is needed
    return score_corpus(a.corpus, a.json, &err) ? cli_fail(&err) : CLI_PASS;
  if (store_open_existing(a.paths.store, &store, &err) != ASSAY_OK)
    return cli_fail(&err);
  if (is_analysis(&a)) {
    enum assay_status compared = analyse(&a, store, &err);
    store_close(store);
    return compared ? cli_fail(&err) : CLI_PASS;
  }
  struct printed out = {table_create(headers, 7, "lllllll"), score_steps_table(), false, json_array()};
  enum assay_status status =
      out.scores && out.steps && out.array ? score_all(&a, store, &out, &err) : error_nomem(&err, "a table");
  if (!status && a.format == CLI_FORMAT_JUNIT)
    status = print_junit(store, a.runs[0], &err);
  else if (!status) {
    table_color(out.scores, a.color);
    table_color(out.steps, a.color);
    print_scores(&a, &out);
  }
  json_decref(out.array);
  table_destroy(out.scores);
  table_destroy(out.steps);
  store_close(store);
  return status ? cli_fail(&err) : CLI_PASS;
}
