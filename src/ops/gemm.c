// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm.h"

#include <cblas.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parallel.h"

enum {
  BLOCK_LEAST = 64,
  BLOCKS_WANTED = 16,   // smaller products are cut into about as many blocks, so that threads have something to share
  SQUARES_DEPTH = 1024, // terms squared at a time
  NARROW = 4,           // from this width on, rows of C are worth a vector loop
};
#define BLAS_WORTH 50000.0  // multiply-adds of a block from which on OpenBLAS wins
#define GRAIN_WORK 200000.0 // multiply-adds from which on a thread of its own pays
#define BLAS_INT_MAX ((int64_t)INT32_MAX)

static void row_by_axpy(const struct gemm *g, int64_t i, double *restrict c, double *restrict t2) {
  int64_t n = g->n;
  memset(c, 0, (size_t)n * sizeof *c);
  if (t2)
    memset(t2, 0, (size_t)n * sizeof *t2);
  for (int64_t l = 0; l < g->k; l++) {
    double a = g->a[i * g->a_row + l * g->a_col];
    const double *b = g->b + l * g->b_row;
    if (!t2 && g->b_col == 1) {
      for (int64_t j = 0; j < n; j++)
        c[j] += a * b[j];
    } else if (!t2) {
      for (int64_t j = 0; j < n; j++)
        c[j] += a * b[j * g->b_col];
    } else {
      for (int64_t j = 0; j < n; j++) {
        double p = a * b[j * g->b_col];
        c[j] += p;
        t2[j] += p * p;
      }
    }
  }
}

static void element_by_dot(const struct gemm *g, int64_t i, int64_t j, double *c, double *t2) {
  const double *a = g->a + i * g->a_row, *b = g->b + j * g->b_col;
  double y = 0, squares = 0;
  for (int64_t l = 0; l < g->k; l++) {
    double p = a[l * g->a_col] * b[l * g->b_row];
    y += p;
    squares += p * p;
  }
  *c = y;
  if (t2)
    *t2 = squares;
}

void gemm_loops(const struct gemm *g, double *c, double *t2, int64_t ld) {
  for (int64_t i = 0; i < g->m; i++) {
    double *squares = t2 ? t2 + i * ld : NULL;
    if (g->n >= NARROW)
      row_by_axpy(g, i, c + i * ld, squares);
    else
      for (int64_t j = 0; j < g->n; j++)
        element_by_dot(g, i, j, c + i * ld + j, squares ? squares + j : NULL);
  }
}

// A matrix as BLAS wants it: one stride is 1 and the other at least the extent along it.
struct blas_matrix {
  CBLAS_TRANSPOSE trans;
  int64_t ld;
};

static bool blas_matrix_of(int64_t rows, int64_t cols, int64_t row, int64_t col, struct blas_matrix *out) {
  // The stride of a dimension of one element is never used: let it be what BLAS asks for.
  if (rows == 1)
    row = col == 1 ? cols : 1;
  if (cols == 1)
    col = row == 1 ? rows : 1;
  *out = col == 1 ? (struct blas_matrix){CblasNoTrans, row} : (struct blas_matrix){CblasTrans, col};
  return (col == 1 && row >= cols && row <= BLAS_INT_MAX) || (row == 1 && col >= rows && col <= BLAS_INT_MAX);
}

bool gemm_blas_can(const struct gemm *g) {
  struct blas_matrix a, b;
  return g->m > 0 && g->n > 0 && g->k > 0 && g->m <= BLAS_INT_MAX && g->n <= BLAS_INT_MAX && g->k <= BLAS_INT_MAX &&
         blas_matrix_of(g->m, g->k, g->a_row, g->a_col, &a) && blas_matrix_of(g->k, g->n, g->b_row, g->b_col, &b);
}

// One side of a product as lines (rows of A, columns of B) of n elements each.
struct side {
  const double *x;
  int64_t lines, line; // how many, and how far apart
  int64_t n, step;
};

// The squares of all elements, each line multiplied by its scale first, so that single precision holds them whatever
// the inputs' magnitude. Written contiguously in the order in which the source is contiguous.
static void pack_squares(const struct side *s, const double *scale, bool lines_outside, float *restrict to) {
  const struct side local = *s; // not reachable through `to`: stays in registers
  const double *x = local.x;
  if (lines_outside) {
    for (int64_t i = 0; i < local.lines; i++)
      for (int64_t l = 0; l < local.n; l++) {
        double v = x[i * local.line + l * local.step] * scale[i];
        to[i * local.n + l] = (float)(v * v);
      }
    return;
  }
  for (int64_t l = 0; l < local.n; l++)
    for (int64_t i = 0; i < local.lines; i++) {
      double v = x[i * local.line + l * local.step] * scale[i];
      to[l * local.lines + i] = (float)(v * v);
    }
}

// For each line the power of two that brings its largest magnitude to [1/2, 1): scale. Lines of zeros or with
// infinities stay as they are; the latter have no finite sums to scale.
static void line_scales(const struct side *s, double *scale) {
  int64_t lines = s->lines, n = s->n, line = s->line, step = s->step;
  memset(scale, 0, (size_t)lines * sizeof *scale);
  bool outside = step <= line;
  for (int64_t o = 0; o < (outside ? lines : n); o++)
    for (int64_t i = 0; i < (outside ? n : lines); i++) {
      int64_t at = outside ? o : i;
      double v = fabs(outside ? s->x[o * line + i * step] : s->x[i * line + o * step]);
      if (v > scale[at])
        scale[at] = v;
    }
  for (int64_t i = 0; i < lines; i++) {
    int exponent = 0;
    if (scale[i] > 0 && isfinite(scale[i]))
      frexp(scale[i], &exponent);
    // Beyond these a double has no reciprocal power of two.
    exponent = exponent > 1000 ? 1000 : exponent < -1000 ? -1000 : exponent;
    scale[i] = arith_pow2(-exponent);
  }
}

// Scratch of one block's sums of squares.
struct squares {
  double *a_scale, *b_scale;
  float *a, *b, *c;
};

static int64_t depth_of(const struct gemm *g) {
  return g->k < SQUARES_DEPTH ? g->k : SQUARES_DEPTH;
}

static bool squares_make(const struct gemm *g, struct squares *s) {
  size_t m = (size_t)g->m, n = (size_t)g->n, k = (size_t)depth_of(g);
  double *p = base_alloc((m + n) * sizeof(double) + (m * k + n * k + m * n) * sizeof(float));
  if (!p)
    return false;
  s->a_scale = p;
  s->b_scale = p + m;
  s->a = (float *)(void *)(p + m + n);
  s->b = s->a + m * k;
  s->c = s->b + n * k;
  return true;
}

static void squares_run(const struct gemm *g, struct squares *s, double *t2, int64_t ld) {
  bool a_rows = g->a_col <= g->a_row, b_cols = g->b_row <= g->b_col; // which index is outside in the packed copies
  int depth = (int)depth_of(g), m = (int)g->m, n = (int)g->n;
  struct side a = {.x = g->a, .lines = g->m, .line = g->a_row, .n = g->k, .step = g->a_col};
  struct side b = {.x = g->b, .lines = g->n, .line = g->b_col, .n = g->k, .step = g->b_row};
  line_scales(&a, s->a_scale);
  line_scales(&b, s->b_scale);
  for (int64_t l = 0; l < g->k; l += depth) {
    int k = (int)(g->k - l < depth ? g->k - l : depth);
    a.x = g->a + l * g->a_col;
    b.x = g->b + l * g->b_row;
    a.n = b.n = k;
    pack_squares(&a, s->a_scale, a_rows, s->a);
    pack_squares(&b, s->b_scale, b_cols, s->b);
    cblas_sgemm(CblasRowMajor, a_rows ? CblasNoTrans : CblasTrans, b_cols ? CblasTrans : CblasNoTrans, m, n, k, 1, s->a,
                a_rows ? k : m, s->b, b_cols ? k : n, l ? 1 : 0, s->c, n);
  }
  for (int64_t i = 0; i < g->m; i++)
    for (int64_t j = 0; j < g->n; j++) {
      double unscale = 1 / (s->a_scale[i] * s->b_scale[j]);
      t2[i * ld + j] = (double)s->c[i * g->n + j] * unscale * unscale;
    }
}

enum assay_status gemm_blas(const struct gemm *g, double *c, double *t2, int64_t ld, struct assay_error *err) {
  struct blas_matrix a, b;
  blas_matrix_of(g->m, g->k, g->a_row, g->a_col, &a);
  blas_matrix_of(g->k, g->n, g->b_row, g->b_col, &b);
  cblas_dgemm(CblasRowMajor, a.trans, b.trans, (int)g->m, (int)g->n, (int)g->k, 1, g->a, (int)a.ld, g->b, (int)b.ld, 0,
              c, (int)ld);
  if (!t2)
    return ASSAY_OK;
  struct squares s;
  if (!squares_make(g, &s))
    return error_nomem(err, "a product's sums of squares");
  squares_run(g, &s, t2, ld);
  base_free(s.a_scale);
  return ASSAY_OK;
}

enum assay_status gemm_block(const struct gemm *g, double *c, double *t2, int64_t ld, struct assay_error *err) {
  bool big = g->m >= NARROW && g->n >= NARROW && (double)g->m * (double)g->n * (double)g->k >= BLAS_WORTH;
  if (big && ld <= BLAS_INT_MAX && gemm_blas_can(g))
    return gemm_blas(g, c, t2, ld, err);
  gemm_loops(g, c, t2, ld);
  return ASSAY_OK;
}

// How C is cut into blocks.
struct cut {
  int64_t m, n;         // extents of a block
  int64_t down, across; // blocks in a column, in a row
  int64_t first;        // the number of row 0 among the rows of a whole batch; blocks begin at multiples of m there
};

static int64_t whole(const struct gemm_batch *b, int64_t extent) {
  return b->arith->part && b->members > 0 ? extent / b->members * arith_members(b->arith, b->members) : extent;
}

// A part of a batch is cut as the whole of it.
static struct cut cut_of(const struct gemm_batch *b) {
  int64_t m = b->in_rows ? whole(b, b->g.m) : b->g.m, count = b->in_rows ? b->count : whole(b, b->count);
  struct cut c = {.m = m < GEMM_BLOCK ? m : GEMM_BLOCK, .n = b->g.n < GEMM_BLOCK ? b->g.n : GEMM_BLOCK};
  for (;;) {
    c.down = (m + c.m - 1) / c.m;
    c.across = (b->g.n + c.n - 1) / c.n;
    if (c.down * c.across * count >= BLOCKS_WANTED || (c.m <= BLOCK_LEAST && c.n <= BLOCK_LEAST))
      break;
    int64_t *larger = c.m >= c.n ? &c.m : &c.n;
    *larger = (*larger + 1) / 2;
  }
  c.first = arith_first(b->arith, b->count * b->g.m, b->members);
  if (b->in_rows)
    c.down = (c.first % c.m + b->g.m + c.m - 1) / c.m;
  return c;
}

struct gemm_work {
  const struct gemm_batch *batch;
  struct cut cut;
  atomic_bool failed;
};

// Row: of all products.
static void finish_row(const struct gemm_work *w, int64_t row, int64_t j, int64_t n, double *c, const double *t2) {
  const struct gemm_batch *b = w->batch;
  int64_t at = row * b->g.n + j;
  struct noise noise = noise_at(b->arith->key, (uint64_t)(w->cut.first * b->g.n + at));
  double start[GEMM_BLOCK];
  if (t2 && b->start)
    start_fill(b->start, at, 1, n, start);
  else if (t2)
    memset(start, 0, (size_t)n * sizeof *start);
  if (t2 && b->sigma)
    for (int64_t l = 0; l < n; l++)
      b->sigma[at + l] = (float)sqrt(arith_sum_variance_from(b->arith, start[l], c[l], t2[l], (double)b->g.k, true));
  else if (t2)
    for (int64_t l = 0; l < n; l++)
      c[l] = arith_sum_from(b->arith, &noise, start[l], c[l], t2[l], (double)b->g.k, true);
  if (b->finish)
    b->finish(b->finish_arg, &noise, row, j, n, c);
}

static enum assay_status run_block(const struct gemm_work *w, int64_t index) {
  const struct gemm_batch *b = w->batch;
  int64_t per = w->cut.down * w->cut.across, batch = index / per;
  int64_t i = index % per / w->cut.across * w->cut.m, j = index % per % w->cut.across * w->cut.n;
  struct gemm g = b->g;
  i -= b->in_rows ? w->cut.first % w->cut.m : 0;
  g.m = g.m - i < w->cut.m ? g.m - i : w->cut.m;
  g.m += i < 0 ? i : 0;
  i = i < 0 ? 0 : i;
  g.n = g.n - j < w->cut.n ? g.n - j : w->cut.n;
  g.a += (b->a_offset ? b->a_offset[batch] : 0) + i * g.a_row;
  g.b += (b->b_offset ? b->b_offset[batch] : 0) + j * g.b_col;
  double *c = b->c + (batch * b->g.m + i) * b->g.n + j;
  // Sums and sums of squares share a leading dimension, so both are made in a block of their own when both are wanted.
  double *t2 = NULL;
  if (!b->arith->exact && !(t2 = base_alloc((size_t)(g.m * g.n) * 2 * sizeof *t2)))
    return ASSAY_ERR_NOMEM;
  double *block = t2 ? t2 + g.m * g.n : c;
  int64_t ld = t2 ? g.n : b->g.n;
  enum assay_status status = gemm_block(&g, block, t2, ld, NULL);
  for (int64_t r = 0; r < g.m && !status; r++) {
    double *row = c + r * b->g.n;
    if (t2)
      memcpy(row, block + r * ld, (size_t)g.n * sizeof *row);
    finish_row(w, batch * b->g.m + i + r, j, g.n, row, t2 ? t2 + r * ld : NULL);
  }
  base_free(t2);
  return status;
}

static void run_blocks(void *arg, int64_t begin, int64_t end) {
  struct gemm_work *w = arg;
  for (int64_t i = begin; i < end && !w->failed; i++)
    if (run_block(w, i) != ASSAY_OK)
      w->failed = true;
}

enum assay_status gemm_run(const struct gemm_batch *batch, struct assay_error *err) {
  if (batch->count <= 0 || batch->g.m <= 0 || batch->g.n <= 0)
    return ASSAY_OK;
  struct gemm_work w = {.batch = batch, .cut = cut_of(batch)};
  double block_work = (double)w.cut.m * (double)w.cut.n * (double)(batch->g.k + 1);
  int64_t grain = block_work < GRAIN_WORK ? (int64_t)(GRAIN_WORK / block_work) : 1;
  openblas_set_num_threads(1);
  parallel_for(batch->threads, batch->count * w.cut.down * w.cut.across, grain, run_blocks, &w);
  return w.failed ? error_nomem(err, "a product's blocks") : ASSAY_OK;
}
