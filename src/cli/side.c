// SPDX-License-Identifier: Apache-2.0
// assay compare SUITE --with MAKER,...: each maker yields a candidate for every shape; all are judged and timed.
#include "cli/side.h"

#include <argp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/argv.h"
#include "cli/json.h"
#include "judge/record.h"
#include "sandbox/sandbox.h"
#include "stats/stats.h"
#include "task/task.h"

enum { KEY_WITH = 9300, KEY_RUN, KEY_SCORECARD, KEY_SEEDS, KEY_SECONDS, KEY_RETIME, KEY_STORED };

static error_t parse(int key, char *arg, struct argp_state *state) {
  struct side *s = state->input;
  switch (key) {
  case KEY_WITH:
    s->with = arg;
    return 0;
  case KEY_SCORECARD:
    s->scorecard = true;
    return 0;
  case KEY_RUN:
    s->run = arg;
    return 0;
  case KEY_RETIME:
    s->retime = true;
    return 0;
  case KEY_STORED:
    s->stored = true;
    return 0;
  case KEY_SEEDS:
    s->seeds = cli_take_whole(state, "tuning-seeds", 1, SIDE_MOST_SEEDS, arg);
    return 0;
  case KEY_SECONDS:
    s->seconds = cli_take_whole(state, "tuning-seconds", 1, SIDE_MOST_SECONDS, arg);
    return 0;
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &s->judging;
    return 0;
  case ARGP_KEY_ARG:
    cli_take_argument(state, "suite", arg, &s->suite);
    return 0;
  case ARGP_KEY_END:
    if (!s->suite)
      argp_error(state, "name a suite or a task: assay compare fusedops/matmul --with eager,files:DIR");
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option options[] = {
    {"with", KEY_WITH, "MAKER,...", 0, "makers, with commas between them; a folder or a file is files. ",
     0}, // and the list: help_text
    {"run", KEY_RUN, "NAME", 0,
     "name of the runs in the store, with each maker's name after it (default: compare SUITE)", 0},
    {"scorecard", KEY_SCORECARD, 0, 0, "print letters, each from a stated number and rule", 0},
    {"stored", KEY_STORED, 0, 0,
     "judge nothing: print what the store has of that --run, on any machine, of each maker its newest verdicts", 0},
    {"tuning-seeds", KEY_SEEDS, "N", 0, "the maker tune searches in N orders (default 1): as many curves", 0},
    {"tuning-seconds", KEY_SECONDS, "S", 0,
     "each search of the maker tune ends after so many seconds (default: with the last configuration)", 0},
    {"retime", KEY_RETIME, 0, 0, "judge every point of the maker tune's curve in full, and take its time from there",
     0},
    {0}};

// The makers' help comes from their own files.
static char *help_text(int key, const char *text, void *input) {
  struct buf all = {0};
  (void)input;
  if (key != KEY_WITH)
    return (char *)text;
  buf_puts(&all, text);
  maker_list(&all);
  char *copy = buf_status(&all, NULL) == ASSAY_OK ? strdup(buf_str(&all)) : NULL; // argp frees it
  buf_release(&all);
  return copy ? copy : (char *)text;
}

static const struct argp argp = {
    .args_doc = "SUITE",
    .doc = "Makers of kernels side by side over a suite's shapes: each yields a candidate, all are judged and timed.\v"
           "--workload takes several (each, 'size*'). What was judged before is not judged again; the same command "
           "goes on. With --stored it prints what the store has, also of another machine.",
    .options = options,
    .children = cli_judge_child,
    .parser = parse,
    .help_filter = help_text,
};

// Two of one name would share a run, and one of them would never be the fastest.
static enum assay_status check_maker(const struct side *s, const struct side_maker *m, struct assay_error *err) {
  for (const struct side_maker *other = s->makers; other < m; other++)
    if (strcmp(other->name, m->name) == 0)
      return error_set(err, ASSAY_ERR_USAGE, "--with names %.200s twice", m->name);
  return m->maker->check ? m->maker->check(m->argument, s->store, err) : ASSAY_OK;
}

static enum assay_status find_makers(struct side *s, struct assay_error *err) {
  char *list = arena_strdup(&s->arena, s->with ? s->with : "");
  enum assay_status status = list ? ASSAY_OK : error_nomem(err, "a list of makers");
  char *rest = NULL;
  for (char *word = list ? strtok_r(list, ",", &rest) : NULL; word && !status; word = strtok_r(NULL, ",", &rest)) {
    if (s->n_makers == SIDE_MOST_MAKERS)
      return error_set(err, ASSAY_ERR_USAGE, "at most %d makers", SIDE_MOST_MAKERS);
    struct side_maker *m = &s->makers[s->n_makers++];
    m->name = word;
    status = maker_find(word, &m->maker, &m->argument, err);
    if (s->stored && status) { // another machine's folder
      m->maker = &maker_files;
      m->argument = word;
      status = ASSAY_OK;
    } else if (!status && !s->stored)
      status = check_maker(s, m, err);
  }
  if (!status && s->n_makers == 0)
    status = error_set(err, ASSAY_ERR_USAGE, "name makers: --with eager,files:DIR");
  return status;
}

// ---- one candidate

static const struct side_result no_result = {
    .time_ns = NAN, .floor_ns = NAN, .called_ns = NAN, .low_ns = NAN, .high_ns = NAN, .label = "", .detail = ""};

static enum assay_status judge_now(struct side *s, const struct maker_candidate *c, const struct store_verdict *key,
                                   int64_t *id, struct assay_error *err) {
  struct assay_judge_options *o = &s->judging.options;
  struct assay_verdict v;
  enum assay_status status = assay_judge(o, &v, err);
  if (status)
    return status;
  struct cli_judging *j = &s->judging;
  char *command = cli_repeat_command(j, key->task, c->one_shape ? c->label : c->file, &v);
  status = record_put(s->store, key, &v, command ? command : "", err);
  base_free(command);
  assay_verdict_release(&v);
  return status ? status : store_find(s->store, key, id, err);
}

void side_run_of(const struct side *s, int maker, char run[SIDE_RUN_BYTES]) {
  snprintf(run, SIDE_RUN_BYTES, "%.400s, %.400s", s->run, s->makers[maker].name);
}

void side_tuning_run_of(const struct side *s, int maker, uint64_t seed, char run[SIDE_RUN_BYTES]) {
  snprintf(run, SIDE_RUN_BYTES, "%.400s, %.400s, tuning", s->run, s->makers[maker].name);
  if (!s->makers[maker].maker->log && seed > 1)
    snprintf(run + strlen(run), SIDE_RUN_BYTES - strlen(run), ", seed %llu", (unsigned long long)seed);
}

// Judges the candidate, unless the store has its verdict, and reads that.
static enum assay_status judge(struct side *s, int m, struct side_shape *shape, const struct maker_candidate *c,
                               struct assay_error *err) {
  struct assay_judge_options *o = &s->judging.options;
  struct store_verdict key;
  struct record_hashes hashes;
  char run[SIDE_RUN_BYTES];
  int64_t id = 0;
  bool probes = o->probes;
  o->probes = probes && !c->one_shape;
  side_run_of(s, m, run);
  enum assay_status status = cli_use_candidate(&s->judging, c->file, true, err);
  if (!status)
    status = record_key_of_file(run, o, shape->task, c->label, &hashes, &key, err);
  if (!status)
    status = store_find(s->store, &key, &id, err);
  // A seed or secret that was given is not that of a judgement which went before.
  if (!status && id == 0 && c->verdict && !o->seed && !o->secret)
    status = store_copy(s->store, c->verdict, run, c->label, &id, err);
  else if (!status && id == 0)
    status = judge_now(s, c, &key, &id, err);
  o->probes = probes;
  if (!status && id == 0) // the machine failed, and says why
    status = error_set(err, ASSAY_ERR_ENVIRONMENT, "%s cannot be judged here", c->label);
  return status ? status : side_read(s, m, shape, id, err);
}

// What fails for one candidate is its answer; the comparison goes on.
static void ask(struct side *s, int m, const char *task_path, struct side_shape *shape) {
  struct side_result *r = &shape->results[m];
  struct maker_candidate c = {0};
  struct assay_error why = {0};
  char run[SIDE_RUN_BYTES];
  side_run_of(s, m, run);
  const struct maker_request request = {.judging = &s->judging,
                                        .store = s->store,
                                        .maker_run = run,
                                        .task_name = shape->task,
                                        .task_path = task_path,
                                        .workload = shape->workload,
                                        .one_task = s->one_task,
                                        .argument = s->makers[m].argument,
                                        .folder = s->folder,
                                        .seeds = s->seeds,
                                        .seconds = s->seconds,
                                        .retime = s->retime,
                                        .stop = &s->interrupt.stop};
  *r = no_result;
  r->asked = true;
  r->seed = s->judging.options.seed;
  enum assay_status status = s->makers[m].maker->yield(&request, &c, &why);
  r->making_s = c.making_s;
  if (!status && c.refusal[0]) {
    r->refusal = arena_strdup(&s->arena, c.refusal);
    r->not_judged = c.cut_off;
  } else if (!status)
    r->not_judged = (status = judge(s, m, shape, &c, &why)) != ASSAY_OK;
  if (status)
    r->refusal = arena_strdup(&s->arena, why.message);
  r->label = arena_strdup(&s->arena, c.label);
  r->file = arena_strdup(&s->arena, c.file);
  shape->device = s->judging.options.device;
}

static int winner_of(const struct side *s, const struct side_shape *shape) {
  int best = -1;
  for (int m = 0; m < s->n_makers; m++)
    if (shape->results[m].time_ns > 0 && (best < 0 || shape->results[m].time_ns < shape->results[best].time_ns))
      best = m;
  return best;
}

// ---- all shapes

static enum assay_status add_shape(struct side *s, const struct task *t, const char *workload, struct side_shape **out,
                                   struct assay_error *err) {
  struct workload w;
  struct task_cost cost;
  if (s->n == s->capacity) {
    struct side_shape *more = arena_grow(&s->arena, s->shapes, s->n, &s->capacity, sizeof *more);
    if (!more)
      return error_nomem(err, "a list of shapes");
    s->shapes = more;
  }
  enum assay_status status = task_parse_workload(t, workload, &s->arena, &w, err);
  if (!status)
    status = task_cost(t, &w, &cost, err);
  if (status)
    return status;
  *out = &s->shapes[s->n++];
  **out = (struct side_shape){.task = arena_strdup(&s->arena, t->name),
                              .workload = workload,
                              .device = "",
                              .flops = cost.flops + cost.least_contraction_flops,
                              .bytes = cost.input_bytes + cost.output_bytes,
                              .winner = -1};
  for (int m = 0; m < s->n_makers; m++) // an interrupt may come before all are asked
    (*out)->results[m] = no_result;
  return ASSAY_OK;
}

static bool has_verdict(const struct side *s, const struct side_shape *shape) {
  for (int m = 0; m < s->n_makers; m++)
    if (!shape->results[m].not_judged)
      return true;
  return false;
}

static enum assay_status compare_task(struct side *s, const char *path, struct assay_error *err) {
  struct task t;
  const char *asked = s->judging.options.workload, *const * workloads;
  enum assay_status status = task_read(path, s->judging.options.as_published, &t, err);
  if (status)
    return status;
  status = cli_workloads_of(path, asked, &s->arena, &workloads, err);
  for (int w = 0; !status && workloads[w] && !s->interrupt.stop; w++) {
    struct side_shape *shape = NULL;
    status = add_shape(s, &t, workloads[w], &shape, err);
    s->judging.options.task = path;
    s->judging.options.workload = workloads[w];
    for (int m = 0; m < s->n_makers && !status && !s->interrupt.stop; m++) {
      if (s->judging.progress != CLI_PROGRESS_NONE && !s->stored)
        fprintf(stderr, "assay: %s %s: %s\n", t.name, workloads[w], s->makers[m].name);
      if (s->stored)
        status = side_read_newest(s, m, shape, err);
      else
        ask(s, m, path, shape);
    }
    if (!status)
      shape->winner = winner_of(s, shape);
    if (!status && s->stored && !has_verdict(s, shape))
      s->n--; // a shape of the suite that the run never had
  }
  s->judging.options.workload = asked;
  task_release(&t);
  return status;
}

static enum assay_status compare_all(struct side *s, struct assay_error *err) {
  char **paths = NULL;
  int count = 0;
  enum assay_status status = find_makers(s, err);
  if (!status)
    status = task_list(s->judging.paths.tasks, s->suite, &paths, &count, err);
  s->one_task = count == 1;
  if (!status)
    status = sandbox_folder_make(s->judging.paths.temporary, &s->folder, err);
  if (!status)
    status = cli_interrupt_watch(&s->interrupt, err);
  for (int i = 0; i < count && !status && !s->interrupt.stop; i++)
    status = compare_task(s, paths[i], err);
  if (!status && s->stored && s->n == 0)
    status = error_set(err, ASSAY_ERR_USAGE, "the store has no verdict of a run \"%.200s, %.200s\" there", s->run,
                       s->makers[0].name);
  if (paths)
    task_list_release(paths, count);
  return status;
}

int side_wins(const struct side *s, int maker) {
  int n = 0;
  for (size_t i = 0; i < s->n; i++)
    n += s->shapes[i].winner == maker;
  return n;
}

double side_geomean(const struct side *s, int maker, int *n) {
  double *ratios = base_calloc(s->n + 1, sizeof *ratios), mean = NAN;
  *n = 0;
  for (size_t i = 0; i < s->n && ratios; i++) {
    double ratio = s->shapes[i].results[0].time_ns / s->shapes[i].results[maker].time_ns;
    if (ratio > 0 && isfinite(ratio))
      ratios[(*n)++] = ratio;
  }
  if (*n > 0)
    mean = stats_geomean(ratios, *n);
  base_free(ratios);
  return mean;
}

bool cli_is_side_by_side(int argc, char **argv) {
  for (int i = 1; i < argc; i++)
    if (strcmp(argv[i], "--with") == 0 || strncmp(argv[i], "--with=", strlen("--with=")) == 0)
      return true;
  return false;
}

const char *cli_side_word(int argc, char **argv) {
  for (int i = 1; i < argc; i++)
    for (const struct argp_option *o = options; o->name && strncmp(argv[i], "--", 2) == 0; o++)
      if (strcspn(argv[i] + 2, "=") == strlen(o->name) && strncmp(argv[i] + 2, o->name, strlen(o->name)) == 0)
        return o->name;
  return NULL;
}

void cli_side_describe(const char *program, const struct argp *runs) {
  cli_describe_forms(program, runs, "SUITE --with MAKER,...", &argp);
}

int cli_side(int argc, char **argv) {
  struct side s = {.seeds = 1, .interrupt = {.finishing = "the current candidate"}};
  struct assay_error err = {0};
  if (cli_begin(&argp, argc, argv, &s, &s.judging, &err) != ASSAY_OK)
    return cli_fail(&err);
  if (!s.run)
    s.run = arena_printf(&s.arena, "compare %.300s", s.suite);
  enum assay_status status = store_open(s.judging.paths.store, &s.store, &err);
  if (!status) {
    cli_judging_finish(&s.judging, s.store);
    status = compare_all(&s, &err);
  }
  if (!status && s.judging.json)
    cli_json_print(cli_json_of("compare_makers", side_json(&s)));
  else if (!status)
    side_print(&s);
  if (s.folder)
    sandbox_folder_remove(s.folder);
  int code = status ? cli_fail(&err) : s.interrupt.stop ? CLI_INTERRUPTED : CLI_PASS;
  cli_judging_close(&s.judging);
  store_close(s.store);
  arena_release(&s.arena);
  return code;
}
