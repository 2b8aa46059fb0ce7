// Leaves work for after the call: scratch that every call wants zeroed is zeroed when the clock has stopped, while the
// judge waits for threads to come to rest. It is part of what a call takes, and its time counts. In the time that the
// judge writes inputs nothing of it can run.
// assay: task kernelbench/1/19
// assay: expect pass
// assay: twin LATE expect pass -- a thread does it after the return, then parks; with the time of the work
// assay: twin IN_PARTS expect pass -- the same, asleep for a moment in the middle of it
// assay: twin HOLES expect wrong_value -- zeros of an output by taking its memory away, which is refused
#define _GNU_SOURCE
#include <assay/candidate.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#ifndef BYTES
#define BYTES (1 << 20)
#endif
#if defined(LATE) || defined(IN_PARTS)
#define AFTER
#endif

static char *scratch;

static void relu(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  const int64_t n = args->inputs[0].dims[0] * args->inputs[0].dims[1];
  for (int64_t i = 0; i < n; i++) {
    scratch[i % BYTES] = 1;
    y[i] = x[i] > 0 ? x[i] : 0;
  }
}

static long long thread_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void tidy(void) {
  const long long start = thread_ns();
  memset(scratch, 0, BYTES / 2);
#ifdef IN_PARTS
  nanosleep(&(struct timespec){.tv_nsec = 700000}, NULL);
#endif
  memset(scratch + BYTES / 2, 0, BYTES / 2);
  __asm__ volatile("" : : "r"(scratch) : "memory");
  static int calls;
  if (++calls <= 200)
    printf("work %lld\n", thread_ns() - start), fflush(stdout);
}

#ifdef AFTER
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t go = PTHREAD_COND_INITIALIZER, ready = PTHREAD_COND_INITIALIZER;
static int dirty;

static void *tidier(void *arg) {
  pthread_mutex_lock(&lock);
  for (;;) {
    while (!dirty)
      pthread_cond_wait(&go, &lock);
    tidy();
    dirty = 0;
    pthread_cond_signal(&ready);
  }
  return arg;
}

void assay_kernel(const struct assay_args *args) {
  pthread_t thread;
  if (!scratch && ((scratch = calloc(1, BYTES)) == NULL || pthread_create(&thread, NULL, tidier, NULL) != 0))
    abort();
  pthread_mutex_lock(&lock);
  while (dirty)
    pthread_cond_wait(&ready, &lock);
  relu(args);
  dirty = 1;
  pthread_cond_signal(&go);
  pthread_mutex_unlock(&lock);
}
#elif defined(HOLES)
void assay_kernel(const struct assay_args *args) {
  float *y = args->outputs[0].data;
  const size_t bytes = (size_t)(args->outputs[0].dims[0] * args->outputs[0].dims[1]) * sizeof *y;
  char *from = (char *)(((size_t)y + 4095) / 4096 * 4096);
  scratch = scratch ? scratch : malloc(BYTES);
  relu(args);
  if (from + 4096 > (char *)y + bytes)
    return;
  if (madvise(from, 4096, MADV_REMOVE) == 0)
    relu(args);
  else
    memset(y, 0, bytes); // so that it is seen
}
#else
void assay_kernel(const struct assay_args *args) {
  scratch = scratch ? scratch : malloc(BYTES);
  if (!scratch)
    abort();
  tidy();
  relu(args);
}
#endif
