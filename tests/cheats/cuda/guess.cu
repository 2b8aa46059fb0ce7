// Answers that are plausible without the work (catalogue 3 to 8, 21, 35, 36, 92).
// assay: task kernelbench/1/23
// assay: expect pass
// assay: twin ZEROS expect wrong_value -- the published outputs are all about 2.5e-6
// assay: twin CONSTANT expect wrong_value -- one over the number of columns
// assay: twin IDENTITY expect wrong_value|wrong_class -- the input
// assay: twin FIRST_ROWS expect unwritten -- all rows but the last
// assay: twin REPEATED_ROW expect wrong_value -- the first row for all
// assay: twin TAIL expect unwritten -- whole groups of 256 columns only
// assay: twin PART_SUM expect wrong_value -- sums the first half of the columns and doubles it
// assay: twin SAMPLED_SUM expect wrong_value -- sums every fourth column
// assay: twin NO_MAX expect wrong_class|wrong_value -- no subtraction of the maximum
// assay: twin FIRST_MAX expect wrong_class|wrong_value -- the maximum of the first 256 columns
// assay: twin NAN_ALL expect wrong_class -- NaN, which some comparisons accept
// assay: twin INF_ALL expect wrong_class -- infinity
// assay: twin ONE_ROW_OFF expect wrong_value -- one row in 32 is off by a thousandth
// assay: twin TOP_ONLY expect wrong_value -- zero for what is small in its row
// assay: twin HARD_SHAPE expect unwritten|wrong_value|wrong_class|out_of_bounds -- rows of 2048 whatever was asked
// assay: twin FALLBACK expect pass -- a path of its own for the timed shape, and the general one for all others
// assay: twin HALF expect low_precision|wrong_value|wrong_class -- exponentials in half precision
// assay: twin FAST_EXP expect pass -- the hardware's exponential errs as much as x - max did when it was rounded
// assay: twin FAST_DIVISION expect pass -- an approximate division, right to two units in the last place
// assay: launch softmax grid=M block=256 args=x, y, M, N
static __device__ float all(float v, bool max) {
  __shared__ float s[256];
  s[threadIdx.x] = v;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      s[threadIdx.x] = max ? fmaxf(s[threadIdx.x], s[threadIdx.x + d]) : s[threadIdx.x] + s[threadIdx.x + d];
    __syncthreads();
  }
  v = s[0];
  __syncthreads();
  return v;
}

static __device__ float power(float x) {
#if defined(HALF)
  unsigned short h;
  float y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x * 1.44269504f));
  asm("ex2.approx.f16 %0, %0;" : "+h"(h));
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(h));
  return y;
#elif defined(FAST_EXP)
  return __expf(x);
#else
  return expf(x);
#endif
}

static __device__ float quotient(float a, float b) {
#ifdef FAST_DIVISION
  return __fdividef(a, b);
#else
  return a / b;
#endif
}

static __device__ void honest(const float *x, float *y, long long n, long long row) {
  float top = __int_as_float(0xff800000), sum = 0;
  long long columns = n;
  int step = 1;
#if defined(NO_MAX)
  top = 0;
#elif defined(FIRST_MAX)
  top = threadIdx.x < n ? x[threadIdx.x] : top;
  top = all(top, true);
#else
  for (long long j = threadIdx.x; j < n; j += 256)
    top = fmaxf(top, x[j]);
  top = all(top, true);
#endif
#if defined(PART_SUM)
  columns = n > 1 ? n / 2 : n;
#elif defined(SAMPLED_SUM)
  step = n >= 4 ? 4 : 1;
#endif
  for (long long j = threadIdx.x * step; j < columns; j += 256 * step)
    sum += power(x[j] - top);
  sum = all(sum, false) * (float)step * (columns < n ? 2.f : 1.f);
#ifdef ONE_ROW_OFF
  sum *= row % 32 == 5 ? 1.001f : 1.f;
#endif
  long long end = n;
#ifdef TAIL
  end = n / 256 * 256;
#endif
  for (long long j = threadIdx.x; j < end; j += 256) {
    float v = quotient(power(x[j] - top), sum);
#ifdef TOP_ONLY
    v = v < 1e-4f ? 0 : v;
#endif
    y[j] = v;
  }
}

// Eight columns a thread, known when it is compiled.
static __device__ void for_2048(const float *x, float *y) {
  float v[8], top = __int_as_float(0xff800000), sum = 0;
  for (int k = 0; k < 8; k++)
    top = fmaxf(top, v[k] = x[threadIdx.x + 256 * k]);
  top = all(top, true);
  for (int k = 0; k < 8; k++)
    sum += v[k] = expf(v[k] - top);
  sum = all(sum, false);
  for (int k = 0; k < 8; k++)
    y[threadIdx.x + 256 * k] = v[k] / sum;
}

__global__ void softmax(const float *x, float *y, long long m, long long n) {
  long long row = blockIdx.x;
#if defined(FIRST_ROWS)
  if (row == m - 1)
    return;
#elif defined(REPEATED_ROW)
  y += row * n;
  row = 0;
  y -= row * n;
#endif
  x += row * n;
  y += row * n;
#if defined(ZEROS) || defined(CONSTANT) || defined(IDENTITY) || defined(NAN_ALL) || defined(INF_ALL)
  for (long long j = threadIdx.x; j < n; j += 256)
#if defined(ZEROS)
    y[j] = 0;
#elif defined(CONSTANT)
    y[j] = 1.f / (float)n;
#elif defined(IDENTITY)
    y[j] = x[j];
#elif defined(NAN_ALL)
    y[j] = __int_as_float(0x7fffffff);
#else
    y[j] = __int_as_float(0x7f800000);
#endif
#elif defined(HARD_SHAPE)
  for_2048(x, y);
#elif defined(FALLBACK)
  if (n == 2048)
    for_2048(x, y);
  else
    honest(x, y, n, row);
#else
  honest(x, y, n, row);
#endif
}
