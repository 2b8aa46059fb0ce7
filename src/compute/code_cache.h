// SPDX-License-Identifier: Apache-2.0
// Compiled device code on disk, found by what it was made from. Shared by processes; damage is noticed and looks like a
// missing entry, so that the code is made again.
#ifndef COMPUTE_CODE_CACHE_H
#define COMPUTE_CODE_CACHE_H

#include <stddef.h>

#include "base/error.h"
#include "base/hash.h"

// The name of an entry: a hash over all parts (NULL-terminated) and their lengths.
enum assay_status code_cache_key(const char *const *parts, char key[HASH_HEX_BYTES], struct assay_error *err);

// The entry's bytes (base_free). ASSAY_ERR_NOT_FOUND when there is none, when it is damaged, or when folder is NULL.
enum assay_status code_cache_read(const char *folder, const char *key, char **data, size_t *n, struct assay_error *err);

// Keeps an entry; the folder is made if missing. The cache is a convenience: a failure is the caller's to ignore.
enum assay_status code_cache_write(const char *folder, const char *key, const void *data, size_t n,
                                   struct assay_error *err);

#endif
