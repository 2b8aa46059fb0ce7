// The rows of the model, from the store.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "site/model.h"
#include "report/publish.h"

enum { BATCH = 256 };

// Verdicts are read one after the other and understood by several threads at once, a batch at a time.
struct reading {
  struct site *site;
  int run, threads;
  struct arena batch; // what the store lent
  struct store_verdict verdicts[BATCH];
  int n;
  enum assay_status lanes[SITE_LANES];
  struct assay_error *err;
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
  struct buf all = {0};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    buf_puts(&all, texts[i] ? texts[i] : "");
    buf_append(&all, "", 1);
  }
  buf_append(&all, numbers, sizeof numbers);
  buf_append(&all, v->samples_ns, (size_t)v->n_samples * sizeof *v->samples_ns);
  buf_printf(&all, " %d %d %d %llu %lld", (int)v->reason, v->unstable, v->suspicious, (unsigned long long)v->seed,
             (long long)v->at_ns);
  hash_sha256_hex(buf_str(&all), all.len, hex);
  buf_release(&all);
}

// A task that is somebody's file and of no suite.
static bool is_a_file(const char *task) {
  const char *slash = strrchr(task, '/');
  return !slash || task[0] == '/' || task[0] == '.' || strchr(slash, '.');
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
  row->candidate = publish_candidate(row->score.candidate);
  row->score.task = publish_text(arena, row->score.task);
  if (row->score.task && is_a_file(row->score.task))
    row->score.suite = row->score.level = "";
  row->detail = publish_text(arena, v->detail);
  row->gate = arena_strdup(arena, view->gate);
  make_key(v, row->candidate, row->key);
  make_digest(v, row->digest);
  return row->score.task && row->detail && row->gate ? ASSAY_OK : error_nomem(err, "the site");
}

// A row to be filled, in place.
static enum assay_status understand(struct reading *r, int i, struct arena *arena) {
  struct site *site = r->site;
  struct verdict_view view;
  struct assay_error ignored = {0}; // no memory is all that can be said
  enum assay_status status = view_from_store(&r->verdicts[i], &view, &ignored);
  if (status)
    return status;
  status = fill_row(arena, &view, r->run, &site->rows[site->n_rows + i], &ignored);
  view_release(&view);
  return status;
}

// A lane has an arena of its own, and its verdicts do not depend on how many threads there are.
static void fill_lanes(void *arg, int64_t begin, int64_t end) {
  struct reading *r = arg;
  for (int64_t lane = begin; lane < end; lane++)
    for (int i = (int)lane; i < r->n && !r->lanes[lane]; i += SITE_LANES)
      r->lanes[lane] = understand(r, i, &r->site->lanes[lane]);
}

static enum assay_status end_batch(struct reading *r) {
  struct site *site = r->site;
  enum assay_status status = ASSAY_OK;
  if ((size_t)(site->n_rows + r->n) > site->rows_capacity) {
    size_t capacity = 2 * site->rows_capacity + BATCH;
    struct site_row *more = base_realloc(site->rows, capacity * sizeof *more);
    if (!more)
      return r->lanes[0] = error_nomem(r->err, "the site");
    site->rows = more;
    site->rows_capacity = capacity;
  }
  parallel_for(r->threads, SITE_LANES, 1, fill_lanes, r);
  for (int l = 0; l < SITE_LANES; l++)
    status = r->lanes[l] ? error_nomem(r->err, "the site") : status;
  site->n_rows += status ? 0 : r->n;
  site->runs[r->run].n += status ? 0 : r->n;
  r->n = 0;
  arena_release(&r->batch);
  return status;
}

static bool keep_text(struct arena *arena, const char **text) {
  const bool had = *text != NULL;
  if (had)
    *text = arena_strdup(arena, *text);
  return *text || !had;
}

// What the store lends lives until its next row.
static bool keep_verdict(struct arena *arena, struct store_verdict *v) {
  double *samples = arena_calloc(arena, (size_t)v->n_samples + 1, sizeof *samples);
  if (samples && v->n_samples)
    memcpy(samples, v->samples_ns, (size_t)v->n_samples * sizeof *samples);
  v->samples_ns = samples;
  return samples && keep_text(arena, &v->run) && keep_text(arena, &v->task) && keep_text(arena, &v->task_hash) &&
         keep_text(arena, &v->form) && keep_text(arena, &v->workload) && keep_text(arena, &v->device) &&
         keep_text(arena, &v->candidate) && keep_text(arena, &v->candidate_hash) && keep_text(arena, &v->toolchain) &&
         keep_text(arena, &v->settings_hash) && keep_text(arena, &v->detail) && keep_text(arena, &v->machine) &&
         keep_text(arena, &v->command) && keep_text(arena, &v->evidence);
}

static bool failed(const struct reading *r) {
  for (int l = 0; l < SITE_LANES; l++)
    if (r->lanes[l])
      return true;
  return false;
}

static bool add_row(void *arg, const struct store_verdict *v) {
  struct reading *r = arg;
  struct store_verdict *kept = &r->verdicts[r->n];
  *kept = *v;
  if (!keep_verdict(&r->batch, kept)) {
    r->lanes[0] = error_nomem(r->err, "the site");
    return false;
  }
  return ++r->n < BATCH || end_batch(r) == ASSAY_OK;
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

enum assay_status site_read_rows(struct site *site, struct assay_error *err) {
  struct run_list list = {.site = site};
  enum assay_status status = store_each_run(site->store, note_run, &list, err);
  if (!status && !list.failed)
    add_run(&list, "");
  if (!status && list.failed)
    status = error_nomem(err, "the site");
  if (!status)
    status = name_runs(site, err);
  struct reading *r = status ? NULL : base_calloc(1, sizeof *r);
  if (!status && !r)
    status = error_nomem(err, "the site");
  for (int i = 0; i < site->n_runs && !status; i++) {
    status = store_sum_steps(site->store, site->runs[i].name, &site->runs[i].cost, err);
    const char *method = "";
    if (!status)
      status = rows_method(site->store, site->runs[i].name, &site->arena, &method, err);
    site->runs[i].method = publish_text(&site->arena, method);
    if (!status && !site->runs[i].method)
      status = error_nomem(err, "the site");
    if (status)
      break;
    *r = (struct reading){.site = site, .run = i, .threads = parallel_cpus(), .err = err};
    status = store_each_standing(site->store, site->runs[i].name, NULL, add_row, r, err);
    if (!status && (r->n > 0 || failed(r)))
      status = failed(r) ? ASSAY_ERR_NOMEM : end_batch(r);
    arena_release(&r->batch);
  }
  base_free(r);
  return status;
}
