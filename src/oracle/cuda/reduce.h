// Rows reduced to one number each, for all families whose operators begin with that.
#ifndef ORACLE_CUDA_REDUCE_H
#define ORACLE_CUDA_REDUCE_H

#include "oracle/cuda/rows.h"

#include "oracle/cuda/reduce_args.h" // speaks of what stands in rows.h

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
  device_ptr y;      // a double for each row
};
enum assay_status gpu_reduce(struct gpu_eval *c, const struct gpu_reduction *r, struct assay_error *err);

// How a row is cut so that some 2^19 threads are busy and, where rows are contiguous, neighbours of a part are read
// together. Results do not depend on the device.
int64_t gpu_reduce_parts(const struct gpu_rows *rows);

// The pass's arithmetic with noise of its own.
struct gpu_arith gpu_arith_phase(const struct gpu_eval *c, uint64_t phase);

// The position of each row's extreme, the first or the last of equal ones; rows are not empty. NaN wins. y: int64.
enum assay_status gpu_arg(struct gpu_eval *c, const struct gpu_rows *rows, const struct gpu_ref *x, enum dtype t,
                          bool largest, bool last, device_ptr y, struct assay_error *err);

// Entries of the family that stand in files of their own.
gpu_eval_fn gpu_arg_max_eval, gpu_arg_min_eval, gpu_top_k_eval, gpu_cum_sum_eval, gpu_cum_prod_eval;

#endif
