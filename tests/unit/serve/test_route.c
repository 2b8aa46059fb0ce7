// SPDX-License-Identifier: Apache-2.0
// Targets of requests: what is found, and that nothing else is.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "serve/route.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void test_found(void **state) {
  (void)state;
  static const struct {
    const char *target;
    enum route route;
    bool identity;
  } cases[] = {
      {"/", ROUTE_INDEX, false},
      {"/?a=%00", ROUTE_INDEX, false},
      {"/v1/jobs", ROUTE_JOBS, false},
      {"/v1/jobs/" ID, ROUTE_JOB, true},
      {"/v1/jobs/" ID "?wait=30", ROUTE_JOB, true},
      {"/v1/jobs/" ID "/events", ROUTE_EVENTS, true},
      {"/v1/verdicts/" ID, ROUTE_VERDICT, true},
      {"/metrics", ROUTE_METRICS, false},
      {"/healthz", ROUTE_HEALTH, false},
      {"/readyz", ROUTE_READY, false},
      {"/v1/openapi.json", ROUTE_OPENAPI, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char identity[QUEUE_IDENTITY];
    assert_int_equal(route_find(cases[i].target, identity), cases[i].route);
    assert_string_equal(identity, cases[i].identity ? ID : "");
  }
}

static void test_nothing_else(void **state) {
  (void)state;
  static const char *const targets[] = {"",
                                        "?",
                                        "//",
                                        "/v1",
                                        "/v1/jobs/",
                                        "/v1//jobs",
                                        "/V1/jobs",
                                        "/v1/jobs%00",
                                        "/v1/jobs%2f" ID,
                                        "/%2e%2e/etc/passwd",
                                        "/../v1/jobs",
                                        "/v1/jobs/../jobs",
                                        "/v1/jobs/" ID "0",
                                        "/v1/jobs/" ID "/",
                                        "/v1/jobs/" ID "/events/",
                                        "/v1/jobs/0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef",
                                        "/v1/jobs/abc",
                                        "http://x/v1/jobs",
                                        "/v1/verdicts/" ID "\\",
                                        "/metrics\t",
                                        "page"};
  for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
    char identity[QUEUE_IDENTITY], longer[600];
    assert_int_equal(route_find(targets[i], identity), ROUTE_NONE);
    memset(longer, 'a', sizeof longer - 1);
    longer[0] = '/';
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(route_find(longer, identity), ROUTE_NONE);
  }
}

static void test_methods(void **state) {
  (void)state;
  assert_string_equal(route_allow(ROUTE_JOBS), "GET, HEAD, POST");
  assert_string_equal(route_allow(ROUTE_JOB), "GET, HEAD, DELETE");
  assert_string_equal(route_allow(ROUTE_INDEX), "GET, HEAD");
  assert_int_equal(route_methods(ROUTE_NONE), 0);
  assert_string_equal(route_name(ROUTE_EVENTS), "/v1/jobs/?/events");
}

int main(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(test_found), cmocka_unit_test(test_nothing_else),
                                            cmocka_unit_test(test_methods)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
