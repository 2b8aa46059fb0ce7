// SPDX-License-Identifier: Apache-2.0
#include "store/step.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "store/db.h"

static const char *const outcome_names[] = {
#define NAME(id, name) [STORE_##id] = name,
    STORE_OUTCOMES(NAME)
#undef NAME
};
enum { N_OUTCOMES = sizeof outcome_names / sizeof *outcome_names };

const char *store_outcome_name(enum store_outcome o) {
  return outcome_names[o];
}

#define COMMA_NAME(name) ", " #name
#define COMMA_MARK(name) ", ?"

enum assay_status store_put_step(struct store *s, const struct store_step *step, struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  enum assay_status status =
      db_prepare(s,
                 "INSERT OR REPLACE INTO step (outcome" STEP_TEXTS(COMMA_NAME) STEP_BLOBS(COMMA_NAME)
                     STEP_NUMBERS(COMMA_NAME) STEP_REALS(COMMA_NAME) ") VALUES (?" STEP_TEXTS(COMMA_MARK)
                         STEP_BLOBS(COMMA_MARK) STEP_NUMBERS(COMMA_MARK) STEP_REALS(COMMA_MARK) ")",
                 &st, err);
  if (status)
    return status;
  int at = 1, code = db_bind_text(st, at++, outcome_names[step->outcome]);
#define BIND_TEXT(name)                                                                                                \
  if (code == SQLITE_OK)                                                                                               \
    code = db_bind_text(st, at++, step->name);
#define BIND_BLOB(name)                                                                                                \
  if (code == SQLITE_OK)                                                                                               \
    code = sqlite3_bind_blob64(st, at++, step->name.data ? step->name.data : "", step->name.len, SQLITE_STATIC);
#define BIND_NUMBER(name) sqlite3_bind_int64(st, at++, step->name);
#define BIND_REAL(name) sqlite3_bind_double(st, at++, step->name); // NaN becomes NULL
  STEP_TEXTS(BIND_TEXT)
  STEP_BLOBS(BIND_BLOB)
  STEP_NUMBERS(BIND_NUMBER)
  STEP_REALS(BIND_REAL)
  if (code == SQLITE_OK)
    code = sqlite3_step(st);
  status = db_check(s, code, "store a step", err);
  sqlite3_finalize(st);
  return status;
}

// Carries out a statement about one step: run, task and number are its parameters. *out, unless NULL: its first number.
static enum assay_status ask_step(struct store *s, const char *sql, const struct store_step *step, int64_t *out,
                                  struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  enum assay_status status = db_prepare(s, sql, &st, err);
  if (status)
    return status;
  int code = db_bind_text(st, 1, step->run);
  if (code == SQLITE_OK)
    code = db_bind_text(st, 2, step->task);
  if (code == SQLITE_OK)
    code = sqlite3_bind_int64(st, 3, step->number);
  if (code == SQLITE_OK)
    code = sqlite3_step(st);
  status = db_check(s, code, "change a step", err);
  if (!status && out)
    *out = sqlite3_column_int64(st, 0);
  sqlite3_finalize(st);
  return status;
}

static enum assay_status change_step(struct store *s, const char *sql, const char *run, const char *task,
                                     int64_t number, struct assay_error *err) {
  return ask_step(s, sql, &(struct store_step){.run = run, .task = task, .number = number}, NULL, err);
}

enum assay_status store_count_tries(struct store *s, const char *run, const char *task, int64_t number, int64_t *out,
                                    struct assay_error *err) {
  return ask_step(s,
                  "SELECT count(*) FROM step WHERE run = ? AND task = ? AND same_as = ? AND calls > 0 AND "
                  "finish = '" STORE_UNSERVED "'",
                  &(struct store_step){.run = run, .task = task, .number = number}, out, err);
}

enum assay_status store_take_up_step(struct store *s, const char *run, const char *task, int64_t number,
                                     struct assay_error *err) {
  return change_step(s,
                     "UPDATE step SET finish = '" STORE_UNSERVED "' WHERE run = ? AND task = ? AND number = ? AND "
                     "finish = '" STORE_SERVER_FAILED "'",
                     run, task, number, err);
}

enum assay_status store_put_aside(struct store *s, const char *run, const char *task, int64_t number,
                                  struct assay_error *err) {
  // By its id, which no other row has; far below the requests for the rest of a reply, too.
  return change_step(s,
                     "UPDATE step SET number = -4611686018427387904 + id WHERE run = ? AND task = ? AND number = ? "
                     "AND outcome = 'no_reply' AND calls > 0",
                     run, task, number, err);
}

enum assay_status store_put_retry(struct store *s, const struct store_step *retry, struct assay_error *err) {
  char sql[256];
  snprintf(sql, sizeof sql,
           "UPDATE step SET calls = %lld, input_tokens = %lld, output_tokens = %lld WHERE run = ? AND task = ? AND "
           "number = ? AND finish = '" STORE_UNDER_WAY "'",
           (long long)retry->calls, (long long)retry->input_tokens, (long long)retry->output_tokens);
  return change_step(s, sql, retry->run, retry->task, retry->number, err);
}

enum assay_status store_drop_step(struct store *s, const char *run, const char *task, int64_t number,
                                  struct assay_error *err) {
  return change_step(s, "DELETE FROM step WHERE run = ? AND task = ? AND number = ?", run, task, number, err);
}

static void read_step(sqlite3_stmt *st, struct store_step *out) {
  int at = 0;
  memset(out, 0, sizeof *out);
  out->id = sqlite3_column_int64(st, at++);
  const char *outcome = (const char *)sqlite3_column_text(st, at++);
  for (int i = 0; i < N_OUTCOMES; i++)
    if (outcome && strcmp(outcome_names[i], outcome) == 0)
      out->outcome = (enum store_outcome)i;
#define READ_TEXT(name)                                                                                                \
  out->name = (const char *)sqlite3_column_text(st, at++);                                                             \
  out->name = out->name ? out->name : "";
#define READ_BLOB(name)                                                                                                \
  out->name.data = sqlite3_column_blob(st, at);                                                                        \
  out->name.len = (size_t)sqlite3_column_bytes(st, at++);                                                              \
  out->name.data = out->name.data ? out->name.data : "";
#define READ_NUMBER(name) out->name = sqlite3_column_int64(st, at++);
#define READ_REAL(name)                                                                                                \
  out->name = sqlite3_column_type(st, at) == SQLITE_NULL ? NAN : sqlite3_column_double(st, at);                        \
  at++;
  STEP_TEXTS(READ_TEXT)
  STEP_BLOBS(READ_BLOB)
  STEP_NUMBERS(READ_NUMBER)
  STEP_REALS(READ_REAL)
}

#define SELECT_STEP                                                                                                    \
  "SELECT id, outcome" STEP_TEXTS(COMMA_NAME) STEP_BLOBS(COMMA_NAME) STEP_NUMBERS(COMMA_NAME)                          \
      STEP_REALS(COMMA_NAME) " FROM step WHERE run = ?"

// task and number: NULL for all.
static enum assay_status visit_steps(struct store *s, const char *run, const char *task, const int64_t *number,
                                     store_visit_step *visit, void *arg, struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  const char *sql = number ? SELECT_STEP " AND task = ? AND number = ?"
                    : task ? SELECT_STEP " AND task = ? ORDER BY number"
                           : SELECT_STEP " ORDER BY task, number";
  enum assay_status status = db_prepare(s, sql, &st, err);
  if (!status && number)
    status = db_check(s, sqlite3_bind_int64(st, 3, *number), "look for a step", err);
  if (!status)
    status = db_check(s, db_bind_text(st, 1, run), "use a run's name", err);
  if (!status && task)
    status = db_check(s, db_bind_text(st, 2, task), "use a task's name", err);
  while (!status) {
    struct store_step step;
    int code = sqlite3_step(st);
    status = db_check(s, code, "read steps", err);
    if (status || code != SQLITE_ROW)
      break;
    read_step(st, &step);
    if (!visit(arg, &step))
      break;
  }
  sqlite3_finalize(st);
  return status;
}

enum assay_status store_each_step(struct store *s, const char *run, const char *task, store_visit_step *visit,
                                  void *arg, struct assay_error *err) {
  return visit_steps(s, run, task, NULL, visit, arg, err);
}

enum assay_status store_get_step(struct store *s, const char *run, const char *task, int64_t number,
                                 store_visit_step *visit, void *arg, struct assay_error *err) {
  return visit_steps(s, run, task, &number, visit, arg, err);
}

enum assay_status store_sum_steps(struct store *s, const char *run, struct store_cost *out, struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  enum assay_status status =
      db_prepare(s,
                 "SELECT coalesce(sum(calls), 0), coalesce(sum(max(input_tokens, 0) + max(output_tokens, 0)), 0), "
                 "coalesce(sum(usd), 0.0), "
                 "coalesce(sum(CASE WHEN usd IS NULL AND finish <> '" STORE_UNDER_WAY "' THEN calls ELSE 0 END), 0), "
                 "coalesce(sum(cpu_ns), 0), coalesce(sum(gpu_ns), 0), "
                 "coalesce(sum(iif(finish = '" STORE_UNDER_WAY "', calls, 0)), 0), "
                 "coalesce(sum(iif(finish = '" STORE_UNDER_WAY "', input_tokens + output_tokens, 0)), 0) FROM step "
                 "WHERE run = ?",
                 &st, err);
  int code = status ? SQLITE_OK : db_bind_text(st, 1, run);
  if (!status && code == SQLITE_OK)
    code = sqlite3_step(st);
  if (!status)
    status = db_check(s, code, "add up steps", err);
  if (!status)
    *out = (struct store_cost){.calls = sqlite3_column_int64(st, 0),
                               .tokens = sqlite3_column_int64(st, 1),
                               .usd = sqlite3_column_double(st, 2),
                               .without_price = sqlite3_column_int64(st, 3),
                               .cpu_ns = sqlite3_column_int64(st, 4),
                               .gpu_ns = sqlite3_column_int64(st, 5),
                               .lost_calls = sqlite3_column_int64(st, 6),
                               .lost_tokens = sqlite3_column_int64(st, 7)};
  sqlite3_finalize(st);
  return status;
}

enum assay_status store_get_making(struct store *s, const char *run, char **settings, struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  enum assay_status status = db_prepare(s, "SELECT settings FROM making WHERE run = ?", &st, err);
  int code = status ? SQLITE_OK : db_bind_text(st, 1, run);
  if (!status && code == SQLITE_OK)
    code = sqlite3_step(st);
  if (!status)
    status = db_check(s, code, "read a run's settings", err);
  const char *text = code == SQLITE_ROW ? (const char *)sqlite3_column_text(st, 0) : NULL;
  char *copy = text ? base_strndup(text, strlen(text)) : NULL;
  if (!status && text && !copy)
    status = error_nomem(err, "a run's settings");
  if (!status)
    *settings = copy;
  sqlite3_finalize(st);
  return status;
}

enum assay_status store_set_making(struct store *s, const char *run, const char *settings, struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  enum assay_status status = db_begin(s, err);
  if (status)
    return status;
  status = db_prepare(s, "INSERT OR REPLACE INTO making (run, settings, at_ns) VALUES (?, ?, ?)", &st, err);
  int code = status ? SQLITE_OK : db_bind_text(st, 1, run);
  if (!status && code == SQLITE_OK)
    code = db_bind_text(st, 2, settings);
  if (!status && code == SQLITE_OK)
    code = sqlite3_bind_int64(st, 3, clock_wall_ns());
  if (!status && code == SQLITE_OK)
    code = sqlite3_step(st);
  if (!status)
    status = db_check(s, code, "store a run's settings", err);
  sqlite3_finalize(st);
  return db_end(s, status, err);
}

// --- lessons

// A statement whose parameters are a run, a task and a number.
static enum assay_status prepare_lesson(struct store *s, const char *sql, const struct store_step *step,
                                        sqlite3_stmt **st, struct assay_error *err) {
  enum assay_status status = db_prepare(s, sql, st, err);
  int code = status ? SQLITE_OK : db_bind_text(*st, 1, step->run);
  if (!status && code == SQLITE_OK)
    code = db_bind_text(*st, 2, step->task);
  if (!status && code == SQLITE_OK)
    code = sqlite3_bind_int64(*st, 3, step->number);
  return status ? status : db_check(s, code, "use a step's lesson", err);
}

enum assay_status store_put_lesson(struct store *s, const char *run, const char *task, int64_t number, const char *text,
                                   struct assay_error *err) {
  static const char sql[] = "INSERT OR REPLACE INTO lesson (run, task, number, text) VALUES (?, ?, ?, ?)";
  const struct store_step step = {.run = run, .task = task, .number = number};
  sqlite3_stmt *st = NULL;
  enum assay_status status = prepare_lesson(s, sql, &step, &st, err);
  if (!status)
    status = db_check(s, db_bind_text(st, 4, text), "use a step's lesson", err);
  if (!status)
    status = db_check(s, sqlite3_step(st), "store a step's lesson", err);
  sqlite3_finalize(st);
  return status;
}

enum assay_status store_get_lesson(struct store *s, const char *run, const char *task, int64_t number, char **text,
                                   struct assay_error *err) {
  static const char sql[] = "SELECT text FROM lesson WHERE run = ? AND task = ? AND number = ?";
  const struct store_step step = {.run = run, .task = task, .number = number};
  sqlite3_stmt *st = NULL;
  *text = NULL;
  enum assay_status status = prepare_lesson(s, sql, &step, &st, err);
  int code = status ? SQLITE_OK : sqlite3_step(st);
  if (!status)
    status = db_check(s, code, "read a step's lesson", err);
  const char *found = !status && code == SQLITE_ROW ? (const char *)sqlite3_column_text(st, 0) : NULL;
  if (found && !(*text = base_strndup(found, strlen(found))))
    status = error_nomem(err, "a step's lesson");
  sqlite3_finalize(st);
  return status;
}
