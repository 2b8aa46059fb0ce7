// SPDX-License-Identifier: Apache-2.0
// Tables on narrow terminals: what leaves a row, what is cut, cells of wide characters, colours.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/progress.h"
#include "cli/table.h"

static char *rendered(const struct table *t, int room, bool color) {
  char *text = NULL;
  size_t n = 0;
  FILE *to = open_memstream(&text, &n);
  assert_non_null(to);
  table_render(t, room, color, to);
  fclose(to);
  return text;
}

static void check(const struct table *t, int room, bool color, const char *want) {
  char *text = rendered(t, room, color);
  assert_string_equal(text, want);
  free(text);
}

static struct table *sample(void) {
  static const char *const headers[] = {"task", "verdict", "tolerance", "what"};
  static const char *const pass[] = {"a/1", "pass", "pass/pass", ""};
  static const char *const wrong[] = {"a/2", "wrong_value", "-", "output 0 is far from\nwhat it should be"};
  static const char *const usual[] = {"a/3", "pass", "usual", ""};
  struct table *t = table_create(headers, 4, "llll");
  table_fold(t, 3, "", "");
  table_fold(t, 2, "allclose", "usual");
  table_row(t, pass);
  table_style(t, 1, TABLE_GOOD);
  table_row(t, wrong);
  table_style(t, 1, TABLE_BAD);
  table_note(t, "y[3] is 1, not 2\n");
  table_row(t, usual);
  return t;
}

static void test_wide(void **state) {
  (void)state;
  struct table *t = sample();
  check(t, 0, false,
        "task  verdict      tolerance  what\n"
        "a/1   pass         pass/pass\n"
        "a/2   wrong_value  -          output 0 is far from what it should be\n"
        "a/3   pass         usual\n");
  check(t, 72, true,
        "task  verdict      tolerance  what\n"
        "a/1   \033[32mpass\033[0m         pass/pass\n"
        "a/2   \033[31mwrong_value\033[0m  -          output 0 is far from what it should be\n"
        "a/3   pass         usual\n");
  table_destroy(t);
}

// A table that names nothing to fold: from the last column on, each after its header.
static void test_unnamed(void **state) {
  (void)state;
  static const char *const headers[] = {"what", "state", "found", "how to fix it"};
  static const char *const row[] = {"gcc", "ok", "/usr/bin/gcc", ""};
  static const char *const other[] = {"peaks", "limited", "not measured, so there is no floor",
                                      "assay doctor --calibrate"};
  struct table *t = table_create(headers, 4, "llll");
  table_row(t, row);
  table_row(t, other);
  check(t, 60, false,
        "what   state    found\n"
        "gcc    ok       /usr/bin/gcc\n"
        "peaks  limited  not measured, so there is no floor\n"
        "    how to fix it: assay doctor --calibrate\n");
  check(t, 30, false,
        "what   state\n"
        "gcc    ok\n"
        "    found: /usr/bin/gcc\n"
        "peaks  limited\n"
        "    found: not measured, so\n"
        "           there is no floor\n"
        "    how to fix it: assay\n"
        "                   doctor\n"
        "                   --calibrate\n");
  table_destroy(t);
}

// Numbers that leave the table share a line; a name that was cut stands whole below its row.
static void test_numbers_and_cut_names(void **state) {
  (void)state;
  static const char *const headers[] = {"maker", "file", "runs", "hours", "configs"};
  static const char *const row[] = {"tune", "softmax_three_sweeps.c", "3", "0.25", "13"};
  static const char *const other[] = {"helion", "relu.c", "42", "-", "2617.5"};
  struct table *t = table_create(headers, 5, "llrrr");
  table_fold(t, 3, "hours", "");
  table_fold(t, 4, "configs", "");
  table_row(t, row);
  table_row(t, other);
  check(t, 38, false,
        "maker   file                    runs\n"
        "tune    softmax_three_sweeps.c     3\n"
        "    hours: 0.25; configs: 13\n"
        "helion  relu.c                    42\n"
        "    configs: 2617.5\n");
  check(t, 32, false,
        "maker   file                runs\n"
        "tune    softmax_three_swee     3\n"
        "    file: softmax_three_sweeps.c\n"
        "    hours: 0.25; configs: 13\n"
        "helion  relu.c                42\n"
        "    configs: 2617.5\n");
  table_destroy(t);
}

static void test_folded(void **state) {
  (void)state;
  struct table *t = sample();
  check(t, 40, false,
        "task  verdict      tolerance\n"
        "a/1   pass         pass/pass\n"
        "a/2   wrong_value  -\n"
        "    output 0 is far from\n"
        "    what it should be\n"
        "    y[3] is 1, not 2\n"
        "a/3   pass         usual\n");
  check(t, 22, false,
        "task  verdict\n"
        "a/1   pass\n"
        "    allclose: pass/pas\n"
        "              s\n"
        "a/2   wrong_value\n"
        "    output 0 is far\n"
        "    from\n"
        "    what it should be\n"
        "    y[3] is 1, not 2\n"
        "a/3   pass\n");
  table_destroy(t);
}

// No line is wider than the terminal, and columns stand below each other, whatever characters names have.
static void test_cells(void **state) {
  (void)state;
  static const char *const headers[] = {"name", "n", "rest"};
  static const char *const wide[] = {"\xe6\xa0\xb8\xe5\xbf\x83.cu", "1", "x"};
  static const char *const combining[] = {"e\xcc\x81t\xc3\xa9.cu", "2", "y"};
  static const char *const hostile[] = {"a\033[31mb\nc\x7f", "3", "\xff\x9b"};
  struct table *t = table_create(headers, 3, "lrl");
  table_row(t, wide);
  table_row(t, combining);
  table_row(t, hostile);
  check(t, 0, false,
        "name        n  rest\n"
        "\xe6\xa0\xb8\xe5\xbf\x83.cu     1  x\n"
        "e\xcc\x81t\xc3\xa9.cu      2  y\n"
        "a?[31mb c?  3  ??\n");
  table_destroy(t);
  assert_int_equal(cells_width("\xe6\xa0\xb8"
                               "e\xcc\x81"),
                   3);
  assert_int_equal(cells_fit("\xe6\xa0\xb8\xe5\xbf\x83", 3, NULL), 3);
  const char *next;
  assert_int_equal(cells_line("one two three", 8, &next), 7);
  assert_string_equal(next, "three");
  assert_int_equal(cells_line("\xe6\xa0\xb8\xe5\xbf\x83", 1, &next), 3); // goes on, however narrow
  assert_string_equal(next, "\xe5\xbf\x83");
}

static void test_time_left(void **state) {
  (void)state;
  char text[48];
  assert_string_equal(cli_time_left(500000000, 0, 3, 9, text), "");
  assert_string_equal(cli_time_left(5000000000, 3, 3, 9, text), ""); // all of it by an earlier run
  assert_string_equal(cli_time_left(5000000000, 3, 4, 9, text), "about 25 s left");
  assert_string_equal(cli_time_left(60000000000, 0, 10, 40, text), "about 3 min left");
  assert_string_equal(cli_time_left(3600000000000, 0, 10, 40, text), "about 3.0 h left");
  assert_string_equal(cli_time_left(60000000000, 0, 9, 9, text), "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_wide),   cmocka_unit_test(test_unnamed), cmocka_unit_test(test_numbers_and_cut_names),
      cmocka_unit_test(test_folded), cmocka_unit_test(test_cells),   cmocka_unit_test(test_time_left)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
