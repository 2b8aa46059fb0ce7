// SPDX-License-Identifier: Apache-2.0
// link: -Wl,--wrap=base_realloc
// Tokens: files, whose they are, and how fast they may be used.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "fail_each.h"
#include "serve/token.h"

static char folder[64], path[128];

static int make_folder(void **state) {
  (void)state;
  snprintf(folder, sizeof folder, "/tmp/test_token.XXXXXX");
  if (!mkdtemp(folder))
    return -1;
  snprintf(path, sizeof path, "%s/tokens", folder);
  return 0;
}

static int drop_folder(void **state) {
  (void)state;
  unlink(path);
  return rmdir(folder);
}

static void test_made_and_found(void **state) {
  (void)state;
  char ann[TOKEN_BYTES], bob[TOKEN_BYTES], *text = NULL;
  size_t len = 0;
  struct tokens *t = NULL;
  struct stat st;
  struct assay_error err = {0};
  assert_int_equal(tokens_add(path, "ann", ann, &err), ASSAY_OK);
  assert_int_equal(tokens_add(path, "bob", bob, &err), ASSAY_OK);
  assert_int_equal(tokens_add(path, "ann", bob, &err), ASSAY_ERR_INVALID);
  assert_int_equal(tokens_add(path, "a b", bob, &err), ASSAY_ERR_INVALID);
  assert_int_equal(stat(path, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0600);
  assert_int_equal(file_read(path, 1000, &text, &len, &err), ASSAY_OK);
  assert_null(strstr(text, ann)); // its hash alone
  base_free(text);
  assert_int_equal(tokens_open(path, 2, &t, &err), ASSAY_OK);
  assert_string_equal(tokens_find(t, ann), "ann");
  ann[63] = ann[63] == '0' ? '1' : '0';
  assert_null(tokens_find(t, ann));
  assert_null(tokens_find(t, ""));
  assert_null(tokens_find(t, "ann"));
  tokens_close(t);
}

static void test_rate(void **state) {
  (void)state;
  char token[TOKEN_BYTES];
  struct tokens *t = NULL;
  struct assay_error err = {0};
  const int64_t second = 1000000000;
  int retry = 0;
  assert_int_equal(tokens_add(path, "ann", token, &err), ASSAY_OK);
  assert_int_equal(tokens_add(path, "bob", token, &err), ASSAY_OK);
  assert_int_equal(tokens_open(path, 6, &t, &err), ASSAY_OK);
  for (int i = 0; i < 6; i++)
    assert_true(tokens_take(t, "ann", 100 * second, &retry));
  assert_false(tokens_take(t, "ann", 100 * second, &retry));
  assert_in_range(retry, 10, 11);
  assert_true(tokens_take(t, "bob", 100 * second, &retry)); // another one's
  assert_false(tokens_take(t, "ann", 109 * second, &retry));
  assert_true(tokens_take(t, "ann", 111 * second, &retry));
  assert_false(tokens_take(t, "ann", 111 * second, &retry));
  for (int i = 0; i < 6; i++) // a day later no more than a minute's at once
    assert_true(tokens_take(t, "ann", 90000 * second, &retry));
  assert_false(tokens_take(t, "ann", 90000 * second, &retry));
  assert_false(tokens_take(t, "eve", 90000 * second, &retry));
  tokens_close(t);
}

static void put(const char *text, mode_t mode) {
  struct assay_error err = {0};
  assert_int_equal(file_write(path, text, strlen(text), &err), ASSAY_OK);
  assert_int_equal(chmod(path, mode), 0);
}

static void test_files(void **state) {
  (void)state;
#define HASH "0000000000000000000000000000000000000000000000000000000000000000"
  static const char *const wrong[] = {"ann\n",           "ann 00\n",       " " HASH "\n",
                                      "ann  " HASH "\n", "a/b " HASH "\n", "ann " HASH "0\n"};
  struct tokens *t = NULL;
  struct assay_error err = {0};
  assert_int_equal(tokens_open(path, 1, &t, &err), ASSAY_ERR_USAGE);
  assert_non_null(strstr(err.message, "--add-token"));
  put("ann " HASH "\n", 0640);
  assert_int_equal(tokens_open(path, 1, &t, &err), ASSAY_ERR_USAGE);
  assert_non_null(strstr(err.message, "chmod 600"));
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    put(wrong[i], 0600);
    assert_int_equal(tokens_open(path, 1, &t, &err), ASSAY_ERR_USAGE);
  }
  put("# people\n\nann " HASH, 0600);
  assert_int_equal(tokens_open(path, 1, &t, &err), ASSAY_OK);
  tokens_close(t);
}

static enum assay_status open_it(void *arg, struct assay_error *err) {
  struct tokens *t = NULL;
  (void)arg;
  enum assay_status status = tokens_open(path, 1, &t, err);
  if (!status)
    tokens_close(t);
  return status;
}

static void test_no_memory(void **state) {
  (void)state;
  put("ann " HASH "\n", 0600);
  fail_each(open_it, NULL, 1);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_made_and_found, make_folder, drop_folder),
      cmocka_unit_test_setup_teardown(test_rate, make_folder, drop_folder),
      cmocka_unit_test_setup_teardown(test_files, make_folder, drop_folder),
      cmocka_unit_test_setup_teardown(test_no_memory, make_folder, drop_folder),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
