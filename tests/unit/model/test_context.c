// SPDX-License-Identifier: Apache-2.0
// Prompts that a server cut, by what it counted of them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/context.h"

struct prompt {
  size_t bytes;
  int64_t tokens;
  bool cut;
};

static void check(const struct prompt *prompts, int n) {
  struct context_seen seen = {0};
  int64_t n_cut = 0;
  for (int i = 0; i < n; i++) {
    if (context_note(&seen, prompts[i].bytes, prompts[i].tokens) != prompts[i].cut)
      fail_msg("prompt %d of %zu bytes, %lld tokens", i, prompts[i].bytes, (long long)prompts[i].tokens);
    n_cut += prompts[i].cut;
  }
  assert_int_equal(seen.n_cut, n_cut);
}

static void what_is_read_whole(void **state) {
  (void)state;
  // Any vocabulary, the same size again, a count that says nothing.
  static const struct prompt dense[] = {
      {6000, 2600, false}, {9000, 3900, false}, {9000, 3900, false}, {30000, 12900, false}};
  static const struct prompt sparse[] = {{6000, 1200, false}, {9000, 1790, false}, {40000, 8001, false}};
  static const struct prompt nothing[] = {{6000, 0, false}, {6000, -1, false}, {0, 5, false}};
  // A template's own words, which count more in a short prompt.
  static const struct prompt small[] = {{30, 20, false}, {600, 190, false}, {6000, 1900, false}};
  check(dense, 4);
  check(sparse, 3);
  check(nothing, 3);
  check(small, 3);
}

static void what_is_cut(void **state) {
  (void)state;
  // A context of 4,096: the first prompt that is longer, and those after it.
  static const struct prompt ollama[] = {
      {6000, 1850, false}, {12000, 3700, false}, {14000, 4096, true}, {20000, 4096, true}, {9000, 2800, false}};
  // A context of another size, found by the second prompt of it.
  static const struct prompt odd[] = {{14000, 4000, false}, {17000, 4000, true}};
  static const struct prompt far[] = {{60000, 2047, true}};
  static const struct prompt by_others[] = {{6000, 2000, false}, {24000, 4000, true}};
  check(ollama, 5);
  check(odd, 2);
  check(far, 1);
  check(by_others, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_read_whole),
      cmocka_unit_test(what_is_cut),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
