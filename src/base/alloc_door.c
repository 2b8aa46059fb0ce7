// SPDX-License-Identifier: Apache-2.0
// A file of its own, apart from alloc.c, so that a test can wrap this one symbol and see every allocation.
#include "base/alloc.h"

#include <stdlib.h>

void *base_realloc(void *p, size_t n) {
  return realloc(p, n ? n : 1);
}
