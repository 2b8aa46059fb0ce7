// Scores of a run of the store: its rows, their baselines, and the groups that may be ranked together.
#include <math.h>
#include <stdio.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "report/kernelbench.h"
#include "report/report.h"
#include "score/group.h"

static bool is_file_of_times(const char *baseline) {
  size_t n = strlen(baseline);
  return n > 5 && strcmp(baseline + n - 5, ".json") == 0;
}

static enum assay_status add_file(struct report_rows *rows, const char *path, struct assay_error *err) {
  struct kernelbench_time *times = NULL;
  struct rows_time *named = NULL;
  int count = 0;
  enum assay_status status = kernelbench_read_times(path, &times, &count, err);
  if (!status && !(named = base_calloc((size_t)count + 1, sizeof *named)))
    status = error_nomem(err, "a baseline");
  for (int i = 0; i < count && !status; i++) {
    const char *task = arena_printf(&rows->arena, "kernelbench/%d/%d", times[i].level, times[i].problem);
    named[i] = (struct rows_time){task ? task : "", times[i].ns};
  }
  if (!status)
    status = rows_add_times(rows, path, named, count, err);
  base_free(times);
  base_free(named);
  return status;
}

static bool any_has(const struct report_rows *rows, const char *baseline) {
  bool any = false;
  for (int i = 0; i < rows->n; i++)
    any = any || score_baseline_of(&rows->items[i], baseline);
  return any;
}

// The baseline's times: from a file, from a run of that name, or those taken in turn with the candidates' times.
static enum assay_status add_baseline(struct store *s, const char *run, const struct score_options *o,
                                      struct report_rows *rows, struct assay_error *err) {
  const char *name = o->baseline;
  if (is_file_of_times(name))
    return add_file(rows, name, err);
  struct report_rows others = {0};
  enum assay_status status = rows_read(s, name, &others, err);
  if (!status && others.n > 0)
    status = rows_add_baseline(rows, name, &others, o->stable, err);
  else if (!status && !any_has(rows, name))
    status =
        error_set(err, ASSAY_ERR_NOT_FOUND,
                  "the store has no run named \"%s\" (`assay runs` lists them), and no candidate of \"%s\" was timed "
                  "in turn with a baseline of that name (assay bench --baseline %s)",
                  name, run, name);
  rows_release(&others);
  return status;
}

enum assay_status score_read(struct store *s, const char *run, const struct score_options *o, struct report_rows *out,
                             struct assay_error *err) {
  struct report_rows rows = {0};
  enum assay_status status = rows_read(s, run, &rows, err);
  if (!status && rows.n == 0)
    status = error_set(err, ASSAY_ERR_NOT_FOUND, "the store has no run named \"%s\"; `assay runs` lists them", run);
  if (!status && o->baseline)
    status = add_baseline(s, run, o, &rows, err);
  if (status)
    rows_release(&rows);
  else
    *out = rows;
  return status;
}

// --- groups

// Whether another group of the level has another value of what `field` gives.
static bool differs(const struct score *all, int n, int at, size_t field) {
  const char *own = (const char *)&all[at] + field;
  for (int i = 0; i < n; i++)
    if (strcmp(all[i].group, all[at].group) == 0 && strcmp((const char *)&all[i] + field, own) != 0)
      return true;
  return false;
}

// What tells groups of one level apart, after its name.
static void tell_apart(const struct score *all, int n, int at, char *text, size_t size) {
  static const struct {
    size_t field;
    const char *before, *unknown;
  } parts[] = {{offsetof(struct score, workload), " at ", ""},
               {offsetof(struct score, form), ", form ", ""},
               {offsetof(struct score, device), " on ", "an unknown device"},
               {offsetof(struct score, rule), ", rule ", "unknown"},
               {offsetof(struct score, judge), ", judge ", "unknown"}};
  size_t used = (size_t)snprintf(text, size, "%s", all[at].group);
  for (size_t i = 0; i < sizeof parts / sizeof *parts && used < size; i++) {
    const char *value = (const char *)&all[at] + parts[i].field;
    if (differs(all, n, at, parts[i].field))
      used += (size_t)snprintf(text + used, size - used, "%s%s", parts[i].before, value[0] ? value : parts[i].unknown);
  }
}

static void name_group(struct score *out, const char *run, const struct score_group *g) {
  // What is known of the setting: by the row that knows most of it.
  const struct score_setting *at = &g->rows[0]->setting;
  for (int i = 1; i < g->n; i++) {
    const struct score_setting *s = &g->rows[i]->setting;
    if (strlen(s->device) + strlen(s->rule) + strlen(s->judge) >
        strlen(at->device) + strlen(at->rule) + strlen(at->judge))
      at = s;
  }
  snprintf(out->run, sizeof out->run, "%s", run);
  snprintf(out->level, sizeof out->level, "%s", g->key);
  snprintf(out->group, sizeof out->group, "%s%s%s%s", g->key, at->contract[0] ? " (" : "", at->contract,
           at->contract[0] ? ")" : "");
#define COPY_SETTING(field) snprintf(out->field, sizeof out->field, "%s", at->field);
  SCORE_SETTINGS(COPY_SETTING)
#undef COPY_SETTING
}

// The names of the group's level among those that are expected. Returns how many.
static int names_of(const struct score_names *all, const char *level, const char **out) {
  int n = 0;
  for (int i = 0; i < all->n; i++) {
    int suite, length;
    score_names(all->items[i], &suite, &length);
    if (strlen(level) == (size_t)length && strncmp(all->items[i], level, (size_t)length) == 0)
      out[n++] = all->items[i];
  }
  return n;
}

static enum assay_status score_group_rows(const struct score_group *g, const struct score_options *o,
                                          struct score_summary *out, struct assay_error *err) {
  const struct score_question q = {.baseline = o->baseline, .stable_only = o->stable};
  const char **items = base_calloc((o->expected ? (size_t)o->expected->n : 0) + 1, sizeof *items);
  struct score_task *tasks = NULL;
  int n = 0;
  if (!items)
    return error_nomem(err, "scores");
  const struct score_names names = {items, o->expected ? names_of(o->expected, g->key, items) : 0};
  enum assay_status status = score_tasks(g->rows, g->n, &q, names.n > 0 ? &names : NULL, &tasks, &n, err);
  if (!status)
    status = score_sum_up(tasks, n, &q, out, err);
  base_free(tasks);
  base_free(items);
  return status;
}

// Levels that are expected and of which there is no verdict: all of their tasks are missing.
static enum assay_status add_levels_without_rows(const char *run, const struct score_options *o, struct score *all,
                                                 int *n, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < o->expected->n && !status; i++) {
    int suite, length;
    bool known = false;
    char level[sizeof all->level];
    score_names(o->expected->items[i], &suite, &length);
    snprintf(level, sizeof level, "%.*s", length, o->expected->items[i]);
    for (int k = 0; k < *n; k++)
      known = known || strcmp(all[k].level, level) == 0;
    if (known)
      continue;
    const struct score_group none = {.key = level};
    struct score *new = &all[(*n)++];
    snprintf(new->run, sizeof new->run, "%s", run);
    snprintf(new->level, sizeof new->level, "%s", level);
    snprintf(new->group, sizeof new->group, "%s", level);
    status = score_group_rows(&none, o, &new->sum, err);
  }
  return status;
}

static enum assay_status score_rows(const char *run, const struct score_row **rows, int n,
                                    const struct score_options *o, struct score **scores, int *count,
                                    struct assay_error *err) {
  struct score_group *groups = NULL;
  int n_groups = 0;
  enum assay_status status = score_group_settings(rows, n, &groups, &n_groups, err);
  size_t most = (size_t)n_groups + (o->expected ? (size_t)o->expected->n : 0) + 1;
  struct score *all = base_calloc(most, sizeof *all);
  char(*names)[sizeof all->group] = base_calloc((size_t)n_groups + 1, sizeof *names);
  if (!status && (!all || !names))
    status = error_nomem(err, "scores");
  for (int i = 0; i < n_groups && !status; i++) {
    name_group(&all[i], run, &groups[i]);
    status = score_group_rows(&groups[i], o, &all[i].sum, err);
  }
  for (int i = 0; i < n_groups && !status; i++)
    tell_apart(all, n_groups, i, names[i], sizeof names[i]);
  for (int i = 0; i < n_groups && !status; i++)
    memcpy(all[i].group, names[i], sizeof names[i]);
  if (!status && o->expected)
    status = add_levels_without_rows(run, o, all, &n_groups, err);
  base_free(groups);
  base_free(names);
  if (status) {
    base_free(all);
    return status;
  }
  *scores = all;
  *count = n_groups;
  return ASSAY_OK;
}

enum assay_status score_run(struct store *s, const char *run, const struct score_options *o, struct score **scores,
                            int *count, struct assay_error *err) {
  struct report_rows rows = {0};
  enum assay_status status = score_read(s, run, o, &rows, err);
  const struct score_row **all = status ? NULL : rows_pointers(&rows);
  if (!status && !all)
    status = error_nomem(err, "scores");
  if (!status)
    status = score_rows(run, all, rows.n, o, scores, count, err);
  base_free(all);
  rows_release(&rows);
  return status;
}
