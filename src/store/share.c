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

static enum assay_status copy(struct store *s, int64_t from, const char *to, const char *hash, int64_t *id,
                              struct assay_error *err) {
#define COLUMNS "reason, samples, seed, at_ns" STORE_TEXTS(COMMA_NAME) STORE_REALS(COMMA_NAME) STORE_BOOLS(COMMA_NAME)
  static const char *const statements[] = {
      "INSERT INTO verdict (" COLUMNS ") SELECT " COLUMNS " FROM verdict WHERE id = ?1",
      "UPDATE verdict SET candidate = ?1, candidate_hash = ?2, evidence = CASE WHEN " STORE_IS_SHARED
      " THEN evidence ELSE '@' || ?4 END WHERE id = ?3"};
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < 2 && !status; i++) {
    sqlite3_stmt *st = NULL;
    status = db_prepare(s, statements[i], &st, err);
    int code = SQLITE_OK;
    if (!status && i == 0) {
      code = sqlite3_bind_int64(st, 1, from);
    } else if (!status) {
      code = db_bind_text(st, 1, to);
      if (code == SQLITE_OK)
        code = db_bind_text(st, 2, hash);
      if (code == SQLITE_OK)
        code = sqlite3_bind_int64(st, 3, *id);
      if (code == SQLITE_OK)
        code = sqlite3_bind_int64(st, 4, from);
    }
    if (!status && code == SQLITE_OK)
      code = sqlite3_step(st);
    if (!status)
      status = db_check(s, code, "store a verdict", err);
    sqlite3_finalize(st);
    if (!status && i == 0)
      status = db_number(s, "SELECT last_insert_rowid()", id, err);
  }
  return status;
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
