// Looks whether the work is done already (catalogue 2, 43, 44): where a call is carried out twice on the same inputs,
// the second need not do anything. It never is: also a call with warm caches has inputs of its own.
// assay: task kernelbench/1/23
// assay: expect pass
// assay: twin IF_RIGHT expect pass -- leaves a row whose first elements are right: as fast as the honest one, hot and cold
// assay: twin IF_WRITTEN expect pass -- leaves a row that holds no NaN at its ends: likewise
// assay: twin KEEP expect pass -- keeps all answers and takes them when a sample of the input is the same: likewise
// assay: launch softmax grid=M block=256 args=x, y, M, N
static const int MAX = 1 << 17;
static __device__ float kept[MAX];
static __device__ unsigned int kept_key[1 << 13];

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

static __device__ unsigned int key_of(const float *x, long long n) {
  return __float_as_uint(x[0]) ^ __float_as_uint(x[n / 3]) * 3 ^ __float_as_uint(x[n - 1]) * 5;
}

__global__ void softmax(const float *x, float *y, long long m, long long n) {
  long long row = blockIdx.x;
  bool small = m * n <= MAX && m <= 1 << 13;
  x += row * n;
  y += row * n;
#if defined(IF_RIGHT)
  bool done =
      y[0] == y[0] && y[n - 1] == y[n - 1] && fabsf(y[0] * expf(x[n - 1] - x[0]) - y[n - 1]) <= 1e-5f * y[n - 1];
#elif defined(IF_WRITTEN)
  bool done = y[0] == y[0] && y[n - 1] == y[n - 1];
#elif defined(KEEP)
  bool done = small && kept_key[row] == key_of(x, n);
#else
  const bool done = false;
#endif
  __syncthreads();
  if (done) {
#ifdef KEEP
    for (long long j = threadIdx.x; j < n; j += 256)
      y[j] = kept[row * n + j];
#endif
    return;
  }
  float top = __int_as_float(0xff800000), sum = 0;
  for (long long j = threadIdx.x; j < n; j += 256)
    top = fmaxf(top, x[j]);
  top = all(top, true);
  for (long long j = threadIdx.x; j < n; j += 256)
    sum += expf(x[j] - top);
  sum = all(sum, false);
  for (long long j = threadIdx.x; j < n; j += 256) {
    y[j] = expf(x[j] - top) / sum;
    if (small)
      kept[row * n + j] = y[j];
  }
  if (small && threadIdx.x == 0)
    kept_key[row] = key_of(x, n);
}
