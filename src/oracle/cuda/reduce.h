// SPDX-License-Identifier: Apache-2.0
// Rows reduced to one number each, for all operators that begin with that.
#ifndef ORACLE_CUDA_REDUCE_H
#define ORACLE_CUDA_REDUCE_H

#include "oracle/cuda/rows.h"

#include "oracle/cuda/reduce_args.h" // uses types of rows.h

// What of each element is taken in; names of kernels in reduce.cu, and their numbers there.
enum gpu_term {
  GPU_TERM_VALUE,
  GPU_TERM_MAGNITUDE,
  GPU_TERM_SQUARE,
  GPU_TERM_EXPONENTIAL, // of x - shift
  GPU_TERM_MAX,
  GPU_TERM_MIN,
  GPU_TERM_PRODUCT,
  GPU_TERM_DEVIATION, // the square of x - shift
  GPU_TERM_SOFTMAX,   // as EXPONENTIAL; the terms (or x - shift) are kept
};

struct gpu_reduction {
  struct gpu_rows rows;
  struct gpu_ref x;
  enum gpu_term term;
  int finish;        // REDUCE_FINISH_*
  uint64_t phase;    // different for every reduction of a node: its noise is then another
  device_ptr shift;  // a double for each row, or 0
  device_ptr terms;  // SOFTMAX: doubles laid out as x; may be x
  bool keep_shifted; // SOFTMAX: keep x - shift
  int one_lane;      // how often what one accumulator loses counts, where the pass asks for it (ops/arith.h)
  device_ptr y;      // a double for each row
};
enum assay_status gpu_reduce(struct gpu_eval *c, const struct gpu_reduction *r, struct assay_error *err);

// How a row is cut so that some 2^19 threads are busy and, where rows are contiguous, neighbours of a part are read
// together. Results do not depend on the device.
int64_t gpu_reduce_parts(const struct gpu_rows *rows);

// The pass's arithmetic with noise of its own.
struct gpu_arith gpu_arith_phase(const struct gpu_eval *c, uint64_t phase);

// The position of each row's extreme; rows are not empty. A NaN counts as the extreme. y: int64.
struct gpu_extreme {
  struct gpu_rows rows;
  struct gpu_ref x;
  enum dtype dtype; // of x
  bool largest;     // or the smallest
  bool last;        // of equal elements the last, not the first
};
enum assay_status gpu_arg(struct gpu_eval *c, const struct gpu_extreme *e, device_ptr y, struct assay_error *err);

#endif
