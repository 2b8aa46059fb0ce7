// SPDX-License-Identifier: Apache-2.0
// Shared by the store's own files: the columns, the connection, and SQLite's results as statuses.
#ifndef STORE_DB_H
#define STORE_DB_H

#include <stddef.h>

#include <sqlite3.h>

#include "store/store.h"

// The columns of a verdict in addition to id, reason and samples, by type; each is a field of struct store_verdict. One
// list gives the table, the statements, what is bound and what is read.
#define STORE_TEXTS(X) STORE_SHORT_TEXTS(X) X(evidence)
#define STORE_SHORT_TEXTS(X)                                                                                           \
  X(run)                                                                                                               \
  X(task)                                                                                                              \
  X(task_hash)                                                                                                         \
  X(form)                                                                                                              \
  X(workload)                                                                                                          \
  X(device) X(candidate) X(candidate_hash) X(toolchain) X(settings_hash) X(detail) X(machine) X(command)
#define STORE_REALS(X) X(error_z) X(error_limit) X(time_ns) X(time_low_ns) X(time_high_ns) X(hot_ns) X(floor_ns)
#define STORE_BOOLS(X) X(unstable) X(suspicious)

// A verdict's evidence; "@ID" (store_share) stands for that of another verdict of the run. JSON never begins so.
#define STORE_IS_SHARED "evidence LIKE '@%'"
#define STORE_WHOLE_EVIDENCE                                                                                           \
  "CASE WHEN " STORE_IS_SHARED " THEN coalesce((SELECT first.evidence FROM verdict AS first WHERE first.id = "         \
  "CAST(substr(verdict.evidence, 2) AS INTEGER)), '') ELSE evidence END"

// What identifies a piece of work within the store.
#define STORE_KEY(X) X(run) X(task) X(form) X(workload) X(device) X(candidate_hash) X(settings_hash)

struct store {
  sqlite3 *db;
  char *path;
  bool fixed;        // nothing is written next to it: it is read as a file that nobody changes
  double *samples;   // of the verdict that is being visited
  sqlite3_stmt *get; // of store_get; NULL: not yet asked
  size_t samples_capacity;
  int64_t again_until; // up to this id finished verdicts are judged again (store_judge_again); 0: none
  char *again_reason;  // only those of this reason; NULL: all
};

// A failed SQLite call as a status and a message that says what to do.
enum assay_status db_error(const struct store *s, int code, const char *doing, struct assay_error *err);

// The status for ending a statement: ASSAY_OK for SQLITE_OK, _ROW and _DONE.
enum assay_status db_check(const struct store *s, int code, const char *doing, struct assay_error *err);

enum assay_status db_prepare(struct store *s, const char *sql, sqlite3_stmt **out, struct assay_error *err);

// Runs SQL without results; waits while another process holds the lock.
enum assay_status db_exec(struct store *s, const char *sql, const char *doing, struct assay_error *err);

// Transactions that write. db_end commits when status is ASSAY_OK and rolls back otherwise; returns the first failure.
enum assay_status db_begin(struct store *s, struct assay_error *err);
enum assay_status db_end(struct store *s, enum assay_status status, struct assay_error *err);

// The first column of the first row as a number.
enum assay_status db_number(struct store *s, const char *sql, int64_t *out, struct assay_error *err);

// Binding: parameter numbers count from 1. Both return SQLite's code (a text may be too long); db_bind_key sets *next
// to the parameter after the key's. NULL is bound as "".
int db_bind_text(sqlite3_stmt *st, int at, const char *text);
const char *db_text_at(sqlite3_stmt *st, int column); // of a row; never NULL, and lives until the next step
int db_bind_key(sqlite3_stmt *st, const struct store_verdict *key, int *next);

// Prepares a statement whose first parameters are the key's; *next as above.
enum assay_status db_prepare_key(struct store *s, const char *sql, const struct store_verdict *key, sqlite3_stmt **out,
                                 int *next, struct assay_error *err);

// Inserts a verdict within the caller's transaction and sets *id (store.c).
enum assay_status verdict_insert(struct store *s, const struct store_verdict *v, int64_t *id, struct assay_error *err);

// The process that holds a claim of the run and is alive; 0: none does (claim.c).
enum assay_status claim_of_run(struct store *s, const char *run, int64_t *pid, struct assay_error *err);

// Makes or checks the tables of a connection that was just opened.
enum assay_status schema_prepare(struct store *s, struct assay_error *err);

#endif
