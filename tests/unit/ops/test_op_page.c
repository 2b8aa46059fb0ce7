// SPDX-License-Identifier: Apache-2.0
// docs/operators.md is what the operator table says. When it is not, the test leaves the right page in the build folder
// and names the command that puts it in place.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "ops/op.h"

static void test_page_is_current(void **state) {
  (void)state;
  struct buf page;
  struct assay_error err = {0};
  char *have = NULL;
  size_t len = 0;
  buf_init(&page);
  assert_int_equal(op_page(&page, &err), ASSAY_OK);
  enum assay_status status = file_read(ASSAY_SOURCE_DIR "/docs/operators.md", 1 << 22, &have, &len, &err);
  bool same = status == ASSAY_OK && len == page.len && memcmp(have, page.data, len) == 0;
  if (!same)
    assert_int_equal(file_write(ASSAY_BINARY_DIR "/operators.md", page.data, page.len, &err), ASSAY_OK);
  base_free(have);
  buf_release(&page);
  if (!same)
    fail_msg("the page is out of date; run: cp " ASSAY_BINARY_DIR "/operators.md " ASSAY_SOURCE_DIR
             "/docs/operators.md");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_page_is_current)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
