// SPDX-License-Identifier: Apache-2.0
#include "base/parallel.h"
#include "base/thread.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { MAX_THREADS = 256, PIECES_PER_THREAD = 4 };

struct loop {
  parallel_body *body;
  void *arg;
  int64_t n, piece;
  atomic_int_fast64_t next;
};

static void *loop_work(void *p) {
  struct loop *l = p;
  for (;;) {
    int64_t begin = atomic_fetch_add(&l->next, l->piece);
    if (begin >= l->n)
      return NULL;
    int64_t end = begin + l->piece;
    l->body(l->arg, begin, end < l->n ? end : l->n);
  }
}

void parallel_for(int threads, int64_t n, int64_t grain, parallel_body *body, void *arg) {
  if (n <= 0)
    return;
  if (grain < 1)
    grain = 1;
  if (threads > MAX_THREADS)
    threads = MAX_THREADS;
  if (threads <= 1 || n <= grain) {
    body(arg, 0, n);
    return;
  }
  struct loop l = {.body = body, .arg = arg, .n = n, .piece = n / ((int64_t)threads * PIECES_PER_THREAD)};
  if (l.piece < grain)
    l.piece = grain;
  pthread_t ids[MAX_THREADS];
  int started = 0;
  for (int t = 1; t < threads && (int64_t)t * l.piece < n; t++)
    if (thread_start(&ids[started], loop_work, &l) == 0)
      started++;
  loop_work(&l);
  for (int t = 0; t < started; t++)
    pthread_join(ids[t], NULL);
}

int parallel_cpus(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0)
    return 1;
  int n = CPU_COUNT(&set);
  return n < 1 ? 1 : n;
}
