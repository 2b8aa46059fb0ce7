// Einsum on the device; its row stands with the other contractions (contraction.c).
#ifndef ORACLE_CUDA_EINSUM_H
#define ORACLE_CUDA_EINSUM_H

#include "oracle/cuda/gpu.h"

gpu_eval_fn gpu_einsum_eval;

#endif
