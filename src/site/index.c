// SPDX-License-Identifier: Apache-2.0
// The model of the rows: tasks, what ranks together, levels, devices.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "score/group.h"
#include "score/newest.h"
#include "site/sweep.h"
#include "task/task.h"

static const struct site_row *row_of(const struct score_row *score) {
  return (const struct site_row *)(const void *)score; // its first member
}

static int compare_names(const char *a, const char *b) {
  int order = score_by_name(a, b);
  return order ? order : strcmp(a, b);
}

static int by_task(const void *x, const void *y) {
  const struct score_row *const *a = x, *const *b = y;
  int order = compare_names((*a)->level, (*b)->level);
  if (!order)
    order = compare_names((*a)->task, (*b)->task);
  return order ? order : strcmp(row_of(*a)->key, row_of(*b)->key);
}

static int task_by_name(const void *x, const void *y) {
  const struct site_task *a = x, *b = y;
  int order = compare_names(a->level, b->level);
  return order ? order : compare_names(a->name, b->name);
}

// --- what ranks together

// The setting of a group: of a row that knows its device's name, if there is one.
static struct score_setting setting_of(const struct score_group *g) {
  for (int i = 0; i < g->n; i++)
    if (strchr(g->rows[i]->setting.device, ' '))
      return g->rows[i]->setting;
  return g->rows[0]->setting;
}

static int device_index(struct site *site, const char *name) {
  for (int i = 0; i < site->n_devices; i++)
    if (strcmp(site->devices[i].name, name) == 0)
      return i;
  site->devices[site->n_devices] = (struct site_device){.name = name};
  return site->n_devices++;
}

static void count_row(struct site_group *g, const struct site_row *row) {
  g->n++;
  g->n_ranked += row->rank.why == SCORE_ELIGIBLE;
  g->n_unstable += row->rank.why == SCORE_ELIGIBLE && row->score.unstable;
  g->n_cheats += row->score.cheat[0] != '\0';
  g->n_replaced += row->rank.why == SCORE_REPLACED;
  g->n_failed += !row->score.replaced && !score_is_right(&row->score) && !row->score.cheat[0];
}

static enum assay_status mark_replaced(struct site *site, const struct score_group *g, struct assay_error *err) {
  struct score_row **rows = base_calloc((size_t)g->n + 1, sizeof *rows);
  for (int i = 0; i < g->n && rows; i++)
    rows[i] = &site->rows[row_of(g->rows[i]) - site->rows].score;
  enum assay_status status = rows ? score_mark_replaced(rows, g->n, err) : error_nomem(err, "the site");
  base_free(rows);
  return status;
}

// Ranks a group and puts its rows at their places in `out`, from *at on.
static enum assay_status place_group(struct site *site, const struct score_group *g, struct site_row *out, int *at,
                                     struct assay_error *err) {
  struct score_question q = {.ask = SCORE_ASK_TIME, .at = setting_of(g), .newest_only = true};
  struct score_rank *ranks = base_calloc((size_t)g->n, sizeof *ranks);
  enum assay_status status = ranks ? mark_replaced(site, g, err) : error_nomem(err, "the site");
  if (!status)
    status = score_rank(g->rows, g->n, &q, ranks, err);
  struct site_group *group = &site->groups[site->n_groups];
  *group = (struct site_group){.first = *at};
  int device = status ? 0 : device_index(site, q.at.device);
  for (int i = 0; i < g->n && !status; i++) {
    struct site_row *row = &out[*at + ranks[i].order];
    *row = *row_of(g->rows[i]);
    row->rank = ranks[i];
    row->group = site->n_groups;
    row->device = device;
    row->task = site->n_tasks;
    count_row(group, row);
  }
  site->devices[device].n += status ? 0 : g->n;
  *at += g->n;
  site->n_groups++;
  base_free(ranks);
  return status;
}

static enum assay_status place_task(struct site *site, const struct score_row **rows, int n, struct site_row *out,
                                    int *at, struct assay_error *err) {
  struct score_group *groups = NULL;
  int count = 0;
  enum assay_status status = score_group_settings(rows, n, &groups, &count, err);
  struct site_task *t = &site->tasks[site->n_tasks];
  *t = (struct site_task){.name = rows[0]->task,
                          .level = rows[0]->level,
                          .title = "",
                          .category = "",
                          .kind = "",
                          .first = *at,
                          .n = n,
                          .first_group = site->n_groups};
  for (int i = 0; i < count && !status; i++)
    status = place_group(site, &groups[i], out, at, err);
  t->n_groups = site->n_groups - t->first_group;
  site->n_tasks++;
  base_free(groups);
  return status;
}

static enum assay_status place_rows(struct site *site, struct assay_error *err) {
  const size_t n = (size_t)site->n_rows;
  const struct score_row **all = base_calloc(n + 1, sizeof *all);
  struct site_row *out = base_calloc(n + 1, sizeof *out);
  site->tasks = arena_calloc(&site->arena, n + 1, sizeof *site->tasks);
  site->groups = arena_calloc(&site->arena, n + 1, sizeof *site->groups);
  site->devices = arena_calloc(&site->arena, n + 1, sizeof *site->devices);
  enum assay_status status =
      all && out && site->tasks && site->groups && site->devices ? ASSAY_OK : error_nomem(err, "the site");
  for (size_t i = 0; i < n && !status; i++)
    all[i] = &site->rows[i].score;
  if (!status && n)
    qsort(all, n, sizeof *all, by_task);
  int at = 0;
  for (int i = 0, end; i < site->n_rows && !status; i = end) {
    for (end = i + 1; end < site->n_rows && strcmp(all[end]->task, all[i]->task) == 0 &&
                      strcmp(all[end]->level, all[i]->level) == 0;)
      end++;
    status = place_task(site, all + i, end - i, out, &at, err);
  }
  base_free(all);
  if (status) {
    base_free(out);
    return status;
  }
  base_free(site->rows);
  site->rows = out;
  site->rows_capacity = n + 1;
  return ASSAY_OK;
}

// --- what the suites have: files of tasks, with and without rows

struct known {
  struct site_task *items;
  size_t n, capacity;
};

static const char *file_part(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

// "matmul with bias" of ".../019_matmul_with_bias.onnxtxt"
static char *title_of(struct arena *arena, const char *path) {
  const char *file = file_part(path), *stem = file + strspn(file, "0123456789");
  char *title = arena_strndup(arena, stem + (*stem == '_'), strcspn(stem + (*stem == '_'), "."));
  for (char *c = title; c && *c; c++)
    *c = *c == '_' ? ' ' : *c;
  return title;
}

// "kernelbench/1/19" of 019_relu.onnxtxt, "kernelbenchx/Reduce/sum" of sum.onnxtxt
static char *name_of(struct arena *arena, const char *level, const char *file) {
  if (isdigit((unsigned char)file[0]))
    return arena_printf(arena, "%s/%ld", level, strtol(file, NULL, 10));
  return arena_printf(arena, "%s/%.*s", level, (int)strcspn(file, "."), file);
}

static enum assay_status add_known(struct site *site, struct known *k, const char *level, const char *path,
                                   struct assay_error *err) {
  struct site_task t = {
      .level = level, .path = arena_strdup(&site->arena, path), .title = title_of(&site->arena, path)};
  t.name = name_of(&site->arena, level, file_part(path));
  if (k->n == k->capacity) {
    struct site_task *more = arena_grow(&site->arena, k->items, k->n, &k->capacity, sizeof *more);
    if (!more)
      return error_nomem(err, "the site");
    k->items = more;
  }
  if (!t.name || !t.path || !t.title)
    return error_nomem(err, "the site");
  k->items[k->n++] = t;
  return ASSAY_OK;
}

// Whether a name can be a folder below that of the tasks. Names come from stores, which anybody writes.
static bool is_plain(const char *level) {
  for (const char *part = level; *part; part += strcspn(part, "/")) {
    part += part != level;
    if (*part == '.' || *part == '/' || *part == '\0')
      return false;
  }
  return true;
}

static enum assay_status list_level(struct site *site, struct known *k, const char *level, struct assay_error *err) {
  char **paths = NULL;
  int n = 0;
  struct assay_error ignored = {0};
  enum assay_status status = ASSAY_OK;
  if (!level[0] || !is_plain(level) || task_list(site->tasks_root, level, &paths, &n, &ignored) != ASSAY_OK)
    return ASSAY_OK; // a level of somebody's own: its tasks are those that have rows
  for (int i = 0; i < n && !status; i++)
    status = add_known(site, k, level, paths[i], err);
  task_list_release(paths, n);
  return status;
}

// The tasks with rows get their files; those without are added.
static enum assay_status add_missing(struct site *site, const struct known *k, struct assay_error *err) {
  struct site_task *all = arena_calloc(&site->arena, (size_t)site->n_tasks + k->n + 1, sizeof *all);
  if (!all)
    return error_nomem(err, "the site");
  int n = 0;
  memcpy(all, site->tasks, (size_t)site->n_tasks * sizeof *all);
  n = site->n_tasks;
  for (size_t i = 0; i < k->n; i++) {
    struct site_task *same = bsearch(&k->items[i], all, (size_t)site->n_tasks, sizeof *all, task_by_name);
    if (same) {
      same->path = k->items[i].path;
      same->title = k->items[i].title;
    } else {
      all[n++] = k->items[i];
    }
  }
  qsort(all, (size_t)n, sizeof *all, task_by_name);
  site->tasks = all;
  site->n_tasks = n;
  for (int t = 0; t < n; t++)
    for (int i = 0; i < all[t].n; i++)
      site->rows[all[t].first + i].task = t;
  return ASSAY_OK;
}

// What the tasks' files say of their kinds, for the tasks and their rows.
static enum assay_status take_kinds(struct site *site, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int t = 0; t < site->n_tasks && !status; t++) {
    struct site_task *task = &site->tasks[t];
    struct rows_kind kind = {"", ""};
    if (task->path)
      status = rows_kind_of(task->path, task->name, &site->arena, &kind, err);
    task->category = kind.category;
    task->kind = kind.operator_kind;
    for (int i = 0; i < task->n; i++) {
      site->rows[task->first + i].score.category = task->category;
      site->rows[task->first + i].score.operator_kind = task->kind;
    }
  }
  return status;
}

static enum assay_status take_suites(struct site *site, struct assay_error *err) {
  struct known k = {0};
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < site->n_tasks && site->tasks_root && !status; i++)
    if (i == 0 || strcmp(site->tasks[i].level, site->tasks[i - 1].level) != 0)
      status = list_level(site, &k, site->tasks[i].level, err);
  if (!status)
    status = add_missing(site, &k, err);
  return status ? status : take_kinds(site, err);
}

// --- levels and digests

static enum assay_status make_levels(struct site *site, struct assay_error *err) {
  site->levels = arena_calloc(&site->arena, (size_t)site->n_tasks + 1, sizeof *site->levels);
  if (!site->levels)
    return error_nomem(err, "the site");
  for (int i = 0; i < site->n_tasks; i++) {
    const struct site_task *t = &site->tasks[i];
    struct site_level *l = site->levels + site->n_levels - 1;
    if (site->n_levels == 0 || strcmp(l->name, t->level) != 0) {
      l = &site->levels[site->n_levels++];
      *l = (struct site_level){.name = t->level, .title = t->level[0] ? t->level : "tasks of no suite", .first = i};
    }
    l->n++;
    l->n_rows += t->n;
  }
  return ASSAY_OK;
}

static enum assay_status make_digests(struct site *site, struct assay_error *err) {
  struct buf all = {0}, one = {0};
  for (int t = 0; t < site->n_tasks; t++) {
    struct site_task *task = &site->tasks[t];
    buf_clear(&one);
    for (int i = 0; i < task->n; i++)
      buf_append(&one, site->rows[task->first + i].digest, sizeof task->digest);
    hash_sha256_hex(buf_str(&one), one.len, task->digest);
    buf_append(&all, task->digest, sizeof task->digest);
    buf_printf(&all, "%s %s %s", task->name, task->category, task->kind);
    buf_append(&all, "", 1);
  }
  for (int r = 0; r < site->n_runs; r++) {
    const struct store_cost *c = &site->runs[r].cost;
    buf_printf(&all, "%s %lld %lld %.17g %lld %lld %lld ", site->runs[r].method, (long long)c->calls,
               (long long)c->tokens, c->usd, (long long)c->without_price, (long long)c->cpu_ns, (long long)c->gpu_ns);
  }
  for (int i = 0; i < site->n_peaks; i++) {
    const struct assay_peaks *p = &site->peaks[i];
    buf_printf(&all, "%s %.17g %.17g %.17g %.17g %.17g ", p->device, p->bytes_per_s, p->flops_per_s,
               p->contraction_flops_per_s, p->tf32_flops_per_s, p->half_flops_per_s);
  }
  enum assay_status status = sweeps_digest(site, &all, err);
  hash_sha256_hex(buf_str(&all), all.len, site->digest);
  buf_release(&all);
  buf_release(&one);
  return status;
}

static int by_key(const void *x, const void *y) {
  const struct site_row *const *a = x, *const *b = y;
  int order = strcmp((*a)->key, (*b)->key);
  return order ? order : strcmp((*a)->digest, (*b)->digest);
}

// Files of one name and content in several folders, of one run: the second has a page of its own, too.
static enum assay_status tell_apart(struct site *site, struct assay_error *err) {
  struct site_row **all = base_calloc((size_t)site->n_rows + 1, sizeof *all);
  if (!all)
    return error_nomem(err, "the site");
  for (int i = 0; i < site->n_rows; i++)
    all[i] = &site->rows[i];
  qsort(all, (size_t)site->n_rows, sizeof *all, by_key);
  char before[SITE_KEY_BYTES] = "";
  for (int i = 0, times = 0; i < site->n_rows; i++) {
    bool same = strcmp(all[i]->key, before) == 0;
    char text[SITE_KEY_BYTES + 16], hex[HASH_HEX_BYTES];
    times = same ? times + 1 : 0;
    memcpy(before, all[i]->key, sizeof before);
    if (!same)
      continue;
    int n = snprintf(text, sizeof text, "%s %d", before, times);
    hash_sha256_hex(text, (size_t)n, hex);
    memcpy(all[i]->key, hex, SITE_KEY_BYTES - 1);
  }
  base_free(all);
  return ASSAY_OK;
}

// How many rankings each run before `run` shares with it.
static void count_shared(const struct site *site, int run, int *shared) {
  memset(shared, 0, (size_t)site->n_runs * sizeof *shared);
  for (int g = 0; g < site->n_groups; g++) {
    const struct site_row *rows = site->rows + site->groups[g].first;
    const int n = site->groups[g].n;
    bool has = false;
    for (int i = 0; i < n && !has; i++)
      has = rows[i].run == run;
    for (int i = 0; i < n && has; i++)
      shared[rows[i].run] += rows[i].run < run;
  }
}

// The run that shares most with it, of several the newest; -1: none shares anything.
static int nearest(const int *shared, int n) {
  int best = -1;
  for (int i = 0; i < n; i++)
    if (shared[i] > 0 && (best < 0 || shared[i] >= shared[best]))
      best = i;
  return best;
}

// A few runs: each with each. Many: each pair would be a page of its own with thousands of bootstraps, so the newest
// few, each with the older one that it shares most with. Single judgements are no run.
static enum assay_status make_pairs(struct site *site, struct assay_error *err) {
  enum { MOST_RUNS = 5, OF_MANY = 3 };
  int *shared = base_calloc((size_t)site->n_runs + 1, sizeof *shared), n = 0;
  while (n < site->n_runs && site->runs[n].name[0])
    n++;
  site->pairs = arena_calloc(&site->arena, (size_t)MOST_RUNS * MOST_RUNS + 1, sizeof *site->pairs);
  if (!site->pairs || !shared) {
    base_free(shared);
    return error_nomem(err, "the site");
  }
  for (int b = n - 1; b > 0 && (n <= MOST_RUNS || site->n_pairs < OF_MANY); b--) {
    count_shared(site, b, shared);
    const int best = nearest(shared, b);
    for (int a = b - 1; a >= 0; a--)
      if (n <= MOST_RUNS ? shared[a] > 0 : a == best)
        site->pairs[site->n_pairs++] = (struct site_pair){a, b};
  }
  base_free(shared);
  return ASSAY_OK;
}

enum assay_status site_index(struct site *site, struct assay_error *err) {
  enum assay_status status = place_rows(site, err);
  if (!status)
    status = tell_apart(site, err);
  if (!status)
    status = take_suites(site, err);
  if (!status)
    status = make_levels(site, err);
  if (!status)
    status = make_pairs(site, err);
  if (!status)
    status = sweeps_make(site, err);
  return status ? status : make_digests(site, err);
}

const struct site_task *site_task_of(const struct site *site, const char *name) {
  for (int i = 0; i < site->n_tasks; i++)
    if (strcmp(site->tasks[i].name, name) == 0)
      return &site->tasks[i];
  return NULL;
}
