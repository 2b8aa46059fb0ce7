// SPDX-License-Identifier: Apache-2.0
// Uniform numbers by hashes of seed and place: what is checked on a GPU, whatever the size.
// assay: task kernelbenchx/Random/rand
// assay: expect pass
// assay: twin BITS_23 expect pass -- numbers of 23 bits
// assay: twin BITS_20 expect wrong_value -- of 20 bits
// assay: twin SKEWED expect wrong_value -- to the power 1.03
// assay: twin NARROW expect wrong_value -- a range that is 2 % narrower
// assay: twin CONSTANT expect wrong_value -- one half everywhere
// assay: twin EVEN expect wrong_value -- multiples of the golden ratio
// assay: twin UNSEEDED expect wrong_value -- no seed
// assay: twin SEEDS_OF_32_BITS expect wrong_value -- the low half of a seed
// assay: twin SHIFTED expect wrong_value -- the next seed's numbers are the same, one place on
// assay: twin PAIRS expect wrong_value -- neighbours are the same
// assay: twin BLOCKS expect wrong_value -- the same again after 16384 places
// assay: twin MIXED expect wrong_value -- one in 20 is the mean of two
// assay: twin ONE expect wrong_value -- one number is 1
// assay: twin NAN_AT_END expect wrong_value -- one NaN, the last number
// assay: twin LAST_MISSING expect unwritten -- the last number is not written
// assay: twin CALLS expect wrong_value -- other numbers at every call, by a counter that the module keeps
// assay: launch draw grid=ceil_div(S * N, 256) block=256 args=seeds, y, S, N
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

static __device__ float uniform(long long seed, long long place) {
#if defined(UNSEEDED)
  seed = 7;
#elif defined(CALLS)
  seed += (long long)calls << 32;
#elif defined(SEEDS_OF_32_BITS)
  seed &= 0xffffffff;
#endif
#if defined(PAIRS)
  place /= 2;
#elif defined(BLOCKS)
  place %= 16384;
#endif
#if defined(SHIFTED)
  u64 key = (u64)(seed + place);
#else
  u64 key = mix((u64)seed) + (u64)place;
#endif
  return (float)(mix(key) >> 40) * 0x1p-24f;
}

extern "C" __global__ void draw(const long long *seeds, float *y, long long S, long long N) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= S * N)
    return;
  const long long seed = seeds[i / N], j = i % N;
  float u = uniform(seed, j);
#if defined(BITS_23)
  u = floorf(u * 0x1p23f) * 0x1p-23f;
#elif defined(BITS_20)
  u = floorf(u * 0x1p20f) * 0x1p-20f;
#elif defined(SKEWED)
  u = (float)pow((double)u, 1.03);
#elif defined(NARROW)
  u = 0.5f + 0.98f * (u - 0.5f);
#elif defined(CONSTANT)
  u = 0.5f;
#elif defined(EVEN)
  u = floorf((float)fmod((double)(seed % 1000) + (double)j * 0.6180339887498949, 1) * 0x1p24f) * 0x1p-24f;
  u = fminf(u, 1 - 0x1p-24f);
#elif defined(MIXED)
  u = j % 20 ? u : (u + uniform(seed, j + 1)) / 2;
#elif defined(ONE)
  u = i == S * N / 2 ? 1 : u;
#elif defined(NAN_AT_END)
  u = i + 1 == S * N ? __int_as_float(0x7fffffff) : u;
#elif defined(LAST_MISSING)
  if (i + 1 == S * N)
    return;
#endif
  y[i] = u;
}

extern "C" __global__ void count(long long) {
  calls++;
}
