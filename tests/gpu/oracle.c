// SPDX-License-Identifier: Apache-2.0
// link: -Wl,--wrap=base_realloc -Wl,--wrap=compute_alloc
// gpu_oracle: the comparisons of tests/unit/oracle/test_gpu_oracle.c with the CPU's oracle, on a GPU.
#define GPU_ORACLE_ON_CUDA
#include "test_gpu_oracle.c"
