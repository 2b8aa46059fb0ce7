// gpu_tasks: what tests/unit/test_gpu_tasks.c holds against the CPU's oracle on the host backend, on a GPU.
#define GPU_TASKS_ON_CUDA
#include "test_gpu_tasks.c"
