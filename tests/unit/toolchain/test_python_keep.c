// SPDX-License-Identifier: Apache-2.0
// Extensions that are kept from one build to the next: what is taken from a folder that a candidate could write to, and
// what of the cache is believed.
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

#include "base/alloc.h"
#include "base/file.h"
#include "compute/code_cache.h"
#include "sandbox/sandbox.h"
#include "toolchain/python_keep.h"

#define HASH "0123456789abcdef0123456789abcdef"
#define OTHER "fedcba9876543210fedcba9876543210"

struct fixture {
  char *home;
  char cache[256], build[256], again[256];
};

static void in(const struct fixture *f, const char *path, char out[512]) {
  snprintf(out, 512, "%s/%s", f->home, path);
}

static void put(const struct fixture *f, const char *path, const char *text) {
  char full[512], folder[512];
  struct assay_error err = {0};
  in(f, path, full);
  strcpy(folder, full);
  *strrchr(folder, '/') = '\0';
  assert_int_equal(file_make_folders(folder, &err), ASSAY_OK);
  assert_int_equal(file_write(full, text, strlen(text), &err), ASSAY_OK);
}

static bool has(const struct fixture *f, const char *path, const char *text) {
  char full[512], *found = NULL;
  size_t n = 0;
  in(f, path, full);
  bool same = file_read(full, 1 << 20, &found, &n, NULL) == ASSAY_OK && strcmp(found, text) == 0;
  base_free(found);
  return same;
}

static int set_up(void **state) {
  struct fixture *f = calloc(1, sizeof *f);
  struct assay_error err = {0};
  assert_int_equal(sandbox_folder_make("/tmp", &f->home, &err), ASSAY_OK);
  snprintf(f->cache, sizeof f->cache, "%s/cache", f->home);
  snprintf(f->build, sizeof f->build, "%s/build", f->home);
  snprintf(f->again, sizeof f->again, "%s/again", f->home);
  put(f, "build/extensions/made_with", "g++\n");
  put(f, "build/extensions/" HASH "/clamp.so", "one");
  put(f, "build/extensions/" HASH "/main.o", "not needed");
  put(f, "build/extensions/" OTHER "/clamp.so", "two");
  put(f, "secret", "nobody's business");
  *state = f;
  return 0;
}

static int tear_down(void **state) {
  struct fixture *f = *state;
  sandbox_folder_remove(f->home);
  base_free(f->home);
  free(f);
  return 0;
}

static void libraries_come_back(void **state) {
  const struct fixture *f = *state;
  python_keep_store(f->cache, "key", f->build);
  assert_false(python_keep_restore(f->cache, "other", f->again));
  assert_true(python_keep_restore(f->cache, "key", f->again));
  assert_true(has(f, "again/extensions/made_with", "g++\n"));
  assert_true(has(f, "again/extensions/" HASH "/clamp.so", "one"));
  assert_true(has(f, "again/extensions/" OTHER "/clamp.so", "two"));
  assert_false(has(f, "again/extensions/" HASH "/main.o", "not needed"));
}

// worker.py leaves no such line where files were compiled.
static void nothing_without_the_line(void **state) {
  const struct fixture *f = *state;
  char path[512];
  in(f, "build/extensions/made_with", path);
  unlink(path);
  python_keep_store(f->cache, "key", f->build);
  assert_false(python_keep_restore(f->cache, "key", f->again));
  python_keep_store(NULL, "key", f->build);
  assert_false(python_keep_restore(NULL, "key", f->again));
}

// The judge may read more than the candidate.
static void links_are_not_followed(void **state) {
  const struct fixture *f = *state;
  char from[512], to[512];
  in(f, "secret", from);
  in(f, "build/extensions/" HASH "/secret.so", to);
  assert_int_equal(symlink(from, to), 0);
  python_keep_store(f->cache, "key", f->build);
  assert_false(python_keep_restore(f->cache, "key", f->again));
  unlink(to);
  assert_int_equal(link(from, to), 0);
  python_keep_store(f->cache, "key", f->build);
  assert_false(python_keep_restore(f->cache, "key", f->again));
  unlink(to);
  assert_int_equal(mkfifo(to, 0600), 0); // nobody writes
  python_keep_store(f->cache, "key", f->build);
  assert_false(python_keep_restore(f->cache, "key", f->again));
}

// What a candidate says of a failure is read from its folder: it may be a link to a file of the judge's.
static void own_files_are_no_links(void **state) {
  struct fixture *f = *state;
  char file[512], link_[512], twin[512];
  put(f, "secret", "a key");
  put(f, "build/failed", "an error");
  in(f, "secret", file);
  in(f, "build/link", link_);
  in(f, "build/twin", twin);
  assert_int_equal(symlink(file, link_), 0);
  assert_int_equal(link(file, twin), 0);
  assert_false(python_is_file_of(link_, 1, 4096));
  assert_false(python_is_file_of(twin, 1, 4096));
  assert_false(python_is_file_of(f->build, 0, 1 << 20));
  in(f, "build/none", file);
  assert_false(python_is_file_of(file, 0, 4096));
  in(f, "build/failed", file);
  assert_true(python_is_file_of(file, 1, 8));
  assert_false(python_is_file_of(file, 1, 7));
  assert_false(python_is_file_of(file, 9, 4096));
}

static void odd_entries_are_not_believed(void **state) {
  const struct fixture *f = *state;
  static const char *const odd[] = {
      "made_with 4\ng++",
      "made_with\ng++\n",
      "made_with 99999999999999999999\n",
      "made_with -1\n",
      "../x 1\na",
      HASH "/../x.so 1\na",
      HASH "/x.txt 1\na",
      "0123/x.so 1\na",
      HASH "/.so 1\na",
      "/etc/x.so 1\na",
      "\n",
      " 1\na",
      "x",
  };
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
    assert_int_equal(code_cache_write(f->cache, "key", odd[i], strlen(odd[i]), NULL), ASSAY_OK);
    if (python_keep_restore(f->cache, "key", f->again))
      fail_msg("%s", odd[i]);
  }
  assert_false(has(f, "x", "a") || has(f, "again/x", "a") || has(f, "again/extensions/x.so", "a"));
}

static void what_names_an_entry(void **state) {
  const struct fixture *f = *state;
  char script[512], keys[8][HASH_HEX_BYTES];
  struct assay_error err = {0};
  in(f, "worker.py", script);
  put(f, "worker.py", "pass\n");
  const char *const none[] = {NULL}, *const one[] = {"A", NULL}, *const cxx[] = {"CXX=clang++", NULL};
  const struct python_place p = {.interpreter = "/usr/bin/python3", .script = script, .path_env = "/usr/bin"};
  struct python_place other = p, set = p;
  other.interpreter = "/opt/python3";
  set.environment = cxx;
  const struct {
    const struct python_place *place;
    const char *const *defines;
    const char *source, *gpu;
  } cases[] = {{&p, none, "x = 1\n", NULL},     {&p, none, "x = 2\n", NULL},   {&p, one, "x = 1\n", NULL},
               {&other, none, "x = 1\n", NULL}, {&set, none, "x = 1\n", NULL}, {&p, none, "x = 1\n", "sm_90a"},
               {&p, none, "x = 1\n", "sm_100a"}};
  enum { CASES = sizeof cases / sizeof *cases };
  for (int i = 0; i < CASES; i++) {
    const struct python_kept what = {cases[i].source, 6, cases[i].defines, cases[i].gpu};
    assert_int_equal(python_keep_key(cases[i].place, &what, keys[i], &err), ASSAY_OK);
  }
  const struct python_kept first = {"x = 1\n", 6, none, NULL};
  put(f, "worker.py", "pass \n");
  assert_int_equal(python_keep_key(&p, &first, keys[CASES], &err), ASSAY_OK);
  for (int i = 0; i <= CASES; i++)
    for (int k = 0; k < i; k++)
      assert_string_not_equal(keys[i], keys[k]);
  put(f, "worker.py", "pass\n");
  assert_int_equal(python_keep_key(&p, &first, keys[CASES], &err), ASSAY_OK);
  assert_string_equal(keys[CASES], keys[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(libraries_come_back, set_up, tear_down),
      cmocka_unit_test_setup_teardown(nothing_without_the_line, set_up, tear_down),
      cmocka_unit_test_setup_teardown(links_are_not_followed, set_up, tear_down),
      cmocka_unit_test_setup_teardown(own_files_are_no_links, set_up, tear_down),
      cmocka_unit_test_setup_teardown(odd_entries_are_not_believed, set_up, tear_down),
      cmocka_unit_test_setup_teardown(what_names_an_entry, set_up, tear_down),
  };
  return cmocka_run_group_tests_name("kept extensions", tests, NULL, NULL);
}
