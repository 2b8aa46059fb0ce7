// A task as one call of a vendor's library: a product of matrices as cuBLASLt computes it, or a convolution as cuDNN
// does. What the call is follows from the graph and the workload's shapes alone; which algorithm is best is for the
// worker to measure, where the GPU is (toolchain/library.h).
#ifndef JUDGE_LIBRARY_CALL_H
#define JUDGE_LIBRARY_CALL_H

#include "base/buf.h"
#include "task/task.h"

// A matrix as BLAS has it: column by column, neighbours within a column beside each other.
struct library_matrix {
  int input;       // of the task; -1: not there, or the output
  bool transposed; // what is stored is the transpose of what is multiplied
  int64_t ld;      // elements from one stored column to the next
  int64_t stride;  // elements from one of the batch to the next; 0: all use the same
};

// d = alpha op(a) op(b) + beta c + bias, where op(a) is m x k, op(b) is k x n, and d is m x n. A task's own row-major
// product is the transposed one here: its rows are n, its columns m.
struct library_product {
  int64_t m, n, k, batch;
  struct library_matrix a, b, c, d;
  double alpha, beta;
  int bias; // an input of m elements, added to every column of d; -1: none
};

// Two or three spatial dimensions; one becomes two, of which the first is 1. Padding is the same on both sides, as far
// as the library needs to know: what of the far side is covered follows from the extents of y.
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
  // One of them; both for a convolution with one point, which is a product of every image with the weights.
  bool has_product, has_convolution;
  struct library_product product;
  struct library_convolution convolution;
};

// What the task's graph is under a workload. ASSAY_ERR_UNSUPPORTED, with a message for the user, when it is not one
// product or one convolution, or none that the libraries have; other statuses as oracle_infer's.
enum assay_status library_call_of(const struct task *t, const struct workload *w, struct library_call *out,
                                  struct assay_error *err);

// The call as JSON, one object, which src/toolchain/vendor/call.c reads.
enum assay_status library_call_print(const struct library_call *c, struct buf *out, struct assay_error *err);

#endif
