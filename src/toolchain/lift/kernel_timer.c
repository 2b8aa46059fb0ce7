// SPDX-License-Identifier: Apache-2.0
#include "toolchain/lift/kernel_timer.h"

#include <string.h>

void kernel_timer_release(struct kernel_timer *t) {
  arena_release(&t->arena);
  *t = (struct kernel_timer){0};
}

void kernel_timer_reset(struct kernel_timer *t) {
  memset(t->launches, 0, sizeof t->launches);
}

void kernel_timer_start(struct kernel_timer *t, const struct cuda_driver *cu, enum plan_origin origin,
                        CUstream stream) {
  if (t->n_watches == t->capacity) {
    void *more = arena_grow(&t->arena, t->watches, t->n_watches, &t->capacity, sizeof *t->watches);
    if (!more)
      return;
    t->watches = more;
  }
  struct stopwatch *w = &t->watches[t->n_watches];
  *w = (struct stopwatch){.origin = origin};
  if (cu->cuEventCreate(&w->start, 0) != CUDA_SUCCESS || cu->cuEventCreate(&w->end, 0) != CUDA_SUCCESS)
    return;
  (void)cu->cuEventRecord(w->start, stream);
  t->n_watches++;
  t->launches[origin]++;
}

void kernel_timer_stop(struct kernel_timer *t, const struct cuda_driver *cu, CUstream stream) {
  if (t->n_watches > 0)
    (void)cu->cuEventRecord(t->watches[t->n_watches - 1].end, stream);
}

void kernel_timer_collect(struct kernel_timer *t, const struct cuda_driver *cu,
                          struct record_share shares[PLAN_ORIGINS]) {
  for (uint32_t i = 0; i < PLAN_ORIGINS; i++)
    shares[i] = (struct record_share){.origin = i, .launches = t->launches[i]};
  for (size_t i = 0; i < t->n_watches; i++) {
    struct stopwatch *w = &t->watches[i];
    float ms = 0;
    if (cu->cuEventElapsedTime(&ms, w->start, w->end) == CUDA_SUCCESS && ms > 0)
      shares[w->origin].ns += (uint64_t)(1e6f * ms);
    (void)cu->cuEventDestroy(w->start);
    (void)cu->cuEventDestroy(w->end);
  }
  t->n_watches = 0;
}
