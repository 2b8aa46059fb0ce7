// SPDX-License-Identifier: Apache-2.0
// The host as a device, for tests of device code: options of compute_open_host.
#ifndef HOST_DEVICE_H
#define HOST_DEVICE_H

#include <stdlib.h>

#include "compute/compute.h"

// Compiled code is kept in the folder ASSAY_TEST_CODE_CACHE names, which ctest sets: a dozen tests compile the same
// families. What is cached is keyed by text, compiler and flags.
static inline struct compute_options host_device_options(void) {
  return (struct compute_options){.compiler = "cc", .cache_folder = getenv("ASSAY_TEST_CODE_CACHE"), .threads = 2};
}

#endif
