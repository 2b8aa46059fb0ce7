// SPDX-License-Identifier: Apache-2.0
#include "base/hash_blocks.h"

#include <assert.h>
#include <stdatomic.h>

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>

static bool ask(void) {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSSE3) || !(c & bit_SSE4_1))
    return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
}

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// Asked once: in a virtual machine the question costs as much as hashing some kilobytes.
bool hash_has_blocks(void) {
  enum { UNKNOWN, NO, YES };
  static atomic_int known;
  int is = atomic_load_explicit(&known, memory_order_relaxed);
  if (is == UNKNOWN) {
    is = ask() ? YES : NO;
    atomic_store_explicit(&known, is, memory_order_relaxed);
  }
  return is == YES;
}

#define WITH_SHA __attribute__((target("sha,sse4.1,ssse3")))

// The next four words of the schedule, of the sixteen before them.
WITH_SHA static __m128i schedule(const __m128i w[4]) {
  const __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(w[0], w[1]), _mm_alignr_epi8(w[3], w[2], 4));
  return _mm_sha256msg2_epu32(sum, w[3]);
}

// The instructions hold the state as ABEF and CDGH, the highest word first.
WITH_SHA static void compress(__m128i *abef, __m128i *cdgh, const unsigned char *block) {
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const __m128i abef_before = *abef, cdgh_before = *cdgh;
  __m128i w[4];
  for (int i = 0; i < 4; i++)
    w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(block + 16 * i)), swap);
  for (int i = 0; i < 16; i++) {
    const __m128i wk = _mm_add_epi32(w[0], _mm_loadu_si128((const __m128i *)(const void *)(constants + 4 * i)));
    const __m128i next = i < 12 ? schedule(w) : w[0];
    *cdgh = _mm_sha256rnds2_epu32(*cdgh, *abef, wk);
    *abef = _mm_sha256rnds2_epu32(*abef, *cdgh, _mm_shuffle_epi32(wk, 0x0E));
    w[0] = w[1];
    w[1] = w[2];
    w[2] = w[3];
    w[3] = next;
  }
  *abef = _mm_add_epi32(*abef, abef_before);
  *cdgh = _mm_add_epi32(*cdgh, cdgh_before);
}

WITH_SHA void hash_blocks(uint32_t state[8], const unsigned char *bytes, size_t n) {
  __m128i abef = _mm_set_epi32((int)state[0], (int)state[1], (int)state[4], (int)state[5]);
  __m128i cdgh = _mm_set_epi32((int)state[2], (int)state[3], (int)state[6], (int)state[7]);
  for (; n > 0; n--, bytes += HASH_BLOCK)
    compress(&abef, &cdgh, bytes);
  state[0] = (uint32_t)_mm_extract_epi32(abef, 3);
  state[1] = (uint32_t)_mm_extract_epi32(abef, 2);
  state[2] = (uint32_t)_mm_extract_epi32(cdgh, 3);
  state[3] = (uint32_t)_mm_extract_epi32(cdgh, 2);
  state[4] = (uint32_t)_mm_extract_epi32(abef, 1);
  state[5] = (uint32_t)_mm_extract_epi32(abef, 0);
  state[6] = (uint32_t)_mm_extract_epi32(cdgh, 1);
  state[7] = (uint32_t)_mm_extract_epi32(cdgh, 0);
}

#else

bool hash_has_blocks(void) {
  return false;
}

void hash_blocks(uint32_t state[8], const unsigned char *bytes, size_t n) {
  (void)state;
  (void)bytes;
  (void)n;
  assert(!"no such instructions");
}

#endif
