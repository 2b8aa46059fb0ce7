// SPDX-License-Identifier: Apache-2.0
// What a sandboxed interpreter may read: its own files, and packages that it reaches by a .pth file alone.
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "toolchain/python_paths.h"

#define SITE "/venv/lib/python3.12/site-packages"

static char folder[] = "/tmp/assay-test-XXXXXX";
static struct arena arena;

static char *under(const char *path) {
  return arena_printf(&arena, "%s%s", folder, path);
}

static void put(const char *path, const char *text) {
  char *file = under(path), *parent = arena_strdup(&arena, file);
  *strrchr(parent, '/') = '\0';
  assert_int_equal(file_make_folders(parent, NULL), ASSAY_OK);
  assert_int_equal(file_write(file, text, strlen(text), NULL), ASSAY_OK);
}

static int begin(void **state) {
  (void)state;
  if (!mkdtemp(folder))
    return 1;
  put("/base/bin/python3", "");
  put("/venv/bin/activate", "");
  put(SITE "/some.py", "");
  put("/other/lib/python3.12/site-packages/torch/__init__.py", "");
  put("/packages/dist-packages/some.py", "");
  put("/checkout/torch/__init__.py", "");
  put("/project/secret.py", "");
  put("/never/lib/python3.12/site-packages/some.py", "");
  return symlink(under("/base/bin/python3"), under("/venv/bin/python"));
}

static int end(void **state) {
  (void)state;
  char command[128];
  arena_release(&arena);
  snprintf(command, sizeof command, "rm -r %s", folder);
  return system(command);
}

static bool has(const char *const *list, const char *wanted) {
  while (*list && strcmp(*list, wanted) != 0)
    list++;
  return *list;
}

static const char *const *find(void) {
  static const char *const more[] = {"/opt/compiler", NULL};
  const char *const *found = python_paths_find(under("/venv/bin/python"), more, &arena);
  assert_non_null(found);
  return found;
}

static void test_own_files(void **state) {
  (void)state;
  const char *const *found = find();
  assert_true(has(found, under("/venv/lib")));
  assert_true(has(found, under("/venv/pyvenv.cfg")));
  assert_true(has(found, under("/base/lib")));
  assert_true(has(found, "/usr/local"));
  assert_true(has(found, "/opt/compiler"));
  assert_false(has(found, under("/venv"))); // may be a home
  assert_false(has(found, under("/other/lib")));
}

static void test_pth_files(void **state) {
  (void)state;
  put(SITE "/torch.pth", arena_printf(&arena, "# where it is\n\n%s  \r\n%s",
                                      under("/other/lib/python3.12/site-packages"), under("/checkout")));
  put(SITE "/relative.pth", "../../../../packages/dist-packages\n../../../../packages/nothing\n");
  put(SITE "/project.pth",
      arena_printf(&arena, "%s\n/\nimport sys; sys.path.append('%s')\n#%s\n", under("/project"),
                   under("/never/lib/python3.12/site-packages"), under("/never/lib/python3.12/site-packages")));
  put(SITE "/.hidden.pth", under("/never/lib/python3.12/site-packages"));
  put(SITE "/path.txt", under("/never/lib/python3.12/site-packages"));
  const char *const *found = find();
  assert_true(has(found, under("/other/lib"))); // with libraries next to the packages
  assert_true(has(found, under("/checkout")));
  assert_true(has(found, under("/packages/dist-packages")));
  assert_false(has(found, under("/packages")));
  assert_false(has(found, under("/project")));
  assert_false(has(found, "/"));
  assert_false(has(found, under("/never/lib")));
}

// More than there is room for, and lines of any length: nothing is written past the end.
static void test_many_lines(void **state) {
  (void)state;
  char *text = calloc(1, 60000);
  int n = 0;
  assert_non_null(text);
  for (int i = 0; i < 300; i++) {
    char path[64];
    snprintf(path, sizeof path, "/many/%d/site-packages/some.py", i);
    put(path, "");
    n += snprintf(text + n, 100, "%s/many/%d/site-packages\n", folder, i);
  }
  memset(text + n, 'x', 20000);
  put(SITE "/many.pth", text);
  free(text);
  const char *const *found = find();
  assert_true(has(found, under("/venv/lib")));
  assert_true(has(found, under("/many/0/site-packages")));
  assert_true(has(found, "/opt/compiler"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_own_files),
      cmocka_unit_test(test_pth_files),
      cmocka_unit_test(test_many_lines),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
