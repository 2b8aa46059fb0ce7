// SPDX-License-Identifier: Apache-2.0
// Arguments of the kernel that checks bands. Read by the C compiler (after <stdint.h>) and by the device's compiler.
#ifndef DEVICE_SHARED_ARGS_H
#define DEVICE_SHARED_ARGS_H

struct bands_args {
  uint64_t base, result; // result: uint32_t, counts damaged words and bytes
  int64_t front_words;   // before the data
  int64_t end, behind;   // where the data ends, and bytes after it
  uint32_t pattern, pad;
};

#endif
