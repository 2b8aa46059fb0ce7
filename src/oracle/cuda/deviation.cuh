// SPDX-License-Identifier: Apache-2.0
// How far a contract pass lands from the truth, as oracle/scale.c counts it. Shared by scale.cu and fused.cu.

#define LARGEST_F32 3.4028234663852886e38

// Finite, infinite (signed) or NaN once it is stored in the output's format.
DEVICE_FN int value_class(double x, double max) {
  if (IS_NAN(x))
    return 3;
  if (fabs(x) > max)
    return x > 0 ? 1 : 2;
  return 0;
}

// The sum of absolute deviations with this pass's, of which `part` counts; *broken is set where it is of another class than the truth.
DEVICE_FN float add_deviation(float sum, double y, double pass, double part, double max, uint32_t *broken) {
  int kind = value_class(y, max);
  if (kind != value_class(pass, max))
    *broken = 1;
  else if (kind == 0)
    sum += (float)fmin(part * fabs(pass - y), LARGEST_F32 / 64);
  return sum;
}

// The variance that the rounding of the result alone has.
DEVICE_FN double rounding_variance(double unit, double y) { return unit * unit * y * y; }
