// SPDX-License-Identifier: Apache-2.0
// Products of matrices in double. Stands after common.cuh and contraction_args.h.
//
// Wide products: both operands are first copied into panels of double, [panel][l][line], which makes every read of the
// product itself an aligned run of neighbours whatever the operands' types and strides were. A warp then takes one
// panel of 32 rows and one of 64 (or 32) columns, a thread 8 by 8 (or 8 by 4) elements of it, interleaved, so that all
// its reads are shared with its neighbours and come from the first cache. Where there are too few elements for the
// device, K is cut into splits.
// Narrow products: one thread takes a few terms of one line, with K always cut.
// Either way the parts land in a buffer and product_finish adds them in order.
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define UNROLL_TWICE _Pragma("unroll 2")
#define UNROLL_FOUR _Pragma("unroll 4")
#else
#define UNROLL_TWICE
#define UNROLL_FOUR
#endif

#define TILE_ROWS 8 // of a thread
#define TILE_COLUMNS 8 // of a thread, without squares
#define SQUARES_COLUMNS 4 // with: twice the sums to hold
#define ROW_LANES 4
#define COLUMN_LANES 8
#define PACK_DEPTH 8 // terms that a thread packs

DEVICE_FN int64_t axis_offset(const struct product_axis *x, int64_t i) {
  return x->table ? ((const int64_t *)x->table)[i] : i * x->stride;
}

KERNEL(product_table, struct product_table_args) {
  int64_t i = THREAD;
  if (i >= a->count)
    return;
  int64_t offset = 0, rest = i;
  for (int d = a->n - 1; d >= 0; d--) {
    int64_t next = rest / a->extent[d];
    offset += (rest - next * a->extent[d]) * a->stride[d];
    rest = next;
  }
  ((int64_t *)a->table)[i] = offset;
}

KERNEL(product_pack, struct product_pack_args) {
  int64_t blocks = (a->k + PACK_DEPTH - 1) / PACK_DEPTH;
  int64_t lane = THREAD % a->width, rest = THREAD / a->width;
  int64_t panel = rest / blocks, l = (rest - panel * blocks) * PACK_DEPTH;
  if (panel >= a->panels)
    return;
  int64_t batch = panel / a->panels_per_batch;
  int64_t line = (panel - batch * a->panels_per_batch) * a->width + lane;
  int64_t end = l + PACK_DEPTH < a->k ? l + PACK_DEPTH : a->k;
  double *to = (double *)a->to + (panel * a->k + l) * a->width + lane;
  if (line >= a->lines) {
    for (; l < end; l++, to += a->width)
      *to = 0;
    return;
  }
  int64_t at = axis_offset(&a->batch, a->first_batch + batch) + axis_offset(&a->line, a->first_line + line);
  for (; l < end; l++, to += a->width)
    *to = read_f64(&a->from, at + axis_offset(&a->depth, l));
}

// What a thread of a wide product works on.
struct tile {
  const double *a, *b; // first terms of its first row and column
  int64_t row, column, terms, out; // out: of y[split][batch][0][0]
};

// Warps that share panels are neighbours: a group of row panels, then the columns. terms is -1 beyond the last warp.
DEVICE_FN struct tile tile_of(const struct product_tile_args *a, int64_t thread, int columns) {
  int64_t lane = thread % 32, w = thread / 32, width = COLUMN_LANES * columns;
  int64_t groups = (a->a_panels + a->group - 1) / a->group;
  int64_t rest = w / a->group, row_panel = w - rest * a->group;
  w = rest / a->b_panels;
  int64_t column_panel = rest - w * a->b_panels;
  rest = w / groups;
  row_panel += (w - rest * groups) * a->group;
  int64_t split = rest / a->batches, batch = rest - split * a->batches, l = split * a->depth;
  struct tile t;
  t.row = row_panel * PRODUCT_A_WIDTH + lane / COLUMN_LANES;
  t.column = column_panel * width + lane % COLUMN_LANES;
  t.terms = a->k - l < a->depth ? a->k - l : a->depth;
  t.out = (split * a->batches + batch) * a->m * a->n;
  t.a = (const double *)a->a + ((batch * a->a_step + row_panel) * a->k + l) * PRODUCT_A_WIDTH + lane / COLUMN_LANES;
  t.b = (const double *)a->b + ((batch * a->b_step + column_panel) * a->k + l) * width + lane % COLUMN_LANES;
  if (t.terms < 0)
    t.terms = 0;
  if (split >= a->splits || row_panel >= a->a_panels)
    t.terms = -1;
  return t;
}

// One term of all rows and columns of a thread. The next term is read while the last one is worked on (at the end of
// the panels that is the last one again): few warps fit with so many sums, so reads must not be waited for.
#define TILE_READ(U, V)                                                                                                \
  UNROLL_ALL                                                                                                           \
  for (int r = 0; r < TILE_ROWS; r++)                                                                                  \
    U[r] = pa[r * ROW_LANES];                                                                                          \
  UNROLL_ALL                                                                                                           \
  for (int c = 0; c < TILE_COLUMNS; c++)                                                                               \
    V[c] = pb[c * COLUMN_LANES];

KERNEL(product_tile, struct product_tile_args) {
  struct tile t = tile_of(a, THREAD, TILE_COLUMNS);
  if (t.terms < 0)
    return;
  double y[TILE_ROWS][TILE_COLUMNS];
  UNROLL_ALL
  for (int r = 0; r < TILE_ROWS; r++) {
    UNROLL_ALL
    for (int c = 0; c < TILE_COLUMNS; c++)
      y[r][c] = 0;
  }
  double u[TILE_ROWS], v[TILE_COLUMNS];
  const double *pa = t.a, *pb = t.b;
  if (t.terms > 0) {
    TILE_READ(u, v)
  }
  UNROLL_TWICE
  for (int64_t l = 0; l < t.terms; l++) {
    double next_u[TILE_ROWS], next_v[TILE_COLUMNS];
    pa += l + 1 < t.terms ? PRODUCT_A_WIDTH : 0;
    pb += l + 1 < t.terms ? COLUMN_LANES * TILE_COLUMNS : 0;
    TILE_READ(next_u, next_v)
    UNROLL_ALL
    for (int r = 0; r < TILE_ROWS; r++) {
      UNROLL_ALL
      for (int c = 0; c < TILE_COLUMNS; c++)
        y[r][c] += u[r] * v[c];
    }
    UNROLL_ALL
    for (int r = 0; r < TILE_ROWS; r++)
      u[r] = next_u[r];
    UNROLL_ALL
    for (int c = 0; c < TILE_COLUMNS; c++)
      v[c] = next_v[c];
  }
  UNROLL_ALL
  for (int r = 0; r < TILE_ROWS; r++) {
    UNROLL_ALL
    for (int c = 0; c < TILE_COLUMNS; c++) {
      int64_t i = t.row + r * ROW_LANES, j = t.column + c * COLUMN_LANES;
      if (i < a->m && j < a->n)
        ((double *)a->y)[t.out + i * a->n + j] = y[r][c];
    }
  }
}

KERNEL(product_tile_squares, struct product_tile_args) {
  struct tile t = tile_of(a, THREAD, SQUARES_COLUMNS);
  if (t.terms < 0)
    return;
  double y[TILE_ROWS][SQUARES_COLUMNS], t2[TILE_ROWS][SQUARES_COLUMNS];
  UNROLL_ALL
  for (int r = 0; r < TILE_ROWS; r++) {
    UNROLL_ALL
    for (int c = 0; c < SQUARES_COLUMNS; c++)
      y[r][c] = t2[r][c] = 0;
  }
  const double *pa = t.a, *pb = t.b;
  UNROLL_TWICE
  for (int64_t l = 0; l < t.terms; l++) {
    double u[TILE_ROWS], v[SQUARES_COLUMNS];
    UNROLL_ALL
    for (int r = 0; r < TILE_ROWS; r++)
      u[r] = pa[r * ROW_LANES];
    UNROLL_ALL
    for (int c = 0; c < SQUARES_COLUMNS; c++)
      v[c] = pb[c * COLUMN_LANES];
    UNROLL_ALL
    for (int r = 0; r < TILE_ROWS; r++) {
      UNROLL_ALL
      for (int c = 0; c < SQUARES_COLUMNS; c++) {
        double p = u[r] * v[c];
        y[r][c] += p;
        t2[r][c] += p * p;
      }
    }
    pa += PRODUCT_A_WIDTH;
    pb += COLUMN_LANES * SQUARES_COLUMNS;
  }
  UNROLL_ALL
  for (int r = 0; r < TILE_ROWS; r++) {
    UNROLL_ALL
    for (int c = 0; c < SQUARES_COLUMNS; c++) {
      int64_t i = t.row + r * ROW_LANES, j = t.column + c * COLUMN_LANES;
      if (i < a->m && j < a->n) {
        ((double *)a->y)[t.out + i * a->n + j] = y[r][c];
        ((double *)a->t2)[t.out + i * a->n + j] = t2[r][c];
      }
    }
  }
}

// The terms of one thread of a narrow product; U and V read a's and b's element for term l (and column j).
#define NARROW_LOOP(U, V)                                                                                              \
  UNROLL_FOUR                                                                                                          \
  for (int64_t l = split; l < a->k; l += a->splits) {                                                                  \
    double u = U;                                                                                                      \
    UNROLL_ALL                                                                                                         \
    for (int j = 0; j < PRODUCT_NARROW; j++)                                                                           \
      if (j < narrow) {                                                                                                \
        double p = u * (V);                                                                                            \
        y[j] += p;                                                                                                     \
        t2[j] += p * p;                                                                                                \
      }                                                                                                                \
  }

KERNEL(product_narrow, struct product_narrow_args) {
  int64_t fast = a->by_depth ? a->splits : a->lines, slow = a->by_depth ? a->lines : a->splits;
  int64_t rest = THREAD / fast, first = THREAD - rest * fast, batch = rest / slow, second = rest - batch * slow;
  if (batch >= a->batches)
    return;
  int64_t split = a->by_depth ? first : second, line = a->by_depth ? second : first;
  int64_t from = axis_offset(&a->a_batch, batch) + axis_offset(&a->a_line, line);
  int narrow = (int)a->narrow;
  int64_t with[PRODUCT_NARROW];
  double y[PRODUCT_NARROW], t2[PRODUCT_NARROW];
  UNROLL_ALL
  for (int j = 0; j < PRODUCT_NARROW; j++) {
    y[j] = t2[j] = 0;
    with[j] = a->b.data && j < narrow ? axis_offset(&a->b_batch, batch) + axis_offset(&a->b_line, j) : 0;
  }
  bool plain = !a->a_depth.table && !a->b_depth.table && a->a.storage == STORAGE_F32;
  const float *pa = (const float *)a->a.data + from, *pb = (const float *)a->b.data;
  int64_t a_step = a->a_depth.stride, b_step = a->b_depth.stride;
  if (plain && !pb) {
    NARROW_LOOP((double)pa[l * a_step], 1.0)
  } else if (plain && a->b.storage == STORAGE_F32) {
    NARROW_LOOP((double)pa[l * a_step], (double)pb[with[j] + l * b_step])
  } else {
    NARROW_LOOP(read_f64(&a->a, from + axis_offset(&a->a_depth, l)),
                pb ? read_f64(&a->b, with[j] + axis_offset(&a->b_depth, l)) : 1.0)
  }
  int64_t to = (split * a->batches + batch) * a->lines * a->narrow + line * a->out_line;
  UNROLL_ALL
  for (int j = 0; j < PRODUCT_NARROW; j++)
    if (j < narrow) {
      ((double *)a->y)[to + j * a->out_narrow] = y[j];
      if (a->t2)
        ((double *)a->t2)[to + j * a->out_narrow] = t2[j];
    }
}

KERNEL(product_finish, struct product_finish_args) {
  int64_t e = THREAD, count = a->batches * a->rows * a->columns;
  if (e >= count)
    return;
  int64_t rest = e / a->columns, j = a->first_column + e - rest * a->columns, batch = rest / a->rows;
  int64_t i = a->first_row + rest - batch * a->rows, at = ((a->first_batch + batch) * a->m + i) * a->n + j;
  double y = 0, t2 = 0;
  for (int64_t s = 0; s < a->splits; s++) {
    y += ((const double *)a->y)[s * count + e];
    if (a->t2)
      t2 += ((const double *)a->t2)[s * count + e];
  }
  struct noise noise = noise_at(a->arith.key, (uint64_t)at);
  double start = a->t2 ? start_at(&a->start, at) : 0;
  if (a->sigma)
    ((float *)a->sigma)[at] = (float)sqrt(arith_sum_variance_from(&a->arith, start, y, t2, a->terms, a->products));
  else
    y = arith_sum_from(&a->arith, &noise, start, y, t2, a->terms, a->products);
  if (a->alpha != 1)
    y = arith_round(&a->arith, &noise, a->alpha * y);
  if (a->c.data) {
    double c = read_f64(&a->c, i * a->c_row + j * a->c_column);
    if (a->beta != 1)
      c = arith_round(&a->arith, &noise, a->beta * c);
    y = arith_round(&a->arith, &noise, y + c);
  }
  ((double *)a->out)[at] = y;
}

// An integer as its type holds it (loops_wrap); bits 0: bool.
DEVICE_FN int64_t integer_wrap(uint64_t value, int32_t bits, int32_t is_signed) {
  if (bits == 0)
    return value != 0;
  if (bits >= 64)
    return (int64_t)value;
  uint64_t mask = ((uint64_t)1 << bits) - 1, sign = (uint64_t)1 << (bits - 1);
  value &= mask;
  return is_signed && (value & sign) ? (int64_t)(value | ~mask) : (int64_t)value;
}

KERNEL(product_integer, struct product_integer_args) {
  int64_t rest = THREAD / a->n, j = THREAD - rest * a->n, batch = rest / a->m, i = rest - batch * a->m;
  if (batch >= a->batches)
    return;
  int64_t from = axis_offset(&a->a_batch, batch) + i * a->k, with = axis_offset(&a->b_batch, batch) + j;
  uint64_t a_zero = a->a_zero.data ? (uint64_t)read_i64(&a->a_zero, i * a->a_zero_step) : 0;
  uint64_t b_zero = a->b_zero.data ? (uint64_t)read_i64(&a->b_zero, j * a->b_zero_step) : 0, sum = 0;
  for (int64_t l = 0; l < a->k; l++)
    sum += ((uint64_t)read_i64(&a->a, from + l) - a_zero) * ((uint64_t)read_i64(&a->b, with + l * a->n) - b_zero);
  ((int64_t *)a->out)[(batch * a->m + i) * a->n + j] = integer_wrap(sum, a->wrap_bits, a->wrap_signed);
}

// Where index `index` of labels [first, last) lies in an operand.
DEVICE_FN int64_t label_offset(const int64_t *extents, const int64_t *strides, int first, int last, int64_t index) {
  int64_t offset = 0;
  for (int d = last - 1; d >= first; d--) {
    int64_t next = index / extents[d];
    offset += (index - next * extents[d]) * strides[d];
    index = next;
  }
  return offset;
}

KERNEL(product_einsum_integer, struct product_einsum_args) {
  int64_t i = THREAD;
  if (i >= a->count)
    return;
  const int64_t *extents = (const int64_t *)a->extents, *strides = (const int64_t *)a->strides;
  uint64_t sum = 0;
  for (int64_t k = 0; k < a->terms; k++) {
    uint64_t product = 1;
    for (int o = 0; o < a->n_in; o++) {
      const int64_t *own = strides + (int64_t)o * a->n_labels;
      int64_t at = label_offset(extents, own, 0, a->n_out_labels, i) +
                   label_offset(extents, own, a->n_out_labels, a->n_labels, k);
      product *= (uint64_t)read_i64(&a->in[o], at);
    }
    sum += product;
  }
  ((int64_t *)a->out)[i] = integer_wrap(sum, a->wrap_bits, a->wrap_signed);
}
