// assay trials [RUN...]: best-so-far curves and what tuning cost.
#include "cli/trials.h"

#include <argp.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/printable.h"
#include "cli/json.h"
#include "cli/judging.h"
#include "tune/curve.h"

// The trials of one run, task, workload, device and maker.
struct group {
  const char *run, *task, *workload, *device, *maker;
  int64_t n;
  size_t capacity, capacity_names;
  struct tune_trial *trials;
  const char **names; // of the configurations
};

struct gathering {
  struct arena arena;
  size_t n, capacity;
  struct group *groups;
  bool failed;
};

static bool same(const struct group *g, const struct store_trial *t) {
  return strcmp(g->run, t->run) == 0 && strcmp(g->task, t->task) == 0 && strcmp(g->workload, t->workload) == 0 &&
         strcmp(g->device, t->device) == 0 && strcmp(g->maker, t->maker) == 0;
}

static struct group *add_group(struct gathering *all, const struct store_trial *t) {
  if (all->n == all->capacity) {
    struct group *more = arena_grow(&all->arena, all->groups, all->n, &all->capacity, sizeof *more);
    if (!more)
      return NULL;
    all->groups = more;
  }
  struct group *g = &all->groups[all->n];
  *g = (struct group){.run = arena_strdup(&all->arena, t->run),
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
  struct gathering *all = arg;
  struct group *g = all->n > 0 && same(&all->groups[all->n - 1], t) ? &all->groups[all->n - 1] : add_group(all, t);
  if (g && (size_t)g->n == g->capacity) {
    g->trials = arena_grow(&all->arena, g->trials, (size_t)g->n, &g->capacity, sizeof *g->trials);
    g->names = arena_grow(&all->arena, g->names, (size_t)g->n, &g->capacity_names, sizeof *g->names);
  }
  const char *name = g && g->trials && g->names ? arena_strdup(&all->arena, t->configuration) : NULL;
  if (!name)
    return !(all->failed = true);
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
static double best_known(struct store *s, const struct gathering *all, const struct group *g) {
  struct assay_error ignored = {0};
  const struct store_verdict key = {.task = g->task, .form = "default", .workload = g->workload, .device = g->device};
  double best = NAN;
  store_least_time(s, &key, &best, &ignored);
  for (size_t i = 0; i < all->n; i++) {
    const struct group *other = &all->groups[i];
    if (strcmp(other->task, g->task) == 0 && strcmp(other->workload, g->workload) == 0 &&
        strcmp(other->device, g->device) == 0)
      best = fmin(best, tune_cost_of(other->trials, other->n).best_ns);
  }
  return best;
}

static const double PARTS[] = {0.10, 0.05, 0.02};
enum { N_PARTS = sizeof PARTS / sizeof *PARTS };

static void print_curve(const struct group *g, FILE *to) {
  static const char *const headers[] = {"after s", "tried", "time", "configuration"};
  struct table *t = table_create(headers, 4, "rrrl");
  double best = INFINITY;
  for (int64_t i = 0; i < g->n && t; i++) {
    char after[32], tried[32], time[32];
    if (!(g->trials[i].time_ns < best))
      continue;
    best = g->trials[i].time_ns;
    snprintf(after, sizeof after, "%.2f", g->trials[i].end_s);
    snprintf(tried, sizeof tried, "%lld", (long long)i + 1);
    table_row(t, (const char *const[]){after, tried, cli_time_text(best, time), g->names[i]});
  }
  if (t)
    table_print(t, to);
  table_destroy(t);
}

static void print_group(const struct group *g, double known_ns, FILE *to) {
  struct tune_cost c = tune_cost_of(g->trials, g->n);
  char name[512], best[32], known[32];
  fprintf(to, "%s: %s %s on %s\n", printable_line(g->maker, name, sizeof name), g->task, g->workload, g->device);
  print_curve(g, to);
  fprintf(to, "%lld tried, %lld right and timed; %.2f s, processors %.2f s, GPU %.2f s; best %s, best known %s\n",
          (long long)c.tried, (long long)c.timed, c.wall_s, c.cpu_s, c.gpu_s, cli_time_text(c.best_ns, best),
          cli_time_text(known_ns, known));
  for (int p = 0; p < N_PARTS; p++) {
    int64_t at = tune_first_within(g->trials, g->n, known_ns, PARTS[p]);
    if (at < 0)
      fprintf(to, "within %.0f %%: not reached\n", 100 * PARTS[p]);
    else
      fprintf(to, "within %.0f %%: T %.2f s, C %lld\n", 100 * PARTS[p], g->trials[at].end_s, (long long)at + 1);
  }
}

static json_t *group_json(const struct group *g, double known_ns) {
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
  for (int p = 0; p < N_PARTS; p++) {
    int64_t at = tune_first_within(g->trials, g->n, known_ns, PARTS[p]);
    json_array_append_new(within, json_pack("{s:f, s:o, s:o}", "part", PARTS[p], "seconds",
                                            cli_json_real(at < 0 ? NAN : g->trials[at].end_s), "tried",
                                            at < 0 ? json_null() : json_integer((json_int_t)at + 1)));
  }
  return json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:f, s:f, s:f, s:o, s:o, s:o, s:o}", "run",
                   cli_json_text(g->run), "maker", cli_json_text(g->maker), "task", cli_json_text(g->task), "workload",
                   cli_json_text(g->workload), "device", cli_json_text(g->device), "tried", (json_int_t)c.tried,
                   "timed", (json_int_t)c.timed, "seconds", c.wall_s, "cpu_seconds", c.cpu_s, "gpu_seconds", c.gpu_s,
                   "best_ns", cli_json_real(c.best_ns), "known_ns", cli_json_real(known_ns), "within", within, "curve",
                   points);
}

// All of the store, because the best known may be another run's.
static bool gather_all(struct store *s, struct gathering *all) {
  struct assay_error err = {0};
  *all = (struct gathering){0};
  if (store_each_trial(s, NULL, gather, all, &err) == ASSAY_OK && !all->failed)
    return true;
  fprintf(stderr, "assay: %s\n", err.status ? err.message : "no memory for the trials");
  return false;
}

void cli_trials_print(struct store *s, const char *run, double known_ns, FILE *to) {
  struct gathering all;
  bool any = false;
  if (gather_all(s, &all))
    for (size_t i = 0; i < all.n; i++) {
      const struct group *g = &all.groups[i];
      if (run && strcmp(run, g->run) != 0)
        continue;
      fprintf(to, "%s", any ? "\n" : "");
      any = true;
      print_group(g, isnan(known_ns) ? best_known(s, &all, g) : known_ns, to);
    }
  arena_release(&all.arena);
}

json_t *cli_trials_json(struct store *s, const char *run, double known_ns) {
  struct gathering all;
  json_t *list = json_array();
  if (gather_all(s, &all))
    for (size_t i = 0; i < all.n; i++) {
      const struct group *g = &all.groups[i];
      if (!run || strcmp(run, g->run) == 0)
        json_array_append_new(list, group_json(g, isnan(known_ns) ? best_known(s, &all, g) : known_ns));
    }
  arena_release(&all.arena);
  return list;
}

static const struct argp argp = {
    .parser = cli_parse_words,
    .children = cli_common_child,
    .args_doc = "[RUN...]",
    .doc =
        "Shows what tuning cost: for each run of `assay tune`, or of another tuner's log that was read, the best time "
        "so far against seconds and configurations.\vWithin 10 %, 5 % and 2 % are of the best time that the store "
        "has of the task, workload and device, whoever made it: T seconds, C configurations.",
};

int cli_trials(int argc, char **argv) {
  struct cli_words a = {0};
  struct assay_error err = {0};
  struct store *store = NULL;
  if (cli_begin(&argp, argc, argv, &a, &a.judging, &err) != ASSAY_OK)
    return cli_fail(&err);
  if (store_open(a.judging.paths.store, &store, &err) != ASSAY_OK)
    return cli_fail(&err);
  json_t *all = a.judging.json ? json_array() : NULL;
  for (int i = 0; i < a.n || i == 0; i++) {
    if (!all) {
      cli_trials_print(store, a.items[i], NAN, stdout);
      continue;
    }
    json_t *curves = cli_trials_json(store, a.items[i], NAN);
    json_array_extend(all, curves);
    json_decref(curves);
  }
  if (all)
    cli_json_print(cli_json_of("trials", json_pack("{s:o}", "curves", all)));
  store_close(store);
  return CLI_PASS;
}
