// SPDX-License-Identifier: Apache-2.0
// Text from candidates, made harmless.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"

static void check(const char *in, const char *want) {
  char text[256];
  snprintf(text, sizeof text, "%s", in);
  printable(text);
  assert_string_equal(text, want);
  json_t *j = json_string(text); // NULL for what is not UTF-8
  assert_non_null(j);
  json_decref(j);
}

static void ordinary_text_stays(void **state) {
  (void)state;
  check("", "");
  check("error: a\tb\n", "error: a\tb\n");
  check("\u00fc \u00a0 \u20ac \U0001f600 \U0010ffff", "\u00fc \u00a0 \u20ac \U0001f600 \U0010ffff");
}

static void controls_go(void **state) {
  (void)state;
  check("\033[2J\a\b\r\x7f", "?[2J????");
  check("\xc2\x9b"
        "5m",
        "??5m");
}

static void bytes_that_are_no_utf8_go(void **state) {
  (void)state;
  check("\x9b"
        "5m",
        "?5m");
  check("\xff\xfe", "??");
  check("\xc3", "?");                // cut short
  check("\xe2\x82", "??");           // cut short
  check("\xc0\x80", "??");           // an overlong zero
  check("\xe0\x9f\xbf", "???");      // overlong
  check("\xed\xa0\x80", "???");      // a surrogate
  check("\xf4\x90\x80\x80", "????"); // beyond Unicode
  check("\xc3(", "?(");
}

// Two names that look the same, and text that only a program reads.
static void what_shows_nothing_goes(void **state) {
  (void)state;
  check("a\u200bb", "a???b");
  check("\u2060\ufeff", "??????");
  check("\u3164.c", "???.c");
  check("\u00ad", "??");
  check("x\U000e0061\U000e007f", "x????????");
  check("\u2010\u2070\u3165\ufffd", "\u2010\u2070\u3165\ufffd"); // their neighbours stay
  check("a\u200db\u200c", "a???b???");
  check("1\ufe0f\U000e0100", "1???????");
}

// Unicode 16, DerivedCoreProperties.txt: all of Default_Ignorable_Code_Point, and how many those are.
static const uint32_t ignorable[][2] = {{0xad, 0xad},       {0x34f, 0x34f},     {0x61c, 0x61c},     {0x115f, 0x1160},
                                        {0x17b4, 0x17b5},   {0x180b, 0x180d},   {0x180e, 0x180e},   {0x180f, 0x180f},
                                        {0x200b, 0x200f},   {0x202a, 0x202e},   {0x2060, 0x2064},   {0x2065, 0x2065},
                                        {0x2066, 0x206f},   {0x3164, 0x3164},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},
                                        {0xffa0, 0xffa0},   {0xfff0, 0xfff8},   {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
                                        {0xe0000, 0xe0000}, {0xe0001, 0xe0001}, {0xe0002, 0xe001f}, {0xe0020, 0xe007f},
                                        {0xe0080, 0xe00ff}, {0xe0100, 0xe01ef}, {0xe01f0, 0xe0fff}};
enum { IGNORABLE = 4174 };

static bool is_ignorable(uint32_t c) {
  for (size_t i = 0; i < sizeof ignorable / sizeof *ignorable; i++)
    if (c >= ignorable[i][0] && c <= ignorable[i][1])
      return true;
  return false;
}

// And no other character goes, but those that a program may obey.
static void all_that_fonts_may_ignore_goes(void **state) {
  (void)state;
  int found = 0;
  for (uint32_t c = 0x80; c <= 0x10ffff; c++) {
    const bool obeyed = c < 0xa0 || c == 0x2028 || c == 0x2029 || (c >= 0xfff9 && c <= 0xfffb);
    found += is_ignorable(c);
    if (printable_misleads(c) != (obeyed || is_ignorable(c)))
      fail_msg("U+%04X", c);
  }
  assert_int_equal(found, IGNORABLE);
}

static void what_turns_text_around_goes(void **state) {
  (void)state;
  check("a\xe2\x80\xaez", "a???z"); // U+202E: shown from right to left from here on
  check("\xe2\x80\xa8\xe2\x81\xa9", "??????");
  check("\u061c", "??");                   // the mark of direction that is not among the others
  check("\u2013 \u2026", "\u2013 \u2026"); // a dash and an ellipsis stay
  char line[8];
  assert_string_equal(printable_line("a\tb\nc\033", line, sizeof line), "a b c?");
  assert_string_equal(printable_line("12345678", line, sizeof line), "1234567");
}

// Every text of up to three bytes gives valid JSON.
static void exhaustive(void **state) {
  (void)state;
  for (uint32_t i = 0; i < 1u << 24; i += i < 1u << 16 ? 1 : 257) {
    char text[4] = {(char)(i & 0xff), (char)(i >> 8 & 0xff), (char)(i >> 16), 0};
    printable(text);
    json_t *j = json_string(text);
    assert_non_null(j);
    json_decref(j);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ordinary_text_stays),
      cmocka_unit_test(controls_go),
      cmocka_unit_test(bytes_that_are_no_utf8_go),
      cmocka_unit_test(what_turns_text_around_goes),
      cmocka_unit_test(what_shows_nothing_goes),
      cmocka_unit_test(all_that_fonts_may_ignore_goes),
      cmocka_unit_test(exhaustive),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
