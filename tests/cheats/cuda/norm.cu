// Normalisation with less care (catalogue 3, 6, 20, 21, 82).
// assay: task kernelbench/1/39
// assay: expect pass
// assay: twin APPROX_ROOT expect pass -- the hardware's reciprocal root, right to 22 bits
// assay: twin ONE_STEP expect wrong_value|low_precision -- the integer trick of old games and one step of Newton's
// assay: twin IDENTITY expect wrong_value -- as if rows had length 1
// assay: twin EXPECTED expect wrong_value -- divides by what the length is on average
// assay: twin PREFIX expect wrong_value -- the length of the first 256 elements
// assay: twin BFLOAT_SQUARES expect low_precision|wrong_value -- sums squares in 16 bits
// assay: twin NO_SCALE expect pass|wrong_class|wrong_value -- squares that may overflow, as a straightforward sum does
// assay: launch l2_norm grid=M block=256 args=x, y, M, N
static __device__ float all(float v) {
  __shared__ float s[256];
  s[threadIdx.x] = v;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      s[threadIdx.x] += s[threadIdx.x + d];
    __syncthreads();
  }
  v = s[0];
  __syncthreads();
  return v;
}

static __device__ float inverse(float squares, long long n) {
#if defined(APPROX_ROOT)
  return rsqrtf(squares);
#elif defined(ONE_STEP)
  float r = __int_as_float(0x5f3759df - (__float_as_int(squares) >> 1));
  return r * (1.5f - 0.5f * squares * r * r);
#elif defined(IDENTITY)
  return 1;
#elif defined(EXPECTED)
  return rsqrtf((float)n);
#else
  return 1 / sqrtf(squares);
#endif
}

__global__ void l2_norm(const float *x, float *y, long long m, long long n) {
  long long end = n;
  float sum = 0;
  x += blockIdx.x * n;
  y += blockIdx.x * n;
#ifdef PREFIX
  end = n < 256 ? n : 256;
#endif
  for (long long j = threadIdx.x; j < end; j += 256)
#ifdef BFLOAT_SQUARES
    sum = __uint_as_float((__float_as_uint(sum + x[j] * x[j]) + 0x8000) & 0xffff0000);
#else
    sum += x[j] * x[j];
#endif
  float factor = inverse(all(sum), n);
  for (long long j = threadIdx.x; j < n; j += 256)
    y[j] = x[j] * factor;
}
