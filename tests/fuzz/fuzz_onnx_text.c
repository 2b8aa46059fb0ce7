// SPDX-License-Identifier: Apache-2.0
// modules: onnx
// Fuzz target: models in ONNX's textual syntax. Whatever can be read must survive printing and reading again.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/onnx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// A property that does not hold is a finding like a crash.
static void must(int holds) {
  if (!holds)
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct model first, second;
  struct assay_error err = {0};
  struct buf once, twice;
  if (onnx_parse_text((const char *)data, size, "fuzz", &first, &err)) {
    must(err.status != ASSAY_OK && strncmp(err.message, "fuzz: ", 6) == 0);
    return 0;
  }
  buf_init(&once);
  buf_init(&twice);
  must(!onnx_print_text(&first, &once, &err));
  must(!onnx_parse_text(once.data, once.len, "fuzz", &second, &err));
  must(!onnx_print_text(&second, &twice, &err));
  must(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
  model_release(&first);
  model_release(&second);
  buf_release(&once);
  buf_release(&twice);
  return 0;
}
