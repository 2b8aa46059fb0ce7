// SPDX-License-Identifier: Apache-2.0
// modules: judge
// The comment lines of candidates: any bytes give directives or an error with a line, never a crash.
#include <stddef.h>
#include <stdint.h>

#include "judge/directives.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct arena arena;
  struct directives d;
  struct assay_error err = {0};
  arena_init(&arena, (size_t)16 << 20);
  if (directives_read((const char *)data, size, &arena, &d, &err) == ASSAY_OK && d.n_twins < 1)
    __builtin_trap();
  arena_release(&arena);
  return 0;
}
