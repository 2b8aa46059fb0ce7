// Softmax over rows in bf16. A row is read once, and stays in registers: 8 to 512 threads have it, with
// VECTORS times eight numbers each; all loads are under way before the first number is used. A group of threads within
// a warp reduces by shuffles only. Longer rows than 16384 are read twice, the second time from level 2.
// assay: task fusedops/softmax/bf16_softmax
// assay: twin NO_MAX expect wrong_value|wrong_class -- no subtraction of the maximum
// assay: twin DROP_LAST expect wrong_value|low_precision|wrong_class -- the sum forgets the last element
// FORM: 0 reckons the terms twice, from what was read; 1 keeps them, which are twice as many registers; 2 keeps them,
// too, in twice as many threads a row.
// assay: tune FORM 0,1,2
// assay: constraint FORM == 0 || D % 8 == 0 && D > 256 && D <= 16384
// assay: let vectors = D % 8 == 0
// By default it is form 0, and form 2 where that was faster: at this length, up to as many rows as there are threads' groups
// at once. More were not timed.
// assay: let best = D > 512 && D <= 1024 && R <= 132 * 32 ? 2 : 0
// assay: let form = D <= 256 ? 0 : FORM == 0 ? best : FORM
// assay: launch softmax<8, 1, 128> grid=ceil_div(R, 16) block=128 if=vectors && D <= 64 \
//   args=x, y, R, D
// assay: launch softmax<16, 1, 128> grid=ceil_div(R, 8) block=128 if=vectors && D > 64 && D <= 128 \
//   args=x, y, R, D
// assay: launch softmax<32, 1, 128> grid=ceil_div(R, 4) block=128 if=vectors && D > 128 && D <= 256 \
//   args=x, y, R, D
// assay: launch softmax<32, 2, 128> grid=ceil_div(R, 4) block=128 if=form == 0 && vectors && D > 256 && D <= 512 \
//   args=x, y, R, D
// assay: launch softmax<32, 2, 128, true> grid=ceil_div(R, 4) block=128 if=form == 1 && vectors && D > 256 && D <= 512 \
//   args=x, y, R, D
// assay: launch softmax<64, 1, 64, true> grid=R block=64 if=form == 2 && vectors && D > 256 && D <= 512 \
//   args=x, y, R, D
// assay: launch softmax<32, 4, 128> grid=ceil_div(R, 4) block=128 if=form == 0 && vectors && D > 512 && D <= 1024 \
//   args=x, y, R, D
// assay: launch softmax<32, 4, 128, true> grid=ceil_div(R, 4) block=128 if=form == 1 && vectors && D > 512 && D <= 1024 \
//   args=x, y, R, D
// assay: launch softmax<64, 2, 64, true> grid=R block=64 if=form == 2 && vectors && D > 512 && D <= 1024 \
//   args=x, y, R, D
// assay: launch softmax<32, 8, 128> grid=ceil_div(R, 4) block=128 if=form == 0 && vectors && D > 1024 && D <= 2048 \
//   args=x, y, R, D
// assay: launch softmax<32, 8, 128, true, 4> grid=ceil_div(R, 4) block=128 if=form == 1 && vectors && D > 1024 && D <= 2048 \
//   args=x, y, R, D
// assay: launch softmax<64, 4, 64, true> grid=R block=64 if=form == 2 && vectors && D > 1024 && D <= 2048 \
//   args=x, y, R, D
// assay: launch softmax<128, 4, 128> grid=R block=128 if=form == 0 && vectors && D > 2048 && D <= 4096 \
//   args=x, y, R, D
// assay: launch softmax<128, 4, 128, true> grid=R block=128 if=form == 1 && vectors && D > 2048 && D <= 4096 \
//   args=x, y, R, D
// assay: launch softmax<256, 2, 256, true> grid=R block=256 if=form == 2 && vectors && D > 2048 && D <= 4096 \
//   args=x, y, R, D
// assay: launch softmax<256, 4, 256> grid=R block=256 if=form == 0 && vectors && D > 4096 && D <= 8192 \
//   args=x, y, R, D
// assay: launch softmax<256, 4, 256, true> grid=R block=256 if=form == 1 && vectors && D > 4096 && D <= 8192 \
//   args=x, y, R, D
// assay: launch softmax<512, 2, 512, true> grid=R block=512 if=form == 2 && vectors && D > 4096 && D <= 8192 \
//   args=x, y, R, D
// assay: launch softmax<512, 4, 512> grid=R block=512 if=form == 0 && vectors && D > 8192 && D <= 16384 \
//   args=x, y, R, D
// assay: launch softmax<512, 4, 512, true> grid=R block=512 if=form == 1 && vectors && D > 8192 && D <= 16384 \
//   args=x, y, R, D
// assay: launch softmax<1024, 2, 1024, true> grid=R block=1024 if=form == 2 && vectors && D > 8192 && D <= 16384 \
//   args=x, y, R, D
// assay: launch softmax_long<512> grid=R block=512 if=vectors && D > 16384 && D <= 65536 args=x, y, D
// assay: launch softmax_long<1024> grid=R block=1024 if=vectors && D > 65536 args=x, y, D
// assay: launch softmax_any grid=R block=512 if=!vectors args=x, y, D
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

static __device__ uint4 narrowed(const eight &e) {
  return make_uint4(narrow_two(e.v[0], e.v[1]), narrow_two(e.v[2], e.v[3]), narrow_two(e.v[4], e.v[5]),
                    narrow_two(e.v[6], e.v[7]));
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

// The terms of a row in `e`, of which the maximum is `largest`, and their sum in this thread. The scale of the
// exponent is applied to both, so that what its rounding does to the maximum is the same for all.
static __device__ float terms(eight &e, float largest, int first, int d) {
  const float log2e = 1.4426950408889634f;
#ifdef NO_MAX
  largest = 0;
#endif
  float sum = 0;
#pragma unroll
  for (int j = 0; j < 8; j++) {
    e.v[j] = exp2_of(e.v[j] * log2e - largest * log2e);
#ifdef DROP_LAST
    if (first + j + 1 < d)
#else
    if (first + j < d)
#endif
      sum += e.v[j];
  }
  return sum;
}

// KEEP: the terms stay in registers, of which a thread has no more than let 1024 threads be on a multiprocessor.
template <int THREADS, int VECTORS, int BLOCK, bool KEEP = false,
          int BLOCKS = (KEEP           ? 1024 / BLOCK
                        : BLOCK == 512 ? 2
                                       : 1)>
__global__ void __launch_bounds__(BLOCK, BLOCKS)
    softmax(const uint4 *__restrict__ x, uint4 *__restrict__ y, int rows, int d) {
  int row = blockIdx.x * (BLOCK / THREADS) + threadIdx.x / THREADS, lane = threadIdx.x % THREADS, length = d / 8;
  bool mine = row < rows;
  x += (long long)row * length;
  y += (long long)row * length;
  const uint4 least = make_uint4(0xff80ff80u, 0xff80ff80u, 0xff80ff80u, 0xff80ff80u); // minus infinity
  uint4 read[VECTORS];
#pragma unroll
  for (int i = 0; i < VECTORS; i++)
    read[i] = mine && lane + i * THREADS < length ? __ldcs(x + lane + i * THREADS) : least;
  float largest = __int_as_float(0xff800000), sum = 0;
#pragma unroll
  for (int i = 0; i < VECTORS; i++) {
    eight e = widen(read[i]);
#pragma unroll
    for (int j = 0; j < 8; j++)
      largest = fmaxf(largest, e.v[j]);
  }
  largest = max_of_row<THREADS>(largest);
  eight kept[KEEP ? VECTORS : 1];
#pragma unroll
  for (int i = 0; i < VECTORS; i++) {
    eight e = widen(read[i]);
    sum += terms(e, largest, (lane + i * THREADS) * 8, d);
    if (KEEP)
      kept[i] = e;
  }
  float scale = 1 / sum_of_row<THREADS>(sum);
#pragma unroll
  for (int i = 0; i < VECTORS; i++) {
    eight e = KEEP ? kept[i] : widen(read[i]);
    if (!KEEP)
      terms(e, largest, 0, d); // once more: kept, they would take as many registers as four blocks have
#pragma unroll
    for (int j = 0; j < 8; j++)
      e.v[j] *= scale;
    if (mine && lane + i * THREADS < length)
      __stcs(y + lane + i * THREADS, narrowed(e));
  }
}

// A row that is too long for registers, in two sweeps: a running maximum and the sum next to it, then the terms again.
// The second one finds the row in level 2.
template <int THREADS>
__global__ void __launch_bounds__(THREADS, 1024 / THREADS)
    softmax_long(const uint4 *__restrict__ x, uint4 *__restrict__ y, int d) {
  enum { VECTORS = 4 };
  const float log2e = 1.4426950408889634f, none = __int_as_float(0xff800000);
  const uint4 least = make_uint4(0xff80ff80u, 0xff80ff80u, 0xff80ff80u, 0xff80ff80u);
  int length = d / 8;
  x += (long long)blockIdx.x * length;
  y += (long long)blockIdx.x * length;
  float largest = none, sum = 0;
  for (int first = threadIdx.x; first < length; first += THREADS * VECTORS) {
    uint4 read[VECTORS];
#pragma unroll
    for (int i = 0; i < VECTORS; i++)
      read[i] = first + i * THREADS < length ? x[first + i * THREADS] : least;
    float here = largest;
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
      eight e = widen(read[i]);
#pragma unroll
      for (int j = 0; j < 8; j++)
        here = fmaxf(here, e.v[j]);
    }
    if (here == none)
      continue;
    sum *= exp2_of((largest - here) * log2e);
    largest = here;
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
      eight e = widen(read[i]);
      sum += terms(e, largest, (first + i * THREADS) * 8, d);
    }
  }
  float over_all = max_of_row<THREADS>(largest);
  float scale = 1 / sum_of_row<THREADS>(sum == 0 ? 0 : sum * exp2_of((largest - over_all) * log2e));
  for (int first = threadIdx.x; first < length; first += THREADS * VECTORS) {
    uint4 read[VECTORS];
#pragma unroll
    for (int i = 0; i < VECTORS; i++)
      read[i] = first + i * THREADS < length ? __ldcs(x + first + i * THREADS) : least;
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
      eight e = widen(read[i]);
      terms(e, over_all, 0, d);
#pragma unroll
      for (int j = 0; j < 8; j++)
        e.v[j] *= scale;
      if (first + i * THREADS < length)
        __stcs(y + first + i * THREADS, narrowed(e));
    }
  }
}

// Any row, in three sweeps, a block a row.
__global__ void __launch_bounds__(512) softmax_any(const bf16 *x, bf16 *y, int d) {
  x += (long long)blockIdx.x * d;
  y += (long long)blockIdx.x * d;
  float largest = __int_as_float(0xff800000), sum = 0;
  for (int i = threadIdx.x; i < d; i += 512)
    largest = fmaxf(largest, wide(x[i]));
  largest = max_of_row<512>(largest);
#ifdef NO_MAX
  largest = 0;
#endif
#ifdef DROP_LAST
  for (int i = threadIdx.x; i + 1 < d; i += 512)
#else
  for (int i = threadIdx.x; i < d; i += 512)
#endif
    sum += expf(wide(x[i]) - largest);
  sum = sum_of_row<512>(sum);
  for (int i = threadIdx.x; i < d; i += 512)
    y[i] = narrow(expf(wide(x[i]) - largest) / sum);
}
