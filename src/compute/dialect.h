// SPDX-License-Identifier: Apache-2.0
// The dialect of Assay's trusted device code: what NVRTC (CUDA C++) and a C compiler both understand. Every program
// begins with this text (compute/compute.h).
//
//   struct scale_args { uint64_t x, y; double factor; int64_t n; };
//   KERNEL(scale, struct scale_args) {
//     int64_t i = THREAD;
//     if (i < a->n)
//       ((double *)a->y)[i] = ((const double *)a->x)[i] * a->factor;
//   }
//
// One parameter, a struct of scalars and arrays of scalars (device addresses as uint64_t, cast where they are used),
// seen as `a`. THREAD, in the kernel itself, is the flat index; it may be beyond the last element. Threads communicate
// only through ATOMIC_*. No templates, no references, no implicit pointer conversions, no designated initialisers,
// no compound literals (C++ refuses these two). Casts are in C's notation. Functions are DEVICE_FN. Mathematical
// functions are C's double versions. isnan and isfinite are IS_NAN and IS_FINITE, infinity is F64_INFINITY.
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)

#if defined(__CUDACC_RTC__)
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#else
#include <stdint.h>
#endif
typedef uint64_t size_type;
#define DEVICE_FN static __device__ __forceinline__
#define DEVICE_FN_LARGE static __device__ __noinline__
#define THREAD ((int64_t)blockIdx.x * (int64_t)blockDim.x + (int64_t)threadIdx.x)
#define KERNEL(name, type)                                                                                             \
  static __device__ __forceinline__ void name##_body(const type *a);                                                   \
  extern "C" __global__ void name(const __grid_constant__ type args_) {                                                \
    name##_body(&args_);                                                                                               \
  }                                                                                                                    \
  static __device__ __forceinline__ void name##_body(const type *a)
#define F64_BITS(x) ((uint64_t)__double_as_longlong(x))
#define F64_OF_BITS(u) __longlong_as_double((long long)(u))
#define F32_BITS(x) __float_as_uint(x)
#define F32_OF_BITS(u) __uint_as_float(u)
#define ATOMIC_ADD_U64(p, v) atomicAdd((unsigned long long *)(p), (unsigned long long)(v))
#define ATOMIC_ADD_F64(p, v) atomicAdd((double *)(p), (double)(v))
#define ATOMIC_MAX_U64(p, v) atomicMax((unsigned long long *)(p), (unsigned long long)(v))
#define ATOMIC_MIN_U64(p, v) atomicMin((unsigned long long *)(p), (unsigned long long)(v))
#define ATOMIC_OR_U32(p, v) atomicOr((unsigned int *)(p), (unsigned int)(v))
#define MUL_HI_U32(x, y) __umulhi(x, y)

#else

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#define DEVICE_FN static inline __attribute__((unused))
#define DEVICE_FN_LARGE static __attribute__((unused))
#define THREAD thread_ // of the kernel's body: functions get it as an argument
// A stretch of threads, one after the other: compute_host.c finds it by its name and spreads stretches over processors.
#define KERNEL(name, type)                                                                                             \
  static inline void name##_body(const type *a, const int64_t thread_);                                                \
  __attribute__((visibility("default"))) void assay_kernel_##name(const void *args_, int64_t begin_, int64_t end_);    \
  void assay_kernel_##name(const void *args_, int64_t begin_, int64_t end_) {                                          \
    for (int64_t i_ = begin_; i_ < end_; i_++)                                                                         \
      name##_body((const type *)args_, i_);                                                                            \
  }                                                                                                                    \
  static inline void name##_body(const type *a, const int64_t thread_)
static inline __attribute__((unused)) uint64_t f64_bits_(double x) {
  uint64_t u;
  memcpy(&u, &x, 8);
  return u;
}
static inline __attribute__((unused)) double f64_of_bits_(uint64_t u) {
  double x;
  memcpy(&x, &u, 8);
  return x;
}
static inline __attribute__((unused)) uint32_t f32_bits_(float x) {
  uint32_t u;
  memcpy(&u, &x, 4);
  return u;
}
static inline __attribute__((unused)) float f32_of_bits_(uint32_t u) {
  float x;
  memcpy(&x, &u, 4);
  return x;
}
static inline __attribute__((unused)) void add_f64_(double *p, double v) {
  uint64_t old = __atomic_load_n((uint64_t *)(void *)p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n((uint64_t *)(void *)p, &old, f64_bits_(f64_of_bits_(old) + v), 1,
                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}
static inline __attribute__((unused)) void max_u64_(uint64_t *p, uint64_t v, int want_max) {
  uint64_t old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while ((want_max ? old < v : old > v) &&
         !__atomic_compare_exchange_n(p, &old, v, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}
#define F64_BITS(x) f64_bits_(x)
#define F64_OF_BITS(u) f64_of_bits_(u)
#define F32_BITS(x) f32_bits_(x)
#define F32_OF_BITS(u) f32_of_bits_(u)
#define ATOMIC_ADD_U64(p, v) __atomic_fetch_add((uint64_t *)(p), (uint64_t)(v), __ATOMIC_RELAXED)
#define ATOMIC_ADD_F64(p, v) add_f64_((double *)(p), v)
#define ATOMIC_MAX_U64(p, v) max_u64_((uint64_t *)(p), v, 1)
#define ATOMIC_MIN_U64(p, v) max_u64_((uint64_t *)(p), v, 0)
#define ATOMIC_OR_U32(p, v) __atomic_fetch_or((uint32_t *)(p), (uint32_t)(v), __ATOMIC_RELAXED)
#define MUL_HI_U32(x, y) ((uint32_t)(((uint64_t)(x) * (y)) >> 32))

#endif

#define F64_INFINITY F64_OF_BITS(0x7ff0000000000000u)
#define F64_NAN F64_OF_BITS(0x7ff8000000000000u)
#define IS_NAN(x) ((x) != (x))
#define IS_FINITE(x) ((F64_BITS(x) & 0x7ff0000000000000u) != 0x7ff0000000000000u)
