// link: -Wl,--wrap=base_realloc -Wl,--wrap=compute_alloc
// gpu_oracle: what tests/unit/test_gpu_oracle.c holds against the CPU's oracle on the host backend, on a GPU.
#define GPU_ORACLE_ON_CUDA
#include "test_gpu_oracle.c"
