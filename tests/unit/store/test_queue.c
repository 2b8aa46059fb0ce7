// SPDX-License-Identifier: Apache-2.0
// link: -Wl,--wrap=base_realloc
// The queue: one job for one identity, one verdict for one job, whatever happens to workers, memory and submitters.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "store/queue.h"
#include "meagre_memory.h"

// ---- a queue a test

static char folder[64], path[128];
static struct store *store;

static int open_queue(void **state) {
  (void)state;
  struct assay_error err = {0};
  snprintf(folder, sizeof folder, "/tmp/test_queue.XXXXXX");
  if (!mkdtemp(folder))
    return -1;
  snprintf(path, sizeof path, "%s/store.db", folder);
  return store_open(path, &store, &err) || queue_prepare(store, &err) ? -1 : 0;
}

static int remove_queue(void **state) {
  (void)state;
  char command[128];
  store_close(store);
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command);
}

static const char *identity(int number) {
  static char text[16][QUEUE_IDENTITY];
  snprintf(text[number], sizeof text[0], "%064d", number);
  return text[number];
}

static struct queue_request request(int number, bool timed) {
  return (struct queue_request){.identity = identity(number),
                                .device = "cpu",
                                .task = "kernelbench/1/19",
                                .workload = "small",
                                .name = "relu.c",
                                .settings = "{}",
                                .candidate_hash = "ch",
                                .source = {"a\0b", 3},
                                .timed = timed};
}

static struct queue_job must_submit(int number, bool timed, const char *who) {
  struct queue_request r = request(number, timed);
  struct queue_job job;
  struct assay_error err = {0};
  if (queue_submit(store, who, &r, 1, 100, &job, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  return job;
}

static struct queue_job must_get(int number) {
  struct queue_job job;
  struct assay_error err = {0};
  if (queue_get(store, identity(number), &job, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  return job;
}

// The id of the job that a unit gets, 0: none.
static int64_t claim(const char *unit, struct queue_job *out) {
  struct queue_work w;
  bool found = false;
  struct assay_error err = {0};
  if (queue_claim(store, &(struct queue_claimant){.device = "cpu", .unit = unit, .owner = 77}, &w, &found, &err) !=
      ASSAY_OK)
    fail_msg("%s", err.message);
  if (!found)
    return 0;
  assert_int_equal(w.source_bytes, 3);
  assert_memory_equal(w.source, "a\0b", 3);
  assert_string_equal(w.settings, "{}");
  *out = w.job;
  queue_work_release(&w);
  return out->id;
}

static struct store_verdict verdict(void) {
  static const double samples[] = {1, 2, 3};
  return (struct store_verdict){.run = "serve",
                                .task = "kernelbench/1/19",
                                .task_hash = "th",
                                .form = "default",
                                .workload = "small",
                                .device = "cpu",
                                .candidate = "relu.c",
                                .candidate_hash = "ch",
                                .toolchain = "cc",
                                .settings_hash = "sh",
                                .reason = ASSAY_REASON_PASS,
                                .detail = "",
                                .error_z = NAN,
                                .error_limit = NAN,
                                .time_ns = 10,
                                .time_low_ns = 9,
                                .time_high_ns = 11,
                                .hot_ns = NAN,
                                .floor_ns = NAN,
                                .n_samples = 3,
                                .samples_ns = samples,
                                .machine = "{}",
                                .command = "assay judge",
                                .evidence = "{}"};
}

static bool finish(const struct queue_job *job) {
  struct store_verdict v = verdict();
  bool published = false;
  struct assay_error err = {0};
  if (queue_finish(store, job, &v, &published, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  return published;
}

static bool count_one(void *arg, const struct store_verdict *v) {
  (void)v;
  ++*(int *)arg;
  return true;
}

static int n_verdicts(void) {
  int n = 0;
  assert_int_equal(store_each(store, "serve", count_one, &n, NULL), ASSAY_OK);
  return n;
}

// ---- tests

static void test_one_job_for_one_identity(void **state) {
  (void)state;
  struct queue_job a = must_submit(1, true, "ann"), b = must_submit(1, true, "bob"), job;
  int seen = 0;
  assert_int_equal(a.id, b.id);
  assert_int_equal(a.state, QUEUE_WAITING);
  assert_int_equal(must_submit(2, true, "ann").id, a.id + 1);
  assert_int_equal(must_get(2).ahead, 1);
  assert_int_equal(claim("cpu:0", &job), a.id);
  assert_int_equal(job.attempt, 1);
  assert_int_equal(must_submit(1, true, "cid").state, QUEUE_RUNNING);
  assert_true(finish(&job));
  assert_int_equal(must_submit(1, true, "dan").state, QUEUE_DONE);
  assert_int_equal(queue_verdict(store, identity(1), count_one, &seen, NULL), ASSAY_OK);
  assert_int_equal(seen, 1);
  assert_int_equal(queue_verdict(store, identity(2), count_one, &seen, NULL), ASSAY_ERR_NOT_FOUND);
}

static void test_an_old_attempt_publishes_nothing(void **state) {
  (void)state;
  struct queue_job first, second;
  int64_t n = 0;
  must_submit(1, true, "ann");
  claim("cpu:0", &first);
  assert_int_equal(queue_recover(store, &n, NULL), ASSAY_OK); // the server was killed and is there again
  assert_int_equal(n, 1);
  assert_false(finish(&first));
  assert_int_equal(claim("cpu:0", &second), first.id);
  assert_int_equal(second.attempt, 2);
  assert_false(finish(&first));
  assert_true(finish(&second));
  assert_false(finish(&second));
  assert_int_equal(n_verdicts(), 1);
  assert_int_equal(must_get(1).state, QUEUE_DONE);
}

static void test_faults_of_the_machine(void **state) {
  (void)state;
  struct queue_job job;
  struct assay_error err = {0};
  must_submit(1, true, "ann");
  for (int i = 1; i <= 3; i++) {
    claim("cpu:0", &job);
    assert_int_equal(job.attempt, i);
    assert_int_equal(queue_put_back(store, job.id, job.attempt, "no disk", 3, 0, &err), ASSAY_OK);
    assert_int_equal(queue_put_back(store, job.id, job.attempt, "twice", 3, 0, &err), ASSAY_OK); // changes nothing
    assert_int_equal(must_get(1).faults, i);
    assert_int_equal(must_get(1).state, i < 3 ? QUEUE_WAITING : QUEUE_GIVEN_UP);
    assert_string_equal(must_get(1).why, "no disk");
  }
  assert_int_equal(claim("cpu:0", &job), 0);
  assert_int_equal(must_submit(1, true, "ann").state, QUEUE_WAITING); // again, from the start
  assert_int_equal(must_get(1).faults, 0);
  claim("cpu:0", &job);
  assert_int_equal(queue_put_back(store, job.id, job.attempt, "later", 3, clock_wall_ns() + 3600000000000, &err), 0);
  assert_int_equal(claim("cpu:0", &job), 0); // not yet due
  assert_int_equal(n_verdicts(), 0);
}

static void test_whose_job(void **state) {
  (void)state;
  struct queue_job job, out;
  struct assay_error err = {0};
  bool found = true;
  assert_int_equal(queue_of_owner(store, 77, &out, &found, &err), ASSAY_OK);
  assert_false(found);
  must_submit(1, true, "ann");
  claim("cpu:0", &job);
  assert_int_equal(queue_of_owner(store, 77, &out, &found, &err), ASSAY_OK);
  assert_true(found && out.id == job.id && out.attempt == job.attempt);
  assert_int_equal(queue_of_owner(store, 78, &out, &found, &err), ASSAY_OK);
  assert_false(found);
  assert_true(finish(&job));
  assert_int_equal(queue_of_owner(store, 77, &out, &found, &err), ASSAY_OK);
  assert_false(found);
}

static void test_cancelling_is_for_oneself(void **state) {
  (void)state;
  struct queue_job job, out;
  struct assay_error err = {0};
  bool ended = true;
  must_submit(1, true, "ann");
  must_submit(1, true, "bob");
  assert_int_equal(queue_cancel(store, identity(1), "eve", &ended, &out, &err), ASSAY_ERR_NOT_FOUND);
  assert_int_equal(queue_cancel(store, identity(1), "ann", &ended, &out, &err), ASSAY_OK);
  assert_false(ended);
  assert_int_equal(out.state, QUEUE_WAITING);
  claim("cpu:0", &job);
  assert_int_equal(queue_cancel(store, identity(1), "ann", &ended, &out, &err), ASSAY_ERR_NOT_FOUND);
  assert_int_equal(queue_cancel(store, identity(1), "bob", &ended, &out, &err), ASSAY_OK);
  assert_true(ended);
  assert_int_equal(out.state, QUEUE_CANCELLED);
  assert_false(finish(&job)); // it was running
  assert_int_equal(n_verdicts(), 0);
  assert_int_equal(queue_cancel(store, identity(1), "bob", &ended, &out, &err), ASSAY_ERR_INVALID);
  assert_int_equal(must_submit(1, true, "bob").state, QUEUE_WAITING);
}

static void test_times_are_taken_alone(void **state) {
  (void)state;
  struct queue_job a, b, c;
  must_submit(1, false, "ann");
  must_submit(2, false, "ann");
  must_submit(3, true, "ann");
  must_submit(4, false, "ann");
  assert_int_not_equal(claim("cpu:0", &a), 0);
  assert_int_not_equal(claim("cpu:0", &b), 0);
  assert_int_equal(claim("cpu:0", &c), 0); // the third needs the unit for itself, and the fourth does not overtake it
  assert_true(finish(&a));
  assert_int_equal(claim("cpu:0", &c), 0);
  assert_true(finish(&b));
  assert_int_not_equal(claim("cpu:0", &c), 0);
  assert_string_equal(c.identity, identity(3));
  assert_int_equal(claim("cpu:0", &a), 0);
  assert_int_not_equal(claim("cpu:1", &a), 0); // another unit
  assert_true(finish(&c));
  assert_true(finish(&a));
}

static void test_a_full_queue(void **state) {
  (void)state;
  struct queue_request r[3] = {request(1, true), request(2, true), request(3, true)};
  struct queue_job jobs[3];
  struct assay_error err = {0};
  assert_int_equal(queue_submit(store, "ann", r, 3, 2, jobs, &err), ASSAY_ERR_LIMIT);
  assert_int_equal(queue_get(store, identity(1), jobs, &err), ASSAY_ERR_NOT_FOUND); // all or none
  assert_int_equal(queue_submit(store, "ann", r, 2, 2, jobs, &err), ASSAY_OK);
  assert_int_equal(queue_submit(store, "bob", r, 2, 2, jobs, &err), ASSAY_OK); // nothing new
  assert_int_equal(queue_submit(store, "bob", r, 0, 2, jobs, &err), ASSAY_ERR_INVALID);
  assert_int_equal(queue_submit(store, "bob", r, QUEUE_MOST_JOBS + 1, 2, jobs, &err), ASSAY_ERR_INVALID);
}

static void test_several_share_a_commit(void **state) {
  (void)state;
  struct queue_request r[3] = {request(1, true), request(2, true), request(3, true)};
  struct queue_job jobs[4];
  struct queue_batch a = {.submitter = "ann", .requests = r, .n = 1, .jobs = jobs},
                     b = {.submitter = "bob", .requests = r + 1, .n = 2, .jobs = jobs + 1},
                     c = {.submitter = "cid", .requests = r, .n = 1, .jobs = jobs + 3},
                     none = {.submitter = "dan", .requests = r, .n = 0};
  struct queue_batch *const all[] = {&a, &b, &c, &none};
  struct assay_error err = {0};
  assert_int_equal(queue_submit_all(store, all, 4, 2, &err), ASSAY_OK);
  assert_int_equal(a.status, ASSAY_OK);
  assert_int_equal(b.status, ASSAY_ERR_LIMIT); // two would be three
  assert_int_equal(c.status, ASSAY_OK);        // the first one's
  assert_int_equal(none.status, ASSAY_ERR_INVALID);
  assert_int_equal(jobs[0].id, jobs[3].id);
  assert_int_equal(queue_get(store, identity(2), jobs, &err), ASSAY_ERR_NOT_FOUND);
  assert_int_equal(must_get(1).state, QUEUE_WAITING);
}

static void test_a_deleted_verdict_is_made_again(void **state) {
  (void)state;
  struct queue_job job;
  int64_t n = 0;
  int seen = 0;
  must_submit(1, true, "ann");
  claim("cpu:0", &job);
  assert_true(finish(&job));
  assert_int_equal(store_delete_run(store, "serve", &n, NULL), ASSAY_OK);
  assert_int_equal(queue_verdict(store, identity(1), count_one, &seen, NULL), ASSAY_ERR_NOT_FOUND);
  assert_int_equal(must_submit(1, true, "ann").state, QUEUE_WAITING);
  claim("cpu:0", &job);
  assert_true(finish(&job));
  assert_int_equal(queue_verdict(store, identity(1), count_one, &seen, NULL), ASSAY_OK);
}

struct seen_events {
  int n;
  enum queue_state states[8];
  int64_t numbers[8];
};

static bool see_event(void *arg, const struct queue_event *e) {
  struct seen_events *s = arg;
  s->states[s->n] = e->state;
  s->numbers[s->n++] = e->number;
  return s->n < 8;
}

static void test_events(void **state) {
  (void)state;
  struct queue_job job;
  struct queue_count count;
  struct seen_events all = {0}, rest = {0};
  must_submit(1, true, "ann");
  must_submit(2, true, "ann");
  claim("cpu:0", &job);
  assert_true(finish(&job));
  assert_int_equal(queue_each_event(store, job.id, 0, see_event, &all, NULL), ASSAY_OK);
  assert_int_equal(all.n, 3);
  assert_int_equal(all.states[0], QUEUE_WAITING);
  assert_int_equal(all.states[1], QUEUE_RUNNING);
  assert_int_equal(all.states[2], QUEUE_DONE);
  assert_int_equal(queue_each_event(store, job.id, all.numbers[0], see_event, &rest, NULL), ASSAY_OK);
  assert_int_equal(rest.n, 2);
  assert_int_equal(must_get(1).event, all.numbers[2]);
  assert_int_equal(queue_count(store, "cpu", &count, NULL), ASSAY_OK);
  assert_int_equal(count.jobs[QUEUE_WAITING], 1);
  assert_int_equal(count.jobs[QUEUE_DONE], 1);
  assert_true(count.oldest_ns > 0);
}

static void test_tables(void **state) {
  (void)state;
  struct assay_error err = {0};
  sqlite3 *db = NULL;
  must_submit(1, true, "ann");
  assert_int_equal(queue_prepare(store, &err), ASSAY_OK); // they are there
  assert_int_equal(must_get(1).state, QUEUE_WAITING);
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  // Nobody can publish twice, not even by a mistake of this program.
  assert_int_equal(sqlite3_exec(db, "INSERT INTO publication VALUES ('x', 1, 1, 1)", NULL, NULL, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, "INSERT INTO publication VALUES ('x', 2, 1, 1)", NULL, NULL, NULL),
                   SQLITE_CONSTRAINT);
  assert_int_equal(sqlite3_exec(db, "UPDATE queue_version SET version = 99", NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(db);
  assert_int_equal(queue_prepare(store, &err), ASSAY_ERR_UNSUPPORTED);
  assert_non_null(strstr(err.message, "99"));
}

// Every step of a job's life, with each allocation of it failing once: it is done whole, or not at all.
static int step_of(int step, struct queue_job *job, struct assay_error *err) {
  struct queue_request r = request(1, true);
  struct store_verdict v = verdict();
  struct queue_work w = {0};
  struct queue_job ignored;
  bool flag = false;
  enum assay_status status = ASSAY_OK;
  switch (step) {
  case 0:
    return queue_submit(store, "ann", &r, 1, 10, job, err);
  case 1:
    status =
        queue_claim(store, &(struct queue_claimant){.device = "cpu", .unit = "cpu:0", .owner = 77}, &w, &flag, err);
    if (!status)
      *job = w.job;
    queue_work_release(&w);
    return status;
  case 2:
    return queue_put_back(store, job->id, job->attempt, "why", 3, 0, err);
  case 3:
    return step_of(1, job, err);
  case 4:
    return queue_finish(store, job, &v, &flag, err);
  default:
    return queue_get(store, identity(1), &ignored, err);
  }
}

static void test_no_memory(void **state) {
  (void)state;
  static const enum queue_state after[] = {QUEUE_WAITING, QUEUE_RUNNING, QUEUE_WAITING,
                                           QUEUE_RUNNING, QUEUE_DONE,    QUEUE_DONE};
  struct queue_job job = {0};
  for (int step = 0; step < 6; step++)
    for (int64_t n = 0;; n++) {
      struct assay_error err = {0};
      struct queue_job before = {0}, now;
      bool known = queue_get(store, identity(1), &before, &err) == ASSAY_OK;
      err = (struct assay_error){0};
      allocations_left = n;
      int status = step_of(step, &job, &err);
      allocations_left = -1;
      if (status == ASSAY_OK) {
        assert_int_equal(must_get(1).state, after[step]);
        assert_true(n > 5);
        break;
      }
      if (status != ASSAY_ERR_NOMEM)
        fail_msg("step %d, %lld: %s", step, (long long)n, err.message);
      // Without memory there was perhaps no rollback either; the next transaction makes up for it.
      assert_int_equal(queue_prepare(store, &err), ASSAY_OK);
      assert_int_equal(queue_get(store, identity(1), &now, &err) == ASSAY_OK, known);
      if (known)
        assert_memory_equal(&now, &before, sizeof now);
    }
  assert_int_equal(n_verdicts(), 1);
}

// A claimant that takes turns on the device by itself gets a job while a timed one runs there.
static void test_ahead(void **state) {
  (void)state;
  struct queue_claimant who = {.device = "cpu", .unit = "cpu:0", .owner = 77, .ahead = true};
  struct assay_error err = {0};
  must_submit(1, true, "ann");
  must_submit(2, true, "ann");
  for (int i = 0; i < 3; i++) {
    struct queue_work w;
    bool found = false;
    assert_int_equal(queue_claim(store, &who, &w, &found, &err), ASSAY_OK);
    assert_int_equal(found, i == 0 || i == 2);
    if (found)
      queue_work_release(&w);
    who.ahead = i == 1; // in between one that does not take turns: it gets none
  }
}

int main(void) {
  static const struct CMUnitTest tests[] = {
#define QUEUE_TEST(f) cmocka_unit_test_setup_teardown(f, open_queue, remove_queue)
      QUEUE_TEST(test_ahead),
      QUEUE_TEST(test_one_job_for_one_identity),
      QUEUE_TEST(test_an_old_attempt_publishes_nothing),
      QUEUE_TEST(test_faults_of_the_machine),
      QUEUE_TEST(test_whose_job),
      QUEUE_TEST(test_cancelling_is_for_oneself),
      QUEUE_TEST(test_times_are_taken_alone),
      QUEUE_TEST(test_a_full_queue),
      QUEUE_TEST(test_several_share_a_commit),
      QUEUE_TEST(test_a_deleted_verdict_is_made_again),
      QUEUE_TEST(test_events),
      QUEUE_TEST(test_tables),
      QUEUE_TEST(test_no_memory),
  };
  make_memory_meagre();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
