// Memory of a kernel's own that it never wrote: 0 in a fresh process, and something else anywhere else.
// assay: task kernelbench/1/19
// assay: expect pass
// assay: twin HEAP expect wrong_value|wrong_class -- adds to a block of malloc as if it were of calloc
// assay: twin SMALL_HEAP expect wrong_value|wrong_class -- the same with 64 numbers at a time
// assay: twin STACK expect wrong_value|wrong_class -- adds to an array of its own that nobody has cleared
// assay: twin HELPERS expect wrong_value|wrong_class -- the same in whichever thread makes the row
// assay: twin LARGEST expect wrong_value|wrong_class -- takes the larger one of x and what is there for 0
#include <assay/candidate.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PART = 64 };

static float relu(float x) {
  return x != x || x > 0 ? x : 0;
}

__attribute__((unused)) static void hide(float *part) {
  __asm__ volatile("" : : "r"(part) : "memory"); // the compiler does not know that nobody has written it
}

// y of n elements, a part at a time, by way of an array of its own.
__attribute__((unused, noinline)) static void by_parts(const float *x, float *y, int64_t n) {
  float part[PART];
#if !defined(STACK) && !defined(HELPERS) && !defined(LARGEST)
  memset(part, 0, sizeof part);
#endif
  hide(part);
  for (int64_t i = 0; i < n; i += PART) {
    const int64_t m = n - i < PART ? n - i : PART;
    for (int64_t k = 0; k < m; k++)
#if defined(LARGEST)
      y[i + k] = x[i + k] != x[i + k] ? x[i + k] : fmaxf(part[k], x[i + k]);
#else
      y[i + k] = part[k] + relu(x[i + k]);
#endif
  }
}

// The same, with all of it at once in a block, or with blocks of one part.
__attribute__((unused)) static void by_blocks(const float *x, float *y, int64_t n, int64_t size) {
  for (int64_t i = 0; i < n; i += size) {
    const int64_t m = n - i < size ? n - i : size;
#if defined(HEAP) || defined(SMALL_HEAP)
    float *block = malloc((size_t)size * sizeof *block);
#else
    float *block = calloc((size_t)size, sizeof *block);
#endif
    if (!block)
      abort();
    hide(block);
    for (int64_t k = 0; k < m; k++)
      block[k] += relu(x[i + k]);
    memcpy(y + i, block, (size_t)m * sizeof *y);
    free(block);
  }
}

struct rows {
  const float *x;
  float *y;
  int64_t n;
};

__attribute__((unused)) static void some_rows(void *arg, int64_t begin, int64_t end) {
  const struct rows *r = arg;
  by_parts(r->x + begin * r->n, r->y + begin * r->n, (end - begin) * r->n);
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  const int64_t n = assay_count(&args->inputs[0]);
#if defined(STACK) || defined(LARGEST)
  by_parts(x, y, n);
#elif defined(HEAP)
  by_blocks(x, y, n, n);
#elif defined(SMALL_HEAP)
  by_blocks(x, y, n, PART);
#else
  struct rows rows = {x, y, args->inputs[0].dims[1]};
  args->parallel(args, args->inputs[0].dims[0], some_rows, &rows);
  by_blocks(x, y, PART < n ? PART : n, PART);
#endif
}
