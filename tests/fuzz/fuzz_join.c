// SPDX-License-Identifier: Apache-2.0
// modules: model
// A reply that was cut off and its rest: whatever both are, what was there stays, and an end of the rest follows.
// The input is the two, with the first zero byte between them.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/join.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
  size_t n = zero ? (size_t)(zero - data) : size, n_rest = zero ? size - n - 1 : 0;
  struct assay_error err = {0};
  struct buf text = {0};
  char *rest = malloc(n_rest ? n_rest : 1); // a copy, so that a step beyond it is seen
  if (!rest)
    return 0;
  if (n_rest)
    memcpy(rest, data + size - n_rest, n_rest);
  if (n)
    buf_append(&text, data, n);
  if (model_join(&text, rest, n_rest, &err) == ASSAY_OK) {
    size_t added = text.len - n;
    if (text.len < n || added > n_rest || (n && memcmp(text.data, data, n) != 0) ||
        (added && memcmp(text.data + n, rest + n_rest - added, added) != 0))
      __builtin_trap();
  }
  free(rest);
  buf_release(&text);
  return 0;
}
