// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

enum { BLOCK_BYTES = 1 << 16, BIG_ALIGN = 64, SMALL_ALIGN = 16 };

struct arena_block {
  struct arena_block *next;
  size_t size, used;
  _Alignas(SMALL_ALIGN) unsigned char bytes[];
};

void arena_init(struct arena *a, size_t limit_bytes) {
  memset(a, 0, sizeof *a);
  a->limit_bytes = limit_bytes;
}

void arena_release(struct arena *a) {
  while (a->blocks) {
    struct arena_block *next = a->blocks->next;
    base_free(a->blocks);
    a->blocks = next;
  }
  a->used_bytes = 0;
}

// The offset in the block at which n bytes with this alignment would start.
static size_t block_offset(const struct arena_block *b, size_t align) {
  uintptr_t at = (uintptr_t)(b->bytes + b->used);
  return b->used + (size_t)((align - at % align) % align);
}

static struct arena_block *block_new(struct arena *a, size_t need) {
  size_t size = need > BLOCK_BYTES ? need : BLOCK_BYTES;
  struct arena_block *b = base_alloc(sizeof *b + size);
  if (!b)
    return NULL;
  b->size = size;
  b->used = 0;
  // A block made for one big object goes after the current one, which still has room for small ones.
  if (need > BLOCK_BYTES && a->blocks) {
    b->next = a->blocks->next;
    a->blocks->next = b;
  } else {
    b->next = a->blocks;
    a->blocks = b;
  }
  return b;
}

void *arena_alloc(struct arena *a, size_t n) {
  size_t align = n >= BIG_ALIGN ? BIG_ALIGN : SMALL_ALIGN;
  if (n > SIZE_MAX / 2 || (a->limit_bytes && n > a->limit_bytes - a->used_bytes))
    return NULL;
  struct arena_block *b = a->blocks;
  if (!b || block_offset(b, align) + n > b->size) {
    b = block_new(a, n + align);
    if (!b)
      return NULL;
  }
  size_t at = block_offset(b, align);
  b->used = at + n;
  a->used_bytes += n;
  return memset(b->bytes + at, 0, n);
}

void *arena_calloc(struct arena *a, size_t n, size_t size) {
  if (size != 0 && n > SIZE_MAX / size)
    return NULL;
  return arena_alloc(a, n * size);
}

char *arena_strndup(struct arena *a, const char *s, size_t n) {
  char *p = arena_alloc(a, n + 1);
  if (p)
    memcpy(p, s, n);
  return p;
}

char *arena_strdup(struct arena *a, const char *s) {
  return arena_strndup(a, s, strlen(s));
}

char *arena_printf(struct arena *a, const char *fmt, ...) {
  va_list ap, again;
  va_start(ap, fmt);
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, ap);
  va_end(ap);
  char *p = n < 0 ? NULL : arena_alloc(a, (size_t)n + 1);
  if (p)
    vsnprintf(p, (size_t)n + 1, fmt, again);
  va_end(again);
  return p;
}

void *arena_grow(struct arena *a, const void *old, size_t count, size_t *capacity, size_t size) {
  size_t more = *capacity < 8 ? 8 : *capacity * 2;
  void *p = arena_calloc(a, more, size);
  if (!p)
    return NULL;
  if (count)
    memcpy(p, old, count * size);
  *capacity = more;
  return p;
}
