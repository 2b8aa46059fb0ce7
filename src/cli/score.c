// assay score [RUN...]
#include <argp.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/cli.h"
#include "cli/score.h"
#include "report/report.h"

enum { KEY_BASELINE = 3000, KEY_STORE, KEY_JSON, KEY_BESIDE, KEY_LEVEL, MAX_RUNS = 64 };

struct arguments {
  struct cli_paths paths;
  const char *baseline, *beside;
  bool json;
  int n_runs, level;
  char *runs[MAX_RUNS];
};

static error_t parse(int key, char *arg, struct argp_state *state) {
  struct arguments *a = state->input;
  switch (key) {
  case KEY_BASELINE:
    a->baseline = arg;
    return 0;
  case KEY_STORE:
    snprintf(a->paths.store, sizeof a->paths.store, "%s", arg);
    return 0;
  case KEY_JSON:
    a->json = true;
    return 0;
  case KEY_BESIDE:
    a->beside = arg;
    return 0;
  case KEY_LEVEL:
    a->level = arg[0] >= '1' && arg[0] <= '4' && !arg[1] ? arg[0] - '0' : 0;
    if (!a->level)
      argp_error(state, "--level takes 1, 2, 3 or 4, not '%s'", arg);
    return 0;
  case ARGP_KEY_END:
    if (a->beside && a->n_runs != 1)
      argp_error(state, "--beside wants one run: assay score RUN --beside eval_results.json");
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
     "speed against this run's times, those of KernelBench's baseline file, *.json, with which verdicts at full are "
     "compared, or a baseline that the run's candidates were timed beside, torch.eager (fast_p, geometric mean)",
     0},
    {"beside", KEY_BESIDE, "FILE", 0,
     "KernelBench's results of the same samples, eval_results.json: where its harness and the verdicts differ", 0},
    {"level", KEY_LEVEL, "N", 0, "of that file, where the run has several", 0},
    {"store", KEY_STORE, "FILE", 0, "the store", 0},
    {"json", KEY_JSON, 0, 0, "print JSON", 0},
    {0},
};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "[RUN...]",
    .doc = "What the verdicts of a run add up to, by level: tasks, how many are right, pass@1, quartiles of the part "
           "of the hardware's floor that is reached, and with --baseline KernelBench's fast_p. Without RUN: all runs.",
};

struct run_list {
  char *names[MAX_RUNS];
  int n;
};

static bool note_run(void *arg, const struct store_verdict *v) {
  struct run_list *l = arg;
  for (int i = 0; i < l->n; i++)
    if (strcmp(l->names[i], v->run) == 0)
      return true;
  if (v->run[0] && l->n < MAX_RUNS) {
    l->names[l->n] = base_strndup(v->run, strlen(v->run));
    l->n += l->names[l->n] != NULL;
  }
  return true;
}

static json_t *real_or_null(double x) {
  return isnan(x) ? json_null() : json_real(x);
}

static json_t *score_json(const struct score *s) {
  json_t *fast = json_object();
  for (int p = 0; p < SCORE_THRESHOLDS; p++) {
    char key[16];
    snprintf(key, sizeof key, "%.1f", score_thresholds[p]);
    json_object_set_new(fast, key, real_or_null(s->fast_p[p]));
  }
  return json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:o, s:[o,o,o], s:o, s:o, s:i}", "run", s->run, "group",
                   s->group, "tasks", s->n_tasks, "correct", s->n_correct, "verdicts", s->n_verdicts,
                   "correct_verdicts", s->n_verdicts_correct, "suspicious", s->n_suspicious, "unstable", s->n_unstable,
                   "pass_at_1", real_or_null(s->pass_at_1), "part_of_floor_quartiles",
                   real_or_null(s->part_of_floor[0]), real_or_null(s->part_of_floor[1]),
                   real_or_null(s->part_of_floor[2]), "geomean_speedup", real_or_null(s->geomean_speedup), "fast_p",
                   fast, "baseline_tasks", s->n_baseline);
}

static const char *part_text(double x, char *text, size_t size) {
  snprintf(text, size, isnan(x) ? "-" : "%.3g", x);
  return text;
}

static void score_row(struct table *t, const struct score *s) {
  char correct[64], pass[32], floor_text[96], speed[32], fast[128] = "-", a[3][24];
  snprintf(correct, sizeof correct, "%d/%d", s->n_correct, s->n_tasks);
  snprintf(floor_text, sizeof floor_text, "%s %s %s", part_text(s->part_of_floor[0], a[0], sizeof a[0]),
           part_text(s->part_of_floor[1], a[1], sizeof a[1]), part_text(s->part_of_floor[2], a[2], sizeof a[2]));
  if (s->n_baseline)
    snprintf(fast, sizeof fast, "%.2f %.2f %.2f %.2f %.2f %.2f", s->fast_p[0], s->fast_p[1], s->fast_p[2], s->fast_p[3],
             s->fast_p[4], s->fast_p[5]);
  part_text(s->pass_at_1, pass, sizeof pass);
  part_text(s->geomean_speedup, speed, sizeof speed);
  table_row(t, (const char *const[]){s->run, s->group, correct, pass, floor_text, speed, fast});
}

static enum assay_status score_all(struct arguments *a, struct store *store, struct table *t, json_t *array,
                                   struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  struct run_list list = {0};
  if (a->n_runs == 0)
    status = store_each(store, NULL, note_run, &list, err);
  char **runs = a->n_runs ? a->runs : list.names;
  int n = a->n_runs ? a->n_runs : list.n;
  for (int i = 0; i < n && !status; i++) {
    struct score *scores = NULL;
    int count = 0;
    status = score_run(store, runs[i], a->baseline, &scores, &count, err);
    for (int k = 0; k < count; k++) {
      score_row(t, &scores[k]);
      json_array_append_new(array, score_json(&scores[k]));
    }
    base_free(scores);
  }
  for (int i = 0; i < list.n; i++)
    base_free(list.names[i]);
  return status;
}

int cli_score(int argc, char **argv) {
  static const char *const headers[] = {
      "run", "level", "correct", "pass@1", "floor/time q1 q2 q3", "speed", "fast_p at 0 .5 .8 1 1.5 2"};
  struct arguments a = {0};
  struct assay_error err = {0};
  struct store *store;
  if (cli_paths_find(&a.paths, &err) != ASSAY_OK)
    return cli_fail(&err);
  argp_parse(&argp, argc, argv, 0, NULL, &a);
  if (store_open(a.paths.store, &store, &err) != ASSAY_OK)
    return cli_fail(&err);
  if (a.beside) {
    enum assay_status compared = score_beside(store, a.runs[0], a.level, a.beside, a.json, &err);
    store_close(store);
    return compared ? cli_fail(&err) : CLI_PASS;
  }
  struct table *t = table_create(headers, 7, "lllllll");
  json_t *array = json_array();
  enum assay_status status = t && array ? score_all(&a, store, t, array, &err) : error_nomem(&err, "a table");
  if (!status && a.json)
    json_dumpf(array, stdout, JSON_INDENT(2));
  else if (!status)
    table_print(t, stdout);
  if (!status && a.json)
    printf("\n");
  json_decref(array);
  table_destroy(t);
  store_close(store);
  return status ? cli_fail(&err) : CLI_PASS;
}
