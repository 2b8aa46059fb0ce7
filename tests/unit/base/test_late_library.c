// SPDX-License-Identifier: Apache-2.0
// Libraries that are loaded when they are used.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/door.h"

static struct late_library library = {.name = "libm.so.6", .package = "libc6"};
DOOR(double, cosh, (double x), (x), 0)

static void test_there(void **state) {
  (void)state;
  struct assay_error err = {0};
  assert_null(library.handle);
  volatile double one = 1; // so that the compiler asks for the function, which loads it
  assert_true(fabs(cosh(one) - 1.5430806348152437) < 1e-15);
  assert_non_null(library.handle);
  void *first = library.handle;
  assert_int_equal(late_library_load(&library, &err), ASSAY_OK);
  assert_ptr_equal(library.handle, first);
  assert_null(late_library_function(&library, "no_such_function"));
}

static struct late_library missing = {.name = "libassay-none.so.7", .package = "assay-none"};

static void test_missing(void **state) {
  (void)state;
  struct assay_error err = {0};
  assert_int_equal(late_library_load(&missing, &err), ASSAY_ERR_ENVIRONMENT);
  assert_non_null(strstr(err.message, "libassay-none.so.7"));
  assert_non_null(strstr(err.message, "install assay-none"));
  assert_null(late_library_function(&missing, "anything"));
  assert_null(missing.handle);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_there), cmocka_unit_test(test_missing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
