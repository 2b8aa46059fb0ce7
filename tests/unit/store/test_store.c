// SPDX-License-Identifier: Apache-2.0
// link: -Wl,--wrap=base_realloc,--wrap=sqlite3_busy_timeout
// The store: what goes in comes out, whatever happens to the file, the disk, memory or the neighbours.
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "store/step.h"
#include "store/trial.h"
#include "store/store.h"
#include "meagre_memory.h"

// Waiting for a lock that is never released should not take the product's seconds here.
int __real_sqlite3_busy_timeout(sqlite3 *db, int ms);
int __wrap_sqlite3_busy_timeout(sqlite3 *db, int ms);
static bool impatient;
int __wrap_sqlite3_busy_timeout(sqlite3 *db, int ms) {
  return __real_sqlite3_busy_timeout(db, impatient ? 5 : ms);
}

// ---- a folder per test

static char folder[64], path[128];

static int make_folder(void **state) {
  (void)state;
  snprintf(folder, sizeof folder, "/tmp/test_store.XXXXXX");
  if (!mkdtemp(folder))
    return -1;
  snprintf(path, sizeof path, "%s/store.db", folder);
  return 0;
}

static int drop_folder(void **state) {
  (void)state;
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command);
}

static struct store *must_open(void) {
  struct store *s = NULL;
  struct assay_error err = {0};
  if (store_open(path, &s, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  return s;
}

static const double SAMPLES[] = {1.5, 2.5, 1e-300, 3.25};

static struct store_verdict example(int number) {
  static char candidate[8][32];
  char *name = candidate[number % 8];
  snprintf(name, sizeof candidate[0], "hash%d", number);
  return (struct store_verdict){.run = "run",
                                .task = "kernelbench/1/19",
                                .task_hash = "th",
                                .form = "default",
                                .workload = "small",
                                .device = "cpu",
                                .candidate = "relu.c",
                                .candidate_hash = name,
                                .toolchain = "cc",
                                .settings_hash = "sh",
                                .reason = ASSAY_REASON_WRONG_VALUE,
                                .detail = "3 elements; \"déjà vu\"",
                                .error_z = 12.5,
                                .error_limit = INFINITY,
                                .time_ns = 1000 + number,
                                .time_low_ns = 990,
                                .time_high_ns = 1010,
                                .hot_ns = NAN,
                                .floor_ns = NAN,
                                .unstable = true,
                                .n_samples = 4,
                                .samples_ns = SAMPLES,
                                .seed = 0xfedcba9876543210u,
                                .at_ns = 1763000000000000000,
                                .machine = "{}",
                                .command = "assay judge",
                                .evidence = "[1,2]"};
}

static int64_t must_put(struct store *s, const struct store_verdict *v) {
  int64_t id = 0;
  struct assay_error err = {0};
  if (store_put(s, v, &id, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  return id;
}

static bool must_have(struct store *s, const struct store_verdict *key) {
  bool found = false;
  assert_int_equal(store_has(s, key, &found, NULL), ASSAY_OK);
  return found;
}

static bool must_claim(struct store *s, const struct store_verdict *key) {
  bool claimed = false;
  assert_int_equal(store_claim(s, key, &claimed, NULL), ASSAY_OK);
  return claimed;
}

static bool count_visit(void *arg, const struct store_verdict *v) {
  (void)v;
  ++*(int *)arg;
  return true;
}

static int count(struct store *s, const char *run) {
  int n = 0;
  assert_int_equal(store_each(s, run, count_visit, &n, NULL), ASSAY_OK);
  return n;
}

// ---- tests

static bool check_example(void *arg, const struct store_verdict *v) {
  struct store_verdict w = example(0);
  ++*(int *)arg;
  assert_int_equal(v->id, 1);
#define SAME(field) assert_string_equal(v->field, w.field)
  SAME(run), SAME(task), SAME(task_hash), SAME(form), SAME(workload), SAME(device), SAME(candidate);
  SAME(candidate_hash), SAME(toolchain), SAME(settings_hash), SAME(detail), SAME(machine), SAME(command),
      SAME(evidence);
  assert_int_equal(v->reason, w.reason);
  assert_true(v->error_z == 12.5 && v->error_limit == INFINITY && v->time_ns == 1000 && v->time_low_ns == 990);
  assert_true(v->time_high_ns == 1010 && isnan(v->hot_ns) && isnan(v->floor_ns));
  assert_true(v->unstable && !v->suspicious);
  assert_int_equal(v->n_samples, 4);
  assert_memory_equal(v->samples_ns, SAMPLES, sizeof SAMPLES);
  assert_true(v->seed == w.seed && v->at_ns == w.at_ns);
  return true;
}

static void round_trip(void **state) {
  (void)state;
  struct store *s = must_open();
  struct store_verdict v = example(0);
  int seen = 0;
  assert_false(must_have(s, &v));
  assert_int_equal(must_put(s, &v), 1);
  assert_true(must_have(s, &v));
  store_close(s);
  s = must_open(); // and it is still there
  assert_true(must_have(s, &v));
  assert_int_equal(store_each(s, NULL, check_example, &seen, NULL), ASSAY_OK);
  assert_int_equal(seen, 1);
  // Each field of the key alone distinguishes two pieces of work.
  struct store_verdict other;
#define DIFFERS(field) other = v, other.field = "x", assert_false(must_have(s, &other))
  DIFFERS(run), DIFFERS(task), DIFFERS(form), DIFFERS(workload), DIFFERS(device), DIFFERS(candidate_hash);
  DIFFERS(settings_hash);
  other = v, other.candidate = "x", assert_true(must_have(s, &other));
  // A judge that failed has not finished.
  v = example(1);
  v.reason = ASSAY_REASON_JUDGE_FAILED;
  v.n_samples = 0;
  v.samples_ns = NULL;
  v.detail = NULL; // as good as ""
  assert_int_equal(must_put(s, &v), 2);
  assert_false(must_have(s, &v));
  int64_t id;
  v.n_samples = 3; // and no array
  assert_int_equal(store_put(s, &v, &id, NULL), ASSAY_ERR_INVALID);
  store_close(s);
}

// A child that claims, says so through the pipe and lives until it is killed.
static pid_t claiming_child(const struct store_verdict *key) {
  int fds[2];
  char byte = 0;
  assert_int_equal(pipe(fds), 0);
  pid_t pid = fork();
  if (pid == 0) {
    struct store *s = NULL;
    bool claimed = false;
    if (store_open(path, &s, NULL) == ASSAY_OK)
      store_claim(s, key, &claimed, NULL);
    byte = claimed ? 'y' : 'n';
    if (write(fds[1], &byte, 1) == 1)
      pause();
    _exit(0);
  }
  assert_int_equal(read(fds[0], &byte, 1), 1);
  close(fds[0]);
  close(fds[1]);
  assert_int_equal(byte, 'y');
  return pid;
}

// ---- what stands, and what is judged again

struct standing {
  int n;
  int64_t ids[8];
};

static bool note_id(void *arg, const struct store_verdict *v) {
  struct standing *found = arg;
  found->ids[found->n++] = v->id;
  return found->n < 8;
}

static void newest_stands(void **state) {
  (void)state;
  struct store *s = must_open();
  struct store_verdict v = example(1);
  struct standing found = {0};
  v.run = "run";
  must_put(s, &v); // 1: superseded by 3, though neither hash is the same
  v.candidate = "another.c";
  must_put(s, &v); // 2
  v = example(1);
  v.run = "run";
  v.candidate_hash = "changed";
  v.settings_hash = "changed too";
  v.workload = "other";
  must_put(s, &v); // 3
  v.reason = ASSAY_REASON_JUDGE_FAILED;
  must_put(s, &v); // 4: says nothing
  v.run = "other run";
  v.reason = ASSAY_REASON_PASS;
  must_put(s, &v); // 5
  assert_int_equal(store_each_standing(s, "run", NULL, note_id, &found, NULL), ASSAY_OK);
  assert_int_equal(found.n, 2);
  assert_true(found.ids[0] == 2 && found.ids[1] == 3);
  found.n = 0;
  assert_int_equal(store_each_standing(s, "run", "other", note_id, &found, NULL), ASSAY_OK);
  assert_true(found.n == 1 && found.ids[0] == 3);
  found.n = 0;
  assert_int_equal(store_each_standing(s, "run", example(1).workload, note_id, &found, NULL), ASSAY_OK);
  assert_true(found.n == 2 && found.ids[0] == 1 && found.ids[1] == 2);
  store_close(s);
}

static void judged_again(void **state) {
  (void)state;
  struct store *s = must_open();
  struct store_verdict wrong = example(1), untimed = example(2), timed = example(3);
  wrong.reason = ASSAY_REASON_WRONG_VALUE;
  untimed.reason = timed.reason = ASSAY_REASON_PASS;
  untimed.time_ns = NAN;
  must_put(s, &wrong);
  must_put(s, &untimed);
  must_put(s, &timed);
  assert_int_equal(store_judge_again(s, "wrong_value", NULL), ASSAY_OK);
  assert_false(must_have(s, &wrong));
  assert_true(must_have(s, &untimed) && must_have(s, &timed));
  assert_int_equal(store_judge_again(s, STORE_UNTIMED, NULL), ASSAY_OK);
  assert_true(must_have(s, &wrong) && must_have(s, &timed));
  assert_false(must_have(s, &untimed));
  assert_int_equal(store_judge_again(s, NULL, NULL), ASSAY_OK);
  assert_true(must_claim(s, &wrong) && must_claim(s, &timed));
  must_put(s, &wrong); // what is judged now is not judged once more
  assert_true(must_have(s, &wrong));
  assert_false(must_claim(s, &wrong) || must_have(s, &timed));
  store_close(s);
}

// ---- runs

static bool note_run(void *arg, const struct store_run *r) {
  char *text = arg;
  size_t n = strlen(text);
  snprintf(text + n, 512 - n, "%s %lld %lld %lld %lld %s %s %lld %lld;", r->name, (long long)r->n_verdicts,
           (long long)r->n_standing, (long long)r->n_passed, (long long)r->n_tasks, r->workloads, r->devices,
           (long long)r->first_ns, (long long)r->last_ns);
  return true;
}

static void expect_runs(struct store *s, const char *wanted) {
  char text[512] = "";
  assert_int_equal(store_each_run(s, note_run, text, NULL), ASSAY_OK);
  assert_string_equal(text, wanted);
}

static void put_of(struct store *s, const char *run, const char *candidate, enum assay_reason reason, int64_t at_ns) {
  struct store_verdict v = example(1);
  v.run = run;
  v.candidate = candidate;
  v.reason = reason;
  v.at_ns = at_ns;
  v.task = "kernelbench/1/1";
  v.workload = "small";
  v.device = "cpu";
  must_put(s, &v);
}

static void runs(void **state) {
  (void)state;
  struct store *s = must_open();
  struct assay_error err = {0};
  int64_t n = 0;
  put_of(s, "", "single.c", ASSAY_REASON_PASS, 1);
  put_of(s, "one", "a.c", ASSAY_REASON_CRASHED, 2);
  put_of(s, "two", "a.c", ASSAY_REASON_PASS, 3);
  put_of(s, "one", "a.c", ASSAY_REASON_PASS, 4);
  put_of(s, "one", "b.c", ASSAY_REASON_TIMEOUT, 5);
  expect_runs(s, "one 3 2 1 1 small cpu 2 5;two 1 1 1 1 small cpu 3 3;");
  assert_int_equal(store_move_run(s, "one", "two", false, &n, &err), ASSAY_ERR_INVALID);
  assert_non_null(strstr(err.message, "merge"));
  assert_int_equal(store_move_run(s, "none", "three", false, &n, &err), ASSAY_ERR_NOT_FOUND);
  assert_int_equal(store_move_run(s, "", "three", false, &n, &err), ASSAY_ERR_NOT_FOUND);
  assert_int_equal(store_move_run(s, "one", "", false, &n, &err), ASSAY_ERR_INVALID);
  assert_int_equal(store_move_run(s, "one", "one", true, &n, &err), ASSAY_ERR_INVALID);
  assert_int_equal(store_move_run(s, "one", "new name", false, &n, &err), ASSAY_OK);
  assert_int_equal(n, 3);
  // While a process judges a run, nobody else changes it; what a process left behind that is gone binds nobody.
  struct store_verdict claimed = example(2);
  claimed.run = "two";
  pid_t pid = claiming_child(&claimed);
  assert_int_equal(store_delete_run(s, "two", &n, &err), ASSAY_ERR_BUSY);
  assert_int_equal(store_move_run(s, "two", "three", false, &n, &err), ASSAY_ERR_BUSY);
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
  assert_int_equal(store_move_run(s, "two", "new name", true, &n, &err), ASSAY_OK);
  assert_int_equal(n, 1);
  expect_runs(s, "new name 4 2 1 1 small cpu 2 5;");
  // The steps of a run that makes kernels go with it.
  const struct store_step step = {.outcome = STORE_JUDGED,
                                  .run = "made",
                                  .task = "kernelbench/1/1",
                                  .kind = "first",
                                  .model = "",
                                  .finish = "",
                                  .detail = "",
                                  .code_hash = "",
                                  .feedback = ""};
  assert_int_equal(store_put_step(s, &step, &err), ASSAY_OK);
  assert_int_equal(store_set_making(s, "made", "{}", &err), ASSAY_OK);
  assert_int_equal(store_put_lesson(s, "made", "kernelbench/1/1", 3, "1 2", &err), ASSAY_OK);
  assert_int_equal(store_move_run(s, "made", "new name", true, &n, &err), ASSAY_ERR_INVALID);
  assert_non_null(strstr(err.message, "assay make"));
  assert_int_equal(store_move_run(s, "made", "kept", false, &n, &err), ASSAY_OK);
  char *settings = NULL;
  struct store_cost cost;
  assert_int_equal(store_get_making(s, "kept", &settings, &err), ASSAY_OK);
  assert_string_equal(settings, "{}");
  base_free(settings);
  assert_int_equal(store_get_lesson(s, "made", "kernelbench/1/1", 3, &settings, &err), ASSAY_OK);
  assert_null(settings);
  assert_int_equal(store_get_lesson(s, "kept", "kernelbench/1/1", 4, &settings, &err), ASSAY_OK);
  assert_null(settings);
  assert_int_equal(store_get_lesson(s, "kept", "kernelbench/1/1", 3, &settings, &err), ASSAY_OK);
  assert_string_equal(settings, "1 2");
  base_free(settings);
  assert_int_equal(store_delete_run(s, "kept", &n, &err), ASSAY_OK);
  assert_int_equal(store_get_lesson(s, "kept", "kernelbench/1/1", 3, &settings, &err), ASSAY_OK);
  assert_null(settings);
  assert_int_equal(store_get_making(s, "kept", &settings, &err), ASSAY_OK);
  assert_null(settings);
  assert_int_equal(store_sum_steps(s, "made", &cost, &err) + store_sum_steps(s, "kept", &cost, &err), ASSAY_OK);
  assert_int_equal(store_delete_run(s, "made", &n, &err), ASSAY_ERR_NOT_FOUND);
  assert_int_equal(store_delete_run(s, "new name", &n, &err), ASSAY_OK);
  assert_int_equal(n, 4);
  expect_runs(s, "");
  assert_int_equal(count(s, NULL), 1); // the single one
  assert_int_equal(store_delete_run(s, "new name", &n, &err), ASSAY_ERR_NOT_FOUND);
  store_close(s);
}

struct stopper {
  struct store *s;
  int n, stop_at;
};

static bool put_and_stop(void *arg, const struct store_verdict *v) {
  struct stopper *st = arg;
  struct store_verdict more = example(50 + st->n);
  (void)v;
  must_put(st->s, &more);
  return ++st->n != st->stop_at;
}

static void visits(void **state) {
  (void)state;
  struct store *s = must_open();
  for (int i = 0; i < 10; i++) {
    struct store_verdict v = example(i);
    v.run = i % 2 ? "odd" : "even";
    must_put(s, &v);
  }
  assert_int_equal(count(s, NULL), 10);
  assert_int_equal(count(s, "odd"), 5);
  assert_int_equal(count(s, "none"), 0);
  struct stopper st = {.s = s, .stop_at = 3};
  assert_int_equal(store_each(s, NULL, put_and_stop, &st, NULL), ASSAY_OK);
  assert_int_equal(st.n, 3);
  st = (struct stopper){.s = s, .stop_at = -1}; // rows that a visit adds are not visited: it ends
  assert_int_equal(store_each(s, NULL, put_and_stop, &st, NULL), ASSAY_OK);
  assert_int_equal(st.n, 13);
  assert_int_equal(count(s, NULL), 26);
  store_close(s);
}

static void machine_facts(void **state) {
  (void)state;
  struct store *s = must_open();
  char *value = NULL;
  struct assay_error err = {0};
  assert_int_equal(store_get_machine(s, "m", "floor", &value, &err), ASSAY_ERR_NOT_FOUND);
  assert_int_equal(store_set_machine(s, "m", "floor", "{\"a\":1}", &err), ASSAY_OK);
  assert_int_equal(store_set_machine(s, "n", "floor", "2", &err), ASSAY_OK);
  assert_int_equal(store_set_machine(s, "m", "floor", "3", &err), ASSAY_OK);
  assert_int_equal(store_get_machine(s, "m", "floor", &value, &err), ASSAY_OK);
  assert_string_equal(value, "3");
  base_free(value);
  store_close(s);
}

static void claims(void **state) {
  (void)state;
  struct store_verdict a = example(1), b = example(2);
  struct store *s = must_open();
  assert_true(must_claim(s, &a));
  assert_true(must_claim(s, &a)); // our own
  must_put(s, &a);
  assert_false(must_claim(s, &a)); // finished
  pid_t pid = claiming_child(&b);
  assert_false(must_claim(s, &b)); // a live process holds it
  kill(pid, SIGKILL);
  siginfo_t info;
  assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
  assert_true(must_claim(s, &b)); // a zombie does not
  waitpid(pid, NULL, 0);
  struct store_verdict c = example(3);
  pid = claiming_child(&c);
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
  assert_true(must_claim(s, &c)); // a process that is gone does not either
  // A recycled pid and another boot bind nobody.
  struct store_verdict d = example(4);
  assert_true(must_claim(s, &d));
  sqlite3 *db;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, "UPDATE claim SET pid = 1, start = start + 1", NULL, NULL, NULL), SQLITE_OK);
  assert_true(must_claim(s, &d));
  assert_int_equal(sqlite3_exec(db, "UPDATE claim SET boot = 'x', pid = 1", NULL, NULL, NULL), SQLITE_OK);
  assert_true(must_claim(s, &d));
  sqlite3_close(db);
  store_close(s);
}

static void expect_refusal(enum assay_status want, const char *text) {
  struct store *s = NULL;
  struct assay_error err = {0};
  enum assay_status status = store_open(path, &s, &err);
  if (status != want || !strstr(err.message, text))
    print_error("status %d, message \"%s\"; expected %d and \"%s\"\n", status, err.message, want, text);
  assert_int_equal(status, want);
  assert_non_null(strstr(err.message, text));
  assert_non_null(strstr(err.message, path)); // every message names the file
  assert_null(s);
}

static void write_bytes(const char *bytes, size_t n) {
  unlink(path);
  assert_int_equal(file_write(path, bytes, n, NULL), ASSAY_OK);
}

static void run_sql(const char *sql) {
  sqlite3 *db;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(db);
}

static void foreign_files(void **state) {
  (void)state;
  write_bytes("hello, I am a text file of some length, certainly no database", 61);
  expect_refusal(ASSAY_ERR_CORRUPT, "no store");
  unlink(path);
  run_sql("CREATE TABLE t(x)");
  expect_refusal(ASSAY_ERR_CORRUPT, "another program's database");
  char *before, *after;
  size_t n_before, n_after;
  assert_int_equal(file_read(path, 1 << 20, &before, &n_before, NULL), ASSAY_OK);
  expect_refusal(ASSAY_ERR_CORRUPT, "another program's database");
  assert_int_equal(file_read(path, 1 << 20, &after, &n_after, NULL), ASSAY_OK);
  assert_int_equal(n_before, n_after);
  assert_memory_equal(before, after, n_before); // left as it was
  base_free(before);
  base_free(after);
  unlink(path);
  store_close(must_open());
  run_sql("PRAGMA user_version = 99");
  expect_refusal(ASSAY_ERR_UNSUPPORTED, "newer Assay");
  unlink(path);
  store_close(must_open());
  run_sql("ALTER TABLE verdict ADD COLUMN extra TEXT");
  expect_refusal(ASSAY_ERR_CORRUPT, "a table of it is different");
  unlink(path);
  store_close(must_open());
  run_sql("DROP TABLE claim");
  expect_refusal(ASSAY_ERR_CORRUPT, "it lacks a table");
  unlink(path);
  assert_int_equal(mkdir(path, 0700), 0);
  expect_refusal(ASSAY_ERR_IO, "open");
  assert_int_equal(rmdir(path), 0);
  write_bytes("", 0); // an empty file becomes a store
  store_close(must_open());
  assert_int_equal(store_open("", NULL, NULL), ASSAY_ERR_USAGE);
}

static void reading_makes_none(void **state) {
  (void)state;
  struct store *s = NULL;
  struct assay_error err = {0};
  snprintf(path, sizeof path, "%s/a/b/store.db", folder);
  assert_int_equal(store_open_existing(path, &s, &err), ASSAY_ERR_NOT_FOUND);
  assert_non_null(strstr(err.message, path));
  snprintf(path, sizeof path, "%s/a", folder);
  assert_int_equal(access(path, F_OK), -1);
  write_bytes("a file", 6);
  snprintf(path, sizeof path, "%s/a/b", folder); // where a folder should be
  assert_int_equal(store_open_existing(path, &s, &err), ASSAY_ERR_NOT_FOUND);
  snprintf(path, sizeof path, "%s/store.db", folder);
  store_close(must_open());
  assert_int_equal(store_open_existing(path, &s, &err), ASSAY_OK);
  store_close(s);
}

// Where nothing can be written a store is read all the same, whatever its path has in it, and not changed.
static void read_where_nothing_is_written(void **state) {
  (void)state;
  snprintf(path, sizeof path, "%s/a%%41?b#.db", folder);
  struct store *s = must_open();
  struct store_verdict v = example(1);
  must_put(s, &v);
  store_close(s);
  assert_int_equal(chmod(folder, 0555), 0);
  assert_int_equal(chmod(path, 0444), 0);
  const bool root = geteuid() == 0; // to whom no folder is closed
  assert_int_equal(root ? seteuid(65534) : 0, 0);
  struct assay_error err = {0};
  enum assay_status status = store_open_existing(path, &s, &err);
  int n = 0;
  int64_t id;
  if (status == ASSAY_OK) {
    assert_int_equal(store_each(s, NULL, count_visit, &n, &err), ASSAY_OK);
    assert_int_not_equal(store_put(s, &v, &id, &err), ASSAY_OK);
    store_close(s);
  }
  struct store *other = NULL;
  enum assay_status to_write = store_open(path, &other, &err);
  store_close(other);
  assert_int_equal(root ? seteuid(0) : 0, 0);
  assert_int_equal(chmod(folder, 0755), 0);
  assert_int_equal(status, ASSAY_OK);
  assert_int_equal(n, 1);
  assert_int_not_equal(to_write, ASSAY_OK);
  snprintf(path, sizeof path, "%s/store.db", folder);
}

static void folders_are_made(void **state) {
  (void)state;
  snprintf(path, sizeof path, "%s/a/b/store.db", folder);
  store_close(must_open());
  snprintf(path, sizeof path, "%s/a/b/store.db/c/store.db", folder); // a file where a folder should be
  struct store *s = NULL;
  struct assay_error err = {0};
  assert_int_equal(store_open(path, &s, &err), ASSAY_ERR_IO);
}

// Damage of every kind: no crash, and never a silent half; a refusal names the way out.
static void damaged_files(void **state) {
  (void)state;
  struct store *s = must_open();
  for (int i = 0; i < 40; i++) {
    struct store_verdict v = example(i);
    must_put(s, &v);
  }
  store_close(s);
  char *good;
  size_t n;
  assert_int_equal(file_read(path, 16 << 20, &good, &n, NULL), ASSAY_OK);
  for (size_t cut = 100; cut < n; cut += n / 7) { // truncated
    write_bytes(good, cut);
    expect_refusal(ASSAY_ERR_CORRUPT, "");
  }
  int refused = 0;
  for (size_t at = 0; at < n; at += 509) { // some bytes turned
    char *bad = malloc(n);
    memcpy(bad, good, n);
    for (size_t k = at; k < at + 16 && k < n; k++)
      bad[k] ^= 0x5a;
    write_bytes(bad, n);
    free(bad);
    int seen = 0;
    struct assay_error err = {0};
    enum assay_status status = store_open(path, &s, &err);
    if (!status) {
      status = store_each(s, NULL, count_visit, &seen, &err);
      store_close(s);
    }
    refused += status != ASSAY_OK;
    if (status)
      assert_true(err.message[0] != '\0');
  }
  assert_true(refused > 10);
  write_bytes(good, n);
  s = must_open();
  assert_int_equal(count(s, NULL), 40);
  store_close(s);
  base_free(good);
}

static void writers_side_by_side(void **state) {
  (void)state;
  enum { WRITERS = 4, EACH = 60 };
  pid_t pids[WRITERS];
  for (int w = 0; w < WRITERS; w++) { // all make the file at the same time, too
    pids[w] = fork();
    if (pids[w] == 0) {
      struct store *s;
      struct assay_error err = {0};
      if (store_open(path, &s, &err) != ASSAY_OK)
        _exit(1);
      for (int i = 0; i < EACH; i++) {
        struct store_verdict v = example(w * EACH + i);
        int64_t id;
        if (store_put(s, &v, &id, &err) != ASSAY_OK)
          _exit(2);
      }
      store_close(s);
      _exit(0);
    }
  }
  for (int w = 0; w < WRITERS; w++) {
    int status;
    assert_int_equal(waitpid(pids[w], &status, 0), pids[w]);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
  }
  struct store *s = must_open();
  assert_int_equal(count(s, NULL), WRITERS * EACH);
  store_close(s);
}

struct shared {
  char candidate[64], evidence[256];
};

static bool keep_shared(void *arg, const struct store_verdict *v) {
  struct shared *k = arg;
  snprintf(k->candidate, sizeof k->candidate, "%s", v->candidate);
  snprintf(k->evidence, sizeof k->evidence, "%s", v->evidence);
  return false;
}

// A verdict that several files share has its evidence once, and everybody reads it whole; the least time is taken from
// the row that has it, so that what the evidence says of the time counts.
static void evidence_is_shared(void **state) {
  (void)state;
  struct store *s = must_open();
  struct store_verdict v = example(0);
  struct assay_error err = {0};
  struct shared got;
  int64_t id = 0, again = 0, third = 0;
  double least = 0;
  v.reason = ASSAY_REASON_PASS;
  v.suspicious = false;
  v.time_ns = 10;
  v.evidence = "{\"foreknown\": true}";
  int64_t first = must_put(s, &v);
  assert_int_equal(store_share(s, &v, "second.c", "hash 2", &id, &err), ASSAY_OK);
  assert_true(id > first);
  assert_int_equal(store_share(s, &v, "second.c", "hash 2", &again, &err), ASSAY_OK);
  assert_int_equal(again, id);
  struct store_verdict second = v;
  second.candidate = "second.c";
  assert_int_equal(store_share(s, &second, "third.c", "hash 3", &third, &err), ASSAY_OK);
  for (int64_t i = id; i <= third; i++) {
    assert_int_equal(store_get(s, i, keep_shared, &got, &err), ASSAY_OK);
    assert_string_equal(got.candidate, i == id ? "second.c" : "third.c");
    assert_string_equal(got.evidence, v.evidence);
  }
  assert_int_equal(store_least_time(s, &v, &least, &err), ASSAY_OK);
  assert_true(isnan(least));
  store_close(s);
  sqlite3 *db;
  sqlite3_stmt *st;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_prepare_v2(db, "SELECT sum(length(evidence)) FROM verdict WHERE id > ?", -1, &st, NULL),
                   SQLITE_OK);
  sqlite3_bind_int64(st, 1, first);
  assert_int_equal(sqlite3_step(st), SQLITE_ROW);
  assert_int_equal(sqlite3_column_int64(st, 0), 4); // "@1", twice
  sqlite3_finalize(st);
  sqlite3_close(db);
}

// In another run it is a verdict of its own, whole, and stays when the first run goes.
static void a_copy_outlives_its_run(void **state) {
  (void)state;
  struct store *s = must_open();
  struct store_verdict v = example(0);
  struct assay_error err = {0};
  struct shared got;
  int64_t shared = 0, id = 0, found = 0, n = 0;
  v.reason = ASSAY_REASON_PASS;
  v.evidence = "{\"foreknown\": false}";
  must_put(s, &v);
  assert_int_equal(store_share(s, &v, "second.c", "hash 2", &shared, &err), ASSAY_OK);
  assert_int_equal(store_copy(s, shared, "another run", "second.c (TILE=4)", &id, &err), ASSAY_OK);
  assert_int_equal(store_delete_run(s, v.run, &n, &err), ASSAY_OK);
  assert_int_equal(n, 2);
  struct store_verdict key = v;
  key.run = "another run";
  key.candidate_hash = "hash 2";
  assert_int_equal(store_find(s, &key, &found, &err), ASSAY_OK);
  assert_true(found > 0 && found == id);
  assert_int_equal(store_get(s, id, keep_shared, &got, &err), ASSAY_OK);
  assert_string_equal(got.candidate, "second.c (TILE=4)");
  assert_string_equal(got.evidence, v.evidence);
  store_close(s);
}

static void lock_held_too_long(void **state) {
  (void)state;
  sqlite3 *db;
  impatient = true;
  struct store *s = must_open();
  impatient = false;
  struct store_verdict v = example(0);
  int64_t id;
  struct assay_error err = {0};
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
  assert_int_equal(store_put(s, &v, &id, &err), ASSAY_ERR_BUSY);
  assert_non_null(strstr(err.message, "fuser"));
  assert_false(must_have(s, &v)); // reading goes on
  assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
  must_put(s, &v);
  sqlite3_close(db);
  store_close(s);
}

// The disk fills up: a limit on file sizes, with its signal ignored, fails writes in the same place.
static void disk_full(void **state) {
  (void)state;
  struct rlimit old, tight;
  struct store *s = must_open();
  struct assay_error err = {0};
  enum assay_status status = ASSAY_OK;
  int stored = 0;
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
  tight = old;
  tight.rlim_cur = 256 << 10;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
  for (int i = 0; i < 2000 && !status; i++) {
    struct store_verdict v = example(i);
    int64_t id;
    status = store_put(s, &v, &id, &err);
    stored += !status;
  }
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
  signal(SIGXFSZ, handler);
  assert_int_equal(status, ASSAY_ERR_IO);
  assert_non_null(strstr(err.message, "what was stored before is safe"));
  assert_true(stored > 0);
  assert_int_equal(count(s, NULL), stored);
  struct store_verdict v = example(stored + 1);
  must_put(s, &v); // room again
  store_close(s);
  s = must_open();
  assert_int_equal(count(s, NULL), stored + 1);
  store_close(s);
}

static enum assay_status whole_life(int *stored) {
  struct store *s = NULL;
  struct store_verdict v = example(0);
  char *value = NULL;
  bool claimed = false;
  int64_t id = 0;
  int seen = 0;
  enum assay_status status = store_open(path, &s, NULL);
  if (!status)
    status = store_claim(s, &v, &claimed, NULL);
  if (!status)
    status = store_put(s, &v, &id, NULL);
  *stored += id != 0;
  if (!status)
    status = store_each(s, "run", count_visit, &seen, NULL);
  if (!status)
    status = store_set_machine(s, "m", "k", "v", NULL);
  if (!status)
    status = store_get_machine(s, "m", "k", &value, NULL);
  base_free(value);
  store_close(s);
  return status;
}

static void every_allocation_fails_once(void **state) {
  (void)state;
  int stored = 0, failures = 0;
  for (int64_t n = 0; n < 100000; n++) {
    allocations_left = n;
    enum assay_status status = whole_life(&stored);
    bool exhausted = allocations_left == 0;
    allocations_left = -1;
    if (!exhausted) {
      assert_int_equal(status, ASSAY_OK);
      break;
    }
    // SQLite does without some allocations (a cache's, say), hence OK too.
    if (status != ASSAY_OK) {
      assert_int_equal(status, ASSAY_ERR_NOMEM);
      failures++;
    }
  }
  assert_true(failures > 100);
  struct store *s = must_open();
  assert_int_equal(count(s, NULL), stored); // each put that said so, and no half one
  store_close(s);
}

static void must_exec(sqlite3 *db, const char *sql) {
  if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
    fail_msg("%s: %s", sql, sqlite3_errmsg(db));
}

// A store as an earlier version made it: the same, without the reasons that came later.
static void make_version(int version) {
  static const struct {
    int since;
    const char *term;
  } later[] = {{2, " OR reason = 'unrecordable'"},
               {2, " OR reason = 'invalid_plan'"},
               {2, " OR reason = 'launch_failed'"},
               {3, " OR reason = 'raised'"}};
  sqlite3 *db;
  sqlite3_stmt *st;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_prepare_v2(db, "SELECT sql FROM sqlite_schema WHERE name = 'verdict'", -1, &st, NULL),
                   SQLITE_OK);
  assert_int_equal(sqlite3_step(st), SQLITE_ROW);
  char *sql = sqlite3_mprintf("%s", sqlite3_column_text(st, 0));
  sqlite3_finalize(st);
  for (size_t i = 0; i < sizeof later / sizeof *later; i++) {
    char *at = strstr(sql, later[i].term);
    size_t n = strlen(later[i].term);
    assert_non_null(at);
    if (later[i].since > version)
      memmove(at, at + n, strlen(at + n) + 1);
  }
  must_exec(db, "DROP INDEX verdict_key; DROP INDEX verdict_run; ALTER TABLE verdict RENAME TO newer");
  must_exec(db, sql);
  must_exec(db,
            "INSERT INTO verdict SELECT * FROM newer; DROP TABLE newer;"
            "CREATE INDEX verdict_key ON verdict (run, task, form, workload, device, candidate_hash, settings_hash, "
            "reason); CREATE INDEX verdict_run ON verdict (run)");
  if (version < 7)
    must_exec(db, "DROP TABLE lesson");
  if (version < 6)
    must_exec(db, "DROP TABLE trial");
  if (version < 5)
    must_exec(db, "DROP TABLE making; DROP TABLE step");
  char *pragma = sqlite3_mprintf("PRAGMA user_version = %d", version);
  must_exec(db, pragma);
  sqlite3_free(pragma);
  sqlite3_free(sql);
  sqlite3_close(db);
}

static void earlier_version_is_taken_over(int version) {
  struct store *s = must_open();
  struct assay_error err = {0};
  struct store_verdict v = example(1);
  int64_t id;
  assert_int_equal(store_put(s, &v, &id, &err), ASSAY_OK);
  store_close(s);
  make_version(version);
  s = must_open();
  assert_int_equal(count(s, NULL), 1);
  v.reason = ASSAY_REASON_RAISED;
  assert_int_equal(store_put(s, &v, &id, &err), ASSAY_OK);
  store_close(s);
  s = must_open(); // and it is an ordinary store of this version
  assert_int_equal(count(s, NULL), 2);
  store_close(s);
}

static void version_1_is_taken_over(void **state) {
  (void)state;
  earlier_version_is_taken_over(1);
}

static void version_2_is_taken_over(void **state) {
  (void)state;
  earlier_version_is_taken_over(2);
}

static bool see_toolchain(void *arg, const struct store_verdict *v) {
  snprintf((char *)arg + strlen(arg), 100 - strlen(arg), "%s ", v->toolchain);
  return true;
}

// Version 3 stored the device's name as the toolchain. Each row gets what its evidence says, and is the same work as
// before: nothing is judged a second time.
static void version_3_is_taken_over(void **state) {
  (void)state;
  static const char *const evidence[] = {"{\"toolchain\": \"nvcc\"}", "{\"toolchain\": \"\"}", "{}", "not JSON"};
  struct assay_error err = {0};
  char seen[100] = "";
  bool found = false, claimed = true;
  int64_t id;
  struct store *s = must_open();
  struct store_verdict v = example(1);
  v.device = v.toolchain = "cuda";
  for (size_t i = 0; i < sizeof evidence / sizeof *evidence; i++) {
    v.evidence = evidence[i];
    assert_int_equal(store_put(s, &v, &id, &err), ASSAY_OK);
  }
  store_close(s);
  make_version(3);
  s = must_open();
  assert_int_equal(store_each(s, NULL, see_toolchain, seen, &err), ASSAY_OK);
  assert_string_equal(seen, "nvcc cuda cuda cuda ");
  v.toolchain = "";
  assert_int_equal(store_has(s, &v, &found, &err), ASSAY_OK);
  assert_true(found);
  assert_int_equal(store_claim(s, &v, &claimed, &err), ASSAY_OK);
  assert_false(claimed);
  store_close(s);
  s = must_open();
  assert_int_equal(count(s, NULL), 4);
  store_close(s);
}

// Version 4 knew no steps.
static void version_4_is_taken_over(void **state) {
  (void)state;
  earlier_version_is_taken_over(4);
}

// Version 6 knew no lessons; its verdicts' table stays.
static void version_6_is_taken_over(void **state) {
  (void)state;
  earlier_version_is_taken_over(6);
}

// --- steps

static struct store_step example_step(int64_t number) {
  return (struct store_step){.outcome = STORE_REPLIED,
                             .run = "run",
                             .task = "kernelbench/1/19",
                             .kind = "first",
                             .model = "m",
                             .finish = "stop",
                             .detail = "",
                             .code_hash = "",
                             .feedback = "",
                             .prompt = {"p\0q", 3},
                             .reply = {"\xff", 1},
                             .number = number,
                             .parent = -1,
                             .same_as = -1,
                             .calls = 2,
                             .input_tokens = 100,
                             .cached_tokens = -1,
                             .output_tokens = 10,
                             .reasoning_tokens = -1,
                             .model_ns = 5,
                             .usd = 0.5};
}

static bool see_step(void *arg, const struct store_step *s) {
  snprintf((char *)arg + strlen(arg), 200 - strlen(arg), "%s/%lld/%s/%zu/%zu/%lld/%g ", s->task, (long long)s->number,
           store_outcome_name(s->outcome), s->prompt.len, s->code.len, (long long)s->cached_tokens, s->usd);
  return true;
}

static bool see_number(void *arg, const struct store_step *s) {
  char number[32] = "aside";
  if (s->number >= STORE_ASIDE_NUMBER)
    snprintf(number, sizeof number, "%lld", (long long)s->number);
  snprintf((char *)arg + strlen(arg), 200 - strlen(arg), "%s ", number);
  return true;
}

static void steps_come_back(void **state) {
  (void)state;
  int64_t n_deleted = 0;
  struct assay_error err = {0};
  struct store *s = must_open();
  struct store_step step = example_step(1);
  char seen[200] = "", *settings = NULL;
  assert_int_equal(store_put_step(s, &step, &err), ASSAY_OK);
  step = example_step(0);
  step.usd = NAN;
  assert_int_equal(store_put_step(s, &step, &err), ASSAY_OK);
  step = example_step(1); // takes the place of the first
  step.outcome = STORE_JUDGED;
  step.code = (struct store_bytes){"code", 4};
  assert_int_equal(store_put_step(s, &step, &err), ASSAY_OK);
  step.task = "other";
  assert_int_equal(store_put_step(s, &step, &err), ASSAY_OK);
  step.run = "another run";
  assert_int_equal(store_put_step(s, &step, &err), ASSAY_OK);
  assert_int_equal(store_each_step(s, "run", NULL, see_step, seen, &err), ASSAY_OK);
  assert_string_equal(seen, "kernelbench/1/19/0/replied/3/0/-1/nan kernelbench/1/19/1/judged/3/4/-1/0.5 "
                            "other/1/judged/3/4/-1/0.5 ");
  struct store_cost cost;
  assert_int_equal(store_sum_steps(s, "run", &cost, &err), ASSAY_OK);
  assert_int_equal(cost.calls, 6);
  assert_int_equal(cost.tokens, 330);
  assert_int_equal(cost.without_price, 2);
  assert_true(cost.usd == 1.0);
  // What is made again leaves its cost: a request that failed, one that nobody knows the end of. Not one that was never
  // sent, nor one with a reply.
  step = example_step(7);
  step.outcome = STORE_NO_REPLY;
  step.finish = STORE_UNDER_WAY;
  step.usd = NAN;
  assert_int_equal(store_put_step(s, &step, &err), ASSAY_OK);
  step.number = 8;
  step.finish = STORE_UNSERVED;
  step.calls = 0;
  step.usd = 0;
  assert_int_equal(store_put_step(s, &step, &err), ASSAY_OK);
  for (int64_t number = 0; number < 9; number++)
    assert_int_equal(store_put_aside(s, "run", "kernelbench/1/19", number, &err), ASSAY_OK);
  assert_int_equal(store_drop_step(s, "run", "kernelbench/1/19", 8, &err), ASSAY_OK);
  assert_int_equal(store_sum_steps(s, "run", &cost, &err), ASSAY_OK);
  assert_int_equal(cost.calls, 8);
  assert_int_equal(cost.without_price, 2);
  assert_int_equal(cost.lost_calls, 2);
  assert_int_equal(cost.lost_tokens, 110);
  seen[0] = '\0';
  assert_int_equal(store_each_step(s, "run", "kernelbench/1/19", see_number, seen, &err), ASSAY_OK);
  assert_string_equal(seen, "aside 0 1 ");
  seen[0] = '\0';
  assert_int_equal(store_get_step(s, "run", "kernelbench/1/19", 1, see_number, seen, &err), ASSAY_OK);
  assert_int_equal(store_get_step(s, "run", "kernelbench/1/19", 5, see_number, seen, &err), ASSAY_OK);
  assert_string_equal(seen, "1 "); // there is no fifth
  assert_int_equal(store_delete_run(s, "run", &n_deleted, &err), ASSAY_OK);
  step = example_step(1);
  step.outcome = STORE_JUDGED;
  step.code = (struct store_bytes){"code", 4};
  assert_int_equal(store_put_step(s, &step, &err), ASSAY_OK);
  step = example_step(0);
  step.usd = NAN;
  assert_int_equal(store_put_step(s, &step, &err), ASSAY_OK);
  seen[0] = '\0';
  assert_int_equal(store_each_step(s, "run", "kernelbench/1/19", see_step, seen, &err), ASSAY_OK);
  assert_string_equal(seen, "kernelbench/1/19/0/replied/3/0/-1/nan kernelbench/1/19/1/judged/3/4/-1/0.5 ");
  assert_int_equal(store_get_making(s, "run", &settings, &err), ASSAY_OK);
  assert_null(settings);
  assert_int_equal(store_set_making(s, "run", "{}", &err), ASSAY_OK);
  assert_int_equal(store_get_making(s, "run", &settings, &err), ASSAY_OK);
  assert_string_equal(settings, "{}");
  base_free(settings);
  store_close(s);
}

static struct store_trial example_trial(int64_t number, double time_ns) {
  return (struct store_trial){.status = STORE_TRIAL_OK,
                              .run = "run",
                              .task = "kernelbench/1/1",
                              .workload = "small",
                              .device = "cpu",
                              .maker = "tune",
                              .candidate = "k.c",
                              .configuration = "A=1",
                              .detail = "",
                              .number = number,
                              .start_ns = 7,
                              .at_ns = 1,
                              .time_ns = time_ns,
                              .tuner_ns = NAN};
}

static bool see_trial(void *arg, const struct store_trial *t) {
  char *seen = arg;
  snprintf(seen + strlen(seen), 200 - strlen(seen), "%s/%s/%lld/%s/%g/%d ", t->run, t->maker, (long long)t->number,
           store_trial_status_name(t->status), t->time_ns, isnan(t->tuner_ns));
  return true;
}

static void trials_come_back(void **state) {
  (void)state;
  struct assay_error err = {0};
  struct store *s = must_open();
  struct store_trial t = example_trial(1, 50);
  enum store_trial_status status;
  char seen[200] = "";
  int64_t n;
  assert_int_equal(store_put_trial(s, &t, &err), ASSAY_OK);
  t = example_trial(0, 60);
  assert_int_equal(store_put_trial(s, &t, &err), ASSAY_OK);
  t = example_trial(1, NAN); // takes the place of the first
  t.status = STORE_TRIAL_WRONG;
  assert_int_equal(store_put_trial(s, &t, &err), ASSAY_OK);
  t.run = "another";
  t.maker = "helion";
  assert_int_equal(store_put_trial(s, &t, &err), ASSAY_OK);
  assert_int_equal(store_each_trial(s, "run", see_trial, seen, &err), ASSAY_OK);
  assert_string_equal(seen, "run/tune/0/ok/60/1 run/tune/1/wrong/nan/1 ");
  t = example_trial(0, 40); // tried again, after all others
  t.start_ns = 20;
  assert_int_equal(store_put_trial(s, &t, &err), ASSAY_OK);
  seen[0] = '\0';
  assert_int_equal(store_each_trial(s, "run", see_trial, seen, &err), ASSAY_OK);
  assert_string_equal(seen, "run/tune/1/wrong/nan/1 run/tune/0/ok/40/1 ");
  seen[0] = '\0';
  assert_int_equal(store_delete_run(s, "run", &n, &err), ASSAY_OK); // it has no verdicts, and is there all the same
  assert_int_equal(store_each_trial(s, NULL, see_trial, seen, &err), ASSAY_OK);
  assert_string_equal(seen, "another/helion/1/wrong/nan/1 ");
  assert_true(store_trial_status_by_name("compile_error", &status) && status == STORE_TRIAL_COMPILE_ERROR);
  assert_false(store_trial_status_by_name("fine", &status));
  store_close(s);
}

static void trials_are_stored_together(void **state) {
  (void)state;
  struct assay_error err = {0};
  struct store *s = must_open();
  char seen[200] = "";
  static const enum assay_status ends[] = {ASSAY_OK, ASSAY_ERR_LIMIT};
  for (int i = 0; i < 2; i++) {
    struct store_trial t = example_trial(i, 50);
    assert_int_equal(store_begin_trials(s, &err), ASSAY_OK);
    assert_int_equal(store_put_trial(s, &t, &err), ASSAY_OK);
    assert_int_equal(store_end_trials(s, ends[i], &err), ends[i]);
  }
  assert_int_equal(store_each_trial(s, "run", see_trial, seen, &err), ASSAY_OK);
  assert_string_equal(seen, "run/tune/0/ok/50/1 "); // of the second, which failed, there is none
  store_close(s);
}

static void verdicts_are_found(void **state) {
  (void)state;
  struct assay_error err = {0};
  struct store *s = must_open();
  struct store_verdict v = example(1);
  char seen[100] = "";
  int64_t id = 0, found = -1;
  v.toolchain = "cc";
  assert_int_equal(store_find(s, &v, &found, &err), ASSAY_OK);
  assert_int_equal(found, 0);
  assert_int_equal(store_put(s, &v, &id, &err), ASSAY_OK);
  v.reason = ASSAY_REASON_JUDGE_FAILED;
  int64_t failed = 0;
  assert_int_equal(store_put(s, &v, &failed, &err), ASSAY_OK);
  assert_int_equal(store_find(s, &v, &found, &err), ASSAY_OK);
  assert_int_equal(found, id);
  assert_int_equal(store_get(s, id, see_toolchain, seen, &err), ASSAY_OK);
  assert_string_equal(seen, "cc ");
  assert_int_equal(store_get(s, id + 100, see_toolchain, seen, &err), ASSAY_ERR_NOT_FOUND);
  store_close(s);
}

// The tables are the file's format: when this fails, a new schema version and a migration are due.
static void schema_is_pinned(void **state) {
  (void)state;
  store_close(must_open());
  sqlite3 *db;
  sqlite3_stmt *st;
  char hex[HASH_HEX_BYTES];
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_prepare_v2(db,
                                      "SELECT group_concat(sql, ';') FROM (SELECT sql FROM sqlite_schema WHERE sql "
                                      "IS NOT NULL ORDER BY name)",
                                      -1, &st, NULL),
                   SQLITE_OK);
  assert_int_equal(sqlite3_step(st), SQLITE_ROW);
  const char *sql = (const char *)sqlite3_column_text(st, 0);
  hash_sha256_hex(sql, strlen(sql), hex);
  assert_int_equal(STORE_SCHEMA_VERSION, 7);
  assert_string_equal(hex, "d6496d016695507da18df4ccb4df3990db3b0f41ac627a46b521544013d89977");
  sqlite3_finalize(st);
  sqlite3_close(db);
}

int main(void) {
  make_memory_meagre();
  sqlite3_initialize(); // its own few allocations are not on trial
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)
  const struct CMUnitTest tests[] = {
      TEST(round_trip),
      TEST(visits),
      TEST(newest_stands),
      TEST(runs),
      TEST(judged_again),
      TEST(machine_facts),
      TEST(claims),
      TEST(foreign_files),
      TEST(reading_makes_none),
      TEST(read_where_nothing_is_written),
      TEST(folders_are_made),
      TEST(damaged_files),
      TEST(writers_side_by_side),
      TEST(evidence_is_shared),
      TEST(a_copy_outlives_its_run),
      TEST(lock_held_too_long),
      TEST(disk_full),
      TEST(every_allocation_fails_once),
      TEST(version_1_is_taken_over),
      TEST(version_2_is_taken_over),
      TEST(version_3_is_taken_over),
      TEST(version_4_is_taken_over),
      TEST(version_6_is_taken_over),
      TEST(steps_come_back),
      TEST(trials_come_back),
      TEST(trials_are_stored_together),
      TEST(verdicts_are_found),
      TEST(schema_is_pinned),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
