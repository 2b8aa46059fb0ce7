// SPDX-License-Identifier: Apache-2.0
// modules: report
// Fuzz target: NumPy's .npy files. Whatever can be read must be the same when it is written and read again.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"
#include "report/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// A property that does not hold is a finding like a crash.
static void must(int holds) {
  if (!holds)
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct array first, second;
  struct assay_error err = {0};
  struct buf once = {0}, twice = {0};
  if (npy_read(data, size, "fuzz", &first, &err)) {
    must(err.status != ASSAY_OK && strncmp(err.message, "fuzz: ", 6) == 0);
    return 0;
  }
  must(!npy_write(&first, first.dtype, &once, &err));
  must(!npy_read(once.data, once.len, "fuzz", &second, &err));
  must(first.dtype == second.dtype && shape_equal(&first.shape, &second.shape));
  must(!npy_write(&second, second.dtype, &twice, &err));
  must(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
  array_release(&first);
  array_release(&second);
  buf_release(&once);
  buf_release(&twice);
  return 0;
}
