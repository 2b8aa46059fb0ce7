// SPDX-License-Identifier: Apache-2.0
// gpu_draw: the comparisons of tests/unit/task/test_device_draw.c with the CPU's draws, on a GPU.
#define GPU_DRAW_ON_CUDA
#include "test_device_draw.c"
