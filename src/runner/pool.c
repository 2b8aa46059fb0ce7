// SPDX-License-Identifier: Apache-2.0
#include "runner/pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "runner/protocol.h"
#include "runner/residue.h"

enum { PIECES_PER_THREAD = 4, SPINS = 4000 };

struct pool {
  int threads;
  _Atomic uint32_t generation; // a new loop; a futex
  _Atomic uint32_t working;    // helpers that have not finished the loop; a futex
  _Atomic int64_t next;
  int64_t n, piece;
  void (*body)(void *arg, int64_t begin, int64_t end);
  void *arg;
  unsigned round; // what is to be left on stacks
};

static void futex_wait(_Atomic uint32_t *word, uint32_t value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, int count) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static void take_pieces(struct pool *p) {
  for (;;) {
    int64_t begin = atomic_fetch_add(&p->next, p->piece);
    if (begin >= p->n)
      return;
    p->body(p->arg, begin, begin + p->piece < p->n ? begin + p->piece : p->n);
  }
}

static void *helper(void *arg) {
  struct pool *p = arg;
  uint32_t seen = 0;
  unsigned round = 0;
  for (;;) {
    while (atomic_load(&p->generation) == seen)
      futex_wait(&p->generation, seen);
    seen = atomic_load(&p->generation);
    if (p->round != round)
      residue_leave_on_stack(round = p->round);
    take_pieces(p);
    if (atomic_fetch_sub(&p->working, 1) == 1)
      futex_wake(&p->working, 1);
  }
  return NULL;
}

enum assay_status pool_create(int threads, struct pool **out, struct assay_error *err) {
  struct pool *p = base_calloc(1, sizeof *p);
  if (!p)
    return error_nomem(err, "the kernel's threads");
  p->threads = threads < 1 ? 1 : threads;
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  pthread_attr_setstacksize(&attr, RUNNER_STACK_BYTES);
  for (int i = 1; i < p->threads; i++) {
    pthread_t id;
    int code = pthread_create(&id, &attr, helper, p);
    if (code != 0)
      return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot start thread %d for the kernel: %s", i, strerror(code));
    pthread_detach(id);
  }
  pthread_attr_destroy(&attr);
  *out = p;
  return ASSAY_OK;
}

void pool_run(struct pool *p, int64_t n, void (*body)(void *arg, int64_t begin, int64_t end), void *arg) {
  if (n <= 0)
    return;
  if (p->threads == 1 || n == 1) {
    body(arg, 0, n);
    return;
  }
  p->n = n;
  p->piece = n / ((int64_t)p->threads * PIECES_PER_THREAD);
  p->piece = p->piece < 1 ? 1 : p->piece;
  p->body = body;
  p->arg = arg;
  atomic_store(&p->next, 0);
  atomic_store(&p->working, (uint32_t)p->threads - 1);
  atomic_fetch_add(&p->generation, 1);
  futex_wake(&p->generation, p->threads);
  take_pieces(p);
  uint32_t left;
  for (int i = 0; (left = atomic_load(&p->working)) != 0; i++)
    if (i > SPINS)
      futex_wait(&p->working, left);
}

void pool_leave(struct pool *p, unsigned round) {
  p->round = round;
}
