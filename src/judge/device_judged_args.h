// SPDX-License-Identifier: Apache-2.0
// Arguments of device_judged.cu. Read by the C compiler (after <stdint.h>) and by the device's compiler.
#ifndef JUDGE_DEVICE_JUDGED_ARGS_H
#define JUDGE_DEVICE_JUDGED_ARGS_H

// How many of n words of 4 bytes are the poison: added to a uint64. Thread t takes the words t, t + threads, ...
struct judged_count_args {
  uint64_t words, count;
  int64_t n, threads;
  uint32_t poison, pad;
};

// A hash for each block of each row (draws.h). unit: bytes of an element.
struct judged_hash_args {
  uint64_t data, hashes;
  int64_t rows, row_bytes, blocks, block_bytes;
  int32_t unit, pad;
};

#endif
