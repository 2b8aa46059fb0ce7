// SPDX-License-Identifier: Apache-2.0
// Elements picked and placed by index, as ops/gather.c and ops/scatter.c.

// The index at `at`, negative from the end of a dimension; outside of it -1, and its place is noted.
DEVICE_FN int64_t resolve(const struct gpu_ref *indices, int64_t at, int64_t extent, uint64_t bad) {
  int64_t i = read_i64(indices, at);
  if (i < -extent || i >= extent) {
    ATOMIC_MIN_U64((uint64_t *)bad, (uint64_t)at);
    return -1;
  }
  return i < 0 ? i + extent : i;
}

KERNEL(gather_slices, struct gather_args) {
  int64_t t = THREAD;
  if (t >= a->count)
    return;
  int64_t unit = t / a->inner, in = t - unit * a->inner, outer = unit / a->n_indices;
  int64_t i = resolve(&a->indices, unit - outer * a->n_indices, a->extent, a->bad);
  if (i >= 0)
    ((uint64_t *)a->y)[t] = read_bits(&a->x, (outer * a->extent + i) * a->inner + in);
}

// The offset in the data that element t of the indices names; -1 outside.
DEVICE_FN int64_t element_offset(const struct element_args *a, int64_t t) {
  int64_t offset, i = resolve(&a->indices, t, a->extent, a->bad);
  walk_find(&a->walk, 1, t, &offset);
  return i < 0 ? -1 : offset + i * a->stride;
}

KERNEL(gather_elements, struct element_args) {
  int64_t t = THREAD;
  if (t >= a->walk.count)
    return;
  int64_t at = element_offset(a, t);
  if (at >= 0)
    ((uint64_t *)a->y)[t] = read_bits(&a->x, at);
}

DEVICE_FN int64_t tuple_offset(const struct tuple_args *a, int64_t t) {
  int64_t offset = t / a->per_batch * a->batch_size;
  for (int k = 0; k < a->tuple; k++) {
    int64_t i = resolve(&a->indices, t * a->tuple + k, a->extents[k], a->bad);
    if (i < 0)
      return -1;
    offset += i * a->strides[k];
  }
  return offset;
}

KERNEL(gather_tuples, struct tuple_args) {
  int64_t t = THREAD;
  if (t >= a->count)
    return;
  int64_t unit = t / a->inner, at = tuple_offset(a, unit);
  if (at >= 0)
    ((uint64_t *)a->y)[t] = read_bits(&a->x, at + t - unit * a->inner);
}

KERNEL(gather_one_hot, struct one_hot_args) {
  int64_t t = THREAD;
  if (t >= a->count)
    return;
  int64_t in = t % a->inner, place = t / a->inner % a->depth, outer = t / a->inner / a->depth;
  double index = trunc(read_f64(&a->indices, outer * a->inner + in));
  index = index < 0 ? index + (double)a->depth : index;
  int hot = index >= 0 && index < (double)a->depth && (int64_t)index == place; // beyond it no element is hot
  ((uint64_t *)a->y)[t] = read_bits(&a->values, hot);
}

DEVICE_FN void put_target(uint64_t keys, uint64_t values, int64_t t, int64_t offset) {
  ((uint64_t *)keys)[t] = offset < 0 ? ~(uint64_t)0 : (uint64_t)offset;
  ((int64_t *)values)[t] = t;
}

KERNEL(scatter_element_targets, struct scatter_element_args) {
  int64_t t = THREAD;
  if (t < a->padded)
    put_target(a->keys, a->values, t, t < a->e.walk.count ? element_offset(&a->e, t) : -1);
}

KERNEL(scatter_tuple_targets, struct scatter_tuple_args) {
  int64_t t = THREAD;
  if (t < a->padded)
    put_target(a->keys, a->values, t, t < a->t.n_tuples ? tuple_offset(&a->t, t) : -1);
}

DEVICE_FN double combine(int reduction, double old, double update) {
  switch (reduction) {
  case SCATTER_ADD:
    return old + update;
  case SCATTER_MUL:
    return old * update;
  case SCATTER_MAX:
    return update > old || IS_NAN(update) ? update : old;
  case SCATTER_MIN:
    return update < old || IS_NAN(update) ? update : old;
  default:
    return update;
  }
}

DEVICE_FN uint64_t combine_integers(const struct scatter_args *a, uint64_t old, uint64_t update) {
  int less = a->is_unsigned64 ? update < old : (int64_t)update < (int64_t)old;
  switch (a->reduction) {
  case SCATTER_ADD:
    return (uint64_t)rows_wrap(a->dtype, old + update);
  case SCATTER_MUL:
    return (uint64_t)rows_wrap(a->dtype, old * update);
  case SCATTER_MAX:
    return less ? old : update;
  case SCATTER_MIN:
    return less ? update : old;
  default:
    return update;
  }
}

// The thread of a target's first update puts all of them; without a reduction that of the last one puts it, since all but
// a few updates may go to one place. Sums and products round at every step, as atomics do.
KERNEL(scatter_put, struct scatter_args) {
  int64_t t = THREAD;
  if (t >= a->n * a->inner)
    return;
  const uint64_t *keys = (const uint64_t *)a->keys;
  int64_t p = t / a->inner, in = t - p * a->inner;
  uint64_t target = keys[p];
  int64_t beside = a->reduction == SCATTER_NONE ? p + 1 : p - 1;
  if (target == ~(uint64_t)0 || (beside >= 0 && beside < a->n && keys[beside] == target))
    return;
  uint64_t y = ((uint64_t *)a->y)[target + (uint64_t)in];
  for (; p < a->n && keys[p] == target; p++) {
    int64_t from = ((const int64_t *)a->values)[p] * a->inner + in;
    if (a->reduction == SCATTER_NONE) {
      y = read_bits(&a->updates, from);
    } else if (a->is_float) {
      struct noise n = noise_at(a->arith.key, (uint64_t)from);
      double v = combine(a->reduction, F64_OF_BITS(y), read_f64(&a->updates, from));
      y = F64_BITS(arith_round(&a->arith, &n, v));
    } else {
      y = combine_integers(a, y, (uint64_t)read_i64(&a->updates, from));
    }
  }
  ((uint64_t *)a->y)[target + (uint64_t)in] = y;
}
