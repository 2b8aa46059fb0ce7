// SPDX-License-Identifier: Apache-2.0
// What the fake libraries ask of the fake GPU.
#ifndef TESTS_FAKE_VENDOR_FAKE_H
#define TESTS_FAKE_VENDOR_FAKE_H

#include <stddef.h>
#include <stdint.h>

// A module of device code, as a library loads it.
__attribute__((visibility("default"))) void fake_load(const void *cubin, size_t n);
// A launch of one of its kernels, after which calls take so long.
__attribute__((visibility("default"))) void fake_launch(uintptr_t function, const char *name, void **arguments,
                                                        float ms);

#endif
