// SPDX-License-Identifier: Apache-2.0
// When a machine is too busy to be measured: from figures that are given, and from files as the kernel writes them.
#include <math.h>
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
#include "base/clock.h"
#include "judge/load.h"
#include "sandbox/sandbox.h"

#define S INT64_C(1000000000)

// Ten seconds on two CPUs in which others took `others`, the host `stolen` and this process `own` seconds.
static struct assay_load after_ten(double others, double stolen, double own) {
  const struct load_look before = {
      .known = true, .at_ns = S, .cpus = 2, .busy_s = 100, .stolen_s = 7, .total_s = 500, .own_s = 3};
  struct load_look after = before;
  after.at_ns += 10 * S;
  after.busy_s += others + own;
  after.stolen_s += stolen;
  after.total_s += 20;
  after.own_s += own;
  after.average = 11.04;
  return load_between(&before, &after);
}

static void who_takes_what(void **state) {
  (void)state;
  static const struct {
    double others, stolen, own;
    bool too_much, felt;
  } rows[] = {
      {0, 0, 0, false, false},  {0, 0, 20, false, false}, // all ours
      {4, 0, 15, false, false},                           // a fifth
      {6, 0, 10, false, true},  {14, 0, 5, false, true},  {16, 0, 4, true, true},
      {0, 15, 5, true, true},   {8, 8, 4, true, true},    {0, 6, 10, false, true},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct assay_load l = after_ten(rows[i].others, rows[i].stolen, rows[i].own);
    assert_true(l.known && l.cpus == 2 && fabs(l.others - rows[i].others / 10) < 1e-9 && l.average == 11.04);
    assert_int_equal(load_is_too_much(&l), rows[i].too_much);
    assert_int_equal(load_is_felt(&l), rows[i].felt);
  }
  struct assay_load l = after_ten(0, 0, -5); // counters of two kinds may disagree a little
  assert_true(l.others >= 0);
}

static void unknown(void **state) {
  (void)state;
  const struct load_look nothing = {0};
  struct load_look still = {.known = true, .at_ns = S, .cpus = 2, .total_s = 5, .average = 3.9}, later = still;
  struct assay_load l = load_between(&nothing, &still);
  assert_false(l.known || load_is_too_much(&l) || load_is_felt(&l));
  later.at_ns += S;
  l = load_between(&still, &later); // counters that stand still: the average decides
  assert_true(l.known && isnan(l.others));
  assert_false(load_is_too_much(&l));
  later.average = 4;
  l = load_between(&still, &later);
  assert_true(load_is_too_much(&l) && load_is_felt(&l));
  later.average = NAN;
  l = load_between(&still, &later);
  assert_false(load_is_too_much(&l));
  later.total_s = 7;
  later.busy_s = 2;
  later.own_s = NAN; // what is ours is not known: others are not blamed for it
  l = load_between(&still, &later);
  assert_true(isnan(l.others));
  assert_false(load_is_too_much(&l));
}

static void words(void **state) {
  (void)state;
  char text[128];
  struct assay_load l = {.known = true, .cpus = 2, .average = 11.04, .others = 1.6, .stolen = 0.01};
  assert_string_equal(load_text(&l, text, sizeof text), "load 11 on 2 CPUs");
  l.stolen = 0.9;
  assert_string_equal(load_text(&l, text, sizeof text), "load 11, 45 % of the time stolen, on 2 CPUs");
  l = (struct assay_load){.known = true, .cpus = 1, .average = NAN, .others = NAN, .stolen = NAN};
  assert_string_equal(load_text(&l, text, sizeof text), "load unknown on 1 CPU");
}

static void write_text(const char *folder, const char *name, const char *text) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

static void files(void **state) {
  (void)state;
  char *folder = NULL, path[4096], text[64];
  struct assay_error err = {0};
  struct load_look look;
  long hz = sysconf(_SC_CLK_TCK);
  assert_int_equal(sandbox_folder_make("/tmp", &folder, &err), ASSAY_OK);
  load_look(folder, &look);
  assert_false(look.known);
  // CPUs that this process may not use do not count, unless there are no others. 5000 is no CPU of any machine here.
  write_text(folder, "stat",
             "cpu  9 9 9 9 9 9 9 9\ncpu5000 100 20 30 400 50 6 7 80 9 9\ncpu5001 1 1 1 1 1 1 1 1 0 0\nintr 5 4 3\n");
  write_text(folder, "loadavg", "11.04 5.00 2.00 3/180 4711\n");
  load_look(folder, &look);
  assert_true(look.known && look.cpus == 2 && look.average == 11.04);
  assert_true(fabs(look.busy_s * (double)hz - (163 + 5)) < 1e-6 && fabs(look.stolen_s * (double)hz - 81) < 1e-6);
  assert_true(fabs(look.total_s * (double)hz - (163 + 5 + 81 + 450 + 2)) < 1e-6);
  assert_true(isnan(look.own_s)); // no list of children
  write_text(folder, "stat", "cpu  9 9 9 9\nnonsense\n");
  write_text(folder, "loadavg", "none\n");
  load_look(folder, &look);
  assert_true(!look.known && isnan(look.average));
  // Children are ours: a process of a strange name that has worked for 70 ticks.
  snprintf(path, sizeof path, "%s/self/task/1", folder);
  snprintf(text, sizeof text, "%s/self", folder);
  assert_int_equal(mkdir(text, 0700), 0);
  snprintf(text, sizeof text, "%s/self/task", folder);
  assert_int_equal(mkdir(text, 0700) | mkdir(path, 0700), 0);
  write_text(path, "children", "4194400 ");
  load_look(folder, &look);
  double without = look.own_s; // the child is gone
  snprintf(path, sizeof path, "%s/4194400", folder);
  assert_int_equal(mkdir(path, 0700), 0);
  write_text(path, "stat", "4194400 (a) (b c)) S 1 1 1 0 -1 4194560 10 0 0 0 50 20 9 9 20 0 1 0 5 6 7\n");
  load_look(folder, &look);
  assert_true(look.own_s - without >= 70.0 / (double)hz - 1e-9 && look.own_s - without < 70.0 / (double)hz + 5);
  sandbox_folder_remove(folder);
  base_free(folder);
}

// Of this machine, whatever it does: what this process takes is not taken for others'.
static void for_real(void **state) {
  (void)state;
  struct load_look before, after;
  load_look(NULL, &before);
  assert_true(before.known && before.cpus >= 1);
  int64_t start = clock_monotonic_ns();
  while (clock_monotonic_ns() - start < 300000000)
    ;
  load_look(NULL, &after);
  struct assay_load l = load_between(&before, &after);
  assert_true(l.known && (isnan(l.others) || (l.others >= 0 && l.others <= l.cpus + 0.2)));
  assert_true(isnan(after.own_s) || after.own_s > before.own_s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(who_takes_what), cmocka_unit_test(unknown),
                                     cmocka_unit_test(words), cmocka_unit_test(files), cmocka_unit_test(for_real)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
