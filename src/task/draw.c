// SPDX-License-Identifier: Apache-2.0
// Drawing the elements of a tensor. distribution.h documents which Philox words make which element; this file is that
// definition in code. Nothing here allocates, so a draw cannot fail.
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "base/rng.h"
#include "base/wide.h"
#include "task/drawing.h"
#include "task/exact_math.h"

// A chunk that does not begin at a block touches one more.
enum { CHUNK = 256, CHUNK_BLOCKS = CHUNK / 4 + 1, CHUNKS_PER_PIECE = 64 };

// n blocks of four words from `block` on.
static void words(const struct drawing *d, int stream, int64_t block, int n, uint32_t *out) {
  philox4x32_run(d->r->key, (uint64_t)block, (uint64_t)d->r->input << 32 | (unsigned)stream, n, out);
}

static double unit(uint32_t word) {
  return (double)(word >> 8) * 0x1p-24;
}

static inline void normal_pair(const uint32_t *w, double *out) {
  double r = sqrt(-2 * exact_log(((double)w[0] + 1) * 0x1p-32));
  double c, s;
  exact_cos_sin(w[1], &c, &s);
  out[0] = r * c;
  out[1] = r * s;
}

// x with its sign changed if the lowest bit of `odd` is set.
static inline double turned(uint32_t odd, double x) {
  return exact_of_bits(exact_bits(x) ^ (uint64_t)(odd & 1) << 63);
}

// n <= 2 * CHUNK_BLOCKS times normal_pair, without branches.
WIDE_BODY normal_pairs_body(const uint32_t *w, int n, double *out) {
  uint32_t first[2 * CHUNK_BLOCKS], second[2 * CHUNK_BLOCKS];
  double r[2 * CHUNK_BLOCKS], cosines[2 * CHUNK_BLOCKS], sines[2 * CHUNK_BLOCKS];
  for (int i = 0; i < n; i++) {
    first[i] = w[2 * i];
    second[i] = w[2 * i + 1];
  }
  for (int i = 0; i < n; i++)
    r[i] = sqrt(-2 * exact_log(((double)first[i] + 1) * 0x1p-32));
  for (int i = 0; i < n; i++) {
    double c, s;
    uint32_t quarter = exact_cos_sin_rest(second[i], &c, &s);
    cosines[i] = turned(quarter ^ quarter >> 1, wide_pick(quarter & 1, s, c));
    sines[i] = turned(quarter >> 1, wide_pick(quarter & 1, c, s));
  }
  for (int i = 0; i < n; i++) {
    out[2 * i] = r[i] * cosines[i];
    out[2 * i + 1] = r[i] * sines[i];
  }
}

WIDE_LOOP(normal_pairs, (const uint32_t *w, int n, double *out), (w, n, out))

static void slash(const struct drawing *d, int64_t block, int n, const uint32_t *w, double *out) {
  uint32_t v[4 * CHUNK_BLOCKS];
  words(d, STREAM_SECOND, block, n, v);
  for (int i = 0; i < 4 * n; i++)
    out[i] = d->a * (2 * unit(w[i]) - 1) / (((double)(v[i] >> 8) + 1) * 0x1p-24);
}

// Where 0 <= i < n goes in the permutation number `which` of n numbers: four rounds of a Feistel network on the bits
// that hold n - 1, again until the result is one of the n.
static int64_t permuted(const struct drawing *d, int64_t which, int64_t i, int64_t n) {
  int half = 0;
  while ((INT64_C(1) << (2 * half)) < n)
    half++;
  uint64_t mask = (UINT64_C(1) << half) - 1, x = (uint64_t)(i % n);
  do {
    uint64_t a = x >> half, b = x & mask;
    for (int k = 0; k < 4; k++) {
      uint32_t w[4];
      words(d, STREAM_PERMUTED + k, (int64_t)((uint64_t)which << 16 | b), 1, w);
      uint64_t next = (a ^ w[0]) & mask;
      a = b;
      b = next;
    }
    x = a << half | b;
  } while (x >= (uint64_t)n);
  return (int64_t)x;
}

// Element `at` of rows that rise to `total`: sums of exponential numbers, which cut it as uniform numbers would.
static double parted(const struct drawing *d, int64_t at, double total) {
  const int64_t row = at / d->columns * d->columns;
  double sum = 0, part = 0;
  for (int64_t i = row; i < row + d->columns; i++) {
    uint32_t w[4];
    if (i == row || (i & 3) == 0)
      words(d, STREAM_VALUE, i >> 2, 1, w);
    sum -= exact_log(((double)w[i & 3] + 1) * 0x1p-32);
    part = i <= at ? sum : part;
  }
  return sum > 0 ? floor(part / sum * total + 0.5) : total;
}

// n <= CHUNK_BLOCKS blocks of four elements of the base distribution.
static void base_blocks(const struct drawing *d, int64_t block, int n, double *out) {
  uint32_t w[4 * CHUNK_BLOCKS];
  double a = d->a, b = d->b;
  n = n < CHUNK_BLOCKS ? n : CHUNK_BLOCKS;
  int count = 4 * n;
  words(d, STREAM_VALUE, block, n, w);
  switch (d->kind) {
  case DIST_UNIFORM:
    for (int i = 0; i < count; i++)
      out[i] = a + (b - a) * unit(w[i]);
    break;
  case DIST_NORMAL:
    normal_pairs(w, count / 2, out);
    for (int i = 0; i < count; i++)
      out[i] = a + b * out[i];
    break;
  case DIST_SLASH:
    slash(d, block, n, w, out);
    break;
  case DIST_CONSTANT:
    for (int i = 0; i < count; i++)
      out[i] = a;
    break;
  case DIST_INTEGERS: {
    uint64_t range = (uint64_t)(b - a);
    for (int i = 0; i < count; i++)
      out[i] = a + (double)(w[i] * range >> 32);
    break;
  }
  case DIST_BERNOULLI:
    for (int i = 0; i < count; i++)
      out[i] = (double)w[i] * 0x1p-32 < a;
    break;
  case DIST_SIGNS:
    for (int i = 0; i < count; i++)
      out[i] = w[i] >> 31 ? -1 : 1;
    break;
  case DIST_SEEDS: {
    uint32_t s[4];
    words(d, STREAM_SCALE, 0, 1, s);
    for (int i = 0; i < count; i++) {
      uint32_t high = w[i] & 1 ? s[0] ^ ((s[2] | 0x1000u) & 0xfffff000u) : s[0];
      out[i] = (double)high * 0x1p20 + (double)(s[1] >> 12) + (double)(w[i] >> 1 & 1);
    }
    break;
  }
  case DIST_PARTITION:
    for (int i = 0; i < count; i++)
      out[i] = parted(d, 4 * block + i, b);
    break;
  case DIST_PERMUTATION:
    for (int i = 0; i < count; i++)
      out[i] = (double)permuted(d, (4 * block + i) % d->inner, (4 * block + i) / d->inner, (int64_t)b);
    break;
  }
}

double drawing_power(double t) {
  double k = floor(t);
  return ldexp(1 + (t - k), (int)k);
}

static double row_factor(const struct drawing *d, int64_t row) {
  uint32_t w[4];
  words(d, STREAM_ROW, row >> 2, 1, w);
  return drawing_power(-12 + 24 * unit(w[row & 3]));
}

// Elements [first, first + n) times their factors along one dimension.
static void scale_along(const struct draw_scale *s, int64_t first, int64_t n, double *out) {
  int64_t index = first / s->stride % s->extent, left = s->stride - first % s->stride;
  for (int64_t i = 0; i < n; i++) {
    out[i] *= s->factors[index];
    if (--left == 0) {
      left = s->stride;
      index = index + 1 < s->extent ? index + 1 : 0;
    }
  }
}

static void fold(const struct drawing *d, int64_t n, double *out) {
  double lo = d->r->distribution->fold_lo, width = d->r->distribution->fold_hi - lo;
  for (int64_t i = 0; i < n; i++) {
    double x = fabs(out[i]);
    out[i] = d->fold == FOLD_ABOVE ? lo + x : lo + width * (x / (1 + x));
  }
}

// Whether the row has elements in a stripe of another dimension than its own.
static bool in_stripe(const struct drawing *d, int64_t row) {
  for (int i = 0; i < d->n_stripes; i++) {
    const struct stripe *s = &d->stripes[i];
    if (s->stride >= d->columns && row * d->columns / s->stride % s->extent == s->index)
      return true;
  }
  return false;
}

static void draw_in_stripe(const struct drawing *d, int64_t at, double *out) {
  uint32_t w[4];
  double pair[2];
  words(d, STREAM_VALUE, at >> 2, 1, w);
  normal_pair(w + (at & 2), pair);
  *out = d->stripes_factor * pair[at & 1];
  if (d->fold)
    fold(d, 1, out);
}

static void draw_stripes(const struct drawing *d, int64_t first, int64_t n, double *out) {
  const struct stripe *last = d->n_stripes > 0 ? &d->stripes[d->n_stripes - 1] : NULL;
  const int64_t column = last && last->stride < d->columns ? last->index : -1;
  int64_t row = -1;
  bool whole = false;
  for (int64_t i = 0; i < n; i++) {
    if ((first + i) / d->columns != row)
      whole = in_stripe(d, row = (first + i) / d->columns);
    if (whole || first + i - row * d->columns == column)
      draw_in_stripe(d, first + i, out + i);
  }
}

// Elements [first, first + n), n <= CHUNK, of the draw before modifiers.
static void plain(const struct drawing *d, int64_t first, int64_t n, double *out) {
  double blocks[4 * CHUNK_BLOCKS];
  int64_t block = first >> 2, lane = first & 3;
  base_blocks(d, block, (int)(((first + n + 3) >> 2) - block), blocks);
  memcpy(out, blocks + lane, (size_t)n * sizeof *out);
  if (d->scaled)
    for (int64_t i = 0; i < n; i++)
      out[i] *= d->scale;
  if (d->row_scales) {
    int64_t row = -1;
    double factor = 1;
    for (int64_t i = 0; i < n; i++) {
      if ((first + i) / d->row != row)
        factor = row_factor(d, row = (first + i) / d->row);
      out[i] *= factor;
    }
  }
  for (int i = 0; d->scales && i < d->scales->n; i++)
    scale_along(&d->scales->along[i], first, n, out);
  if (d->striped)
    draw_stripes(d, first, n, out);
  else if (d->fold)
    fold(d, n, out);
}

// Element (row, column) of matrix `which`, regular or definite; x: the draw, with symmetry made.
static double well_placed(const struct drawing *d, int64_t which, int64_t row, int64_t column, double x) {
  const struct distribution *spec = d->r->distribution;
  bool mirrored = spec->symmetric || spec->definite;
  double y = x / ((spec->definite ? 1 : 1.5) * sqrt((mirrored ? 2.0 : 1.0) * (double)d->rows));
  bool in_place = spec->definite || spec->triu || spec->tril;
  int64_t one = in_place ? column : spec->symmetric ? d->rows - 1 - column : permuted(d, which, column, d->rows);
  bool no_pivot = !in_place && row == 0 && column == 0 && one != 0;
  return no_pivot ? 0 : row == one && column < d->rows ? y + 1 : y;
}

// Some modifiers look at the element's place in its matrix.
static void matrix_modifiers(const struct drawing *d, int64_t first, int64_t n, double *out) {
  const struct distribution *spec = d->r->distribution;
  int64_t matrix = d->rows * d->columns;
  for (int64_t i = 0; i < n; i++) {
    int64_t at = first + i, base = at / matrix * matrix, row = (at - base) / d->columns,
            column = (at - base) % d->columns;
    if ((spec->triu && row > column) || (spec->tril && row < column)) {
      out[i] = 0;
      continue;
    }
    if ((spec->symmetric || spec->definite) && row != column && d->rows == d->columns) {
      double mirrored;
      plain(d, base + column * d->columns + row, 1, &mirrored);
      // Addition commutes, so both elements of a pair get the same bits.
      out[i] = (out[i] + mirrored) / 2;
    }
    if (spec->regular || spec->definite)
      out[i] = well_placed(d, at / matrix, row, column, out[i]);
  }
}

static void store(const struct drawing *d, int64_t first, int64_t n, const double *values) {
  char *dst = (char *)d->dst + (size_t)(first - d->first) * dtype_bytes(d->r->type.dtype);
  if (dtype_is_float(d->r->type.dtype)) {
    dtype_from_f64(d->r->type.dtype, values, n, dst);
    return;
  }
  int64_t whole[CHUNK];
  for (int64_t i = 0; i < n; i++)
    whole[i] = (int64_t)values[i];
  dtype_from_i64(d->r->type.dtype, whole, n, dst);
}

// Body over chunks of CHUNK elements.
static void draw_chunks(void *arg, int64_t begin, int64_t end) {
  const struct drawing *d = arg;
  for (int64_t chunk = begin; chunk < end; chunk++) {
    double values[CHUNK];
    int64_t at = chunk * CHUNK, first = d->first + at, n = d->count - at < CHUNK ? d->count - at : CHUNK;
    plain(d, first, n, values);
    if (d->matrices)
      matrix_modifiers(d, first, n, values);
    store(d, first, n, values);
  }
}

// Body over rows: softmax needs a whole row, drawn three times (greatest value, sum, result) rather than kept.
static void draw_softmax_rows(void *arg, int64_t begin, int64_t end) {
  const struct drawing *d = arg;
  double values[CHUNK];
  for (int64_t row = begin; row < end; row++) {
    int64_t start = d->first + row * d->columns;
    double greatest = -INFINITY, sum = 0;
    for (int pass = 0; pass < 3; pass++)
      for (int64_t i = 0; i < d->columns; i += CHUNK) {
        int64_t n = d->columns - i < CHUNK ? d->columns - i : CHUNK;
        plain(d, start + i, n, values);
        for (int64_t k = 0; k < n; k++) {
          if (pass == 0)
            greatest = values[k] > greatest ? values[k] : greatest;
          else if (pass == 1)
            sum += exact_exp(values[k] - greatest);
          else
            values[k] = exact_exp(values[k] - greatest) / sum;
        }
        if (pass == 2)
          store(d, start + i, n, values);
      }
  }
}

// A number of the whole tensor.
static double tensor_unit(const struct drawing *d) {
  uint32_t w[4];
  words(d, STREAM_SCALE, 0, 1, w);
  return unit(w[0]);
}

// Whether the stripes of a key are not along the first dimension; otherwise they are not along the last.
static bool stripes_leave_first(uint64_t key) {
  enum { BLOCK_OF_ALL = (SHAPE_MAX_RANK + 3) / 4 };
  uint32_t which[4];
  philox4x32_run(key, BLOCK_OF_ALL, STREAM_STRIPES, 1, which);
  return which[0] & 1;
}

uint64_t distribution_other_stripes(uint64_t key) {
  uint64_t other = key;
  for (uint64_t i = 0; stripes_leave_first(other) == stripes_leave_first(key); i++)
    other = rng_secret(key, i);
  return other;
}

// One along each dimension but the first or the last, of all tensors of a question: a look at the beginning of a row
// meets a slice along the last dimension most easily, one at the beginning of a column that along the first.
static void choose_stripes(struct drawing *d) {
  const struct shape *shape = &d->r->type.shape;
  int64_t stride = shape_count(shape);
  for (int k = 0; k < shape->rank && stride > 0; k++) {
    const int64_t extent = shape->dims[k];
    uint32_t w[4];
    words(d, STREAM_STRIPES, k >> 2, 1, w);
    stride /= extent;
    if (extent > 1)
      d->stripes[d->n_stripes++] =
          (struct stripe){stride, extent, (int64_t)((uint64_t)w[k & 3] * (uint64_t)extent >> 32)};
  }
  if (d->n_stripes > 1) {
    d->n_stripes--;
    if (stripes_leave_first(d->r->key))
      memmove(d->stripes, d->stripes + 1, (size_t)d->n_stripes * sizeof *d->stripes);
  }
  d->striped = true;
  d->stripes_factor = row_factor(d, 0);
}

// What the request's probe draws instead of the declared distribution.
static void choose(struct drawing *d) {
  const struct draw_request *r = d->r;
  const struct distribution *spec = r->distribution;
  d->kind = spec->kind;
  d->a = r->a;
  d->b = r->b;
  d->scaled = spec->scaled;
  bool kept = spec->fixed || !dtype_is_float(r->type.dtype) || (spec->is_static && r->probe != PROBE_INTEGERS);
  d->scales = r->scales; // weights are as declared otherwise
  if (kept || r->probe == PROBE_DECLARED)
    return;
  d->fold = spec->fold;
  if (r->probe == PROBE_STRIPES) {
    choose_stripes(d);
    return;
  }
  d->scaled = false;
  d->kind = DIST_NORMAL;
  d->a = 0;
  d->b = 1;
  struct float_format format;
  switch (r->probe) {
  case PROBE_ROW_SCALES:
    d->row_scales = true;
    break;
  case PROBE_HEAVY_MEAN:
    d->a = 1000;
    break;
  case PROBE_INTEGERS:
    d->kind = DIST_INTEGERS;
    d->a = -4;
    d->b = 5;
    break;
  case PROBE_NEAR_OVERFLOW:
    d->kind = DIST_UNIFORM;
    d->a = -r->near_overflow;
    d->b = r->near_overflow;
    break;
  case PROBE_SUBNORMAL:
    d->kind = DIST_UNIFORM;
    dtype_float_format(r->type.dtype, &format);
    d->b = ldexp(1, format.min_exponent);
    d->a = -d->b;
    break;
  case PROBE_SMALL_SPREAD:
    d->b = drawing_power(-11 + 5 * tensor_unit(d));
    break;
  case PROBE_TINY:
    dtype_float_format(r->type.dtype, &format);
    d->b = drawing_power((0.8 + 0.08 * tensor_unit(d)) * format.min_exponent / (r->n_tiny > 1 ? r->n_tiny : 1));
    break;
  default:
    break;
  }
}

static bool takes_special(const struct draw_request *r) {
  const struct distribution *spec = r->distribution;
  return r->probe == PROBE_SPECIAL && dtype_is_float(r->type.dtype) && !spec->fixed && !spec->is_static;
}

bool drawing_special(const struct drawing *d, int64_t at[N_SPECIAL], double values[N_SPECIAL]) {
  static const double special[N_SPECIAL] = {NAN, INFINITY, -INFINITY};
  uint32_t w[4];
  if (!takes_special(d->r))
    return false;
  words(d, STREAM_SPECIAL, 0, 1, w);
  uint64_t count = (uint64_t)shape_count(&d->r->type.shape);
  for (int k = 0; k < N_SPECIAL; k++) {
    // count may be beyond 32 bits: the product's high part by halves.
    uint64_t low = w[k] * (count & UINT32_MAX);
    at[k] = (int64_t)(w[k] * (count >> 32) + (low >> 32));
    values[k] = special[k];
  }
  return true;
}

// A vector has rows of so many elements, or all would have one scale, and a function's branch far from 0 would be asked
// about by chance alone.
enum { VECTOR_ROW = 64 };

void drawing_resolve(const struct draw_request *r, struct drawing *out) {
  const struct distribution *spec = r->distribution;
  struct drawing d = {.r = r, .rows = 1, .columns = 1, .inner = 1};
  int rank = r->type.shape.rank;
  if (rank > 0)
    d.columns = r->type.shape.dims[rank - 1];
  if (rank > 1)
    d.rows = r->type.shape.dims[rank - 2];
  d.row = rank == 1 && d.columns > VECTOR_ROW ? VECTOR_ROW : d.columns;
  d.factors = d.row > 0 ? (shape_count(&r->type.shape) + d.row - 1) / d.row : 0;
  for (int i = 1; i < rank; i++)
    d.inner *= r->type.shape.dims[i];
  d.matrices = spec->symmetric || spec->triu || spec->tril || spec->regular || spec->definite;
  choose(&d);
  if (d.scaled)
    d.scale = spec->scale_lo + (spec->scale_hi - spec->scale_lo) * tensor_unit(&d);
  *out = d;
}

void distribution_draw(const struct draw_request *r, void *dst) {
  distribution_draw_part(r, 0, shape_count(&r->type.shape), dst);
}

void distribution_draw_part(const struct draw_request *r, int64_t first, int64_t count, void *dst) {
  struct drawing d;
  int64_t at[N_SPECIAL];
  double values[N_SPECIAL];
  if (count == 0)
    return;
  drawing_resolve(r, &d);
  d.dst = dst;
  d.first = first;
  d.count = count;
  if (r->distribution->softmax)
    parallel_for(r->threads, count / d.columns, 1, draw_softmax_rows, &d);
  else
    parallel_for(r->threads, (count + CHUNK - 1) / CHUNK, CHUNKS_PER_PIECE, draw_chunks, &d);
  if (drawing_special(&d, at, values))
    for (int k = 0; k < N_SPECIAL; k++)
      if (at[k] >= first && at[k] < first + count)
        store(&d, at[k], 1, &values[k]);
}
