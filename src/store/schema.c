// SPDX-License-Identifier: Apache-2.0
// The tables, and whether a file has them. A file is a store when SQLite's application id says so and every table is
// letter for letter what this version makes; anything else is refused before a row is read.
#include <string.h>

#include "store/db.h"
#include "store/step.h"
#include "store/trial.h"

enum { APPLICATION_ID = 0x41737361 };             // "Assa"
static const int64_t CHECK_WHOLE_BYTES = 4 << 20; // files up to this size are checked whole when opened

#define TEXT_COLUMN(name) ", " #name " TEXT NOT NULL"
#define REAL_COLUMN(name) ", " #name " REAL" // NULL stands for NaN, which SQLite has not
#define BOOL_COLUMN(name) ", " #name " INTEGER NOT NULL CHECK (" #name " IN (0, 1))"
#define BLOB_COLUMN(name) ", " #name " BLOB NOT NULL"
#define NUMBER_COLUMN(name) ", " #name " INTEGER NOT NULL"
#define REASON_TERM(name, code, text) " OR reason = '" code "'"
#define OUTCOME_TERM(id, name) " OR outcome = '" name "'"
#define STATUS_TERM(id, name) " OR status = '" name "'"
#define KEY_COLUMN(name) ", " #name

// A change here, a new reason included, needs a new STORE_SCHEMA_VERSION and a migration (a test holds this text).
static const struct table {
  const char *name, *sql;
  int since; // the version that first had it
} TABLES[] = {
    {"verdict",
     "CREATE TABLE verdict (id INTEGER PRIMARY KEY, reason TEXT NOT NULL CHECK (0" ASSAY_REASONS(
         REASON_TERM) ")"
                      ", samples BLOB NOT NULL CHECK (length(samples) % 8 = 0)" // doubles, little-endian
                      ", seed INTEGER NOT NULL, at_ns INTEGER NOT NULL" STORE_TEXTS(TEXT_COLUMN)
                          STORE_REALS(REAL_COLUMN) STORE_BOOLS(BOOL_COLUMN) ") STRICT",
     1},
    {"verdict_key",
     "CREATE INDEX verdict_key ON verdict (run, task, form, workload, device, candidate_hash, "
     "settings_hash, reason)",
     1},
    {"verdict_run", "CREATE INDEX verdict_run ON verdict (run)", 1},
    {"claim",
     "CREATE TABLE claim (boot TEXT NOT NULL, pid INTEGER NOT NULL, start INTEGER NOT NULL, "
     "at_ns INTEGER NOT NULL" STORE_KEY(
         TEXT_COLUMN) ", PRIMARY KEY (run, task, form, workload, device, candidate_hash, settings_hash)) STRICT",
     1},
    {"making", "CREATE TABLE making (run TEXT PRIMARY KEY, settings TEXT NOT NULL, at_ns INTEGER NOT NULL) STRICT", 5},
    {"step",
     "CREATE TABLE step (id INTEGER PRIMARY KEY, outcome TEXT NOT NULL CHECK (0" STORE_OUTCOMES(
         OUTCOME_TERM) ")" STEP_TEXTS(TEXT_COLUMN) STEP_BLOBS(BLOB_COLUMN) STEP_NUMBERS(NUMBER_COLUMN)
         STEP_REALS(REAL_COLUMN) ", UNIQUE (run, task, number)) STRICT",
     5},
    {"trial",
     "CREATE TABLE trial (id INTEGER PRIMARY KEY, status TEXT NOT NULL CHECK (0" STORE_TRIAL_STATUSES(
         STATUS_TERM) ")" TRIAL_TEXTS(TEXT_COLUMN) TRIAL_NUMBERS(NUMBER_COLUMN)
         TRIAL_REALS(REAL_COLUMN) ", UNIQUE (run, task, workload, device, maker, number)) STRICT",
     6},
    {"lesson",
     "CREATE TABLE lesson (run TEXT NOT NULL, task TEXT NOT NULL, number INTEGER NOT NULL, text TEXT NOT NULL, "
     "PRIMARY KEY (run, task, number)) STRICT",
     7},
    {"machine_fact",
     "CREATE TABLE machine_fact (machine TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, "
     "PRIMARY KEY (machine, key)) STRICT",
     1},
};
enum { N_TABLES = sizeof TABLES / sizeof *TABLES };

static enum assay_status not_a_store(const struct store *s, const char *why, struct assay_error *err) {
  return error_set(err, ASSAY_ERR_CORRUPT,
                   "%s is no store of Assay's: %s. It was left as it is; give another file for the store, or move "
                   "this one away",
                   s->path, why);
}

static enum assay_status check_table(struct store *s, const struct table *t, struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  enum assay_status status = db_prepare(s, "SELECT sql FROM sqlite_schema WHERE name = ?", &st, err);
  if (status)
    return status;
  int code = db_bind_text(st, 1, t->name);
  if (code == SQLITE_OK)
    code = sqlite3_step(st);
  status = db_check(s, code, "read its tables", err);
  const char *sql = code == SQLITE_ROW ? (const char *)sqlite3_column_text(st, 0) : NULL;
  if (!status && (!sql || strcmp(sql, t->sql) != 0))
    status = not_a_store(s, sql ? "a table of it is different" : "it lacks a table", err);
  sqlite3_finalize(st);
  return status;
}

static enum assay_status make_tables(struct store *s, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < N_TABLES && !status; i++)
    status = db_exec(s, TABLES[i].sql, "make its tables", err);
  char *sql = status ? NULL
                     : sqlite3_mprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", APPLICATION_ID,
                                       STORE_SCHEMA_VERSION);
  if (!status)
    status = sql ? db_exec(s, sql, "make its tables", err) : error_nomem(err, "a database operation");
  sqlite3_free(sql);
  return status;
}

// Between the look that found the file empty and the lock, another process may have made the tables.
static enum assay_status make_if_empty(struct store *s, struct assay_error *err) {
  int64_t objects = 0;
  enum assay_status status = db_begin(s, err);
  if (status)
    return status;
  status = db_number(s, "SELECT count(*) FROM sqlite_schema", &objects, err);
  if (!status && objects == 0)
    status = make_tables(s, err);
  return db_end(s, status, err);
}

// Versions 1 and 2 knew fewer reasons. Up to version 3, the column `toolchain` held the device's name; what built the
// candidate is in the evidence. The table is made anew and takes all rows over, or none. Versions 5, 6 and 7 have more
// tables.
static enum assay_status migrate(struct store *s, struct assay_error *err) {
  static const char take_toolchain[] = "UPDATE verdict SET toolchain = CASE WHEN json_valid(evidence) THEN "
                                       "coalesce(nullif(json_extract(evidence, '$.toolchain'), ''), toolchain) "
                                       "ELSE toolchain END";
  static const char *const before[] = {"DROP INDEX verdict_key", "DROP INDEX verdict_run",
                                       "ALTER TABLE verdict RENAME TO verdict_before"};
  static const char *const after[] = {
      "INSERT INTO verdict (id, reason, samples, seed, at_ns" STORE_TEXTS(KEY_COLUMN) STORE_REALS(KEY_COLUMN)
          STORE_BOOLS(KEY_COLUMN) ") SELECT id, reason, samples, seed, at_ns" STORE_TEXTS(KEY_COLUMN)
              STORE_REALS(KEY_COLUMN) STORE_BOOLS(KEY_COLUMN) " FROM verdict_before",
      "DROP TABLE verdict_before", take_toolchain};
  _Static_assert(STORE_SCHEMA_VERSION == 7, "the version above, and what it takes to come to it");
  int64_t version = 0;
  enum assay_status status = db_begin(s, err);
  if (status)
    return status;
  status = db_number(s, "PRAGMA user_version", &version, err);
  bool due = !status && version < STORE_SCHEMA_VERSION; // another process may have done it meanwhile
  bool anew = due && version < 4;                       // the verdicts' table
  for (size_t i = 0; i < sizeof before / sizeof *before && anew && !status; i++)
    status = db_exec(s, before[i], "bring it to this version", err);
  for (int i = 0; i < N_TABLES && due && !status; i++)
    if ((anew && strncmp(TABLES[i].name, "verdict", strlen("verdict")) == 0) || version < TABLES[i].since)
      status = db_exec(s, TABLES[i].sql, "bring it to this version", err);
  for (size_t i = 0; i < sizeof after / sizeof *after && anew && !status; i++)
    status = db_exec(s, after[i], "bring it to this version", err);
  if (due && !status)
    status = db_exec(s, "PRAGMA user_version = 7", "bring it to this version", err);
  return db_end(s, status, err);
}

static enum assay_status check_whole(struct store *s, struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  enum assay_status status = db_prepare(s, "PRAGMA quick_check(1)", &st, err);
  if (status)
    return status;
  int code = sqlite3_step(st);
  status = db_check(s, code, "check it", err);
  const char *said = code == SQLITE_ROW ? (const char *)sqlite3_column_text(st, 0) : NULL;
  if (!status && (!said || strcmp(said, "ok") != 0))
    status = db_error(s, SQLITE_CORRUPT, "check it", err);
  sqlite3_finalize(st);
  return status;
}

enum assay_status schema_prepare(struct store *s, struct assay_error *err) {
  int64_t application = 0, version = 0, objects = 0, bytes = 0;
  enum assay_status status = db_number(s, "SELECT count(*) FROM sqlite_schema", &objects, err);
  if (!status)
    status = db_number(s, "PRAGMA application_id", &application, err);
  if (!status && objects == 0 && application == 0)
    status = make_if_empty(s, err);
  if (!status)
    status = db_number(s, "PRAGMA application_id", &application, err);
  if (!status)
    status = db_number(s, "PRAGMA user_version", &version, err);
  if (status)
    return status;
  if (application != APPLICATION_ID)
    return not_a_store(s, "another program's database", err);
  if (version > STORE_SCHEMA_VERSION)
    return error_set(err, ASSAY_ERR_UNSUPPORTED,
                     "%s was written by a newer Assay (schema %lld, this one knows %d); use that one, or give "
                     "another file for the store",
                     s->path, (long long)version, STORE_SCHEMA_VERSION);
  if (version < STORE_SCHEMA_VERSION)
    status = migrate(s, err);
  for (int i = 0; i < N_TABLES && !status; i++)
    status = check_table(s, &TABLES[i], err);
  if (!status)
    status = db_number(s, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", &bytes, err);
  if (!status && bytes <= CHECK_WHOLE_BYTES)
    status = check_whole(s, err);
  return status;
}
