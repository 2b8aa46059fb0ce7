// SPDX-License-Identifier: Apache-2.0
// What is left for a later judgement.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "judge/hold_out.h"
#include "task/distribution.h"

enum { NUMBERS = 300 };
static const unsigned all = (1u << PROBE_COUNT) - 1;
static const unsigned always =
    1u << PROBE_DECLARED | 1u << PROBE_ZERO_MEAN | 1u << PROBE_ROW_SCALES | 1u << PROBE_STRIPES | 1u << PROBE_OPPOSED;

// One probe of those that may be, each for some number; the same for the same number.
static void one_probe(void **state) {
  (void)state;
  unsigned ever = 0;
  assert_int_equal(hold_out_probes(0, all), all);
  for (uint64_t number = 1; number < NUMBERS; number++) {
    unsigned left = all & ~hold_out_probes(number, all);
    assert_int_equal(__builtin_popcount(left), 1);
    assert_int_equal(left & always, 0);
    assert_int_equal(hold_out_probes(number, all), all & ~left);
    ever |= left;
  }
  assert_int_equal(ever, all & ~always);
}

// Of a task's own probes; of those that every exam has, none.
static void of_the_task(void **state) {
  (void)state;
  const unsigned few = always | 1u << PROBE_SUBNORMAL;
  for (uint64_t number = 1; number < NUMBERS; number++) {
    assert_int_equal(hold_out_probes(number, few), always);
    assert_int_equal(hold_out_probes(number, always), always);
  }
}

static void one_kind_of_shape(void **state) {
  (void)state;
  int ever[SHAPE_KIND_COUNT] = {0};
  for (uint64_t number = 0; number < NUMBERS; number++) {
    int n = 0;
    for (int kind = 0; kind < SHAPE_KIND_COUNT; kind++) {
      n += hold_out_shape(number, (enum shape_kind)kind);
      ever[kind] += hold_out_shape(number, (enum shape_kind)kind);
    }
    assert_int_equal(n, number != 0);
  }
  for (int kind = 0; kind < SHAPE_KIND_COUNT; kind++)
    assert_int_equal(ever[kind] > 0, kind != SHAPE_REDUCED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_probe),
      cmocka_unit_test(of_the_task),
      cmocka_unit_test(one_kind_of_shape),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
