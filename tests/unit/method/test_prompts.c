// SPDX-License-Identifier: Apache-2.0
// The prompts that ship are short: what a form is described with, and its example, is at most 800 tokens.
#include <ctype.h>
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"

enum { MOST_TOKENS = 800, LETTERS = 3, MOST_BYTES = 1 << 16 };

// Tokens, counted without a model's tokenizer and rather too many: three letters of a word are one, every digit and
// every other sign is one, and so is every line's end and every run of blanks but a single one, which goes with the
// word after it. (The usual vocabularies of code have four letters to a token, and runs of signs such as "++" or
// "));".)
static int tokens_at_most(const char *text) {
  int n = 0;
  for (const char *c = text; *c;) {
    size_t run = 1;
    if (isalpha((unsigned char)*c)) {
      while (isalpha((unsigned char)c[run]))
        run++;
      n += (int)((run + LETTERS - 1) / LETTERS);
    } else if (*c == ' ' || *c == '\t') {
      run = strspn(c, " \t");
      n += run > 1 || *c == '\t';
    } else {
      n++;
    }
    c += run;
  }
  return n;
}

static int count_file(const char *name) {
  char path[512], *text = NULL;
  size_t len = 0;
  struct assay_error err = {0};
  snprintf(path, sizeof path, ASSAY_SOURCE_DIR "/prompts/%s", name);
  assert_int_equal(file_read(path, MOST_BYTES, &text, &len, &err), ASSAY_OK);
  const int n = tokens_at_most(text);
  base_free(text);
  return n;
}

static void test_counting(void **state) {
  (void)state;
  assert_int_equal(tokens_at_most(""), 0);
  assert_int_equal(tokens_at_most("for (int i = 0; i < n; i++)\n"),
                   1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 2 + 1 + 1);
  assert_int_equal(tokens_at_most("    threadIdx.x"), 1 + 3 + 1 + 1);
}

static void test_forms(void **state) {
  (void)state;
  DIR *dir = opendir(ASSAY_SOURCE_DIR "/prompts");
  int forms = 0;
  assert_non_null(dir);
  for (struct dirent *e; (e = readdir(dir));) {
    if (strncmp(e->d_name, "form_", 5) != 0)
      continue;
    const int n = count_file(e->d_name);
    if (n > MOST_TOKENS)
      fail_msg("prompts/%s: %d tokens or so, at most %d", e->d_name, n, MOST_TOKENS);
    assert_true(n > 100); // it has an example
    forms++;
  }
  closedir(dir);
  assert_int_equal(forms, 6);
}

// What stands before the task in every prompt, with the longest of the forms.
static void test_all_that_is_stable(void **state) {
  (void)state;
  assert_in_range(count_file("system.txt") + count_file("rules.txt") + count_file("form_cuda.txt"), 500, 1600);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_counting),
      cmocka_unit_test(test_forms),
      cmocka_unit_test(test_all_that_is_stable),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
