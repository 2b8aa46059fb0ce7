// SPDX-License-Identifier: Apache-2.0
// modules: task
// Files of weights: whatever the bytes, reading gives tensors that lie within them, or an error with a message.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "task/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds) {
  if (!holds)
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct assay_error err = {0};
  struct safetensors s;
  size_t head;
  if (safetensors_head_bytes(data, size, "fuzz", &head, &err) || safetensors_read(data, head, size, "fuzz", &s, &err)) {
    must(strncmp(err.message, "fuzz: ", 6) == 0);
    return 0;
  }
  unsigned sum = 0;
  for (int i = 0; i < s.n; i++) {
    const struct safetensor *t = &s.tensors[i];
    must(t->at <= size && t->bytes <= size - t->at && t->name);
    must(t->dtype == DTYPE_UNDEFINED || t->bytes == (size_t)shape_count(&t->shape) * dtype_bytes(t->dtype));
    for (size_t b = 0; b < t->bytes; b++)
      sum += data[t->at + b]; // a sanitizer sees what is outside
  }
  must(sum < UINT32_MAX || size > 0);
  safetensors_release(&s);
  return 0;
}
