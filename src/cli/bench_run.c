#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/parallel.h"
#include "cli/bench.h"
#include "judge/record.h"

// How many candidates are in work beside the one on the device: before it, and behind it.
enum { MOST_AHEAD = 12, MOST_BEHIND = 4, RING = MOST_AHEAD + 1 + MOST_BEHIND };

enum { HELPER_NICENESS = 10 }; // what helpers have time for, the one on the device does not wait for

enum work_state { WORK_WAITS, WORK_BEGINS, WORK_READY, WORK_TESTED, WORK_CONCLUDES, WORK_DONE };

// One candidate between its claim and its verdict.
struct work {
  const struct bench_item *item;
  struct assay_judge_options options;
  const char *defines[32 + 2];
  char settings[65];
  enum work_state state;
  struct assay_job *job;
  struct assay_verdict verdict; // DONE without an error
  enum assay_status status;
  struct assay_error error;
};

// The candidates in work, a ring of [first, first + n) in order. Helpers begin and conclude them, one thread puts one
// after the other to the test: the first `tested` have been. The caller claims them and stores the verdicts meanwhile.
struct line {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  struct work ring[RING];
  int first, n, tested, ahead;
  int answer_threads; // for one candidate: helpers are many
  int64_t testing_ns;
  bool closed; // nothing else is begun or put to the test
  pthread_t threads[MOST_AHEAD], tester;
  int n_threads; // 0: no tester either, the caller does everything
};

static struct work *at(struct line *l, int i) {
  return &l->ring[(l->first + i) % RING];
}

static void begin(struct work *w) {
  w->status = assay_judge_begin(&w->options, &w->job, &w->error);
}

static void test(struct work *w) {
  if (!w->status)
    w->status = assay_judge_test(w->job, &w->error);
}

static void conclude(struct work *w) {
  if (!w->status)
    w->status = assay_judge_conclude(w->job, &w->verdict, &w->error);
  else
    assay_judge_drop(w->job);
  w->job = NULL;
}

// Does what is to be done next, the oldest first. False: nothing is. The lock is held, but not meanwhile.
static bool help(struct line *l) {
  for (int i = 0; i < l->n; i++) {
    struct work *w = at(l, i);
    if (w->state != WORK_WAITS && w->state != WORK_TESTED)
      continue;
    bool early = w->state == WORK_WAITS;
    w->state = early ? WORK_BEGINS : WORK_CONCLUDES;
    pthread_mutex_unlock(&l->lock);
    if (early)
      begin(w);
    else
      conclude(w);
    pthread_mutex_lock(&l->lock);
    w->state = early ? WORK_READY : WORK_DONE;
    pthread_cond_broadcast(&l->changed);
    return true;
  }
  return false;
}

static void *helper(void *arg) {
  struct line *l = arg;
  setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), HELPER_NICENESS); // of this thread, and of those that it starts
  pthread_mutex_lock(&l->lock);
  while (!l->closed)
    if (!help(l))
      pthread_cond_wait(&l->changed, &l->lock);
  pthread_mutex_unlock(&l->lock);
  return NULL;
}

// Puts the next one to the test, if it is ready. The lock is held, but not meanwhile.
static bool test_next(struct line *l) {
  struct work *w = at(l, l->tested);
  if (l->closed || l->tested == l->n || w->state != WORK_READY)
    return false;
  pthread_mutex_unlock(&l->lock);
  int64_t start = clock_monotonic_ns();
  test(w);
  pthread_mutex_lock(&l->lock);
  l->testing_ns += clock_monotonic_ns() - start;
  w->state = WORK_TESTED;
  l->tested++;
  pthread_cond_broadcast(&l->changed);
  return true;
}

static void *tester(void *arg) {
  struct line *l = arg;
  pthread_mutex_lock(&l->lock);
  while (!l->closed)
    if (!test_next(l))
      pthread_cond_wait(&l->changed, &l->lock);
  pthread_mutex_unlock(&l->lock);
  return NULL;
}

static enum assay_status prepare(struct bench *b, const struct bench_item *item, struct work *w,
                                 struct assay_error *err) {
  struct cli_judging *j = &b->judging;
  enum assay_status status = cli_use_candidate(j, item->path, true, err);
  if (status)
    return status;
  *w = (struct work){.item = item, .options = j->options};
  for (int i = 0; i < j->n_defines; i++)
    w->defines[i] = j->defines[i];
  if (item->define)
    w->defines[j->n_defines] = item->define;
  w->options.defines = w->defines;
  w->options.task = item->task_path;
  return assay_settings_hash(&w->options, w->settings, err);
}

static void key_of(const struct bench *b, const struct work *w, struct store_verdict *key) {
  record_key(b->run, &w->options, w->item->task, w->item->label, w->item->hash, w->settings, key);
}

// Puts the item into the line, unless it is finished or somebody else has it.
static enum assay_status enter(struct bench *b, struct line *l, const struct bench_item *item,
                               struct assay_error *err) {
  struct store_verdict key;
  bool claimed = false, finished = false;
  struct work *w = at(l, l->n);
  enum assay_status status = prepare(b, item, w, err);
  if (status)
    return status;
  w->options.defines = w->defines;
  key_of(b, w, &key);
  if (l->n_threads > 0 && w->options.threads > l->answer_threads)
    w->options.threads = l->answer_threads;
  status = store_claim(b->store, &key, &claimed, err);
  if (!status && !claimed)
    status = store_has(b->store, &key, &finished, err);
  if (status)
    return status;
  if (!claimed) {
    b->n_done_before += finished;
    b->n_elsewhere += !finished;
    return ASSAY_OK;
  }
  pthread_mutex_lock(&l->lock);
  l->n++;
  pthread_cond_broadcast(&l->changed);
  pthread_mutex_unlock(&l->lock);
  return ASSAY_OK;
}

static char *repeat_command(const struct bench *b, const struct work *w, uint64_t seed) {
  struct cli_judging j = b->judging;
  j.options = w->options;
  j.n_defines = 0;
  for (int i = 0; w->defines[i]; i++)
    j.defines[j.n_defines++] = w->defines[i];
  // A baseline's file is gone by then; its name makes it anew.
  return cli_repeat_command(&j, w->item->task, cli_is_baseline(b->from) ? b->from : w->item->path, seed);
}

// Whether the first has come to its verdict. Waits for something to happen when it has not; without threads it does it.
static bool first_done(struct line *l) {
  pthread_mutex_lock(&l->lock);
  if (at(l, 0)->state != WORK_DONE) {
    if (l->n_threads > 0)
      pthread_cond_wait(&l->changed, &l->lock);
    else if (!help(l))
      test_next(l);
  }
  bool done = at(l, 0)->state == WORK_DONE;
  pthread_mutex_unlock(&l->lock);
  return done;
}

// The verdict of the first goes into the store.
static enum assay_status record_first(struct bench *b, struct line *l, struct assay_error *err) {
  struct work *w = at(l, 0);
  struct store_verdict key;
  enum assay_status status = w->status;
  if (status && err)
    *err = w->error;
  if (!status) {
    char *command = repeat_command(b, w, w->verdict.seed);
    key_of(b, w, &key);
    status = record_put(b->store, &key, &w->verdict, command ? command : "", err);
    base_free(command);
    b->building_ns += w->verdict.durations.build_ns;
    b->n_judged++;
    b->n_passed += w->verdict.reason == ASSAY_REASON_PASS;
    assay_verdict_release(&w->verdict);
  }
  pthread_mutex_lock(&l->lock);
  l->first = (l->first + 1) % RING;
  l->n--;
  l->tested--;
  pthread_mutex_unlock(&l->lock);
  return status;
}

// No other candidate is begun or put to the test; those that are, are waited for.
static void end_threads(struct line *l, bool tested_apart) {
  pthread_mutex_lock(&l->lock);
  l->closed = true;
  pthread_cond_broadcast(&l->changed);
  pthread_mutex_unlock(&l->lock);
  if (tested_apart)
    pthread_join(l->tester, NULL);
  for (int i = 0; i < l->n_threads; i++)
    pthread_join(l->threads[i], NULL);
  l->n_threads = 0;
}

static void open_line(struct line *l, bool gpu) {
  pthread_mutex_init(&l->lock, NULL);
  pthread_cond_init(&l->changed, NULL);
  // On a CPU the candidate itself needs the processors, and what else runs shows in its time.
  int cpus = parallel_cpus(), helpers = gpu ? cpus * 3 / 4 : 0;
  helpers = helpers > MOST_AHEAD ? MOST_AHEAD : helpers;
  if (helpers == 0 || pthread_create(&l->tester, NULL, tester, l) != 0)
    return;
  for (int i = 0; i < helpers; i++)
    l->n_threads += pthread_create(&l->threads[l->n_threads], NULL, helper, l) == 0;
  l->ahead = l->n_threads;
  l->answer_threads = l->n_threads > 0 ? (2 * cpus + l->n_threads - 1) / l->n_threads : cpus;
  if (l->n_threads > 0)
    return;
  end_threads(l, true);
  l->closed = false;
}

// Without threads there is one at a time.
static bool has_room(struct line *l) {
  pthread_mutex_lock(&l->lock);
  bool room = l->n == 0 || (l->n_threads > 0 && l->n - l->tested <= l->ahead && l->n < RING);
  pthread_mutex_unlock(&l->lock);
  return room;
}

static void show_progress(struct line *l, size_t entered, size_t all) {
  pthread_mutex_lock(&l->lock);
  int on_test = l->tested < l->n ? l->tested : l->n - 1;
  const char *path = at(l, on_test)->item->path;
  pthread_mutex_unlock(&l->lock);
  cli_progress(path, (int)entered - l->n + on_test, (int)all);
}

static void close_line(struct line *l) {
  for (int i = 0; i < l->n; i++)
    if (at(l, i)->state != WORK_DONE)
      assay_judge_drop(at(l, i)->job);
    else if (!at(l, i)->status)
      assay_verdict_release(&at(l, i)->verdict);
  pthread_cond_destroy(&l->changed);
  pthread_mutex_destroy(&l->lock);
}

enum assay_status bench_run(struct bench *b, struct assay_error *err) {
  struct line *l = base_calloc(1, sizeof *l);
  enum assay_status status = l ? ASSAY_OK : error_nomem(err, "a line of candidates");
  bool gpu = true;
  for (size_t i = 0; i < b->n_items; i++)
    gpu = gpu && strcmp(b->items[i].device, "cuda") == 0;
  if (status)
    return status;
  // Opened before the clock runs: a device comes up once, not once a candidate.
  for (size_t i = 0; i < b->n_items && !status; i++)
    status = cli_use_candidate(&b->judging, b->items[i].path, true, err);
  open_line(l, gpu);
  b->ahead = l->ahead > 0;
  int64_t start = clock_monotonic_ns();
  size_t next = 0;
  while (!status && !b->stop && (next < b->n_items || l->n > 0)) {
    while (!status && !b->stop && next < b->n_items && has_room(l))
      status = enter(b, l, &b->items[next++], err);
    if (status || l->n == 0)
      continue;
    show_progress(l, next, b->n_items);
    if (first_done(l))
      status = record_first(b, l, err);
  }
  end_threads(l, l->n_threads > 0);
  // After an error or Ctrl-C what is judged already is still kept; another error would say no more than the first.
  struct assay_error ignored = {0};
  while (l->tested > 0) {
    if (!first_done(l))
      continue;
    enum assay_status kept = record_first(b, l, status ? &ignored : err);
    status = status ? status : kept;
  }
  cli_progress_clear();
  b->elapsed_ns = clock_monotonic_ns() - start;
  b->testing_ns = l->testing_ns;
  close_line(l);
  base_free(l);
  return status;
}
