// Resizing stands with pooling in one family (pool.c); here is its entry.
#ifndef ORACLE_CUDA_WINDOW_H
#define ORACLE_CUDA_WINDOW_H

#include "oracle/cuda/gpu.h"

gpu_eval_fn gpu_resize_eval;

#endif
