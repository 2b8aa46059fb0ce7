// Root mean square normalisation of rows in bf16. A row is read once, and stays in registers: 8 to 512 threads have
// it, with VECTORS times eight numbers each; all loads are under way before the first number is used. A group of
// threads within a warp adds by shuffles only, so that rows of up to 2048 numbers know no barrier.
// assay: task fusedops/rms_norm/bf16_rms_norm
// assay: twin NO_EPSILON expect wrong_value|wrong_class|low_precision -- rows near zero are not divided by what is added
// assay: twin NO_SCALE expect wrong_value|low_precision -- forgets w
// assay: twin TAIL expect wrong_value|low_precision|wrong_class|unwritten -- leaves out what is beyond whole blocks
// Rows of 512, 1024 and 2048 have forms of their own (FORM 1 to 3): more threads have a row, or all of 2048 rows are on
// the multiprocessors at once, as in bf16_layernorm.cu.
// assay: tune FORM 0,1,2,3
// assay: constraint FORM == 0 || D == 512 || D == 1024 || D == 2048
// assay: let vectors = D % 8 == 0
// assay: let own = FORM >= 1 && (D == 512 || D == 1024 || D == 2048)
// Form 0 is the one that was fastest there; more rows than the multiprocessors have at once were not timed.
// assay: let best = D == 2048 && R <= 132 * 16 ? 2 : D == 1024 && R <= 132 * 16 ? 1 : D == 512 && R <= 132 * 32 ? 2 : 0
// assay: let form = own ? FORM : best
// assay: launch rms_norm<64, 4, 64, 16> grid=R block=64 if=form == 1 && D == 2048 args=x, w, y, R, D
// assay: launch rms_norm<128, 2, 128, 8> grid=R block=128 if=form == 2 && D == 2048 args=x, w, y, R, D
// assay: launch rms_norm<256, 1, 256, 4> grid=R block=256 if=form == 3 && D == 2048 args=x, w, y, R, D
// assay: launch rms_norm<128, 1, 128> grid=R block=128 if=form == 1 && D == 1024 args=x, w, y, R, D
// assay: launch rms_norm<64, 2, 64> grid=R block=64 if=form == 2 && D == 1024 args=x, w, y, R, D
// assay: launch rms_norm<32, 4, 32> grid=R block=32 if=form == 3 && D == 1024 args=x, w, y, R, D
// assay: launch rms_norm<32, 2, 64> grid=ceil_div(R, 2) block=64 if=form == 1 && D == 512 args=x, w, y, R, D
// assay: launch rms_norm<64, 1, 64> grid=R block=64 if=form == 2 && D == 512 args=x, w, y, R, D
// assay: launch rms_norm<32, 2, 32> grid=R block=32 if=form == 3 && D == 512 args=x, w, y, R, D
// assay: launch rms_norm<8, 1, 128> grid=ceil_div(R, 16) block=128 if=vectors && D <= 64 \
//   args=x, w, y, R, D
// assay: launch rms_norm<16, 1, 128> grid=ceil_div(R, 8) block=128 if=vectors && D > 64 && D <= 128 \
//   args=x, w, y, R, D
// assay: launch rms_norm<32, 1, 128> grid=ceil_div(R, 4) block=128 if=vectors && D > 128 && D <= 256 \
//   args=x, w, y, R, D
// assay: launch rms_norm<32, 2, 128> grid=ceil_div(R, 4) block=128 if=form == 0 && vectors && D > 256 && D <= 512 \
//   args=x, w, y, R, D
// assay: launch rms_norm<32, 4, 128> grid=ceil_div(R, 4) block=128 if=form == 0 && vectors && D > 512 && D <= 1024 \
//   args=x, w, y, R, D
// assay: launch rms_norm<32, 8, 128> grid=ceil_div(R, 4) block=128 if=form == 0 && vectors && D > 1024 && D <= 2048 \
//   args=x, w, y, R, D
// assay: launch rms_norm<128, 4, 128> grid=R block=128 if=vectors && D > 2048 && D <= 4096 \
//   args=x, w, y, R, D
// assay: launch rms_norm<256, 4, 256> grid=R block=256 if=vectors && D > 4096 && D <= 8192 \
//   args=x, w, y, R, D
// assay: launch rms_norm<512, 4, 512> grid=R block=512 if=vectors && D > 8192 && D <= 16384 \
//   args=x, w, y, R, D
// assay: launch rms_norm_any grid=R block=256 if=!vectors || D > 16384 args=x, w, y, D
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

// BLOCKS: so many at once on a multiprocessor.
template <int THREADS, int VECTORS, int BLOCK, int BLOCKS = 1>
__global__ void __launch_bounds__(BLOCK, BLOCKS)
    rms_norm(const uint4 *__restrict__ x, const uint4 *__restrict__ w, uint4 *__restrict__ y, int rows, int d) {
  int row = blockIdx.x * (BLOCK / THREADS) + threadIdx.x / THREADS, lane = threadIdx.x % THREADS, length = d / 8;
  bool mine = row < rows;
  x += (long long)row * length;
  y += (long long)row * length;
  uint4 read[VECTORS], scales[VECTORS];
#pragma unroll
  for (int i = 0; i < VECTORS; i++)
    read[i] = mine && lane + i * THREADS < length ? __ldcs(x + lane + i * THREADS) : make_uint4(0, 0, 0, 0);
#pragma unroll
  for (int i = 0; i < VECTORS; i++)
    scales[i] = lane + i * THREADS < length ? __ldg(w + lane + i * THREADS) : make_uint4(0, 0, 0, 0);
  float sum = 0;
#pragma unroll
  for (int i = 0; i < VECTORS; i++) {
    eight e = widen(read[i]);
#pragma unroll
    for (int j = 0; j < 8; j++)
#ifdef TAIL
      if ((lane + i * THREADS) * 8 + j < d - d % 256)
#endif
        sum += e.v[j] * e.v[j];
  }
  sum = sum_of_row<THREADS>(sum);
#ifdef NO_EPSILON
  float scale = rsqrtf(sum / d);
#else
  float scale = rsqrtf(sum / d + 1e-5f);
#endif
#pragma unroll
  for (int i = 0; i < VECTORS; i++) {
    eight e = widen(read[i]), s = widen(scales[i]);
#pragma unroll
    for (int j = 0; j < 8; j++)
#ifdef NO_SCALE
      e.v[j] *= scale;
#else
      e.v[j] *= scale * s.v[j];
#endif
    if (mine && lane + i * THREADS < length)
      __stcs(y + lane + i * THREADS, narrowed(e));
  }
}

// Any row, in two sweeps, a block a row.
__global__ void rms_norm_any(const bf16 *x, const bf16 *w, bf16 *y, int d) {
  x += (long long)blockIdx.x * d;
  y += (long long)blockIdx.x * d;
  float sum = 0;
#ifdef TAIL
  d -= d % 256;
#endif
  for (int i = threadIdx.x; i < d; i += 256)
    sum += wide(x[i]) * wide(x[i]);
#ifdef NO_EPSILON
  float scale = rsqrtf(sum_of_row<256>(sum) / d);
#else
  float scale = rsqrtf(sum_of_row<256>(sum) / d + 1e-5f);
#endif
  for (int i = threadIdx.x; i < d; i += 256)
#ifdef NO_SCALE
    y[i] = narrow(wide(x[i]) * scale);
#else
    y[i] = narrow(wide(x[i]) * scale * wide(w[i]));
#endif
}
