// SPDX-License-Identifier: Apache-2.0
// Running sums and products, as ops/scan.c: the totals of chunks, what lies before each chunk, then every element from
// there on. Sums are kept exact, with their squares, and get their error at each element; products round at each step.

struct running {
  struct scan_total t;
  struct noise noise;
};

DEVICE_FN int is_float(int kind) { return kind == SCAN_SUM || kind == SCAN_PRODUCT; }

DEVICE_FN struct running running_start(int kind, uint64_t key, int64_t stream) {
  struct running r;
  r.noise = noise_at(key, (uint64_t)stream);
  r.t.t2 = 0;
  r.t.value = kind == SCAN_PRODUCT ? F64_BITS(1.0) : kind == SCAN_PRODUCT_INTEGERS ? 1 : 0;
  return r;
}

// Takes in an element or the total of a stretch.
DEVICE_FN void running_step(int kind, const struct gpu_arith *a, struct running *r, uint64_t value, double t2) {
  if (kind == SCAN_SUM_INTEGERS)
    r->t.value += value;
  else if (kind == SCAN_PRODUCT_INTEGERS)
    r->t.value *= value;
  else if (kind == SCAN_SUM)
    r->t.value = F64_BITS(F64_OF_BITS(r->t.value) + F64_OF_BITS(value));
  else
    r->t.value = F64_BITS(arith_round(a, &r->noise, F64_OF_BITS(r->t.value) * F64_OF_BITS(value)));
  r->t.t2 += t2;
}

DEVICE_FN void step_element(int kind, const struct scan_args *a, struct running *r, int64_t at) {
  if (!is_float(kind)) {
    running_step(kind, &a->arith, r, (uint64_t)read_i64(&a->x, at), 0);
    return;
  }
  double x = read_f64(&a->x, at);
  running_step(kind, &a->arith, r, F64_BITS(x), x * x);
}

// What the running total is as an element of the result; `terms` were taken in.
DEVICE_FN uint64_t element_of(int kind, const struct scan_args *a, struct running *r, int64_t terms) {
  if (!is_float(kind))
    return (uint64_t)rows_wrap(a->dtype, r->t.value);
  if (kind == SCAN_PRODUCT)
    return r->t.value;
  double y = F64_OF_BITS(r->t.value);
  return F64_BITS(arith_sum(&a->arith, &r->noise, y, r->t.t2, (double)terms, false));
}

DEVICE_FN int64_t chunk_end(const struct scan_args *a, int64_t chunk) {
  int64_t end = (chunk + 1) * a->chunk;
  return end < a->rows.length ? end : a->rows.length;
}

// The offset of a position of the row, counted in the scan's direction.
DEVICE_FN int64_t offset_at(const struct scan_args *a, int64_t begin, int64_t k) {
  int64_t at = a->reverse ? a->rows.length - 1 - k : k;
  return begin + (a->rows.n_reduced ? at * a->rows.reduced_stride[0] : 0);
}

DEVICE_FN void totals(int kind, const struct scan_args *a, int64_t t) {
  int64_t row, chunk;
  if (t >= a->rows.count * a->chunks)
    return;
  rows_place(t, a->row_fastest, a->rows.count, a->chunks, &row, &chunk);
  struct running r = running_start(kind, a->arith.key ^ 0x9E3779B97F4A7C15u, t);
  int64_t begin = rows_begin(&a->rows, row), end = chunk_end(a, chunk);
  for (int64_t k = chunk * a->chunk; k < end; k++)
    step_element(kind, a, &r, offset_at(a, begin, k));
  ((struct scan_total *)a->totals)[t] = r.t;
}

DEVICE_FN void elements(int kind, const struct scan_args *a, int64_t t) {
  int64_t row, chunk;
  if (t >= a->rows.count * a->chunks)
    return;
  rows_place(t, a->row_fastest, a->rows.count, a->chunks, &row, &chunk);
  struct running r = running_start(kind, a->arith.key, t);
  if (a->totals)
    r.t = ((const struct scan_total *)a->totals)[t];
  int64_t begin = rows_begin(&a->rows, row), end = chunk_end(a, chunk);
  uint64_t *y = (uint64_t *)a->y;
  for (int64_t k = chunk * a->chunk; k < end; k++) {
    int64_t at = offset_at(a, begin, k);
    if (a->exclusive)
      y[at] = element_of(kind, a, &r, k);
    step_element(kind, a, &r, at);
    if (!a->exclusive)
      y[at] = element_of(kind, a, &r, k + 1);
  }
}

#define SCAN_KERNELS(name, kind)                                                                                       \
  KERNEL(scan_totals_##name, struct scan_args) { totals(kind, a, THREAD); }                                            \
  KERNEL(scan_##name, struct scan_args) { elements(kind, a, THREAD); }
SCAN_KERNELS(sum, SCAN_SUM)
SCAN_KERNELS(product, SCAN_PRODUCT)
SCAN_KERNELS(sum_integers, SCAN_SUM_INTEGERS)
SCAN_KERNELS(product_integers, SCAN_PRODUCT_INTEGERS)

DEVICE_FN int64_t level_at(const struct scan_level_args *a, int64_t row, int64_t i, int64_t n) {
  return a->row_fastest ? i * a->count + row : row * n + i;
}

// Each group's total.
KERNEL(scan_up, struct scan_level_args) {
  int64_t t = THREAD, row, group;
  if (t >= a->count * a->n_upper)
    return;
  rows_place(t, a->row_fastest, a->count, a->n_upper, &row, &group);
  const struct scan_total *lower = (const struct scan_total *)a->lower;
  struct running r = running_start(a->kind, a->arith.key, t);
  for (int64_t i = group * a->fan; i < (group + 1) * a->fan && i < a->n_lower; i++) {
    const struct scan_total *p = &lower[level_at(a, row, i, a->n_lower)];
    running_step(a->kind, &a->arith, &r, p->value, p->t2);
  }
  ((struct scan_total *)a->upper)[t] = r.t;
}

// Each total of a group becomes what lies before it in the row; the upper level's totals are that already.
KERNEL(scan_down, struct scan_level_args) {
  int64_t t = THREAD, row, group;
  if (t >= a->count * a->n_upper)
    return;
  rows_place(t, a->row_fastest, a->count, a->n_upper, &row, &group);
  struct scan_total *lower = (struct scan_total *)a->lower;
  struct running r = running_start(a->kind, a->arith.key ^ 0xD1342543DE82EF95u, t);
  if (a->upper)
    r.t = ((const struct scan_total *)a->upper)[t];
  for (int64_t i = group * a->fan; i < (group + 1) * a->fan && i < a->n_lower; i++) {
    struct scan_total *p = &lower[level_at(a, row, i, a->n_lower)], own = *p;
    *p = r.t;
    running_step(a->kind, &a->arith, &r, own.value, own.t2);
  }
}
