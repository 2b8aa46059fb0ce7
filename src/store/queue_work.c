// SPDX-License-Identifier: Apache-2.0
// What workers do with jobs: claim them, finish them, put them back.
#include "store/queue_db.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"

void queue_work_release(struct queue_work *w) {
  base_free(w->settings);
  base_free(w->source);
  *w = (struct queue_work){0};
}

// What runs on a unit: 0 nothing, 1 jobs without times, 2 a timed one.
static enum assay_status load_of(struct store *s, const char *unit, int64_t *out, struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  const struct queue_parameters p = {.texts = {unit}};
  enum assay_status status =
      queue_start(s, "SELECT coalesce(max(1 + timed), 0) FROM job WHERE state = 'running' AND unit = ?", &p, &st, err);
  if (status)
    return status;
  status = db_check(s, sqlite3_step(st), "read the queue", err);
  *out = status ? 0 : sqlite3_column_int64(st, 0);
  sqlite3_finalize(st);
  return status;
}

// The job that a unit would take now. One that waits after a fault lets others pass.
static enum assay_status head_of(struct store *s, const struct queue_claimant *who, struct queue_job *job, bool *found,
                                 struct assay_error *err) {
  const struct queue_parameters p = {.texts = {who->device}, .numbers = {clock_wall_ns()}, .n_numbers = 1};
  int64_t load = 0;
  enum assay_status status = queue_one(s,
                                       "SELECT " QUEUE_COLUMNS " FROM job WHERE state = 'waiting' AND device = ? AND "
                                       "not_before_ns <= ? ORDER BY id LIMIT 1",
                                       &p, job, found, err);
  if (!status && *found && !who->ahead)
    status = load_of(s, who->unit, &load, err);
  if (!status && *found && (load == 2 || (load == 1 && job->timed)))
    *found = false;
  return status;
}

static enum assay_status read_work(struct store *s, int64_t id, struct queue_work *out, struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  const struct queue_parameters p = {.numbers = {id}, .n_numbers = 1};
  enum assay_status status =
      queue_start(s, "SELECT " QUEUE_COLUMNS ", settings, source FROM job WHERE id = ?", &p, &st, err);
  if (status)
    return status;
  int code = sqlite3_step(st);
  status = db_check(s, code, "read a job", err);
  if (!status && code != SQLITE_ROW)
    status = error_set(err, ASSAY_ERR_NOT_FOUND, "there is no such job");
  if (!status)
    status = queue_row(s, st, &out->job, err);
  if (!status) {
    const char *settings = db_text_at(st, QUEUE_N_COLUMNS);
    const void *source = sqlite3_column_blob(st, QUEUE_N_COLUMNS + 1);
    out->source_bytes = (size_t)sqlite3_column_bytes(st, QUEUE_N_COLUMNS + 1);
    out->settings = base_strndup(settings, strlen(settings));
    out->source = base_strndup(source ? source : "", out->source_bytes);
    if (!out->settings || !out->source)
      status = error_nomem(err, "a job");
  }
  sqlite3_finalize(st);
  return status;
}

enum assay_status queue_claim(struct store *s, const struct queue_claimant *who, struct queue_work *out, bool *found,
                              struct assay_error *err) {
  struct queue_work w = {0};
  bool any = false;
  enum assay_status status = db_begin(s, err);
  if (status)
    return status;
  status = head_of(s, who, &w.job, &any, err);
  const struct queue_parameters p = {.texts = {who->unit}, .numbers = {who->owner, w.job.id}, .n_numbers = 2};
  if (!status && any)
    status = queue_run(s, "UPDATE job SET attempt = attempt + 1, unit = ?, owner = ? WHERE id = ?", &p, NULL, err);
  if (!status && any)
    status = queue_change(s, w.job.id, QUEUE_RUNNING, "", err);
  if (!status && any)
    status = read_work(s, w.job.id, &w, err);
  status = db_end(s, status, err);
  if (status || !any)
    queue_work_release(&w);
  if (!status) {
    *found = any;
    *out = w;
  }
  return status;
}

// Whether the job is still this attempt's; within a transaction.
static enum assay_status is_held(struct store *s, int64_t id, int64_t attempt, struct queue_job *job, bool *held,
                                 struct assay_error *err) {
  const struct queue_parameters p = {.numbers = {id, attempt}, .n_numbers = 2};
  return queue_one(s, "SELECT " QUEUE_COLUMNS " FROM job WHERE id = ? AND attempt = ? AND state = 'running'", &p, job,
                   held, err);
}

enum assay_status queue_finish(struct store *s, const struct queue_job *job, const struct store_verdict *v,
                               bool *published, struct assay_error *err) {
  struct queue_job now;
  bool held = false;
  int64_t row = 0;
  enum assay_status status = db_begin(s, err);
  if (status)
    return status;
  status = is_held(s, job->id, job->attempt, &now, &held, err);
  if (!status && held)
    status = verdict_insert(s, v, &row, err);
  const struct queue_parameters p = {
      .texts = {job->identity}, .numbers = {row, job->attempt, clock_wall_ns()}, .n_numbers = 3};
  if (!status && held)
    status =
        queue_run(s, "INSERT INTO publication (identity, verdict, attempt, at_ns) VALUES (?, ?, ?, ?)", &p, NULL, err);
  if (!status && held)
    status = queue_change(s, job->id, QUEUE_DONE, "", err);
  status = db_end(s, status, err);
  if (!status)
    *published = held;
  return status;
}

enum assay_status queue_put_back(struct store *s, int64_t id, int64_t attempt, const char *why, int64_t most_faults,
                                 int64_t again_ns, struct assay_error *err) {
  struct queue_job job;
  bool held = false;
  enum assay_status status = db_begin(s, err);
  if (status)
    return status;
  status = is_held(s, id, attempt, &job, &held, err);
  const struct queue_parameters p = {.numbers = {most_faults > 0, again_ns, id}, .n_numbers = 3};
  if (!status && held)
    status = queue_run(s, "UPDATE job SET faults = faults + ?, not_before_ns = ? WHERE id = ?", &p, NULL, err);
  bool over = most_faults > 0 && job.faults + 1 >= most_faults;
  if (!status && held)
    status = queue_change(s, id, over ? QUEUE_GIVEN_UP : QUEUE_WAITING, why, err);
  return db_end(s, status, err);
}

enum assay_status queue_of_owner(struct store *s, int64_t owner, struct queue_job *out, bool *found,
                                 struct assay_error *err) {
  const struct queue_parameters p = {.numbers = {owner}, .n_numbers = 1};
  return queue_one(s, "SELECT " QUEUE_COLUMNS " FROM job WHERE state = 'running' AND owner = ?", &p, out, found, err);
}

enum assay_status queue_recover(struct store *s, int64_t *n, struct assay_error *err) {
  static const struct queue_parameters none = {0};
  int64_t recovered = 0;
  enum assay_status status = db_begin(s, err);
  if (status)
    return status;
  for (bool found = true; found && !status;) {
    struct queue_job job;
    status =
        queue_one(s, "SELECT " QUEUE_COLUMNS " FROM job WHERE state = 'running' LIMIT 1", &none, &job, &found, err);
    if (!status && found)
      status = queue_change(s, job.id, QUEUE_WAITING, "the server ended while it was judged", err);
    recovered += !status && found;
  }
  status = db_end(s, status, err);
  if (!status)
    *n = recovered;
  return status;
}
