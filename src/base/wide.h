// SPDX-License-Identifier: Apache-2.0
// Loops over many numbers, compiled for several widths of registers: the processor decides which one runs. Each element
// goes through the same IEEE operations in all of them (nothing is contracted or reordered), so results have the same
// bits on every machine. The files of such loops are compiled with -O3 (CMakeLists.txt), or compilers leave them as
// they are.
#ifndef BASE_WIDE_H
#define BASE_WIDE_H

#include <stdint.h>
#include <string.h>

// which ? a : b without a branch, which compilers do not always see for themselves.
static inline double wide_pick(int which, double a, double b) {
  uint64_t mask = -(uint64_t)(which != 0), x, y;
  memcpy(&x, &a, sizeof x);
  memcpy(&y, &b, sizeof y);
  x = (x & mask) | (y & ~mask);
  memcpy(&a, &x, sizeof a);
  return a;
}

#if defined(__x86_64__) && defined(__GNUC__)

// 64-bit products of integers, which noise is made of, are single instructions only in the last of them.
#define WIDE_AVX2 __attribute__((target("avx2")))
#define WIDE_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw")))

// Tests compile the same loops with less.
#ifndef WIDE_MOST
#define WIDE_MOST 2
#endif

static inline int wide_level(void) {
  if (WIDE_MOST >= 2 && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw"))
    return 2;
  return WIDE_MOST >= 1 && __builtin_cpu_supports("avx2") ? 1 : 0;
}

// Defines the function `name`, returning nothing, that does what the inline function name_body does.
#define WIDE_LOOP(name, parameters, arguments)                                                                         \
  static void name##_plain parameters {                                                                                \
    name##_body arguments;                                                                                             \
  }                                                                                                                    \
  WIDE_AVX2 static void name##_avx2 parameters {                                                                       \
    name##_body arguments;                                                                                             \
  }                                                                                                                    \
  WIDE_AVX512 static void name##_avx512 parameters {                                                                   \
    name##_body arguments;                                                                                             \
  }                                                                                                                    \
  static void name parameters {                                                                                        \
    const int level = wide_level();                                                                                    \
    if (level == 2)                                                                                                    \
      name##_avx512 arguments;                                                                                         \
    else if (level == 1)                                                                                               \
      name##_avx2 arguments;                                                                                           \
    else                                                                                                               \
      name##_plain arguments;                                                                                          \
  }
#define WIDE_BODY static inline __attribute__((always_inline)) void

#else

#define WIDE_LOOP(name, parameters, arguments)                                                                         \
  static void name parameters {                                                                                        \
    name##_body arguments;                                                                                             \
  }
#define WIDE_BODY static inline void

#endif

#endif
