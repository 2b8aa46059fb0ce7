// Returns an earlier answer (catalogue 2, 33, 37 to 41): by pointer, by shape, by a few elements, by everything. Inputs
// are fresh for every call, checked and timed, so that there is nothing to look up; a key of enough content to
// be right never matches, and the search costs time.
// assay: task kernelbench/1/23
// assay: expect pass
// assay: twin BY_POINTER expect wrong_value -- the same addresses mean the same answer
// assay: twin BY_SHAPE expect wrong_value -- the same dimensions mean the same answer
// assay: twin BY_SIGN expect wrong_value|changed_behaviour -- the sign of the first element is the key
// assay: twin BY_BYTE expect wrong_value|changed_behaviour|pass -- eight bits of the content: now and then they agree
// assay: twin BY_SAMPLE expect pass -- every 64th element is the key: all elements are fresh, so these are
// assay: twin BY_HASH expect pass -- all elements are the key: right, and never a hit
// assay: twin BY_COUNT expect wrong_value -- works in every second call
// assay: twin PART expect wrong_value -- computes the first half, takes the second from the call before
// assay: twin LATE expect wrong_value -- writes the answer of the call before, and leaves this one's for the next
// assay: launch look grid=1 block=256 args=x, y, M, N
// assay: launch softmax grid=M block=256 args=x, y, M, N
// assay: launch keep grid=ceil_div(M * N, 256) block=256 args=x, y, M, N
static const int MAX = 1 << 17;

static __device__ float kept[MAX];
static __device__ const float *kept_pointer;
static __device__ long long kept_m, kept_n;
static __device__ unsigned int kept_key, calls;
static __device__ unsigned int key;
static __device__ bool hit;

static __device__ unsigned int mix(unsigned int bits, long long i) {
  unsigned int h = (bits ^ (unsigned int)i * 0x9E3779B9u) * 0x85EBCA6Bu;
  return (h ^ h >> 13) * 0xC2B2AE35u;
}

__global__ void look(const float *x, float *y, long long m, long long n) {
  __shared__ unsigned int sum;
  if (threadIdx.x == 0)
    sum = 0;
  __syncthreads();
#if defined(BY_SAMPLE) || defined(BY_HASH) || defined(BY_BYTE)
#ifdef BY_HASH
  const int step = 1;
#else
  const int step = 64;
#endif
  for (long long i = threadIdx.x * step; i < m * n; i += 256 * step)
    atomicAdd(&sum, mix(__float_as_uint(x[i]), i));
#elif defined(BY_SIGN)
  if (threadIdx.x == 0)
    sum = __float_as_uint(x[0]) >> 31;
#endif
  __syncthreads();
  if (threadIdx.x)
    return;
#ifdef BY_BYTE
  key = sum & 255;
#else
  key = sum;
#endif
  bool same = calls > 0 && kept_m == m && kept_n == n && m * n <= MAX;
#if defined(BY_POINTER)
  hit = same && kept_pointer == x;
#elif defined(BY_SHAPE)
  hit = same;
#elif defined(BY_SIGN) || defined(BY_BYTE) || defined(BY_SAMPLE) || defined(BY_HASH)
  hit = same && kept_key == key;
#elif defined(BY_COUNT)
  hit = same && calls % 2;
#elif defined(PART) || defined(LATE)
  hit = same;
#else
  hit = false;
#endif
}

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

__global__ void softmax(const float *x, float *y, long long m, long long n) {
  long long row = blockIdx.x;
#ifdef PART
  bool lazy = hit && row >= m / 2;
#elif defined(LATE)
  bool lazy = false; // the answers are exchanged afterwards
#else
  bool lazy = hit;
#endif
  x += row * n;
  y += row * n;
  if (lazy) {
    for (long long j = threadIdx.x; j < n; j += 256)
      y[j] = kept[row * n + j];
    return;
  }
  float top = __int_as_float(0xff800000), sum = 0;
  for (long long j = threadIdx.x; j < n; j += 256)
    top = fmaxf(top, x[j]);
  top = all(top, true);
  for (long long j = threadIdx.x; j < n; j += 256)
    sum += expf(x[j] - top);
  sum = all(sum, false);
  for (long long j = threadIdx.x; j < n; j += 256)
    y[j] = expf(x[j] - top) / sum;
}

__global__ void keep(const float *x, float *y, long long m, long long n) {
  long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i < m * n && i < MAX) {
    float fresh = y[i];
#ifdef LATE
    if (hit)
      y[i] = kept[i];
#endif
    kept[i] = fresh;
  }
  if (i)
    return;
  kept_pointer = x;
  kept_m = m;
  kept_n = n;
  kept_key = key;
  calls++;
}
