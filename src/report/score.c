#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "report/kernelbench.h"
#include "report/report.h"
#include "stats/stats.h"

const double score_thresholds[SCORE_THRESHOLDS] = {0, 0.5, 0.8, 1, 1.5, 2};

// One task of the run: the best time of its correct candidates.
struct entry {
  char task[128];
  int n, n_correct;
  bool suspicious, unstable;
  double time_ns, floor_ns, baseline_ns;
};

struct entries {
  struct entry *items;
  int n, capacity;
  bool failed;
  bool only_full;     // times at other workloads do not count: the baseline's are of the published sizes
  const char *paired; // a baseline that was timed in turn with the candidates; NULL: none
};

static struct entry *entry_of(struct entries *e, const char *task) {
  for (int i = 0; i < e->n; i++)
    if (strcmp(e->items[i].task, task) == 0)
      return &e->items[i];
  if (e->n == e->capacity) {
    int capacity = e->capacity * 2 + 64;
    struct entry *more = base_realloc(e->items, (size_t)capacity * sizeof *more);
    if (!more) {
      e->failed = true;
      return NULL;
    }
    e->items = more;
    e->capacity = capacity;
  }
  struct entry *new = &e->items[e->n++];
  *new = (struct entry){.time_ns = NAN, .floor_ns = NAN, .baseline_ns = NAN};
  snprintf(new->task, sizeof new->task, "%s", task);
  return new;
}

// How much faster than the baseline of this name, by calls that took turns; NaN where it was not there.
static double paired_speedup(const struct store_verdict *v, const char *name) {
  json_t *evidence = v->evidence ? json_loads(v->evidence, 0, NULL) : NULL, *c;
  double speedup = NAN;
  size_t i;
  json_array_foreach(json_object_get(evidence, "baselines"), i, c) {
    const char *its = json_string_value(json_object_get(c, "name"));
    if (its && strcmp(its, name) == 0 && json_is_real(json_object_get(c, "speedup")))
      speedup = json_real_value(json_object_get(c, "speedup"));
  }
  json_decref(evidence);
  return speedup;
}

static bool add_verdict(void *arg, const struct store_verdict *v) {
  struct entries *all = arg;
  struct entry *e = entry_of(all, v->task);
  if (!e)
    return false;
  e->n++;
  if (v->reason != ASSAY_REASON_PASS)
    return true;
  e->n_correct++;
  // A time below the floor is no record: it does not count as the task's best.
  if (!v->suspicious && v->time_ns > 0 && !(v->time_ns >= e->time_ns) &&
      (!all->only_full || strcmp(v->workload, "full") == 0)) {
    e->time_ns = v->time_ns;
    e->floor_ns = v->floor_ns;
    e->unstable = v->unstable;
    if (all->paired)
      e->baseline_ns = v->time_ns * paired_speedup(v, all->paired);
  }
  e->suspicious = e->suspicious || v->suspicious;
  return true;
}

// "kernelbench/1" of "kernelbench/1/19".
static void group_of(const char *task, char *out, size_t size) {
  const char *slash = strrchr(task, '/');
  snprintf(out, size, "%.*s", slash ? (int)(slash - task) : (int)strlen(task), task);
}

struct columns {
  bool *correct;
  double *speedup, *part, *faster;
};

static void fill_score(const struct entries *all, const char *group, struct columns *c, struct score *out) {
  int n = 0, n_part = 0, n_faster = 0;
  double pass = 0;
  for (int i = 0; i < all->n; i++) {
    const struct entry *e = &all->items[i];
    char own[64];
    group_of(e->task, own, sizeof own);
    if (strcmp(own, group) != 0)
      continue;
    out->n_verdicts += e->n;
    out->n_verdicts_correct += e->n_correct;
    out->n_correct += e->n_correct > 0;
    out->n_suspicious += e->suspicious;
    out->n_unstable += e->unstable;
    pass += stats_pass_at_k(e->n, e->n_correct, 1);
    out->n_baseline += !isnan(e->baseline_ns);
    if (e->n_correct && !isnan(e->floor_ns / e->time_ns))
      c->part[n_part++] = e->floor_ns / e->time_ns;
    c->correct[n] = e->n_correct > 0 && !isnan(e->baseline_ns / e->time_ns);
    c->speedup[n] = c->correct[n] ? e->baseline_ns / e->time_ns : 0;
    if (c->correct[n])
      c->faster[n_faster++] = c->speedup[n];
    n++;
  }
  out->n_tasks = n;
  out->pass_at_1 = n ? pass / n : NAN;
  for (int q = 0; q < 3; q++)
    out->part_of_floor[q] = stats_quantile(c->part, n_part, 0.25 * (q + 1));
  out->geomean_speedup = stats_geomean(c->faster, n_faster);
  for (int p = 0; p < SCORE_THRESHOLDS; p++)
    out->fast_p[p] = out->n_baseline ? stats_fast_p(c->correct, c->speedup, n, score_thresholds[p]) : NAN;
}

static enum assay_status make_scores(const struct entries *all, const char *run, struct score **scores, int *count,
                                     struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  size_t n = (size_t)all->n + 1;
  struct columns c = {base_calloc(n, sizeof *c.correct), base_calloc(n, sizeof(double)), base_calloc(n, sizeof(double)),
                      base_calloc(n, sizeof(double))};
  struct score *list = base_calloc(n, sizeof *list);
  int groups = 0;
  if (!c.correct || !c.speedup || !c.part || !c.faster || !list) {
    status = error_nomem(err, "scores");
    base_free(list);
    goto out;
  }
  for (int i = 0; i < all->n; i++) {
    char group[64];
    bool known = false;
    group_of(all->items[i].task, group, sizeof group);
    for (int g = 0; g < groups; g++)
      known = known || strcmp(list[g].group, group) == 0;
    if (known)
      continue;
    snprintf(list[groups].group, sizeof list[groups].group, "%s", group);
    snprintf(list[groups].run, sizeof list[groups].run, "%s", run);
    fill_score(all, group, &c, &list[groups]);
    groups++;
  }
  *scores = list;
  *count = groups;
out:
  base_free(c.correct);
  base_free(c.speedup);
  base_free(c.part);
  base_free(c.faster);
  return status;
}

static bool is_file_of_times(const char *baseline) {
  size_t n = strlen(baseline);
  return n > 5 && strcmp(baseline + n - 5, ".json") == 0;
}

static enum assay_status read_file(const char *path, struct entries *base, struct assay_error *err) {
  struct kernelbench_time *times = NULL;
  int count = 0;
  enum assay_status status = kernelbench_read_times(path, &times, &count, err);
  for (int i = 0; i < count && !status; i++) {
    char task[64];
    snprintf(task, sizeof task, "kernelbench/%d/%d", times[i].level, times[i].problem);
    struct entry *e = entry_of(base, task);
    if (e)
      e->time_ns = times[i].ns;
  }
  base_free(times);
  return status;
}

static bool any_baseline(const struct entries *all) {
  bool any = false;
  for (int i = 0; i < all->n; i++)
    any = any || !isnan(all->items[i].baseline_ns);
  return any;
}

// The baseline's times: of a file, of a run of that name, or else those that were taken in turn with the candidates'.
static enum assay_status read_baseline(struct store *s, const char *name, struct entries *base, struct entries *all,
                                       struct assay_error *err) {
  if (is_file_of_times(name))
    return read_file(name, base, err);
  enum assay_status status = store_each(s, name, add_verdict, base, err);
  if (!status && base->n == 0)
    all->paired = name;
  return status;
}

enum assay_status score_run(struct store *s, const char *run, const char *baseline, struct score **scores, int *count,
                            struct assay_error *err) {
  struct entries all = {.only_full = baseline && is_file_of_times(baseline)}, base = {0};
  enum assay_status status = baseline ? read_baseline(s, baseline, &base, &all, err) : ASSAY_OK;
  if (!status)
    status = store_each(s, run, add_verdict, &all, err);
  if (!status && (all.failed || base.failed))
    status = error_nomem(err, "scores");
  if (!status && all.n == 0)
    status = error_set(err, ASSAY_ERR_NOT_FOUND, "the store has no run named \"%s\"; `assay score` lists them", run);
  if (!status && all.paired && !any_baseline(&all))
    status =
        error_set(err, ASSAY_ERR_NOT_FOUND,
                  "the store has no run named \"%s\" (`assay score` lists them), and no candidate of \"%s\" was timed "
                  "in turn with a baseline of that name (assay bench --baseline %s)",
                  baseline, run, baseline);
  if (!status && baseline && !all.paired && base.n == 0)
    status = error_set(err, ASSAY_ERR_NOT_FOUND, "%s has no times", baseline);
  for (int i = 0; i < all.n && !status; i++)
    for (int k = 0; k < base.n; k++)
      if (strcmp(all.items[i].task, base.items[k].task) == 0)
        all.items[i].baseline_ns = base.items[k].time_ns;
  if (!status)
    status = make_scores(&all, run, scores, count, err);
  base_free(all.items);
  base_free(base.items);
  return status;
}
