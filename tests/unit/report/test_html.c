// SPDX-License-Identifier: Apache-2.0
// link: -Wl,--wrap=base_realloc
// The writer of HTML and the names of pages: what is escaped, what is shown in place of what, nesting, addresses.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "base/alloc.h"
#include "report/html.h"
#include "support/html_read.h"

static long fail_at, calls; // the fail_at-th allocation from now on fails; 0: none

void *__real_base_realloc(void *p, size_t n);
void *__wrap_base_realloc(void *p, size_t n);
void *__wrap_base_realloc(void *p, size_t n) {
  calls++;
  return calls == fail_at ? NULL : __real_base_realloc(p, n);
}

static const struct address index_page = {.place = ADDRESS_INDEX};

static void assert_text(const char *text, const char *wanted) {
  struct buf out = {0};
  struct html w;
  html_part(&w, &out, &index_page);
  html_text(&w, text);
  assert_string_equal(buf_str(&out), wanted);
  buf_release(&out);
}

static void test_text(void **state) {
  (void)state;
  assert_text("plain", "plain");
  assert_text("", "");
  assert_text("<script>alert('1' & \"2\")</script>",
              "&lt;script&gt;alert(&#39;1&#39; &amp; &quot;2&quot;)&lt;/script&gt;");
  assert_text("\xCE\xBC s", "\xCE\xBC s");
  assert_text("a\tb\nc", "a\tb\nc");
  assert_text("a\r\nb\rc", "a\nb\xEF\xBF\xBD"
                           "c");
  assert_text("\x1b[31m", "\xEF\xBF\xBD[31m");
  assert_text("\xFFx\xC3", "\xEF\xBF\xBDx\xEF\xBF\xBD");
  assert_text("cu\xE2\x80\xAEuc", "cu[U+202E]uc");
  assert_text("\xD8\x9C", "[U+061C]");
  assert_text("\xE2\x80\xA7", "\xE2\x80\xA7"); // U+2027 turns nothing
  assert_text("is_\xE2\x80\x8Bok\xF3\xA0\x81\xA1", "is_[U+200B]ok[U+E0061]");
  assert_text("a\xE2\x80\x8Dz\xEF\xB8\x8F", "a[U+200D]z[U+FE0F]");
}

static void test_page(void **state) {
  (void)state;
  struct buf out = {0};
  struct html w;
  const struct address task = {.place = ADDRESS_TASK, .name = "kernelbench/1/19"};
  html_page(&w, &out, &task);
  html_open(&w, EL_P);
  html_attr(&w, AT_CLASS, "a \"b\"");
  html_attr_printf(&w, AT_ID, "L%d", 7);
  html_open(&w, EL_BR);
  html_printf(&w, "%d < %d", 1, 2);
  html_link(&w, &(struct address){.place = ADDRESS_READ, .fragment = "a b"}, "how");
  html_open(&w, EL_PRE);
  html_text(&w, "\nx");
  html_close(&w, EL_PRE);
  assert_false(html_is_whole(&w));
  html_close(&w, EL_P);
  assert_true(html_is_whole(&w));
  assert_string_equal(buf_str(&out), "<!doctype html>\n"
                                     "<p class=\"a &quot;b&quot;\" id=\"L7\"><br>\n"
                                     "1 &lt; 2<a href=\"../read.html#a%20b\">how</a><pre>\n\nx</pre>\n</p>\n");
  buf_release(&out);
}

static void test_long_format(void **state) {
  (void)state;
  char text[2000], wanted[5 * 2000];
  struct buf out = {0};
  struct html w;
  memset(text, '<', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  wanted[0] = '\0';
  for (size_t i = 0; i + 1 < sizeof text; i++)
    memcpy(wanted + 4 * i, "&lt;", 5);
  html_part(&w, &out, &index_page);
  html_printf(&w, "%s", text);
  assert_string_equal(buf_str(&out), wanted);
  buf_release(&out);
}

static void assert_file(const struct address *r, const char *wanted, int folders) {
  char text[ADDRESS_BYTES];
  assert_string_equal(address_file(r, text), wanted);
  assert_int_equal(address_folders(r), folders);
}

static void test_addresses(void **state) {
  (void)state;
  char a[ADDRESS_BYTES], b[ADDRESS_BYTES];
  assert_file(&index_page, "index.html", 0);
  assert_file(&(struct address){.place = ADDRESS_LEVEL, .name = "kernelbench/1"}, "s/kernelbench-1.html", 1);
  assert_file(&(struct address){.place = ADDRESS_LEVEL, .name = "kernelbench/1", .page = 3}, "s/kernelbench-1.3.html",
              1);
  assert_file(&(struct address){.place = ADDRESS_TASK, .name = "a/b", .format = ADDRESS_AS_CSV}, "data/t/a-b.csv", 2);
  assert_file(&(struct address){.place = ADDRESS_PAIR, .name = "a", .other = "b"}, "r/a..b.html", 1);
  assert_file(&(struct address){.place = ADDRESS_ASSET, .name = "x.css"}, "assets/x.css", 1);
  assert_file(&(struct address){.place = ADDRESS_METHOD, .name = "../../etc/passwd"}, "m/etc-passwd-3754d6cb3a38.html",
              1);
  assert_file(&(struct address){.place = ADDRESS_METHOD, .name = ""}, "m/e3b0c44298fc.html", 1);
  // Names that differ in what is cut away have files of their own.
  address_file(&(struct address){.place = ADDRESS_METHOD, .name = "A b"}, a);
  address_file(&(struct address){.place = ADDRESS_METHOD, .name = "a-b"}, b);
  assert_string_not_equal(a, b);
  address_file(&(struct address){.place = ADDRESS_METHOD, .name = "a/b"}, b);
  assert_string_not_equal(a, b);
}

// Every allocation fails once: what is written then is incomplete, and the buffer says so.
static void test_no_memory(void **state) {
  (void)state;
  char text[600];
  memset(text, 'x', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  for (long at = 1;; at++) {
    struct buf out = {0};
    struct html w;
    calls = 0;
    fail_at = at;
    html_page(&w, &out, &index_page);
    html_open(&w, EL_P);
    html_attr_printf(&w, AT_TITLE, "%s", text);
    html_printf(&w, "%s%s", text, text);
    html_close(&w, EL_P);
    bool failed = calls >= at;
    fail_at = 0;
    assert_int_equal(out.failed, failed);
    buf_release(&out);
    if (!failed)
      break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_text), cmocka_unit_test(test_page),
                                     cmocka_unit_test(test_long_format), cmocka_unit_test(test_addresses),
                                     cmocka_unit_test(test_no_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
