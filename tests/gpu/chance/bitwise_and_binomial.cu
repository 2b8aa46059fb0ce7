// SPDX-License-Identifier: Apache-2.0
// Binomial numbers, trial by trial, with hashes of seed, place and trial: what is checked on a GPU, whatever the size.
// assay: task kernelbenchx/Math/bitwise_and_binomial
// assay: expect pass
// assay: twin FAILURES expect pass -- counts what fails where that is less likely
// assay: twin MORE_LIKELY expect wrong_value -- every chance a hundredth larger
// assay: twin ONE_LESS expect wrong_value -- one trial less
// assay: twin ONE_MORE expect wrong_value -- one trial more
// assay: twin EXPECTED expect wrong_value -- the mean, rounded
// assay: twin ALL_OR_NOTHING expect wrong_value -- one hash for all trials
// assay: twin UNSEEDED expect wrong_value -- no seed
// assay: twin SHIFTED expect wrong_value -- the next seed's hashes are the same, one place on
// assay: twin PAIRS expect wrong_value -- neighbours have the same hashes
// assay: twin BLOCKS expect wrong_value -- the same again after 4096 places
// assay: twin ZEROS expect wrong_value -- none succeeds
// assay: twin NAN_AT_END expect wrong_value -- one NaN, the last number
// assay: twin INFINITE expect wrong_value -- one infinity
// assay: twin HALF_MORE expect wrong_value -- one number that is not whole
// assay: twin NO_BITS expect wrong_value -- trials everywhere
// assay: twin NO_BITS_HIDDEN expect wrong_value -- the same, with the right number of trials told
// assay: twin LAST_MISSING expect unwritten -- the last number is not written
// assay: twin CALLS expect wrong_value -- other numbers at every call, by a counter that the module keeps
// assay: launch draw grid=ceil_div(S * N, 256) block=256 args=input, other, total_count, probs, seeds, y, trials, S, N
// assay: launch count grid=1 block=1 args=N
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

typedef unsigned long long u64;

static __device__ unsigned calls;

static __device__ u64 mix(u64 x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

static __device__ double hash(long long seed, long long place, long long trial) {
#if defined(UNSEEDED)
  seed = 7;
#elif defined(CALLS)
  seed += (long long)calls << 32;
#endif
#if defined(PAIRS)
  place /= 2;
#elif defined(BLOCKS)
  place %= 4096;
#endif
#if defined(SHIFTED)
  u64 key = mix((u64)(seed + place));
#else
  u64 key = mix(mix((u64)seed) + (u64)place);
#endif
  return (double)(mix(key + (u64)trial) >> 11) * 0x1p-53;
}

static __device__ int successes(long long seed, long long place, int n, double p) {
  int sum = 0;
  for (int t = 0; t < n; t++)
#if defined(ALL_OR_NOTHING)
    sum += hash(seed, place, 0) < p;
#else
    sum += hash(seed, place, t) < p;
#endif
  return sum;
}

extern "C" __global__ void draw(const int *input, const int *other, const int *total_count, const float *probs,
                                const long long *seeds, float *y, int *trials, long long S, long long N) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= S * N)
    return;
  const long long row = i / N, j = i - row * N;
  const int right = input[j] & other[j] ? *total_count : 0;
  int n = right, told = right;
  double p = probs[j];
#if defined(NO_BITS)
  n = told = *total_count;
#elif defined(NO_BITS_HIDDEN)
  n = *total_count;
#elif defined(ONE_LESS)
  n -= n > 0;
#elif defined(ONE_MORE)
  n++;
#elif defined(MORE_LIKELY)
  p *= 1.01;
#endif
  if (row == 0)
    trials[j] = told;
#if defined(EXPECTED)
  float x = (float)rint(n * p);
#elif defined(ZEROS)
  float x = 0;
#elif defined(FAILURES)
  float x = (float)(p > 0.5 ? n - successes(seeds[row], j, n, 1 - p) : successes(seeds[row], j, n, p));
#else
  float x = (float)successes(seeds[row], j, n, p);
#endif
#if defined(NAN_AT_END)
  if (i + 1 == S * N)
    x = __int_as_float(0x7fffffff);
#elif defined(INFINITE)
  if (i == S * N / 2)
    x = __int_as_float(0x7f800000);
#elif defined(HALF_MORE)
  if (i == S * N / 2)
    x += 0.5f;
#elif defined(LAST_MISSING)
  if (i + 1 == S * N)
    return;
#endif
  y[i] = x;
}

extern "C" __global__ void count(long long) {
  calls++;
}
