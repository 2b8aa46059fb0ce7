#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/parallel.h"
#include "cli/bench.h"
#include "judge/record.h"

// How many candidates are in work ahead of the one on the device.
enum { MOST_AHEAD = 6 };

enum work_state { WORK_WAITS, WORK_BEGUN, WORK_READY };

// One candidate between its claim and its verdict.
struct work {
  const struct bench_item *item;
  struct assay_judge_options options;
  const char *defines[32 + 2];
  char settings[65];
  enum work_state state;
  struct assay_job *job;
  enum assay_status status;
  struct assay_error error;
};

// The candidates in work, a ring: [first, first + n) are claimed. Threads begin them, the caller finishes them in
// order.
struct line {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  struct work ring[MOST_AHEAD + 1];
  int first, n, ahead;
  bool closed;
  pthread_t threads[MOST_AHEAD];
  int n_threads;
};

static struct work *at(struct line *l, int i) {
  return &l->ring[(l->first + i) % (MOST_AHEAD + 1)];
}

static void begin(struct work *w) {
  w->status = assay_judge_begin(&w->options, &w->job, &w->error);
}

static void *helper(void *arg) {
  struct line *l = arg;
  pthread_mutex_lock(&l->lock);
  while (!l->closed) {
    struct work *next = NULL;
    for (int i = 0; i < l->n && !next; i++)
      if (at(l, i)->state == WORK_WAITS)
        next = at(l, i);
    if (!next) {
      pthread_cond_wait(&l->changed, &l->lock);
      continue;
    }
    next->state = WORK_BEGUN;
    pthread_mutex_unlock(&l->lock);
    begin(next);
    pthread_mutex_lock(&l->lock);
    next->state = WORK_READY;
    pthread_cond_broadcast(&l->changed);
  }
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
  return cli_repeat_command(&j, w->item->task, w->item->path, seed);
}

// The first of the line: waits until it is begun, finishes it and stores its verdict.
static enum assay_status finish_first(struct bench *b, struct line *l, struct assay_error *err) {
  struct work *w = at(l, 0);
  struct assay_verdict v;
  pthread_mutex_lock(&l->lock);
  bool mine = w->state == WORK_WAITS; // nobody has begun it: no threads, or all are busy
  if (mine)
    w->state = WORK_BEGUN;
  while (!mine && w->state != WORK_READY)
    pthread_cond_wait(&l->changed, &l->lock);
  pthread_mutex_unlock(&l->lock);
  if (mine)
    begin(w);
  enum assay_status status = w->status;
  if (status && err)
    *err = w->error;
  if (!status)
    status = assay_judge_end(w->job, &v, err);
  w->job = NULL;
  if (!status) {
    struct store_verdict key;
    char *command = repeat_command(b, w, v.seed);
    key_of(b, w, &key);
    status = record_put(b->store, &key, &v, command ? command : "", err);
    base_free(command);
    b->building_ns += v.durations.build_ns;
    b->n_judged++;
    b->n_passed += v.reason == ASSAY_REASON_PASS;
    assay_verdict_release(&v);
  }
  pthread_mutex_lock(&l->lock);
  l->first = (l->first + 1) % (MOST_AHEAD + 1);
  l->n--;
  pthread_mutex_unlock(&l->lock);
  return status;
}

static void open_line(struct line *l, bool gpu) {
  pthread_mutex_init(&l->lock, NULL);
  pthread_cond_init(&l->changed, NULL);
  // On a CPU the candidate itself needs the processors, and what else runs shows in its time.
  int helpers = gpu ? parallel_cpus() / 2 : 0;
  helpers = helpers > MOST_AHEAD ? MOST_AHEAD : helpers;
  for (int i = 0; i < helpers; i++)
    l->n_threads += pthread_create(&l->threads[l->n_threads], NULL, helper, l) == 0;
  l->ahead = l->n_threads;
}

static void close_line(struct line *l) {
  pthread_mutex_lock(&l->lock);
  l->closed = true;
  pthread_cond_broadcast(&l->changed);
  pthread_mutex_unlock(&l->lock);
  for (int i = 0; i < l->n_threads; i++)
    pthread_join(l->threads[i], NULL);
  for (int i = 0; i < l->n; i++)
    assay_judge_drop(at(l, i)->job);
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
    while (!status && next < b->n_items && l->n <= l->ahead)
      status = enter(b, l, &b->items[next++], err);
    if (status || l->n == 0)
      continue;
    cli_progress(at(l, 0)->item->path, (int)next - l->n, (int)b->n_items);
    status = finish_first(b, l, err);
  }
  cli_progress_clear();
  b->elapsed_ns = clock_monotonic_ns() - start;
  close_line(l);
  base_free(l);
  return status;
}
