// SPDX-License-Identifier: Apache-2.0
// modules: toolchain/lift
// The kernel timer over a driver that counts events: pairs around launches, sums by origin, all events given back.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "toolchain/lift/kernel_timer.h"

static int created, destroyed, recorded;
static int fail_at; // the number of the event that cannot be created; 0: none
static CUstream last_stream;
static float milliseconds;

static enum cu_result event_create(CUevent *event, unsigned int flags) {
  assert_int_equal(flags, 0); // which measure time
  if (fail_at && created + 1 >= fail_at)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *event = (CUevent)(uintptr_t)++created;
  return CUDA_SUCCESS;
}
static enum cu_result event_record(CUevent event, CUstream stream) {
  assert_non_null(event);
  last_stream = stream;
  recorded++;
  return CUDA_SUCCESS;
}
static enum cu_result event_destroy(CUevent event) {
  assert_non_null(event);
  destroyed++;
  return CUDA_SUCCESS;
}
static enum cu_result elapsed(float *ms, CUevent start, CUevent end) {
  assert_int_equal((uintptr_t)end, (uintptr_t)start + 1);
  *ms = milliseconds;
  return milliseconds < -1 ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}
static const struct cuda_driver driver = {.cuEventCreate = event_create,
                                          .cuEventRecord = event_record,
                                          .cuEventDestroy = event_destroy,
                                          .cuEventElapsedTime = elapsed};

static void launch(struct kernel_timer *t, enum plan_origin origin) {
  kernel_timer_start(t, &driver, origin, (CUstream)(uintptr_t)7);
  kernel_timer_stop(t, &driver, (CUstream)(uintptr_t)7);
}

static int begin(void **state) {
  (void)state;
  created = destroyed = recorded = fail_at = 0;
  milliseconds = 0.5f;
  return 0;
}

static void sums(void **state) {
  (void)state;
  struct kernel_timer t = {0};
  struct record_share shares[PLAN_ORIGINS];
  for (int round = 0; round < 2; round++) { // a timer is used again
    kernel_timer_reset(&t);
    for (int i = 0; i < 100; i++)
      launch(&t, i % 4 == 0 ? PLAN_LIBRARY : PLAN_OWN);
    assert_int_equal(recorded, 200 * (round + 1));
    assert_int_equal((uintptr_t)last_stream, 7);
    kernel_timer_collect(&t, &driver, shares);
    static const uint32_t expected[] = {[PLAN_OWN] = 75, [PLAN_LIBRARY] = 25, [PLAN_PYTORCH] = 0};
    for (uint32_t i = 0; i < PLAN_ORIGINS; i++) {
      assert_int_equal(shares[i].origin, i);
      assert_int_equal(shares[i].launches, expected[i]);
      assert_int_equal(shares[i].ns, expected[i] * 500000);
    }
    assert_int_equal(created, destroyed);
  }
  kernel_timer_release(&t);
}

// A stop without a start is nothing; without events a launch is not counted; times that are none add nothing.
static void what_cannot_be_timed(void **state) {
  (void)state;
  struct kernel_timer t = {0};
  struct record_share shares[PLAN_ORIGINS];
  kernel_timer_stop(&t, &driver, NULL);
  assert_int_equal(recorded, 0);
  launch(&t, PLAN_OWN);
  fail_at = 3;
  kernel_timer_start(&t, &driver, PLAN_OWN, NULL);
  fail_at = 0;
  launch(&t, PLAN_PYTORCH);
  milliseconds = -2;
  kernel_timer_collect(&t, &driver, shares);
  assert_int_equal(shares[PLAN_OWN].launches, 1);
  assert_int_equal(shares[PLAN_PYTORCH].launches, 1);
  assert_int_equal(shares[PLAN_OWN].ns + shares[PLAN_PYTORCH].ns, 0);
  assert_int_equal(destroyed, 4);
  kernel_timer_collect(&t, &driver, shares); // there is nothing more to give back
  assert_int_equal(destroyed, 4);
  kernel_timer_release(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_setup(sums, begin),
                                     cmocka_unit_test_setup(what_cannot_be_timed, begin)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
