#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "report/kernelbench.h"
#include "report/report.h"
#include "report/view.h"
#include "stats/stats.h"

const double score_thresholds[SCORE_THRESHOLDS] = {0, 0.5, 0.8, 1, 1.5, 2};

// One task of the run, with the best time of its correct candidates.
struct entry {
  char task[VIEW_LABEL];
  int n, n_correct;
  bool suspicious, unstable, any_unstable, narrow; // unstable: the best time; any_unstable: that of some candidate
  double time_ns, floor_ns, baseline_ns;
};

struct entries {
  struct entry *items;
  int n, capacity;
  bool failed;
  bool stable;        // times that are unstable do not count
  bool only_full;     // only times at `full` count, as the baseline's are of the published sizes
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

// The speedup over the baseline of this name, whose calls took turns with the candidate's; NaN if there was none.
static double paired_speedup(const struct verdict_view *view, const char *name) {
  double speedup = NAN;
  for (int i = 0; i < view->n_baselines; i++)
    if (strcmp(view->baselines[i].name, name) == 0 && !isnan(view->baselines[i].speedup))
      speedup = view->baselines[i].speedup;
  return speedup;
}

// A time that ranks becomes the task's if it is the best so far.
static void take_time(const struct entries *all, struct entry *e, const struct verdict_view *view) {
  const struct store_verdict *v = &view->stored;
  double ns = view_ranked_ns(view);
  bool counts = !isnan(ns) && !(v->unstable && all->stable) && (!all->only_full || strcmp(v->workload, "full") == 0);
  if (!counts || ns >= e->time_ns)
    return;
  e->time_ns = ns;
  e->floor_ns = v->floor_ns;
  e->unstable = v->unstable;
  if (all->paired)
    e->baseline_ns = ns * paired_speedup(view, all->paired);
}

static bool add_verdict(void *arg, const struct store_verdict *v) {
  struct entries *all = arg;
  struct verdict_view view;
  struct assay_error ignored = {0};
  char label[VIEW_LABEL];
  if (view_from_store(v, &view, &ignored) != ASSAY_OK) {
    all->failed = true;
    return false;
  }
  struct entry *e = entry_of(all, view_task_label(&view, label, sizeof label));
  if (!e) {
    view_release(&view);
    return false;
  }
  e->n++;
  e->narrow = e->narrow || view_is_narrow(&view);
  e->suspicious = e->suspicious || (v->reason == ASSAY_REASON_PASS && store_is_suspicious(v));
  if (view_is_right(&view)) {
    e->n_correct++;
    e->any_unstable = e->any_unstable || v->unstable;
    take_time(all, e, &view);
  }
  view_release(&view);
  return true;
}

// "kernelbench/1" of "kernelbench/1/19", "kernelbench/1 (tf32)" of "kernelbench/1/19 (tf32)": names have no blanks.
static void group_of(const char *task, char *out, size_t size) {
  const char *slash = strrchr(task, '/'), *contract = strchr(task, ' ');
  const int name = contract ? (int)(contract - task) : (int)strlen(task);
  snprintf(out, size, "%.*s%s", slash ? (int)(slash - task) : name, task, contract ? contract : "");
}

struct columns {
  bool *correct;
  double *speedup, *part, *faster;
};

// fast_0 is the part of tasks that are right, timed or not: above nothing is every speed. Of speeds that nobody knows,
// of no candidate that is right or of no baseline, there is no part.
static void fill_fast_p(const struct columns *c, int n, int n_faster, struct score *out) {
  bool known = out->n_baseline > 0 && (n_faster > 0 || out->n_correct == 0);
  for (int p = 0; p < SCORE_THRESHOLDS; p++)
    out->fast_p[p] = known ? stats_fast_p(c->correct, c->speedup, n, score_thresholds[p]) : NAN;
  out->fast_p[0] = n ? (double)out->n_correct / n : NAN;
}

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
    out->n_narrow += e->narrow && !e->n_correct;
    out->n_unstable += all->stable ? e->any_unstable && isnan(e->time_ns) : e->unstable;
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
  fill_fast_p(c, n, n_faster, out);
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

// The baseline's times: from a file, from a run of that name, or those taken in turn with the candidates' times.
static enum assay_status read_baseline(struct store *s, const char *name, struct entries *base, struct entries *all,
                                       struct assay_error *err) {
  if (is_file_of_times(name))
    return read_file(name, base, err);
  enum assay_status status = store_each_standing(s, name, NULL, add_verdict, base, err);
  if (!status && base->n == 0)
    all->paired = name;
  return status;
}

enum assay_status score_run(struct store *s, const char *run, const char *baseline, bool stable, struct score **scores,
                            int *count, struct assay_error *err) {
  struct entries all = {.only_full = baseline && is_file_of_times(baseline), .stable = stable},
                 base = {.stable = stable};
  enum assay_status status = baseline ? read_baseline(s, baseline, &base, &all, err) : ASSAY_OK;
  if (!status)
    status = store_each_standing(s, run, NULL, add_verdict, &all, err);
  if (!status && (all.failed || base.failed))
    status = error_nomem(err, "scores");
  if (!status && all.n == 0)
    status = error_set(err, ASSAY_ERR_NOT_FOUND, "the store has no run named \"%s\"; `assay runs` lists them", run);
  if (!status && all.paired && !any_baseline(&all))
    status =
        error_set(err, ASSAY_ERR_NOT_FOUND,
                  "the store has no run named \"%s\" (`assay runs` lists them), and no candidate of \"%s\" was timed "
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
