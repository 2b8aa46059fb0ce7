// SPDX-License-Identifier: Apache-2.0
#include "store/trial.h"

#include <math.h>
#include <string.h>

#include "store/db.h"

static const char *const status_names[] = {
#define NAME(id, name) [STORE_##id] = name,
    STORE_TRIAL_STATUSES(NAME)
#undef NAME
};
enum { N_STATUSES = sizeof status_names / sizeof *status_names };

const char *store_trial_status_name(enum store_trial_status s) {
  return status_names[s];
}

bool store_trial_status_by_name(const char *name, enum store_trial_status *out) {
  for (int i = 0; i < N_STATUSES; i++)
    if (strcmp(status_names[i], name) == 0) {
      *out = (enum store_trial_status)i;
      return true;
    }
  return false;
}

#define COMMA_NAME(name) ", " #name
#define COMMA_MARK(name) ", ?"

enum assay_status store_put_trial(struct store *s, const struct store_trial *t, struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  enum assay_status status =
      db_prepare(s,
                 "INSERT OR REPLACE INTO trial (status" TRIAL_TEXTS(COMMA_NAME) TRIAL_NUMBERS(COMMA_NAME)
                     TRIAL_REALS(COMMA_NAME) ") VALUES (?" TRIAL_TEXTS(COMMA_MARK) TRIAL_NUMBERS(COMMA_MARK)
                         TRIAL_REALS(COMMA_MARK) ")",
                 &st, err);
  if (status)
    return status;
  int at = 1, code = db_bind_text(st, at++, status_names[t->status]);
#define BIND_TEXT(name)                                                                                                \
  if (code == SQLITE_OK)                                                                                               \
    code = db_bind_text(st, at++, t->name);
#define BIND_NUMBER(name) sqlite3_bind_int64(st, at++, t->name);
#define BIND_REAL(name) sqlite3_bind_double(st, at++, t->name); // NaN becomes NULL
  TRIAL_TEXTS(BIND_TEXT)
  TRIAL_NUMBERS(BIND_NUMBER)
  TRIAL_REALS(BIND_REAL)
  if (code == SQLITE_OK)
    code = sqlite3_step(st);
  status = db_check(s, code, "store a trial", err);
  sqlite3_finalize(st);
  return status;
}

enum assay_status store_begin_trials(struct store *s, struct assay_error *err) {
  return db_begin(s, err);
}

enum assay_status store_end_trials(struct store *s, enum assay_status status, struct assay_error *err) {
  return db_end(s, status, err);
}

static void read_trial(sqlite3_stmt *st, struct store_trial *out) {
  int at = 0;
  memset(out, 0, sizeof *out);
  out->id = sqlite3_column_int64(st, at++);
  store_trial_status_by_name(db_text_at(st, at++), &out->status);
#define READ_TEXT(name) out->name = db_text_at(st, at++);
#define READ_NUMBER(name) out->name = sqlite3_column_int64(st, at++);
#define READ_REAL(name)                                                                                                \
  out->name = sqlite3_column_type(st, at) == SQLITE_NULL ? NAN : sqlite3_column_double(st, at);                        \
  at++;
  TRIAL_TEXTS(READ_TEXT)
  TRIAL_NUMBERS(READ_NUMBER)
  TRIAL_REALS(READ_REAL)
}

enum assay_status store_each_trial(struct store *s, const char *run, store_visit_trial *visit, void *arg,
                                   struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  enum assay_status status =
      db_prepare(s,
                 "SELECT id, status" TRIAL_TEXTS(COMMA_NAME) TRIAL_NUMBERS(COMMA_NAME)
                     TRIAL_REALS(COMMA_NAME) " FROM trial WHERE ? IS NULL OR run = ?1 ORDER BY run, task, workload, "
                                             "device, maker, start_ns + compile_ns + bench_ns, number",
                 &st, err);
  if (!status && run)
    status = db_check(s, db_bind_text(st, 1, run), "use a run's name", err);
  while (!status) {
    struct store_trial t;
    int code = sqlite3_step(st);
    status = db_check(s, code, "read trials", err);
    if (status || code != SQLITE_ROW)
      break;
    read_trial(st, &t);
    if (!visit(arg, &t))
      break;
  }
  sqlite3_finalize(st);
  return status;
}
