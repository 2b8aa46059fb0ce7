// SPDX-License-Identifier: Apache-2.0
// JSON text with less in it: what is left is what a tree of all of it has, and nothing else.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "report/skim.h"

static const char *const check_keys[] = {"probe", "worst"};
static const struct skim_rules of_a_check = {check_keys, 2, false, NULL, 0};
static const char *const no_samples[] = {"samples_ns"};
static const struct skim_rules without_samples = {no_samples, 1, true, NULL, 0};
static const struct skim_inside parts[] = {{"checks", &of_a_check}, {"timing", &without_samples}};
static const char *const keys[] = {"device", "seed"};
static const struct skim_rules some = {keys, 2, false, parts, 2};
static const struct skim_rules all_but_samples = {NULL, 0, true, parts + 1, 1};

static void check(const struct skim_rules *rules, const char *text, const char *wanted) {
  struct skim s = {.rules = rules};
  struct buf out = {0};
  buf_puts(&out, "before ");
  assert_true(skim_write(&s, text, &out));
  assert_string_equal(buf_str(&out) + 7, wanted);
  buf_release(&out);
}

static void test_leaves_out(void **state) {
  (void)state;
  check(&some, " { } ", "{}");
  check(&some, "{\"a\": [1, {\"device\": 2}], \"device\" : \"x \\\" y\\\\\",\n \"b\": {\"c\": \"}\"}, \"seed\": 12 }",
        "{\"device\":\"x \\\" y\\\\\",\"seed\":12}");
  check(&some,
        "{\"checks\": [{\"probe\": \"p\", \"wrong\": 1}, {\"worst\": null}, 7], "
        "\"timing\": {\"samples_ns\": [1, 2], \"hot\": [3, 4]}}",
        "{\"checks\":[{\"probe\":\"p\"},{\"worst\":null},7],\"timing\":{\"hot\":[3,4]}}");
  check(&all_but_samples, "{\"x\": {\"samples_ns\": [1]}, \"timing\": {\"samples_ns\": [1]}}",
        "{\"x\":{\"samples_ns\":[1]},\"timing\":{}}");
  check(&some, "{\"checks\": null, \"timing\": []}", "{\"checks\":null,\"timing\":[]}");
}

static void test_refuses(void **state) {
  (void)state;
  static const char *const bad[] = {"",
                                    "[]",
                                    "{",
                                    "{\"a\"}",
                                    "{\"a\":}",
                                    "{\"a\":1,}",
                                    "{\"device\": 1 2}",
                                    "{} {}",
                                    "{\"a\":[}]",
                                    "{\"a\":]}",
                                    "{\"device\":\"x}",
                                    "{\"a\":\"x\\\"}",
                                    "{,}",
                                    "{\"a\":1 \"b\":2}",
                                    "nothing",
                                    "{\"checks\":[{\"probe\":1},]"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct skim s = {.rules = &some};
    struct buf out = {0};
    buf_puts(&out, "before");
    assert_false(skim_write(&s, bad[i], &out));
    assert_string_equal(buf_str(&out), "before");
    buf_release(&out);
  }
}

static void test_depth(void **state) {
  (void)state;
  enum { DEEP = 100000 };
  char *text = malloc(2 * DEEP + 32);
  struct skim s = {.rules = &some};
  struct buf out = {0};
  assert_non_null(text);
  strcpy(text, "{\"device\":");
  memset(text + strlen(text) + 1, 0, DEEP);
  size_t n = strlen(text);
  memset(text + n, '[', DEEP);
  memset(text + n + DEEP, ']', DEEP);
  strcpy(text + n + 2 * DEEP, "}");
  assert_false(skim_write(&s, text, &out));
  buf_release(&out);
  free(text);
}

static void shout(void *arg, const char *raw, size_t n, struct buf *out) {
  (void)arg;
  buf_puts(out, "<");
  buf_append(out, raw + 1, n - 2);
  buf_puts(out, ">");
}

// Keys stay as they are, however deep; which of the named keys there were is said.
static void test_strings(void **state) {
  (void)state;
  struct skim s = {.rules = &some, .string = shout};
  struct buf out = {0};
  assert_true(skim_write(&s, "{\"device\": {\"a\" : \"b\", \"c\": [\"d\"]}, \"timing\": {\"e\": \"f\"}}", &out));
  assert_string_equal(buf_str(&out), "{\"device\":{\"a\":<b>,\"c\":[<d>]},\"timing\":{\"e\":<f>}}");
  assert_int_equal(s.seen, 1 | 8);
  buf_release(&out);
}

static void test_load(void **state) {
  (void)state;
  json_t *j = skim_load("{\"a\": 1, \"seed\": 5}", &some);
  assert_int_equal(json_object_size(j), 1);
  assert_int_equal(json_integer_value(json_object_get(j, "seed")), 5);
  json_decref(j);
  j = skim_load("[1, 2]", &some);
  assert_int_equal(json_array_size(j), 2);
  json_decref(j);
  assert_null(skim_load("{\"seed\": nul}", &some));
  assert_null(skim_load("{\"seed\": 1 2}", &some));
}

static bool note(void *arg, const struct skim_raw *members) {
  struct buf *out = arg;
  for (int i = 0; i < 2; i++)
    if (members[i].at)
      buf_append(out, members[i].at, members[i].n);
    else
      buf_puts(out, "-");
  buf_puts(out, ";");
  return true;
}

// The elements of one array, whatever stands before it and between them.
static void test_each(void **state) {
  (void)state;
  static const struct {
    const char *text, *seen;
    bool ok;
  } cases[] = {
      {"{\"a\": {\"checks\": [1]}, \"checks\" : [ {\"worst\": [1, \"]\"], \"x\": 2, \"probe\" : \"a\\\"b\"}, 3, {} ], "
       "\"b\": 0}",
       "\"a\\\"b\"[1, \"]\"];--;--;", true},
      {"{\"checks\": []}", "", true},
      {"{\"checks\": null}", "", false},
      {"{\"other\": [{\"probe\": 1}]}", "", false},
      {"[]", "", false},
      {"{\"checks\": [{\"probe\": 1}", "1-;", false},
      {"{\"checks\": [{\"probe\" 1}]}", "", false},
      {"{\"checks\": [{\"probe\": 1} 2]}", "1-;", false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct buf out = {0};
    const struct skim_array what = {"checks", check_keys, 2, note, &out};
    assert_int_equal(skim_each(cases[i].text, &what), cases[i].ok);
    assert_string_equal(buf_str(&out), cases[i].seen);
    buf_release(&out);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_leaves_out), cmocka_unit_test(test_refuses), cmocka_unit_test(test_depth),
      cmocka_unit_test(test_strings),    cmocka_unit_test(test_load),    cmocka_unit_test(test_each),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
