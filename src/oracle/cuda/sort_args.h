// SPDX-License-Identifier: Apache-2.0
// Arguments of sort.cu. Read by both sides.
#ifndef ORACLE_CUDA_SORT_ARGS_H
#define ORACLE_CUDA_SORT_ARGS_H

// One step of a bitonic sort of rows of `padded` (a power of two) pairs: elements `apart` from each other are compared,
// in runs of `run` that go up and down by turns.
struct sort_args {
  uint64_t keys, values; // uint64, int64
  int64_t pairs;         // half the number of all elements
  int64_t padded, run, apart;
};

#endif
