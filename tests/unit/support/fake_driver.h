// SPDX-License-Identifier: Apache-2.0
// What the fake CUDA driver counts, and how it is to behave.
#ifndef TESTS_FAKE_DRIVER_H
#define TESTS_FAKE_DRIVER_H

#include <stddef.h>
#include <stdint.h>

struct fake_driver {
  int capability; // 90: 9.0
  int device;     // of the context
  size_t memory, used;
  int param_bytes, max_threads;                                    // of every kernel
  int contexts, streams, modules, handles, reservations, mappings; // there now
  int allocations, frees, launches;                                // ever
  unsigned grid, block; // of the last launch, and the first word of its argument
  uint64_t first_word;
  char image[8];                           // the beginning of the last module
  int fail_launch, fail_sync, fail_access; // results to give
};

#endif
