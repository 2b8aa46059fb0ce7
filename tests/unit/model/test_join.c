// SPDX-License-Identifier: Apache-2.0
// A reply and its rest: what models do when they are asked to go on.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/join.h"

static void expect(const char *text, const char *rest, const char *joined) {
  struct buf b = {0};
  struct assay_error err = {0};
  buf_puts(&b, text);
  // Behind the rest there is nothing that may be read.
  char *exact = test_malloc(strlen(rest) + 1);
  memcpy(exact, rest, strlen(rest));
  assert_int_equal(model_join(&b, exact, strlen(rest), &err), ASSAY_OK);
  assert_string_equal(buf_str(&b), joined);
  test_free(exact);
  buf_release(&b);
}

static void test_joined(void **state) {
  (void)state;
  static const char whole[] = "```c\nint a;\nfloat value = x[i];\n}\n```\n";
  expect("```c\nint a;\nfloat value = ", "x[i];\n}\n```\n", whole);
  expect("```c\nint a;\nfloat value = ", "float value = x[i];\n}\n```\n", whole);         // the line again
  expect("```c\nint a;\nfloat value = ", "int a;\nfloat value = x[i];\n}\n```\n", whole); // more of it
  expect("```c\nint a;\nflo", "float value = x[i];\n}\n```\n", whole);                    // a short line again
  expect("```c\nint a;\nfloat value = ", "```c\nx[i];\n}\n```\n", whole);                 // a new fence
  expect("```c\nint a;\nfloat value = ", "The rest:\n\n```c\nfloat value = x[i];\n}\n```\n", whole);
  expect("```c\nint a;\nfloat value = ", "\n```\nx[i];\n}\n```\n", whole); // one without a tag
  expect("```c\nint a;\n", "float value = x[i];\n}\n```\n", whole);
}

static void test_left_alone(void **state) {
  (void)state;
  expect("a = 1", "1;\n```\n", "a = 11;\n```\n");                                   // a chance, not a repetition
  expect("```c\nf();\n", "```\nThat is all.\n", "```c\nf();\n```\nThat is all.\n"); // it only closes the block
  expect("```c\n  f(", "a);\n```\nand\n```c\ng();\n```\n", "```c\n  f(a);\n```\nand\n```c\ng();\n```\n");
  expect("", "x", "x");
  expect("x", "", "x");
  expect("```c\n", "````", "```c\n````");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_joined),
      cmocka_unit_test(test_left_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
