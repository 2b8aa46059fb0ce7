// SPDX-License-Identifier: Apache-2.0
// Verdicts compared with the results of KernelBench's own harness for the same samples.
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "report/foreign.h"
#include "report/kernelbench.h"

enum { MOST_NUMBER = 1000000 };

struct pairs {
  struct kernelbench_pair *items;
  int n, capacity, level;
  bool failed, several;
};

static struct kernelbench_pair *pair_of(struct pairs *all, int problem, int sample) {
  for (int i = 0; i < all->n; i++)
    if (all->items[i].problem == problem && all->items[i].sample == sample)
      return &all->items[i];
  if (all->n == all->capacity) {
    int capacity = 2 * all->capacity + 64;
    struct kernelbench_pair *more = base_realloc(all->items, (size_t)capacity * sizeof *more);
    if (!more) {
      all->failed = true;
      return NULL;
    }
    all->items = more;
    all->capacity = capacity;
  }
  struct kernelbench_pair *p = &all->items[all->n++];
  *p = (struct kernelbench_pair){.problem = problem, .sample = sample, .runtime_ms = NAN, .time_ns = NAN};
  return p;
}

static bool add_verdict(void *arg, const struct store_verdict *v) {
  struct pairs *all = arg;
  int level, problem, sample = kernelbench_sample(v->candidate);
  if (!kernelbench_task(v->task, &level, &problem) || sample < 0 || v->reason == ASSAY_REASON_JUDGE_FAILED)
    return true;
  all->several = all->several || (all->level && level != all->level);
  all->level = all->level ? all->level : level;
  struct kernelbench_pair *p = level == all->level ? pair_of(all, problem, sample) : NULL;
  if (!p)
    return !all->failed;
  p->here = true;
  p->reason = v->reason;
  p->suspicious = store_is_suspicious(v);
  p->time_ns = v->reason == ASSAY_REASON_PASS && v->time_ns > 0 ? v->time_ns : NAN;
  snprintf(p->detail, sizeof p->detail, "%s", v->detail);
  return true;
}

// ---- eval_results.json: {"19": [{"sample_id": 0, "compiled": true, "correctness": true, "runtime": 0.1, ...}]}

static int number_of(const char *text) {
  char *end;
  long n = strtol(text, &end, 10);
  return n > 0 && n < MOST_NUMBER && !*end ? (int)n : 0;
}

static enum assay_status take_result(struct pairs *all, const char *path, const char *problem, const json_t *result,
                                     struct assay_error *err) {
  json_t *id = json_object_get(result, "sample_id"), *compiled = json_object_get(result, "compiled");
  json_t *correct = json_object_get(result, "correctness"), *runtime = json_object_get(result, "runtime");
  int number = number_of(problem);
  json_int_t sample = json_is_integer(id) ? json_integer_value(id) : 0; // older files have one sample per problem
  if (!number || sample < 0 || sample >= MOST_NUMBER || !json_is_boolean(compiled) || !json_is_boolean(correct))
    return error_set(err, ASSAY_ERR_INVALID,
                     "%s: problem \"%.40s\": want {\"sample_id\": N, \"compiled\": ..., \"correctness\": ...}", path,
                     problem);
  struct kernelbench_pair *p = pair_of(all, number, (int)sample);
  if (!p)
    return error_nomem(err, "results");
  p->there = true;
  p->compiled = json_is_true(compiled);
  p->correct = json_is_true(correct);
  p->runtime_ms = json_number_value(runtime) > 0 ? json_number_value(runtime) : NAN;
  return ASSAY_OK;
}

static enum assay_status take_problem(struct pairs *all, const char *path, const char *problem, const json_t *results,
                                      struct assay_error *err) {
  if (!json_is_array(results))
    return take_result(all, path, problem, results, err);
  enum assay_status status = ASSAY_OK;
  for (size_t i = 0; i < json_array_size(results) && !status; i++)
    status = take_result(all, path, problem, json_array_get(results, i), err);
  return status;
}

static enum assay_status read_results(struct pairs *all, const char *path, struct assay_error *err) {
  json_error_t where;
  json_t *root = foreign_load_file(path, JSON_REJECT_DUPLICATES, &where), *results;
  const char *problem;
  if (!root && where.line < 0)
    return error_set(err, ASSAY_ERR_IO, "cannot read KernelBench's results: %s", where.text);
  if (!root)
    return error_set(err, ASSAY_ERR_SYNTAX, "%s:%d: %s", path, where.line, where.text);
  enum assay_status status =
      json_is_object(root) ? ASSAY_OK : error_set(err, ASSAY_ERR_INVALID, "%s: want an object, {\"19\": [...]}", path);
  json_object_foreach(root, problem, results) {
    if (!status)
      status = take_problem(all, path, problem, results, err);
  }
  json_decref(root);
  return status;
}

static int by_problem(const void *a, const void *b) {
  const struct kernelbench_pair *x = a, *y = b;
  if (x->problem != y->problem)
    return x->problem < y->problem ? -1 : 1;
  return (x->sample > y->sample) - (x->sample < y->sample);
}

bool kernelbench_differ(const struct kernelbench_pair *p) {
  return p->here && p->there && p->correct != (p->reason == ASSAY_REASON_PASS && !p->suspicious);
}

enum assay_status kernelbench_compare(struct store *s, const char *run, int level, const char *path,
                                      struct kernelbench_pair **pairs, int *count, struct assay_error *err) {
  struct pairs all = {.level = level};
  enum assay_status status = store_each_standing(s, run, NULL, add_verdict, &all, err);
  if (!status && all.failed)
    status = error_nomem(err, "results");
  if (!status && all.n == 0)
    status = error_set(err, ASSAY_ERR_NOT_FOUND,
                       "run \"%s\" has no verdict on a file with a KernelBench name "
                       "(level_1_problem_19_sample_0_kernel.py)%s, and %s is "
                       "no metrics.json or summary.json of KernelBench-X",
                       run, level ? " of that level" : "", path);
  if (!status && all.several && !level)
    status = error_set(
        err, ASSAY_ERR_INVALID,
        "run \"%s\" has verdicts on several levels, but a file of results has one: choose it with --level", run);
  if (!status)
    status = read_results(&all, path, err);
  if (status) {
    base_free(all.items);
    return status;
  }
  for (int i = 0; i < all.n; i++)
    all.items[i].level = all.level;
  qsort(all.items, (size_t)all.n, sizeof *all.items, by_problem);
  *pairs = all.items;
  *count = all.n;
  return ASSAY_OK;
}
