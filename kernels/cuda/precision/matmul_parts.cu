// Products of fp32 matrices by tensor cores, in every arithmetic that somebody might use for them: the examples of
// docs/numerics.md. Not fast: a warp makes a tile of 16 x 8 straight from global memory.
// assay: task contracts/1/1
// assay: twin IN_CORE expect wrong_value|low_precision -- three products of TF32, all summed in the tensor core
// assay: twin TF32_NEAREST expect low_precision|wrong_value -- one product, factors rounded to TF32
// assay: twin TF32_CUT expect low_precision|wrong_value -- one product, factors as they are: the hardware cuts bits off
// assay: twin BF16_3 expect low_precision|wrong_value -- two parts of bf16 have 16 bits of a factor
// assay: twin BF16_6 expect pass -- three parts of bf16 have all bits of a factor; six of nine products
// assay: twin BF16_9 expect pass -- the same with all products
// assay: twin BF16_1 expect low_precision|wrong_value -- one product, factors rounded to bf16
// assay: twin FP16_1 expect low_precision|wrong_value|wrong_class -- one product, factors rounded to fp16
// assay: twin SHORT expect wrong_value|wrong_class|unwritten -- leaves out the last term
// assay: launch matmul grid=ceil_div(N, 16),ceil_div(M, 64) block=256 args=a, b, y, M, K, N
// As it stands: two parts of TF32 for each factor, of their products the three larger, the smallest first. Tensor cores
// truncate sums instead of rounding them, so after 32 terms their sum is added to the total by ordinary arithmetic.
#if defined(TF32_NEAREST) || defined(TF32_CUT) || defined(BF16_1) || defined(FP16_1)
enum { PARTS = 1, LEAST = 0 };
#elif defined(BF16_6)
enum { PARTS = 3, LEAST = 2 };
#elif defined(BF16_9)
enum { PARTS = 3, LEAST = 4 };
#else
enum { PARTS = 2, LEAST = 1 }; // parts i of a and j of b meet where i + j <= LEAST
#endif
#if defined(BF16_1) || defined(BF16_3) || defined(BF16_6) || defined(BF16_9) || defined(FP16_1)
#define HALF_WIDTH
enum { STEP = 16, PER = 2 }; // terms of an instruction; factors in a register
#else
enum { STEP = 8, PER = 1 };
#endif
enum { PROMOTE = 32 };
#ifdef SHORT
#define TERMS(K) ((K)-1)
#else
#define TERMS(K) (K)
#endif

// The next part of each of PER factors as one register; what is left of the factors stays in x.
static __device__ unsigned int take_part(float (&x)[PER]) {
  unsigned int r;
#if defined(FP16_1)
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(x[1]), "f"(x[0]));
#elif defined(HALF_WIDTH)
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(x[1]), "f"(x[0]));
  x[0] -= __uint_as_float(r << 16);
  x[1] -= __uint_as_float(r & 0xffff0000u);
#elif defined(TF32_CUT)
  r = __float_as_uint(x[0]);
#else
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x[0]));
  x[0] -= __uint_as_float(r);
#endif
  return r;
}

static __device__ void multiply(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]) {
#if defined(FP16_1)
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
#elif defined(HALF_WIDTH)
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
               "{%0,%1,%2,%3};"
#else
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
#endif
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// STEP terms of the tile at (m0, n0), beginning with term k0; beyond the matrices there are zeros.
static __device__ void add_step(float (&sum)[4], const float *a, const float *b, int m0, int n0, int k0, int M, int K,
                                int N) {
  int row = (int)threadIdx.x % 32 / 4, term = (int)threadIdx.x % 4 * PER;
  unsigned int as[PARTS][4], bs[PARTS][2];
#pragma unroll
  for (int r = 0; r < 4; r++) {
    float x[PER];
#pragma unroll
    for (int i = 0; i < PER; i++) {
      int m = m0 + row + r % 2 * 8, k = k0 + r / 2 * (STEP / 2) + term + i;
      x[i] = m < M && k < TERMS(K) ? a[(long long)m * K + k] : 0;
    }
#pragma unroll
    for (int p = 0; p < PARTS; p++)
      as[p][r] = take_part(x);
  }
#pragma unroll
  for (int r = 0; r < 2; r++) {
    float x[PER];
#pragma unroll
    for (int i = 0; i < PER; i++) {
      int n = n0 + row, k = k0 + r * (STEP / 2) + term + i;
      x[i] = n < N && k < TERMS(K) ? b[(long long)k * N + n] : 0;
    }
#pragma unroll
    for (int p = 0; p < PARTS; p++)
      bs[p][r] = take_part(x);
  }
#pragma unroll
  for (int order = LEAST; order >= 0; order--)
#pragma unroll
    for (int p = 0; p < PARTS; p++)
      if (order - p >= 0 && order - p < PARTS)
        multiply(sum, as[p], bs[order - p]);
}

__global__ void __launch_bounds__(256)
    matmul(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ y, int M, int K, int N) {
  int warp = (int)threadIdx.x / 32, row = (int)threadIdx.x % 32 / 4, column = (int)threadIdx.x % 4 * 2;
  int m0 = (int)blockIdx.y * 64 + warp / 2 * 16, n0 = (int)blockIdx.x * 16 + warp % 2 * 8;
  float total[4] = {}, sum[4] = {};
  for (int k = 0; k < K; k += STEP) {
    add_step(sum, a, b, m0, n0, k, M, K, N);
#ifndef IN_CORE
    if (PARTS > 1 && (k + STEP) % PROMOTE == 0)
#pragma unroll
      for (int i = 0; i < 4; i++) {
        total[i] += sum[i];
        sum[i] = 0;
      }
#endif
  }
#pragma unroll
  for (int i = 0; i < 4; i++) {
    int m = m0 + row + i / 2 * 8, n = n0 + column + i % 2;
    if (m < M && n < N)
      y[(long long)m * N + n] = total[i] + sum[i];
  }
}
