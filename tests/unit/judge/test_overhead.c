// SPDX-License-Identifier: Apache-2.0
// What the protocol costs, by calls without a kernel.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "judge/overhead.h"

// Half of the calls were disturbed: a median would take 300 ns to 50 us off the candidate's times.
static void a_disturbed_machine(void **state) {
  (void)state;
  struct overhead o = {0};
  for (int i = 0; i < 16; i++)
    overhead_add(&o, i % 2 ? 300 + i : 50000);
  double cost = overhead_of(&o, 200000);
  assert_true(cost >= 300 && cost <= 316);
}

static void never_more_than_is_sane(void **state) {
  (void)state;
  struct overhead o = {0};
  assert_true(isnan(overhead_of(&o, 1000)));
  for (int i = 0; i < OVERHEAD_MOST_CALLS + 5; i++)
    overhead_add(&o, 5e6);
  assert_int_equal(o.n, OVERHEAD_MOST_CALLS);
  assert_true(overhead_of(&o, 200000) == 200000);
}

static void before_and_after(void **state) {
  (void)state;
  assert_true(overhead_both(900, 400) == 400);
  assert_true(overhead_both(400, 100000) == 400); // what makes such calls slow gains nothing
  assert_true(overhead_both(400, NAN) == 400);
  assert_true(overhead_both(NAN, 400) == 400);
  assert_true(isnan(overhead_both(NAN, NAN)));
}

static void on_the_way_to_the_start(void **state) {
  (void)state;
  double arming[16];
  for (int i = 0; i < 16; i++)
    arming[i] = i < 6 ? 20000 : 3e6; // a busy machine
  assert_true(overhead_allowance(arming, 16, 500000) == 25000);
  assert_true(overhead_allowance(arming + 6, 10, 500000) == 625000);
  for (int i = 0; i < 16; i++)
    arming[i] = i < 3 ? 16000 : 200000; // of processor time: a few calls that nothing disturbed are enough
  assert_true(overhead_work_allowance(arming, 16, 30000) == 20000);
  assert_true(overhead_work_allowance(arming + 3, 13, 30000) == 37500);
}

static const struct overhead_limits MOST = {50000, 100000, 100000};

// Calls without a kernel on two processors, as they were seen: in us until the start line, of the first thread's time,
// and that the two threads waited for a processor.
struct seen {
  int arming, first, waited;
};
static const struct seen QUIET[24] = {
    {24, 18, 33}, {31, 25, 39}, {22, 17, 31}, {21, 16, 30}, {22, 16, 31}, {26, 22, 36}, {23, 18, 33}, {23, 17, 32},
    {21, 17, 31}, {28, 21, 36}, {21, 16, 30}, {24, 17, 35}, {22, 17, 32}, {22, 16, 31}, {22, 17, 31}, {36, 22, 37},
    {23, 16, 33}, {23, 16, 32}, {22, 15, 31}, {22, 15, 31}, {22, 15, 31}, {22, 16, 31}, {21, 15, 31}, {25, 18, 35}};
static const struct seen TWO_AT_WORK[24] = {
    {3656, 3599, 8785},   {2922, 2793, 3985},  {12878, 5221, 20593}, {2624, 1459, 7980},  {4145, 1090, 8577},
    {11686, 6012, 18372}, {20, 28, 4958},      {1310, 1077, 6697},   {7756, 3432, 23947}, {5001, 3908, 31337},
    {6269, 4600, 19980},  {781, 771, 1628},    {29, 32, 3679},       {7408, 7392, 11608}, {185, 127, 256},
    {32, 23, 43},         {27, 20, 4440},      {22, 18, 5835},       {4929, 4871, 13785}, {4184, 4171, 5723},
    {35, 23, 5189},       {7913, 3938, 15937}, {22661, 8442, 59790}, {21293, 9882, 49809}};

static struct overhead_usual usual_of(const struct seen *seen, int n, int slower) {
  struct overhead_call calls[24];
  for (int i = 0; i < n; i++)
    calls[i] = (struct overhead_call){.spent_ns = 600 * slower,
                                      .arming_ns = seen[i].arming * 1000.0 * slower,
                                      .first_ns = seen[i].first * 1000.0 * slower,
                                      .waited_ns = seen[i].waited * 1000.0,
                                      .hot = i >= 16};
  return overhead_usual_of(calls, n, &MOST, &overhead_quiet);
}

static void a_quiet_machine(void **state) {
  (void)state;
  struct overhead_usual u = usual_of(QUIET, 24, 1);
  assert_false(u.doubtful);
  assert_false(overhead_is_dear(&u));
  assert_true(u.arming_ns > 26000 && u.arming_ns < 29000);
  assert_true(u.hot_arming_ns > 26000 && u.hot_arming_ns < 29000);
  assert_true(u.first_ns > 18000 && u.first_ns < 20000);
  assert_true(u.spent_ns == 600);
  // An old one takes three times as long, and is believed.
  struct overhead_usual old = usual_of(QUIET, 24, 3);
  assert_false(old.doubtful);
  assert_true(overhead_is_dear(&old));
  assert_true(fabs(old.first_ns - 3 * u.first_ns) < 1);
}

// A candidate in the runner's place has what is allowed for nothing: its work must not fit in.
static void nobody_gains_where_others_work(void **state) {
  (void)state;
  struct overhead_usual quiet = usual_of(QUIET, 24, 1), u = usual_of(TWO_AT_WORK, 24, 1);
  assert_true(u.doubtful);
  assert_true(u.arming_ns <= quiet.arming_ns);
  assert_true(u.hot_arming_ns <= quiet.hot_arming_ns);
  assert_true(u.first_ns <= 25000);
  assert_true(overhead_most_allowed(&u) <= 30000);
  // The same where every call was disturbed, and all the more.
  struct seen worse[24];
  for (int i = 0; i < 24; i++)
    worse[i] = (struct seen){4000 + i, 3900 + i, 7000};
  u = usual_of(worse, 24, 1);
  assert_true(u.doubtful && overhead_most_allowed(&u) <= 40000 && u.first_ns == 25000 && u.spent_ns <= 5000);
}

// Disturbed calls are left out where enough of the others remain.
static void what_is_left_is_enough(void **state) {
  (void)state;
  struct seen some[24];
  for (int i = 0; i < 24; i++)
    some[i] = i % 3 ? (struct seen){4000 + i, 3900 + i, 7000} : QUIET[i];
  struct overhead_usual quiet = usual_of(QUIET, 24, 1), u = usual_of(some, 24, 1);
  assert_false(u.doubtful);
  assert_true(fabs(u.arming_ns - quiet.arming_ns) < 2000 && fabs(u.first_ns - quiet.first_ns) < 2000);
}

// Where a process has a GPU, all calls are cold ones for it, and the judge's own work there takes its time.
static void with_a_gpu(void **state) {
  (void)state;
  const struct overhead_limits most = {2e6, 100000, 100000}, quiet = {500000, 32000, 20000};
  struct overhead_call calls[16];
  for (int busy = 0; busy < 2; busy++) {
    for (int i = 0; i < 16; i++)
      calls[i] = (struct overhead_call){.spent_ns = busy ? 4e6 + i : 400000 + i * 100,
                                        .arming_ns = (busy ? TWO_AT_WORK : QUIET)[i].arming * 1000.0,
                                        .first_ns = (busy ? TWO_AT_WORK : QUIET)[i].first * 1000.0,
                                        .waited_ns = (busy ? TWO_AT_WORK : QUIET)[i].waited * 1000.0};
    const struct overhead_usual u = overhead_usual_of(calls, 16, &most, &quiet);
    assert_true(u.doubtful == (busy == 1));
    assert_true(u.hot_arming_ns == u.arming_ns);
    assert_true(u.arming_ns <= 30000); // the quarter of all calls that took least would have been allowed 125 us
    assert_true(busy ? u.spent_ns == 500000 : u.spent_ns > 400000 && u.spent_ns < 401500);
  }
}

// What most calls were charged too little. An honest kernel's were not, but for some that the machine delayed.
static void charged_too_little(void **state) {
  (void)state;
  const double impostor[] = {21000, 25000, 0, 24000, 26000}, honest[] = {0, 0, 300000, 0, -2000};
  assert_true(overhead_excess(impostor, 5) == 24000);
  assert_true(overhead_excess(honest, 5) == 0);
  assert_true(overhead_excess(honest + 4, 1) == 0);
  assert_true(overhead_excess(honest, 0) == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_disturbed_machine),    cmocka_unit_test(never_more_than_is_sane),
      cmocka_unit_test(before_and_after),       cmocka_unit_test(on_the_way_to_the_start),
      cmocka_unit_test(a_quiet_machine),        cmocka_unit_test(nobody_gains_where_others_work),
      cmocka_unit_test(what_is_left_is_enough), cmocka_unit_test(with_a_gpu),
      cmocka_unit_test(charged_too_little)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
