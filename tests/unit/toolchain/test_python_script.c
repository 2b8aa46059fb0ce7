// SPDX-License-Identifier: Apache-2.0
// The interpreter behind a script of pyenv's kind, which cannot itself run in a sandbox.
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "toolchain/python_script.h"

static char folder[] = "/tmp/assay-test-XXXXXX";
static struct arena arena;

static const char *put(const char *name, const char *text) {
  const char *path = arena_printf(&arena, "%s/%s", folder, name);
  assert_int_equal(file_write(path, text, strlen(text), NULL), ASSAY_OK);
  assert_int_equal(chmod(path, 0755), 0);
  return path;
}

static int begin(void **state) {
  (void)state;
  return mkdtemp(folder) ? 0 : 1;
}

static int end(void **state) {
  char command[128];
  (void)state;
  snprintf(command, sizeof command, "rm -rf %s", folder);
  arena_release(&arena);
  return system(command);
}

static void test_a_program_is_itself(void **state) {
  (void)state;
  const char *found = NULL;
  assert_int_equal(python_behind_script("/bin/true", &arena, &found, NULL), ASSAY_OK);
  assert_string_equal(found, "/bin/true");
}

// It is asked as users start it, whatever it prints around the answer.
static void test_a_script_says_what_it_starts(void **state) {
  (void)state;
  const char *found = NULL;
  const char *script = put("says", "#!/bin/sh\necho 'warning: old' >&2\n[ \"$1 $2 $3\" = '-I -S -c' ] || exit 1\n"
                                   "echo 'interpreter: /bin/true'\n");
  assert_int_equal(python_behind_script(script, &arena, &found, NULL), ASSAY_OK);
  assert_string_equal(found, "/bin/true");
}

static void test_one_that_does_not_is_told(void **state) {
  (void)state;
  static const struct {
    const char *name, *text, *why;
  } rows[] = {
      {"fails", "#!/bin/sh\necho 'pyenv: version 3.9 is not installed' >&2\nexit 1\n",
       "fails does not work here: it is a script, and does not say which Python it starts (pyenv: version 3.9 is not "
       "installed); name that Python in ASSAY_PYTHON"},
      {"silent", "#!/bin/sh\n", "(it says nothing); name"},
      {"no_path", "#!/bin/sh\necho 'interpreter: python3'\n", "does not say"},
      {"nowhere", "#!/bin/sh\necho 'interpreter: /nowhere/python3'\n", "does not say"},
      {"itself", "#!/bin/sh\necho \"interpreter: $0\"\n", "does not say"},
      {"no_shell", "#!/nowhere/sh\n", "does not say"},
      {"floods", "#!/bin/sh\nwhile :; do echo 0123456789012345678901234567890123456789; done\n", "does not say"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *found = NULL;
    struct assay_error err = {0};
    assert_int_equal(python_behind_script(put(rows[i].name, rows[i].text), &arena, &found, &err),
                     ASSAY_ERR_ENVIRONMENT);
    if (!strstr(err.message, rows[i].why))
      fail_msg("%s", err.message);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_program_is_itself),
                                     cmocka_unit_test(test_a_script_says_what_it_starts),
                                     cmocka_unit_test(test_one_that_does_not_is_told)};
  return cmocka_run_group_tests(tests, begin, end);
}
