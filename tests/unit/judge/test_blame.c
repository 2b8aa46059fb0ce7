// SPDX-License-Identifier: Apache-2.0
// A candidate that found no memory on a GPU which others had is not to blame.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "judge/blame.h"

static const size_t GB = 1000000000;

static void words_of_those_that_found_none(void **state) {
  (void)state;
  static const char *const about[] = {
      "candidate.py:14:1: error: OutOfMemoryError: CUDA out of memory. Tried to allocate 32.00 GiB. GPU 0 has",
      "the device has no memory for two sets of the task's tensors, which recording takes",
      "RuntimeError: The tensor has a non-zero number of elements, but its data is not allocated yet. If you're",
      "RuntimeError: GET was unable to find an engine to execute this computation",
      "cuBLAS error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate(handle)"};
  for (size_t i = 0; i < sizeof about / sizeof *about; i++) {
    assert_true(blame_lacks_memory(ASSAY_REASON_RAISED, about[i]));
    assert_true(blame_lacks_memory(ASSAY_REASON_LOAD_FAILED, about[i]));
    assert_false(blame_lacks_memory(ASSAY_REASON_WRONG_VALUE, about[i]));
    assert_false(blame_lacks_memory(ASSAY_REASON_PASS, about[i]));
  }
  assert_false(blame_lacks_memory(ASSAY_REASON_RAISED, "CUDA error: an illegal memory access was encountered"));
  assert_false(blame_lacks_memory(ASSAY_REASON_RAISED, "ValueError: 3 is not in range"));
}

static void others_have_what_is_neither_free_nor_ours(void **state) {
  (void)state;
  assert_int_equal(blame_others(&(struct compute_memory){.total = 80 * GB, .available = 79 * GB}), 0);
  assert_int_equal(blame_others(&(struct compute_memory){.total = 80 * GB, .available = 71 * GB}), 0);
  assert_int_equal(blame_others(&(struct compute_memory){.total = 80 * GB, .available = 60 * GB}), 20 * GB);
  assert_int_equal(blame_others(&(struct compute_memory){.total = 80 * GB, .available = 2 * GB, .in_use = 70 * GB}), 0);
  assert_int_equal(blame_others(&(struct compute_memory){.total = 8 * GB, .available = 5 * GB}), 0);
  assert_int_equal(blame_others(&(struct compute_memory){.total = 8 * GB, .available = 3 * GB}), 5 * GB);
  assert_int_equal(blame_others(&(struct compute_memory){.total = 8 * GB, .available = 9 * GB}), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(words_of_those_that_found_none),
                                     cmocka_unit_test(others_have_what_is_neither_free_nor_ours)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
