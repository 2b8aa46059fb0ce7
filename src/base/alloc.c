// SPDX-License-Identifier: Apache-2.0
#include "base/alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *base_alloc(size_t n) {
  return base_realloc(NULL, n);
}

void *base_calloc(size_t n, size_t size) {
  if (size != 0 && n > SIZE_MAX / size)
    return NULL;
  void *p = base_realloc(NULL, n * size);
  return p ? memset(p, 0, n * size) : NULL;
}

char *base_strndup(const char *s, size_t n) {
  char *p = base_realloc(NULL, n + 1);
  if (!p)
    return NULL;
  memcpy(p, s, n);
  p[n] = '\0';
  return p;
}

void base_free(void *p) {
  free(p);
}
