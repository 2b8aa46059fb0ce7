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
#include "store/store.h"

// ---- allocations that fail: Assay's own through --wrap, SQLite's through its configuration

static int64_t allocations_left = -1; // -1: no limit
static sqlite3_mem_methods real_memory;

static bool may_allocate(void) {
  if (allocations_left == 0)
    return false;
  if (allocations_left > 0)
    allocations_left--;
  return true;
}

void *__real_base_realloc(void *p, size_t n);
void *__wrap_base_realloc(void *p, size_t n);
void *__wrap_base_realloc(void *p, size_t n) {
  return may_allocate() ? __real_base_realloc(p, n) : NULL;
}

static void *meagre_malloc(int n) {
  return may_allocate() ? real_memory.xMalloc(n) : NULL;
}

static void *meagre_realloc(void *p, int n) {
  return may_allocate() ? real_memory.xRealloc(p, n) : NULL;
}

// Waiting for a lock that nobody will give back should not take the product's seconds here.
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
  // Every field of the key tells works apart.
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
  assert_true(must_claim(s, &c)); // nor does a process that is gone
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
  must_exec(db, version == 1 ? "PRAGMA user_version = 1" : "PRAGMA user_version = 2");
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
  assert_int_equal(STORE_SCHEMA_VERSION, 3);
  assert_string_equal(hex, "a205c25a4e04da597318430d38f84a854d48e65529f617a04029e44e7feb822d");
  sqlite3_finalize(st);
  sqlite3_close(db);
}

int main(void) {
  sqlite3_mem_methods meagre;
  sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_memory);
  meagre = real_memory;
  meagre.xMalloc = meagre_malloc;
  meagre.xRealloc = meagre_realloc;
  sqlite3_config(SQLITE_CONFIG_MALLOC, &meagre);
  sqlite3_initialize(); // its own few allocations are not on trial
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)
  const struct CMUnitTest tests[] = {
      TEST(round_trip),
      TEST(visits),
      TEST(machine_facts),
      TEST(claims),
      TEST(foreign_files),
      TEST(folders_are_made),
      TEST(damaged_files),
      TEST(writers_side_by_side),
      TEST(lock_held_too_long),
      TEST(disk_full),
      TEST(every_allocation_fails_once),
      TEST(version_1_is_taken_over),
      TEST(version_2_is_taken_over),
      TEST(schema_is_pinned),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
