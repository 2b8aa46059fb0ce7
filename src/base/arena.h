// SPDX-License-Identifier: Apache-2.0
// Memory that is dropped all at once: one arena per evaluation, per parsed file, per verdict.
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

#include "base/error.h"

struct arena_block;

// Zero-initialise ({0}) or call arena_init. Not thread-safe.
struct arena {
  struct arena_block *blocks;
  size_t used_bytes;  // handed out so far
  size_t limit_bytes; // 0: none; beyond it arena_alloc returns NULL
};

void arena_init(struct arena *a, size_t limit_bytes);
void arena_release(struct arena *a); // frees everything; the arena may be used again

// n zeroed bytes, aligned to 64 when n >= 64 and to 16 otherwise; NULL when memory or the limit is exhausted.
void *arena_alloc(struct arena *a, size_t n);

// n * size zeroed bytes; NULL also when the product overflows.
void *arena_calloc(struct arena *a, size_t n, size_t size);

char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_strdup(struct arena *a, const char *s);
char *arena_printf(struct arena *a, const char *fmt, ...) ASSAY_PRINTF(2, 3);

// The first `count` elements of `old` in a new place with room for `*capacity` doubled (at least 8): a growing array
// inside an arena (the old place stays until the arena goes). Returns NULL on exhaustion and leaves *capacity alone.
void *arena_grow(struct arena *a, const void *old, size_t count, size_t *capacity, size_t size);

#endif
