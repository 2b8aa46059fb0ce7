// SPDX-License-Identifier: Apache-2.0
// assay trials [RUN...]: best-so-far curves and what tuning cost.
#include "cli/trials.h"

#include <argp.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/nearest.h"
#include "base/printable.h"
#include "cli/json.h"
#include "cli/judging.h"
#include "tune/log.h"

static bool same(const struct trials_group *g, const struct store_trial *t) {
  return strcmp(g->run, t->run) == 0 && strcmp(g->task, t->task) == 0 && strcmp(g->workload, t->workload) == 0 &&
         strcmp(g->device, t->device) == 0 && strcmp(g->maker, t->maker) == 0;
}

static struct trials_group *add_group(struct trials *all, const struct store_trial *t) {
  if (all->n == all->capacity) {
    struct trials_group *more = arena_grow(&all->arena, all->groups, all->n, &all->capacity, sizeof *more);
    if (!more)
      return NULL;
    all->groups = more;
  }
  struct trials_group *g = &all->groups[all->n];
  *g = (struct trials_group){.run = arena_strdup(&all->arena, t->run),
                             .task = arena_strdup(&all->arena, t->task),
                             .workload = arena_strdup(&all->arena, t->workload),
                             .device = arena_strdup(&all->arena, t->device),
                             .maker = arena_strdup(&all->arena, t->maker)};
  if (!g->run || !g->task || !g->workload || !g->device || !g->maker)
    return NULL;
  all->n++;
  return g;
}

static bool gather(void *arg, const struct store_trial *t) {
  struct trials *all = arg;
  struct trials_group *g =
      all->n > 0 && same(&all->groups[all->n - 1], t) ? &all->groups[all->n - 1] : add_group(all, t);
  if (g && (size_t)g->n == g->capacity) {
    g->trials = arena_grow(&all->arena, g->trials, (size_t)g->n, &g->capacity, sizeof *g->trials);
    g->names = arena_grow(&all->arena, g->names, (size_t)g->n, &g->capacity_names, sizeof *g->names);
  }
  const char *name = g && g->trials && g->names ? arena_strdup(&all->arena, t->configuration) : NULL;
  if (!name)
    return !(all->failed = true);
  g->tried = t->number + 1 > g->tried ? t->number + 1 : g->tried;
  g->whole = g->whole || t->status == STORE_TRIAL_SUMMARY;
  bool right = t->status == STORE_TRIAL_OK || t->status == STORE_TRIAL_SUMMARY;
  g->names[g->n] = name;
  g->trials[g->n++] = (struct tune_trial){.end_s = (double)(t->start_ns + t->compile_ns + t->bench_ns) / 1e9,
                                          .cpu_s = (double)t->cpu_ns / 1e9,
                                          .gpu_s = (double)t->gpu_ns / 1e9,
                                          .time_ns = !right              ? NAN
                                                     : isnan(t->time_ns) ? t->tuner_ns
                                                                         : t->time_ns};
  return true;
}

// The best that the store has of the group's task, workload and device: of all runs' trials and verdicts.
static double known_best(struct store *s, const struct trials *all, const struct trials_group *g) {
  struct assay_error ignored = {0};
  const struct store_verdict key = {.task = g->task, .form = "default", .workload = g->workload, .device = g->device};
  double best = NAN;
  store_least_time(s, &key, &best, &ignored);
  for (size_t i = 0; i < all->n; i++) {
    const struct trials_group *other = &all->groups[i];
    if (strcmp(other->task, g->task) == 0 && strcmp(other->workload, g->workload) == 0 &&
        strcmp(other->device, g->device) == 0)
      best = fmin(best, tune_cost_of(other->trials, other->n).best_ns);
  }
  return best;
}

const double trials_parts[TRIALS_PARTS] = {0.10, 0.05, 0.02};

// C, or -1: not reached, or not known.
static int64_t count_at(const struct trials_group *g, int64_t at) {
  return at < 0 || g->whole ? -1 : at + 1;
}

static void print_curve(const struct trials_group *g, FILE *to) {
  static const char *const headers[] = {"after s", "tried", "time", "configuration"};
  struct table *t = table_create(headers, 4, "rrrl");
  double best = INFINITY;
  for (int64_t i = 0; i < g->n && t; i++) {
    char after[32], tried[32], time[32];
    if (!(g->trials[i].time_ns < best))
      continue;
    best = g->trials[i].time_ns;
    snprintf(after, sizeof after, "%.2f", g->trials[i].end_s);
    snprintf(tried, sizeof tried, "%lld", (long long)count_at(g, i));
    table_row(t, (const char *const[]){after, g->whole ? "-" : tried, cli_time_text(best, time), g->names[i]});
  }
  if (t)
    table_print(t, to);
  table_destroy(t);
}

static const char *seconds_text(double seconds, char text[32]) {
  if (seconds > 0)
    snprintf(text, 32, "%.2f s", seconds);
  else
    snprintf(text, 32, "-");
  return text;
}

static void print_group(const struct trials_group *g, double known_ns, FILE *to) {
  struct tune_cost c = tune_cost_of(g->trials, g->n);
  char name[512], best[32], known[32], processors[32], gpu[32];
  fprintf(to, "%s: %s %s on %s\n", printable_line(g->maker, name, sizeof name), g->task, g->workload, g->device);
  print_curve(g, to);
  cells_printf(to, "%lld tried, %lld right and timed; %.2f s, processors %s, GPU %s; best %s, best known %s\n",
               (long long)g->tried, (long long)c.timed, c.wall_s, seconds_text(c.cpu_s, processors),
               seconds_text(c.gpu_s, gpu), cli_time_text(c.best_ns, best), cli_time_text(known_ns, known));
  for (int p = 0; p < TRIALS_PARTS; p++) {
    int64_t at = tune_first_within(g->trials, g->n, known_ns, trials_parts[p]);
    if (at < 0)
      fprintf(to, "within %.0f %%: not reached\n", 100 * trials_parts[p]);
    else if (g->whole)
      fprintf(to, "within %.0f %%: T %.2f s\n", 100 * trials_parts[p], g->trials[at].end_s);
    else
      fprintf(to, "within %.0f %%: T %.2f s, C %lld\n", 100 * trials_parts[p], g->trials[at].end_s,
              (long long)count_at(g, at));
  }
}

static json_t *group_json(const struct trials_group *g, double known_ns) {
  struct tune_cost c = tune_cost_of(g->trials, g->n);
  json_t *points = json_array(), *within = json_array();
  double best = INFINITY;
  for (int64_t i = 0; i < g->n; i++)
    if (g->trials[i].time_ns < best) {
      best = g->trials[i].time_ns;
      json_array_append_new(points,
                            json_pack("{s:f, s:I, s:f, s:o}", "seconds", g->trials[i].end_s, "tried", (json_int_t)i + 1,
                                      "time_ns", best, "configuration", cli_json_text(g->names[i])));
    }
  for (int p = 0; p < TRIALS_PARTS; p++) {
    int64_t at = tune_first_within(g->trials, g->n, known_ns, trials_parts[p]);
    json_array_append_new(within, json_pack("{s:f, s:o, s:o}", "part", trials_parts[p], "seconds",
                                            cli_json_real(at < 0 ? NAN : g->trials[at].end_s), "tried",
                                            count_at(g, at) < 0 ? json_null() : json_integer((json_int_t)at + 1)));
  }
  return json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:f, s:o, s:o, s:o, s:o, s:o, s:o}", "run",
                   cli_json_text(g->run), "maker", cli_json_text(g->maker), "task", cli_json_text(g->task), "workload",
                   cli_json_text(g->workload), "device", cli_json_text(g->device), "tried", (json_int_t)g->tried,
                   "timed", (json_int_t)c.timed, "seconds", c.wall_s, "cpu_seconds", trials_seconds(c.cpu_s),
                   "gpu_seconds", trials_seconds(c.gpu_s), "best_ns", cli_json_real(c.best_ns), "known_ns",
                   cli_json_real(known_ns), "within", within, "curve", points);
}

json_t *trials_seconds(double seconds) {
  return seconds > 0 ? cli_json_real(seconds) : json_null();
}

// All of the store, because the best known may be another run's.
enum assay_status trials_gather(struct store *s, struct trials *all, struct assay_error *err) {
  *all = (struct trials){0};
  enum assay_status status = store_each_trial(s, NULL, gather, all, err);
  return !status && all->failed ? error_nomem(err, "the trials") : status;
}

void cli_trials_print(struct store *s, const struct trials *all, const char *run, FILE *to) {
  bool any = false;
  for (size_t i = 0; i < all->n; i++) {
    const struct trials_group *g = &all->groups[i];
    if (run && strcmp(run, g->run) != 0)
      continue;
    fprintf(to, "%s", any ? "\n" : "");
    any = true;
    print_group(g, known_best(s, all, g), to);
  }
}

json_t *cli_trials_json(struct store *s, const struct trials *all, const char *run) {
  json_t *list = json_array();
  for (size_t i = 0; i < all->n; i++) {
    const struct trials_group *g = &all->groups[i];
    if (!run || strcmp(run, g->run) == 0)
      json_array_append_new(list, group_json(g, known_best(s, all, g)));
  }
  return list;
}

enum { KEY_READ = 9200, KEY_FORMAT, KEY_RUN, KEY_TASK, KEY_WORKLOAD, KEY_DEVICE, KEY_BASELINE, KEY_SUMMARY };
enum { MOST_RUNS = 64, MANY_GROUPS = 8 };

struct arguments {
  struct cli_judging judging;
  const char *read, *format, *run, *task, *workload, *device, *baseline;
  bool summary;
  const char *runs[MOST_RUNS];
  int n_runs;
};

static error_t parse(int key, char *arg, struct argp_state *state) {
  struct arguments *a = state->input;
  const struct {
    int key;
    const char **to;
  } texts[] = {{KEY_READ, &a->read},        {KEY_FORMAT, &a->format}, {KEY_RUN, &a->run},
               {KEY_TASK, &a->task},        {KEY_DEVICE, &a->device}, {KEY_BASELINE, &a->baseline},
               {KEY_WORKLOAD, &a->workload}};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (texts[i].key == key) {
      *texts[i].to = arg;
      return 0;
    }
  if (key == ARGP_KEY_INIT)
    state->child_inputs[0] = &a->judging;
  else if (key == KEY_SUMMARY)
    a->summary = true;
  else if (key == ARGP_KEY_ARG && a->n_runs < MOST_RUNS)
    a->runs[a->n_runs++] = arg;
  else
    return ARGP_ERR_UNKNOWN;
  return 0;
}

static const struct argp_option options[] = {
    {"read", KEY_READ, "FILE", 0, "first read another tuner's log into the store", 0},
    {"format", KEY_FORMAT, "NAME", 0, "of that log:" TUNE_LOG_NAMES " (default: by its text)", 0},
    {"run", KEY_RUN, "NAME", 0, "name for what is read (default: the file's name)", 0},
    {"task", KEY_TASK, "TASK", 0, "the task that was tuned, where the log does not say it", 0},
    {"workload", KEY_WORKLOAD, "NAME", 0, "its workload, likewise", 0},
    {"device", KEY_DEVICE, "NAME", 0, "what it was tuned on, likewise (default cuda)", 0},
    {"baseline", KEY_BASELINE, "MAKER", 0, "the maker whose times tuning has to beat, for break-even launches", 0},
    {"summary", KEY_SUMMARY, 0, 0, "a row for each maker, device and task (default for many curves)", 0},
    {0}};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .children = cli_store_child,
    .args_doc = "[RUN...]",
    .doc =
        "Shows what tuning cost: for each run of `assay tune`, or of another tuner's log that was read, the best time "
        "so far against seconds and configurations.\vWithin 10 %, 5 % and 2 % are of the best time that the store "
        "has of the task, workload and device, whoever made it: T seconds, C configurations.",
};

static enum assay_status put_trial(void *arg, const struct store_trial *t, struct assay_error *err) {
  return store_put_trial(arg, t, err);
}

static enum assay_status read_log(const struct arguments *a, struct store *store, struct assay_error *err) {
  const char *slash = strrchr(a->read, '/');
  const struct tune_log_about about = {.run = a->run  ? a->run
                                              : slash ? slash + 1
                                                      : a->read,
                                       .task = a->task ? a->task : "",
                                       .workload = a->workload ? a->workload : "",
                                       .device = a->device ? a->device : "cuda",
                                       .file = a->read};
  char *text = NULL;
  size_t n = 0;
  int64_t trials = 0;
  const struct plan_device *device;
  enum assay_status status = plan_device_parse(about.device, &device, err);
  if (!status)
    status = file_read(a->read, TUNE_LOG_MOST_BYTES, &text, &n, err);
  if (!status)
    status = store_begin_trials(store, err);
  if (!status) {
    status = tune_log_read(&(struct tune_log){a->format, text, n}, &about, put_trial, store, &trials, err);
    status = store_end_trials(store, status, err);
  }
  base_free(text);
  if (!status)
    fprintf(stderr, "assay: %lld trials read from %s\n", (long long)trials, a->read);
  return status;
}

static bool is_many(const struct trials *all, const char *run) {
  int n = 0;
  for (size_t i = 0; i < all->n; i++)
    n += !run || strcmp(run, all->groups[i].run) == 0;
  return n > MANY_GROUPS;
}

static void take(json_t *list, json_t *taken) {
  json_array_extend(list, taken);
  json_decref(taken);
}

// Everything that --json prints.
struct shown {
  json_t *curves, *rows, *speeds;
};

static void show(const struct arguments *a, struct store *store, const struct trials *all, const char *run,
                 struct shown *json) {
  if (a->judging.json) {
    take(json->curves, cli_trials_json(store, all, run));
    take(json->rows, trials_summary_json(all, run, a->baseline));
    take(json->speeds, trials_speeds_json(all, run, a->baseline));
  } else if (a->summary || a->baseline || is_many(all, run)) {
    trials_summary_print(all, run, a->baseline, stdout);
  } else {
    cli_trials_print(store, all, run, stdout);
  }
}

// Whether the store has trials of a run, or (of_maker) of a maker.
static enum assay_status check_name(const struct trials *all, const char *name, bool of_maker,
                                    struct assay_error *err) {
  char meant[80];
  struct nearest near = {.word = name};
  for (size_t i = 0; i < all->n; i++) {
    const char *known = of_maker ? all->groups[i].maker : all->groups[i].run;
    if (strcmp(known, name) == 0)
      return ASSAY_OK;
    nearest_offer(&near, known);
  }
  return error_set(err, ASSAY_ERR_NOT_FOUND, "the store has no trials of a %s '%.200s'%s", of_maker ? "maker" : "run",
                   name, nearest_text(&near, meant, sizeof meant));
}

int cli_trials(int argc, char **argv) {
  struct arguments a = {0};
  struct assay_error err = {0};
  struct store *store = NULL;
  struct trials all = {0};
  if (cli_begin(&argp, argc, argv, &a, &a.judging, &err) != ASSAY_OK)
    return cli_fail(&err);
  enum assay_status status = (a.read ? store_open : store_open_existing)(a.judging.paths.store, &store, &err);
  if (!status && a.read)
    status = read_log(&a, store, &err);
  if (!status)
    status = trials_gather(store, &all, &err);
  if (!status && a.baseline)
    status = check_name(&all, a.baseline, true, &err);
  for (int i = 0; !status && i < a.n_runs; i++)
    status = check_name(&all, a.runs[i], false, &err);
  struct shown json = {json_array(), json_array(), json_array()};
  for (int i = 0; !status && (i < a.n_runs || i == 0); i++)
    show(&a, store, &all, a.runs[i], &json);
  json_t *object = json_pack("{s:o, s:o, s:o}", "curves", json.curves, "summary", json.rows, "speeds", json.speeds);
  if (!status && a.judging.json)
    cli_json_print(cli_json_of("trials", object));
  else
    json_decref(object);
  arena_release(&all.arena);
  store_close(store);
  return status ? cli_fail(&err) : CLI_PASS;
}
