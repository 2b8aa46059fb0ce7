// SPDX-License-Identifier: Apache-2.0
// gpu_tasks: the comparisons of tests/unit/task/test_gpu_tasks.c with the CPU's oracle, on a GPU.
#define GPU_TASKS_ON_CUDA
#include "test_gpu_tasks.c"
