// Router of a mixture of experts in single precision: parts of all logits first, then a warp or several a row add the
// parts and take the eight largest gates. Softmax over all experts cancels: a gate is a ratio of eight exponentials.
// assay: task fusedops/moe_gate/fp32_moe_gate
// assay: twin ALL_GATES expect wrong_value|low_precision -- divided by the sum of all
// assay: twin SEVEN expect wrong_value|low_precision|wrong_class -- the last gate is the next one
// assay: twin LOST_PART expect wrong_value|low_precision|wrong_class -- leaves out the last part of the sum
// assay: twin ONE_PRODUCT expect wrong_value|low_precision -- factors as numbers of TF32
// assay: twin TWICE expect wrong_value|low_precision|wrong_class -- a gate that was taken can be taken again
//   many rows   (256 and more) the tensor cores: every factor is the sum of two numbers of TF32, and three of the four
//               products are added (the fourth is below the last bit). There are fewer tiles of 128 rows and 128
//               experts than multiprocessors, so that the sum is cut into as many parts as keep all busy. The product
//               is made transposed: the tensor core takes w from registers, where it is split on the way, and
//               multiplies it with rows of x in shared memory. The tensor core ignores all but the larger part of x;
//               three warps put the smaller part next to it. Tensor cores truncate sums, so a slice's smaller products
//               come first, and its sum is added to the part's by ordinary arithmetic. Where infinity or NaN came out,
//               or less than 2^-90, the parts cannot be trusted, and the logit is computed again term by term
//   few rows    ordinary arithmetic. What there is to read is w, once: all of a block's is under way before the first
//               number is used, and there are as many parts as multiprocessors
//   gates       logits are compared as integers that are ordered as they are: the largest of a warp is one instruction
// The copy engine wants rows of a multiple of 16 bytes: other shapes go the way of few rows.
// assay: require E <= 256 -- a warp has the logits of a row in its registers
// assay: let tensor = R >= 256 && D % 4 == 0 && E % 4 == 0 && D >= 16
// assay: let wide = ceil_div(R, 128) * ceil_div(E, 128)
// assay: let wide_span = ceil_div(ceil_div(D, 32), max(132 / wide, 1))
// assay: let one = R == 1
// assay: let tiles = ceil_div(R, one ? 1 : 16) * ceil_div(E, 128)
// assay: let span = round_up(ceil_div(D, max(132 / tiles, 1)), 32)
// assay: let parts = tensor ? ceil_div(ceil_div(D, 32), wide_span) : ceil_div(D, span)
// assay: let values = E <= 128 ? 4 : 8
// assay: let warps = parts >= 32 ? 16 : parts >= 8 ? 4 : 1
// assay: scratch sums float[parts * R * E]
// assay: tensor_map tx of=x type=float dims=tensor ? D : 1,tensor ? R : 1 strides=tensor ? D : 4 box=32,128 \
//   swizzle=128 l2=256
// assay: tensor_map tw of=w type=float dims=tensor ? E : 1,tensor ? D : 1 strides=tensor ? E : 4 box=32,32 \
//   swizzle=128 l2=256
// assay: launch matmul grid=min(wide * parts, 132) block=384 shared=197632 if=tensor \
//   args=tx, tw, sums, R, D, E, wide_span, parts
// assay: launch few_rows<1, 1> grid=R,ceil_div(E, 128),parts block=256 if=!tensor && one && span <= 32 \
//   args=x, w, sums, R, D, E, span
// assay: launch few_rows<1, 4> grid=R,ceil_div(E, 128),parts block=256 if=!tensor && one && span > 32 \
//   args=x, w, sums, R, D, E, span
// assay: launch few_rows<16, 8> grid=ceil_div(R, 16),ceil_div(E, 128),parts block=256 if=!tensor && !one \
//   args=x, w, sums, R, D, E, span
// assay: launch gates<4, 1> grid=ceil_div(R, 4) block=128 if=values == 4 && warps == 1 \
//   args=sums, x, w, y, R, D, E, parts, int(tensor)
// assay: launch gates<4, 4> grid=R block=128 if=values == 4 && warps == 4 \
//   args=sums, x, w, y, R, D, E, parts, int(tensor)
// assay: launch gates<4, 16> grid=R block=512 if=values == 4 && warps == 16 \
//   args=sums, x, w, y, R, D, E, parts, int(tensor)
// assay: launch gates<8, 1> grid=ceil_div(R, 4) block=128 if=values == 8 && warps == 1 \
//   args=sums, x, w, y, R, D, E, parts, int(tensor)
// assay: launch gates<8, 4> grid=R block=128 if=values == 8 && warps == 4 \
//   args=sums, x, w, y, R, D, E, parts, int(tensor)
// assay: launch gates<8, 16> grid=R block=512 if=values == 8 && warps == 16 \
//   args=sums, x, w, y, R, D, E, parts, int(tensor)
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

// The matrices, how many slices a part of the sum has, and how many parts there are.
struct sizes {
  int M, K, N, span, parts;
};

// What a block does at a time: a tile, and which part of its sum.
struct job {
  int part, m0, n0, begin, end; // begin <= k < end
};

// Jobs of the same part follow one another; 8 rows of tiles are walked column by column.
static __device__ struct job job_of(int i, struct sizes s) {
  int down = (s.M + BM - 1) / BM, across = (s.N + BN - 1) / BN, tile = i % (down * across), part = i / (down * across);
  int first = tile / (8 * across) * 8, rows = min(down - first, 8), rest = tile % (8 * across);
  int begin = part * s.span * BK;
  return {part, (first + rest % rows) * BM, rest / rows * BN, begin, min(s.K - begin, s.span * BK) + begin};
}

static __device__ int jobs(struct sizes s) {
  return (s.M + BM - 1) / BM * ((s.N + BN - 1) / BN) * s.parts;
}

static __device__ void bring_slices(const CUtensorMap *ta, const CUtensorMap *tb, unsigned char *a, unsigned char *b,
                                    unsigned long long *full, unsigned long long *empty, struct sizes s) {
  struct ring at = {0, 1};
  for (int i = (int)blockIdx.x; i < jobs(s); i += (int)gridDim.x) {
    struct job job = job_of(i, s);
    for (int k = job.begin; k < job.end; k += BK, at.next()) {
      barrier_wait(&empty[at.slot], at.parity);
      barrier_expect(&full[at.slot], A_BYTES + B_BYTES);
      fetch_box(a + at.slot * A_BYTES, ta, k, job.m0, &full[at.slot]);
      for (int box = 0; box < BN / 32; box++)
        fetch_box(b + at.slot * B_BYTES + box * BOX_BYTES, tb, job.n0 + box * 32, k, &full[at.slot]);
    }
  }
}

// What the tensor core leaves out when it reads a float as a number of TF32, rounded to one.
static __device__ float rest_of(float x) {
  return __uint_as_float(to_tf32(x - __uint_as_float(__float_as_uint(x) & 0xffffe000u)));
}

static __device__ void split_slices(const unsigned char *a, unsigned char *small, unsigned long long *full,
                                    unsigned long long *ready, struct sizes s) {
  struct ring at = {0, 0};
  for (int turn = (int)blockIdx.x; turn < jobs(s); turn += (int)gridDim.x) {
    struct job job = job_of(turn, s);
    for (int k = job.begin; k < job.end; k += BK, at.next()) {
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
}

static __device__ void make_sums(float *sums, const unsigned char *a, const unsigned char *small,
                                 const unsigned char *b, unsigned long long *full, unsigned long long *ready,
                                 unsigned long long *empty, struct sizes s) {
  int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32 - 4;
  // A warp has 16 columns, half a box; a thread has two neighbours, in one half of the piece `piece` of 16 bytes of the
  // box's rows. Which one is chosen so that sixteen threads that load at the same time meet all banks, after the copy
  // engine's swizzle.
  int row = lane / 4, term = lane % 4, piece = warp % 2 * 2 + row / 4 + row / 2 % 2 * 4, half = row % 2;
  struct ring at = {0, 0};
  float sum[64], part[64];
  for (int turn = (int)blockIdx.x; turn < jobs(s); turn += (int)gridDim.x) {
    struct job job = job_of(turn, s);
#pragma unroll
    for (int i = 0; i < 64; i++)
      sum[i] = 0;
    for (int k = job.begin; k < job.end; k += BK, at.next()) {
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
    int n = job.n0 + warp / 2 * 32 + piece * 4 + half * 2;
    float *to = sums + (long long)job.part * s.M * s.N;
#pragma unroll
    for (int j = 0; j < 64; j += 4)
#pragma unroll
      for (int i = 0; i < 2; i++) {
        int m = job.m0 + 2 * j + 2 * term + i;
        if (m < s.M && n < s.N)
          *(float2 *)&to[(long long)m * s.N + n] = make_float2(sum[j + i], sum[j + 2 + i]);
      }
  }
}

__global__ void __launch_bounds__(THREADS, 1)
    matmul(const __grid_constant__ CUtensorMap ta, const __grid_constant__ CUtensorMap tb, float *sums, int M, int K,
           int N, int span, int parts) {
  extern __shared__ unsigned char memory[];
  __shared__ unsigned long long full[STAGES], ready[STAGES], empty[STAGES];
  const struct sizes sizes = {M, K, N, span, parts};
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
      bring_slices(&ta, &tb, a, b, full, empty, sizes);
    else if (threadIdx.x >= 32)
      split_slices(a, small, full, ready, sizes);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    make_sums(sums, a, small, b, full, ready, empty, sizes);
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

// Parts of the logits of ROWS rows and 128 experts, by ordinary arithmetic: the eight warps of a block have four terms
// each of every 32, a thread has four experts. STEPS times 32 terms of w are under way at a time.
template <int ROWS, int STEPS>
__global__ void __launch_bounds__(256, 1) few_rows(const float *__restrict__ x, const float *__restrict__ w,
                                                   float *__restrict__ sums, int rows, int d, int experts, int span) {
  enum { DEPTH = 32 * STEPS, HALVES = ROWS * 128 * 4, STAGED = ROWS * DEPTH };
  __shared__ alignas(16) float memory[HALVES > STAGED ? HALVES : STAGED];
  int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32, row0 = (int)blockIdx.x * ROWS;
  int e0 = (int)blockIdx.y * 128, e = e0 + lane * 4, begin = (int)blockIdx.z * span, end = min(d, begin + span);
  float sum[ROWS][4] = {};
  for (int k0 = begin; k0 < end; k0 += DEPTH) {
    float factors[STEPS][4][4];
#pragma unroll
    for (int s = 0; s < STEPS; s++)
#pragma unroll
      for (int t = 0; t < 4; t++) {
        int k = k0 + s * 32 + warp * 4 + t;
        const float *from = w + (long long)k * experts + e;
        if (experts % 4 == 0) {
          float4 v = k < end && e < experts ? __ldg((const float4 *)from) : make_float4(0, 0, 0, 0);
          factors[s][t][0] = v.x, factors[s][t][1] = v.y, factors[s][t][2] = v.z, factors[s][t][3] = v.w;
        } else {
#pragma unroll
          for (int j = 0; j < 4; j++)
            factors[s][t][j] = k < end && e + j < experts ? __ldg(from + j) : 0;
        }
      }
    __syncthreads(); // what was staged before has been read
    for (int i = (int)threadIdx.x; i < STAGED; i += 256) {
      int row = row0 + i / DEPTH, k = k0 + i % DEPTH;
      memory[i] = row < rows && k < end ? __ldg(x + (long long)row * d + k) : 0;
    }
    __syncthreads();
#pragma unroll
    for (int s = 0; s < STEPS; s++)
      if (k0 + s * 32 < end) // the same for all: beyond it are zeros times zeros
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
          float4 v = *(const float4 *)&memory[r * DEPTH + s * 32 + warp * 4];
          const float terms[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
          for (int t = 0; t < 4; t++)
#pragma unroll
            for (int j = 0; j < 4; j++)
#ifdef ONE_PRODUCT
              sum[r][j] += __uint_as_float(to_tf32(terms[t])) * __uint_as_float(to_tf32(factors[s][t][j]));
#else
              sum[r][j] += terms[t] * factors[s][t][j];
#endif
        }
  }
  // Eight warps' sums to four, and these by all threads.
  __syncthreads();
  float4 *mine = (float4 *)memory + warp % 4 * ROWS * 32 + lane;
  if (warp >= 4)
#pragma unroll
    for (int r = 0; r < ROWS; r++)
      mine[r * 32] = make_float4(sum[r][0], sum[r][1], sum[r][2], sum[r][3]);
  __syncthreads();
  if (warp < 4)
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      float4 other = mine[r * 32];
      mine[r * 32] = make_float4(sum[r][0] + other.x, sum[r][1] + other.y, sum[r][2] + other.z, sum[r][3] + other.w);
    }
  __syncthreads();
  for (int i = (int)threadIdx.x; i < ROWS * 128; i += 256) {
    int row = row0 + i / 128, column = e0 + i % 128;
    if (row < rows && column < experts)
      sums[((long long)blockIdx.z * rows + row) * experts + column] =
          (memory[i] + memory[i + ROWS * 128]) + (memory[i + 2 * ROWS * 128] + memory[i + 3 * ROWS * 128]);
  }
}

// Ordered as the numbers are; 0 is below all. NaN is above infinity.
static __device__ unsigned key_of(float x) {
  unsigned bits = __float_as_uint(x);
  if (x != x)
    return 0xffffffffu;
  return bits >> 31 ? ~bits : bits | 0x80000000u;
}

static __device__ float number_of(unsigned key) {
  return key == 0xffffffffu ? __uint_as_float(0x7fffffffu) : __uint_as_float(key >> 31 ? key & 0x7fffffffu : ~key);
}

// The eight gates of a row, by WARPS warps, of VALUES experts a lane. A block has one row, or four where a warp does.
template <int VALUES, int WARPS>
__global__ void __launch_bounds__(WARPS == 1 ? 128 : 32 * WARPS)
    gates(const float *__restrict__ sums, const float *__restrict__ x, const float *__restrict__ w,
          float *__restrict__ y, int rows, int d, int experts, int parts, int check) {
  int lane = (int)threadIdx.x % 32, warp = WARPS == 1 ? 0 : (int)threadIdx.x / 32;
  long long row = WARPS == 1 ? (int)blockIdx.x * 4 + (int)threadIdx.x / 32 : (int)blockIdx.x;
  if (row >= rows) // a whole warp, and no block with a barrier
    return;
#ifdef LOST_PART
  parts--;
#endif
  float logit[VALUES] = {};
#pragma unroll 4
  for (int part = warp; part < parts; part += WARPS) {
    const float *from = sums + ((long long)part * rows + row) * experts + lane;
#pragma unroll
    for (int i = 0; i < VALUES; i++)
      logit[i] += lane + i * 32 < experts ? __ldg(from + i * 32) : 0;
  }
  if (WARPS > 1) {
    __shared__ float others[WARPS][VALUES * 32];
#pragma unroll
    for (int i = 0; i < VALUES; i++)
      others[warp][i * 32 + lane] = logit[i];
    __syncthreads();
    if (warp > 0)
      return;
#pragma unroll
    for (int i = 0; i < VALUES; i++) {
      logit[i] = 0;
#pragma unroll
      for (int other = 0; other < WARPS; other++)
        logit[i] += others[other][i * 32 + lane];
    }
  }
  unsigned left[VALUES];
#pragma unroll
  for (int i = 0; i < VALUES; i++) {
    int e = lane + i * 32;
    if (check && e < experts && !trusted(logit[i]))
      logit[i] = element(x, w, (int)row, e, d, experts);
    left[i] = e < experts ? key_of(logit[i]) : 0;
  }
  float mine = 0, next = 0; // lane g has the gate g's logit; the ninth largest
#pragma unroll
  for (int g = 0; g < 9; g++) {
    unsigned best = 0;
#pragma unroll
    for (int i = 0; i < VALUES; i++)
      best = max(best, left[i]);
    unsigned largest = __reduce_max_sync(0xffffffffu, best);
    bool taker = lane == __ffs((int)__ballot_sync(0xffffffffu, best == largest)) - 1;
#pragma unroll
    for (int i = 0; i < VALUES; i++)
#ifdef TWICE
      if (taker && left[i] == largest && g != 3) {
#else
      if (taker && left[i] == largest) {
#endif
        left[i] = 0;
        taker = false;
      }
    if (g == 8)
      next = largest > 0 ? number_of(largest) : -__uint_as_float(0x7f800000u);
    else if (lane == g)
      mine = number_of(largest);
  }
  float first = __shfl_sync(0xffffffffu, mine, 0), e = lane < 8 ? expf(mine - first) : 0, all = e;
#ifdef SEVEN
  if (lane == 7)
    e = expf(next - first);
#else
  (void)next;
#endif
#ifdef ALL_GATES
  all = 0;
#pragma unroll
  for (int i = 0; i < VALUES; i++)
    all += lane + i * 32 < experts ? expf(logit[i] - first) : 0;
#endif
#pragma unroll
  for (int step = 16; step > 0; step /= 2)
    all += __shfl_xor_sync(0xffffffffu, all, step);
  if (lane < 8)
    y[row * 8 + lane] = e / all;
}
