// SPDX-License-Identifier: Apache-2.0
// Drawing on a device: task/draw.c once more, one thread for the four elements of a Philox block. The order of
// operations is that of distribution.h; the program is compiled without contraction.

// As enum distribution_kind.
#define KIND_UNIFORM 0
#define KIND_NORMAL 1
#define KIND_SLASH 2
#define KIND_CONSTANT 3
#define KIND_INTEGERS 4
#define KIND_BERNOULLI 5
#define KIND_SIGNS 6
#define KIND_PERMUTATION 7
#define KIND_SEEDS 8
#define KIND_PARTITION 9

// As enum fold.
#define FOLD_TO_ABOVE 1
#define FOLD_TO_BETWEEN 2

#define WORDS_VALUE 0u
#define WORDS_SECOND 1u
#define WORDS_SCALE 2u
#define WORDS_ROW 3u
#define WORDS_PERMUTED 8u

DEVICE_FN void draw_words(const struct draw_args *a, uint32_t stream, int64_t block, uint32_t *out) {
  uint32_t c0 = (uint32_t)block, c1 = (uint32_t)((uint64_t)block >> 32), c2 = stream, c3 = (uint32_t)a->input;
  uint32_t k0 = (uint32_t)a->key, k1 = (uint32_t)(a->key >> 32);
  for (int round = 0; round < 10; round++) {
    uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
    c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    c1 = (uint32_t)p1;
    c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c3 = (uint32_t)p0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

DEVICE_FN double draw_unit(uint32_t word) {
  return (double)(word >> 8) * 0x1p-24;
}

DEVICE_FN void draw_normal_pair(const uint32_t *w, double *out) {
  double r = sqrt(-2 * exact_log(((double)w[0] + 1) * 0x1p-32));
  double c, s;
  exact_cos_sin(w[1], &c, &s);
  out[0] = r * c;
  out[1] = r * s;
}

DEVICE_FN double draw_permuted(const struct draw_args *a, int64_t which, int64_t i, int64_t n) {
  int half = 0;
  while ((1LL << (2 * half)) < n)
    half++;
  uint64_t mask = (1ULL << half) - 1, x = (uint64_t)(i % n);
  do {
    uint64_t upper = x >> half, lower = x & mask;
    for (int k = 0; k < 4; k++) {
      uint32_t w[4];
      draw_words(a, WORDS_PERMUTED + (uint32_t)k, (int64_t)((uint64_t)which << 16 | lower), w);
      uint64_t next = (upper ^ w[0]) & mask;
      upper = lower;
      lower = next;
    }
    x = upper << half | lower;
  } while (x >= (uint64_t)n);
  return (double)x;
}

DEVICE_FN double draw_parted(const struct draw_args *a, int64_t at, double total) {
  int64_t row = at / a->columns * a->columns;
  double sum = 0, part = 0;
  uint32_t w[4];
  for (int64_t i = row; i < row + a->columns; i++) {
    if (i == row || (i & 3) == 0)
      draw_words(a, WORDS_VALUE, i >> 2, w);
    uint32_t word = (i & 2) ? ((i & 1) ? w[3] : w[2]) : ((i & 1) ? w[1] : w[0]);
    sum -= exact_log(((double)word + 1) * 0x1p-32);
    part = i <= at ? sum : part;
  }
  return sum > 0 ? floor(part / sum * total + 0.5) : total;
}

// The four elements of a block, before modifiers but scaled.
DEVICE_FN void draw_block(const struct draw_args *a, int64_t block, double *out) {
  uint32_t w[4], v[4];
  draw_words(a, WORDS_VALUE, block, w);
  if (a->kind == KIND_NORMAL) {
    draw_normal_pair(w, out);
    draw_normal_pair(w + 2, out + 2);
  } else if (a->kind == KIND_SLASH) {
    draw_words(a, WORDS_SECOND, block, v);
  } else if (a->kind == KIND_SEEDS) {
    draw_words(a, WORDS_SCALE, 0, v);
  }
  for (int i = 0; i < 4; i++) {
    if (a->kind == KIND_UNIFORM)
      out[i] = a->a + (a->b - a->a) * draw_unit(w[i]);
    else if (a->kind == KIND_NORMAL)
      out[i] = a->a + a->b * out[i];
    else if (a->kind == KIND_SLASH)
      out[i] = a->a * (2 * draw_unit(w[i]) - 1) / (((double)(v[i] >> 8) + 1) * 0x1p-24);
    else if (a->kind == KIND_CONSTANT)
      out[i] = a->a;
    else if (a->kind == KIND_INTEGERS)
      out[i] = a->a + (double)(w[i] * (uint64_t)(a->b - a->a) >> 32);
    else if (a->kind == KIND_BERNOULLI)
      out[i] = (double)w[i] * 0x1p-32 < a->a ? 1.0 : 0.0;
    else if (a->kind == KIND_SIGNS)
      out[i] = w[i] >> 31 ? -1.0 : 1.0;
    else if (a->kind == KIND_SEEDS)
      out[i] = (double)(w[i] & 1 ? v[0] ^ ((v[2] | 0x1000u) & 0xfffff000u) : v[0]) * 0x1p20 + (double)(v[1] >> 12) +
               (double)(w[i] >> 1 & 1);
    else if (a->kind == KIND_PARTITION)
      out[i] = draw_parted(a, 4 * block + i, a->b);
    else
      out[i] = draw_permuted(a, (4 * block + i) % a->inner, (4 * block + i) / a->inner, (int64_t)a->b);
    if (a->scaled)
      out[i] *= a->scale;
  }
}

DEVICE_FN int draw_in_stripe(const struct draw_args *a, int64_t at) {
  for (int i = 0; i < a->n_stripes; i++)
    if (at / a->stripes[i].stride % a->stripes[i].extent == a->stripes[i].index)
      return 1;
  return 0;
}

DEVICE_FN double draw_of_stripe(const struct draw_args *a, int64_t at) {
  uint32_t w[4], half[2];
  double pair[2];
  draw_words(a, WORDS_VALUE, at >> 2, w);
  half[0] = (at & 2) ? w[2] : w[0];
  half[1] = (at & 2) ? w[3] : w[1];
  draw_normal_pair(half, pair);
  return a->stripes_factor * ((at & 1) ? pair[1] : pair[0]);
}

DEVICE_FN double draw_scaled(const struct draw_args *a, int64_t at, double x) {
  if (a->row_scales)
    x *= ((const double *)a->scales)[at / a->row];
  for (int i = 0; i < a->n_along; i++)
    x *= ((const double *)a->along[i].factors)[at / a->along[i].stride % a->along[i].extent];
  return x;
}

// What stands in a stripe; times its factors; and folded.
DEVICE_FN double draw_placed(const struct draw_args *a, int64_t at, double x) {
  if (a->striped && !draw_in_stripe(a, at))
    return x;
  x = a->striped ? draw_of_stripe(a, at) : x;
  x = draw_scaled(a, at, x);
  if (a->fold == FOLD_TO_ABOVE)
    return a->fold_lo + fabs(x);
  if (a->fold == FOLD_TO_BETWEEN)
    return a->fold_lo + (a->fold_hi - a->fold_lo) * (fabs(x) / (1 + fabs(x)));
  return x;
}

// Element `at` alone.
DEVICE_FN double draw_plain(const struct draw_args *a, int64_t at) {
  double out[4];
  draw_block(a, at >> 2, out);
  double x = (at & 2) ? ((at & 1) ? out[3] : out[2]) : ((at & 1) ? out[1] : out[0]);
  return draw_placed(a, at, x);
}

DEVICE_FN double draw_modified(const struct draw_args *a, int64_t at, double x) {
  int64_t matrix = a->rows * a->columns, base = at / matrix * matrix;
  int64_t row = (at - base) / a->columns, column = (at - base) % a->columns;
  if ((a->triu && row > column) || (a->tril && row < column))
    return 0;
  if ((a->symmetric || a->definite) && row != column && a->rows == a->columns)
    x = (x + draw_plain(a, base + column * a->columns + row)) / 2;
  if (!a->regular && !a->definite)
    return x;
  int mirrored = a->symmetric || a->definite, in_place = a->definite || a->triu || a->tril;
  double y = x / ((a->definite ? 1 : 1.5) * sqrt((mirrored ? 2.0 : 1.0) * (double)a->rows));
  int64_t one = in_place       ? column
                : a->symmetric ? a->rows - 1 - column
                               : (int64_t)draw_permuted(a, at / matrix, column, a->rows);
  if (!in_place && row == 0 && column == 0 && one != 0)
    return 0;
  return row == one && column < a->rows ? y + 1 : y;
}

DEVICE_FN float draw_rounded(double x) {
  return fabs(x) >= 0x1.ffffffp127 ? F32_OF_BITS(x < 0 ? 0xff800000u : 0x7f800000u) : (float)x;
}

DEVICE_FN void draw_store(const struct draw_args *a, int64_t at, double x) {
  if (a->storage == DRAW_F32) {
    ((float *)a->dst)[at] = draw_rounded(x);
    return;
  }
  if (a->storage == DRAW_F64) {
    ((double *)a->dst)[at] = x;
    return;
  }
  uint64_t bits = a->storage == DRAW_SMALL ? format_encode(x, a->exponent_bits, a->mantissa_bits, a->finite_only) : (uint64_t)(int64_t)x;
  if (a->storage == DRAW_BOOL)
    bits = bits != 0;
  if (a->bytes == 1)
    ((uint8_t *)a->dst)[at] = (uint8_t)bits;
  else if (a->bytes == 2)
    ((uint16_t *)a->dst)[at] = (uint16_t)bits;
  else if (a->bytes == 4)
    ((uint32_t *)a->dst)[at] = (uint32_t)bits;
  else
    ((uint64_t *)a->dst)[at] = bits;
}

struct draw_four {
  float x[4];
} __attribute__((aligned(16))); // is stored at once

// A thread for each block of four elements.
KERNEL(draw_elements, struct draw_args) {
  int64_t block = THREAD, first = 4 * block;
  double out[4];
  if (first >= a->count)
    return;
  draw_block(a, block, out);
  int modified = a->matrices;
  if (a->storage == DRAW_F32 && !modified && first + 4 <= a->count && a->dst % 16 == 0) {
    struct draw_four four;
    for (int i = 0; i < 4; i++)
      four.x[i] = draw_rounded(draw_placed(a, first + i, out[i]));
    ((struct draw_four *)a->dst)[block] = four;
    return;
  }
  for (int i = 0; i < 4; i++) {
    if (first + i >= a->count)
      return;
    double x = draw_placed(a, first + i, out[i]);
    if (modified)
      x = draw_modified(a, first + i, x);
    draw_store(a, first + i, x);
  }
}

// A thread for each factor of a row.
KERNEL(draw_factors, struct draw_args) {
  int64_t row = THREAD;
  uint32_t w[4];
  if (row >= a->factors)
    return;
  draw_words(a, WORDS_ROW, row >> 2, w);
  uint32_t word = (row & 2) ? ((row & 1) ? w[3] : w[2]) : ((row & 1) ? w[1] : w[0]);
  double t = 12 * (2 * draw_unit(word) - 1), k = floor(t);
  ((double *)a->scales)[row] = ldexp(1 + (t - k), (int)k);
}

// A thread for each row: the sum's order is part of the definition.
KERNEL(draw_softmax_rows, struct draw_args) {
  int64_t row = THREAD;
  if (row >= a->count / a->columns)
    return;
  double greatest = -F64_INFINITY, sum = 0, out[4];
  for (int pass = 0; pass < 3; pass++) {
    int64_t block = -1;
    for (int64_t i = 0; i < a->columns; i++) {
      int64_t at = row * a->columns + i;
      if (at >> 2 != block) {
        block = at >> 2;
        draw_block(a, block, out);
      }
      double x = draw_placed(a, at, (at & 2) ? ((at & 1) ? out[3] : out[2]) : ((at & 1) ? out[1] : out[0]));
      if (pass == 0)
        greatest = x > greatest ? x : greatest;
      else if (pass == 1)
        sum += exact_exp(x - greatest);
      else
        draw_store(a, at, exact_exp(x - greatest) / sum);
    }
  }
}
