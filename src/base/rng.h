// SPDX-License-Identifier: Apache-2.0
// Random numbers that are pure functions of (key, counter): any element can be made alone, on any machine, bit for bit.
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): four 32-bit words for the
// 128-bit counter under the 64-bit key. The stream for inputs on every device.
void philox4x32(uint64_t key, uint64_t counter_lo, uint64_t counter_hi, uint32_t out[4]);

// The same for n consecutive counters from counter_lo on, several at a time: out has 4 n words.
void philox4x32_run(uint64_t key, uint64_t counter_lo, uint64_t counter_hi, int n, uint32_t *out);

// A well-mixed 64-bit hash of x (splitmix64's finaliser, Steele et al. 2014): cheap noise where streams need not match
// other machines. mix64(seed + i) for i = 0, 1, ... is splitmix64 itself when the seed advances by the golden gamma.
static inline uint64_t rng_mix64(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// A key for the stream `index` under a parent key, independent of its siblings. Cheap, but not secret: the parent can
// be calculated from the result and the index.
uint64_t rng_derive(uint64_t key, uint64_t index);

// The same, for use where candidates see the result or what is drawn with it, but must not know parent and siblings:
// the first 64 bits of SHA-256 over "assay secret", key and index, both little-endian.
uint64_t rng_secret(uint64_t key, uint64_t index);

// [0, 1) with 53 bits.
static inline double rng_unit(uint64_t bits) {
  return (double)(bits >> 11) * 0x1p-53;
}

// A seed from the operating system's entropy. ASSAY_ERR_ENVIRONMENT when it has none.
enum assay_status rng_entropy(uint64_t *seed, struct assay_error *err);

#endif
