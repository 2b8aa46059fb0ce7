// Product of two rectangular matrices in single precision by tensor cores: every factor is the sum of two numbers of
// TF32, and three of the four products are added (the fourth is below the last bit).
// assay: task fusedops/matmul/fp32_matmul
// assay: twin ONE_PRODUCT expect low_precision|wrong_value -- adds the products of the larger parts only
// assay: twin NO_ROW_CHECK expect out_of_bounds|wrong_value -- writes whole tiles below the last row
// The product is made transposed: the tensor core takes b from registers, where it is split on the way, and multiplies
// it (wgmma m64n128k8) with rows of a in shared memory, which must run along the sum. The tensor core ignores all but
// the larger part of a; three warps put the smaller part next to it. One thread keeps the copy engine busy, four slices
// of 32 terms ahead; two groups of four warps multiply, each 64 columns of a tile of 128 x 128. Tensor cores truncate
// sums instead of rounding them. So a slice's smaller products come first, and its sum is added to the tile's by
// ordinary arithmetic. Where infinity or NaN came out, or less than 2^-90, the parts cannot be trusted, and the element
// is computed again term by term.
// The copy engine wants rows of a multiple of 16 bytes: other shapes go to a plain kernel.
// Of fewer than 16 terms the fourth product is not below the error of their sum: they go to a plain kernel, too.
// assay: let whole = K % 4 == 0 && N % 4 == 0 && K >= 16
// assay: let tiles = ceil_div(M, 128) * ceil_div(N, 128)
// assay: tensor_map ta of=a type=float dims=whole ? K : 1,whole ? M : 1 strides=whole ? K : 4 box=32,128 \
//   swizzle=128 l2=256
// assay: tensor_map tb of=b type=float dims=whole ? N : 1,whole ? K : 1 strides=whole ? N : 4 box=32,32 \
//   swizzle=128 l2=256
// assay: launch matmul grid=min(tiles, 132) block=384 shared=197632 if=whole args=ta, tb, a, b, y, M, K, N
// assay: launch matmul_plain grid=ceil_div(N, 32),ceil_div(M, 32) block=256 if=!whole args=a, b, y, M, K, N
struct alignas(64) CUtensorMap {
  unsigned long long opaque[16];
};

enum { BM = 128, BN = 128, BK = 32, STAGES = 4, THREADS = 384, SPLITTERS = 96 };
enum { A_BYTES = BM * BK * 4, B_BYTES = BK * BN * 4, BOX_BYTES = BK * 32 * 4 };

static __device__ unsigned int shared_address(const void *p) {
  return (unsigned int)__cvta_generic_to_shared(p);
}

static __device__ void barrier_init(unsigned long long *barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}

// Arrives, and sets how many bytes must come before the phase ends.
static __device__ void barrier_expect(unsigned long long *barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}

static __device__ void barrier_arrive(unsigned long long *barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

static __device__ void barrier_wait(unsigned long long *barrier, int parity) {
  asm volatile("{\n"
               ".reg .pred done;\n"
               "again:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
               "@done bra over;\n"
               "bra again;\n"
               "over:\n"
               "}" ::"r"(shared_address(barrier)),
               "r"(parity)
               : "memory");
}

// The box at (x, y) of a tensor map, to shared memory; the barrier counts its bytes.
static __device__ void fetch_box(void *to, const CUtensorMap *map, int x, int y, unsigned long long *barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
          shared_address(to)),
      "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier))
      : "memory");
}

static __device__ void warpgroup_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

static __device__ void warpgroup_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int N> static __device__ void warpgroup_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

// The wgmma descriptor of a tile in shared memory: rows of 128 bytes of terms, swizzled as the copy engine does it.
// Groups of 8 rows are 1024 bytes apart.
static __device__ unsigned long long describe(const void *tile) {
  return (unsigned long long)((shared_address(tile) & 0x3ffff) >> 4) | 1ull << 16 |
         (unsigned long long)(1024 >> 4) << 32 | 1ull << 62;
}

// d (+)= 64 x 8 from registers times 8 x 128 from shared memory.
static __device__ void multiply(float (&d)[64], const unsigned int (&x)[4], unsigned long long rows, bool add) {
  asm volatile("{\n"
               ".reg .pred p;\n"
               "setp.ne.b32 p, %69, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 {"
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
               "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
               "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
               "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
               "}, {%64, %65, %66, %67}, %68, p, 1, 1;\n"
               "}"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                 "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
                 "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
                 "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
                 "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
                 "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
                 "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
                 "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
               : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "l"(rows), "r"((int)add));
}

// Keeps the compiler from reading the sums before they are complete.
static __device__ void hold(float (&d)[64]) {
#pragma unroll
  for (int i = 0; i < 64; i++)
    asm volatile("" : "+f"(d[i])::"memory");
}

// To the nearest number of TF32, which keeps ten bits of the fraction.
static __device__ unsigned int to_tf32(float x) {
  unsigned int r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
  return r;
}

// A block's position in the ring of slices: the slot, and how often it went round.
struct ring {
  int slot, parity;
  __device__ void next() {
    if (++slot == STAGES) {
      slot = 0;
      parity ^= 1;
    }
  }
};

// The place of a tile: 8 rows of tiles are walked column by column.
static __device__ void tile_place(int tile, int M, int N, int *m0, int *n0) {
  int down = (M + BM - 1) / BM, across = (N + BN - 1) / BN;
  int first = tile / (8 * across) * 8, rows = min(down - first, 8), rest = tile % (8 * across);
  *m0 = (first + rest % rows) * BM;
  *n0 = rest / rows * BN;
}

static __device__ int tile_count(int M, int N) {
  return (M + BM - 1) / BM * ((N + BN - 1) / BN);
}

static __device__ void bring_slices(const CUtensorMap *ta, const CUtensorMap *tb, unsigned char *a, unsigned char *b,
                                    unsigned long long *full, unsigned long long *empty, int M, int K, int N) {
  int m0, n0;
  struct ring at = {0, 1};
  for (int tile = (int)blockIdx.x; tile < tile_count(M, N); tile += (int)gridDim.x) {
    tile_place(tile, M, N, &m0, &n0);
    for (int k = 0; k < K; k += BK, at.next()) {
      barrier_wait(&empty[at.slot], at.parity);
      barrier_expect(&full[at.slot], A_BYTES + B_BYTES);
      fetch_box(a + at.slot * A_BYTES, ta, k, m0, &full[at.slot]);
      for (int i = 0; i < BN / 32; i++)
        fetch_box(b + at.slot * B_BYTES + i * BOX_BYTES, tb, n0 + i * 32, k, &full[at.slot]);
    }
  }
}

// What the tensor core leaves out when it reads a float as a number of TF32, rounded to one.
static __device__ float rest_of(float x) {
  return __uint_as_float(to_tf32(x - __uint_as_float(__float_as_uint(x) & 0xffffe000u)));
}

static __device__ void split_slices(const unsigned char *a, unsigned char *small, unsigned long long *full,
                                    unsigned long long *ready, int M, int K, int N) {
  struct ring at = {0, 0};
  for (int tile = (int)blockIdx.x; tile < tile_count(M, N); tile += (int)gridDim.x)
    for (int k = 0; k < K; k += BK, at.next()) {
      barrier_wait(&full[at.slot], at.parity);
      const float4 *from = (const float4 *)(a + at.slot * A_BYTES);
      float4 *to = (float4 *)(small + at.slot * A_BYTES);
#pragma unroll 4
      for (int i = (int)threadIdx.x - 32; i < A_BYTES / 16; i += SPLITTERS) {
        float4 v = from[i];
        to[i] = make_float4(rest_of(v.x), rest_of(v.y), rest_of(v.z), rest_of(v.w));
      }
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); // the tensor core reads through the async proxy
      __syncwarp();
      if (threadIdx.x % 32 == 0)
        barrier_arrive(&ready[at.slot]);
    }
}

// One element, term by term.
static __device__ __noinline__ float element(const float *a, const float *b, int m, int n, int K, int N) {
  float sum = 0;
  for (int k = 0; k < K; k++)
    sum += a[(long long)m * K + k] * b[(long long)k * N + n];
  return sum;
}

static __device__ bool trusted(float x) {
  return fabsf(x) >= 0x1p-90f && fabsf(x) <= 3.4028235e38f;
}

// Writes two neighbours of a row.
static __device__ void store_two(float *y, const float *a, const float *b, int m, int n, int K, int N, float first,
                                 float second) {
  if (!trusted(first))
    first = element(a, b, m, n, K, N);
  if (!trusted(second))
    second = element(a, b, m, n + 1, K, N);
  *(float2 *)&y[(long long)m * N + n] = make_float2(first, second);
}

static __device__ void make_tiles(const float *ga, const float *gb, float *y, const unsigned char *a,
                                  const unsigned char *small, const unsigned char *b, unsigned long long *full,
                                  unsigned long long *ready, unsigned long long *empty, int M, int K, int N) {
  int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32 - 4, m0, n0;
  // A warp has 16 columns, half a box; a thread has two neighbours, in one half of the piece `piece` of 16 bytes of the
  // box's rows. Which one is chosen so that sixteen threads that load at the same time meet all banks, after the copy
  // engine's swizzle.
  int row = lane / 4, term = lane % 4, piece = warp % 2 * 2 + row / 4 + row / 2 % 2 * 4, half = row % 2;
  struct ring at = {0, 0};
  float sum[64], part[64];
  for (int tile = (int)blockIdx.x; tile < tile_count(M, N); tile += (int)gridDim.x) {
    tile_place(tile, M, N, &m0, &n0);
#pragma unroll
    for (int i = 0; i < 64; i++)
      sum[i] = 0;
    for (int k = 0; k < K; k += BK, at.next()) {
      unsigned int large_b[BK / 8][4], small_b[BK / 8][4];
      barrier_wait(&full[at.slot], at.parity);
      const unsigned char *from = b + at.slot * B_BYTES + warp / 2 * BOX_BYTES + half * 8;
#pragma unroll
      for (int step = 0; step < BK / 8; step++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
          int t = term + 4 * h;
          float2 v = *(const float2 *)(from + (step * 8 + t) * 128 + ((piece ^ t) << 4));
          large_b[step][2 * h] = to_tf32(v.x);
          large_b[step][2 * h + 1] = to_tf32(v.y);
          small_b[step][2 * h] = __float_as_uint(v.x - __uint_as_float(large_b[step][2 * h]));
          small_b[step][2 * h + 1] = __float_as_uint(v.y - __uint_as_float(large_b[step][2 * h + 1]));
        }
      barrier_wait(&ready[at.slot], at.parity);
      unsigned long long large_a = describe(a + at.slot * A_BYTES), small_a = describe(small + at.slot * A_BYTES);
      warpgroup_fence();
#ifndef ONE_PRODUCT
#pragma unroll
      for (int step = 0; step < BK / 8; step++) {
        multiply(part, small_b[step], large_a + step * (32 >> 4), step > 0);
        multiply(part, large_b[step], small_a + step * (32 >> 4), true);
      }
      bool begun = true;
#else
      (void)small_b;
      bool begun = false;
#endif
#pragma unroll
      for (int step = 0; step < BK / 8; step++)
        multiply(part, large_b[step], large_a + step * (32 >> 4), begun || step > 0);
      warpgroup_commit();
      warpgroup_wait<0>(); // the other group has work meanwhile
      if (lane == 0)
        barrier_arrive(&empty[at.slot]);
      hold(part);
#pragma unroll
      for (int i = 0; i < 64; i++)
        sum[i] += part[i];
    }
    int n = n0 + warp / 2 * 32 + piece * 4 + half * 2;
#pragma unroll
    for (int j = 0; j < 64; j += 4)
#pragma unroll
      for (int i = 0; i < 2; i++) {
        int m = m0 + 2 * j + 2 * term + i;
#ifdef NO_ROW_CHECK
        if (n < N)
#else
        if (m < M && n < N)
#endif
          store_two(y, ga, gb, m, n, K, N, sum[j + i], sum[j + 2 + i]);
      }
  }
}

__global__ void __launch_bounds__(THREADS, 1)
    matmul(const __grid_constant__ CUtensorMap ta, const __grid_constant__ CUtensorMap tb, const float *ga,
           const float *gb, float *y, int M, int K, int N) {
  extern __shared__ unsigned char memory[];
  __shared__ unsigned long long full[STAGES], ready[STAGES], empty[STAGES];
  unsigned char *a = memory + (1024 - shared_address(memory) % 1024) % 1024;
  unsigned char *small = a + STAGES * A_BYTES, *b = small + STAGES * A_BYTES;
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; s++) {
      barrier_init(&full[s], 1);
      barrier_init(&ready[s], SPLITTERS / 32);
      barrier_init(&empty[s], 8); // warps that multiply
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0)
      bring_slices(&ta, &tb, a, b, full, empty, M, K, N);
    else if (threadIdx.x >= 32)
      split_slices(a, small, full, ready, M, K, N);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    make_tiles(ga, gb, y, a, small, b, full, ready, empty, M, K, N);
  }
}

// Any shape: a tile of 32 x 32, 32 terms at a time, 4 sums in each thread.
__global__ void matmul_plain(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ y, int M,
                             int K, int N) {
  __shared__ float as[32][33], bs[32][33];
  int x = (int)threadIdx.x % 32, row = (int)threadIdx.x / 32, m0 = (int)blockIdx.y * 32, n = (int)blockIdx.x * 32 + x;
  float sum[4] = {};
  for (int k0 = 0; k0 < K; k0 += 32) {
    for (int i = row; i < 32; i += 8) {
      as[i][x] = m0 + i < M && k0 + x < K ? a[(long long)(m0 + i) * K + k0 + x] : 0;
      bs[i][x] = k0 + i < K && n < N ? b[(long long)(k0 + i) * N + n] : 0;
    }
    __syncthreads();
    for (int k = 0; k < 32; k++)
      for (int i = 0; i < 4; i++)
        sum[i] += as[row + 8 * i][k] * bs[k][x];
    __syncthreads();
  }
  for (int i = 0; i < 4; i++)
    if (m0 + row + 8 * i < M && n < N)
      y[(long long)(m0 + row + 8 * i) * N + n] = sum[i];
}
