#include "base/rng.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

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

uint64_t rng_derive(uint64_t key, uint64_t index) {
  return rng_mix64(rng_mix64(key) ^ rng_mix64(~index));
}

enum assay_status rng_entropy(uint64_t *seed, struct assay_error *err) {
  if (getrandom(seed, sizeof *seed, 0) == (ssize_t)sizeof *seed)
    return ASSAY_OK;
  return error_set(err, ASSAY_ERR_ENVIRONMENT, "the system gives no random bytes: %s", strerror(errno));
}
