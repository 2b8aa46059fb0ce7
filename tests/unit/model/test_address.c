// SPDX-License-Identifier: Apache-2.0
// Where requests go.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/address.h"

static void paths_are_completed(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"https://host", "https://host/v1/chat/completions"},
      {"https://host/", "https://host/v1/chat/completions"},
      {"https://host/v1", "https://host/v1/chat/completions"},
      {"https://host:8000/v1//", "https://host:8000/v1/chat/completions"},
      {"https://host/api/v3", "https://host/api/v3/chat/completions"},
      {"https://host/v1/chat/completions", "https://host/v1/chat/completions"},
      {"https://host/v1/chat/completions/", "https://host/v1/chat/completions"},
      {"http://[::1]:8080", "http://[::1]:8080/v1/chat/completions"},
      {"https://host/openai/v1?api-version=3", "https://host/openai/v1/chat/completions?api-version=3"},
      {"https://host?a=/b#c", "https://host/v1/chat/completions?a=/b"},
      {"https://me.openai.azure.com/openai/deployments/d?api-version=2024-10-21",
       "https://me.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21"},
      {"https://host/chat/completions?a=b", "https://host/chat/completions?a=b"},
  };
  struct arena arena = {0};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_string_equal(address_of(&arena, cases[i][0], "/chat/completions"), cases[i][1]);
  arena_release(&arena);
}

static void this_machine_is_known(void **state) {
  (void)state;
  static const char *const here[] = {"http://localhost/v1", "http://127.0.0.1:8", "http://127.1.2.3",
                                     "http://[::1]:8080/v1", "http://LocalHost:1"};
  static const char *const elsewhere[] = {"http://127.0.0.1.example.com",
                                          "http://localhost.example.com",
                                          "http://[::2]",
                                          "http://example.com/127.0.0.1",
                                          "http://10.0.0.1",
                                          "nothing"};
  for (size_t i = 0; i < sizeof here / sizeof *here; i++)
    assert_true(address_is_loopback(here[i]));
  for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
    assert_false(address_is_loopback(elsewhere[i]));
}

// Azure takes a key in a header of its own, whatever the path.
static void azure_is_known(void **state) {
  (void)state;
  assert_true(address_is_azure("https://me.openai.azure.com/openai/deployments/d?api-version=2024-10-21"));
  assert_true(address_is_azure("https://me.services.AI.azure.com/openai/v1"));
  assert_false(address_is_azure("https://azure.com.example.org/v1"));
  assert_false(address_is_azure("https://notazure.com/v1"));
  assert_false(address_is_azure("https://host/x.azure.com"));
  assert_false(address_is_azure("nothing"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(paths_are_completed),
      cmocka_unit_test(this_machine_is_known),
      cmocka_unit_test(azure_is_known),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
