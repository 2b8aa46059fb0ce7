// Cross entropy of every row in bf16, a warp or a block a row, read once: every thread has a running maximum and the
// sum of the terms next to it, over four times eight numbers at a time, and these are joined at the end.
// assay: task fusedops/cross_entropy/bf16_cross_entropy
// assay: twin NO_MAX expect wrong_value|wrong_class -- no subtraction of the maximum
// assay: twin NEXT_LABEL expect wrong_value|wrong_class|out_of_bounds -- the label after the right one
// assay: launch cross_entropy<32> grid=ceil_div(R, 4) block=128 if=D <= 2048 args=x, t, y, R, D
// assay: launch cross_entropy<128> grid=R block=128 if=D > 2048 && D <= 16384 args=x, t, y, R, D
// assay: launch cross_entropy<512> grid=R block=512 if=D > 16384 args=x, t, y, R, D
typedef unsigned short bf16;

static __device__ float wide(bf16 x) {
  return __uint_as_float((unsigned)x << 16);
}

// Two numbers to nearest, ties to even; the first one in the lower half.
static __device__ unsigned narrow_two(float low, float high) {
  unsigned word;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}

static __device__ bf16 narrow(float x) {
  return (bf16)narrow_two(x, 0);
}

// Eight numbers that lie side by side.
struct eight {
  float v[8];
};

static __device__ eight widen(uint4 words) {
  unsigned w[4] = {words.x, words.y, words.z, words.w};
  eight e;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    e.v[2 * i] = __uint_as_float(w[i] << 16);
    e.v[2 * i + 1] = __uint_as_float(w[i] & 0xffff0000u);
  }
  return e;
}

static __device__ float exp2_of(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Over the THREADS threads of a row; all have the result.
template <int THREADS> static __device__ float sum_of_row(float x) {
#pragma unroll
  for (int step = (THREADS < 32 ? THREADS : 32) / 2; step > 0; step /= 2)
    x = x + __shfl_xor_sync(0xffffffffu, x, step);
  if (THREADS <= 32)
    return x;
  __shared__ float warps[THREADS / 32 > 0 ? THREADS / 32 : 1];
  if (threadIdx.x % 32 == 0)
    warps[threadIdx.x / 32] = x;
  __syncthreads();
  x = warps[0];
#pragma unroll
  for (int w = 1; w < THREADS / 32; w++)
    x = x + warps[w];
  __syncthreads(); // the next result takes the same place
  return x;
}

// Over the THREADS threads of a row; all have the result.
template <int THREADS> static __device__ float max_of_row(float x) {
#pragma unroll
  for (int step = (THREADS < 32 ? THREADS : 32) / 2; step > 0; step /= 2)
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
  if (THREADS <= 32)
    return x;
  __shared__ float warps[THREADS / 32 > 0 ? THREADS / 32 : 1];
  if (threadIdx.x % 32 == 0)
    warps[threadIdx.x / 32] = x;
  __syncthreads();
  x = warps[0];
#pragma unroll
  for (int w = 1; w < THREADS / 32; w++)
    x = fmaxf(x, warps[w]);
  __syncthreads(); // the next result takes the same place
  return x;
}

static __device__ long long label_of(const long long *t, int row, int d) {
#ifdef NEXT_LABEL
  return (t[row] + 1) % d;
#else
  return t[row];
#endif
}

// A thread's sum is next to its own maximum; -inf is what a thread has that saw nothing.
template <int THREADS> static __device__ float join(float largest, float sum, float *over_all) {
  const float log2e = 1.4426950408889634f;
  *over_all = max_of_row<THREADS>(largest);
#ifdef NO_MAX
  *over_all = 0;
#endif
  return sum_of_row<THREADS>(sum == 0 ? 0 : sum * exp2_of((largest - *over_all) * log2e));
}

// A row need not begin where the copy of 16 bytes may: what is before and behind whole ones comes one by one.
template <int THREADS>
__global__ void __launch_bounds__(THREADS < 128 ? 128 : THREADS)
    cross_entropy(const bf16 *__restrict__ x, const long long *__restrict__ t, bf16 *__restrict__ y, int count, int d) {
  enum { VECTORS = 4 };
  const float log2e = 1.4426950408889634f, none = __int_as_float(0xff800000);
  const uint4 least = make_uint4(0xff80ff80u, 0xff80ff80u, 0xff80ff80u, 0xff80ff80u); // minus infinity
  int row = THREADS < 128 ? blockIdx.x * (128 / THREADS) + threadIdx.x / THREADS : blockIdx.x;
  int lane = threadIdx.x % THREADS;
  if (row >= count) // a whole warp, and no barrier below: blocks of many warps have a row of their own
    return;
  long long begin = row * (long long)d;
  x += begin;
  int before = min((int)(-begin & 7), d), length = (d - before) / 8, behind = (d - before) % 8;
  const uint4 *words = (const uint4 *)(x + before);
  float wanted = lane == 0 ? wide(x[label_of(t, row, d)]) : 0, largest = none, sum = 0;
  if (lane < 16) {
    int i = lane < 8 ? lane : d - behind + lane - 8;
    if (lane < 8 ? i < before : i < d) {
      largest = wide(x[i]);
      sum = 1;
#ifdef NO_MAX
      sum = exp2_of(largest * log2e);
      largest = 0;
#endif
    }
  }
  for (int first = lane; first < length; first += THREADS * VECTORS) {
    uint4 read[VECTORS];
#pragma unroll
    for (int i = 0; i < VECTORS; i++)
      read[i] = first + i * THREADS < length ? __ldcs(words + first + i * THREADS) : least;
    float here = largest;
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
      eight e = widen(read[i]);
#pragma unroll
      for (int j = 0; j < 8; j++)
        here = fmaxf(here, e.v[j]);
    }
#ifdef NO_MAX
    here = 0;
#endif
    if (here == none) // nothing but minus infinity, which adds nothing
      continue;
    sum *= exp2_of((largest - here) * log2e);
    largest = here;
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
      eight e = widen(read[i]);
#pragma unroll
      for (int j = 0; j < 8; j++)
        sum += exp2_of((e.v[j] - largest) * log2e); // the difference first: the sum's logarithm is an answer
    }
  }
  float over_all;
  sum = join<THREADS>(largest, sum, &over_all);
  if (lane == 0)
    y[row] = narrow(logf(sum) - (wanted - over_all));
}
