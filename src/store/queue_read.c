// SPDX-License-Identifier: Apache-2.0
// What the queue shows: jobs, events, verdicts, numbers.
#include "store/queue_db.h"

#include <string.h>

#include "base/alloc.h"

static enum assay_status set_ahead(struct store *s, struct queue_job *job, struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  const struct queue_parameters p = {.texts = {job->device}, .numbers = {job->id}, .n_numbers = 1};
  if (job->state != QUEUE_WAITING)
    return ASSAY_OK;
  enum assay_status status =
      queue_start(s, "SELECT count(*) FROM job WHERE state = 'waiting' AND device = ? AND id < ?", &p, &st, err);
  if (status)
    return status;
  status = db_check(s, sqlite3_step(st), "read the queue", err);
  job->ahead = status ? 0 : sqlite3_column_int64(st, 0);
  sqlite3_finalize(st);
  return status;
}

enum assay_status queue_get(struct store *s, const char *identity, struct queue_job *out, struct assay_error *err) {
  const struct queue_parameters p = {.texts = {identity}};
  enum assay_status status = queue_one(s, "SELECT " QUEUE_COLUMNS " FROM job WHERE identity = ?", &p, out, NULL, err);
  return status ? status : set_ahead(s, out, err);
}

enum assay_status queue_each(struct store *s, int64_t most, queue_visit *visit, void *arg, struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  struct queue_job job;
  const struct queue_parameters p = {.numbers = {most}, .n_numbers = 1};
  enum assay_status status = queue_start(s, "SELECT " QUEUE_COLUMNS " FROM job ORDER BY id DESC LIMIT ?", &p, &st, err);
  while (!status) {
    int code = sqlite3_step(st);
    status = db_check(s, code, "read the queue", err);
    if (!status && code == SQLITE_ROW)
      status = queue_row(s, st, &job, err);
    if (status || code != SQLITE_ROW || !visit(arg, &job))
      break;
  }
  sqlite3_finalize(st);
  return status;
}

enum assay_status queue_source(struct store *s, int64_t verdict, char **source, size_t *n, struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  int64_t tables = 0;
  *source = NULL;
  *n = 0;
  enum assay_status status =
      db_number(s, "SELECT count(*) FROM sqlite_schema WHERE name IN ('job', 'publication')", &tables, err);
  if (status || tables != 2)
    return status;
  const struct queue_parameters p = {.numbers = {verdict}, .n_numbers = 1};
  status = queue_start(s, "SELECT job.source FROM publication JOIN job USING (identity) WHERE publication.verdict = ?",
                       &p, &st, err);
  const int code = status ? SQLITE_DONE : sqlite3_step(st);
  if (!status)
    status = db_check(s, code, "read a source", err);
  if (!status && code == SQLITE_ROW) {
    const void *bytes = sqlite3_column_blob(st, 0);
    *n = (size_t)sqlite3_column_bytes(st, 0);
    *source = base_strndup(bytes ? bytes : "", *n);
    status = *source ? ASSAY_OK : error_nomem(err, "a source");
  }
  sqlite3_finalize(st);
  return status;
}

enum assay_status queue_verdict(struct store *s, const char *identity, store_visit *visit, void *arg,
                                struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  int64_t id = 0;
  const struct queue_parameters p = {.texts = {identity}};
  enum assay_status status = queue_start(s, "SELECT verdict FROM publication WHERE identity = ?", &p, &st, err);
  if (status)
    return status;
  int code = sqlite3_step(st);
  status = db_check(s, code, "read a verdict", err);
  id = code == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
  sqlite3_finalize(st);
  if (!status && id == 0)
    status = error_set(err, ASSAY_ERR_NOT_FOUND, "there is no verdict of that identity");
  return status ? status : store_get(s, id, visit, arg, err);
}

enum assay_status queue_each_event(struct store *s, int64_t job, int64_t after, queue_visit_event *visit, void *arg,
                                   struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  const struct queue_parameters p = {.numbers = {job, after}, .n_numbers = 2};
  enum assay_status status = queue_start(s,
                                         "SELECT number, state, why, at_ns, attempt FROM job_event WHERE job = ? AND "
                                         "number > ? ORDER BY number",
                                         &p, &st, err);
  while (!status) {
    int code = sqlite3_step(st);
    status = db_check(s, code, "read events", err);
    if (status || code != SQLITE_ROW)
      break;
    struct queue_event e = {.number = sqlite3_column_int64(st, 0),
                            .why = db_text_at(st, 2),
                            .at_ns = sqlite3_column_int64(st, 3),
                            .attempt = sqlite3_column_int64(st, 4)};
    while (e.state < QUEUE_N_STATES - 1 && strcmp(queue_state_name(e.state), db_text_at(st, 1)) != 0)
      e.state++;
    if (!visit(arg, &e))
      break;
  }
  sqlite3_finalize(st);
  return status;
}

enum assay_status queue_count(struct store *s, const char *device, struct queue_count *out, struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  *out = (struct queue_count){0};
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < QUEUE_N_STATES && !status; i++) {
    const struct queue_parameters p = {.texts = {queue_state_name((enum queue_state)i), device}};
    status = queue_start(s, "SELECT count(*), min(at_ns) FROM job WHERE state = ? AND device = ?", &p, &st, err);
    if (status)
      break;
    status = db_check(s, sqlite3_step(st), "count jobs", err);
    out->jobs[i] = status ? 0 : sqlite3_column_int64(st, 0);
    if (!status && i == QUEUE_WAITING)
      out->oldest_ns = sqlite3_column_int64(st, 1);
    sqlite3_finalize(st);
  }
  return status;
}
