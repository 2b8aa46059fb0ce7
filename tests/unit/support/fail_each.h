// SPDX-License-Identifier: Apache-2.0
// Every allocation of an action fails once. The test that includes it links with --wrap=base_realloc, and cmocka.h
// stands before it.
#ifndef SUPPORT_FAIL_EACH_H
#define SUPPORT_FAIL_EACH_H

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

static long fail_at, calls; // the fail_at-th call from now fails; 0: none

void *__real_base_realloc(void *p, size_t n);
void *__wrap_base_realloc(void *p, size_t n);
void *__wrap_base_realloc(void *p, size_t n) {
  calls++;
  return calls == fail_at ? NULL : __real_base_realloc(p, n);
}

typedef enum assay_status action(void *arg, struct assay_error *err);

// Runs the action until it meets no failing allocation any more; at least `least` of them must have failed before.
static void fail_each(action *act, void *arg, int least) {
  for (long n = 1;; n++) {
    struct assay_error err = {0};
    calls = 0;
    fail_at = n;
    enum assay_status status = act(arg, &err);
    fail_at = 0;
    if (calls < n) {
      assert_int_equal(status, ASSAY_OK);
      assert_true(n > least);
      return;
    }
    assert_int_equal(status, ASSAY_ERR_NOMEM);
    assert_int_equal(err.status, ASSAY_ERR_NOMEM);
    assert_non_null(strstr(err.message, "out of memory"));
  }
}

#endif
