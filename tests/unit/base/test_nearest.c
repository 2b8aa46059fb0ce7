// SPDX-License-Identifier: Apache-2.0
// Names for mistyped ones.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/choice.h"
#include "base/nearest.h"

static void test_distance(void **state) {
  (void)state;
  assert_int_equal(nearest_distance("judge", "judge", 9), 0);
  assert_int_equal(nearest_distance("jugde", "judge", 9), 1);
  assert_int_equal(nearest_distance("JUDGE", "judge", 9), 0);
  assert_int_equal(nearest_distance("", "judge", 9), 5);
  assert_int_equal(nearest_distance("judge", "", 9), 5);
  assert_int_equal(nearest_distance("kitten", "sitting", 9), 3);
  assert_int_equal(nearest_distance("kitten", "sitting", 2), 2);
  for (int most = 0; most < 9; most++) { // six letters are missing
    assert_int_equal(nearest_distance("j", "judging", most), most < 6 ? most : 6);
    assert_int_equal(nearest_distance("judging", "j", most), most < 6 ? most : 6);
  }
  char longest[300];
  memset(longest, 'x', sizeof longest - 1);
  longest[sizeof longest - 1] = '\0';
  assert_int_equal(nearest_distance(longest, "x", 7), 7);
}

// "WHAT a, b or c, not 'word'" with what may be meant.
static void test_choice(void **state) {
  (void)state;
  static const char *const names[] = {"cpu", "cuda", "opencl", NULL}, *const one[] = {"tf32", NULL};
  struct assay_error err = {0};
  assert_int_equal(choice_of("--device takes", names, "cuda", &err), 1);
  assert_int_equal(err.status, ASSAY_OK);
  assert_int_equal(choice_of("--device takes", names, "cdua", &err), -1);
  assert_int_equal(err.status, ASSAY_ERR_USAGE);
  assert_string_equal(err.message, "--device takes cpu, cuda or opencl, not 'cdua'; did you mean cuda?");
  assert_int_equal(choice_of("a device is", names, "metal", &err), -1);
  assert_string_equal(err.message, "a device is cpu, cuda or opencl, not 'metal'");
  assert_int_equal(choice_of("a contract is", one, "tf23", &err), -1);
  assert_string_equal(err.message, "a contract is tf32, not 'tf23'; did you mean tf32?");
  assert_int_equal(choice_of("a device is", names, "", &err), -1);
}

static const char *nearest_of(const char *word) {
  static const char *const names[] = {"judge", "bench", "runs", "x", "y", "device", "device-index", "performance"};
  struct nearest n = {.word = word};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    nearest_offer(&n, names[i]);
  return n.name;
}

static void test_nearest(void **state) {
  (void)state;
  char text[64];
  assert_string_equal(nearest_of("jugde"), "judge");
  assert_string_equal(nearest_of("benhc"), "bench");
  assert_string_equal(nearest_of("devise"), "device");
  assert_string_equal(nearest_of("device-indx"), "device-index");
  assert_string_equal(nearest_of("yy"), "y");
  assert_string_equal(nearest_of("perf"), "performance"); // a beginning
  assert_string_equal(nearest_of("dev"), "device");
  assert_null(nearest_of("pe"));
  assert_null(nearest_of("frobnicate"));
  assert_null(nearest_of("z"));
  assert_null(nearest_of(""));
  struct nearest n = {.word = "jugde"};
  assert_string_equal(nearest_text(&n, text, sizeof text), "");
  nearest_offer(&n, "judge");
  assert_string_equal(nearest_text(&n, text, sizeof text), "; did you mean judge?");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_distance), cmocka_unit_test(test_nearest),
                                     cmocka_unit_test(test_choice)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
