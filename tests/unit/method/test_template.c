// SPDX-License-Identifier: Apache-2.0
// The prompts' texts.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "method/template.h"

static char folder[64];

static int make_folder(void **state) {
  (void)state;
  snprintf(folder, sizeof folder, "/tmp/assay-template-XXXXXX");
  return mkdtemp(folder) ? 0 : -1;
}

static int drop_folder(void **state) {
  (void)state;
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command);
}

static void put(const char *name, const char *text) {
  char path[128];
  struct assay_error err = {0};
  snprintf(path, sizeof path, "%s/%s.txt", folder, name);
  assert_int_equal(file_write(path, text, strlen(text), &err), ASSAY_OK);
}

static const struct template_value values[] = {{"a", "A"}, {"empty", ""}, {"none", NULL}, {"which", "other"}};

static void expect(const char *text, const char *result) {
  struct buf out = {0};
  struct assay_error err = {0};
  put("main", text);
  if (template_render(folder, "main", values, 4, &out, &err) != ASSAY_OK)
    fail_msg("%s: %s", text, err.message);
  assert_string_equal(buf_str(&out), result);
  buf_release(&out);
}

static void expect_error(const char *text, const char *message) {
  struct buf out = {0};
  struct assay_error err = {0};
  put("main", text);
  assert_int_not_equal(template_render(folder, "main", values, 4, &out, &err), ASSAY_OK);
  if (!strstr(err.message, message))
    fail_msg("%s: %s", text, err.message);
  buf_release(&out);
}

static void marks(void **state) {
  (void)state;
  expect("x {{a}} {{ a }}{{none}}y\n", "x A Ay\n");
  expect("{{#a}}\nyes\n{{/a}}\n{{^a}}\nno\n{{/a}}\nend", "yes\nend");
  expect("{{#empty}}no{{a}}{{/empty}}{{^empty}}e{{#a}}n{{/a}}{{/empty}}", "en");
  expect("a\n  {{! a comment\nof two lines }}\nb {{! }}c\n", "a\nb c\n");
  expect("{ {a} }} {", "{ {a} }} {");
  put("other", "<{{a}}>\n");
  expect("{{>other}}\n{{>*which}}\n|{{>other}}", "<A>\n<A>\n|<A>\n");
  expect("{{#empty}}{{>missing}}{{/empty}}", "");
}

static void mistakes(void **state) {
  (void)state;
  expect_error("\n{{b}}", "line 2: there is no value {{b}}; there are: a, empty");
  expect_error("{{#a}}", "nothing closes {{a}}");
  expect_error("{{#a}}{{/empty}}", "nothing was opened for {{empty}}");
  expect_error("x\n\n{{/a}}", "line 3");
  expect_error("{{>missing}}", "missing.txt");
  expect_error("{{>*none}}", "none");
  expect_error("{{>main}}", "main.txt takes itself in");
  put("other", "{{>main}}");
  expect_error("{{>other}}", "main.txt takes itself in");
  put("other", "\n\n{{wrong}}");
  expect_error("{{>other}}", "other.txt, line 3");
}

// Every text that is shipped has no mark that is wrong, whatever is filled in.
static void shipped_texts_are_gathered(void **state) {
  (void)state;
  struct buf all = {0};
  struct assay_error err = {0};
  assert_int_equal(template_gather(ASSAY_SOURCE_DIR "/prompts", &all, &err), ASSAY_OK);
  assert_non_null(strstr(buf_str(&all), "first.txt"));
  assert_non_null(strstr(buf_str(&all), "form_cuda.txt"));
  buf_release(&all);
  assert_int_equal(template_gather(folder, &all, &err), ASSAY_ERR_NOT_FOUND);
  assert_int_equal(template_gather("/no/such/folder", &all, &err), ASSAY_ERR_NOT_FOUND);
  buf_release(&all);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)
  const struct CMUnitTest tests[] = {TEST(marks), TEST(mistakes), TEST(shipped_texts_are_gathered)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
