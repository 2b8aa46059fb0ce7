// SPDX-License-Identifier: Apache-2.0
// Texts of the judging machine without its paths; sources with their words marked.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "site/highlight.h"
#include "report/publish.h"

static void assert_published(const char *text, const char *wanted) {
  struct arena arena = {0};
  assert_string_equal(publish_text(&arena, text), wanted);
  arena_release(&arena);
}

static void test_paths(void **state) {
  (void)state;
  assert_published(NULL, "");
  assert_published("no path", "no path");
  assert_published("gcc -I /home/ann/assay/include -o a.so a.c -lm", "gcc -I .../include -o a.so a.c -lm");
  assert_published("gcc -I/usr/include -L/opt/x/lib", "gcc -I.../include -L.../lib");
  assert_published("assay judge 'kernelbench/1/19' '/home/ann b/my cases/relu.c' --workload 'small'",
                   "assay judge 'kernelbench/1/19' '.../relu.c' --workload 'small'");
  assert_published("/tmp/w/x.c:12: error: in </usr/lib/y.h>, (/a/b)", ".../x.c:12: error: in <.../y.h>, (.../b)");
  assert_published("~/secret/k.cu", ".../k.cu");
  assert_published("~/b ~/c", ".../b .../c");
  assert_published("file:///home/ann/x", "file:.../x");
  // No paths of a machine.
  assert_published("wrong/wrong, 3 / 4, kernelbench/1/19, floor/time, a//b, / and /tmp",
                   "wrong/wrong, 3 / 4, "
                   "kernelbench/1/19, floor/time, "
                   "a//b, / and /tmp");
  assert_published("src/report/html.c", "src/report/html.c");
  assert_published("'/home/ann", "'.../ann"); // a quote that does not end
}

static void test_candidates(void **state) {
  (void)state;
  assert_string_equal(publish_candidate("/home/ann/relu.c"), "relu.c");
  assert_string_equal(publish_candidate("relu.c"), "relu.c");
  assert_string_equal(publish_candidate("/home/ann/relu.c -DPATH=/x"), "relu.c -DPATH=/x");
}

// Tokens as "kind:text", a '|' after each.
static void assert_tokens(enum highlight_language language, const char *text, const char *wanted) {
  struct buf out = {0};
  struct highlight h;
  struct highlight_token t;
  highlight_begin(&h, language, text, strlen(text));
  while (highlight_next(&h, &t))
    buf_printf(&out, "%c:%.*s|", "-ktsncd"[t.kind], (int)t.len, t.text);
  assert_string_equal(buf_str(&out), wanted);
  buf_release(&out);
}

static void test_highlight(void **state) {
  (void)state;
  assert_tokens(HIGHLIGHT_C, "int x = 0x1p-3f;", "t:int|-: |-:x|-: = |n:0x1p-3f|-:;|");
  assert_tokens(HIGHLIGHT_C, "#define A \\\n 1 // b\nreturn", "d:#define A \\\n 1 |c:// b|-:\n|k:return|");
  assert_tokens(HIGHLIGHT_C, "\"a\\\"b\" '\\'' \"open\n1'000", "s:\"a\\\"b\"|-: |s:'\\''|-: |s:\"open|-:\n|n:1'000|");
  assert_tokens(HIGHLIGHT_CUDA, "R\"d(\")\" )d\" k<<<1>>>", "s:R\"d(\")\" )d\"|-: |-:k|k:<<<|n:1|k:>>>|");
  assert_tokens(HIGHLIGHT_CUDA, "// assay: launch k\n/* open", "d:// assay: launch k|-:\n|c:/* open|");
  assert_tokens(HIGHLIGHT_PYTHON, "@jit\ndef f(): '''a\n''' # b",
                "d:@jit|-:\n|k:def|-: |-:f|-:(): |s:'''a\n'''|-: |c:# b|");
  assert_tokens(HIGHLIGHT_PYTHON, "a @ rb'\\''", "-:a|-: |-:@ |s:rb'\\''|");
  assert_tokens(HIGHLIGHT_PLAIN, "int \"x", "-:int \"x|");
  assert_int_equal(highlight_language_of("a.cu"), HIGHLIGHT_CUDA);
  assert_int_equal(highlight_language_of("a.c"), HIGHLIGHT_C);
  assert_int_equal(highlight_language_of(".c"), HIGHLIGHT_PLAIN);
  assert_int_equal(highlight_language_of("a.library"), HIGHLIGHT_PLAIN);
}

// The tables of words are sorted: each is found in them.
static void test_words(void **state) {
  (void)state;
  static const char *const keywords[] = {"__asm__", "__global__",     "__kernel", "asm",   "const",
                                         "while",   "_Static_assert", "restrict", "kernel"};
  static const char *const types[] = {"__global", "__private", "bool", "double2", "int8_t", "void", "uint4", "half2"};
  static const char *const python[] = {"False", "and", "yield", "lambda", "not", "finally"};
  struct highlight h;
  struct highlight_token t;
  for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
    highlight_begin(&h, HIGHLIGHT_C, keywords[i], strlen(keywords[i]));
    assert_true(highlight_next(&h, &t) && t.kind == HIGHLIGHT_KEYWORD);
  }
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    highlight_begin(&h, HIGHLIGHT_C, types[i], strlen(types[i]));
    assert_true(highlight_next(&h, &t) && t.kind == HIGHLIGHT_TYPE);
  }
  for (size_t i = 0; i < sizeof python / sizeof *python; i++) {
    highlight_begin(&h, HIGHLIGHT_PYTHON, python[i], strlen(python[i]));
    assert_true(highlight_next(&h, &t) && t.kind == HIGHLIGHT_KEYWORD);
  }
}

static void test_lines(void **state) {
  (void)state;
  struct buf out = {0};
  struct html w;
  html_part(&w, &out, &(struct address){.place = ADDRESS_INDEX});
  highlight_write(&w, HIGHLIGHT_C, "/* a\nb */ 1\n", 12);
  assert_string_equal(
      buf_str(&out),
      "<pre class=\"source\" tabindex=\"0\">\n<code><span id=\"L1\"><span class=\"co\">/* a</span>\n</span>"
      "<span id=\"L2\"><span class=\"co\">b */</span> <span class=\"nu\">1</span>\n"
      "</span></code></pre>\n");
  buf_release(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_paths), cmocka_unit_test(test_candidates),
                                     cmocka_unit_test(test_highlight), cmocka_unit_test(test_words),
                                     cmocka_unit_test(test_lines)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
