// SPDX-License-Identifier: Apache-2.0
// A task as one call of a vendor's library: a product of matrices as cuBLASLt computes it, or a convolution as cuDNN
// does. The call follows from the graph and the workload's shapes alone. The worker, which has the GPU, measures which
// algorithm is best (toolchain/library.h).
#ifndef JUDGE_LIBRARY_CALL_H
#define JUDGE_LIBRARY_CALL_H

#include "base/buf.h"
#include "task/task.h"

// A matrix as BLAS stores it: column by column.
struct library_matrix {
  int input;       // of the task; -1: not there, or the output
  bool transposed; // what is stored is the transpose of what is multiplied
  int64_t ld;      // elements from one stored column to the next
  int64_t stride;  // elements from one matrix of the batch to the next; 0: all use the same matrix
};

// d = alpha op(a) op(b) + beta c + bias, where op(a) is m x k, op(b) is k x n, and d is m x n. The row-major product of
// a task is transposed here: its rows are n, its columns m.
struct library_product {
  int64_t m, n, k, batch;
  struct library_matrix a, b, c, d;
  double alpha, beta;
  int bias; // an input of m elements, added to every column of d; -1: none
};

// Two or three spatial dimensions; a single one becomes two, of which the first is 1. `pads` is the padding before; how
// much of the padding after is used follows from the extents of y.
enum { LIBRARY_SPACE = 3, LIBRARY_DIMS = LIBRARY_SPACE + 2 };
struct library_convolution {
  bool transposed; // ConvTranspose: the gradient of a convolution with regard to its data
  int space;       // spatial dimensions
  int64_t groups;
  int64_t x[LIBRARY_DIMS], w[LIBRARY_DIMS], y[LIBRARY_DIMS]; // extents, as ONNX has them
  int64_t pads[LIBRARY_SPACE], strides[LIBRARY_SPACE], dilations[LIBRARY_SPACE];
  int x_input, w_input, bias; // inputs of the task; bias -1: none
};

struct library_call {
  enum dtype dtype; // of all tensors: float, float16 or bfloat16; sums are in float
  bool tf32;        // the contract lets inputs of type float be rounded to TF32
  // At least one of them. Both for a convolution with one point, which is also a product of every image with the
  // weights.
  bool has_product, has_convolution;
  struct library_product product;
  struct library_convolution convolution;
};

// Finds the call for a task's graph under a workload. ASSAY_ERR_UNSUPPORTED, with a message for the user, when the
// graph is not one product or one convolution that the libraries have. Other statuses as oracle_infer's.
enum assay_status library_call_of(const struct task *t, const struct workload *w, struct library_call *out,
                                  struct assay_error *err);

// The call as JSON, one object, which src/toolchain/vendor/call.c reads.
enum assay_status library_call_print(const struct library_call *c, struct buf *out, struct assay_error *err);

#endif
