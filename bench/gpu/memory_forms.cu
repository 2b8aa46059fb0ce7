// SPDX-License-Identifier: Apache-2.0
// One elementwise operation in many launch forms, timed, for bench/gpu/memory_forms.py, which draws up the table.
//
//   memory_forms FLOATS SECONDS > lines of JSON
//
// Every form computes the same y = f(x), f being a ReLU or an exponential linear unit, and is checked once. All forms
// are then timed in turn, round after round, so that a drift of clocks reaches all alike, until SECONDS have gone by
// since the start. The forms differ in
//   one-shot     a block for each chunk: threads of a block, vectors of 16 bytes of a thread, which lie a block apart
//                (chunk) or a grid apart (strided)
//   persistent   so many blocks to a multiprocessor, which walk on by a grid, or each through a part of its own
//   hints        what loads and stores tell the caches
//   bulk         the copy engine brings tiles to shared memory and takes them away, so many under way
//   beside       distances between x and y, copies by the driver, reading or writing alone
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

static void check(cudaError_t e, const char *what) {
  if (e != cudaSuccess) {
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
    exit(1);
  }
}

struct relu {
  static __device__ float of(float x) { return x < 0 ? 0 : x; }
  static constexpr const char *name = "relu";
};

struct elu {
  static __device__ float of(float x) { return x > 0 ? x : expm1f(x); }
  static constexpr const char *name = "elu";
};

template <class F> static __device__ float4 value(float4 v) {
  return make_float4(F::of(v.x), F::of(v.y), F::of(v.z), F::of(v.w));
}

enum load_hint { LOAD, LOAD_NC, LOAD_CS, LOAD_LU, LOAD_NO_L1, LOAD_NO_L1_256, LOAD_EVICT_FIRST, LOAD_HINTS };
enum store_hint { STORE, STORE_CS, STORE_CG, STORE_NO_L1, STORE_EVICT_FIRST, STORE_HINTS };
static const char *const load_names[] = {"plain",         "nc", "cs", "lu", "nc no_allocate", "nc no_allocate 256B",
                                         "L2 evict_first"};
static const char *const store_names[] = {"plain", "cs", "cg", "no_allocate", "L2 evict_first"};

static __device__ unsigned long long evict_first() {
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

#define LOAD_WITH(instruction)                                                                                         \
  asm volatile(instruction " {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(from))

template <int HINT> static __device__ float4 load(const float4 *from) {
  float4 v;
  if (HINT == LOAD)
    LOAD_WITH("ld.global.v4.f32");
  else if (HINT == LOAD_NC)
    LOAD_WITH("ld.global.nc.v4.f32");
  else if (HINT == LOAD_CS)
    LOAD_WITH("ld.global.cs.v4.f32");
  else if (HINT == LOAD_LU)
    LOAD_WITH("ld.global.lu.v4.f32");
  else if (HINT == LOAD_NO_L1)
    LOAD_WITH("ld.global.nc.L1::no_allocate.v4.f32");
  else if (HINT == LOAD_NO_L1_256)
    LOAD_WITH("ld.global.nc.L1::no_allocate.L2::256B.v4.f32");
  else
    asm volatile("ld.global.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "l"(from), "l"(evict_first()));
  return v;
}

#define STORE_WITH(instruction)                                                                                        \
  asm volatile(instruction " [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory")

template <int HINT> static __device__ void store(float4 *to, float4 v) {
  if (HINT == STORE)
    STORE_WITH("st.global.v4.f32");
  else if (HINT == STORE_CS)
    STORE_WITH("st.global.cs.v4.f32");
  else if (HINT == STORE_CG)
    STORE_WITH("st.global.cg.v4.f32");
  else if (HINT == STORE_NO_L1)
    STORE_WITH("st.global.L1::no_allocate.v4.f32");
  else
    asm volatile("st.global.L2::cache_hint.v4.f32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(to), "f"(v.x), "f"(v.y), "f"(v.z),
                 "f"(v.w), "l"(evict_first())
                 : "memory");
}

// `n` counts vectors here and below.
template <class F, int VECTORS, bool STRIDED, int L, int S>
__global__ void __launch_bounds__(1024) one_shot(const float4 *x, float4 *y, long long n) {
  const long long step = STRIDED ? (long long)gridDim.x * blockDim.x : blockDim.x;
  const long long first = (long long)blockIdx.x * blockDim.x * (STRIDED ? 1 : VECTORS) + threadIdx.x;
  float4 v[VECTORS];
#pragma unroll
  for (int i = 0; i < VECTORS; i++)
    if (first + i * step < n)
      v[i] = load<L>(&x[first + i * step]);
#pragma unroll
  for (int i = 0; i < VECTORS; i++)
    if (first + i * step < n)
      store<S>(&y[first + i * step], value<F>(v[i]));
}

// Blocks walk on by a grid, or each through a part of its own.
template <class F, int VECTORS, bool OWN, int L, int S>
__global__ void __launch_bounds__(1024) persistent(const float4 *x, float4 *y, long long n) {
  const long long chunk = (long long)VECTORS * blockDim.x, chunks = (n + chunk - 1) / chunk;
  const long long share = (chunks + gridDim.x - 1) / gridDim.x;
  const long long begin = OWN ? blockIdx.x * share : blockIdx.x, step = OWN ? 1 : gridDim.x;
  const long long stop = OWN ? min(chunks, begin + share) : chunks;
  for (long long c = begin; c < stop; c += step) {
    const long long first = c * chunk + threadIdx.x;
    float4 v[VECTORS];
#pragma unroll
    for (int i = 0; i < VECTORS; i++)
      if (first + i * blockDim.x < n)
        v[i] = load<L>(&x[first + i * blockDim.x]);
#pragma unroll
    for (int i = 0; i < VECTORS; i++)
      if (first + i * blockDim.x < n)
        store<S>(&y[first + i * blockDim.x], value<F>(v[i]));
  }
}

static __device__ unsigned int shared_address(const void *p) {
  return (unsigned int)__cvta_generic_to_shared(p);
}

static __device__ void bring(void *to, const void *from, unsigned int bytes, unsigned long long *full) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(full)), "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(full))
               : "memory");
}

static __device__ void wait_for(unsigned long long *full, unsigned int parity) {
  unsigned int done = 0;
  while (!done)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(shared_address(full)), "r"(parity)
                 : "memory");
}

// Tiles of `tile` vectors come by the copy engine, STAGES - 1 ahead; with BACK it takes the results away as well, else
// threads write them. n is a multiple of `tile`.
template <class F, int STAGES, bool BACK>
__global__ void __launch_bounds__(256) bulk(const float4 *x, float4 *y, long long n, int tile) {
  extern __shared__ __align__(128) float4 tiles[];
  __shared__ unsigned long long full[STAGES];
  const long long count = n / tile, mine = blockIdx.x < count ? (count - 1 - blockIdx.x) / gridDim.x + 1 : 0;
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; s++)
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full[s])) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    for (int k = 0; k < STAGES - 1 && k < mine; k++)
      bring(tiles + k * tile, x + (blockIdx.x + (long long)k * gridDim.x) * tile, 16u * tile, &full[k]);
  }
  __syncthreads();
  for (long long k = 0; k < mine; k++) {
    const int stage = (int)(k % STAGES);
    const long long at = (blockIdx.x + k * gridDim.x) * tile;
    float4 *here = tiles + stage * tile;
    wait_for(&full[stage], (unsigned int)(k / STAGES & 1));
    for (int i = (int)threadIdx.x; i < tile; i += (int)blockDim.x)
      if (BACK)
        here[i] = value<F>(here[i]);
      else
        __stcs(&y[at + i], value<F>(here[i]));
    if (BACK)
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
      if (BACK) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(y + at),
                     "r"(shared_address(here)), "r"(16u * tile)
                     : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory"); // the stage before has been read
      }
      const long long next = k + STAGES - 1;
      if (next < mine)
        bring(tiles + next % STAGES * tile, x + (blockIdx.x + next * gridDim.x) * tile, 16u * tile,
              &full[next % STAGES]);
    }
  }
  if (BACK && threadIdx.x == 0)
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

__global__ void read_alone(const float4 *x, float4 *y, long long n) {
  const long long first = (long long)blockIdx.x * blockDim.x * 4 + threadIdx.x;
  float4 v[4];
#pragma unroll
  for (int i = 0; i < 4; i++)
    v[i] = first + i * blockDim.x < n ? load<LOAD_CS>(&x[first + i * blockDim.x]) : make_float4(0, 0, 0, 0);
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 4; i++)
    sum += v[i].x + v[i].y + v[i].z + v[i].w;
  if (sum == 1.2345e30f) // never, but the compiler cannot know
    y[0].x = sum;
}

__global__ void write_alone(float4 *y, long long n) {
  const long long first = (long long)blockIdx.x * blockDim.x * 4 + threadIdx.x;
#pragma unroll
  for (int i = 0; i < 4; i++)
    if (first + i * blockDim.x < n)
      store<STORE_CS>(&y[first + i * blockDim.x], make_float4(1, 2, 3, 4));
}

__global__ void make_inputs(float4 *x, long long n) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) {
    float v[4];
    for (int j = 0; j < 4; j++) {
      unsigned int h = (unsigned int)(i * 4 + j) * 2654435761u;
      h = (h ^ h >> 15) * 2246822519u;
      h = (h ^ h >> 13) * 3266489917u;
      v[j] = ((int)(h ^ h >> 16) >> 8) * 0x1p-22f; // between -2 and 2
    }
    x[i] = make_float4(v[0], v[1], v[2], v[3]);
  }
}

template <class F> __global__ void compare(const float4 *x, const float4 *y, long long n, unsigned long long *wrong) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) {
    float4 want = value<F>(x[i]), v = y[i];
    if (v.x != want.x || v.y != want.y || v.z != want.z || v.w != want.w)
      atomicAdd(wrong, 1ull);
  }
}

struct form {
  std::string kind, name;
  std::function<void()> launch;
  double bytes;    // moved
  int function;    // 0: relu, 1: elu, -1: what it leaves is not compared
  float4 *to;      // where the results are
  long long wrong; // vectors
  std::vector<float> ms;
};

static std::vector<form> forms;
static float4 *x, *y;
static long long n;
static int processors;

static unsigned int blocks_for(long long vectors) {
  return (unsigned int)((n + vectors - 1) / vectors);
}

template <class F> static void add(const char *kind, const std::string &name, std::function<void()> launch) {
  forms.push_back({kind, name, launch, 32.0 * n, F::name == relu::name ? 0 : 1, y, 0, {}});
}

template <class F, int VECTORS, bool STRIDED> static void add_one_shot() {
  for (int threads : {128, 256, 512, 1024})
    add<F>("one-shot",
           std::to_string(threads) + " threads, " + std::to_string(VECTORS) + " vectors, " +
               (STRIDED ? "strided" : "chunk"),
           [=] {
             one_shot<F, VECTORS, STRIDED, LOAD, STORE><<<blocks_for((long long)threads * VECTORS), threads>>>(x, y, n);
           });
}

template <class F, int VECTORS, bool OWN> static void add_persistent() {
  for (int threads : {256, 1024})
    for (int blocks : {1, 2, 4, 8})
      if (threads * blocks <= 2048)
        add<F>("persistent",
               std::to_string(blocks) + " blocks of " + std::to_string(threads) + " threads, " +
                   std::to_string(VECTORS) + " vectors, " + (OWN ? "own parts" : "by a grid"),
               [=] { persistent<F, VECTORS, OWN, LOAD, STORE><<<blocks * processors, threads>>>(x, y, n); });
}

template <class F, int L, int S> static void add_hints() {
  std::string name = std::string("load ") + load_names[L] + ", store " + store_names[S];
  add<F>("hints", "256 threads, 4 vectors, " + name,
         [=] { one_shot<F, 4, false, L, S><<<blocks_for(1024), 256>>>(x, y, n); });
  add<F>("hints", "128 threads, 1 vector, " + name,
         [=] { one_shot<F, 1, false, L, S><<<blocks_for(128), 128>>>(x, y, n); });
}

template <class F, int STAGES, bool BACK> static void add_bulk() {
  for (int kilobytes : {4, 8, 16, 32})
    for (int blocks : {1, 2, 4}) {
      int tile = kilobytes * 64, bytes = STAGES * kilobytes * 1024;
      if (bytes * blocks > 216 * 1024 || bytes * blocks < 32 * 1024)
        continue;
      check(cudaFuncSetAttribute(bulk<F, STAGES, BACK>, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 * 1024),
            "shared memory");
      add<F>("bulk",
             std::to_string(STAGES) + " stages of " + std::to_string(kilobytes) + " KiB, " + std::to_string(blocks) +
                 " blocks, " + (BACK ? "both ways" : "stores by threads"),
             [=] { bulk<F, STAGES, BACK><<<blocks * processors, 256, bytes>>>(x, y, n, tile); });
    }
}

// y moved by so many bytes: whether reads and writes meet in the same channels and banks.
template <class F> static void add_distances(float4 *room) {
  for (long long bytes : {256ll, 4096ll, 65536ll, 1048576ll, 16777216ll}) {
    float4 *to = room + bytes / 16;
    add<F>("beside", "256 threads, 4 vectors, y " + std::to_string(bytes) + " bytes on",
           [=] { one_shot<F, 4, false, LOAD_CS, STORE_CS><<<blocks_for(1024), 256>>>(x, to, n); });
    forms.back().to = to;
  }
}

// The first forms are those of our kernels and of PyTorch.
static void add_all(float4 *room) {
  add_hints<relu, LOAD_CS, STORE_CS>();
  add_hints<relu, LOAD, STORE>();
  add_hints<elu, LOAD_CS, STORE_CS>();
  add_hints<elu, LOAD, STORE>();
  add_hints<relu, LOAD, STORE_CS>();
  add_hints<relu, LOAD_CS, STORE>();
  add_hints<relu, LOAD_NC, STORE>();
  add_hints<relu, LOAD_NC, STORE_CS>();
  add_hints<relu, LOAD_LU, STORE>();
  add_hints<relu, LOAD_NO_L1, STORE>();
  add_hints<relu, LOAD_NO_L1, STORE_NO_L1>();
  add_hints<relu, LOAD_NO_L1_256, STORE>();
  add_hints<relu, LOAD_NO_L1_256, STORE_CS>();
  add_hints<relu, LOAD_EVICT_FIRST, STORE>();
  add_hints<relu, LOAD_EVICT_FIRST, STORE_EVICT_FIRST>();
  add_hints<relu, LOAD, STORE_EVICT_FIRST>();
  add_hints<relu, LOAD, STORE_CG>();
  add_one_shot<relu, 1, false>();
  add_one_shot<relu, 2, false>();
  add_one_shot<relu, 4, false>();
  add_one_shot<relu, 8, false>();
  add_one_shot<relu, 2, true>();
  add_one_shot<relu, 4, true>();
  add_one_shot<relu, 8, true>();
  add_one_shot<elu, 1, false>();
  add_one_shot<elu, 2, false>();
  add_one_shot<elu, 4, false>();
  add_one_shot<elu, 8, false>();
  add_persistent<relu, 1, false>();
  add_persistent<relu, 4, false>();
  add_persistent<relu, 8, false>();
  add_persistent<relu, 4, true>();
  add_persistent<elu, 4, false>();
  add_bulk<relu, 2, true>();
  add_bulk<relu, 3, true>();
  add_bulk<relu, 4, true>();
  add_bulk<relu, 4, false>();
  add_bulk<elu, 4, true>();
  add_distances<relu>(room);
  forms.push_back({"beside",
                   "copy by the driver",
                   [] { cudaMemcpyAsync(y, x, 16 * (size_t)n, cudaMemcpyDeviceToDevice, 0); },
                   32.0 * n,
                   -1,
                   y,
                   0,
                   {}});
  forms.push_back(
      {"beside", "reading alone", [] { read_alone<<<blocks_for(1024), 256>>>(x, y, n); }, 16.0 * n, -1, y, 0, {}});
  forms.push_back(
      {"beside", "writing alone", [] { write_alone<<<blocks_for(1024), 256>>>(y, n); }, 16.0 * n, -1, y, 0, {}});
  forms.push_back(
      {"beside", "setting by the driver", [] { cudaMemsetAsync(y, 0, 16 * (size_t)n, 0); }, 16.0 * n, -1, y, 0, {}});
}

static void verify(form &f, unsigned long long *wrong) {
  check(cudaMemsetAsync(f.to, 0xff, 16 * (size_t)n, 0), "memset");
  f.launch();
  check(cudaGetLastError(), f.name.c_str());
  if (f.function < 0)
    return;
  check(cudaMemsetAsync(wrong, 0, 8, 0), "memset");
  if (f.function == 0)
    compare<relu><<<8 * processors, 256>>>(x, f.to, n, wrong);
  else
    compare<elu><<<8 * processors, 256>>>(x, f.to, n, wrong);
  unsigned long long w;
  check(cudaMemcpy(&w, wrong, 8, cudaMemcpyDeviceToHost), f.name.c_str());
  f.wrong = (long long)w;
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: memory_forms FLOATS SECONDS\n");
    return 2;
  }
  const double seconds = atof(argv[2]);
  n = atoll(argv[1]) / 8192 * 2048; // a multiple of all tiles
  const size_t room = 32u << 20;    // after y, for distances
  auto start = std::chrono::steady_clock::now();
  auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  unsigned long long *wrong;
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0), "device");
  check(cudaMalloc((void **)&x, 16 * (size_t)n), "memory for x");
  check(cudaMalloc((void **)&y, 16 * (size_t)n + room), "memory for y");
  check(cudaMalloc((void **)&wrong, 8), "memory");
  make_inputs<<<8 * processors, 256>>>(x, n);
  add_all(y);
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "event");
  check(cudaEventCreate(&end), "event");
  for (form &f : forms)
    verify(f, wrong);
  check(cudaDeviceSynchronize(), "checks");
  for (int round = 0; round < 3 || (round < 40 && elapsed() < seconds); round++)
    for (form &f : forms) {
      check(cudaEventRecord(begin, 0), "event");
      f.launch();
      check(cudaEventRecord(end, 0), "event");
      check(cudaEventSynchronize(end), f.name.c_str());
      float ms;
      check(cudaEventElapsedTime(&ms, begin, end), "event");
      f.ms.push_back(ms);
    }
  for (const form &f : forms) {
    printf("{\"kind\": \"%s\", \"function\": \"%s\", \"form\": \"%s\", \"bytes\": %.0f, \"wrong\": %lld, \"ms\": [",
           f.kind.c_str(),
           f.function == 0   ? "relu"
           : f.function == 1 ? "elu"
                             : "",
           f.name.c_str(), f.bytes, f.wrong);
    for (size_t i = 0; i < f.ms.size(); i++)
      printf("%s%.6f", i > 0 ? ", " : "", f.ms[i]);
    printf("]}\n");
  }
  return 0;
}
