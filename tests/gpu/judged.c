// SPDX-License-Identifier: Apache-2.0
// gpu_judged: the comparisons of tests/unit/judge/test_device_judged.c with the checks on the host, on a GPU.
#define GPU_JUDGED_ON_CUDA
#include "test_device_judged.c"
