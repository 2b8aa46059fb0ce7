// SPDX-License-Identifier: Apache-2.0
// JSON of other programs, as JSON.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/foreign_json.h"

static void check(const char *in, const char *instead, const char *want) {
  struct buf out = {0};
  foreign_json(in, strlen(in), instead, &out);
  assert_false(out.failed);
  assert_string_equal(buf_str(&out), want);
  buf_release(&out);
}

static void json_stays(void **state) {
  (void)state;
  check("", NULL, "");
  check("{\"NaN\": [1, \"a \\\"NaN\\\" \\\\\", -3]}", NULL, "{\"NaN\": [1, \"a \\\"NaN\\\" \\\\\", -3]}");
  check("\"Infinity", NULL, "\"Infinity");
}

static void words_become_texts(void **state) {
  (void)state;
  check("[NaN,-Infinity, Infinity]", NULL, "[\"NaN\",\"-Infinity\", \"Infinity\"]");
  check("{\"\\\\\":NaN}", NULL, "{\"\\\\\":\"NaN\"}");
  check("[NaN, -Infinity, \"NaN\"]", "null", "[null, null, \"NaN\"]");
  check("[Na", NULL, "[Na");
}

static void the_mark_goes_at_the_begin_alone(void **state) {
  (void)state;
  check("\xef\xbb\xbf{}", NULL, "{}");
  check("\xef\xbb\xbf", NULL, "");
  check("{\"a\": \"\xef\xbb\xbf\"}", NULL, "{\"a\": \"\xef\xbb\xbf\"}");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(json_stays),
      cmocka_unit_test(words_become_texts),
      cmocka_unit_test(the_mark_goes_at_the_begin_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
