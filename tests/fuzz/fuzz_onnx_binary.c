// SPDX-License-Identifier: Apache-2.0
// modules: onnx
// Fuzz target: binary ONNX models and tensors. Whatever can be read must survive being written and read again, in
// both formats.
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

static void read_tensor(const uint8_t *data, size_t size) {
  struct arena arena = {0};
  struct tensor t;
  struct assay_error err = {0};
  if (onnx_read_tensor(data, size, "fuzz", &arena, &t, &err))
    must(err.status != ASSAY_OK && strncmp(err.message, "fuzz: ", 6) == 0);
  arena_release(&arena);
}

static void write_and_read(const struct model *m) {
  struct model again, from_text;
  struct assay_error err = {0};
  struct buf once, twice, text;
  buf_init(&once), buf_init(&twice), buf_init(&text);
  must(!onnx_write_binary(m, &once, &err));
  must(!onnx_read_binary(once.data, once.len, "fuzz", &again, &err));
  must(!onnx_write_binary(&again, &twice, &err));
  must(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
  must(!onnx_print_text(m, &text, &err));
  must(!onnx_parse_text(text.data, text.len, "fuzz", &from_text, &err));
  model_release(&again);
  model_release(&from_text);
  buf_release(&once), buf_release(&twice), buf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct model m;
  struct assay_error err = {0};
  read_tensor(data, size);
  if (onnx_read_binary(data, size, "fuzz", &m, &err)) {
    must(err.status != ASSAY_OK && strncmp(err.message, "fuzz: ", 6) == 0);
    return 0;
  }
  write_and_read(&m);
  model_release(&m);
  return 0;
}
