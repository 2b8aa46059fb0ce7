// SPDX-License-Identifier: Apache-2.0
// What is published of a verdict's evidence has no paths of the judging machine, wherever they stand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "serve/server.h"

static void test_publish(void **state) {
  (void)state;
  static const struct {
    const char *evidence, *published;
  } cases[] = {
      {"[{\"worst\": \"in /home/ann/k.c:3\", \"probe\": \"declared\", \"reason\": \"\", \"z_max\": 0.5}]",
       "[{\"worst\": \"in k.c:3\", \"probe\": \"declared\", \"reason\": \"\", \"z_max\": 0.5}]"},
      {"{\"compiler\": \"/opt/gcc/bin/gcc 12\", \"n\": [1, null, true]}",
       "{\"compiler\": \"gcc 12\", \"n\": [1, null, true]}"},
      {"\"kernelbench/1/19, 3 / 4\"", "\"kernelbench/1/19, 3 / 4\""},
      {"[]", "[]"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    json_t *value = json_loads(cases[i].evidence, JSON_DECODE_ANY, NULL);
    json_t *wanted = json_loads(cases[i].published, JSON_DECODE_ANY, NULL), *got = verdicts_publish(value);
    assert_true(value && wanted);
    char *text = json_dumps(got, JSON_ENCODE_ANY);
    if (!json_equal(got, wanted))
      fail_msg("%s", text);
    free(text);
    json_decref(value);
    json_decref(wanted);
    json_decref(got);
  }
  json_t *none = verdicts_publish(NULL);
  assert_true(json_is_null(none));
  json_decref(none);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_publish)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
