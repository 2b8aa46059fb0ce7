// SPDX-License-Identifier: Apache-2.0
// All memory that Assay allocates comes from base_realloc. Tests link with `-Wl,--wrap=base_realloc` to count and to
// fail the N-th allocation; the product itself has no hook variable and therefore no mutable global.
#ifndef BASE_ALLOC_H
#define BASE_ALLOC_H

#include <stddef.h>

// Resizes p (NULL: allocates) to n bytes (0 counts as 1). Returns NULL when there is no memory; p is then unchanged.
void *base_realloc(void *p, size_t n);

// base_realloc(NULL, n); the memory is not cleared.
void *base_alloc(size_t n);

// n * size zeroed bytes, or NULL (also when the product overflows).
void *base_calloc(size_t n, size_t size);

// A copy of the first n bytes of s with a NUL after them, or NULL.
char *base_strndup(const char *s, size_t n);

// Frees what the functions above returned; NULL is fine.
void base_free(void *p);

#endif
