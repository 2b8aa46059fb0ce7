// SPDX-License-Identifier: Apache-2.0
#include "store/db.h"

#include <string.h>

enum { BUSY_TRIES = 5 };

static enum assay_status damaged(const struct store *s, const char *doing, const char *what, struct assay_error *err) {
  return error_set(err, ASSAY_ERR_CORRUPT,
                   "%s: cannot %s: %s. The file is damaged or no store; rescue what is readable with `sqlite3 %s "
                   ".recover | sqlite3 rescued.db`, or move it away and start a new one",
                   s->path, doing, what, s->path);
}

enum assay_status db_error(const struct store *s, int code, const char *doing, struct assay_error *err) {
  const char *text = s->db ? sqlite3_errmsg(s->db) : sqlite3_errstr(code);
  switch (code & 0xff) {
  case SQLITE_NOMEM:
    return error_nomem(err, "a database operation");
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
  case SQLITE_PROTOCOL:
    return error_set(err, ASSAY_ERR_BUSY,
                     "%s: cannot %s: another process has held the lock for too long; end it (`fuser %s` names it) "
                     "and try again",
                     s->path, doing, s->path);
  case SQLITE_FULL:
    return error_set(err, ASSAY_ERR_IO,
                     "%s: cannot %s: the disk is full; make room and try again (what was stored before is safe)",
                     s->path, doing);
  case SQLITE_IOERR:
  case SQLITE_CANTOPEN:
  case SQLITE_READONLY:
  case SQLITE_PERM:
  case SQLITE_AUTH:
    return error_set(err, ASSAY_ERR_IO,
                     "%s: cannot %s: %s; check that the folder is writable and the disk has room (what was stored "
                     "before is safe)",
                     s->path, doing, text);
  case SQLITE_TOOBIG:
    return error_set(err, ASSAY_ERR_LIMIT, "%s: cannot %s: a text or blob is too long", s->path, doing);
  case SQLITE_CONSTRAINT:
    return error_set(err, ASSAY_ERR_INVALID, "%s: cannot %s: %s", s->path, doing, text);
  default: // SQLITE_CORRUPT, SQLITE_NOTADB; SQLITE_ERROR, too, comes from tables that are not as they should be
    return damaged(s, doing, text, err);
  }
}

enum assay_status db_check(const struct store *s, int code, const char *doing, struct assay_error *err) {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE)
    return ASSAY_OK;
  return db_error(s, code, doing, err);
}

enum assay_status db_prepare(struct store *s, const char *sql, sqlite3_stmt **out, struct assay_error *err) {
  return db_check(s, sqlite3_prepare_v2(s->db, sql, -1, out, NULL), "read its tables", err);
}

// SQLite's own busy handler waits for most locks; where waiting could deadlock it says busy at once, and the cure is to
// try again.
enum assay_status db_exec(struct store *s, const char *sql, const char *doing, struct assay_error *err) {
  int code = SQLITE_BUSY;
  for (int i = 0; i < BUSY_TRIES && (code & 0xff) == SQLITE_BUSY; i++) {
    if (i > 0)
      sqlite3_sleep(20 << i);
    code = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
  }
  return db_check(s, code, doing, err);
}

enum assay_status db_begin(struct store *s, struct assay_error *err) {
  if (!sqlite3_get_autocommit(s->db)) // db_end had no memory to roll back
    sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
  return db_exec(s, "BEGIN IMMEDIATE", "begin to write", err);
}

enum assay_status db_end(struct store *s, enum assay_status status, struct assay_error *err) {
  if (!status)
    status = db_exec(s, "COMMIT", "write", err);
  if (status && !sqlite3_get_autocommit(s->db))
    sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL); // fails only when SQLite rolled back by itself
  return status;
}

enum assay_status db_number(struct store *s, const char *sql, int64_t *out, struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  enum assay_status status = db_prepare(s, sql, &st, err);
  if (!status) {
    int code = sqlite3_step(st);
    status = db_check(s, code, "read it", err);
    *out = code == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
  }
  sqlite3_finalize(st);
  return status;
}

int db_bind_text(sqlite3_stmt *st, int at, const char *text) {
  return sqlite3_bind_text(st, at, text ? text : "", -1, SQLITE_STATIC);
}

const char *db_text_at(sqlite3_stmt *st, int column) {
  const char *text = (const char *)sqlite3_column_text(st, column);
  return text ? text : "";
}

int db_bind_key(sqlite3_stmt *st, const struct store_verdict *key, int *next) {
  int at = 1, code = SQLITE_OK;
#define BIND(name)                                                                                                     \
  if (code == SQLITE_OK)                                                                                               \
    code = db_bind_text(st, at++, key->name);
  STORE_KEY(BIND)
#undef BIND
  *next = at;
  return code;
}

enum assay_status db_prepare_key(struct store *s, const char *sql, const struct store_verdict *key, sqlite3_stmt **out,
                                 int *next, struct assay_error *err) {
  enum assay_status status = db_prepare(s, sql, out, err);
  return status ? status : db_check(s, db_bind_key(*out, key, next), "use a key", err);
}
