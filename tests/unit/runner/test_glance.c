// SPDX-License-Identifier: Apache-2.0
// The look at the outputs when a kernel says that it is done.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "runner/glance.h"

static unsigned char bytes[2][4096];

static void outputs(struct buffer b[2], size_t first, size_t second) {
  memset(bytes, 1, sizeof bytes);
  b[0] = (struct buffer){.map = bytes[0], .map_bytes = sizeof bytes[0], .offset = 64, .data_bytes = first};
  b[1] = (struct buffer){.map = bytes[1], .map_bytes = sizeof bytes[1], .offset = 128, .data_bytes = second};
}

static void nothing_changed(void **state) {
  (void)state;
  struct buffer b[2];
  struct glance g;
  outputs(b, 1000, 6);
  glance_take(&g, b, 2, 7);
  assert_int_equal(g.n, GLANCE_SPOTS);
  bytes[0][63]++; // not of the outputs
  bytes[0][64 + 1000]++;
  bytes[1][128 + 6]++;
  assert_true(glance_holds(&g));
}

// An eighth of an output that comes late is missed less than once in a thousand times.
static void late_part(void **state) {
  (void)state;
  int missed = 0;
  for (uint64_t seed = 0; seed < 1000; seed++) {
    struct buffer b[2];
    struct glance g;
    outputs(b, 3200, 4);
    glance_take(&g, b, 1, seed);
    memset(bytes[0] + 64 + 2800, 2, 400);
    missed += glance_holds(&g);
  }
  assert_true(missed <= 3);
}

// A scalar of two bytes, and the last byte of seven.
static void few_bytes(void **state) {
  (void)state;
  struct buffer b[2];
  struct glance g;
  int missed = 0;
  outputs(b, 2, 7);
  glance_take(&g, b, 1, 3);
  bytes[0][64 + 1]++;
  assert_false(glance_holds(&g));
  for (uint64_t seed = 0; seed < 100; seed++) {
    glance_take(&g, b + 1, 1, seed);
    bytes[1][128 + 6]++;
    missed += glance_holds(&g);
  }
  assert_int_equal(missed, 0);
}

static void nothing_to_see(void **state) {
  (void)state;
  struct buffer b[2];
  struct glance g;
  outputs(b, 0, 0);
  glance_take(&g, b, 2, 1);
  assert_int_equal(g.n, 0);
  assert_true(glance_holds(&g));
  glance_take(&g, b, 0, 1);
  assert_true(glance_holds(&g));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_changed),
      cmocka_unit_test(late_part),
      cmocka_unit_test(few_bytes),
      cmocka_unit_test(nothing_to_see),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
