// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding, as ops/rotary.c; a thread for each element.

KERNEL(rotary, struct rotary_args) {
  int64_t i = THREAD;
  if (i >= a->count)
    return;
  int64_t head = i / a->size, at = i - head * a->size, batch = head / (a->heads * a->length);
  int64_t in = head - batch * a->heads * a->length;
  int64_t row = batch * a->length + (a->heads_inside ? in / a->heads : in % a->length);
  if (a->positions.data) {
    int64_t place = row;
    row = read_i64(&a->positions, place);
    if (row < -a->rows || row >= a->rows) {
      ATOMIC_MIN_U64((uint64_t *)a->bad, (uint64_t)place);
      return;
    }
    row += row < 0 ? a->rows : 0;
  }
  if (at >= a->rotated) {
    ((double *)a->y)[i] = read_f64(&a->x, i);
    return;
  }
  int second = a->interleaved ? (int)(at & 1) : at >= a->half;
  int64_t pair = a->interleaved ? at / 2 : at - (second ? a->half : 0), apart = a->interleaved ? 1 : a->half;
  double cosine = read_f64(&a->cos, row * a->half + pair), sine = read_f64(&a->sin, row * a->half + pair);
  double own = read_f64(&a->x, i), other = read_f64(&a->x, second ? i - apart : i + apart);
  struct noise n = noise_at(a->arith.key, (uint64_t)i);
  double turned = arith_round(&a->arith, &n, sine * other), kept = arith_round(&a->arith, &n, cosine * own);
  ((double *)a->y)[i] = arith_round(&a->arith, &n, second ? turned + kept : kept - turned);
}
