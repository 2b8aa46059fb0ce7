// SPDX-License-Identifier: Apache-2.0
// Flushing memory from the CPU's caches, for measurements that start with cold caches.
#ifndef BASE_CACHE_FLUSH_H
#define BASE_CACHE_FLUSH_H

#include <stddef.h>

// Removes the n bytes from every cache of the machine. Where the machine has no such instruction for programs, the
// caches are filled with other memory instead.
void cache_flush(const void *bytes, size_t n);

#endif
