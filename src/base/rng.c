// SPDX-License-Identifier: Apache-2.0
#include "base/rng.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/hash.h"
#include "base/wide.h"

void philox4x32(uint64_t key, uint64_t counter_lo, uint64_t counter_hi, uint32_t out[4]) {
  uint32_t c0 = (uint32_t)counter_lo, c1 = (uint32_t)(counter_lo >> 32);
  uint32_t c2 = (uint32_t)counter_hi, c3 = (uint32_t)(counter_hi >> 32);
  uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
  for (int round = 0; round < 10; round++) {
    uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
    c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    c1 = (uint32_t)p1;
    c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c3 = (uint32_t)p0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

enum { LANES = 64 };

// LANES counters at a time, so that the compiler can keep several in one register.
WIDE_BODY philox_lanes_body(uint64_t key, uint64_t lo, uint64_t hi, uint32_t *out) {
  uint32_t c0[LANES], c1[LANES], c2[LANES], c3[LANES];
  uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
  for (unsigned i = 0; i < LANES; i++) {
    c0[i] = (uint32_t)(lo + i);
    c1[i] = (uint32_t)((lo + i) >> 32);
    c2[i] = (uint32_t)hi;
    c3[i] = (uint32_t)(hi >> 32);
  }
  for (int round = 0; round < 10; round++) {
    for (int i = 0; i < LANES; i++) {
      uint64_t p0 = (uint64_t)0xD2511F53u * c0[i], p1 = (uint64_t)0xCD9E8D57u * c2[i];
      c0[i] = (uint32_t)(p1 >> 32) ^ c1[i] ^ k0;
      c1[i] = (uint32_t)p1;
      c2[i] = (uint32_t)(p0 >> 32) ^ c3[i] ^ k1;
      c3[i] = (uint32_t)p0;
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  for (int i = 0; i < LANES; i++) {
    out[4 * i] = c0[i];
    out[4 * i + 1] = c1[i];
    out[4 * i + 2] = c2[i];
    out[4 * i + 3] = c3[i];
  }
}

WIDE_LOOP(philox_lanes, (uint64_t key, uint64_t lo, uint64_t hi, uint32_t *out), (key, lo, hi, out))

void philox4x32_run(uint64_t key, uint64_t counter_lo, uint64_t counter_hi, int n, uint32_t *out) {
  int i = 0;
  for (; i + LANES <= n; i += LANES)
    philox_lanes(key, counter_lo + (unsigned)i, counter_hi, out + 4 * i);
  for (; i < n; i++)
    philox4x32(key, counter_lo + (unsigned)i, counter_hi, out + 4 * i);
}

uint64_t rng_derive(uint64_t key, uint64_t index) {
  return rng_mix64(rng_mix64(key) ^ rng_mix64(~index));
}

uint64_t rng_secret(uint64_t key, uint64_t index) {
  unsigned char bytes[28] = "assay secret";
  char hex[HASH_HEX_BYTES];
  for (int i = 0; i < 8; i++) {
    bytes[12 + i] = (unsigned char)(key >> 8 * i);
    bytes[20 + i] = (unsigned char)(index >> 8 * i);
  }
  hash_sha256_hex(bytes, sizeof bytes, hex);
  hex[16] = '\0';
  return strtoull(hex, NULL, 16);
}

enum assay_status rng_entropy(uint64_t *seed, struct assay_error *err) {
  if (getrandom(seed, sizeof *seed, 0) == (ssize_t)sizeof *seed)
    return ASSAY_OK;
  return error_set(err, ASSAY_ERR_ENVIRONMENT, "the system gives no random bytes: %s", strerror(errno));
}
