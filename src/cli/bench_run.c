// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/parallel.h"
#include "base/thread.h"
#include "cli/bench.h"
#include "judge/record.h"

// How many candidates are worked on while one is on the device: waiting for the device, and after it.
enum { MOST_AHEAD = 12, MOST_BEHIND = 4, RING = MOST_AHEAD + 1 + MOST_BEHIND };

enum { HELPER_NICENESS = 10 }; // so that helpers do not slow down the candidate on the device

enum work_state { WORK_WAITS, WORK_BEGINS, WORK_READY, WORK_TESTED, WORK_CONCLUDES, WORK_DONE };

// One candidate, from its claim to its verdict.
struct work {
  const struct bench_item *item;
  struct assay_judge_options options;
  struct cli_list defines;
  char settings[65];
  enum work_state state;
  struct assay_job *job;
  struct assay_verdict verdict; // once DONE, if there was no error
  enum assay_status status;
  struct assay_error error;
};

// The candidates that are worked on, a ring [first, first + n) in order. Helpers begin and conclude them; one thread
// tests them, one after the other, and has tested the first `tested`. Meanwhile the caller claims more and stores
// verdicts.
struct line {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  struct work ring[RING];
  int first, n, tested, ahead;
  int answer_threads; // for the oracle's answers to one candidate
  int64_t testing_ns;
  bool closed; // nothing more is begun or tested
  bool leave;  // and the helpers may end
  pthread_t threads[MOST_AHEAD], tester;
  struct cli_meter meter;
  int n_threads; // 0: there is no tester either, the caller does everything
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

// Does the oldest work that is ready. False: there is none. Called with the lock held, which is released while working.
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
  setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), HELPER_NICENESS); // this thread, and those that it starts
  pthread_mutex_lock(&l->lock);
  while (!l->leave)
    if (l->closed || !help(l))
      pthread_cond_wait(&l->changed, &l->lock);
  pthread_mutex_unlock(&l->lock);
  return NULL;
}

// Tests the next candidate if it is ready. Called with the lock held, which is released while testing.
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
  enum assay_status status = cli_use_candidate(j, item->path, b->n_items > 1, err);
  if (status)
    return status;
  *w = (struct work){.item = item, .options = j->options};
  w->defines = j->defines;
  if (item->define)
    w->defines.items[w->defines.n++] = item->define;
  w->options.defines = w->defines.items;
  w->options.task = item->task_path;
  w->options.workload = item->workload;
  return assay_settings_hash(&w->options, w->settings, err);
}

static void key_of(const struct bench *b, const struct work *w, struct store_verdict *key) {
  record_key(b->run, &w->options, w->item->task, w->item->label, w->item->hash, w->settings, key);
}

// An item before this one whose text is the same: its verdict is this one's too. NULL: there is none.
static const struct bench_item *same_before(const struct bench *b, const struct bench_item *item) {
  for (const struct bench_item *i = b->items; i < item; i++)
    if (strcmp(i->hash, item->hash) == 0 && strcmp(i->task, item->task) == 0 &&
        strcmp(i->workload, item->workload) == 0 && strcmp(i->label, item->label) != 0 &&
        strcmp(i->define ? i->define : "", item->define ? item->define : "") == 0)
      return i;
  return NULL;
}

// Files with the same text are judged once, and are samples of their own.
static enum assay_status share_verdicts(struct bench *b, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  struct assay_error ignored = {0};
  for (size_t i = 0; i < b->n_items && !status; i++) {
    const struct bench_item *item = &b->items[i], *first = same_before(b, item);
    struct work w;
    struct store_verdict key;
    int64_t id = 0;
    if (!first || prepare(b, first, &w, &ignored) != ASSAY_OK)
      continue;
    key_of(b, &w, &key);
    status = store_share(b->store, &key, item->label, item->hash, &id, err);
  }
  return status;
}

// Puts the item into the line, unless it is finished or another process has claimed it.
static enum assay_status enter(struct bench *b, struct line *l, const struct bench_item *item,
                               struct assay_error *err) {
  struct store_verdict key;
  bool claimed = false, finished = false;
  struct work *w = at(l, l->n);
  struct assay_error why = {0};
  if (same_before(b, item)) { // share_verdicts
    b->n_same++;
    return ASSAY_OK;
  }
  enum assay_status status = prepare(b, item, w, &why);
  if (status)
    return bench_leave_unjudged(b, item, &why, err);
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

static char *repeat_command(const struct bench *b, const struct work *w) {
  struct cli_judging j = b->judging;
  j.options = w->options;
  j.defines = w->defines;
  // The file of a baseline is removed at the end; its name creates it again.
  return cli_repeat_command(&j, w->item->task, cli_is_baseline(b->from) ? b->from : w->item->path, &w->verdict);
}

// Whether the first candidate has its verdict. If not, waits for a change, or without threads does the next piece of
// work.
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

// A file may be replaced between its listing, when its claim was made, and its reading. Then the verdict is none of
// what was claimed, and perhaps not even of the task that it was listed for.
static void look_for_change(struct work *w) {
  if (w->status || strcmp(w->verdict.candidate_hash, w->item->hash) == 0)
    return;
  w->status = error_set(&w->error, ASSAY_ERR_BUSY,
                        "the file changed while it was benched (sha256 %.12s, then %.12s); the same command judges it "
                        "as it is now",
                        w->item->hash, w->verdict.candidate_hash);
  assay_verdict_release(&w->verdict);
}

// Stores the verdict of the first candidate. Only the store can fail here.
static enum assay_status record_first(struct bench *b, struct line *l, struct assay_error *err) {
  struct work *w = at(l, 0);
  struct store_verdict key;
  look_for_change(w);
  enum assay_status status = w->status;
  if (status) {
    status = bench_leave_unjudged(b, w->item, &w->error, err);
  } else {
    char *command = repeat_command(b, w);
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

static void tell(struct line *l, bool *what) {
  pthread_mutex_lock(&l->lock);
  *what = true;
  pthread_cond_broadcast(&l->changed);
  pthread_mutex_unlock(&l->lock);
}

// Begins and tests nothing more, and waits for what is being done. The tester first: the process that it tests may have
// been started by a helper, and ends with the thread that started it (sandbox/child.c).
static void end_threads(struct line *l, bool tested_apart) {
  tell(l, &l->closed);
  if (tested_apart)
    pthread_join(l->tester, NULL);
  tell(l, &l->leave);
  for (int i = 0; i < l->n_threads; i++)
    pthread_join(l->threads[i], NULL);
  l->n_threads = 0;
}

static void open_line(struct line *l, bool gpu) {
  pthread_mutex_init(&l->lock, NULL);
  pthread_cond_init(&l->changed, NULL);
  // A CPU candidate itself needs the CPUs, and whatever else runs shows in its time.
  int cpus = parallel_cpus(), helpers = gpu ? cpus * 3 / 4 : 0;
  helpers = helpers > MOST_AHEAD ? MOST_AHEAD : helpers;
  if (helpers == 0 || thread_start(&l->tester, tester, l) != 0)
    return;
  for (int i = 0; i < helpers; i++)
    l->n_threads += thread_start(&l->threads[l->n_threads], helper, l) == 0;
  l->ahead = l->n_threads;
  l->answer_threads = l->n_threads > 0 ? (2 * cpus + l->n_threads - 1) / l->n_threads : cpus;
  if (l->n_threads > 0)
    return;
  end_threads(l, true);
  l->closed = l->leave = false;
}

// Without threads there is one candidate at a time.
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
  cli_meter_show(&l->meter, path, (int)entered - l->n + on_test, (int)all);
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
    gpu = gpu && b->items[i].form->device->gpu;
  if (status)
    return status;
  // Before the clock starts: a device comes up once, not once per candidate. What fails here fails in prepare() again.
  // One alone needs nothing that waits for the next, and would start it while its own worker starts.
  struct assay_error ignored = {0};
  for (size_t i = 0; i < b->n_items; i++)
    cli_use_candidate(&b->judging, b->items[i].path, b->n_items > 1, &ignored);
  open_line(l, gpu);
  l->meter.form = b->judging.progress;
  b->ahead = l->ahead > 0;
  b->start_ns = clock_monotonic_ns();
  size_t next = 0;
  while (!status && !b->interrupt.stop && (next < b->n_items || l->n > 0)) {
    while (!status && !b->interrupt.stop && next < b->n_items && has_room(l))
      status = enter(b, l, &b->items[next++], err);
    if (status || l->n == 0)
      continue;
    show_progress(l, next, b->n_items);
    if (first_done(l))
      status = record_first(b, l, err);
  }
  end_threads(l, l->n_threads > 0);
  // After an error or Ctrl-C, verdicts that are ready are still stored. Only the first error is reported.
  while (l->tested > 0) {
    if (!first_done(l))
      continue;
    enum assay_status kept = record_first(b, l, status ? &ignored : err);
    status = status ? status : kept;
  }
  if (!status)
    status = share_verdicts(b, err);
  cli_progress_clear();
  b->elapsed_ns = clock_monotonic_ns() - b->start_ns;
  b->testing_ns = l->testing_ns;
  close_line(l);
  base_free(l);
  return status;
}
