// The error scale from contract passes; what and why: oracle/scale.c, whose formulas these are.

#define WINDOW 8
#define SHRINK_WEIGHT 8
#define SHRINK_CAP 64
#define LARGEST_F32 3.4028234663852886e38

DEVICE_FN int value_class(double x, double max) {
  if (IS_NAN(x))
    return 3;
  if (fabs(x) > max)
    return x > 0 ? 1 : 2;
  return 0;
}

KERNEL(deviation, struct deviation_args) {
  int64_t i = THREAD;
  if (i >= a->n)
    return;
  double y = ((const double *)a->y)[i], pass = ((const double *)a->pass)[i];
  int kind = value_class(y, a->max);
  if (kind != value_class(pass, a->max))
    ATOMIC_OR_U32((uint32_t *)a->broken, 1);
  else if (kind == 0)
    ((float *)a->sum)[i] += (float)fmin(fabs(pass - y), LARGEST_F32 / 64);
}

// The variance that a normal error with this mean absolute deviation has.
DEVICE_FN double own_variance(const struct shrink_args *a, int64_t i) {
  double mean = (double)((const float *)a->sum)[i] / a->replicas;
  return mean * mean * 1.5707963267948966;
}

// Its mean over the neighbours of i, in its row when rows are long enough to have any.
DEVICE_FN double pool(const struct shrink_args *a, int64_t i) {
  int64_t low = i - WINDOW, high = i + WINDOW + 1;
  if (a->row >= WINDOW) {
    int64_t first = i / a->row * a->row;
    low = low < first ? first : low;
    high = high > first + a->row ? first + a->row : high;
  }
  low = low < 0 ? 0 : low;
  high = high > a->n ? a->n : high;
  double sum = 0;
  for (int64_t j = low; j < high; j++)
    sum += own_variance(a, j);
  return sum / (double)(high - low);
}

KERNEL(shrink, struct shrink_args) {
  int64_t i = THREAD;
  if (i >= a->n)
    return;
  double y = ((const double *)a->y)[i];
  double floor_variance = a->unit * a->unit * y * y;
  double own = own_variance(a, i);
  double near_variance = fmin(pool(a, i), SHRINK_CAP * (own + floor_variance));
  double variance = (a->replicas * own + SHRINK_WEIGHT * near_variance) / (a->replicas + SHRINK_WEIGHT);
  ((float *)a->sigma)[i] = IS_FINITE(y) ? (float)sqrt(fmax(variance, floor_variance)) : 0;
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
