// SPDX-License-Identifier: Apache-2.0
#include "base/cache_flush.h"

#include <stdbool.h>
#include <stdint.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#else
#include <sys/mman.h>
#endif

enum { LINE = 64 };

#if defined(__x86_64__)
// clflushopt lets flushes overlap; clflush, which every x86-64 has, waits for each.
__attribute__((target("clflushopt"))) static void flush_overlapping(const unsigned char *p, size_t n) {
  for (size_t i = 0; i < n; i += LINE)
    _mm_clflushopt((void *)(uintptr_t)(p + i));
}

static bool can_overlap(void) {
  unsigned a, b = 0, c, d;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_CLFLUSHOPT);
}

void cache_flush(const void *bytes, size_t n) {
  const unsigned char *p = bytes;
  // Coherent over all processors: the line leaves every cache that holds it.
  _mm_mfence();
  if (can_overlap())
    flush_overlapping(p, n);
  else
    for (size_t i = 0; i < n; i += LINE)
      _mm_clflush(p + i);
  _mm_mfence();
}
#else
void cache_flush(const void *bytes, size_t n) {
  // No user-level flush: evict by streaming through more memory than the last-level cache holds.
  enum { EVICT_BYTES = 256 << 20 };
  (void)bytes;
  (void)n;
  unsigned char *p = mmap(NULL, EVICT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    return;
  for (size_t i = 0; i < EVICT_BYTES; i += LINE)
    ((volatile unsigned char *)p)[i] = 1;
  munmap(p, EVICT_BYTES);
}
#endif
