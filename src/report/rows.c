// SPDX-License-Identifier: Apache-2.0
#include "report/rows.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "store/step.h"

// What no honest kernel does by mistake.
static const char *caught_at(enum assay_reason r) {
  bool caught = r == ASSAY_REASON_FORBIDDEN_CALL || r == ASSAY_REASON_LATE_WORK || r == ASSAY_REASON_CHANGED_BEHAVIOUR;
  return caught ? assay_reason_code(r) : "";
}

// The kind of the device and its name. A CPU's is the machine's processor; a GPU that the candidate never met has none.
static const char *device_of(const struct verdict_view *view, struct arena *arena) {
  const char *kind = view->stored.device;
  const char *name = view->device_name[0] || strcmp(kind, "cpu") != 0 ? view->device_name : view->processor;
  return arena_printf(arena, "%s%s%s", kind, name[0] ? " " : "", name);
}

static bool take_baselines(const struct verdict_view *view, struct arena *arena, struct score_row *row) {
  struct score_baseline *all = arena_calloc(arena, (size_t)view->n_baselines + 1, sizeof *all);
  for (int i = 0; all && i < view->n_baselines; i++) {
    const struct view_baseline *b = &view->baselines[i];
    all[i] = (struct score_baseline){b->name, b->time_ns, b->time, b->speedup, b->speedup_interval};
  }
  row->baselines = all;
  row->n_baselines = view->n_baselines;
  return all != NULL;
}

static const char *or_none(const char *text) {
  return text ? text : "";
}

enum assay_status row_from_view(const struct verdict_view *view, struct arena *arena, struct score_row *out,
                                struct assay_error *err) {
  const struct store_verdict *v = &view->stored;
  int suite, level;
  score_names(v->task, &suite, &level);
  struct score_row row = {.id = v->id,
                          .at_ns = v->at_ns,
                          .task = v->task,
                          .suite = arena_strndup(arena, v->task, (size_t)suite),
                          .level = arena_strndup(arena, v->task, (size_t)level),
                          .category = "",
                          .operator_kind = "",
                          .run = or_none(v->run),
                          .method = "",
                          .candidate = or_none(v->candidate),
                          .candidate_hash = or_none(v->candidate_hash),
                          .setting = {.device = device_of(view, arena),
                                      .workload = or_none(v->workload),
                                      .form = or_none(v->form),
                                      .contract = view->contract,
                                      .rule = view->rule,
                                      .judge = view->judge},
                          .judged = v->reason != ASSAY_REASON_JUDGE_FAILED,
                          .reason = v->reason,
                          .cheat = caught_at(v->reason),
                          .narrow = view_is_narrow(view),
                          .suspicious = v->reason == ASSAY_REASON_PASS && store_is_suspicious(v),
                          .foreknown = view->foreknown,
                          .process = strcmp(view->mode, "process") == 0,
                          .unstable = v->unstable,
                          .unranked_device = view->not_a_gpu,
                          .time_ns = view_time_ns(view),
                          .floor_ns = v->floor_ns,
                          .flops = view->flops,
                          .bytes = view->bytes,
                          .time = {v->time_low_ns, v->time_high_ns},
                          .samples_ns = v->samples_ns,
                          .n_samples = v->n_samples,
                          .overhead_ns = view->overhead_ns};
  if (!take_baselines(view, arena, &row) || !row.suite || !row.level || !row.setting.device)
    return error_nomem(err, "a row of scores");
  *out = row;
  return ASSAY_OK;
}

// --- rows of their own

#define ROW_NAMES(X) X(task) X(suite) X(level) X(category) X(operator_kind) X(run) X(method) X(candidate) X(cheat)
#define ROW_SETTING(X) X(setting.device) X(setting.workload) X(setting.form) X(setting.contract)
#define ROW_TEXTS(X) ROW_NAMES(X) ROW_SETTING(X) X(setting.rule) X(setting.judge) X(candidate_hash)

enum assay_status row_keep(const struct score_row *row, struct arena *arena, struct score_row *out,
                           struct assay_error *err) {
  struct score_row kept = *row;
  bool ok = true;
#define ROW_KEEP(field)                                                                                                \
  kept.field = arena_strdup(arena, row->field);                                                                        \
  ok = ok && kept.field;
  ROW_TEXTS(ROW_KEEP)
#undef ROW_KEEP
  double *samples = arena_calloc(arena, (size_t)row->n_samples + 1, sizeof *samples);
  struct score_baseline *baselines = arena_calloc(arena, (size_t)row->n_baselines + 1, sizeof *baselines);
  ok = ok && samples && baselines;
  for (int i = 0; ok && i < row->n_baselines; i++) {
    baselines[i] = row->baselines[i];
    baselines[i].name = arena_strdup(arena, row->baselines[i].name);
    ok = baselines[i].name != NULL;
  }
  if (!ok)
    return error_nomem(err, "a row of scores");
  if (row->n_samples > 0)
    memcpy(samples, row->samples_ns, (size_t)row->n_samples * sizeof *samples);
  kept.samples_ns = samples;
  kept.baselines = baselines;
  *out = kept;
  return ASSAY_OK;
}

void rows_release(struct report_rows *rows) {
  base_free(rows->items);
  arena_release(&rows->arena);
  *rows = (struct report_rows){0};
}

// --- from the store

struct reading {
  struct report_rows *rows;
  const char *method;
  enum assay_status status;
  struct assay_error *err;
};

static bool add_row(void *arg, const struct store_verdict *v) {
  struct reading *r = arg;
  struct report_rows *rows = r->rows;
  struct verdict_view view;
  struct score_row row;
  struct arena scratch = {0};
  if (rows->n == rows->capacity) {
    int capacity = 2 * rows->capacity + 64;
    struct score_row *more = base_realloc(rows->items, (size_t)capacity * sizeof *more);
    r->status = more ? ASSAY_OK : error_nomem(r->err, "rows of scores");
    if (r->status)
      return false;
    rows->items = more;
    rows->capacity = capacity;
  }
  r->status = view_scores_from_store(v, &view, r->err);
  if (r->status)
    return false;
  r->status = row_from_view(&view, &scratch, &row, r->err);
  row.method = r->status ? "" : r->method;
  if (!r->status)
    r->status = row_keep(&row, &rows->arena, &rows->items[rows->n], r->err);
  rows->n += !r->status;
  arena_release(&scratch);
  view_release(&view);
  return !r->status;
}

// "sample, gpt-x" of a run of `assay make`: the controller and its models. "" of other runs.
enum assay_status rows_method(struct store *s, const char *run, struct arena *arena, const char **out,
                              struct assay_error *err) {
  char *settings = NULL;
  enum assay_status status = store_get_making(s, run, &settings, err);
  json_t *j = settings ? json_loads(settings, 0, NULL) : NULL;
  const char *name = json_string_value(json_object_get(j, "method")), *model;
  json_t *models = json_object_get(j, "models");
  const char *all = arena_strdup(arena, name ? name : "");
  for (size_t i = 0; all && i < json_array_size(models); i++)
    if ((model = json_string_value(json_array_get(models, i))))
      all = arena_printf(arena, "%s, %s", all, model);
  json_decref(j);
  base_free(settings);
  if (!status && !all)
    status = error_nomem(err, "a run's method");
  *out = all;
  return status;
}

enum assay_status rows_read(struct store *s, const char *run, struct report_rows *rows, struct assay_error *err) {
  struct reading r = {.rows = rows, .err = err};
  enum assay_status status = rows_method(s, run, &rows->arena, &r.method, err);
  if (!status)
    status = store_each_standing(s, run, NULL, add_row, &r, err);
  return r.status ? r.status : status;
}

const struct score_row **rows_pointers(const struct report_rows *rows) {
  const struct score_row **all = base_calloc((size_t)rows->n + 1, sizeof *all);
  for (int i = 0; all && i < rows->n; i++)
    all[i] = &rows->items[i];
  return all;
}

// --- other runs' times as baselines

static enum assay_status add_baseline(struct report_rows *rows, struct score_row *row, const char *name, double ns,
                                      const struct interval *time, struct assay_error *err) {
  struct score_baseline *all = arena_calloc(&rows->arena, (size_t)row->n_baselines + 1, sizeof *all);
  if (!all)
    return error_nomem(err, "a baseline");
  if (row->n_baselines > 0)
    memcpy(all, row->baselines, (size_t)row->n_baselines * sizeof *all);
  all[row->n_baselines] =
      (struct score_baseline){.name = name,
                              .time_ns = ns,
                              .time = *time,
                              .speedup = ns / row->time_ns,
                              .speedup_interval = {time->low / row->time.high, time->high / row->time.low}};
  row->baselines = all;
  row->n_baselines++;
  return ASSAY_OK;
}

static int by_task(const void *x, const void *y) {
  const struct score_row *const *a = x, *const *b = y;
  return strcmp((*a)->task, (*b)->task);
}

// The fastest of the sorted rows that ranks where `row` was judged; NULL: none.
static const struct score_row *fastest(const struct score_row *const *sorted, int n, const struct score_row *row,
                                       bool stable_only) {
  const struct score_question q = {.ask = SCORE_ASK_TIME, .at = row->setting, .stable_only = stable_only};
  const struct score_row *best = NULL;
  int low = 0, high = n;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (strcmp(sorted[middle]->task, row->task) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  for (; low < n && strcmp(sorted[low]->task, row->task) == 0; low++)
    if (score_eligible(sorted[low], &q) == SCORE_ELIGIBLE && (!best || sorted[low]->time_ns < best->time_ns))
      best = sorted[low];
  return best;
}

enum assay_status rows_add_baseline(struct report_rows *rows, const char *name, const struct report_rows *others,
                                    bool stable_only, struct assay_error *err) {
  const struct score_row **sorted = rows_pointers(others);
  const char *kept = arena_strdup(&rows->arena, name);
  enum assay_status status = sorted && kept ? ASSAY_OK : error_nomem(err, "a baseline");
  if (!status)
    qsort(sorted, (size_t)others->n, sizeof *sorted, by_task);
  for (int i = 0; i < rows->n && !status; i++) {
    const struct score_row *best = fastest(sorted, others->n, &rows->items[i], stable_only);
    if (best)
      status = add_baseline(rows, &rows->items[i], kept, best->time_ns, &best->time, err);
  }
  base_free(sorted);
  return status;
}

enum assay_status rows_add_times(struct report_rows *rows, const char *name, const struct rows_time *file, int n,
                                 struct assay_error *err) {
  static const struct interval unknown = {NAN, NAN};
  const char *kept = arena_strdup(&rows->arena, name);
  enum assay_status status = kept ? ASSAY_OK : error_nomem(err, "a baseline");
  for (int i = 0; i < rows->n && !status; i++)
    for (int k = 0; k < n && !status && strcmp(rows->items[i].setting.workload, "full") == 0; k++)
      if (strcmp(rows->items[i].task, file[k].task) == 0)
        status = add_baseline(rows, &rows->items[i], kept, file[k].ns, &unknown, err);
  return status;
}
