// SPDX-License-Identifier: Apache-2.0
// What the methods ask next, as a function of the steps before.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "method/method.h"

enum { MOST = 200 };
static struct made_step steps[MOST];
static int64_t n_steps;

static void begin(void) {
  n_steps = 0;
}

// A step of a lane: its outcome, and with a verdict its time: 0 for a wrong kernel.
static void add(int64_t lane, enum store_outcome outcome, double time_ns) {
  steps[n_steps] = (struct made_step){.number = n_steps,
                                      .lane = lane,
                                      .parent = -1,
                                      .same_as = outcome == STORE_DUPLICATE ? 0 : -1,
                                      .outcome = outcome,
                                      .reason = time_ns > 0 ? ASSAY_REASON_PASS : ASSAY_REASON_WRONG_VALUE,
                                      .right = time_ns > 0,
                                      .time_ns = time_ns > 0 ? time_ns : NAN,
                                      .floor_ns = NAN};
  n_steps++;
}

static int next(const struct method *m, int samples, int turns, struct method_plan *plans) {
  static struct method_settings settings;
  settings =
      (struct method_settings){.method = m, .samples = samples, .turns = turns, .n_models = 2, .temperature = 0.5};
  const struct method_view v = {.settings = &settings, .steps = steps, .n = n_steps};
  return m->next(&v, plans, METHOD_MOST_ROUND);
}

static void sample_asks_so_often(void **state) {
  (void)state;
  struct method_plan plans[METHOD_MOST_ROUND];
  begin();
  assert_int_equal(next(&method_sample, 100, 1, plans), METHOD_MOST_ROUND);
  for (int i = 0; i < METHOD_MOST_ROUND; i++) {
    assert_string_equal(plans[i].kind, "first");
    assert_int_equal(plans[i].model, i % 2);
    assert_true(plans[i].temperature == 0.5);
    add(i, STORE_NO_CODE, 0);
  }
  assert_int_equal(next(&method_sample, 100, 1, plans), 36);
  assert_int_equal(plans[0].lane, 64);
  for (int i = 0; i < 36; i++)
    add(64 + i, STORE_JUDGED, 1);
  assert_int_equal(next(&method_sample, 100, 1, plans), 0);
}

// A step whose endpoint failed: of the model, as stored.
static void add_unserved(int model) {
  add(STEP_NO_LANE, STORE_NO_REPLY, 0);
  steps[n_steps - 1].unserved = true;
  steps[n_steps - 1].model = model;
}

// What an endpoint did not serve is no attempt: it is asked again, and counts in nothing.
static void what_was_not_served_is_asked_again(void **state) {
  (void)state;
  struct method_plan plans[METHOD_MOST_ROUND];
  char why[64];
  static const struct method_stop patient = {.patience = 3};
  begin();
  add(0, STORE_NO_CODE, 0); // sample: attempts 1 and 3 of four are missing
  add_unserved(1);
  add(2, STORE_NO_CODE, 0);
  add_unserved(1);
  assert_int_equal(next(&method_sample, 4, 1, plans), 2);
  assert_int_equal(plans[0].lane, 1);
  assert_int_equal(plans[0].model, 1);
  assert_int_equal(plans[1].lane, 3);
  const struct method_view v = {.steps = steps, .n = n_steps};
  assert_false(steps_stop(&v, &patient, why, sizeof why));
  begin();
  add_unserved(0);
  assert_int_equal(next(&method_greedy, 1, 1, plans), 1);
  begin(); // refine: the second trajectory is a turn behind, and the first one does not wait
  add(0, STORE_JUDGED, 0);
  add_unserved(1);
  assert_int_equal(next(&method_refine, 2, 2, plans), 2);
  assert_string_equal(plans[0].kind, "repair");
  assert_string_equal(plans[1].kind, "first");
  add(0, STORE_JUDGED, 0);
  add(1, STORE_JUDGED, 0);
  assert_int_equal(next(&method_refine, 2, 2, plans), 1);
  assert_int_equal(plans[0].lane, 1);
}

// Of a swarm the models that answer go on; the other one is asked again later, and at last in any case.
static void swarm_goes_on_without_a_model(void **state) {
  (void)state;
  struct method_plan plans[METHOD_MOST_ROUND];
  begin();
  add(0, STORE_JUDGED, 0);
  add_unserved(1);
  for (int i = 0; i < 4; i++) {
    assert_int_equal(next(&method_swarm, 1, 5, plans), 1);
    assert_int_equal(plans[0].model, 0);
    assert_string_equal(plans[0].kind, "repair");
    add(0, STORE_JUDGED, 0);
  }
  assert_int_equal(next(&method_swarm, 1, 5, plans), 1); // the first one's tries are used up
  assert_int_equal(plans[0].model, 1);
  add_unserved(1);
  assert_int_equal(next(&method_swarm, 1, 5, plans), 1);
  assert_string_equal(plans[0].kind, "first");
}

static void greedy_asks_once(void **state) {
  (void)state;
  struct method_plan plans[METHOD_MOST_ROUND];
  begin();
  assert_int_equal(next(&method_greedy, 1, 1, plans), 1);
  assert_true(plans[0].temperature == 0);
  add(0, STORE_JUDGED, 0);
  assert_int_equal(next(&method_greedy, 1, 1, plans), 0);
}

static void expect_turn(const char *kind, int64_t parent, int64_t note, int n_shown) {
  struct method_plan plans[METHOD_MOST_ROUND];
  assert_int_equal(next(&method_refine, 1, 100, plans), 1);
  assert_string_equal(plans[0].kind, kind);
  assert_int_equal(plans[0].parent, parent);
  assert_int_equal(plans[0].note, note);
  assert_int_equal(plans[0].n_shown, n_shown);
}

static void refine_repairs_then_improves(void **state) {
  (void)state;
  begin();
  expect_turn("first", -1, -1, 0);
  add(0, STORE_NO_CODE, 0); // 0
  expect_turn("first", -1, 0, 0);
  add(0, STORE_JUDGED, 0); // 1: wrong
  expect_turn("repair", 1, -1, 0);
  add(0, STORE_JUDGED, 50); // 2: right
  expect_turn("improve", 2, -1, 0);
  add(0, STORE_JUDGED, 70); // 3: right and slower: the fastest goes on, and this one is shown
  expect_turn("improve", 2, -1, 1);
  add(0, STORE_JUDGED, 0); // 4, 5: failures
  expect_turn("repair", 4, -1, 0);
  add(0, STORE_JUDGED, 0);
  expect_turn("repair", 5, -1, 0);
  add(0, STORE_JUDGED, 0); // 6: the third in a row: back to the fastest
  expect_turn("improve", 2, -1, 1);
  add(0, STORE_JUDGED, 30); // 7
  expect_turn("improve", 7, -1, 0);
  add(0, STORE_DUPLICATE, 30);
  expect_turn("improve", 7, 8, 1);
}

// Whatever comes, a correct kernel stays: from the first right step on, what a prompt goes on from is right, or an
// attempt to improve it that failed at most twice in a row.
static void refine_never_loses_a_correct_kernel(void **state) {
  (void)state;
  struct method_plan plans[METHOD_MOST_ROUND];
  for (unsigned pattern = 0; pattern < 1u << 10; pattern++) {
    begin();
    add(0, STORE_JUDGED, 10);
    for (int i = 0; i < 10; i++) {
      assert_int_equal(next(&method_refine, 1, 100, plans), 1);
      int64_t wrong = 0;
      for (int64_t at = plans[0].parent; at >= 0 && !steps[at].right; at--)
        wrong++;
      assert_true(wrong <= 2);
      add(0, STORE_JUDGED, pattern >> i & 1 ? 20 - i : 0);
    }
    struct method_settings settings = {.n_models = 1};
    const struct method_view v = {.settings = &settings, .steps = steps, .n = n_steps};
    double least = INFINITY;
    for (int64_t i = 0; i < n_steps; i++)
      least = steps[i].right && steps[i].time_ns < least ? steps[i].time_ns : least;
    assert_true(steps[steps_best(&v, -1)].time_ns == least);
  }
}

static void lanes_do_not_mix(void **state) {
  (void)state;
  struct method_plan plans[METHOD_MOST_ROUND];
  begin();
  assert_int_equal(next(&method_refine, 3, 2, plans), 3);
  add(0, STORE_JUDGED, 10);
  add(1, STORE_JUDGED, 0);
  add(2, STORE_CUT_OFF, 0);
  assert_int_equal(next(&method_refine, 3, 2, plans), 3);
  assert_string_equal(plans[0].kind, "improve");
  assert_string_equal(plans[1].kind, "repair");
  assert_int_equal(plans[1].parent, 1);
  assert_string_equal(plans[2].kind, "first");
  assert_int_equal(plans[2].note, 2);
  assert_int_equal(plans[2].cap_doublings, 1);
  assert_int_equal(plans[1].model, 1);
  for (int i = 0; i < 3; i++)
    add(i, STORE_JUDGED, 0);
  assert_int_equal(next(&method_refine, 3, 2, plans), 0);
}

static const struct method_lesson *lessons; // of other tasks

static int turn(const struct method *m, int samples, int turns, bool feed_best, struct method_plan *plans) {
  static struct method_settings settings;
  settings = (struct method_settings){.method = m,
                                      .samples = samples,
                                      .turns = turns,
                                      .n_models = 2,
                                      .temperature = 0.5,
                                      .feed_best = feed_best,
                                      .seed = 5};
  const struct method_view v = {.settings = &settings, .steps = steps, .n = n_steps, .lessons = lessons};
  return m->next(&v, plans, METHOD_MOST_ROUND);
}

static void reflect_thinks_between(void **state) {
  (void)state;
  struct method_plan plans[METHOD_MOST_ROUND];
  begin();
  assert_int_equal(turn(&method_reflect, 1, 20, false, plans), 1);
  assert_string_equal(plans[0].kind, "first");
  add(0, STORE_JUDGED, 0); // 0: wrong
  turn(&method_reflect, 1, 20, false, plans);
  assert_string_equal(plans[0].kind, "reflect");
  assert_true(plans[0].prose);
  assert_int_equal(plans[0].parent, 0);
  add(0, STORE_TEXT, 0); // 1
  turn(&method_reflect, 1, 20, false, plans);
  assert_string_equal(plans[0].kind, "repair");
  assert_int_equal(plans[0].idea, 1);
  // A pool of the five fastest, the slowest first; the fastest is never lost.
  static const double times[] = {50, 10, 40, 70, 20, 30, 60};
  for (int i = 0; i < 7; i++) {
    add(0, STORE_JUDGED, times[i]);
    add(0, STORE_TEXT, 0);
  }
  turn(&method_reflect, 1, 20, false, plans);
  assert_string_equal(plans[0].kind, "improve");
  assert_true(steps[plans[0].parent].time_ns == 10);
  assert_int_equal(plans[0].n_shown, 4);
  for (int i = 0; i < 4; i++)
    assert_true(steps[plans[0].shown[i]].time_ns == 50 - 10 * i);
  // Failures are repaired, and after five in a row the fastest goes on.
  for (int i = 0; i < 5; i++) {
    add(0, STORE_JUDGED, 0);
    add(0, STORE_TEXT, 0);
    turn(&method_reflect, 1, 20, false, plans);
    assert_string_equal(plans[0].kind, i < 4 ? "repair" : "improve");
  }
}

static void evolve_draws_fast_parents(void **state) {
  (void)state;
  struct method_plan plans[METHOD_MOST_ROUND], again[METHOD_MOST_ROUND];
  int drawn[MOST] = {0};
  begin();
  assert_int_equal(turn(&method_evolve, 2, 1000, false, plans), 2);
  assert_string_equal(plans[1].kind, "first");
  for (int i = 0; i < 5; i++)
    add(0, STORE_JUDGED, 100 + 100 * i);
  for (int round = 5; round < 90; round++) {
    assert_int_equal(turn(&method_evolve, 2, 1000, false, plans), 2);
    turn(&method_evolve, 2, 1000, false, again); // the same steps give the same requests
    assert_true(plans[0].parent == again[0].parent && plans[0].n_shown == again[0].n_shown);
    assert_string_equal(plans[0].kind, "idea");
    assert_true(plans[0].prose);
    assert_int_equal(plans[0].lane, 0);
    assert_string_equal(plans[1].kind, "first"); // the other island has no kernel
    drawn[plans[0].parent]++;
    add(0, STORE_JUDGED, 0); // only moves the round on: wrong, and no child of anybody
  }
  assert_true(drawn[0] > drawn[4] && drawn[0] + drawn[1] > drawn[3] + drawn[4]);
  add(0, STORE_TEXT, 0);
  steps[n_steps - 1].parent = 1;
  turn(&method_evolve, 2, 1000, false, plans);
  assert_string_equal(plans[0].kind, "variant");
  assert_int_equal(plans[0].parent, 1);
  assert_int_equal(plans[0].idea, n_steps - 1);
  // Every fifth round an island learns from the next one.
  begin();
  add(1, STORE_JUDGED, 1);
  for (int i = 0; i < 4; i++)
    add(0, STORE_JUDGED, 50);
  turn(&method_evolve, 2, 1000, false, plans);
  assert_int_equal(plans[0].parent, 0);
}

// A kernel whose time is not known, as the machine was busy, is no fast one: evolve draws it as the slowest of its
// pool, reflect goes on from the fastest and does not lose it.
static void kernels_without_a_time_are_not_fast(void **state) {
  (void)state;
  struct method_plan plans[METHOD_MOST_ROUND];
  int drawn[MOST] = {0};
  begin();
  for (int i = 0; i < 5; i++) { // 1, 2, 4 and 8 ms, and one more
    add(0, STORE_JUDGED, 1e6 * (1 << i));
    steps[i].time_ns = i == 4 ? NAN : steps[i].time_ns;
  }
  for (int round = 5; round < 90; round++) {
    turn(&method_evolve, 1, 1000, false, plans);
    drawn[plans[0].parent]++;
    add(0, STORE_JUDGED, 0);
  }
  assert_true(drawn[0] > 25 && drawn[4] <= 2);
  begin();
  add(0, STORE_JUDGED, 10);
  for (int i = 0; i < 6; i++) {
    add(0, STORE_TEXT, 0);
    add(0, STORE_JUDGED, 1);
    steps[n_steps - 1].time_ns = NAN;
  }
  add(0, STORE_TEXT, 0);
  turn(&method_reflect, 1, 20, false, plans);
  assert_string_equal(plans[0].kind, "improve");
  assert_int_equal(plans[0].parent, 0);
  assert_int_equal(plans[0].n_shown, 4);
}

// A turn of the second part of a swarm: what it brought, what it cost.
static void add_turn(int model, int64_t parent, double time_ns, double usd) {
  add(2, STORE_JUDGED, time_ns);
  steps[n_steps - 1].model = model;
  steps[n_steps - 1].parent = parent;
  steps[n_steps - 1].usd = usd;
}

static int chosen(void) {
  struct method_plan plans[METHOD_MOST_ROUND];
  assert_int_equal(turn(&method_swarm, 1, 50, true, plans), 1);
  assert_true(plans[0].learns);
  return plans[0].model;
}

// A first try of each of two models, both right, in 100 ns; what they cost is not known.
static void begin_with_two(void) {
  begin();
  for (int i = 0; i < 2; i++) {
    add(i, STORE_JUDGED, 100);
    steps[i].model = i;
    steps[i].usd = NAN;
  }
}

// The bandit, worked out by hand: (right + 1) / (asked + 2) * (gains + G) / (timed + 1) / (cost / mean cost) +
// sqrt(2 ln asked by all / asked), with G = (gains of all + 1/2) / (timed of all + 1).
static void swarm_chooses_by_gain_cost_and_rareness(void **state) {
  (void)state;
  begin();
  add(0, STORE_JUDGED, 100);
  for (int i = 0; i < 5; i++) {
    add(1, STORE_JUDGED, 0);
    steps[n_steps - 1].model = 1;
  }
  // 2/3 * 1/2 + sqrt(2 ln 6) = 2.23; 1/7 * 1/2 + sqrt(2 ln 6 / 5) = 0.92.
  assert_int_equal(chosen(), 0);
  begin_with_two();
  assert_int_equal(chosen(), 0); // all is equal: the first
  add_turn(0, 0, 80, 3);         // gains 0.2
  // G = 0.35. 3/4 * 0.275 + sqrt(ln 3) = 1.254; 2/3 * 0.35 + sqrt(2 ln 3) = 1.716.
  assert_int_equal(chosen(), 1);
  add_turn(1, 2, 72, 1); // gains 0.1 of 80, for a third of the money
  // G = 0.8 / 3 = 0.267, mean cost 2. 3/4 * 0.2333 / 1.5 = 0.117, 3/4 * 0.1833 / 0.5 = 0.275, equally often.
  assert_int_equal(chosen(), 1);
  add_turn(1, 3, 0, 1);
  // Mean 5/3. 3/4 * 0.2333 / 1.8 + sqrt(2 ln 5 / 2) = 1.366; 3/5 * 0.1833 / 0.6 + sqrt(2 ln 5 / 3) = 1.219.
  assert_int_equal(chosen(), 0);
  // The same kernel again is right, and gains nothing: G = 0.35 / 1.5 for each, and 3/4 * 0.35 / 2 is less than that.
  begin_with_two();
  add_turn(0, 0, 50, NAN); // 0.5
  add_turn(1, 2, 50, NAN);
  steps[3].outcome = STORE_DUPLICATE;
  steps[3].same_as = 2;
  assert_int_equal(chosen(), 0);
  // Turns of unknown cost do not make a model cheap: of two at 3 dollars, one of which is not known, the mean is 3.
  begin_with_two();
  add_turn(0, 0, 80, 3);
  add_turn(0, 2, 64, NAN);
  add_turn(1, 3, 50.56, 3); // 0.21
  add_turn(1, 4, 39.9424, 3);
  assert_int_equal(chosen(), 1);
  // Where no time is known, what counts is who is right: 3/4 * 1/2 and 2/4 * 1/2, asked as often.
  begin_with_two();
  add_turn(0, 0, 0, NAN);
  add_turn(1, 0, 1, NAN);
  steps[3].time_ns = NAN;
  assert_int_equal(chosen(), 1);
}

// Models as other tasks have them: of 100 attempts so many right, at so much each.
static void teach(struct method_lesson *l, int64_t right, double usd) {
  *l = (struct method_lesson){.asked = 100, .right = right, .priced = 100, .usd = 100 * usd};
}

// What a model did in other tasks counts as if it had been in this one: the second is right half as often and costs a
// tenth.
static void swarm_knows_what_other_tasks_taught(void **state) {
  (void)state;
  struct method_lesson both[2];
  begin_with_two();
  assert_int_equal(chosen(), 0);
  lessons = both;
  teach(&both[0], 80, 0.10);
  teach(&both[1], 40, 0.01);
  // 82/103 / 2 / (0.10 / 0.055) = 0.219; 42/103 / 2 / (0.01 / 0.055) = 1.121.
  assert_int_equal(chosen(), 1);
  teach(&both[1], 6, 0.01); // 8/103 / 2 / 0.1818 = 0.2136
  assert_int_equal(chosen(), 0);
  teach(&both[1], 7, 0.01); // 9/103: 0.240
  assert_int_equal(chosen(), 1);
  teach(&both[1], 40, 0.10); // the same price
  assert_int_equal(chosen(), 0);
  teach(&both[0], 80, 0.0195); // 82 / 42 = 1.952 of the price: still worth it
  teach(&both[1], 40, 0.01);
  assert_int_equal(chosen(), 0);
  teach(&both[0], 80, 0.0196);
  assert_int_equal(chosen(), 1);
  teach(&both[0], 40, 0.01);
  both[0].timed = both[1].timed = 30; // what right ones gain: 0.1 and 0.2
  both[0].gain = 3;
  both[1].gain = 6;
  assert_int_equal(chosen(), 1);
  both[1].gain = 2.9;
  assert_int_equal(chosen(), 0);
  // One that costs nothing counts as a tenth of the mean: 42/103 / 2 / (0.1 / 0.05) = 0.102, 10/103 / 2 / 0.1 = 0.485.
  teach(&both[0], 40, 0.1);
  teach(&both[1], 8, 0);
  assert_int_equal(chosen(), 1);
  teach(&both[1], 0, 0); // 2/103 / 2 / 0.1 = 0.0971
  assert_int_equal(chosen(), 0);
  // One that was seldom asked is tried: sqrt(2 ln 106) = 3.05 / sqrt(5) more, and 0.30 of the other's.
  both[1] = (struct method_lesson){.asked = 4, .priced = 4, .usd = 0.4};
  assert_int_equal(chosen(), 1);
  lessons = NULL;
}

// What a task teaches: the attempts before its first turn of the second part, and so many of those turns.
static void swarm_teaches_its_first_turns(void **state) {
  (void)state;
  static const struct method_settings settings = {.method = &method_swarm, .samples = 1, .turns = 9, .n_models = 2};
  begin_with_two();
  steps[0].usd = 2;
  add_turn(1, 0, 80, 1); // 0.2
  add_unserved(0);
  add_turn(0, 2, 0, 3);
  add_turn(1, 2, 40, 1);
  const struct method_view v = {.settings = &settings, .steps = steps, .n = n_steps};
  assert_int_equal(method_swarm.choices(&v), 3);
  static const struct {
    int64_t asked[2], right[2];
    double gain1, usd[2];
  } expected[] = {{{1, 1}, {1, 1}, 0, {2, 0}},
                  {{1, 2}, {1, 2}, 0.2, {2, 1}},
                  {{2, 2}, {1, 2}, 0.2, {5, 1}},
                  {{2, 3}, {1, 3}, 0.7, {5, 2}},
                  {{2, 3}, {1, 3}, 0.7, {5, 2}}};
  for (int turns = 0; turns < 5; turns++) {
    struct method_lesson l[2] = {{0}};
    method_swarm.teach(&v, turns, l);
    for (int i = 0; i < 2; i++) {
      assert_int_equal(l[i].asked, expected[turns].asked[i]);
      assert_int_equal(l[i].right, expected[turns].right[i]);
      assert_true(l[i].usd == expected[turns].usd[i]);
    }
    assert_true(fabs(l[1].gain - expected[turns].gain1) < 1e-12 && l[0].gain == 0);
  }
}

// Where a suite's next request goes: a task's distance to the floor in powers of two, for each request that it had.
static void the_budget_goes_where_the_distance_is(void **state) {
  (void)state;
  const struct method_view v = {.steps = steps, .n = 1};
  begin();
  add(0, STORE_JUDGED, 0);
  assert_true(isinf(steps_need(&v, 0, 10)));
  assert_true(steps_need(&v, 1, 10) == 2.0); // not right: as at 16 times the floor
  assert_true(steps_need(&v, 3, 10) == 1.0);
  begin();
  add(0, STORE_JUDGED, 80);
  assert_true(steps_need(&v, 1, 10) == 1.5); // 8 times the floor
  assert_true(steps_need(&v, 1, 2.5) == 2.5);
  assert_true(steps_need(&v, 1, 80) == 0.0);
  assert_true(steps_need(&v, 1, NAN) == 0.5); // not known: neither at the floor nor far from it
  steps[0].time_ns = NAN;
  assert_true(steps_need(&v, 1, 10) == 0.5);
}

static void swarm_takes_the_best_of_all(void **state) {
  (void)state;
  struct method_plan plans[METHOD_MOST_ROUND];
  begin();
  assert_int_equal(turn(&method_swarm, 1, 10, false, plans), 2);
  assert_int_equal(plans[1].model, 1);
  add(0, STORE_JUDGED, 10);
  add(1, STORE_JUDGED, 0);
  assert_int_equal(turn(&method_swarm, 1, 10, false, plans), 1); // the first model is done
  assert_string_equal(plans[0].kind, "repair");
  assert_int_equal(plans[0].lane, 1);
  for (int i = 0; i < 4; i++)
    add(1, STORE_JUDGED, 0);
  for (int i = 1; i < n_steps; i++)
    steps[i].model = 1;
  assert_int_equal(turn(&method_swarm, 1, 10, false, plans), 0); // five tries are all
  // Fed on: the model that was asked once is tried, then the one that gains more is asked more; worked out elsewhere.
  static const char order[] = "0000010111101111011111011111101111";
  double best = 10;
  for (const char *model = order; *model; model++) {
    assert_int_equal(turn(&method_swarm, 1, 20, true, plans), 1);
    assert_string_equal(plans[0].kind, "improve");
    assert_int_equal(plans[0].model, *model - '0');
    assert_true(steps[plans[0].parent].time_ns == best);
    best = plans[0].model == 1 ? best * 0.5 : best;
    add(2, STORE_JUDGED, plans[0].model == 1 ? best : 0);
    steps[n_steps - 1].model = plans[0].model;
    steps[n_steps - 1].parent = plans[0].parent;
  }
  assert_int_equal(turn(&method_swarm, 1, 20, true, plans), 0);
}

// A kernel that another lane had first is this lane's all the same: it is right, and nothing is to be fixed. Only what
// the lane had itself is said to be a repetition.
static void what_another_lane_had_is_right_too(void **state) {
  (void)state;
  struct method_plan plans[METHOD_MOST_ROUND];
  begin();
  add(0, STORE_JUDGED, 50);
  add(1, STORE_DUPLICATE, 50);
  assert_int_equal(turn(&method_swarm, 1, 10, false, plans), 0);
  assert_int_equal(turn(&method_refine, 2, 10, false, plans), 2);
  assert_string_equal(plans[1].kind, "improve");
  assert_int_equal(plans[1].parent, 1);
  assert_int_equal(plans[1].note, -1);
  assert_int_equal(turn(&method_evolve, 2, 10, false, plans), 2);
  assert_string_equal(plans[1].kind, "idea");
  assert_int_equal(plans[1].parent, 1);
  add(0, STORE_JUDGED, 60);
  add(1, STORE_DUPLICATE, 50);
  turn(&method_refine, 2, 10, false, plans);
  assert_string_equal(plans[1].kind, "improve");
  assert_int_equal(plans[1].parent, 1);
  assert_int_equal(plans[1].note, 3);
  begin();
  add(0, STORE_JUDGED, 50);
  add(1, STORE_DUPLICATE, 50);
  add(0, STORE_TEXT, 0);
  add(1, STORE_TEXT, 0);
  turn(&method_reflect, 2, 10, false, plans);
  assert_string_equal(plans[1].kind, "improve");
  assert_int_equal(plans[1].parent, 1);
}

static const char *stops(double part, int64_t patience) {
  static char why[64];
  const struct method_view v = {.steps = steps, .n = n_steps};
  const struct method_stop stop = {part, patience};
  return steps_stop(&v, &stop, why, sizeof why) ? why : "";
}

static void tasks_end_early(void **state) {
  (void)state;
  begin();
  assert_string_equal(stops(0.5, 3), "");
  add(0, STORE_NO_CODE, 0);
  add(1, STORE_JUDGED, 0);
  assert_string_equal(stops(0.5, 3), "");
  add(0, STORE_TEXT, 0); // prose is a request too
  assert_string_equal(stops(0.5, 3), "no progress in 3 requests");
  assert_string_equal(stops(0.5, 4), "");
  assert_string_equal(stops(0.5, 0), "");
  add(0, STORE_JUDGED, 100); // the first that is right
  add(0, STORE_JUDGED, 98.5);
  add(0, STORE_DUPLICATE, 98.5); // faster by less than 2 % than what there was: noise
  assert_string_equal(stops(0, 4), "");
  add(1, STORE_JUDGED, 97);
  assert_string_equal(stops(0, 4), ""); // 1.5 % below 98.5: three in vain
  add(1, STORE_JUDGED, 95);
  assert_string_equal(stops(0, 4), ""); // 2.1 % below 97
  for (int i = 0; i < 4; i++)
    add(0, STORE_JUDGED, 0);
  assert_string_equal(stops(0, 4), "no progress in 4 requests");
  // The part of the floor that the fastest reaches.
  assert_string_equal(stops(0.5, 0), ""); // the floor is not known
  steps[7].floor_ns = 47.5;
  assert_string_equal(stops(0.5, 0), "0.5 of the floor reached");
  assert_string_equal(stops(0.51, 0), "");
  steps[7].right = false; // a wrong one reaches nothing
  assert_string_equal(stops(0.5, 0), "");
}

// --- simulated models with known rates: every course of events is walked through with its probability, so that the
// results are exact

enum { NO_CODE, FAILS_TO_BUILD, IS_WRONG, IS_RIGHT, OUTCOMES };

// What such a model answers to the code it is shown: none, one that does not build, one that is wrong. Rows add up
// to 1.
static const double repair_rates[3][OUTCOMES] = {{0.3, 0.3, 0.2, 0.2}, {0.1, 0.4, 0.3, 0.2}, {0.1, 0.15, 0.35, 0.4}};

static int shown_by(const struct method_plan *p) {
  if (p->parent < 0)
    return 0;
  return steps[p->parent].reason == ASSAY_REASON_BUILD_FAILED ? 1 : 2;
}

static void take(int outcome, const struct method_plan *p) {
  add(p->lane, outcome == NO_CODE ? STORE_NO_CODE : STORE_JUDGED, outcome == IS_RIGHT ? 10 : 0);
  steps[n_steps - 1].model = p->model;
  if (outcome == FAILS_TO_BUILD)
    steps[n_steps - 1].reason = ASSAY_REASON_BUILD_FAILED;
}

// The chance that one of the next `turns` replies is right.
static double chance_of_refine(int turns) {
  struct method_plan plans[METHOD_MOST_ROUND];
  double chance = 0;
  if (turns == 0)
    return 0;
  assert_int_equal(next(&method_refine, 1, 1000, plans), 1);
  const struct method_plan plan = plans[0];
  for (int outcome = 0; outcome < OUTCOMES; outcome++) {
    double p = repair_rates[shown_by(&plan)][outcome];
    take(outcome, &plan);
    chance += p * (outcome == IS_RIGHT ? 1 : chance_of_refine(turns - 1));
    n_steps--;
  }
  return chance;
}

// refine is a chain over what is shown that ends with the first right kernel: the power of its matrix. A reply without
// code leaves what is shown.
static void refine_is_an_absorbing_chain(void **state) {
  (void)state;
  double at[4] = {1, 0, 0, 0}; // nothing shown, does not build, wrong, right
  for (int turns = 1; turns <= 6; turns++) {
    double then[4] = {0, 0, 0, at[3]};
    for (int s = 0; s < 3; s++) {
      then[s] += at[s] * repair_rates[s][NO_CODE];
      then[1] += at[s] * repair_rates[s][FAILS_TO_BUILD];
      then[2] += at[s] * repair_rates[s][IS_WRONG];
      then[3] += at[s] * repair_rates[s][IS_RIGHT];
    }
    memcpy(at, then, sizeof at);
    begin();
    double chance = chance_of_refine(turns);
    if (fabs(chance - at[3]) > 1e-12)
      fail_msg("%d turns: %.15g, not %.15g", turns, chance, at[3]);
  }
}

// The chance that a swarm of two models finds a right kernel, when each try of theirs is right with these rates
// whatever it is shown.
static const double model_rates[2] = {0.3, 0.45};
static double chance_of_swarm(int turns) {
  struct method_plan plans[METHOD_MOST_ROUND];
  double chance = 0;
  int n = turn(&method_swarm, 1, turns, false, plans);
  int64_t before = n_steps;
  struct method_plan round[2];
  assert_true(n <= 2);
  memcpy(round, plans, (size_t)n * sizeof *round);
  for (unsigned outcomes = 0; n > 0 && outcomes < 1u << n; outcomes++) {
    double p = 1;
    for (int i = 0; i < n; i++) {
      bool right = outcomes >> i & 1;
      p *= right ? model_rates[round[i].model] : 1 - model_rates[round[i].model];
      take(right ? IS_RIGHT : IS_WRONG, &round[i]);
    }
    chance += p * (outcomes ? 1 : chance_of_swarm(turns));
    n_steps = before;
  }
  return chance;
}

static void swarm_is_the_union_of_its_models(void **state) {
  (void)state;
  for (int turns = 1; turns <= 6; turns++) {
    int tries = turns < 5 ? turns : 5; // as the post has it
    begin();
    double chance = chance_of_swarm(turns), exact = 1 - pow(1 - model_rates[0], tries) * pow(1 - model_rates[1], tries);
    if (fabs(chance - exact) > 1e-12)
      fail_msg("%d turns: %.15g, not %.15g", turns, chance, exact);
  }
}

// Independent attempts that are right with rate p and all equally fast, given up after k in a row without progress:
// the expected number of requests is exact, too. Up to the first right one it is a geometric wait that is cut at k; if
// that came, k more are made in vain.
static double requests_until_stop(double p, int k, int most) {
  if (stops(0, k)[0] || n_steps == most)
    return 0;
  double n = 1;
  for (int right = 0; right < 2; right++) {
    add(0, STORE_JUDGED, right ? 10 : 0);
    n += (right ? p : 1 - p) * requests_until_stop(p, k, most);
    n_steps--;
  }
  return n;
}

static void patience_costs_what_it_must(void **state) {
  (void)state;
  static const double p = 0.3;
  for (int k = 1; k <= 5; k++) {
    double wait = (1 - pow(1 - p, k)) / p, found = 1 - pow(1 - p, k);
    begin();
    double n = requests_until_stop(p, k, 20);
    if (fabs(n - (wait + found * k)) > 1e-12)
      fail_msg("patience %d: %.15g, not %.15g", k, n, wait + found * k);
  }
}

// Where every kernel is right, and where none is: no method asks more often than it says, and one of the two is all.
static int64_t requests_of(const struct method_settings *s, bool right) {
  struct method_plan plans[METHOD_MOST_ROUND];
  begin();
  for (;;) {
    const struct method_view v = {.settings = s, .steps = steps, .n = n_steps};
    int n = s->method->next(&v, plans, METHOD_MOST_ROUND);
    for (int i = 0; i < n; i++) {
      assert_true(n_steps < MOST);
      add(plans[i].lane, plans[i].prose ? STORE_TEXT : STORE_JUDGED, right && !plans[i].prose ? 100.0 : 0);
      steps[n_steps - 1].parent = plans[i].parent;
    }
    if (n == 0)
      return n_steps;
  }
}

static void the_most_requests_are_known(void **state) {
  (void)state;
  const struct method *m;
  for (int i = 0; (m = method_at(i)); i++)
    for (int turns = 1; turns <= 8; turns++)
      for (int samples = 1; samples <= 3; samples++)
        for (int feed_best = 0; feed_best < 2; feed_best++) {
          const struct method_settings s = {.method = m,
                                            .samples = samples,
                                            .turns = turns,
                                            .n_models = 2,
                                            .temperature = NAN,
                                            .feed_best = feed_best};
          int64_t right = requests_of(&s, true), wrong = requests_of(&s, false), most = right > wrong ? right : wrong;
          if (m->most(&s) != most)
            fail_msg("%s, %d, %d: %d and not %d", m->name, samples, turns, (int)most, (int)m->most(&s));
        }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sample_asks_so_often),
      cmocka_unit_test(what_was_not_served_is_asked_again),
      cmocka_unit_test(swarm_goes_on_without_a_model),
      cmocka_unit_test(greedy_asks_once),
      cmocka_unit_test(refine_repairs_then_improves),
      cmocka_unit_test(refine_never_loses_a_correct_kernel),
      cmocka_unit_test(lanes_do_not_mix),
      cmocka_unit_test(reflect_thinks_between),
      cmocka_unit_test(evolve_draws_fast_parents),
      cmocka_unit_test(kernels_without_a_time_are_not_fast),
      cmocka_unit_test(swarm_chooses_by_gain_cost_and_rareness),
      cmocka_unit_test(swarm_knows_what_other_tasks_taught),
      cmocka_unit_test(swarm_teaches_its_first_turns),
      cmocka_unit_test(the_budget_goes_where_the_distance_is),
      cmocka_unit_test(swarm_takes_the_best_of_all),
      cmocka_unit_test(what_another_lane_had_is_right_too),
      cmocka_unit_test(tasks_end_early),
      cmocka_unit_test(refine_is_an_absorbing_chain),
      cmocka_unit_test(swarm_is_the_union_of_its_models),
      cmocka_unit_test(patience_costs_what_it_must),
      cmocka_unit_test(the_most_requests_are_known),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
