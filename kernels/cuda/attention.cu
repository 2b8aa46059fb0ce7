// Scaled dot-product attention.
// assay: task kernelbench/1/97
// assay: twin NO_MAX expect wrong_class|wrong_value -- no subtraction of the maximum
// assay: twin SCALE_BY_E expect wrong_value -- divides scores by E instead of its root
// assay: twin UNNORMALISED expect wrong_value -- forgets the division by the sum of weights
// A block has 64 queries of one head and keeps their scores with up to 512 keys in shared memory, so that nothing but
// q, k, v and y moves. It makes tiles of 64 x 512, each thread 8 x 8 of one in registers, first of scores, then of
// results. Single precision throughout; slices of 16 terms travel by cp.async. What limits it is the rate of FFMA.
// assay: require S <= 512 -- the scores of 64 queries must fit shared memory
// assay: let wide = E % 4 == 0
// assay: launch attention<4> grid=ceil_div(S, 64),B * H block=512 shared=216320 if=wide args=q, k, v, y, S, E
// assay: launch attention<1> grid=ceil_div(S, 64),B * H block=512 shared=216320 if=!wide args=q, k, v, y, S, E
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { THREADS = 512, ROWS = 64, COLUMNS = 512, SLICE = 16, ROW_PITCH = 68, COLUMN_PITCH = 516 };

#define INF __int_as_float(0x7f800000)

struct memory {
  float scores[COLUMNS][ROW_PITCH]; // of a key and the queries; later their weights
  float rows[2][SLICE][ROW_PITCH], columns[2][SLICE][COLUMN_PITCH];
  float part[THREADS / ROWS][ROWS], sum[ROWS];
};

extern __shared__ float4 shared_memory[];

// V floats from global to shared memory, past the registers; zeros where `inside` is false.
template <int V> static __device__ void copy_async(float *to, const float *from, bool inside) {
  unsigned int at = (unsigned int)__cvta_generic_to_shared(to);
  if (V == 4)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(inside ? 16 : 0) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at), "l"(from), "r"(inside ? 4 : 0) : "memory");
}

static __device__ void copy_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int N> static __device__ void copy_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

// A slice of `count` vectors of E terms each, from term e on; it is transposed on its way, float by float.
template <int COUNT, int PITCH>
static __device__ void fetch_across(float (*to)[PITCH], const float *from, int e, int E, int count) {
  int term = (int)threadIdx.x % SLICE, first = (int)threadIdx.x / SLICE;
#pragma unroll
  for (int i = 0; i < COUNT; i += THREADS / SLICE)
    copy_async<1>(&to[term][first + i], from + (long long)(first + i) * E + e + term,
                  first + i < count && e + term < E);
}

// A slice of 16 x 512 of a matrix of E columns, from row k and column e on.
template <int V>
static __device__ void fetch_along(float (*to)[COLUMN_PITCH], const float *from, int k, int K, int e, int E) {
  const int per_row = COLUMNS / V, rows = THREADS / per_row;
  int column = (int)threadIdx.x % per_row * V, row = (int)threadIdx.x / per_row;
#pragma unroll
  for (int i = 0; i < SLICE; i += rows)
    copy_async<V>(&to[row + i][column], from + (long long)(k + row + i) * E + e + column,
                  k + row + i < K && e + column < E);
}

static __device__ int row_of(int i) {
  int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
  return warp % 2 * 32 + i / 4 * 16 + lane / 8 * 4 + i % 4;
}

static __device__ int column_of(int j) {
  int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
  return warp / 2 * 64 + j / 4 * 32 + lane % 8 * 4 + j % 4;
}

static __device__ void add_slice(float (&sum)[8][8], const float (*a)[ROW_PITCH], const float (*b)[COLUMN_PITCH]) {
#pragma unroll
  for (int k = 0; k < SLICE; k++) {
    float4 a0 = *(const float4 *)&a[k][row_of(0)], a1 = *(const float4 *)&a[k][row_of(4)];
    float4 b0 = *(const float4 *)&b[k][column_of(0)], b1 = *(const float4 *)&b[k][column_of(4)];
    float am[8] = {a0.x, a0.y, a0.z, a0.w, a1.x, a1.y, a1.z, a1.w};
    float bn[8] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
#pragma unroll
    for (int i = 0; i < 8; i++)
#pragma unroll
      for (int j = 0; j < 8; j++)
        sum[i][j] += am[i] * bn[j];
  }
}

// Scores of 64 queries with all keys, minus infinity for keys that do not exist.
static __device__ void make_scores(memory &m, const float *q, const float *k, int queries, int S, int E, float scale) {
  float sum[8][8] = {};
  const int slices = (E + SLICE - 1) / SLICE;
  fetch_across<ROWS, ROW_PITCH>(m.rows[0], q, 0, E, queries);
  fetch_across<COLUMNS, COLUMN_PITCH>(m.columns[0], k, 0, E, S);
  copy_commit();
  for (int s = 0; s < slices; s++) {
    copy_wait<0>();
    __syncthreads(); // the slice is there, and everyone is done with the one before it
    if (s + 1 < slices) {
      fetch_across<ROWS, ROW_PITCH>(m.rows[(s + 1) % 2], q, (s + 1) * SLICE, E, queries);
      fetch_across<COLUMNS, COLUMN_PITCH>(m.columns[(s + 1) % 2], k, (s + 1) * SLICE, E, S);
      copy_commit();
    }
    add_slice(sum, m.rows[s % 2], m.columns[s % 2]);
  }
#pragma unroll
  for (int j = 0; j < 8; j++) {
    float(*to)[ROW_PITCH] = &m.scores[column_of(j)];
    float away = column_of(j) < S ? 0 : -INF;
#pragma unroll
    for (int i = 0; i < 8; i += 4)
      *(float4 *)&(*to)[row_of(i)] = make_float4(sum[i][j] * scale + away, sum[i + 1][j] * scale + away,
                                                 sum[i + 2][j] * scale + away, sum[i + 3][j] * scale + away);
  }
}

// Makes scores weights, and leaves the sum of each query's.
static __device__ void make_weights(memory &m, int keys) {
  int query = (int)threadIdx.x % ROWS, group = (int)threadIdx.x / ROWS, groups = THREADS / ROWS;
  float max = -INF, sum = 0;
  for (int k = group; k < keys; k += groups)
    max = fmaxf(max, m.scores[k][query]);
  m.part[group][query] = max;
  __syncthreads();
#pragma unroll
  for (int g = 0; g < THREADS / ROWS; g++)
    max = fmaxf(max, m.part[g][query]);
#ifdef NO_MAX
  max = 0;
#endif
  __syncthreads(); // all maxima are read before the sums take their place
  for (int k = group; k < keys; k += groups) {
    float w = expf(m.scores[k][query] - max);
    m.scores[k][query] = w;
    sum += w;
  }
  m.part[group][query] = sum;
  __syncthreads();
  if (group > 0)
    return;
  for (int g = 1; g < THREADS / ROWS; g++)
    sum += m.part[g][query];
#ifdef UNNORMALISED
  sum = 1;
#endif
  m.sum[query] = sum;
}

template <int V>
__global__ void __launch_bounds__(THREADS, 1)
    attention(const float *__restrict__ q, const float *__restrict__ k, const float *__restrict__ v,
              float *__restrict__ y, int S, int E) {
  memory &m = *(memory *)shared_memory;
  const long long head = (long long)blockIdx.y * S * E;
  int first = (int)blockIdx.x * ROWS, queries = min(ROWS, S - first), slices = (S + SLICE - 1) / SLICE;
#ifdef SCALE_BY_E
  float scale = 1 / (float)E;
#else
  float scale = 1 / sqrtf((float)E);
#endif
  make_scores(m, q + head + (long long)first * E, k + head, queries, S, E, scale);
  __syncthreads();
  make_weights(m, slices * SLICE);
  v += head;
  y += head + (long long)first * E;
  for (int e = 0; e < E; e += COLUMNS) {
    float sum[8][8] = {};
    __syncthreads(); // the weights are there, and everyone is done with the columns before these
    fetch_along<V>(m.columns[0], v, 0, S, e, E);
    copy_commit();
    for (int s = 0; s < slices; s++) {
      copy_wait<0>();
      __syncthreads();
      if (s + 1 < slices) {
        fetch_along<V>(m.columns[(s + 1) % 2], v, (s + 1) * SLICE, S, e, E);
        copy_commit();
      }
      add_slice(sum, &m.scores[s * SLICE], m.columns[s % 2]);
    }
#pragma unroll
    for (int i = 0; i < 8; i++) {
      if (row_of(i) >= queries)
        continue;
      float factor = 1 / m.sum[row_of(i)];
      float *to = y + (long long)row_of(i) * E + e;
#pragma unroll
      for (int j = 0; j < 8; j += 4)
        if (V == 4 && e + column_of(j) < E)
          *(float4 *)&to[column_of(j)] =
              make_float4(sum[i][j] * factor, sum[i][j + 1] * factor, sum[i][j + 2] * factor, sum[i][j + 3] * factor);
#pragma unroll
      for (int j = 0; V == 1 && j < 8; j++)
        if (e + column_of(j) < E)
          to[column_of(j)] = sum[i][j] * factor;
    }
  }
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const int64_t *dims = args->inputs[0].dims;
  int heads = (int)(dims[0] * dims[1]), S = (int)dims[2], E = (int)dims[3];
  const float *q = (const float *)args->inputs[0].data, *k = (const float *)args->inputs[1].data;
  const float *v = (const float *)args->inputs[2].data;
  float *y = (float *)args->outputs[0].data;
  dim3 blocks((unsigned int)((S + ROWS - 1) / ROWS), (unsigned int)heads);
  cudaFuncSetAttribute(attention<4>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sizeof(memory));
  cudaFuncSetAttribute(attention<1>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sizeof(memory));
  if (E % 4 == 0)
    attention<4><<<blocks, THREADS, sizeof(memory), stream>>>(q, k, v, y, S, E);
  else
    attention<1><<<blocks, THREADS, sizeof(memory), stream>>>(q, k, v, y, S, E);
}
#endif
