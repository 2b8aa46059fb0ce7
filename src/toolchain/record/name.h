// SPDX-License-Identifier: Apache-2.0
// Private to src/toolchain: kernels' names for people. Part of assay-recorder too.
#ifndef TOOLCHAIN_RECORD_NAME_H
#define TOOLCHAIN_RECORD_NAME_H

#include <stddef.h>

// The name that a kernel has in the source, as far as its mangled one is simple: "_Z4reluPKfPfx" is "relu", and of a
// nested name the last part. Returns its beginning in `mangled` and its length; the whole when it is not simple.
const char *record_short_name(const char *mangled, int *length);

#endif
