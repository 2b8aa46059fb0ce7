// SPDX-License-Identifier: Apache-2.0
// link: -Wl,--wrap=base_realloc
// The pages of a site: which are found, and that nothing outside of the folder is.
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
#include "serve/site.h"

static char folder[64];

static void put(const char *name, const char *text) {
  char path[256];
  struct assay_error err = {0};
  snprintf(path, sizeof path, "%s/%s", folder, name);
  assert_int_equal(file_write(path, text, strlen(text), &err), ASSAY_OK);
}

static void make(const char *name) {
  char path[256];
  struct assay_error err = {0};
  snprintf(path, sizeof path, "%s/%s", folder, name);
  assert_int_equal(file_make_folders(path, &err), ASSAY_OK);
}

static int make_site(void **state) {
  (void)state;
  char path[256];
  snprintf(folder, sizeof folder, "/tmp/test_site.XXXXXX");
  if (!mkdtemp(folder))
    return -1;
  make("t/deep");
  put("index.html", "first");
  put("t/a-1.html", "a");
  put("t/deep/x.css", "x");
  put("t/index.html", "t");
  put(".secret.html", "s");
  put("t/tool.exe", "s");
  snprintf(path, sizeof path, "%s/link.html", folder);
  return symlink("/etc/passwd", path);
}

static int drop_site(void **state) {
  (void)state;
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command);
}

static void test_found(void **state) {
  (void)state;
  static const char *const there[][3] = {{"/", "first", "text/html; charset=utf-8"},
                                         {"/index.html?q=..", "first", "text/html; charset=utf-8"},
                                         {"/t/a-1.html", "a", "text/html; charset=utf-8"},
                                         {"/t/", "t", "text/html; charset=utf-8"},
                                         {"/t/deep/x.css", "x", "text/css; charset=utf-8"}};
  static const char *const not_there[] = {"",
                                          "?",
                                          "index.html",
                                          "/t",
                                          "//",
                                          "/./",
                                          "/../index.html",
                                          "/t/../index.html",
                                          "/link.html",
                                          "/.secret.html",
                                          "/t/tool.exe",
                                          "/t/deep/",
                                          "/t//a-1.html"};
  struct site *s = NULL;
  struct assay_error err = {0};
  assert_int_equal(site_open(folder, &s, &err), ASSAY_OK);
  for (size_t i = 0; i < sizeof there / sizeof *there; i++) {
    char *data = NULL;
    size_t n = 0;
    assert_string_equal(site_type(s, there[i][0], 0), there[i][2]);
    assert_int_equal(site_read(s, there[i][0], &data, &n, &err), ASSAY_OK);
    assert_string_equal(data, there[i][1]);
    base_free(data);
  }
  for (size_t i = 0; i < sizeof not_there / sizeof *not_there; i++) {
    char *data = NULL;
    size_t n = 0;
    assert_null(site_type(s, not_there[i], 0));
    assert_int_equal(site_read(s, not_there[i], &data, &n, &err), ASSAY_ERR_NOT_FOUND);
  }
  site_close(s);
}

static void test_changed(void **state) {
  (void)state;
  const int64_t second = 1000000000;
  struct site *s = NULL;
  struct assay_error err = {0};
  assert_int_equal(site_open(folder, &s, &err), ASSAY_OK);
  assert_null(site_type(s, "/new.html", 10 * second)); // listed again now
  put("new.html", "new");
  assert_null(site_type(s, "/new.html", 10 * second + second / 2));
  assert_non_null(site_type(s, "/new.html", 12 * second));
  site_close(s);
  assert_int_equal(site_open("/nowhere", &s, &err), ASSAY_ERR_NOT_FOUND);
  assert_non_null(strstr(err.message, "assay report"));
}

static enum assay_status open_it(void *arg, struct assay_error *err) {
  struct site *s = NULL;
  (void)arg;
  enum assay_status status = site_open(folder, &s, err);
  if (!status)
    site_close(s);
  return status;
}

static void test_no_memory(void **state) {
  (void)state;
  fail_each(open_it, NULL, 5);
}

int main(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_found, make_site, drop_site),
                                            cmocka_unit_test_setup_teardown(test_changed, make_site, drop_site),
                                            cmocka_unit_test_setup_teardown(test_no_memory, make_site, drop_site)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
