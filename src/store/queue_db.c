// SPDX-License-Identifier: Apache-2.0
#include "store/queue_db.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

static const struct {
  const char *name;
  bool ended;
} states[] = {
#define STATE_ROW(id, name, ended) {name, ended},
    QUEUE_STATES(STATE_ROW)
#undef STATE_ROW
};

const char *queue_state_name(enum queue_state state) {
  return states[state].name;
}

bool queue_has_ended(enum queue_state state) {
  return states[state].ended;
}

enum assay_status queue_row(struct store *s, sqlite3_stmt *st, struct queue_job *out, struct assay_error *err) {
  int at = 0, state = 0;
  *out = (struct queue_job){.id = sqlite3_column_int64(st, at++)};
  const char *name = db_text_at(st, at++);
  while (state < QUEUE_N_STATES && strcmp(states[state].name, name) != 0)
    state++;
  if (state == QUEUE_N_STATES)
    return db_error(s, SQLITE_CORRUPT, "read a job's state", err);
  out->state = (enum queue_state)state;
  snprintf(out->identity, sizeof out->identity, "%s", db_text_at(st, at++));
  snprintf(out->device, sizeof out->device, "%s", db_text_at(st, at++));
  snprintf(out->task, sizeof out->task, "%s", db_text_at(st, at++));
  snprintf(out->workload, sizeof out->workload, "%s", db_text_at(st, at++));
  snprintf(out->name, sizeof out->name, "%s", db_text_at(st, at++));
  snprintf(out->candidate_hash, sizeof out->candidate_hash, "%s", db_text_at(st, at++));
  snprintf(out->why, sizeof out->why, "%s", db_text_at(st, at++));
  out->timed = sqlite3_column_int(st, at++) != 0;
  int64_t *const numbers[] = {&out->attempt, &out->faults, &out->at_ns, &out->end_ns, &out->last_ns, &out->event};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    *numbers[i] = sqlite3_column_int64(st, at++);
  return ASSAY_OK;
}

enum assay_status queue_start(struct store *s, const char *sql, const struct queue_parameters *p, sqlite3_stmt **out,
                              struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  enum assay_status status = db_prepare(s, sql, &st, err);
  int at = 1, code = SQLITE_OK;
  for (int i = 0; !status && code == SQLITE_OK && p->texts[i]; i++)
    code = db_bind_text(st, at++, p->texts[i]);
  for (int i = 0; !status && code == SQLITE_OK && i < p->n_numbers; i++)
    code = sqlite3_bind_int64(st, at++, p->numbers[i]);
  if (!status)
    status = db_check(s, code, "use a job's values", err);
  if (!status)
    *out = st;
  else
    sqlite3_finalize(st);
  return status;
}

enum assay_status queue_run(struct store *s, const char *sql, const struct queue_parameters *p, int64_t *changed,
                            struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  enum assay_status status = queue_start(s, sql, p, &st, err);
  if (status)
    return status;
  status = db_check(s, sqlite3_step(st), "change the queue", err);
  if (!status && changed)
    *changed = sqlite3_changes64(s->db);
  sqlite3_finalize(st);
  return status;
}

enum assay_status queue_one(struct store *s, const char *sql, const struct queue_parameters *p, struct queue_job *out,
                            bool *found, struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  enum assay_status status = queue_start(s, sql, p, &st, err);
  if (status)
    return status;
  int code = sqlite3_step(st);
  status = db_check(s, code, "read the queue", err);
  if (!status && code == SQLITE_ROW)
    status = queue_row(s, st, out, err);
  else if (!status && !found)
    status = error_set(err, ASSAY_ERR_NOT_FOUND, "there is no such job");
  if (!status && found)
    *found = code == SQLITE_ROW;
  sqlite3_finalize(st);
  return status;
}

enum assay_status queue_change(struct store *s, int64_t id, enum queue_state state, const char *why,
                               struct assay_error *err) {
  const struct queue_parameters event = {
      .texts = {states[state].name, why}, .numbers = {id, clock_wall_ns(), id}, .n_numbers = 3};
  enum assay_status status = queue_run(
      s,
      "INSERT INTO job_event (state, why, job, at_ns, attempt) VALUES (?, ?, ?, ?, (SELECT attempt FROM job WHERE id = "
      "?))",
      &event, NULL, err);
  const struct queue_parameters job = {
      .texts = {states[state].name, why},
      .numbers = {sqlite3_last_insert_rowid(s->db), event.numbers[1], states[state].ended ? event.numbers[1] : 0, id},
      .n_numbers = 4};
  if (!status)
    status = queue_run(s, "UPDATE job SET state = ?, why = ?, event = ?, last_ns = ?, end_ns = ? WHERE id = ?", &job,
                       NULL, err);
  return status;
}
