// SPDX-License-Identifier: Apache-2.0
// Private to src/toolchain: what a Python candidate compiled as extensions, kept from one build of the file to the
// next.
//
// Importing the candidate compiles them, so whatever is in the build's folder may be the candidate's own doing. An
// entry is therefore found by all of the candidate's source, by what it was built with and how, and never by what an
// extension says of itself: a file can spoil its own entry, and no other's. The judge alone writes entries, after the
// build and all that it left running have ended; no child can reach the cache.
//
// Kept are the libraries and the line that worker.py wrote of what they were made with (`extensions/made_with`). It is
// there only if every extension was made of text in the source (load_inline); files could change unseen.
//
// On a GPU a worker that knows of no workload compiles them (python_lift.c), for another file's or another GPU's are
// not these.
#ifndef TOOLCHAIN_PYTHON_KEEP_H
#define TOOLCHAIN_PYTHON_KEEP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/hash.h"
#include "toolchain/python.h"

enum { PYTHON_KEEP_FILES = 64, PYTHON_KEEP_BYTES = 128 << 20 };

struct python_kept {
  const char *source;
  size_t bytes;
  const char *const *defines;
  const char *gpu; // "sm_90a"; NULL: for the CPU
};

// Whether the source speaks of extensions at all.
bool python_keep_asked(const char *source, size_t n);

// The entry's name. p->script is worker.py, whose text counts.
enum assay_status python_keep_key(const struct python_place *p, const struct python_kept *k, char key[HASH_HEX_BYTES],
                                  struct assay_error *err);

// Puts what was kept into FOLDER/extensions; false where there is nothing, and the folder is as it was or has parts.
bool python_keep_restore(const char *cache, const char *key, const char *folder);
bool python_keep_is_there(const char *folder); // and was not found to be of another compiler since

// Keeps what is in FOLDER/extensions if it may be kept. A link, or a file with other names, is not followed. Failing
// only costs time later.
void python_keep_store(const char *cache, const char *key, const char *folder);

#endif
