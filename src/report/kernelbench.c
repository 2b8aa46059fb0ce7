// SPDX-License-Identifier: Apache-2.0
#include "report/kernelbench.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "report/foreign.h"
#include "report/view.h"
#include "stats/stats.h"

enum { LEVELS = 4 };

// ---- baseline times

// "19_ReLU.py": 19.
static int problem_of(const char *name) {
  char *end;
  long n = strtol(name, &end, 10);
  return n > 0 && n < 100000 && *end == '_' ? (int)n : 0;
}

static enum assay_status take_level(const char *path, int level, json_t *problems, struct kernelbench_time *times,
                                    int *count, struct assay_error *err) {
  const char *name;
  json_t *problem;
  json_object_foreach(problems, name, problem) {
    json_t *mean = json_object_get(problem, "mean");
    int number = problem_of(name);
    if (!number || !json_is_number(mean) || !(json_number_value(mean) > 0))
      return error_set(err, ASSAY_ERR_INVALID, "%s: level%d, \"%.80s\": not a problem with a positive mean", path,
                       level, name);
    times[(*count)++] =
        (struct kernelbench_time){.level = level, .problem = number, .ns = json_number_value(mean) * 1e6};
  }
  return ASSAY_OK;
}

enum assay_status kernelbench_read_times(const char *path, struct kernelbench_time **times, int *count,
                                         struct assay_error *err) {
  json_error_t where;
  json_t *root = foreign_load_file(path, JSON_REJECT_DUPLICATES, &where);
  size_t n = 0;
  if (!root && where.line < 0)
    return error_set(err, ASSAY_ERR_IO, "cannot read the baseline times: %s", where.text);
  if (!root)
    return error_set(err, ASSAY_ERR_SYNTAX, "%s:%d: %s", path, where.line, where.text);
  json_t *levels[LEVELS + 1] = {0};
  for (int l = 1; l <= LEVELS; l++) {
    char key[16];
    snprintf(key, sizeof key, "level%d", l);
    levels[l] = json_object_get(root, key);
    n += json_object_size(levels[l]);
  }
  *count = 0;
  *times = base_calloc(n + 1, sizeof **times);
  enum assay_status status = *times ? ASSAY_OK : error_nomem(err, "baseline times");
  if (!status && n == 0)
    status = error_set(err, ASSAY_ERR_INVALID, "%s: no times: want {\"level1\": {\"19_ReLU.py\": {\"mean\": ms, ...}}}",
                       path);
  for (int l = 1; l <= LEVELS && !status; l++)
    if (levels[l])
      status = take_level(path, l, levels[l], *times, count, err);
  json_decref(root);
  if (status) {
    base_free(*times);
    *times = NULL;
  }
  return status;
}

// ---- results

// One sample: the verdict that stands of a candidate for a problem.
struct sample {
  int problem, id; // id: -1 when the file's name has none
  char candidate[256];
  json_t *entry;
};

struct samples {
  struct sample *items;
  int n, capacity, level;
  bool levels[LEVELS + 1], failed, any;
  struct kernelbench_export *out;
};

bool kernelbench_task(const char *task, int *level, int *problem) {
  char rest;
  return sscanf(task, "kernelbench/%d/%d%c", level, problem, &rest) == 2 && *level >= 1 && *level <= LEVELS;
}

int kernelbench_sample(const char *candidate) {
  int id;
  const char *at = strstr(candidate, "_sample_");
  return at && sscanf(at, "_sample_%d_", &id) == 1 && id >= 0 ? id : -1;
}

// In milliseconds, as in KernelBench: mean, standard deviation (of the population) and range of the cold times, without
// the protocol's own cost.
static json_t *runtime_stats(const struct verdict_view *view, const char *hardware) {
  const struct store_verdict *v = &view->stored;
  int n = v->n_samples;
  double *ms = base_calloc((size_t)n + 1, sizeof *ms);
  for (int i = 0; i < n && ms; i++)
    ms[i] = fmax(0, v->samples_ns[i] - view->overhead_ns) / 1e6;
  json_t *stats = ms && n == 0 ? json_object() : NULL; // NULL: out of memory
  if (ms && n > 0)
    stats = json_pack("{s:f, s:f, s:f, s:f, s:i, s:s, s:s}", "mean", stats_mean(ms, n), "std",
                      n > 1 ? stats_stdev(ms, n) * sqrt((n - 1.0) / n) : 0.0, "min", stats_quantile(ms, n, 0), "max",
                      stats_quantile(ms, n, 1), "num_trials", n, "hardware", hardware, "device", v->device);
  base_free(ms);
  return stats;
}

static json_t *entry_of(const struct store_verdict *v) {
  struct verdict_view view;
  struct assay_error ignored = {0};
  if (view_from_store(v, &view, &ignored) != ASSAY_OK)
    return NULL;
  const char *hardware = view.device_name[0] ? view.device_name : v->device;
  bool right = v->reason == ASSAY_REASON_PASS && !store_is_suspicious(v);
  bool timed = right && v->time_ns > 0 && !view.foreknown; // a time of draws that could be known is no time
  json_t *metadata =
      json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b}", "judge", "assay", "verdict", assay_reason_code(v->reason),
                "detail", v->detail, "workload", v->workload, "form", v->form, "candidate", v->candidate, "hardware",
                hardware, "suspicious", store_is_suspicious(v));
  if (view_is_narrow(&view)) {
    json_object_set_new(metadata, "scope", json_string(view.scope));
    json_object_set_new(metadata, "elsewhere", json_string(view.elsewhere));
  }
  if (view.contract[0])
    json_object_set_new(metadata, "contract", json_string(view.contract));
  if (view.foreknown)
    json_object_set_new(metadata, "seed_known_beforehand", json_true());
  if (!isnan(v->error_z) && isfinite(v->error_z))
    json_object_set_new(metadata, "error_over_scale", json_real(v->error_z));
  if (timed && !isnan(v->floor_ns))
    json_object_set_new(metadata, "floor_ms", json_real(v->floor_ns / 1e6));
  json_t *entry = json_pack("{s:b, s:b, s:o, s:f, s:o}", "compiled", view_is_loadable(v->reason), "correctness", right,
                            "metadata", metadata, "runtime", timed ? v->time_ns / 1e6 : -1.0, "runtime_stats",
                            timed ? runtime_stats(&view, hardware) : json_object());
  view_release(&view);
  return entry;
}

static struct sample *sample_for(struct samples *all, int problem, const char *candidate) {
  for (int i = 0; i < all->n; i++)
    if (all->items[i].problem == problem && strcmp(all->items[i].candidate, candidate) == 0)
      return &all->items[i];
  if (all->n == all->capacity) {
    int capacity = 2 * all->capacity + 64;
    struct sample *more = base_realloc(all->items, (size_t)capacity * sizeof *more);
    if (!more)
      return NULL;
    all->items = more;
    all->capacity = capacity;
  }
  struct sample *s = &all->items[all->n++];
  *s = (struct sample){.problem = problem, .id = kernelbench_sample(candidate)};
  snprintf(s->candidate, sizeof s->candidate, "%s", candidate);
  return s;
}

static bool add_verdict(void *arg, const struct store_verdict *v) {
  struct samples *all = arg;
  int level, problem;
  all->any = true;
  if (!kernelbench_task(v->task, &level, &problem) || v->reason == ASSAY_REASON_JUDGE_FAILED)
    return true;
  all->levels[level] = true;
  if (level != all->level)
    return true;
  struct sample *s = sample_for(all, problem, v->candidate);
  json_t *entry = s ? entry_of(v) : NULL;
  all->failed = !entry;
  if (s && s->entry)
    json_decref(s->entry);
  if (s)
    s->entry = entry;
  return entry != NULL;
}

static int by_problem(const void *a, const void *b) {
  const struct sample *x = a, *y = b;
  if (x->problem != y->problem)
    return x->problem < y->problem ? -1 : 1;
  if (x->id != y->id && (x->id < 0 || y->id < 0))
    return x->id < 0 ? 1 : -1; // samples without a number after the others
  return x->id != y->id ? (x->id < y->id ? -1 : 1) : strcmp(x->candidate, y->candidate);
}

// {"19": [{"sample_id": 0, ...}]}, problems and samples in order. A sample whose number is taken gets the next one.
static json_t *results_of(struct samples *all) {
  json_t *root = json_object(), *list = NULL;
  int next = 0;
  qsort(all->items, (size_t)all->n, sizeof *all->items, by_problem);
  for (int i = 0; i < all->n && root; i++) {
    struct sample *s = &all->items[i];
    char key[16];
    if (i == 0 || s->problem != all->items[i - 1].problem) {
      snprintf(key, sizeof key, "%d", s->problem);
      list = json_array();
      json_object_set_new(root, key, list);
      next = 0;
      all->out->problems++;
    }
    int id = s->id >= next ? s->id : next;
    next = id + 1;
    all->out->samples++;
    bool right = json_is_true(json_object_get(s->entry, "correctness"));
    all->out->correct += right;
    all->out->judged_shape_only += json_object_get(json_object_get(s->entry, "metadata"), "scope") != NULL;
    const char *workload = json_string_value(json_object_get(json_object_get(s->entry, "metadata"), "workload"));
    all->out->not_full += !workload || strcmp(workload, "full") != 0;
    all->out->without_time += right && json_number_value(json_object_get(s->entry, "runtime")) < 0;
    json_object_set_new(s->entry, "sample_id", json_integer(id));
    json_array_append(list, s->entry);
  }
  return root;
}

static enum assay_status choose_level(struct samples *all, struct store *s, const char *run, struct assay_error *err) {
  enum assay_status status = store_each_standing(s, run, NULL, add_verdict, all, err);
  int found = 0, n = 0;
  for (int l = 1; l <= LEVELS; l++)
    if (all->levels[l]) {
      found = l;
      n++;
    }
  if (status || all->level)
    return status;
  if (n > 1)
    return error_set(err, ASSAY_ERR_INVALID, "run \"%s\" has verdicts on several levels: choose one with --level", run);
  all->level = found;
  return found ? store_each_standing(s, run, NULL, add_verdict, all, err) : ASSAY_OK;
}

static enum assay_status write_results(const json_t *root, const char *folder, const char *name,
                                       struct assay_error *err) {
  struct buf path = {0};
  char *text = root ? json_dumps(root, JSON_INDENT(4)) : NULL;
  buf_printf(&path, "%s/%s", folder, name);
  enum assay_status status = text ? buf_status(&path, err) : error_nomem(err, "the results");
  if (!status)
    status = file_make_folders(buf_str(&path), err);
  buf_puts(&path, "/eval_results.json");
  if (!status)
    status = buf_status(&path, err);
  if (!status)
    status = file_write(buf_str(&path), text, strlen(text), err);
  buf_release(&path);
  free(text);
  return status;
}

enum assay_status kernelbench_write_run(struct store *s, const char *run, int level, const char *folder,
                                        const char *name, struct kernelbench_export *out, struct assay_error *err) {
  struct samples all = {.level = level, .out = out};
  memset(out, 0, sizeof *out);
  enum assay_status status = choose_level(&all, s, run, err);
  if (!status && all.failed)
    status = error_nomem(err, "the results");
  if (!status && !all.any)
    status = store_no_run(s, run, err);
  if (!status && all.n == 0)
    status = error_set(err, ASSAY_ERR_NOT_FOUND, "run \"%s\" has no verdicts on kernelbench%s%.0d", run,
                       level ? "/" : "", level);
  json_t *root = status ? NULL : results_of(&all);
  if (!status)
    status = write_results(root, folder, name, err);
  out->level = all.level;
  json_decref(root);
  for (int i = 0; i < all.n; i++)
    json_decref(all.items[i].entry);
  base_free(all.items);
  return status;
}
