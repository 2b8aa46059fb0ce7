// SPDX-License-Identifier: Apache-2.0
#include "base/late_library.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

// Of two threads that load at once both have the same library.
static void *load(struct late_library *l) {
  void *loaded = atomic_load(&l->handle);
  if (!loaded && (loaded = dlopen(l->name, RTLD_NOW | RTLD_LOCAL)))
    atomic_store(&l->handle, loaded);
  return loaded;
}

enum assay_status late_library_load(struct late_library *l, struct assay_error *err) {
  if (load(l))
    return ASSAY_OK;
  return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot load %s: %s; install %s", l->name, dlerror(), l->package);
}

void *late_library_function(struct late_library *l, const char *name) {
  void *loaded = load(l);
  return loaded ? dlsym(loaded, name) : NULL;
}
