// Products of fp32 matrices in single precision on CUDA cores, summed in different orders: the examples of
// docs/numerics.md. Not fast: one element a thread.
// assay: task contracts/1/1
// assay: twin PAIRWISE expect pass -- halves of the sum are summed apart, and so on down to 32 terms
// assay: twin SPLIT_K expect pass -- eight parts of the sum, added at the end
// assay: twin NO_FMA expect pass -- products are rounded before they are added
// assay: twin COMPENSATED expect pass -- Kahan's sum of rounded products
// assay: twin DOUBLE expect pass -- summed in double precision
// assay: twin ROUNDED_17 expect low_precision|wrong_value -- the sum is kept to 17 bits
// assay: launch matmul grid=ceil_div(N, 32),ceil_div(M, 8) block=32,8 args=a, b, y, M, K, N
// As it stands: one sum from the first term to the last, by fused multiply-add.

// Terms [k0, k1) of an element in their order.
static __device__ float sum_in_order(const float *a, const float *b, int k0, int k1, int N) {
#if defined(DOUBLE)
  double s = 0;
  for (int k = k0; k < k1; k++)
    s += (double)a[k] * b[(long long)k * N];
  return (float)s;
#elif defined(COMPENSATED)
  float s = 0, lost = 0;
  for (int k = k0; k < k1; k++) {
    float term = __fsub_rn(__fmul_rn(a[k], b[(long long)k * N]), lost), next = __fadd_rn(s, term);
    lost = __fsub_rn(__fsub_rn(next, s), term);
    s = next;
  }
  return s;
#else
  float s = 0;
  for (int k = k0; k < k1; k++) {
#if defined(NO_FMA)
    s = __fadd_rn(s, __fmul_rn(a[k], b[(long long)k * N]));
#else
    s = __fmaf_rn(a[k], b[(long long)k * N], s);
#endif
#if defined(ROUNDED_17)
    s = __uint_as_float((__float_as_uint(s) + 0x40) & 0xffffff80u);
#endif
  }
  return s;
#endif
}

__global__ void matmul(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ y, int M, int K,
                       int N) {
  int n = (int)(blockIdx.x * 32 + threadIdx.x), m = (int)(blockIdx.y * 8 + threadIdx.y);
  if (m >= M || n >= N)
    return;
  a += (long long)m * K;
  b += n;
  float s = 0;
#if defined(PAIRWISE)
  // Sums of 32, 64, 128, ... terms that wait for one of their own size, as the digits of a binary counter.
  float waiting[32];
  for (int k = 0, block = 0; k < K; k += 32, block++) {
    float part = sum_in_order(a, b, k, min(k + 32, K), N);
    int level = 0;
    for (; block >> level & 1; level++)
      part += waiting[level];
    waiting[level] = part;
  }
  for (int level = 0, blocks = (K + 31) / 32; blocks >> level; level++)
    if (blocks >> level & 1)
      s += waiting[level];
#elif defined(SPLIT_K)
  int chunk = (K + 7) / 8;
  for (int k = 0; k < K; k += chunk)
    s += sum_in_order(a, b, k, min(k + chunk, K), N);
#else
  s = sum_in_order(a, b, 0, K, N);
#endif
  y[(long long)m * N + n] = s;
}
