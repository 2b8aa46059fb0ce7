// SPDX-License-Identifier: Apache-2.0
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
  else if (!status && !any_has(rows, name)) {
    char near[256];
    status = error_set(err, ASSAY_ERR_NOT_FOUND,
                       "the store has no run named \"%s\"%s (`assay runs` lists them), and no candidate of \"%s\" was "
                       "timed in turn with a baseline of that name (assay bench --baseline %s)",
                       name, store_near_run(s, name, near, sizeof near), run, name);
  }
  rows_release(&others);
  return status;
}

enum assay_status score_read(struct store *s, const char *run, const struct score_options *o, struct report_rows *out,
                             struct assay_error *err) {
  struct report_rows rows = {0};
  enum assay_status status = rows_read(s, run, &rows, err);
  if (!status && rows.n == 0)
    status = store_no_run(s, run, err);
  if (!status && o->baseline)
    status = add_baseline(s, run, o, &rows, err);
  if (!status && o->by)
    status = rows_add_kinds(&rows, o->tasks, err);
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

// A level in one setting, or one kind of its tasks.
struct part {
  struct score_group of; // its key is the level
  const char *kind;      // "": of no kind
};

static void name_group(struct score *out, const char *run, const struct part *p) {
  const struct score_group *g = &p->of;
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
  snprintf(out->kind, sizeof out->kind, "%s", p->kind);
  snprintf(out->group, sizeof out->group, "%s%s%s%s%s%s", g->key, at->contract[0] ? " (" : "", at->contract,
           at->contract[0] ? ")" : "", p->kind[0] ? ", " : "", p->kind);
#define COPY_SETTING(field) snprintf(out->field, sizeof out->field, "%s", at->field);
  SCORE_SETTINGS(COPY_SETTING)
#undef COPY_SETTING
}

// What is expected of a level, or of one kind of it. `kinds`: of all names; NULL: without kinds.
struct expected {
  const struct score_names *names;
  const char **kinds;
};

static bool is_expected_of(const struct expected *e, int i, const char *level, const char *kind) {
  int suite, length;
  score_names(e->names->items[i], &suite, &length);
  return strlen(level) == (size_t)length && strncmp(e->names->items[i], level, (size_t)length) == 0 &&
         (!e->kinds || strcmp(e->kinds[i], kind) == 0);
}

static enum assay_status read_kinds(const struct score_options *o, struct arena *arena, struct expected *e,
                                    struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  e->names = o->expected;
  if (!o->by || !o->expected)
    return ASSAY_OK;
  e->kinds = arena_calloc(arena, (size_t)o->expected->n + 1, sizeof *e->kinds);
  if (!e->kinds)
    return error_nomem(err, "scores");
  for (int i = 0; i < o->expected->n && !status; i++) {
    struct rows_kind kind = {"", ""};
    status = rows_kind_by_name(o->tasks, o->expected->items[i], arena, &kind, err);
    e->kinds[i] = *o->by == SCORE_BY_CATEGORY ? kind.category : kind.operator_kind;
  }
  return status;
}

static enum assay_status score_part(const struct part *p, const struct score_options *o, const struct expected *e,
                                    struct score_summary *out, struct assay_error *err) {
  const struct score_question q = {.baseline = o->baseline, .stable_only = o->stable};
  const char **items = base_calloc((e->names ? (size_t)e->names->n : 0) + 1, sizeof *items);
  struct score_names names = {items, 0};
  struct score_task *tasks = NULL;
  int n = 0;
  if (!items)
    return error_nomem(err, "scores");
  for (int i = 0; e->names && i < e->names->n; i++)
    if (is_expected_of(e, i, p->of.key, p->kind))
      items[names.n++] = e->names->items[i];
  enum assay_status status = score_tasks(p->of.rows, p->of.n, &q, names.n > 0 ? &names : NULL, &tasks, &n, err);
  if (!status)
    status = score_sum_up(tasks, n, &q, out, err);
  base_free(tasks);
  base_free(items);
  return status;
}

// What is expected and of which there is no verdict: all of its tasks are missing.
static enum assay_status add_parts_without_rows(const char *run, const struct score_options *o,
                                                const struct expected *e, struct score *all, int *n,
                                                struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; e->names && i < e->names->n && !status; i++) {
    int suite, length;
    bool known = false;
    char level[sizeof all->level];
    const char *kind = e->kinds ? e->kinds[i] : "";
    score_names(e->names->items[i], &suite, &length);
    snprintf(level, sizeof level, "%.*s", length, e->names->items[i]);
    for (int k = 0; k < *n; k++)
      known = known || (strcmp(all[k].level, level) == 0 && strcmp(all[k].kind, kind) == 0);
    if (known)
      continue;
    const struct part none = {{.key = level}, kind};
    struct score *new = &all[(*n)++];
    snprintf(new->run, sizeof new->run, "%s", run);
    snprintf(new->level, sizeof new->level, "%s", level);
    snprintf(new->kind, sizeof new->kind, "%s", kind);
    snprintf(new->group, sizeof new->group, "%s%s%s", level, kind[0] ? ", " : "", kind);
    status = score_part(&none, o, e, &new->sum, err);
  }
  return status;
}

// Levels and settings, and with `by` the kinds of tasks in each. *out: heap array.
static enum assay_status make_parts(const struct score_row **rows, int n, const enum score_by *by, struct part **out,
                                    int *count, struct assay_error *err) {
  struct score_group *levels = NULL;
  int n_levels = 0, made = 0;
  enum assay_status status = score_group_settings(rows, n, &levels, &n_levels, err);
  struct part *all = base_calloc((size_t)n + 1, sizeof *all);
  if (!status && !all)
    status = error_nomem(err, "scores");
  for (int l = 0; l < n_levels && !status; l++) {
    struct score_group *kinds = NULL;
    int n_kinds = 0;
    if (by)
      status = score_group(levels[l].rows, levels[l].n, *by, &kinds, &n_kinds, err);
    else
      all[made++] = (struct part){levels[l], ""};
    for (int k = 0; k < n_kinds && !status; k++)
      all[made++] = (struct part){{levels[l].key, kinds[k].rows, kinds[k].n}, kinds[k].key};
    base_free(kinds);
  }
  base_free(levels);
  if (status)
    base_free(all);
  else
    *out = all;
  *count = status ? 0 : made;
  return status;
}

static enum assay_status score_parts(const char *run, const struct part *parts, int n, const struct score_options *o,
                                     struct score *all, int *count, struct assay_error *err) {
  char(*names)[sizeof all->group] = base_calloc((size_t)n + 1, sizeof *names);
  struct arena arena = {0};
  struct expected e = {0};
  enum assay_status status = names ? read_kinds(o, &arena, &e, err) : error_nomem(err, "scores");
  *count = n;
  for (int i = 0; i < n && !status; i++) {
    name_group(&all[i], run, &parts[i]);
    status = score_part(&parts[i], o, &e, &all[i].sum, err);
  }
  for (int i = 0; i < n && !status; i++)
    tell_apart(all, n, i, names[i], sizeof names[i]);
  for (int i = 0; i < n && !status; i++)
    memcpy(all[i].group, names[i], sizeof names[i]);
  if (!status)
    status = add_parts_without_rows(run, o, &e, all, count, err);
  arena_release(&arena);
  base_free(names);
  return status;
}

// Keeps the rows of tasks that are expected, where some are: others do not count at all. Returns how many.
static int keep_expected(const struct score_row **rows, int n, const struct score_names *names) {
  int kept = 0;
  for (int i = 0; i < n; i++) {
    bool known = !names;
    for (int k = 0; names && k < names->n && !known; k++)
      known = strcmp(names->items[k], rows[i]->task) == 0;
    if (known)
      rows[kept++] = rows[i];
  }
  return kept;
}

static enum assay_status score_rows(const char *run, const struct score_row **rows, int n,
                                    const struct score_options *o, struct score **scores, int *count,
                                    struct assay_error *err) {
  struct part *parts = NULL;
  int n_parts = 0;
  n = keep_expected(rows, n, o->expected);
  enum assay_status status = make_parts(rows, n, o->by, &parts, &n_parts, err);
  size_t most = (size_t)n_parts + (o->expected ? (size_t)o->expected->n : 0) + 1;
  struct score *all = status ? NULL : base_calloc(most, sizeof *all);
  if (!status && !all)
    status = error_nomem(err, "scores");
  if (!status)
    status = score_parts(run, parts, n_parts, o, all, count, err);
  base_free(parts);
  if (status) {
    base_free(all);
    return status;
  }
  *scores = all;
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
