// SPDX-License-Identifier: Apache-2.0
// Scoring an output on a device: compare/score.c and compare/compare.c once more, where the tensors are. Every element
// gets its z in a first pass, which also counts; the groups' mean squares come of further passes over z.

#define Z_CAP 3e38f

DEVICE_FN double compare_out(const struct compare_args *a, double want) {
  return a->u_out * fabs(want) + a->eta_out;
}

DEVICE_FN double compare_sigma(const struct compare_args *a, int64_t i) {
  double sigma = fabs((double)((const float *)a->sigma)[i]);
  if (!(sigma >= a->sigma_floor))
    return a->sigma_floor;
  return sigma <= 3.4028234663852886e38 ? sigma : 3.4028234663852886e38;
}

DEVICE_FN uint64_t compare_bits(const struct compare_args *a, int64_t i) {
  if (a->bytes == 1)
    return ((const uint8_t *)a->got)[i];
  if (a->bytes == 2)
    return ((const uint16_t *)a->got)[i];
  if (a->bytes == 4)
    return ((const uint32_t *)a->got)[i];
  return ((const uint64_t *)a->got)[i];
}

// Whether the element still holds the pattern, which repeats through memory whatever the element size.
DEVICE_FN int compare_poisoned(const struct compare_args *a, int64_t i, uint64_t bits) {
  if (!a->has_poison)
    return 0;
  uint64_t twice = (uint64_t)a->poison << 32 | a->poison;
  if (a->bytes == 8)
    return bits == twice;
  uint64_t shifted = twice >> (8 * (int)((i * a->bytes) & 3));
  uint64_t mask = ((uint64_t)1 << (8 * a->bytes)) - 1;
  return bits == (shifted & mask);
}

// 0 finite, 1 and 2 the infinities, 3 NaN.
DEVICE_FN int compare_class(const struct compare_args *a, double x) {
  if (IS_NAN(x))
    return 3;
  if (IS_FINITE(x))
    return 0;
  return a->no_infinity ? 3 : x > 0 ? 1 : 2;
}

DEVICE_FN double compare_half_step(const struct compare_args *a, double x) {
  int64_t exponent = (int64_t)(F64_BITS(x) >> 52 & 0x7ff), lowest = a->format_min_exponent + 1023;
  int64_t field = (exponent < lowest ? lowest : exponent) - a->format_bits;
  return F64_OF_BITS(field > 0 ? (uint64_t)field << 52 : 0);
}

struct compare_score {
  double got, want, distance, z; // z with the sign of got - want
  double size;                   // want in units of the scale, 0 where the scale is negligible
  int nan, inf, poison, exact, over, not_close, not_loose;
};

DEVICE_FN void compare_closeness(const struct compare_args *a, struct compare_score *s) {
  if (!(s->distance <= 1.7976931348623157e308)) {
    int same = s->got == s->want || (!IS_NAN(s->got) && !IS_FINITE(s->got) && fabs(s->want) >= a->overflow &&
                                     (s->got > 0) == (s->want > 0));
    s->not_close = s->not_loose = !same;
    return;
  }
  s->not_close = !(s->distance <= a->atol + a->rtol * fabs(s->want));
  s->not_loose = !(s->distance <= a->loose + a->loose * fabs(s->want));
}

DEVICE_FN void compare_special(const struct compare_args *a, int64_t i, struct compare_score *s) {
  int got = compare_class(a, s->got), want = compare_class(a, s->want);
  int inf = !IS_NAN(s->got) && !IS_FINITE(s->got);
  double toward = inf ? s->got : F64_BITS(s->want) >> 63 ? -F64_INFINITY : F64_INFINITY;
  s->z = 0;
  if (got == want && got != 0) {
    s->exact = 1;
    return;
  }
  if (got != 0 && ((const float *)a->sigma)[i] < 0)
    return;
  double allowed = compare_out(a, s->want) + a->z_limit * compare_sigma(a, i);
  if (want == 0 && got == compare_class(a, toward) && (toward > 0 ? s->want : -s->want) + allowed >= a->overflow)
    return;
  s->z = s->got < s->want ? -F64_INFINITY : F64_INFINITY;
  s->over = 1;
  if (got == want)
    return; // both finite, too far apart for a double
  if (IS_NAN(s->got) != IS_NAN(s->want) || a->no_infinity)
    s->nan = 1;
  else
    s->inf = 1;
}

DEVICE_FN void compare_float(const struct compare_args *a, int64_t i, struct compare_score *s) {
  uint64_t bits = compare_bits(a, i);
  int poisoned = compare_poisoned(a, i, bits);
  s->got = a->storage == COMPARE_F32   ? (double)F32_OF_BITS((uint32_t)bits)
           : a->storage == COMPARE_F64 ? F64_OF_BITS(bits)
                                       : format_decode((uint32_t)bits, a->exponent_bits, a->mantissa_bits, a->finite_only);
  s->want = ((const double *)a->want)[i];
  s->distance = fabs(s->got - s->want);
  compare_closeness(a, s);
  double sigma = compare_sigma(a, i);
  s->size = fabs(s->want) <= COMPARE_MOST_SIZE * sigma && sigma > 0 ? s->want / sigma : 0;
  if (s->distance <= 1.7976931348623157e308) {
    double e = s->distance - compare_out(a, s->want), z = 0;
    if (e > 0) {
      z = e / sigma; // infinite where sigma is 0
      s->over = z > a->z_limit;
    }
    s->exact = s->distance <= compare_half_step(a, s->want);
    s->z = s->got < s->want ? -z : z;
  } else {
    compare_special(a, i, s);
  }
  if (poisoned && (a->bytes >= 4 || s->over))
    s->poison = s->over = 1;
}

DEVICE_FN void compare_integer(const struct compare_args *a, int64_t i, struct compare_score *s) {
  uint64_t bits = compare_bits(a, i);
  int poisoned = compare_poisoned(a, i, bits), unused = 64 - 8 * a->bytes;
  int64_t want = ((const int64_t *)a->want)[i];
  int64_t got = a->is_signed ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
  s->got = a->is_unsigned64 ? (double)(uint64_t)got : (double)got;
  s->want = a->is_unsigned64 ? (double)(uint64_t)want : (double)want;
  s->exact = got == want;
  s->over = got != want;
  s->poison = poisoned && s->over;
  s->z = got == want ? 0 : s->got < s->want ? -F64_INFINITY : F64_INFINITY;
  s->distance = a->is_unsigned64 ? fabs(s->got - s->want)
                : got > want     ? (double)((uint64_t)got - (uint64_t)want)
                                 : (double)((uint64_t)want - (uint64_t)got);
  if (s->over)
    compare_closeness(a, s);
}

// Bin i holds z < 2^(i - 4), read off z's exponent.
DEVICE_FN int compare_bin(double z) {
  int exponent = (int)(F64_BITS(z) >> 52 & 0x7ff) - 1022;
  int bin = exponent + 4 < COMPARE_BINS - 1 ? exponent + 4 : COMPARE_BINS - 1;
  return z == 0 ? 0 : bin < 1 ? 1 : bin;
}

DEVICE_FN void compare_take(const struct compare_score *s, int64_t i, struct compare_sums *t) {
  double z = fabs(s->z);
  int mismatch = s->nan || s->inf;
  t->n_exact += (uint64_t)s->exact;
  t->n_not_close += (uint64_t)s->not_close;
  t->n_not_loose += (uint64_t)s->not_loose;
  if (s->distance <= 1.7976931348623157e308) {
    t->max_abs = s->distance > t->max_abs ? s->distance : t->max_abs;
    if (s->want != 0 && s->distance > t->max_rel * fabs(s->want)) {
      double relative = s->distance / fabs(s->want);
      t->max_rel = relative > t->max_rel ? relative : t->max_rel;
    }
  }
  t->sum_size2 += s->size * s->size;
  if (s->z == 0 && !s->over) {
    t->histogram[0]++;
    return;
  }
  t->n_nan += (uint64_t)s->nan;
  t->n_inf += (uint64_t)s->inf;
  t->n_poison += (uint64_t)s->poison;
  if (s->over) {
    t->n_over++;
    if (t->first_over < 0)
      t->first_over = i;
    t->last_over = i;
  }
  t->histogram[compare_bin(z)]++;
  double rank = mismatch ? F64_INFINITY : z + 1;
  t->worst = rank > t->worst ? rank : t->worst;
  if (mismatch)
    return;
  double capped = z < 1e100 ? s->z : s->z < 0 ? -1e100 : 1e100;
  t->z_max = z > t->z_max ? z : t->z_max;
  t->sum_z += capped;
  t->sum_z_outward += s->want < 0 ? -capped : capped;
  t->sum_z_size += capped * s->size;
  t->infinite |= (uint64_t)!IS_FINITE(z);
}

KERNEL(compare_elements, struct compare_args) {
  int64_t thread = THREAD;
  if (thread >= a->threads)
    return;
  struct compare_sums t = {0};
  t.first_over = t.last_over = -1;
  for (int64_t i = thread; i < a->n; i += a->threads) {
    struct compare_score s = {0};
    if (a->storage == COMPARE_INTEGER)
      compare_integer(a, i, &s);
    else
      compare_float(a, i, &s);
    compare_take(&s, i, &t);
    double z = fabs(s.z);
    ((float *)a->z)[i] = s.nan || s.inf ? 0 : z < (double)Z_CAP ? (float)z : Z_CAP;
  }
  ((struct compare_sums *)a->sums)[thread] = t;
}

KERNEL(compare_merge, struct compare_merge_args) {
  int64_t target = THREAD;
  if (target >= a->targets)
    return;
  const struct compare_sums *sums = (const struct compare_sums *)a->sums;
  struct compare_sums t = {0};
  t.first_over = t.last_over = -1;
  for (int64_t i = target; i < a->threads; i += a->targets) {
    const struct compare_sums *s = &sums[i];
    t.n_nan += s->n_nan;
    t.n_inf += s->n_inf;
    t.n_poison += s->n_poison;
    t.n_exact += s->n_exact;
    t.n_over += s->n_over;
    t.n_not_close += s->n_not_close;
    t.n_not_loose += s->n_not_loose;
    if (s->first_over >= 0 && (t.first_over < 0 || s->first_over < t.first_over))
      t.first_over = s->first_over;
    t.last_over = s->last_over > t.last_over ? s->last_over : t.last_over;
    t.max_abs = s->max_abs > t.max_abs ? s->max_abs : t.max_abs;
    t.max_rel = s->max_rel > t.max_rel ? s->max_rel : t.max_rel;
    t.z_max = s->z_max > t.z_max ? s->z_max : t.z_max;
    t.sum_z += s->sum_z;
    t.sum_z_outward += s->sum_z_outward;
    t.sum_z_size += s->sum_z_size;
    t.sum_size2 += s->sum_size2;
    t.worst = s->worst > t.worst ? s->worst : t.worst;
    t.infinite |= s->infinite;
    for (int b = 0; b < COMPARE_BINS; b++)
      t.histogram[b] += s->histogram[b];
  }
  ((struct compare_sums *)a->merged)[target] = t;
}

// Each thread's worst, packed for the host.
KERNEL(compare_worst, struct compare_merge_args) {
  int64_t thread = THREAD;
  if (thread < a->threads)
    ((double *)a->merged)[thread] = ((const struct compare_sums *)a->sums)[thread].worst;
}

DEVICE_FN int64_t compare_part(int64_t n, int64_t parts, int64_t i) {
  int64_t rest = n % parts;
  return i * (n / parts) + (i < rest ? i : rest);
}

// A thread for each group: its mean square, and the largest of all.
KERNEL(compare_groups, struct compare_group_args) {
  int64_t slots = a->slots_down * a->slots_across, panel = THREAD / slots, slot = THREAD % slots;
  if (panel >= a->down * a->across)
    return;
  int64_t down = panel / a->across, across = panel % a->across;
  int64_t top = compare_part(a->rows, a->down, down), bottom = compare_part(a->rows, a->down, down + 1);
  int64_t left = compare_part(a->columns, a->across, across), right = compare_part(a->columns, a->across, across + 1);
  int64_t tall = a->rows_a_group ? a->rows_a_group : bottom - top;
  int64_t wide = a->columns_a_group ? a->columns_a_group : right - left;
  int64_t row = top + slot / a->slots_across * tall, column = left + slot % a->slots_across * wide;
  if (row >= bottom || column >= right)
    return;
  int64_t row_end = row + tall < bottom ? row + tall : bottom;
  int64_t column_end = column + wide < right ? column + wide : right;
  double sum = 0;
  for (int64_t r = row; r < row_end; r++)
    for (int64_t c = column; c < column_end; c++) {
      double z = (double)((const float *)a->z)[r * a->columns + c];
      sum += z * z;
    }
  int64_t count = (row_end - row) * (column_end - column);
  double mean = sum / (double)(count > a->group_min ? count : a->group_min);
  // Doubles that are not negative compare like their bits.
  ATOMIC_MAX_U64((uint64_t *)a->result + a->slot, F64_BITS(mean));
  if (a->add_sum)
    ATOMIC_ADD_F64((double *)a->result, sum);
}

// The elements of some threads, for the host to look at.
KERNEL(compare_gather, struct compare_gather_args) {
  int64_t k = THREAD / a->steps, step = THREAD % a->steps;
  if (k >= a->listed)
    return;
  int64_t i = ((const int64_t *)a->threads_list)[k] + step * a->threads;
  if (i >= a->n)
    return;
  for (int b = 0; b < a->bytes; b++)
    ((uint8_t *)a->out)[THREAD * a->bytes + b] = ((const uint8_t *)a->got)[i * a->bytes + b];
  ((uint64_t *)a->out_want)[THREAD] = ((const uint64_t *)a->want)[i];
  if (a->floating)
    ((float *)a->out_sigma)[THREAD] = ((const float *)a->sigma)[i];
}
