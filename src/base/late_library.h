// SPDX-License-Identifier: Apache-2.0
// A shared library that is loaded when it is first used: what a command never asks for does not cost its start.
#ifndef BASE_LATE_LIBRARY_H
#define BASE_LATE_LIBRARY_H

#include "base/error.h"

struct late_library {
  const char *name, *package; // "libcurl.so.4"; what to install, in Debian's words
  void *_Atomic handle;       // NULL: not loaded yet
};

// Loads it, from any thread. ASSAY_ERR_ENVIRONMENT names the package that is missing. Who is about to use the library
// asks first; it is never unloaded.
enum assay_status late_library_load(struct late_library *l, struct assay_error *err);

// Its function of that name; NULL where there is no such library or function.
void *late_library_function(struct late_library *l, const char *name);

#endif
