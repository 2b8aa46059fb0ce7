// SPDX-License-Identifier: Apache-2.0
// Samples as text: by hand, and at the edges.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cli/histogram.h"

static void expect(const double *x, int n, double less, const char *text) {
  struct buf out = {0};
  cli_histogram(x, n, less, &out);
  assert_string_equal(buf_str(&out), text);
  buf_release(&out);
}

static int counted(const struct buf *b) {
  int sum = 0;
  for (const char *line = strchr(buf_str(b), '\n'); line && line[1]; line = strchr(line + 1, '\n')) {
    int count = 0;
    const char *end = strchr(line + 1, '\n');
    while (end > line && end[-1] != ' ' && end[-1] != '|')
      end--;
    sscanf(end, "%d", &count);
    sum += count;
  }
  return sum;
}

static void by_hand(void **state) {
  (void)state;
  expect(NULL, 0, 0, "no samples: the candidate has no time\n");
  expect((const double[]){NAN, INFINITY}, 2, 0, "no samples: the candidate has no time\n");
  expect((const double[]){6000, 6000, 6000}, 3, 1000,
         "3 samples, us from\n        5.00 |################################################ 3\n");
  double x[13];
  for (int i = 0; i < 13; i++) // one a bin, and the last with the one before
    x[i] = 1000 + 100 * i;
  struct buf out = {0};
  cli_histogram(x, 13, 0, &out);
  assert_non_null(strstr(buf_str(&out), "1.00 |######################## 1\n"));
  assert_non_null(strstr(buf_str(&out), "2.10 |################################################ 2\n"));
  assert_int_equal(counted(&out), 13);
  buf_release(&out);
}

// Every sample is in one line, also where one is far away, and no line is longer than a terminal.
static void all_are_there(void **state) {
  (void)state;
  double x[200];
  for (int i = 0; i < 200; i++)
    x[i] = 1e6 + 100 * (i % 17);
  x[7] = 1e9;
  struct buf out = {0};
  cli_histogram(x, 200, 0, &out);
  assert_int_equal(counted(&out), 200);
  assert_non_null(strstr(buf_str(&out), "and more |"));
  for (const char *p = buf_str(&out); *p; p += strcspn(p, "\n") + 1)
    assert_true(strcspn(p, "\n") < 80);
  buf_release(&out);
}

// Calls that were held up, one in ten, leave the shape of the others to be seen.
static void tail(void **state) {
  (void)state;
  double x[100];
  for (int i = 0; i < 100; i++)
    x[i] = i < 90 ? 12000 + 50 * (i % 45) : 50000 + 20000 * (i - 90);
  struct buf out = {0};
  cli_histogram(x, 100, 0, &out);
  assert_int_equal(counted(&out), 100);
  assert_non_null(strstr(buf_str(&out), "and more |################################################ 10\n"));
  int lines = 0;
  for (const char *p = buf_str(&out); (p = strstr(p, " |#")); p++)
    lines++;
  assert_true(lines > 10); // of twelve bins
  buf_release(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(by_hand), cmocka_unit_test(all_are_there),
                                     cmocka_unit_test(tail)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
