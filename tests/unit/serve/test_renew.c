// SPDX-License-Identifier: Apache-2.0
// When the live site's pages are made again.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "serve/renew.h"

static const int64_t S = 1000000000;

static void test_due(void **state) {
  (void)state;
  struct renewal r = {.wanted = true, .first_ns = 100 * S, .last_ns = 110 * S};
  assert_false(renew_is_due(&r, false, 110 * S + S / 2)); // another verdict may follow at once
  assert_true(renew_is_due(&r, false, 111 * S));
  assert_false(renew_is_due(&r, true, 111 * S)); // a time may be taken
  assert_true(renew_is_due(&r, true, 130 * S));  // the queue is never empty
  r.rest_ns = 140 * S;
  assert_false(renew_is_due(&r, false, 139 * S));
  assert_true(renew_is_due(&r, false, 140 * S));
  r.wanted = false;
  assert_false(renew_is_due(&r, false, 1000 * S));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_due)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
