// SPDX-License-Identifier: Apache-2.0
// Elements in other places, as ops/movement.c, slice.c and constant.c; and the bits of integers, as ops/logic.c.

KERNEL(move_strided, struct move_args) {
  int64_t i = THREAD, at[2];
  if (i >= a->walk.count)
    return;
  walk_find(&a->walk, 2, i, at);
  ((uint64_t *)a->y)[a->y_begin + at[0]] = read_bits(&a->x, a->x_begin + at[1]);
}

// Which element of a dimension of `extent` stands at place i, that may lie outside; -1: none does.
DEVICE_FN int64_t pad_source(int mode, int64_t i, int64_t extent) {
  if (i >= 0 && i < extent)
    return i;
  if (mode == MOVE_PAD_EDGE)
    return i < 0 ? 0 : extent - 1;
  if (mode == MOVE_PAD_CONSTANT)
    return -1;
  // Reflected, the border elements are not repeated.
  int64_t period = mode == MOVE_PAD_WRAP ? extent : extent == 1 ? 1 : 2 * (extent - 1);
  i %= period;
  i = i < 0 ? i + period : i;
  return i < extent ? i : period - i;
}

KERNEL(move_pad, struct pad_args) {
  int64_t i = THREAD, rest = i, from = 0;
  int outside = 0;
  if (i >= a->count)
    return;
  for (int d = a->rank - 1; d >= 0; d--) {
    int64_t at = pad_source(a->mode, rest % a->dims[d] - a->before[d], a->extents[d]);
    rest /= a->dims[d];
    outside |= at < 0;
    from += at * a->strides[d];
  }
  uint64_t fill = a->value;
  if (outside && a->fill.data)
    fill = read_bits(&a->fill, 0);
  ((uint64_t *)a->y)[i] = outside ? fill : read_bits(&a->x, from);
}

KERNEL(move_trilu, struct diagonal_args) {
  int64_t i = THREAD;
  if (i >= a->count)
    return;
  int64_t column = i % a->columns, diagonal = i / a->columns % a->rows + a->k;
  int kept = a->upper ? column >= diagonal : column <= diagonal;
  ((uint64_t *)a->y)[i] = kept ? read_bits(&a->x, i) : 0; // zero is all zero bits, also in a double
}

KERNEL(move_eye, struct diagonal_args) {
  int64_t i = THREAD;
  if (i >= a->count)
    return;
  int64_t column = i % a->columns, row = i / a->columns;
  ((uint64_t *)a->y)[i] = column - row == a->k ? a->one : 0;
}

KERNEL(move_reverse, struct reverse_args) {
  int64_t i = THREAD;
  if (i >= a->count)
    return;
  int64_t in = i % a->inner, second = a->time_first ? a->n_batch : a->n_time;
  int64_t low = i / a->inner % second, high = i / a->inner / second;
  int64_t time = a->time_first ? high : low, batch = a->time_first ? low : high;
  int64_t length = read_i64(&a->lengths, batch);
  if (length < 0 || length > a->n_time) {
    ATOMIC_MIN_U64((uint64_t *)a->bad, (uint64_t)batch);
    return;
  }
  int64_t source = time < length ? length - 1 - time : time;
  int64_t from = a->time_first ? source * a->n_batch + batch : batch * a->n_time + source;
  ((uint64_t *)a->y)[i] = read_bits(&a->x, from * a->inner + in);
}

KERNEL(move_fill, struct fill_args) {
  int64_t i = THREAD;
  if (i < a->count)
    ((uint64_t *)a->y)[i] = a->word;
}

// start + i * delta, which rounds twice.
KERNEL(move_range, struct range_args) {
  int64_t i = THREAD;
  if (i >= a->count)
    return;
  struct noise n = noise_at(a->arith.key, (uint64_t)i);
  if (storage_is_float(a->start.storage)) {
    double step = arith_round(&a->arith, &n, (double)i * read_f64(&a->delta, 0));
    ((double *)a->y)[i] = arith_round(&a->arith, &n, read_f64(&a->start, 0) + step);
  } else {
    ((uint64_t *)a->y)[i] = (uint64_t)read_i64(&a->start, 0) + (uint64_t)i * (uint64_t)read_i64(&a->delta, 0);
  }
}

// Shifting by the type's width or more shifts everything out.
DEVICE_FN uint64_t shift_right(const struct bits_args *a, uint64_t x, uint64_t by) {
  uint64_t sign = (int64_t)x < 0 && !a->is_unsigned64 ? ~(uint64_t)0 : 0;
  if (by >= (uint64_t)a->width)
    return sign;
  return by == 0 ? x : x >> by | sign << (64 - by);
}

KERNEL(move_bits, struct bits_args) {
  int64_t i = THREAD, at[2];
  if (i >= a->walk.count)
    return;
  walk_find(&a->walk, 2, i, at);
  uint64_t x = (uint64_t)read_i64(&a->x, at[0]), z = a->z.data ? (uint64_t)read_i64(&a->z, at[1]) : 0, y = ~x;
  if (a->kind == BITS_AND)
    y = x & z;
  else if (a->kind == BITS_OR)
    y = x | z;
  else if (a->kind == BITS_XOR)
    y = x ^ z;
  else if (a->kind == BITS_LEFT)
    y = z >= (uint64_t)a->width ? 0 : x << z;
  else if (a->kind == BITS_RIGHT)
    y = shift_right(a, x, z);
  ((int64_t *)a->y)[i] = rows_wrap(a->dtype, y);
}
