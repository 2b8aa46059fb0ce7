// SPDX-License-Identifier: Apache-2.0
// Runs as a whole: what there is, other names, and their end.
#include <string.h>

#include "base/alloc.h"
#include "base/nearest.h"
#include "store/db.h"

enum assay_status store_each_run(struct store *s, store_run_visit *visit, void *arg, struct assay_error *err) {
  // Which stand is looked up in a set; as a join it would take time with the square of the verdicts.
#define STANDS "(v.id IN (SELECT max(id) FROM verdict WHERE reason <> 'judge_failed' GROUP BY run, task, candidate))"
  static const char sql[] =
      "SELECT v.run, group_concat(DISTINCT v.workload), group_concat(DISTINCT v.device), count(*), sum(" STANDS "), "
      "sum(" STANDS " AND v.reason = 'pass'), count(DISTINCT CASE WHEN " STANDS " THEN v.task END), min(v.at_ns), "
      "max(v.at_ns) FROM verdict v WHERE v.run <> '' GROUP BY v.run ORDER BY min(v.id)";
#undef STANDS
  sqlite3_stmt *st = NULL;
  enum assay_status status = db_prepare(s, sql, &st, err);
  while (!status) {
    int code = sqlite3_step(st), at = 0;
    status = db_check(s, code, "read runs", err);
    if (status || code != SQLITE_ROW)
      break;
    struct store_run r = {.name = db_text_at(st, at++)};
    r.workloads = db_text_at(st, at++);
    r.devices = db_text_at(st, at++);
    int64_t *const numbers[] = {&r.n_verdicts, &r.n_standing, &r.n_passed, &r.n_tasks, &r.first_ns, &r.last_ns};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
      *numbers[i] = sqlite3_column_int64(st, at++);
    if (!visit(arg, &r))
      break;
  }
  sqlite3_finalize(st);
  return status;
}

// Runs a statement with up to two texts, and says how many rows it changed.
static enum assay_status change(struct store *s, const char *sql, const char *a, const char *b, int64_t *n,
                                struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  enum assay_status status = db_prepare(s, sql, &st, err);
  if (!status)
    status = db_check(s, db_bind_text(st, 1, a), "use a run's name", err);
  if (!status && b)
    status = db_check(s, db_bind_text(st, 2, b), "use a run's name", err);
  if (!status)
    status = db_check(s, sqlite3_step(st), "change a run", err);
  if (!status && n)
    *n = sqlite3_changes(s->db);
  sqlite3_finalize(st);
  return status;
}

// Counts the run's rows by a statement with one text.
static enum assay_status count_rows(struct store *s, const char *sql, const char *run, int64_t *n,
                                    struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  enum assay_status status = db_prepare(s, sql, &st, err);
  if (!status)
    status = db_check(s, db_bind_text(st, 1, run), "use a run's name", err);
  if (!status)
    status = db_check(s, sqlite3_step(st), "look for a run", err);
  if (!status)
    *n = sqlite3_column_int64(st, 0);
  sqlite3_finalize(st);
  return status;
}

// Verdicts, trials, and the steps and settings of a run that makes kernels: any of them makes a run.
static const char count_all[] = "SELECT (SELECT count(*) FROM verdict WHERE run = ?1) + "
                                "(SELECT count(*) FROM step WHERE run = ?1) + "
                                "(SELECT count(*) FROM trial WHERE run = ?1) + "
                                "(SELECT count(*) FROM making WHERE run = ?1)";
static const char count_tuned[] = "SELECT count(*) FROM trial WHERE run = ?1";
static const char count_made[] = "SELECT (SELECT count(*) FROM step WHERE run = ?1) + "
                                 "(SELECT count(*) FROM making WHERE run = ?1)";

struct near_run {
  struct nearest nearest;
  char *name; // of the nearest
};

static bool offer_run(void *arg, const struct store_run *r) {
  struct near_run *n = arg;
  nearest_offer(&n->nearest, r->name);
  if (n->nearest.name != r->name)
    return true;
  base_free(n->name); // the store's own string is gone with its next row
  n->nearest.name = n->name = base_strndup(r->name, strlen(r->name));
  return n->name != NULL;
}

const char *store_near_run(struct store *s, const char *run, char *text, size_t size) {
  struct near_run n = {.nearest = {.word = run}};
  struct assay_error ignored = {0};
  if (store_each_run(s, offer_run, &n, &ignored) != ASSAY_OK)
    n.nearest.name = NULL;
  nearest_text(&n.nearest, text, size);
  base_free(n.name);
  return text;
}

enum assay_status store_no_run(struct store *s, const char *run, struct assay_error *err) {
  char near[256];
  return error_set(err, ASSAY_ERR_NOT_FOUND, "the store has no run named \"%s\"%s; `assay runs` lists them", run,
                   store_near_run(s, run, near, sizeof near));
}

enum assay_status store_check_run(struct store *s, const char *run, struct assay_error *err) {
  int64_t n = 0;
  enum assay_status status = count_rows(s, count_all, run, &n, err);
  return !status && n == 0 ? store_no_run(s, run, err) : status;
}

// Within a transaction: the run is there, and nobody works on it. Claims that processes left behind go.
static enum assay_status take_run(struct store *s, const char *run, struct assay_error *err) {
  int64_t n = 0, pid = 0;
  enum assay_status status = run[0] ? count_rows(s, count_all, run, &n, err) : ASSAY_OK;
  if (!status && n == 0)
    status = store_no_run(s, run, err);
  if (!status)
    status = claim_of_run(s, run, &pid, err);
  if (!status && pid)
    status = error_set(err, ASSAY_ERR_BUSY, "run \"%s\" is being judged by the process %lld: end that first", run,
                       (long long)pid);
  return status ? status : change(s, "DELETE FROM claim WHERE run = ?", run, NULL, NULL, err);
}

enum assay_status store_move_run(struct store *s, const char *run, const char *to, bool merge, int64_t *n,
                                 struct assay_error *err) {
  int64_t there = 0, steps = 0, trials = 0, moved = 0;
  if (!to[0] || strcmp(run, to) == 0)
    return error_set(err, ASSAY_ERR_INVALID, to[0] ? "run \"%s\" has this name already" : "a run's name is not empty",
                     to);
  enum assay_status status = db_begin(s, err);
  if (status)
    return status;
  status = take_run(s, run, err);
  if (!status)
    status = count_rows(s, count_all, to, &there, err);
  if (!status && there)
    status = count_rows(s, count_made, run, &steps, err);
  if (!status && there)
    status = count_rows(s, count_tuned, run, &trials, err);
  if (!status && there && !merge)
    status = error_set(err, ASSAY_ERR_INVALID,
                       "there is a run named \"%s\" already; `assay runs merge` puts two together", to);
  if (!status && steps)
    status =
        error_set(err, ASSAY_ERR_INVALID,
                  "run \"%s\" was made by `assay make`: its prompts and replies are those of one run, and cannot be "
                  "put into another",
                  run);
  if (!status && trials)
    status = error_set(
        err, ASSAY_ERR_INVALID,
        "run \"%s\" has a tuner's trials: their order is that of one run, and cannot be put into another", run);
  if (!status)
    status = change(s, "UPDATE verdict SET run = ?2 WHERE run = ?1", run, to, &moved, err);
  if (!status)
    status = change(s, "UPDATE step SET run = ?2 WHERE run = ?1", run, to, NULL, err);
  if (!status)
    status = change(s, "UPDATE making SET run = ?2 WHERE run = ?1", run, to, NULL, err);
  if (!status)
    status = change(s, "UPDATE lesson SET run = ?2 WHERE run = ?1", run, to, NULL, err);
  if (!status)
    status = change(s, "UPDATE trial SET run = ?2 WHERE run = ?1", run, to, NULL, err);
  status = db_end(s, status, err);
  if (!status)
    *n = moved;
  return status;
}

enum assay_status store_delete_run(struct store *s, const char *run, int64_t *n, struct assay_error *err) {
  int64_t gone = 0;
  enum assay_status status = db_begin(s, err);
  if (status)
    return status;
  status = take_run(s, run, err);
  if (!status)
    status = change(s, "DELETE FROM verdict WHERE run = ?", run, NULL, &gone, err);
  if (!status)
    status = change(s, "DELETE FROM step WHERE run = ?", run, NULL, NULL, err);
  if (!status)
    status = change(s, "DELETE FROM making WHERE run = ?", run, NULL, NULL, err);
  if (!status)
    status = change(s, "DELETE FROM lesson WHERE run = ?", run, NULL, NULL, err);
  if (!status)
    status = change(s, "DELETE FROM trial WHERE run = ?", run, NULL, NULL, err);
  status = db_end(s, status, err);
  if (!status)
    *n = gone;
  return status;
}

// Whether the run had verdicts up to that one.
static enum assay_status check_new(struct store *s, const char *run, int64_t last, struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  int code = SQLITE_DONE;
  enum assay_status status = db_prepare(s, "SELECT 1 FROM verdict WHERE run = ? AND id <= ? LIMIT 1", &st, err);
  if (!status)
    status = db_check(s, db_bind_text(st, 1, run), "use a run's name", err);
  if (!status) {
    sqlite3_bind_int64(st, 2, last);
    code = sqlite3_step(st);
    status = db_check(s, code, "look for a run", err);
  }
  if (!status && code == SQLITE_ROW)
    status = error_set(err, ASSAY_ERR_USAGE,
                       "the store has a run named \"%s\" already: delete or rename that one (`assay runs`), or name "
                       "another store",
                       run);
  sqlite3_finalize(st);
  return status;
}

enum assay_status store_put_all(struct store *s, store_supply *next, void *arg, int64_t *n, struct assay_error *err) {
  int64_t last = 0, id = 0, count = 0;
  enum assay_status status = db_begin(s, err);
  if (status)
    return status;
  status = db_number(s, "SELECT coalesce(max(id), 0) FROM verdict", &last, err);
  while (!status) {
    struct store_verdict v;
    bool more = false;
    status = next(arg, &v, &more, err);
    if (status || !more)
      break;
    status = check_new(s, v.run, last, err);
    if (!status)
      status = verdict_insert(s, &v, &id, err);
    count++;
  }
  status = db_end(s, status, err);
  if (!status)
    *n = count;
  return status;
}
