// SPDX-License-Identifier: Apache-2.0
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "store/db.h"

enum { BUSY_MS = 10000, MAX_VALUE_BYTES = 64 << 20, MAX_PATH_BYTES = 4096 };

// Makes the folders above the file.
static enum assay_status make_folders(const char *path, struct assay_error *err) {
  const char *slash = strrchr(path, '/');
  char *folder = slash > path ? base_strndup(path, (size_t)(slash - path)) : NULL;
  if (slash > path && !folder)
    return error_nomem(err, "the store");
  enum assay_status status = folder ? file_make_folders(folder, err) : ASSAY_OK;
  base_free(folder);
  return status ? error_prefix(err, status, "the store: ") : ASSAY_OK;
}

// Settings of the connection. The file may come from anywhere: its triggers and views do not run, and its schema may
// not call functions. FULL makes an acknowledged verdict survive a power failure; at a few verdicts a second the sync
// costs nothing that matters.
static enum assay_status configure(struct store *s, struct assay_error *err) {
  sqlite3_extended_result_codes(s->db, 1);
  sqlite3_busy_timeout(s->db, BUSY_MS);
  sqlite3_limit(s->db, SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES);
  sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
  sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
  return db_exec(s, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA synchronous = FULL", "read it", err);
}

// Whether nothing can be written next to the store, and no journal that holds a part of it lies there: a read-only file
// system, or somebody else's folder. SQLite reads such a file without its journal's help only when told that nobody
// changes it meanwhile.
static bool is_fixed(const char *path) {
  char text[MAX_PATH_BYTES + 16];
  struct stat st;
  static const char *const journals[] = {"-wal", "-journal"};
  for (size_t i = 0; i < sizeof journals / sizeof *journals; i++) {
    snprintf(text, sizeof text, "%s%s", path, journals[i]);
    if (stat(text, &st) == 0 && st.st_size > 0)
      return false;
  }
  snprintf(text, sizeof text, "%s", path);
  *strrchr(text, '/') = '\0';
  return faccessat(AT_FDCWD, text[0] ? text : "/", W_OK, AT_EACCESS) != 0;
}

// sqlite3_open_v2, of a store that is_fixed() as such.
static int open_db(struct store *s, int flags) {
  if (!s->fixed)
    return sqlite3_open_v2(s->path, &s->db, SQLITE_OPEN_READWRITE | flags, NULL);
  struct buf uri = {0};
  buf_puts(&uri, "file:");
  for (const char *at = s->path + (strspn(s->path, "/") > 1 ? strspn(s->path, "/") - 1 : 0); *at; at++)
    buf_printf(&uri, strchr("?#%", *at) ? "%%%02x" : "%c", (unsigned char)*at);
  buf_puts(&uri, "?immutable=1");
  int code =
      uri.failed ? SQLITE_NOMEM : sqlite3_open_v2(buf_str(&uri), &s->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
  buf_release(&uri);
  return code;
}

static enum assay_status open_with(const char *path, int flags, struct store **out, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  struct store *s = NULL;
  size_t len = strlen(path);
  if (len == 0 || len + 3 > MAX_PATH_BYTES)
    return error_set(err, ASSAY_ERR_USAGE, "the store's path is %s", len ? "too long" : "empty");
  s = base_calloc(1, sizeof *s);
  if (s)
    s->path = base_alloc(len + 3);
  if (!s || !s->path) {
    status = error_nomem(err, "the store");
    goto out;
  }
  // "./" keeps SQLite from giving names like ":memory:" a meaning of their own.
  memcpy(s->path, "./", 2);
  memcpy(s->path + (path[0] == '/' || strncmp(path, "./", 2) == 0 ? 0 : 2), path, len + 1);
  if (flags & SQLITE_OPEN_CREATE)
    status = make_folders(s->path, err);
  else if (access(s->path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR))
    status = error_set(err, ASSAY_ERR_NOT_FOUND,
                       "there is no store %s; `assay judge`, `assay bench` and `assay runs import` make one, --store "
                       "or $ASSAY_STORE name another",
                       path);
  if (status)
    goto out;
  s->fixed = !(flags & SQLITE_OPEN_CREATE) && is_fixed(s->path);
  int code = open_db(s, flags);
  status = db_check(s, code, "open it", err);
  if (!status)
    status = configure(s, err);
  if (!status)
    status = schema_prepare(s, err);
  // Only a file that is known to be ours is changed. Where a file system cannot do WAL, SQLite stays with its rollback
  // journal, which is as safe and lets readers wait.
  if (!status && !s->fixed)
    status = db_exec(s, "PRAGMA journal_mode = WAL", "set its journal", err);
  if (!status) {
    *out = s;
    s = NULL;
  }
out:
  store_close(s);
  return status;
}

enum assay_status store_open(const char *path, struct store **out, struct assay_error *err) {
  return open_with(path, SQLITE_OPEN_CREATE, out, err);
}

enum assay_status store_open_existing(const char *path, struct store **out, struct assay_error *err) {
  return open_with(path, 0, out, err);
}

enum assay_status store_open_again(const struct store *s, struct store **out, struct assay_error *err) {
  return open_with(s->path, s->fixed ? 0 : SQLITE_OPEN_CREATE, out, err);
}

void store_close(struct store *s) {
  if (!s)
    return;
  sqlite3_finalize(s->get);
  sqlite3_close(s->db);
  base_free(s->again_reason);
  base_free(s->samples);
  base_free(s->path);
  base_free(s);
}

// Doubles as little-endian bytes and back, on any machine.
static void put_samples(const double *x, size_t n, uint8_t *bytes) {
  for (size_t i = 0; i < n; i++) {
    uint64_t v;
    memcpy(&v, &x[i], sizeof v);
    for (int b = 0; b < 8; b++)
      bytes[8 * i + (size_t)b] = (uint8_t)(v >> (8 * b));
  }
}

static void get_samples(const uint8_t *bytes, size_t n, double *x) {
  for (size_t i = 0; i < n; i++) {
    uint64_t v = 0;
    for (int b = 0; b < 8; b++)
      v |= (uint64_t)bytes[8 * i + (size_t)b] << (8 * b);
    memcpy(&x[i], &v, sizeof v);
  }
}

#define COMMA_NAME(name) ", " #name
#define COMMA_MARK(name) ", ?"

static enum assay_status insert_row(struct store *s, const struct store_verdict *v, const uint8_t *samples, int64_t *id,
                                    struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  enum assay_status status =
      db_prepare(s,
                 "INSERT INTO verdict (reason, samples, seed, at_ns" STORE_TEXTS(COMMA_NAME) STORE_REALS(COMMA_NAME)
                     STORE_BOOLS(COMMA_NAME) ") VALUES (?, ?, ?, ?" STORE_TEXTS(COMMA_MARK) STORE_REALS(COMMA_MARK)
                         STORE_BOOLS(COMMA_MARK) ")",
                 &st, err);
  if (status)
    return status;
  int at = 1, code = db_bind_text(st, at++, assay_reason_code(v->reason));
  if (code == SQLITE_OK)
    code = sqlite3_bind_blob64(st, at++, samples, (sqlite3_uint64)v->n_samples * 8, SQLITE_STATIC);
  sqlite3_bind_int64(st, at++, (int64_t)v->seed);
  sqlite3_bind_int64(st, at++, v->at_ns);
#define BIND_TEXT(name)                                                                                                \
  if (code == SQLITE_OK)                                                                                               \
    code = db_bind_text(st, at++, v->name);
#define BIND_REAL(name) sqlite3_bind_double(st, at++, v->name); // NaN becomes NULL
#define BIND_BOOL(name) sqlite3_bind_int(st, at++, v->name);
  STORE_TEXTS(BIND_TEXT)
  STORE_REALS(BIND_REAL)
  STORE_BOOLS(BIND_BOOL)
  if (code == SQLITE_OK)
    code = sqlite3_step(st);
  status = db_check(s, code, "store a verdict", err);
  *id = sqlite3_last_insert_rowid(s->db);
  sqlite3_finalize(st);
  return status;
}

// Whoever has it: what is finished is claimed by nobody.
static enum assay_status drop_claim(struct store *s, const struct store_verdict *key, struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  int next;
  enum assay_status status =
      db_prepare_key(s,
                     "DELETE FROM claim WHERE run = ? AND task = ? AND form = ? AND workload = ? AND device = ? AND "
                     "candidate_hash = ? AND settings_hash = ?",
                     key, &st, &next, err);
  if (!status)
    status = db_check(s, sqlite3_step(st), "release a claim", err);
  sqlite3_finalize(st);
  return status;
}

enum assay_status verdict_insert(struct store *s, const struct store_verdict *v, int64_t *id, struct assay_error *err) {
  if (v->n_samples < 0 || (v->n_samples > 0 && !v->samples_ns))
    return error_set(err, ASSAY_ERR_INVALID, "a verdict with %d samples and no array of them", v->n_samples);
  uint8_t *samples = base_alloc((size_t)v->n_samples * 8);
  if (!samples)
    return error_nomem(err, "a verdict's samples");
  put_samples(v->samples_ns, (size_t)v->n_samples, samples);
  enum assay_status status = insert_row(s, v, samples, id, err);
  base_free(samples);
  return status;
}

enum assay_status store_put(struct store *s, const struct store_verdict *v, int64_t *id, struct assay_error *err) {
  int64_t row = 0;
  enum assay_status status = db_begin(s, err);
  if (status)
    return status;
  status = verdict_insert(s, v, &row, err);
  if (!status)
    status = drop_claim(s, v, err);
  status = db_end(s, status, err);
  if (!status)
    *id = row;
  return status;
}

enum assay_status store_judge_again(struct store *s, const char *reason, struct assay_error *err) {
  int64_t last = 0;
  char *copy = reason ? base_strndup(reason, strlen(reason)) : NULL;
  if (reason && !copy)
    return error_nomem(err, "a reason");
  enum assay_status status = db_number(s, "SELECT coalesce(max(id), 0) FROM verdict", &last, err);
  base_free(s->again_reason);
  s->again_reason = copy;
  s->again_until = status ? 0 : last;
  return status;
}

// Whether the newest verdict of a key, a row of the statement in store_has, is to be judged again.
static bool is_due_again(const struct store *s, sqlite3_stmt *st) {
  const char *wanted = s->again_reason, *reason = (const char *)sqlite3_column_text(st, 1);
  if (sqlite3_column_int64(st, 0) > s->again_until)
    return false;
  if (!wanted)
    return true;
  bool untimed = reason && strcmp(reason, "pass") == 0 && sqlite3_column_type(st, 2) == SQLITE_NULL;
  return strcmp(wanted, STORE_UNTIMED) == 0 ? untimed : reason && strcmp(reason, wanted) == 0;
}

enum assay_status store_has(struct store *s, const struct store_verdict *key, bool *found, struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  int next;
  enum assay_status status =
      db_prepare_key(s,
                     "SELECT id, reason, time_ns FROM verdict WHERE run = ? AND task = ? AND form = ? AND workload = ? "
                     "AND device = ? AND candidate_hash = ? AND settings_hash = ? AND reason <> 'judge_failed' "
                     "ORDER BY id DESC LIMIT 1",
                     key, &st, &next, err);
  if (!status) {
    int code = sqlite3_step(st);
    status = db_check(s, code, "look for a verdict", err);
    if (!status)
      *found = code == SQLITE_ROW && !is_due_again(s, st);
  }
  sqlite3_finalize(st);
  return status;
}

enum assay_status store_find(struct store *s, const struct store_verdict *key, int64_t *id, struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  int next, code = SQLITE_DONE;
  enum assay_status status =
      db_prepare_key(s,
                     "SELECT max(id) FROM verdict WHERE run = ? AND task = ? AND form = ? AND workload = ? AND "
                     "device = ? AND candidate_hash = ? AND settings_hash = ? AND reason <> 'judge_failed'",
                     key, &st, &next, err);
  if (!status) {
    code = sqlite3_step(st);
    status = db_check(s, code, "look for a verdict", err);
  }
  if (!status)
    *id = code == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
  sqlite3_finalize(st);
  return status;
}

enum assay_status store_least_time(struct store *s, const struct store_verdict *key, double *ns,
                                   struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  const char *const texts[] = {key->task, key->form, key->workload, key->device};
  enum assay_status status = db_prepare(
      s,
      "SELECT min(time_ns) FROM verdict WHERE task = ? AND form = ? AND workload = ? AND device = ? AND reason = "
      "'pass' "
      "AND time_ns > 0 AND NOT suspicious AND NOT " STORE_IS_SHARED
      " AND NOT (json_valid(evidence) AND (coalesce(json_extract(evidence, "
      "'$.foreknown'), 0) OR coalesce(json_extract(evidence, '$.scope'), '') = 'judged'))",
      &st, err);
  int code = SQLITE_OK;
  for (int i = 0; i < 4 && !status && code == SQLITE_OK; i++)
    code = db_bind_text(st, i + 1, texts[i]);
  if (!status && code == SQLITE_OK)
    code = sqlite3_step(st);
  if (!status)
    status = db_check(s, code, "look for the least time", err);
  if (!status)
    *ns = sqlite3_column_type(st, 0) == SQLITE_NULL ? NAN : sqlite3_column_double(st, 0);
  sqlite3_finalize(st);
  return status;
}

bool store_is_suspicious(const struct store_verdict *v) {
  return v->suspicious && v->time_ns > 0;
}

static bool reason_by_code(const char *code, enum assay_reason *out) {
#define REASON_MATCH(name, text, meaning)                                                                              \
  if (strcmp(code, text) == 0) {                                                                                       \
    *out = ASSAY_REASON_##name;                                                                                        \
    return true;                                                                                                       \
  }
  ASSAY_REASONS(REASON_MATCH)
#undef REASON_MATCH
  return false;
}

// One row of the statement in store_each. Strings stay SQLite's, the samples the store's.
static enum assay_status read_row(struct store *s, sqlite3_stmt *st, struct store_verdict *v, struct assay_error *err) {
  int at = 0;
  memset(v, 0, sizeof *v);
  v->id = sqlite3_column_int64(st, at++);
  if (!reason_by_code(db_text_at(st, at++), &v->reason))
    return db_error(s, SQLITE_CORRUPT, "read a verdict's reason", err);
  const uint8_t *bytes = sqlite3_column_blob(st, at);
  size_t n = (size_t)sqlite3_column_bytes(st, at++) / 8;
  v->seed = (uint64_t)sqlite3_column_int64(st, at++);
  v->at_ns = sqlite3_column_int64(st, at++);
#define READ_TEXT(name) v->name = db_text_at(st, at++);
#define READ_REAL(name)                                                                                                \
  v->name = sqlite3_column_type(st, at) == SQLITE_NULL ? NAN : sqlite3_column_double(st, at);                          \
  at++;
#define READ_BOOL(name) v->name = sqlite3_column_int(st, at++) != 0;
  STORE_TEXTS(READ_TEXT)
  STORE_REALS(READ_REAL)
  STORE_BOOLS(READ_BOOL)
  if (n > s->samples_capacity) {
    double *more = base_realloc(s->samples, n * sizeof *more);
    if (!more)
      return error_nomem(err, "a verdict's samples");
    s->samples = more;
    s->samples_capacity = n;
  }
  if (n > 0 && bytes)
    get_samples(bytes, n, s->samples);
  v->n_samples = bytes ? (int)n : 0;
  v->samples_ns = s->samples;
  return ASSAY_OK;
}

// Visits the rows of a statement whose first parameters are `n` texts. Finalizes it.
static enum assay_status visit_rows(struct store *s, const char *sql, const char *const *texts, int n,
                                    store_visit *visit, void *arg, struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  enum assay_status status = db_prepare(s, sql, &st, err);
  for (int i = 0; i < n && !status; i++)
    status = db_check(s, db_bind_text(st, i + 1, texts[i]), "use a run's name", err);
  while (!status) {
    struct store_verdict v;
    int code = sqlite3_step(st);
    status = db_check(s, code, "read verdicts", err);
    if (status || code != SQLITE_ROW)
      break;
    status = read_row(s, st, &v, err);
    if (!status && !visit(arg, &v))
      break;
  }
  sqlite3_finalize(st);
  return status;
}

// Rows that the visitor adds are not visited.
#define SELECT_VERDICT                                                                                                 \
  "SELECT id, reason, samples, seed, at_ns" STORE_SHORT_TEXTS(COMMA_NAME) ", " STORE_WHOLE_EVIDENCE STORE_REALS(       \
      COMMA_NAME) STORE_BOOLS(COMMA_NAME) " FROM verdict WHERE id <= (SELECT max(id) FROM verdict)"

enum assay_status store_each(struct store *s, const char *run, store_visit *visit, void *arg, struct assay_error *err) {
  // `IS ?1 OR` would cost the index, hence two statements.
  const char *sql = run ? SELECT_VERDICT " AND run = ? ORDER BY id" : SELECT_VERDICT " ORDER BY id";
  return visit_rows(s, sql, &run, run ? 1 : 0, visit, arg, err);
}

#define STANDING(condition)                                                                                            \
  "SELECT max(id) FROM verdict WHERE run = ? AND reason <> 'judge_failed'" condition " GROUP BY task, candidate"

enum assay_status store_each_standing(struct store *s, const char *run, const char *workload, store_visit *visit,
                                      void *arg, struct assay_error *err) {
#define NEWEST(standing) SELECT_VERDICT " AND id IN (" standing ") ORDER BY id"
  const char *const texts[] = {run, workload};
  if (!workload)
    return visit_rows(s, NEWEST(STANDING("")), texts, 1, visit, arg, err);
  if (strcmp(workload, STORE_EACH_WORKLOAD) == 0)
    return visit_rows(s, NEWEST(STANDING("") ", workload"), texts, 1, visit, arg, err);
  return visit_rows(s, NEWEST(STANDING(" AND workload = ?")), texts, 2, visit, arg, err);
#undef NEWEST
}

enum assay_status store_list_standing(struct store *s, const char *run, int64_t **ids, int *n,
                                      struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  int64_t *all = NULL;
  int count = 0, capacity = 0;
  enum assay_status status = db_prepare(s, STANDING("") " ORDER BY 1", &st, err);
  if (!status)
    status = db_check(s, db_bind_text(st, 1, run), "use a run's name", err);
  while (!status) {
    const int code = sqlite3_step(st);
    status = db_check(s, code, "read verdicts", err);
    if (status || code != SQLITE_ROW)
      break;
    if (count == capacity) {
      capacity = 2 * capacity + 256;
      int64_t *more = base_realloc(all, (size_t)capacity * sizeof *more);
      status = more ? ASSAY_OK : error_nomem(err, "a run's verdicts");
      all = more ? more : all;
    }
    if (!status)
      all[count++] = sqlite3_column_int64(st, 0);
  }
  sqlite3_finalize(st);
  if (status) {
    base_free(all);
    return status;
  }
  *ids = all;
  *n = count;
  return ASSAY_OK;
}
#undef STANDING

enum assay_status store_get(struct store *s, int64_t id, store_visit *visit, void *arg, struct assay_error *err) {
  sqlite3_stmt *st = s->get;
  bool found = false;
  enum assay_status status = ASSAY_OK;
  s->get = NULL; // a visitor that asks for another has a statement of its own
  if (!st)
    status = db_prepare(s, SELECT_VERDICT " AND id = ?", &st, err);
  if (!status)
    status = db_check(s, sqlite3_bind_int64(st, 1, id), "use a verdict's number", err);
  if (!status) {
    struct store_verdict v;
    const int code = sqlite3_step(st);
    status = db_check(s, code, "read a verdict", err);
    found = !status && code == SQLITE_ROW;
    if (found)
      status = read_row(s, st, &v, err);
    if (found && !status)
      visit(arg, &v);
  }
  if (st)
    sqlite3_reset(st);
  sqlite3_finalize(s->get);
  s->get = st;
  if (!status && !found)
    status = error_set(err, ASSAY_ERR_NOT_FOUND, "%s holds no verdict %lld", s->path, (long long)id);
  return status;
}
