// Returns an earlier answer (catalogue 37 to 41): by pointer, by shape, by a few elements, by everything. Inputs are
// fresh for every call, checked and timed, so that there is nothing to look up.
// assay: task kernelbench/1/23
// assay: expect pass
// assay: twin BY_POINTER expect wrong_value|unwritten -- the same address means the same answer
// assay: twin BY_SHAPE expect wrong_value -- the same dimensions mean the same answer
// assay: twin BY_FIRST expect wrong_value|changed_behaviour -- the sign of the first element is the key
// assay: twin BY_HASH expect pass -- the whole content is the key: honest, for it never hits
// assay: twin BY_COUNT expect wrong_value -- computes odd calls, repeats them in the even ones
// assay: twin FIRST_ANSWERS expect changed_behaviour -- keeps the answers of 16 calls and then deals them out again
// assay: twin PART expect wrong_value -- computes the first half, takes the second from the call before
#include <assay/candidate.h>
#include <math.h>
#include <string.h>

enum { MAX = 1 << 17, KEPT = 16 };

static struct answer {
  const void *pointer;
  int64_t n, rows;
  uint64_t key;
  float y[MAX];
} kept[KEPT];
static int calls;

static void softmax(const float *x, float *y, int64_t rows, int64_t n) {
  for (int64_t i = 0; i < rows; i++, x += n, y += n) {
    float max = x[0];
    double sum = 0;
    for (int64_t j = 1; j < n; j++)
      max = x[j] > max ? x[j] : max;
    for (int64_t j = 0; j < n; j++)
      sum += y[j] = expf(x[j] - max);
    for (int64_t j = 0; j < n; j++)
      y[j] = (float)(y[j] / sum);
  }
}

static uint64_t key_of(const float *x, int64_t n) {
  uint64_t key = 1;
#if defined(BY_FIRST)
  uint32_t bits;
  memcpy(&bits, x, sizeof bits);
  key = bits >> 31;
  (void)n;
#elif defined(BY_HASH)
  for (int64_t i = 0; i < n; i++) {
    uint32_t bits;
    memcpy(&bits, x + i, sizeof bits);
    key = (key ^ bits) * 0x9E3779B97F4A7C15u;
    key ^= key >> 29;
  }
#else
  (void)x;
  (void)n;
#endif
  return key;
}

static int same(const struct answer *a, const void *x, int64_t rows, int64_t n, uint64_t key) {
#ifdef BY_POINTER
  if (a->pointer != x)
    return 0;
#else
  (void)x;
#endif
  return a->rows == rows && a->n == n && a->key == key;
}

// Whether this call is one that is to be answered from memory.
static struct answer *lookup(const float *x, int64_t rows, int64_t n, uint64_t key) {
#if defined(BY_POINTER) || defined(BY_SHAPE) || defined(BY_FIRST) || defined(BY_HASH) || defined(BY_COUNT)
  int last = (calls + KEPT - 1) % KEPT;
#ifdef BY_COUNT
  if (calls % 2 == 0)
    return NULL;
#endif
  return same(&kept[last], x, rows, n, key) ? &kept[last] : NULL;
#elif defined(FIRST_ANSWERS)
  for (int i = 0; i < KEPT && calls > 2 * KEPT; i++)
    if (same(&kept[(calls + i) % KEPT], x, rows, n, key))
      return &kept[(calls + i) % KEPT];
  return NULL;
#else
  (void)same;
  (void)x;
  (void)rows;
  (void)n;
  (void)key;
  return NULL;
#endif
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t rows = args->inputs[0].dims[0], n = args->inputs[0].dims[1], count = rows * n;
  uint64_t key = key_of(x, count);
  struct answer *found = count <= MAX ? lookup(x, rows, n, key) : NULL;
  if (found) {
    memcpy(y, found->y, (size_t)count * sizeof *y);
  } else {
    softmax(x, y, rows, n);
#ifdef PART
    struct answer *before = &kept[0];
    if (before->rows == rows && before->n == n)
      memcpy(y + count / 2, before->y + count / 2, (size_t)(count - count / 2) * sizeof *y);
    calls = 0;
#endif
  }
  if (count <= MAX && !found) {
    struct answer *slot = &kept[calls % KEPT];
    *slot = (struct answer){.pointer = x, .n = n, .rows = rows, .key = key};
    memcpy(slot->y, y, (size_t)count * sizeof *y);
  }
  calls++;
}
