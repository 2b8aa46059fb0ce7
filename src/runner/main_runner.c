// SPDX-License-Identifier: Apache-2.0
// assay-runner: the process in which a candidate runs. Small on purpose: nothing but the current call's buffers and
// this code is in its address space when the candidate is loaded.
//
//   assay-runner LIBRARY THREADS BUILD  (descriptor 3: the socket to the judge)
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/build_id.h"
#include "runner/serve.h"

typedef void kernel_fn(const struct assay_args *args);

struct library {
  const char *path;
  kernel_fn *kernel;
};

static bool load(void *arg, char *message, size_t bytes) {
  struct library *l = arg;
  void *handle = dlopen(l->path, RTLD_NOW | RTLD_LOCAL);
  void *symbol = handle ? dlsym(handle, "assay_kernel") : NULL;
  if (!handle)
    snprintf(message, bytes, "%s", dlerror());
  else if (!symbol)
    snprintf(message, bytes,
             "the file has no function assay_kernel that others can call; what is called is `void assay_kernel(const "
             "struct assay_args *args)`, of <assay/candidate.h>");
  memcpy(&l->kernel, &symbol, sizeof symbol);
  return symbol != NULL;
}

static bool call(void *arg, const struct assay_args *args, char *message, size_t bytes) {
  const struct library *l = arg;
  (void)message, (void)bytes;
  l->kernel(args);
  return true;
}

int main(int argc, char **argv) {
  if (!build_id_matches(argc == 4 ? argv[3] : NULL, "assay-runner"))
    return 2;
  struct library library = {.path = argv[1]};
  const struct serve_host host = {.arg = &library, .load = load, .call = call};
  return serve(&host, atoi(argv[2]));
}
