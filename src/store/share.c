// SPDX-License-Identifier: Apache-2.0
// One verdict for several files: samples that are the same kernel are judged once and count each. The evidence, which
// is the bulk of a verdict, is kept once: that of the others is "@ID", the verdict that has it (db.h).
#include "store/db.h"

#define COMMA_NAME(name) ", " #name

// The newest finished verdict of a run, task and candidate by its name; with the key's settings.
static enum assay_status newest_of(struct store *s, const struct store_verdict *key, const char *candidate, int64_t *id,
                                   struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  const char *const texts[] = {key->run,    key->task,          key->form, key->workload,
                               key->device, key->settings_hash, candidate};
  enum assay_status status = db_prepare(
      s,
      "SELECT coalesce(max(id), 0) FROM verdict WHERE run = ? AND task = ? AND form = ? AND workload = ? AND "
      "device = ? AND settings_hash = ? AND candidate = ? AND reason <> 'judge_failed'",
      &st, err);
  int code = SQLITE_OK;
  for (int i = 0; i < 7 && !status && code == SQLITE_OK; i++)
    code = db_bind_text(st, i + 1, texts[i]);
  if (!status && code == SQLITE_OK)
    code = sqlite3_step(st);
  if (!status)
    status = db_check(s, code, "look for a verdict", err);
  if (!status)
    *id = sqlite3_column_int64(st, 0);
  sqlite3_finalize(st);
  return status;
}

// A row like that of `from`; *id is its own.
static enum assay_status copy_row(struct store *s, int64_t from, int64_t *id, struct assay_error *err) {
#define COLUMNS "reason, samples, seed, at_ns" STORE_TEXTS(COMMA_NAME) STORE_REALS(COMMA_NAME) STORE_BOOLS(COMMA_NAME)
  sqlite3_stmt *st = NULL;
  enum assay_status status =
      db_prepare(s, "INSERT INTO verdict (" COLUMNS ") SELECT " COLUMNS " FROM verdict WHERE id = ?", &st, err);
  int code = status ? SQLITE_OK : sqlite3_bind_int64(st, 1, from);
  if (!status && code == SQLITE_OK)
    code = sqlite3_step(st);
  if (!status)
    status = db_check(s, code, "store a verdict", err);
  sqlite3_finalize(st);
  return status ? status : db_number(s, "SELECT last_insert_rowid()", id, err);
}

// Runs an UPDATE whose parameters are two texts, the row's id and that of the row it was copied from.
static enum assay_status change(struct store *s, const char *sql, const char *const texts[2], const int64_t ids[2],
                                struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  enum assay_status status = db_prepare(s, sql, &st, err);
  int code = SQLITE_OK;
  for (int i = 0; i < 2 && !status && code == SQLITE_OK; i++)
    code = db_bind_text(st, i + 1, texts[i]);
  for (int i = 0; i < 2 && !status && code == SQLITE_OK; i++)
    code = sqlite3_bind_int64(st, i + 3, ids[i]);
  if (!status && code == SQLITE_OK)
    code = sqlite3_step(st);
  if (!status)
    status = db_check(s, code, "store a verdict", err);
  sqlite3_finalize(st);
  return status;
}

static enum assay_status copy(struct store *s, int64_t from, const char *to, const char *hash, int64_t *id,
                              struct assay_error *err) {
  enum assay_status status = copy_row(s, from, id, err);
  return status ? status
                : change(s,
                         "UPDATE verdict SET candidate = ?1, candidate_hash = ?2, evidence = CASE WHEN " STORE_IS_SHARED
                         " THEN evidence ELSE '@' || ?4 END WHERE id = ?3",
                         (const char *const[]){to, hash}, (const int64_t[]){*id, from}, err);
}

enum assay_status store_share(struct store *s, const struct store_verdict *key, const char *to, const char *hash,
                              int64_t *id, struct assay_error *err) {
  int64_t from = 0, own = 0;
  enum assay_status status = db_begin(s, err);
  if (status)
    return status;
  status = newest_of(s, key, key->candidate, &from, err);
  if (!status)
    status = newest_of(s, key, to, &own, err);
  if (!status && from > own)
    status = copy(s, from, to, hash, &own, err);
  status = db_end(s, status, err);
  if (!status)
    *id = own;
  return status;
}

enum assay_status store_copy(struct store *s, int64_t from, const char *run, const char *candidate, int64_t *id,
                             struct assay_error *err) {
  int64_t own = 0;
  enum assay_status status = db_begin(s, err);
  if (status)
    return status;
  status = copy_row(s, from, &own, err);
  if (!status)
    status = change(s,
                    "UPDATE verdict SET run = ?1, candidate = ?2, evidence = (SELECT " STORE_WHOLE_EVIDENCE
                    " FROM verdict WHERE id = ?4) WHERE id = ?3",
                    (const char *const[]){run, candidate}, (const int64_t[]){own, from}, err);
  status = db_end(s, status, err);
  if (!status)
    *id = own;
  return status;
}
