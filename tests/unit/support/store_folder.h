// SPDX-License-Identifier: Apache-2.0
// A store in a folder of its own, for the tests of one program.
#ifndef SUPPORT_STORE_FOLDER_H
#define SUPPORT_STORE_FOLDER_H

#include <stdio.h>

#include "base/alloc.h"
#include "sandbox/sandbox.h"
#include "store/store.h"

static char *folder;
static struct store *store;

static int store_folder_open(void **state) {
  (void)state;
  char path[4096];
  struct assay_error err = {0};
  if (sandbox_folder_make("/tmp", &folder, &err) != ASSAY_OK)
    return -1;
  snprintf(path, sizeof path, "%s/store.sqlite", folder);
  return store_open(path, &store, &err) == ASSAY_OK ? 0 : -1;
}

static int store_folder_remove(void **state) {
  (void)state;
  store_close(store);
  sandbox_folder_remove(folder);
  base_free(folder);
  return 0;
}

#endif
