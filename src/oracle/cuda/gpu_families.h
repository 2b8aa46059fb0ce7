// The families of the oracle's operators on a device; gpu_find looks through all of them. Each family's files carry the
// kernels (NAME.cu, NAME_args.h) and end with the list of operators. A new family is one line here.
#ifndef ORACLE_CUDA_GPU_FAMILIES_H
#define ORACLE_CUDA_GPU_FAMILIES_H

#include "oracle/cuda/gpu.h"

#define GPU_FAMILIES(X)                                                                                                \
  X(gpu_convert_family)     /* Cast, CastLike */                                                                       \
  X(gpu_contraction_family) /* matrix products, Einsum */                                                              \
  X(gpu_conv_family)                                                                                                   \
  X(gpu_window_family)    /* pooling, resizing */                                                                      \
  X(gpu_reduce_family)    /* reductions, arg, scans */                                                                 \
  X(gpu_norm_family)      /* softmax, norms, losses, attention */                                                      \
  X(gpu_recurrent_family) /* RNN, LSTM, GRU */                                                                         \
  X(gpu_move_family)      /* movement, reshape, slice, gather, scatter, constants */

#define GPU_FAMILY_DECLARATION(name) extern const struct gpu_family name;
GPU_FAMILIES(GPU_FAMILY_DECLARATION)
#undef GPU_FAMILY_DECLARATION

// An elementwise row with a scalar expression (op_def.expr).
enum assay_status gpu_pointwise_eval(struct gpu_eval *c, struct assay_error *err);
// *never: the row's expression makes the same of the same inputs in every pass, for nothing in it is rounded.
enum assay_status gpu_pointwise_never_errs(const struct op_def *op, bool *never, struct assay_error *err);

#endif
