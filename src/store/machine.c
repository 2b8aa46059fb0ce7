// SPDX-License-Identifier: Apache-2.0
// Facts about machines: those that were measured on this one, and those that came with runs of others.
#include <string.h>

#include "base/alloc.h"
#include "store/db.h"

// Binds up to three texts, steps once and returns SQLite's code.
static int step_with(sqlite3_stmt *st, const char *a, const char *b, const char *c) {
  int code = db_bind_text(st, 1, a);
  if (code == SQLITE_OK && b)
    code = db_bind_text(st, 2, b);
  if (code == SQLITE_OK && c)
    code = db_bind_text(st, 3, c);
  return code == SQLITE_OK ? sqlite3_step(st) : code;
}

enum assay_status store_put_machine(struct store *s, const char *machine, const char *key, const char *value,
                                    struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  enum assay_status status =
      db_prepare(s, "INSERT OR REPLACE INTO machine_fact (machine, key, value) VALUES (?, ?, ?)", &st, err);
  if (!status)
    status = db_check(s, step_with(st, machine, key, value), "store a fact about the machine", err);
  sqlite3_finalize(st);
  return status;
}

enum assay_status store_set_machine(struct store *s, const char *machine, const char *key, const char *value,
                                    struct assay_error *err) {
  enum assay_status status = db_begin(s, err);
  return status ? status : db_end(s, store_put_machine(s, machine, key, value, err), err);
}

enum assay_status store_get_machine(struct store *s, const char *machine, const char *key, char **value,
                                    struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  enum assay_status status = db_prepare(s, "SELECT value FROM machine_fact WHERE machine = ? AND key = ?", &st, err);
  if (status)
    return status;
  int code = step_with(st, machine, key, NULL);
  status = db_check(s, code, "read a fact about the machine", err);
  if (!status && code != SQLITE_ROW)
    status = error_set(err, ASSAY_ERR_NOT_FOUND, "%s holds no \"%s\" for this machine", s->path, key);
  if (!status) {
    const char *text = db_text_at(st, 0);
    char *copy = base_strndup(text, strlen(text));
    if (copy)
      *value = copy;
    else
      status = error_nomem(err, "a fact about the machine");
  }
  sqlite3_finalize(st);
  return status;
}

enum assay_status store_each_machine(struct store *s, const char *key, store_visit_machine *visit, void *arg,
                                     struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  enum assay_status status =
      db_prepare(s, "SELECT machine, value FROM machine_fact WHERE key = ? ORDER BY machine", &st, err);
  int code = status ? SQLITE_DONE : step_with(st, key, NULL, NULL);
  while (code == SQLITE_ROW && visit(arg, db_text_at(st, 0), db_text_at(st, 1)))
    code = sqlite3_step(st);
  if (!status)
    status = db_check(s, code, "read facts about machines", err);
  sqlite3_finalize(st);
  return status;
}
