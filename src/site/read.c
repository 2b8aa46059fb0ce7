// SPDX-License-Identifier: Apache-2.0
// The rows of the model, from the store.
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "site/model.h"
#include "report/publish.h"

// The verdicts of a run, read by several threads: each takes one lane after the other, a part of the verdicts with an
// arena of its own, and has a reader of the store that it keeps for the next run.
struct reading {
  struct site *site;
  int run, threads;
  int64_t *ids;
  int n;
  struct store *readers[SITE_LANES]; // one a thread
  atomic_int next_lane, next_reader;
  enum assay_status lanes[SITE_LANES];
  struct assay_error errors[SITE_LANES];
};

// What identifies a verdict wherever it was made: no path, no place in the store.
static void make_key(const struct store_verdict *v, const char *candidate, char key[SITE_KEY_BYTES]) {
  const char *const parts[] = {v->task,   v->form, v->workload,       v->device,
                               candidate, v->run,  v->candidate_hash, v->settings_hash};
  struct buf text = {0};
  char hex[HASH_HEX_BYTES];
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    buf_puts(&text, parts[i] ? parts[i] : "");
    buf_append(&text, "", 1);
  }
  hash_sha256_hex(buf_str(&text), text.len, hex);
  buf_release(&text);
  memcpy(key, hex, SITE_KEY_BYTES - 1);
  key[SITE_KEY_BYTES - 1] = '\0';
}

// Everything of the verdict that a page can show.
static void make_digest(const struct store_verdict *v, char hex[65]) {
  const char *const texts[] = {v->run,    v->task,      v->task_hash,      v->form,      v->workload,
                               v->device, v->candidate, v->candidate_hash, v->toolchain, v->settings_hash,
                               v->detail, v->machine,   v->command,        v->evidence};
  const double numbers[] = {v->error_z,      v->error_limit, v->time_ns, v->time_low_ns,
                            v->time_high_ns, v->hot_ns,      v->floor_ns};
  enum { TEXTS = sizeof texts / sizeof *texts };
  struct hash_part parts[TEXTS + 3];
  char rest[128];
  const int n = snprintf(rest, sizeof rest, " %d %d %d %llu %lld", (int)v->reason, v->unstable, v->suspicious,
                         (unsigned long long)v->seed, (long long)v->at_ns);
  for (int i = 0; i < TEXTS; i++) {
    const char *text = texts[i] ? texts[i] : "";
    parts[i] = (struct hash_part){text, strlen(text) + 1}; // each with its end
  }
  parts[TEXTS] = (struct hash_part){numbers, sizeof numbers};
  parts[TEXTS + 1] = (struct hash_part){v->samples_ns, (size_t)v->n_samples * sizeof *v->samples_ns};
  parts[TEXTS + 2] = (struct hash_part){rest, (size_t)n};
  hash_sha256_parts_hex(parts, TEXTS + 3, hex);
}

// A task that is somebody's file and of no suite.
static bool is_a_file(const char *task) {
  const char *slash = strrchr(task, '/');
  return !slash || task[0] == '/' || task[0] == '.' || strchr(slash, '.');
}

// What a setting and a baseline are called comes from the store, too, and the store may be another's.
static bool publish_names(struct score_row *row, struct arena *arena) {
  struct score_setting *s = &row->setting;
  const char **const names[] = {&s->device, &s->workload, &s->form, &s->contract, &s->rule, &s->judge};
  bool ok = true;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strchr(*names[i], '/'))
      ok = (*names[i] = publish_text(arena, *names[i])) != NULL && ok;
  struct score_baseline *baselines = arena_calloc(arena, (size_t)row->n_baselines + 1, sizeof *baselines);
  for (int i = 0; i < row->n_baselines && ok && baselines; i++) {
    baselines[i] = row->baselines[i];
    ok = (baselines[i].name = publish_text(arena, baselines[i].name)) != NULL;
  }
  row->baselines = baselines;
  return ok && baselines;
}

static enum assay_status fill_row(struct arena *arena, const struct verdict_view *view, int run, struct site_row *row,
                                  struct assay_error *err) {
  const struct store_verdict *v = &view->stored;
  struct arena scratch = {0};
  struct score_row score;
  *row = (struct site_row){.error_z = v->error_z, .error_limit = v->error_limit, .at_ns = v->at_ns, .run = run};
  enum assay_status status = row_from_view(view, &scratch, &score, err);
  if (!status)
    status = row_keep(&score, arena, &row->score, err);
  arena_release(&scratch);
  if (status)
    return status;
  if (!publish_names(&row->score, arena))
    return error_nomem(err, "the site");
  row->candidate = publish_text(arena, publish_candidate(row->score.candidate)); // a macro may be a path, too
  row->score.task = publish_text(arena, row->score.task);
  if (row->score.task && is_a_file(row->score.task))
    row->score.suite = row->score.level = "";
  row->detail = publish_text(arena, v->detail);
  row->gate = arena_strdup(arena, view->gate);
  make_key(v, row->candidate, row->key);
  make_digest(v, row->digest);
  return row->candidate && row->score.task && row->detail && row->gate ? ASSAY_OK : error_nomem(err, "the site");
}

// A row to be filled, in place.
struct filling {
  struct arena *arena;
  int run;
  struct site_row *row;
  enum assay_status status;
  struct assay_error *err;
};

static bool understand(void *arg, const struct store_verdict *v) {
  struct filling *f = arg;
  struct verdict_view view;
  f->status = view_scores_from_store(v, &view, f->err);
  if (f->status)
    return false;
  f->status = fill_row(f->arena, &view, f->run, f->row, f->err);
  view_release(&view);
  return false;
}

// What a lane makes does not depend on which thread takes it.
static enum assay_status fill_lane(struct reading *r, int lane, struct store *reader, struct assay_error *err) {
  struct site *site = r->site;
  enum assay_status status = ASSAY_OK;
  const int end = (int)((int64_t)r->n * (lane + 1) / SITE_LANES);
  for (int i = (int)((int64_t)r->n * lane / SITE_LANES); i < end && !status; i++) {
    struct filling f = {.arena = &site->lanes[lane], .run = r->run, .row = &site->rows[site->n_rows + i], .err = err};
    status = store_get(reader, r->ids[i], understand, &f, err);
    status = status ? status : f.status;
  }
  return status;
}

static void take_lanes(void *arg, int64_t begin, int64_t end) {
  struct reading *r = arg;
  for (int64_t i = begin; i < end; i++) {
    struct store **reader = &r->readers[atomic_fetch_add(&r->next_reader, 1)];
    for (int lane; (lane = atomic_fetch_add(&r->next_lane, 1)) < SITE_LANES;) {
      if (!*reader)
        r->lanes[lane] = store_open_again(r->site->store, reader, &r->errors[lane]);
      if (!r->lanes[lane])
        r->lanes[lane] = fill_lane(r, lane, *reader, &r->errors[lane]);
    }
  }
}

static enum assay_status make_room(struct site *site, int n, struct assay_error *err) {
  if ((size_t)(site->n_rows + n) <= site->rows_capacity)
    return ASSAY_OK;
  size_t capacity = 2 * site->rows_capacity + (size_t)n;
  struct site_row *more = base_realloc(site->rows, capacity * sizeof *more);
  if (!more)
    return error_nomem(err, "the site");
  site->rows = more;
  site->rows_capacity = capacity;
  return ASSAY_OK;
}

static enum assay_status read_run(struct reading *r, int run, struct assay_error *err) {
  struct site *site = r->site;
  r->run = run;
  enum assay_status status = store_list_standing(site->store, site->runs[run].name, &r->ids, &r->n, err);
  if (status)
    return status;
  status = make_room(site, r->n, err);
  if (!status && r->n > 0) {
    atomic_store(&r->next_lane, 0);
    atomic_store(&r->next_reader, 0);
    parallel_for(r->threads, r->threads, 1, take_lanes, r);
  }
  for (int l = 0; l < SITE_LANES && !status; l++)
    if ((status = r->lanes[l]))
      *err = r->errors[l];
  for (int i = 0; i < r->n && !status; i++)
    site->rows[site->n_rows + i].score.method = site->runs[run].method;
  site->n_rows += status ? 0 : r->n;
  site->runs[run].n += status ? 0 : r->n;
  base_free(r->ids);
  return status;
}

struct run_list {
  struct site *site;
  size_t capacity;
  bool failed;
};

static bool add_run(struct run_list *l, const char *name) {
  struct site *site = l->site;
  struct site_run *more = site->runs;
  if ((size_t)site->n_runs == l->capacity)
    more = arena_grow(&site->arena, site->runs, (size_t)site->n_runs, &l->capacity, sizeof *more);
  char *kept = arena_strdup(&site->arena, name);
  l->failed = !more || !kept;
  if (l->failed)
    return false;
  site->runs = more;
  site->runs[site->n_runs++] = (struct site_run){.name = kept, .title = "", .method = ""};
  return true;
}

static bool note_run(void *arg, const struct store_run *r) {
  return add_run(arg, r->name);
}

// Whether it is `title`, or that with a number.
static bool is_numbered(const char *numbered, const char *title) {
  size_t n = strlen(title);
  return strncmp(numbered, title, n) == 0 && (!numbered[n] || strncmp(numbered + n, " (", 2) == 0);
}

// Runs whose names differ in nothing but paths are told apart by numbers.
static enum assay_status name_runs(struct site *site, struct assay_error *err) {
  for (int i = 0; i < site->n_runs; i++) {
    struct site_run *run = &site->runs[i];
    const char *title = run->name[0] ? publish_text(&site->arena, run->name) : "single judgements";
    int same = 0;
    for (int k = 0; k < i && title; k++)
      same += is_numbered(site->runs[k].title, title);
    if (title && same)
      title = arena_printf(&site->arena, "%s (%d)", title, same + 1);
    if (!title)
      return error_nomem(err, "the site");
    run->title = title;
  }
  return ASSAY_OK;
}

// What the store knows of a run but its verdicts.
static enum assay_status describe_run(struct site *site, struct site_run *run, struct assay_error *err) {
  const char *method = "";
  enum assay_status status = store_sum_steps(site->store, run->name, &run->cost, err);
  if (!status)
    status = rows_method(site->store, run->name, &site->arena, &method, err);
  run->method = publish_text(&site->arena, method);
  return status || run->method ? status : error_nomem(err, "the site");
}

static enum assay_status read_runs(struct site *site, struct assay_error *err) {
  struct reading *r = base_calloc(1, sizeof *r);
  if (!r)
    return error_nomem(err, "the site");
  enum assay_status status = ASSAY_OK;
  r->site = site;
  r->threads = parallel_cpus() < SITE_LANES ? parallel_cpus() : SITE_LANES;
  for (int i = 0; i < site->n_runs && !status; i++) {
    status = describe_run(site, &site->runs[i], err);
    if (!status)
      status = read_run(r, i, err);
  }
  for (int i = 0; i < SITE_LANES; i++)
    store_close(r->readers[i]);
  base_free(r);
  return status;
}

enum assay_status site_read_rows(struct site *site, struct assay_error *err) {
  struct run_list list = {.site = site};
  enum assay_status status = store_each_run(site->store, note_run, &list, err);
  if (!status && !list.failed)
    add_run(&list, "");
  if (!status && list.failed)
    status = error_nomem(err, "the site");
  if (!status)
    status = name_runs(site, err);
  return status ? status : read_runs(site, err);
}
