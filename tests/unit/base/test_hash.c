// SPDX-License-Identifier: Apache-2.0
// SHA-256: the examples of FIPS 180, and parts against the whole at every length and cut.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/hash.h"

static void test_examples(void **state) {
  (void)state;
  static const struct {
    const char *text, *hex;
  } examples[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
  };
  for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
    char hex[HASH_HEX_BYTES];
    hash_sha256_hex(examples[i].text, strlen(examples[i].text), hex);
    assert_string_equal(hex, examples[i].hex);
  }
}

static void test_parts(void **state) {
  (void)state;
  enum { MOST = 300 };
  unsigned char bytes[MOST];
  for (int i = 0; i < MOST; i++)
    bytes[i] = (unsigned char)(i * 167 + (i >> 3));
  for (size_t n = 0; n <= MOST; n++)
    for (size_t cut = 0; cut <= n; cut += 1 + n / 40) {
      const struct hash_part parts[] = {{bytes, cut}, {NULL, 0}, {bytes + cut, n - cut}};
      char one[HASH_HEX_BYTES], several[HASH_HEX_BYTES];
      hash_sha256_hex(bytes, n, one);
      hash_sha256_parts_hex(parts, 3, several);
      assert_string_equal(several, one);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_examples), cmocka_unit_test(test_parts)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
