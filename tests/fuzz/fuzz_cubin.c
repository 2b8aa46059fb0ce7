// SPDX-License-Identifier: Apache-2.0
// modules: plan
// Cubins: any bytes give an error, or a list of kernels, each of which can be read and found by its name.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct arena arena;
  struct cubin_info info;
  struct assay_error err = {0};
  volatile uint64_t sum = 0;
  arena_init(&arena, (size_t)64 << 20);
  if (cubin_read(data, size, &arena, &info, &err)) {
    if (err.message[0] == '\0')
      abort();
    arena_release(&arena);
    return 0;
  }
  for (int i = 0; i < info.n_kernels; i++) {
    const struct cubin_kernel *k = &info.kernels[i];
    uint64_t end = 0;
    if (cubin_find(&info, k->name) != k)
      abort();
    for (int j = 0; j < k->n_parameters; j++) {
      if (k->parameters[j].offset < end || k->parameters[j].size == 0)
        abort();
      end = (uint64_t)k->parameters[j].offset + k->parameters[j].size;
    }
    sum += end + strlen(k->name);
  }
  for (int i = 0; i < info.n_symbols; i++)
    if (!cubin_find_symbol(&info, info.symbols[i].name))
      abort();
  arena_release(&arena);
  return sum == UINT64_MAX; // reading every name and parameter is the point
}
