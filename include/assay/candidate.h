// SPDX-License-Identifier: Apache-2.0
// The contract between Assay and a C kernel for the CPU. This is the only header a candidate includes.
//
//   // assay: task kernelbench/1/19
//   #include <assay/candidate.h>
//   void assay_kernel(const struct assay_args *args) {
//     const float *x = args->inputs[0].data;
//     float *y = args->outputs[0].data;
//     int64_t n = assay_count(&args->inputs[0]);
//     for (int64_t i = 0; i < n; i++)
//       y[i] = x[i] < 0 ? 0 : x[i];
//   }
//
// Destination-passing style: outputs are buffers that belong to the judge. They hold garbage when the kernel is called
// and must be written whole. Inputs are mapped read-only. The kernel is called many times, each time with fresh
// contents, and sometimes with other shapes; it returns when the outputs are complete and nothing of it is still
// running. It runs without files, network, child processes and signals to others: a system call outside memory,
// threads and time ends it.
#ifndef ASSAY_CANDIDATE_H
#define ASSAY_CANDIDATE_H

#include <stddef.h>
#include <stdint.h>

#define ASSAY_ABI_VERSION 1
#define ASSAY_ALIGNMENT 64 // data is aligned to this many bytes

// Element types (ONNX's numbers).
enum assay_dtype {
  ASSAY_FLOAT = 1,
  ASSAY_UINT8 = 2,
  ASSAY_INT8 = 3,
  ASSAY_INT32 = 6,
  ASSAY_INT64 = 7,
  ASSAY_BOOL = 9, // one byte, 0 or 1
  ASSAY_FLOAT16 = 10,
  ASSAY_DOUBLE = 11,
  ASSAY_BFLOAT16 = 16,
};

struct assay_tensor {
  void *data;             // of an input: read-only
  const int64_t *dims;    // extents, `rank` of them
  const int64_t *strides; // in elements; today always dense and row-major
  int32_t rank;           // 0: a scalar, one element
  int32_t dtype;          // enum assay_dtype
};

struct assay_args {
  uint32_t abi_version; // ASSAY_ABI_VERSION
  int32_t n_inputs, n_outputs;
  int32_t threads;                   // processors the kernel may use, itself included
  const struct assay_tensor *inputs; // in the order of the task's graph
  const struct assay_tensor *outputs;
  // Calls body(arg, begin, end) with disjoint ranges that cover [0, n), on up to `threads` threads that Assay keeps
  // ready; returns when all are done. A kernel may also make threads of its own if it joins them before it returns.
  void (*parallel)(const struct assay_args *args, int64_t n, void (*body)(void *arg, int64_t begin, int64_t end),
                   void *arg);
};

// The entry point that the candidate defines.
void assay_kernel(const struct assay_args *args);

static inline int64_t assay_count(const struct assay_tensor *t) {
  int64_t n = 1;
  for (int32_t i = 0; i < t->rank; i++)
    n *= t->dims[i];
  return n;
}

#endif
