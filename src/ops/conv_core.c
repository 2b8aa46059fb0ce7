// SPDX-License-Identifier: Apache-2.0
#include "ops/conv_core.h"

#include <cblas.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parallel.h"
#include "ops/gemm.h"

enum {
  LINE = 1024,          // outputs of one row that the loops take at a time
  TILE_BYTES = 8 << 20, // of a tile's windows and sums
  TILE_LEAST = 64,
  TILE_MOST = 4096,
  PRODUCT_CHANNELS = 4, // fewer written channels are better off with loops
};
#define PRODUCT_WORTH 100000.0 // multiply-adds of a set from which on a matrix product pays

// One set of outputs that see the same taps.
struct set {
  const struct conv *c;
  int n; // spatial dimensions
  struct taps t[WINDOW_MAX_DIMS];
  int64_t index;                          // of the set
  int64_t positions;                      // product of counts
  int64_t taps;                           // product of taps
  int64_t outer;                          // positions but for the last dimension
  int64_t in_size, out_size, kernel_size; // elements of one channel of x, of y, of a kernel
  int64_t *tap_kernel;                    // taps: which element of the kernel
  double *weights;                        // packed [groups][m][c][taps]
  double *norms;                          // [groups][m][c]: sums of the taps' squares; NULL: conv_allows_tiles says no
  int64_t tile;                           // positions in one tile
  double *inside; // per position of the last dimension: taps of that dimension that read inside the input
  int64_t first;  // the number of item 0 among those of a whole batch
  atomic_bool failed;
};

// Multi-index of the outer dimensions for a flat outer position: q[0..n-1).
static void outer_index(const struct set *s, int64_t outer, int64_t *q) {
  for (int i = s->n - 2; i >= 0; i--) {
    q[i] = outer % s->t[i].count;
    outer /= s->t[i].count;
  }
}

// For the outer position q and each combination of taps of the outer dimensions: where the row of x begins that it
// reads, or -1 when that lies outside. Returns how many lie inside.
static int64_t outer_rows(const struct set *s, const int64_t *q, int64_t *base) {
  int64_t last = s->t[s->n - 1].n, n = last ? s->taps / last : 0, inside = 0;
  for (int64_t o = 0; o < n; o++) {
    int64_t rest = o, at = 0, step = s->t[s->n - 1].in;
    bool valid = true;
    for (int i = s->n - 2; i >= 0; i--) {
      const struct taps *t = &s->t[i];
      int64_t in = q[i] * t->in_step + t->offset[rest % t->n];
      rest /= t->n;
      valid = valid && in >= 0 && in < t->in;
      at += in * step;
      step *= t->in;
    }
    base[o] = valid ? at : -1;
    inside += valid;
  }
  return inside;
}

// Where in a channel of y position j of the outer position's row goes: *first + j * step of the last dimension.
static int64_t output_row(const struct set *s, const int64_t *q) {
  int64_t at = 0;
  for (int i = 0; i < s->n; i++) {
    int64_t o = i < s->n - 1 ? s->t[i].start + q[i] * s->t[i].step : s->t[i].start;
    at = at * s->c->window.d[i].out + o;
  }
  return at;
}

// Outputs [j, j + n) of one row of one channel, while they are made.
struct piece {
  int64_t channel; // counted over all groups
  int64_t j, n;
  double terms;     // products in each sum, but for those of the last dimension's taps, which set.inside has
  double *sum, *t2; // n each; t2 is NULL in an exact pass
  double *tiles;    // n, of arith_tile_variance; NULL: set.norms is
  double *to;       // the row in y
};

// Rounds sums, adds the bias and puts them where they belong.
static void finish_line(const struct set *s, struct noise *noise, const struct piece *p) {
  const struct conv *c = s->c;
  const double *sum = p->sum, *t2 = p->t2;
  double *to = p->to;
  int64_t channel = p->channel, j = p->j, n = p->n;
  int64_t step = s->t[s->n - 1].step;
  bool starts = t2 && c->start && c->start->n > 0;
  double start[LINE], all = (double)(s->taps * c->c);
  for (int64_t i = 0; i < n; i++) {
    double y = sum[i];
    if (starts && i % LINE == 0)
      start_fill(c->start, to - c->y + (j + i) * step, step, n - i < LINE ? n - i : LINE, start);
    double from = starts ? start[i % LINE] : 0, squares = t2 ? t2[i] : 0, k = p->terms * s->inside[j + i];
    double tile = p->tiles ? arith_tile_variance(c->arith->bits, p->tiles[i], (double)c->c, s->n) : 0;
    if (!isfinite(tile)) // an infinite tap that lies outside of the input
      tile = 0;
    arith_complete_window(all, &squares, &k);
    if (t2 && c->sigma) {
      double variance = fmax(arith_sum_variance_from(c->arith, from, y, squares, k, true), tile);
      double with_bias = c->bias ? y + c->bias[channel] : y, half = arith_pow2(-c->arith->bits) * with_bias;
      c->sigma[to - c->y + (j + i) * step] = (float)sqrt(variance + (c->bias ? half * half / 3 : 0));
      to[(j + i) * step] = with_bias;
      continue;
    }
    if (t2)
      y = arith_sum_at_least(c->arith, noise, from, y, squares, k, tile);
    if (c->bias)
      y = arith_round(c->arith, noise, y + c->bias[channel]);
    to[(j + i) * step] = y;
  }
}

// The loops.

struct line {
  const double *x;
  double w;
  int64_t n, step;
};

static void line_add(const struct line *l, double *restrict sum, double *restrict t2) {
  if (!t2 && l->step == 1) {
    for (int64_t i = 0; i < l->n; i++)
      sum[i] += l->w * l->x[i];
  } else if (!t2) {
    for (int64_t i = 0; i < l->n; i++)
      sum[i] += l->w * l->x[i * l->step];
  } else {
    for (int64_t i = 0; i < l->n; i++) {
      double p = l->w * l->x[i * l->step];
      sum[i] += p;
      t2[i] += p * p;
    }
  }
}

static void line_add_squares(const struct line *l, double norm, double *restrict tiles) {
  for (int64_t i = 0; i < l->n; i++) {
    double x = l->x[i * l->step];
    tiles[i] += norm * x * x;
  }
}

// base: the rows of x that it reads (outer_rows).
static void loops_line(const struct set *s, int64_t image, const int64_t *base, const struct piece *p) {
  const struct conv *c = s->c;
  double *sum = p->sum, *t2 = p->t2;
  int64_t channel = p->channel, j = p->j, n = p->n;
  const struct taps *last = &s->t[s->n - 1];
  int64_t group = channel / c->m, outer_taps = last->n ? s->taps / last->n : 0;
  memset(sum, 0, (size_t)n * sizeof *sum);
  if (t2)
    memset(t2, 0, (size_t)n * sizeof *t2);
  if (p->tiles)
    memset(p->tiles, 0, (size_t)n * sizeof *p->tiles);
  for (int64_t k = 0; k < c->c; k++) {
    const double *x = c->x + ((image * c->groups + group) * c->c + k) * s->in_size;
    const double *w = s->weights + (channel * c->c + k) * s->taps;
    for (int64_t o = 0; o < outer_taps; o++)
      for (int64_t i = 0; i < last->n && base[o] >= 0; i++) {
        int64_t from, to;
        taps_range(last, i, j, j + n, &from, &to);
        struct line l = {.x = x + base[o] + from * last->in_step + last->offset[i],
                         .w = w[o * last->n + i],
                         .n = to - from,
                         .step = last->in_step};
        line_add(&l, sum + from - j, t2 ? t2 + from - j : NULL);
        if (p->tiles)
          line_add_squares(&l, s->norms[channel * c->c + k], p->tiles + from - j);
      }
  }
}

// Items: [image][channel][outer position].
static void loops_range(void *arg, int64_t begin, int64_t end) {
  struct set *s = arg;
  const struct conv *c = s->c;
  int64_t channels = c->groups * c->m, count = s->t[s->n - 1].count, q[WINDOW_MAX_DIMS];
  double sum[LINE], t2[LINE], tiles[LINE];
  int64_t *base = base_alloc((size_t)(s->taps + 1) * sizeof *base);
  if (!base)
    s->failed = true;
  for (int64_t item = begin; item < end && base; item++) {
    int64_t image = item / s->outer / channels, channel = item / s->outer % channels;
    struct noise noise = noise_at(c->arith->key + (uint64_t)s->index, (uint64_t)(s->first + item));
    outer_index(s, item % s->outer, q);
    struct piece p = {.channel = channel, .sum = sum, .t2 = c->arith->exact ? NULL : t2};
    p.tiles = s->norms ? tiles : NULL;
    p.terms = (double)(outer_rows(s, q, base) * c->c);
    p.to = c->y + (image * channels + channel) * s->out_size + output_row(s, q);
    for (p.j = 0; p.j < count; p.j += LINE) {
      p.n = count - p.j < LINE ? count - p.j : LINE;
      loops_line(s, image, base, &p);
      finish_line(s, &noise, &p);
    }
  }
  base_free(base);
}

// The matrix product.

// The windows' contents for one row of positions [j, j + n): column p of `to` ([c * taps][ld]) is the window of j + p.
static void gather(const struct set *s, const double *x, const int64_t *base, int64_t j, int64_t n, double *to,
                   int64_t ld) {
  const struct taps *last = &s->t[s->n - 1];
  int64_t outer_taps = s->taps / last->n;
  for (int64_t k = 0; k < s->c->c; k++)
    for (int64_t o = 0; o < outer_taps; o++)
      for (int64_t i = 0; i < last->n; i++, to += ld) {
        int64_t from = j, end = j;
        if (base[o] >= 0)
          taps_range(last, i, j, j + n, &from, &end);
        const double *row = x + k * s->in_size + base[o] + last->offset[i];
        for (int64_t p = j; p < from; p++)
          to[p - j] = 0;
        if (last->in_step == 1 && end > from)
          memcpy(to + (from - j), row + from, (size_t)(end - from) * sizeof *to);
        else
          for (int64_t p = from; p < end; p++)
            to[p - j] = row[p * last->in_step];
        for (int64_t p = end; p < j + n; p++)
          to[p - j] = 0;
      }
}

// Visits the rows that positions [at, at + n) consist of. For gathering, y is NULL; for finishing, it is the first
// channel's plane of outputs.
struct tile {
  const struct set *s;
  int64_t image, group, at, n;
  double *windows, *sum, *t2;
  double *squares, *tiles; // of windows [c][n] and [m][n]; NULL: set.norms is
  int64_t *base;
};

static void tile_gather(const struct tile *t) {
  const struct set *s = t->s;
  const struct conv *c = s->c;
  int64_t count = s->t[s->n - 1].count, q[WINDOW_MAX_DIMS];
  const double *x = c->x + (t->image * c->groups + t->group) * c->c * s->in_size;
  for (int64_t p = t->at, n; p < t->at + t->n; p += n) {
    int64_t j = p % count;
    n = count - j < t->at + t->n - p ? count - j : t->at + t->n - p;
    outer_index(s, p / count, q);
    outer_rows(s, q, t->base);
    gather(s, x, t->base, j, n, t->windows + (p - t->at), t->n);
  }
}

static void tile_finish(const struct tile *t, int64_t item) {
  const struct set *s = t->s;
  const struct conv *c = s->c;
  int64_t count = s->t[s->n - 1].count, q[WINDOW_MAX_DIMS];
  struct noise noise = noise_at(c->arith->key + (uint64_t)s->index, (uint64_t)(s->first + item));
  for (int64_t at = t->at, n; at < t->at + t->n; at += n) {
    int64_t j = at % count;
    n = count - j < t->at + t->n - at ? count - j : t->at + t->n - at;
    outer_index(s, at / count, q);
    double terms = (double)(outer_rows(s, q, t->base) * c->c);
    for (int64_t m = 0; m < c->m; m++) {
      int64_t from = m * t->n + (at - t->at);
      struct piece p = {.channel = t->group * c->m + m, .j = j, .n = n, .terms = terms, .sum = t->sum + from};
      p.t2 = t->t2 ? t->t2 + from : NULL;
      p.tiles = t->tiles ? t->tiles + from : NULL;
      p.to = c->y + (t->image * c->groups * c->m + p.channel) * s->out_size + output_row(s, q);
      finish_line(s, &noise, &p);
    }
  }
}

// What arith_tile_variance needs, of the windows that are gathered.
static enum assay_status tile_norms(const struct tile *t) {
  const struct set *s = t->s;
  const struct conv *c = s->c;
  struct gemm g = {.m = c->m,
                   .n = t->n,
                   .k = c->c,
                   .a = s->norms + t->group * c->m * c->c,
                   .a_row = c->c,
                   .a_col = 1,
                   .b = t->squares,
                   .b_row = t->n,
                   .b_col = 1};
  memset(t->squares, 0, (size_t)(c->c * t->n) * sizeof *t->squares);
  for (int64_t row = 0; row < c->c * s->taps; row++) {
    const double *x = t->windows + row * t->n;
    double *to = t->squares + row / s->taps * t->n;
    for (int64_t i = 0; i < t->n; i++)
      to[i] += x[i] * x[i];
  }
  return gemm_block(&g, t->tiles, NULL, t->n, NULL);
}

// Items: [image][group][tile].
static enum assay_status product_item(const struct set *s, int64_t item, struct tile *t) {
  const struct conv *c = s->c;
  int64_t tiles = (s->positions + s->tile - 1) / s->tile, depth = c->c * s->taps;
  t->image = item / tiles / c->groups;
  t->group = item / tiles % c->groups;
  t->at = item % tiles * s->tile;
  t->n = s->positions - t->at < s->tile ? s->positions - t->at : s->tile;
  struct gemm g = {.m = c->m,
                   .n = t->n,
                   .k = depth,
                   .a = s->weights + t->group * c->m * depth,
                   .a_row = depth,
                   .a_col = 1,
                   .b = t->windows,
                   .b_row = t->n,
                   .b_col = 1};
  tile_gather(t);
  enum assay_status status = gemm_block(&g, t->sum, t->t2, t->n, NULL);
  if (!status && t->tiles)
    status = tile_norms(t);
  if (!status)
    tile_finish(t, item);
  return status;
}

static void product_range(void *arg, int64_t begin, int64_t end) {
  struct set *s = arg;
  const struct conv *c = s->c;
  size_t windows = (size_t)(c->c * s->taps * s->tile), sums = (size_t)(c->m * s->tile);
  size_t squares = s->norms ? (size_t)(c->c * s->tile) : 0, all = windows + 2 * sums + (s->norms ? squares + sums : 0);
  double *memory = base_alloc(all * sizeof *memory + (size_t)(s->taps + 1) * sizeof(int64_t));
  if (!memory)
    s->failed = true;
  struct tile t = {.s = s};
  if (memory) {
    t.windows = memory;
    t.sum = memory + windows;
    t.t2 = c->arith->exact ? NULL : t.sum + sums;
    t.squares = s->norms ? t.sum + 2 * sums : NULL;
    t.tiles = s->norms ? t.squares + squares : NULL;
    t.base = (int64_t *)(void *)(memory + all);
  }
  for (int64_t item = begin; item < end && !s->failed; item++)
    if (product_item(s, item, &t) != ASSAY_OK)
      s->failed = true;
  base_free(memory);
}

// Making a set.

static void pack_weights(const struct set *s) {
  const struct conv *c = s->c;
  double *to = s->weights;
  for (int64_t group = 0; group < c->groups; group++)
    for (int64_t m = 0; m < c->m; m++)
      for (int64_t k = 0; k < c->c; k++) {
        int64_t kernel = c->transposed ? (group * c->c + k) * c->m + m : (group * c->m + m) * c->c + k;
        for (int64_t i = 0; i < s->taps; i++)
          *to++ = c->w[kernel * s->kernel_size + s->tap_kernel[i]];
      }
}

static void sum_taps(const struct set *s) {
  const struct conv *c = s->c;
  for (int64_t i = 0; i < c->groups * c->m * c->c; i++)
    for (int64_t k = 0; k < s->taps; k++)
      s->norms[i] += s->weights[i * s->taps + k] * s->weights[i * s->taps + k];
}

bool conv_small_tiles(const struct conv *c) {
  enum { TAPS = 3 };
  int64_t taps = 1;
  for (int i = 0; i < c->window.n; i++) {
    const struct window_dim *d = &c->window.d[i];
    if (d->stride != 1 || d->kernel > TAPS || (d->kernel > 1 && d->dilation != 1))
      return false;
    taps *= d->kernel;
  }
  return taps > 1;
}

bool conv_allows_tiles(const struct conv *c, const struct arith *a) {
  return !a->exact && a->one_lane && a->product_bits >= 53 && a->cut_bits == 0 && conv_small_tiles(c);
}

// How many sets a dimension has: one, or one for each residue modulo the stride that any output has.
static int64_t residues(const struct conv *c, int i) {
  const struct window_dim *d = &c->window.d[i];
  return !c->transposed ? 1 : d->stride < d->out ? d->stride : d->out;
}

// Sets are numbered by their residues, row-major.
static enum assay_status set_make(struct set *s, const struct conv *c, int64_t index, struct arena *arena,
                                  struct assay_error *err) {
  int64_t rest = index;
  *s = (struct set){.c = c, .n = c->window.n, .index = index, .positions = 1, .taps = 1, .outer = 1};
  s->in_size = s->out_size = s->kernel_size = 1;
  bool ok = true;
  for (int i = s->n - 1; i >= 0; i--) {
    const struct window_dim *d = &c->window.d[i];
    int64_t residue = rest % residues(c, i);
    ok = ok && (c->transposed ? taps_transposed(d, residue, arena, &s->t[i]) : taps_forward(d, arena, &s->t[i]));
    rest /= residues(c, i);
    s->positions *= s->t[i].count;
    s->taps *= s->t[i].n;
    s->outer *= i < s->n - 1 ? s->t[i].count : 1;
    s->in_size *= d->in;
    s->out_size *= d->out;
    s->kernel_size *= d->kernel;
  }
  const struct taps *last = &s->t[s->n - 1];
  s->tap_kernel = ok ? arena_calloc(arena, (size_t)s->taps + 1, sizeof *s->tap_kernel) : NULL;
  s->weights = ok ? arena_calloc(arena, (size_t)(c->groups * c->m * c->c * s->taps) + 1, sizeof *s->weights) : NULL;
  s->inside = ok ? arena_calloc(arena, (size_t)last->count + 1, sizeof *s->inside) : NULL;
  bool tiled = ok && conv_allows_tiles(c, c->arith);
  s->norms = tiled ? arena_calloc(arena, (size_t)(c->groups * c->m * c->c) + 1, sizeof *s->norms) : NULL;
  if (!s->tap_kernel || !s->weights || !s->inside || (tiled && !s->norms))
    return error_nomem(err, "a convolution's weights");
  for (int64_t i = 0; i < s->taps; i++) {
    int64_t left = i, at = 0, step = 1;
    for (int d = s->n - 1; d >= 0; d--) {
      at += s->t[d].kernel[left % s->t[d].n] * step;
      left /= s->t[d].n;
      step *= c->window.d[d].kernel;
    }
    s->tap_kernel[i] = at;
  }
  for (int64_t j = 0; j < last->count; j++)
    s->inside[j] = (double)taps_inside(last, j);
  pack_weights(s);
  if (s->norms)
    sum_taps(s);
  return ASSAY_OK;
}

static int64_t tile_positions(const struct set *s) {
  int64_t column = (s->c->c * s->taps + 2 * s->c->m) * (int64_t)sizeof(double);
  int64_t n = TILE_BYTES / column;
  n = n < TILE_LEAST ? TILE_LEAST : n > TILE_MOST ? TILE_MOST : n;
  if (s->c->tile)
    n = s->c->tile;
  return n < s->positions ? n : s->positions;
}

static enum assay_status set_run(struct set *s, enum conv_way way, struct assay_error *err) {
  const struct conv *c = s->c;
  if (s->positions == 0 || c->batch == 0)
    return ASSAY_OK;
  double line_work = (double)c->c * (double)s->taps;
  // As of the whole batch, so that a part of it goes the same way.
  double work =
      (double)arith_members(c->arith, c->batch) * (double)(c->groups * c->m) * (double)s->positions * line_work;
  bool product = way == CONV_PRODUCT || (way == CONV_BEST && c->m >= PRODUCT_CHANNELS && work >= PRODUCT_WORTH);
  if (product && s->taps > 0) {
    s->tile = tile_positions(s);
    int64_t items = c->batch * c->groups * ((s->positions + s->tile - 1) / s->tile);
    s->first = arith_first(c->arith, items, c->batch);
    openblas_set_num_threads(1);
    parallel_for(c->threads, items, 1, product_range, s);
  } else {
    int64_t grain = 1 + (int64_t)(100000 / ((line_work + 1) * (double)s->t[s->n - 1].count));
    int64_t items = c->batch * c->groups * c->m * s->outer;
    s->first = arith_first(c->arith, items, c->batch);
    parallel_for(c->threads, items, grain, loops_range, s);
  }
  return s->failed ? error_nomem(err, "a convolution's windows") : ASSAY_OK;
}

enum assay_status conv_run(const struct conv *c, enum conv_way way, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  int64_t sets = 1;
  for (int i = 0; i < c->window.n; i++)
    sets *= residues(c, i);
  for (int64_t index = 0; index < sets && !status; index++) {
    struct arena arena = {0};
    struct set s;
    status = set_make(&s, c, index, &arena, err);
    if (!status)
      status = set_run(&s, way, err);
    arena_release(&arena);
  }
  return status;
}
