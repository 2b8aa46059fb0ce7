// SPDX-License-Identifier: Apache-2.0
// The error scale from contract passes; what and why: oracle/scale.c, whose formulas these are.

#define WINDOW 8
#define SHRINK_WEIGHT 8
#define SHRINK_CAP 64

KERNEL(deviation, struct deviation_args) {
  int64_t i = THREAD;
  if (i >= a->n)
    return;
  uint32_t broken = 0;
  float *sum = (float *)a->sum;
  sum[i] = add_deviation(sum[i], ((const double *)a->y)[i], ((const double *)a->pass)[i], a->part, a->max, &broken);
  if (broken && a->broken)
    ATOMIC_OR_U32((uint32_t *)a->broken, 1);
}

// As stored_deviation of oracle/scale.c.
DEVICE_FN double stored_deviation(double y, double pass, int *overflows) {
  *overflows = IS_FINITE(y) && !IS_FINITE(pass);
  return !IS_FINITE(y) ? 0 : *overflows ? fabs(y) : fabs(pass - y);
}

DEVICE_FN float counted(double part, double deviation) {
  return (float)fmin(part * deviation, LARGEST_F32 / 64);
}

DEVICE_FN int is_negative(float x) { return F64_BITS((double)x) >> 63 != 0; }

// A scale with the sign of `from`: negative where passes that round at boundaries overflow. The smallest float is not
// a number that the device's compiler may flush.
DEVICE_FN float may_overflow(float sigma, float from) {
  return is_negative(from) ? -fmaxf(fabsf(sigma), F32_OF_BITS(1)) : sigma;
}

KERNEL(stored_deviation_sum, struct deviation_args) {
  int64_t i = THREAD;
  if (i >= a->n)
    return;
  int overflows;
  float *sum = (float *)a->sum, before = sum[i];
  float after = fabsf(before) + counted(a->part, stored_deviation(((const double *)a->y)[i], ((const double *)a->pass)[i], &overflows));
  sum[i] = overflows || is_negative(before) ? -after : after;
  if (overflows)
    ATOMIC_OR_U32((uint32_t *)a->broken, 1);
}

KERNEL(widen_scale, struct widen_scale_args) {
  int64_t i = THREAD;
  if (i >= a->n)
    return;
  int overflows = 0;
  float *sigma = (float *)a->sigma, before = sigma[i];
  float least = a->pass ? counted(1, stored_deviation(((const double *)a->y)[i], ((const double *)a->pass)[i], &overflows))
                        : ((const float *)a->other)[i];
  float after = fmaxf(fabsf(before), least);
  sigma[i] = may_overflow(after, overflows || is_negative(before) ? -1.0f : 1.0f);
}

// As cover_range of oracle/scale.c.
KERNEL(cover_tail, struct deviation_args) {
  int64_t i = THREAD;
  if (i >= a->n)
    return;
  float *sigma = (float *)a->sum;
  double y = ((const double *)a->y)[i], pass = ((const double *)a->pass)[i];
  if (value_class(y, a->max) == 0 && value_class(pass, a->max) == 0)
    sigma[i] = fmaxf(sigma[i], counted(a->part, fabs(pass - y)));
}

// As is_lost of oracle/scale.c.
KERNEL(lost, struct lost_args) {
  double off = 0, size = 0;
  int64_t t = THREAD;
  if (t >= LOST_PARTS)
    return;
  for (int64_t i = t; i < a->n; i += LOST_PARTS) {
    double y = ((const double *)a->y)[i], pass = ((const double *)a->pass)[i];
    if (IS_FINITE(y) && IS_FINITE(pass)) {
      off += (pass - y) * (pass - y);
      size += y * y;
    }
  }
  ((double *)a->parts)[t] = off;
  ((double *)a->parts)[LOST_PARTS + t] = size;
}

// As is_untold of oracle/scale.c.
KERNEL(untold, struct untold_args) {
  double elements = 0;
  int64_t t = THREAD;
  if (t >= LOST_PARTS)
    return;
  for (int64_t i = t; i < a->n; i += LOST_PARTS)
    elements += fabs((double)((const float *)a->sigma)[i]) > a->part * fabs(((const double *)a->y)[i]);
  ((double *)a->parts)[t] = elements;
}

// The variance that a normal error with this mean absolute deviation has.
DEVICE_FN double own_variance(const struct shrink_args *a, int64_t i) {
  double sum = (double)((const float *)a->sum)[i];
  double mean = a->inverse != 0 ? sum * a->inverse : sum / a->replicas;
  return mean * mean * 1.5707963267948966;
}

DEVICE_FN float shrunk(const struct shrink_args *a, int64_t i, double own, double near_mean) {
  double y = ((const double *)a->y)[i];
  double floor_variance = rounding_variance(a->unit, y);
  double near_variance = near_mean;
  if (!is_negative(((const float *)a->sum)[i])) // as shrink_range of oracle/scale.c
    near_variance = fmin(near_mean, SHRINK_CAP * (own + floor_variance));
  double variance = (a->replicas * own + SHRINK_WEIGHT * near_variance) / (a->replicas + SHRINK_WEIGHT);
  float scale = IS_FINITE(y) ? (float)sqrt(fmax(variance, floor_variance)) : 0;
  return may_overflow(scale, ((const float *)a->sum)[i]);
}

// An element whose neighbours are fewer, for its row begins or ends among them.
DEVICE_FN_LARGE float shrink_at_edge(const struct shrink_args *a, int64_t i) {
  int64_t low = i - WINDOW, high = i + WINDOW + 1;
  if (a->row >= WINDOW) {
    int64_t first = i / a->row * a->row;
    low = low < first ? first : low;
    high = high > first + a->row ? first + a->row : high;
  }
  low = low < 0 ? 0 : low;
  high = high > a->n ? a->n : high;
  double sum = 0;
  int n = 0;
  for (int64_t j = low; j < high; j++) {
    double own = own_variance(a, j);
    sum += own;
    n += own > 0;
  }
  return shrunk(a, i, own_variance(a, i), n > 0 ? sum / (double)n : 0);
}

// For each element the mean of own variances over those neighbours that have errors, in its row when rows are long
// enough to have any.
// Neighbours have neighbours in common: a thread keeps those of SHRINK_EACH elements in a row.
KERNEL(shrink, struct shrink_args) {
  int64_t begin = THREAD * SHRINK_EACH;
  if (begin >= a->n)
    return;
  float *sigma = (float *)a->sigma;
  int64_t first = a->row >= WINDOW ? begin / a->row * a->row : 0;
  int64_t last = a->row >= WINDOW && first + a->row < a->n ? first + a->row : a->n;
  if (begin - WINDOW < first || begin + SHRINK_EACH + WINDOW > last) {
    for (int64_t i = begin; i < begin + SHRINK_EACH && i < a->n; i++)
      sigma[i] = shrink_at_edge(a, i);
    return;
  }
  double own[SHRINK_EACH + 2 * WINDOW];
  UNROLL_ALL
  for (int k = 0; k < SHRINK_EACH + 2 * WINDOW; k++)
    own[k] = own_variance(a, begin - WINDOW + k);
  UNROLL_ALL
  for (int k = 0; k < SHRINK_EACH; k++) {
    double sum = 0;
    int n = 0;
    UNROLL_ALL
    for (int j = 0; j <= 2 * WINDOW; j++) {
      sum += own[k + j];
      n += own[k + j] > 0;
    }
    sigma[begin + k] = shrunk(a, begin + k, own[k + WINDOW], n > 0 ? sum / (double)n : 0);
  }
}

// A scale in closed form, never below the rounding of the result.
KERNEL(scale_floor, struct shrink_args) {
  int64_t i = THREAD;
  if (i >= a->n)
    return;
  double y = ((const double *)a->y)[i];
  float *sigma = (float *)a->sigma;
  sigma[i] = IS_FINITE(y) ? fmaxf(sigma[i], (float)(a->unit * fabs(y))) : 0;
}

#define UNEVEN 4 // times the harmonic mean that the mean is where an element's scale follows its size

// What a group's elements usually err, in one answer or another. An element that cancelled to less than its error says
// nothing about relative errors.
KERNEL(keep_scale, struct keep_args) {
  int64_t begin = THREAD * KEPT_EACH, end = begin + KEPT_EACH < a->n ? begin + KEPT_EACH : a->n;
  if (begin >= a->n)
    return;
  struct kept_scale *kept = (struct kept_scale *)a->kept + THREAD;
  double sum = 0, inverse = 0, inverse_relative = 0;
  int n = 0, n_relative = 0;
  for (int64_t i = begin; i < end; i++) {
    double sigma = (double)((const float *)a->sigma)[i], size = fabs(((const double *)a->y)[i]);
    if (!(sigma > 0) || !IS_FINITE(sigma) || !IS_FINITE(size))
      continue;
    sum += sigma;
    inverse += 1 / sigma;
    n++;
    if (size > sigma) {
      inverse_relative += size / sigma;
      n_relative++;
    }
  }
  if (n == 0)
    return;
  double mean = n / inverse;
  kept->absolute = fmaxf(kept->absolute, (float)mean);
  if (sum > UNEVEN * mean * n && n_relative > 0)
    kept->relative = fmaxf(kept->relative, (float)(n_relative / inverse_relative));
}

KERNEL(borrow_scale, struct borrow_args) {
  int64_t i = THREAD;
  if (i >= a->n)
    return;
  struct kept_scale kept = ((const struct kept_scale *)a->kept)[i / KEPT_EACH];
  double y = ((const double *)a->y)[i], scale = fmax((double)kept.absolute, (double)kept.relative * fabs(y));
  ((float *)a->sigma)[i] = IS_FINITE(y) ? (float)(a->factor * fmax(scale, a->unit * fabs(y))) : 0;
}
