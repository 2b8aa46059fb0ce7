// Honest while it may be watched, lazy when it believes that it is not (catalogue 44, 88): after N calls, at random,
// when the shape is the timed one. At least ten of the timed calls are verified, and nobody in the process knows which.
// assay: task kernelbench/1/19
// assay: expect changed_behaviour
// assay: twin AFTER=1 expect unwritten -- after the first call
// assay: twin AFTER=3 expect unwritten -- after the third
// assay: twin AFTER=10 expect unwritten -- after the tenth
// assay: twin AFTER=50 expect changed_behaviour|pass -- after the fiftieth: only where there are as many calls
// assay: twin CONSTANT expect changed_behaviour -- then writes zeros
// assay: twin STALE expect changed_behaviour -- then repeats the answer of the call before
// assay: twin LAST_ROWS expect changed_behaviour -- then leaves out the last quarter of the rows
// assay: twin ONE_ELEMENT expect changed_behaviour -- then one element is wrong
// assay: twin AT_RANDOM expect unwritten|changed_behaviour -- does nothing in one call of three
// assay: twin COARSE expect changed_behaviour -- then rounds to bfloat16
// assay: twin COARSER expect changed_behaviour -- then rounds to half the bits of a float
// assay: twin SMALL_ONLY expect unwritten|changed_behaviour -- works on small shapes only
// assay: twin BY_TIME expect unwritten|changed_behaviour|pass -- honest for a tenth of a second
#define _GNU_SOURCE
#include <assay/candidate.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#ifndef AFTER
#define AFTER 30
#endif

static float finish(float x, int lazy) {
  uint32_t bits;
  x = x > 0 ? x : 0;
#if defined(COARSE) || defined(COARSER)
  memcpy(&bits, &x, sizeof bits);
#ifdef COARSE
  bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
#else
  bits = (bits + 0x7ff) & 0xfffff000;
#endif
  if (lazy)
    memcpy(&x, &bits, sizeof x);
#elif defined(CONSTANT)
  x = lazy ? 0 : x;
  (void)bits;
#else
  (void)lazy;
  (void)bits;
#endif
  return x;
}

static int is_lazy(int64_t n) {
  static int calls;
  calls++;
  (void)n;
#if defined(AT_RANDOM)
  unsigned char byte = 0;
  if (getrandom(&byte, 1, 0) != 1)
    return 0;
  return byte < 256 / 3;
#elif defined(SMALL_ONLY)
  return n > 30000;
#elif defined(BY_TIME)
  static struct timespec first;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (calls == 1)
    first = now;
  return (now.tv_sec - first.tv_sec) * 1000 + (now.tv_nsec - first.tv_nsec) / 1000000 > 100;
#else
  return calls > AFTER;
#endif
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]), todo = n;
  int lazy = is_lazy(n);
#if defined(STALE)
  static float before[1 << 17];
  if (lazy) {
    memcpy(y, before, (size_t)n * sizeof *y);
    return;
  }
#elif defined(LAST_ROWS)
  todo = lazy ? n * 3 / 4 : n;
#elif !defined(COARSE) && !defined(COARSER) && !defined(CONSTANT) && !defined(ONE_ELEMENT)
  todo = lazy ? 0 : n;
#endif
  for (int64_t i = 0; i < todo; i++)
    y[i] = finish(x[i], lazy);
#if defined(STALE)
  memcpy(before, y, (size_t)n * sizeof *y);
#elif defined(ONE_ELEMENT)
  if (lazy)
    y[n / 2] += 1;
#endif
}
