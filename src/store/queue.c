// SPDX-License-Identifier: Apache-2.0
// The queue's tables, and what clients do: submit and cancel.
#include "store/queue_db.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"

#define STATE_TERM(id, name, ended) " OR state = '" name "'"

// `job.attempt` is a fence: who claimed an earlier attempt has lost the job. `not_before_ns`: after a fault of the
// machine. `unit`: which of the devices of its kind has it. `owner`: the process that judges it; the claim ends with
// it.
static const char *const TABLES[] = {
    "CREATE TABLE IF NOT EXISTS job (id INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE, state TEXT NOT NULL CHECK "
    "(0" QUEUE_STATES(STATE_TERM) "), device TEXT NOT NULL, task TEXT NOT NULL, workload TEXT NOT NULL, name TEXT NOT "
                                  "NULL, candidate_hash TEXT NOT NULL, why TEXT NOT NULL, settings TEXT NOT NULL, "
                                  "source BLOB NOT NULL, "
                                  "timed INTEGER NOT NULL, attempt INTEGER NOT NULL, faults INTEGER NOT NULL, at_ns "
                                  "INTEGER NOT NULL, "
                                  "end_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL, event INTEGER NOT NULL, "
                                  "not_before_ns INTEGER NOT NULL, "
                                  "unit TEXT NOT NULL, owner INTEGER NOT NULL) STRICT",
    "CREATE INDEX IF NOT EXISTS job_waiting ON job (device, id) WHERE state = 'waiting'",
    "CREATE INDEX IF NOT EXISTS job_running ON job (unit, id) WHERE state = 'running'",
    "CREATE INDEX IF NOT EXISTS job_state ON job (state, device, at_ns)",
    "CREATE TABLE IF NOT EXISTS submission (job INTEGER NOT NULL, submitter TEXT NOT NULL, at_ns INTEGER NOT NULL, "
    "PRIMARY KEY (job, submitter)) STRICT, WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS publication (identity TEXT PRIMARY KEY, verdict INTEGER NOT NULL UNIQUE, attempt "
    "INTEGER NOT NULL, at_ns INTEGER NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS job_event (number INTEGER PRIMARY KEY AUTOINCREMENT, job INTEGER NOT NULL, state TEXT "
    "NOT NULL, why TEXT NOT NULL, at_ns INTEGER NOT NULL, attempt INTEGER NOT NULL) STRICT",
    "CREATE INDEX IF NOT EXISTS job_event_job ON job_event (job, number)",
    "CREATE TABLE IF NOT EXISTS queue_version (version INTEGER NOT NULL) STRICT",
    "INSERT INTO queue_version SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM queue_version)",
};
_Static_assert(QUEUE_SCHEMA_VERSION == 1, "the version in the last statement, and what it takes to come to it");

enum assay_status queue_prepare(struct store *s, struct assay_error *err) {
  int64_t version = 0;
  enum assay_status status = db_begin(s, err);
  if (status)
    return status;
  for (size_t i = 0; i < sizeof TABLES / sizeof *TABLES && !status; i++)
    status = db_exec(s, TABLES[i], "make the queue's tables", err);
  if (!status)
    status = db_number(s, "SELECT version FROM queue_version", &version, err);
  if (!status && version != QUEUE_SCHEMA_VERSION)
    status = error_set(err, ASSAY_ERR_UNSUPPORTED,
                       "%s: its queue was written by another Assay (version %lld, this one knows %d); use that one, or "
                       "give another file for the store",
                       s->path, (long long)version, QUEUE_SCHEMA_VERSION);
  return db_end(s, status, err);
}

static enum assay_status insert_job(struct store *s, const struct queue_request *r, struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  int64_t now = clock_wall_ns();
  const struct queue_parameters p = {
      .texts = {r->identity, r->device, r->task, r->workload, r->name, r->candidate_hash, r->settings},
      .numbers = {r->timed, now, now},
      .n_numbers = 3};
  enum assay_status status = queue_start(
      s,
      "INSERT INTO job (identity, device, task, workload, name, candidate_hash, settings, timed, at_ns, last_ns, "
      "source, state, why, attempt, faults, end_ns, event, not_before_ns, unit, owner) VALUES (?, ?, ?, ?, ?, ?, ?, "
      "?, ?, "
      "?, ?, 'waiting', '', 0, 0, 0, 0, 0, '', 0)",
      &p, &st, err);
  if (status)
    return status;
  const char *bytes = r->source.data ? r->source.data : "";
  int code = sqlite3_bind_blob64(st, 11, bytes, r->source.len, SQLITE_STATIC);
  if (code == SQLITE_OK)
    code = sqlite3_step(st);
  status = db_check(s, code, "store a job", err);
  int64_t id = sqlite3_last_insert_rowid(s->db);
  sqlite3_finalize(st);
  return status ? status : queue_change(s, id, QUEUE_WAITING, "", err);
}

// A job that is done and whose verdict is still there needs no more work, and neither does one on its way.
static enum assay_status needs_work(struct store *s, const struct queue_job *job, bool *out, struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  const struct queue_parameters p = {.texts = {job->identity}};
  *out = job->state == QUEUE_CANCELLED || job->state == QUEUE_GIVEN_UP;
  if (job->state != QUEUE_DONE)
    return ASSAY_OK;
  enum assay_status status = queue_start(
      s, "SELECT 1 FROM publication JOIN verdict ON verdict.id = publication.verdict WHERE identity = ?", &p, &st, err);
  if (status)
    return status;
  int code = sqlite3_step(st);
  status = db_check(s, code, "look for a verdict", err);
  *out = code == SQLITE_DONE;
  sqlite3_finalize(st);
  return status;
}

static enum assay_status start_again(struct store *s, const struct queue_job *job, struct assay_error *err) {
  const struct queue_parameters identity = {.texts = {job->identity}};
  enum assay_status status = queue_run(s, "DELETE FROM publication WHERE identity = ?", &identity, NULL, err);
  if (!status)
    status = queue_run(s, "UPDATE job SET faults = 0, not_before_ns = 0 WHERE identity = ?", &identity, NULL, err);
  return status ? status : queue_change(s, job->id, QUEUE_WAITING, "", err);
}

#define BY_IDENTITY "SELECT " QUEUE_COLUMNS " FROM job WHERE identity = ?"

static enum assay_status submit_one(struct store *s, const char *submitter, const struct queue_request *r,
                                    struct queue_job *job, struct assay_error *err) {
  const struct queue_parameters identity = {.texts = {r->identity}};
  bool found = false, work = false;
  enum assay_status status = queue_one(s, BY_IDENTITY, &identity, job, &found, err);
  if (!status && !found)
    status = insert_job(s, r, err);
  if (!status && found)
    status = needs_work(s, job, &work, err);
  if (!status && work)
    status = start_again(s, job, err);
  if (!status)
    status = queue_one(s, BY_IDENTITY, &identity, job, NULL, err);
  const struct queue_parameters submission = {
      .texts = {submitter}, .numbers = {job->id, clock_wall_ns()}, .n_numbers = 2};
  if (!status)
    status = queue_run(s, "INSERT OR IGNORE INTO submission (submitter, job, at_ns) VALUES (?, ?, ?)", &submission,
                       NULL, err);
  return status;
}

// All jobs of a submission or none, within a transaction.
static enum assay_status submit_batch(struct store *s, struct queue_batch *b, int64_t most_waiting,
                                      struct assay_error *err) {
  int64_t before = 0, after = 0;
  const char *count = "SELECT count(*) FROM job WHERE state = 'waiting'";
  if (b->n < 1 || b->n > QUEUE_MOST_JOBS)
    return error_set(err, ASSAY_ERR_INVALID, "a submission has 1 to %d candidates, not %d", QUEUE_MOST_JOBS, b->n);
  enum assay_status status = db_exec(s, "SAVEPOINT submission", "begin a submission", err);
  if (status)
    return status;
  status = db_number(s, count, &before, err);
  for (int i = 0; i < b->n && !status; i++)
    status = submit_one(s, b->submitter, &b->requests[i], &b->jobs[i], err);
  if (!status)
    status = db_number(s, count, &after, err);
  if (!status && after > before && after > most_waiting)
    status = error_set(err, ASSAY_ERR_LIMIT, "the queue is full: %lld jobs wait, at most %lld may", (long long)before,
                       (long long)most_waiting);
  struct assay_error ignored = {0};
  enum assay_status ended = status ? db_exec(s, "ROLLBACK TO submission; RELEASE submission", "end it", &ignored)
                                   : db_exec(s, "RELEASE submission", "end a submission", err);
  return status ? status : ended;
}

// After a failure that is not the submission's own, what is there cannot be relied on: nothing of it is committed.
enum assay_status queue_submit_all(struct store *s, struct queue_batch *const *batches, int n, int64_t most_waiting,
                                   struct assay_error *err) {
  enum assay_status status = db_begin(s, err);
  if (status)
    return status;
  for (int i = 0; i < n && !status; i++) {
    struct queue_batch *b = batches[i];
    b->status = submit_batch(s, b, most_waiting, &b->error);
    if (b->status && b->status != ASSAY_ERR_LIMIT && b->status != ASSAY_ERR_INVALID) {
      status = b->status;
      if (err)
        *err = b->error;
    }
  }
  return db_end(s, status, err);
}

enum assay_status queue_submit(struct store *s, const char *submitter, const struct queue_request *r, int n,
                               int64_t most_waiting, struct queue_job *jobs, struct assay_error *err) {
  struct queue_batch b = {.submitter = submitter, .requests = r, .n = n, .jobs = jobs}, *all[] = {&b};
  enum assay_status status = queue_submit_all(s, all, 1, most_waiting, err);
  if (!status && b.status && err)
    *err = b.error;
  return status ? status : b.status;
}

enum assay_status queue_cancel(struct store *s, const char *identity, const char *submitter, bool *ended,
                               struct queue_job *out, struct assay_error *err) {
  const struct queue_parameters by = {.texts = {identity}}, mine = {.texts = {identity, submitter}};
  int64_t left = 0, changed = 0;
  enum assay_status status = db_begin(s, err);
  if (status)
    return status;
  status = queue_one(s, BY_IDENTITY, &by, out, NULL, err);
  if (!status && queue_has_ended(out->state))
    status = error_set(err, ASSAY_ERR_INVALID, "the job has ended: it is %s", queue_state_name(out->state));
  if (!status)
    status =
        queue_run(s, "DELETE FROM submission WHERE job = (SELECT id FROM job WHERE identity = ?) AND submitter = ?",
                  &mine, &changed, err);
  if (!status && changed == 0)
    status = error_set(err, ASSAY_ERR_NOT_FOUND, "this token has not submitted that job");
  sqlite3_stmt *st = NULL;
  const struct queue_parameters job = {.numbers = {out->id}, .n_numbers = 1};
  if (!status)
    status = queue_start(s, "SELECT count(*) FROM submission WHERE job = ?", &job, &st, err);
  if (!status)
    status = db_check(s, sqlite3_step(st), "read the queue", err);
  left = status ? 0 : sqlite3_column_int64(st, 0);
  sqlite3_finalize(st);
  if (!status && left == 0)
    status = queue_change(s, out->id, QUEUE_CANCELLED, "", err);
  if (!status)
    status = queue_one(s, BY_IDENTITY, &by, out, NULL, err);
  status = db_end(s, status, err);
  if (!status)
    *ended = left == 0;
  return status;
}
