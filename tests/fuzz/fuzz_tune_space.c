// SPDX-License-Identifier: Apache-2.0
// modules: tune
// Parameters of candidates: any bytes give a space whose sources can be written, or an error with a line.
#include <stddef.h>
#include <stdint.h>

#include "tune/space.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const struct plan_symbol symbols[] = {{"M", 64}};
  struct arena arena;
  struct tune_space s;
  struct assay_error err = {0};
  int64_t *order, n;
  const char *text = (const char *)data;
  arena_init(&arena, (size_t)16 << 20);
  if (tune_space_read("k.c", text, size, &arena, &s, &err) == ASSAY_OK && s.size <= 256 &&
      tune_space_order(&s, &(struct tune_order){"k.c", symbols, 1, 1}, &arena, &order, &n, &err) == ASSAY_OK) {
    const char *values[TUNE_MOST_PARAMETERS];
    struct buf out = {0};
    tune_space_pick(&s, order[n - 1], values);
    tune_space_source(&s, text, size, values, &out);
    if (n < 1 || n > s.size || out.failed)
      __builtin_trap();
    buf_release(&out);
  }
  arena_release(&arena);
  return 0;
}
