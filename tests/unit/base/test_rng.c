// SPDX-License-Identifier: Apache-2.0
// Keys that candidates may see what is drawn with.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"

// sha256("assay secret" + pack("<QQ", key, index)), the first eight bytes, by Python's hashlib.
static void secrets_are_of_sha_256(void **state) {
  (void)state;
  assert_true(rng_secret(0, 0) == 0xda9c636e8651f208u);
  assert_true(rng_secret(0x0123456789abcdef, 7) == 0xaa164df9050b9dae);
}

static uint64_t undo_mix(uint64_t x) {
  x = (x ^ x >> 31 ^ x >> 62) * 0x319642B2D24D8EC3u;
  x = (x ^ x >> 27 ^ x >> 54) * 0x96DE1B173F119089u;
  return (x ^ x >> 30 ^ x >> 60) - 0x9E3779B97F4A7C15u;
}

// Why there are two of them: what tests/cheats/cuda/seed.cu would do.
static void derived_keys_give_their_parents_away(void **state) {
  (void)state;
  const uint64_t seed = 0x1c948e1575796814, shown = rng_derive(seed, 6), secret = rng_secret(seed, 6);
  assert_true(undo_mix(undo_mix(shown) ^ rng_mix64(~(uint64_t)6)) == seed);
  assert_false(undo_mix(undo_mix(secret) ^ rng_mix64(~(uint64_t)6)) == seed);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(secrets_are_of_sha_256),
      cmocka_unit_test(derived_keys_give_their_parents_away),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
