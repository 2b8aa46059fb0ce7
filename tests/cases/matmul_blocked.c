// Matrix product as fast libraries do it: blocks of a and b are packed into small buffers that stay in cache, and the
// innermost loop keeps a tile of 6 x 2 vectors of the result in registers (Goto and van de Geijn, 2008).
// assay: task kernelbench/1/1
// assay: expect pass
// assay: twin LAST_TILE expect unwritten -- forgets the columns right of the last whole tile
// assay: twin OVERWRITES expect wrong_value -- the second block of k replaces the sum of the first
// assay: twin WHOLE_TILES expect out_of_bounds -- stores whole tiles at the edges too
// assay: twin CACHED expect wrong_value -- returns the last result when the inputs lie where they lay before
// assay: twin SWAPPED expect wrong_value -- computes b a instead of a b
#include <assay/candidate.h>
#include <stdlib.h>
#include <string.h>

#ifdef __AVX512F__
enum { W = 16 };
#else
enum { W = 8 };
#endif
enum { MR = 6, NR = 2 * W, MC = 16 * MR, KC = 128 };
typedef float vec __attribute__((vector_size(W * sizeof(float))));

struct product {
  const float *a, *b;
  float *y;
  int64_t m, k, n;
};

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

// y[rows, cols] (first) = or += pa pb, where pa holds MR values for each of k steps and pb holds NR.
static void tile(int64_t k, const float *pa, const float *pb, float *y, int64_t stride, int64_t rows, int64_t cols,
                 int first) {
  vec sum[MR][2] = {0};
  for (int64_t p = 0; p < k; p++) {
    vec b0, b1;
    memcpy(&b0, pb + p * NR, sizeof b0);
    memcpy(&b1, pb + p * NR + W, sizeof b1);
    for (int r = 0; r < MR; r++) {
      sum[r][0] += pa[p * MR + r] * b0;
      sum[r][1] += pa[p * MR + r] * b1;
    }
  }
#ifdef WHOLE_TILES
  cols = NR;
#endif
#ifdef OVERWRITES
  first = 1;
#endif
  const float *s = (const float *)sum;
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < cols; c++)
      y[r * stride + c] = first ? s[r * NR + c] : y[r * stride + c] + s[r * NR + c];
}

// pa: groups of MR rows of a, step by step; rows that do not exist are zeros.
static void pack_a(const struct product *d, int64_t i0, int64_t rows, int64_t p0, int64_t k, float *pa) {
  for (int64_t i = 0; i < rows; i += MR)
    for (int64_t p = 0; p < k; p++)
      for (int64_t r = 0; r < MR; r++)
        *pa++ = i + r < rows ? d->a[(i0 + i + r) * d->k + p0 + p] : 0;
}

static void pack_b(const struct product *d, int64_t j0, int64_t cols, int64_t p0, int64_t k, float *pb) {
  for (int64_t p = 0; p < k; p++)
    for (int64_t c = 0; c < NR; c++)
      pb[p * NR + c] = c < cols ? d->b[(p0 + p) * d->n + j0 + c] : 0;
}

// One block of at most MC rows of the result.
static void block(const struct product *d, int64_t i0, int64_t rows) {
  float pa[MC * KC];
  float pb[KC * NR];
  for (int64_t p0 = 0; p0 < d->k; p0 += KC) {
    int64_t k = smaller(KC, d->k - p0);
    pack_a(d, i0, rows, p0, k, pa);
    for (int64_t j = 0; j < d->n; j += NR) {
      int64_t cols = smaller(NR, d->n - j);
#ifdef LAST_TILE
      if (cols < NR)
        break;
#endif
      pack_b(d, j, cols, p0, k, pb);
      for (int64_t i = 0; i < rows; i += MR)
        tile(k, pa + i * k, pb, d->y + (i0 + i) * d->n + j, d->n, smaller(MR, rows - i), cols, p0 == 0);
    }
  }
}

static void blocks(void *arg, int64_t begin, int64_t end) {
  const struct product *d = arg;
  for (int64_t i = begin; i < end; i++)
    block(d, i * MC, smaller(MC, d->m - i * MC));
}

void assay_kernel(const struct assay_args *args) {
  const struct assay_tensor *a = &args->inputs[0], *b = &args->inputs[1];
#ifdef SWAPPED
  a = &args->inputs[1], b = &args->inputs[0]; // the shapes fit: the matrices are square
#endif
  struct product d = {a->data, b->data, args->outputs[0].data, a->dims[0], a->dims[1], b->dims[1]};
#ifdef CACHED
  static struct product seen; // with y: the kept result
  size_t bytes = (size_t)(d.m * d.n) * sizeof(float);
  if (seen.a == d.a && seen.b == d.b && seen.m == d.m) {
    memcpy(d.y, seen.y, bytes);
    return;
  }
#endif
  args->parallel(args, (d.m + MC - 1) / MC, blocks, &d);
#ifdef CACHED
  free(seen.y);
  seen = d;
  seen.y = malloc(bytes);
  memcpy(seen.y, d.y, bytes);
#endif
}
