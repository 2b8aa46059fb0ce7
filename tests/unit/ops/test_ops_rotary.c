// SPDX-License-Identifier: Apache-2.0
// RotaryEmbedding: angles that turn by quarters, both layouts and pairings, positions, partial rotation, errors.
#include "op_call.h"

// One batch, two positions, a head of four: at position 0 nothing turns, at position 1 a quarter of a circle.
static const double quarter_cos[] = {1, 1, 0, 0}, quarter_sin[] = {0, 0, 1, 1};
static const double count8[] = {1, 2, 3, 4, 5, 6, 7, 8};

static void test_pairs(void **state) {
  (void)state;
  struct call c;
  for (int interleaved = 0; interleaved < 2; interleaved++) {
    call_begin(&c, "RotaryEmbedding", 23);
    call_attr_int(&c, "interleaved", interleaved);
    call_f(&c, "1,1,2,4", count8);
    call_f(&c, "1,2,2", quarter_cos);
    call_f(&c, "1,2,2", quarter_sin);
    call_run(&c, 1);
    call_check_f(&c, 0, "1,1,2,4", interleaved ? D(1, 2, 3, 4, -6, 5, -8, 7) : D(1, 2, 3, 4, -7, -8, 5, 6));
    call_end(&c);
  }
}

// Two heads of two: behind each other, and within a row; the caches are chosen by position.
static void test_layouts(void **state) {
  (void)state;
  struct call c;
  call_begin(&c, "RotaryEmbedding", 23);
  call_f(&c, "1,2,2,2", count8);
  call_f(&c, "2,1", D(1, 0));
  call_f(&c, "2,1", D(0, 1));
  call_i(&c, "1,2", I(1, 0));
  call_run(&c, 1);
  call_check_f(&c, 0, "1,2,2,2", D(-2, 1, 3, 4, -6, 5, 7, 8)); // position 1 comes first in both heads
  call_end(&c);
  call_begin(&c, "RotaryEmbedding", 23);
  call_attr_int(&c, "num_heads", 2);
  call_f(&c, "1,2,4", count8);
  call_f(&c, "2,1", D(1, 0));
  call_f(&c, "2,1", D(0, 1));
  call_i(&c, "1,2", I(1, -2));
  call_run(&c, 1);
  call_check_f(&c, 0, "1,2,4", D(-2, 1, -4, 3, 5, 6, 7, 8));
  call_end(&c);
}

static void test_partial(void **state) {
  (void)state;
  struct call c;
  call_begin(&c, "RotaryEmbedding", 23);
  call_attr_int(&c, "rotary_embedding_dim", 2);
  call_f(&c, "2,1,1,4", count8);
  call_f(&c, "2,1,1", D(0.6, 0));
  call_f(&c, "2,1,1", D(0.8, 1));
  call_run(&c, 1);
  call_check_f(&c, 0, "2,1,1,4", D(0.6 * 1 - 0.8 * 2, 0.8 * 1 + 0.6 * 2, 3, 4, -6, 5, 7, 8));
  call_end(&c);
  call_begin(&c, "RotaryEmbedding", 23); // nothing to turn
  call_f(&c, "1,0,3,4", D(0));
  call_f(&c, "5,2", D(0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
  call_f(&c, "5,2", D(0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
  call_i(&c, "1,3", I(0, 1, 4));
  call_run(&c, 1);
  call_check_shape(&c, 0, "1,0,3,4");
  call_end(&c);
}

static void fails(const char *x, const char *cache, const char *positions, const char *text) {
  struct call c;
  static const double zeros[64] = {0};
  static const int64_t far[8] = {0, 9};
  call_begin(&c, "RotaryEmbedding", 23);
  call_f(&c, x, zeros);
  call_f(&c, cache, zeros);
  call_f(&c, cache, zeros);
  if (positions)
    call_i(&c, positions, far);
  call_fails(&c, 1, ASSAY_ERR_INVALID, text);
}

static void test_errors(void **state) {
  (void)state;
  fails("1,2,4", "1,2,2", NULL, "num_heads");
  fails("1,1,2,3", "1,2,1", NULL, "in pairs");
  fails("1,1,2,4", "1,2,3", NULL, "2 entries");
  fails("1,1,2,4", "2,2", NULL, "batches and positions");
  fails("1,1,2,4", "4,2", "1,3", "the positions have the shape [1,3], not [1,2]");
  fails("1,1,2,4", "4,2", "1,2", "index 9 is outside");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pairs),
      cmocka_unit_test(test_layouts),
      cmocka_unit_test(test_partial),
      cmocka_unit_test(test_errors),
  };
  return cmocka_run_group_tests_name("RotaryEmbedding", tests, NULL, NULL);
}
