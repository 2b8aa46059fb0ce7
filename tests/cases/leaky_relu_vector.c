// Leaky ReLU (slope 0.01) with explicit vectors and a scalar tail, on all threads.
// assay: task kernelbench/1/20
// assay: expect pass
// assay: twin NO_TAIL expect unwritten -- forgets what is left after the last whole vector
// assay: twin WIDE_TAIL expect out_of_bounds -- stores a whole vector where fewer elements are left
// assay: twin READ_AHEAD expect out_of_bounds -- loads two vectors ahead without asking whether they exist
// assay: twin WRONG_SLOPE expect wrong_value -- slope 0.1
// assay: twin RELU expect wrong_value -- slope 0
#include <assay/candidate.h>
#include <string.h>

#if defined(WRONG_SLOPE)
#define SLOPE 0.1f
#elif defined(RELU)
#define SLOPE 0.0f
#else
#define SLOPE 0.01f
#endif

enum { W = 16 };
typedef float vec __attribute__((vector_size(W * sizeof(float))));
typedef int32_t mask __attribute__((vector_size(W * sizeof(float))));

static inline vec load(const float *p) {
  vec v;
  memcpy(&v, p, sizeof v); // unaligned load
  return v;
}

static inline void store(float *p, vec v) {
  memcpy(p, &v, sizeof v);
}

static inline vec leaky(vec v) {
  mask negative = v < 0; // all ones where it holds
  return (vec)(((mask)(v * SLOPE) & negative) | ((mask)v & ~negative));
}

static void span(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t i = begin;
#ifdef READ_AHEAD
  vec now = load(x + i), next = load(x + i + W);
  for (; i + W <= end; i += W) {
    vec after = load(x + i + 2 * W);
    store(y + i, leaky(now));
    now = next, next = after;
  }
#else
  for (; i + W <= end; i += W)
    store(y + i, leaky(load(x + i)));
#endif
#if defined(WIDE_TAIL)
  if (i < end) {
    vec v = {0};
    memcpy(&v, x + i, (size_t)(end - i) * sizeof *x);
    store(y + i, leaky(v));
  }
#elif !defined(NO_TAIL)
  for (; i < end; i++)
    y[i] = x[i] < 0 ? x[i] * SLOPE : x[i];
#endif
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, assay_count(&args->inputs[0]), span, (void *)args);
}
