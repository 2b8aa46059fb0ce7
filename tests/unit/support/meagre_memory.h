// SPDX-License-Identifier: Apache-2.0
// Memory that ends, Assay's and SQLite's together. The test that includes it links with --wrap=base_realloc.
#ifndef SUPPORT_MEAGRE_MEMORY_H
#define SUPPORT_MEAGRE_MEMORY_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static int64_t allocations_left = -1; // -1: no limit
static sqlite3_mem_methods real_memory;

static bool may_allocate(void) {
  if (allocations_left == 0)
    return false;
  if (allocations_left > 0)
    allocations_left--;
  return true;
}

void *__real_base_realloc(void *p, size_t n);
void *__wrap_base_realloc(void *p, size_t n);
void *__wrap_base_realloc(void *p, size_t n) {
  return may_allocate() ? __real_base_realloc(p, n) : NULL;
}

static void *meagre_malloc(int n) {
  return may_allocate() ? real_memory.xMalloc(n) : NULL;
}

static void *meagre_realloc(void *p, int n) {
  return may_allocate() ? real_memory.xRealloc(p, n) : NULL;
}

// Before SQLite is used.
static void make_memory_meagre(void) {
  sqlite3_mem_methods meagre;
  sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_memory);
  meagre = real_memory;
  meagre.xMalloc = meagre_malloc;
  meagre.xRealloc = meagre_realloc;
  sqlite3_config(SQLITE_CONFIG_MALLOC, &meagre);
}

#endif
