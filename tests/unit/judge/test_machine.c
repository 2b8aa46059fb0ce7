// SPDX-License-Identifier: Apache-2.0
// A machine's name changes with the processors that a process may use, unless what counts is the whole machine.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>

#include "base/alloc.h"
#include "judge/machine.h"

static void processors_count_where_they_matter(void **state) {
  cpu_set_t all, one;
  (void)state;
  assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2)
    skip();
  char *mine = machine_identity(false), *whole = machine_identity(true);
  CPU_ZERO(&one);
  for (int i = 0; CPU_COUNT(&one) < 1; i++)
    if (CPU_ISSET(i, &all))
      CPU_SET(i, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  char *less = machine_identity(false), *same = machine_identity(true);
  assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
  assert_string_not_equal(mine, less);
  assert_string_equal(whole, same);
  base_free(mine);
  base_free(whole);
  base_free(less);
  base_free(same);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(processors_count_where_they_matter)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
