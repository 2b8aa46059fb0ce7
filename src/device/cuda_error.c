// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "device/cuda_device.h"

enum device_event cuda_event_of(enum cu_result result, bool launching) {
  switch (result) {
  case CUDA_SUCCESS:
    return DEVICE_OK;
  case CUDA_ERROR_ILLEGAL_ADDRESS:
  case CUDA_ERROR_LAUNCH_TIMEOUT:
  case CUDA_ERROR_ASSERT:
  case CUDA_ERROR_HARDWARE_STACK_ERROR:
  case CUDA_ERROR_ILLEGAL_INSTRUCTION:
  case CUDA_ERROR_MISALIGNED_ADDRESS:
  case CUDA_ERROR_INVALID_ADDRESS_SPACE:
  case CUDA_ERROR_INVALID_PC:
  case CUDA_ERROR_LAUNCH_FAILED:
  case CUDA_ERROR_CONTAINED:
    return DEVICE_FAULT;
  case CUDA_ERROR_OUT_OF_MEMORY:
    return DEVICE_OUT_OF_MEMORY;
  case CUDA_ERROR_NOT_INITIALIZED:
  case CUDA_ERROR_DEINITIALIZED:
  case CUDA_ERROR_DEVICE_UNAVAILABLE:
  case CUDA_ERROR_NO_DEVICE:
  case CUDA_ERROR_INVALID_CONTEXT:
  case CUDA_ERROR_CONTEXT_IS_DESTROYED:
  case CUDA_ERROR_ECC_UNCORRECTABLE:
  case CUDA_ERROR_SYSTEM_NOT_READY:
  case CUDA_ERROR_UNKNOWN:
    return DEVICE_LOST;
  default:
    if (launching)
      return DEVICE_LAUNCH_FAILED;
    // The driver's numbers from 700 to 799 are what kernels do; newer ones than we know are among them.
    return (int)result / 100 == 7 ? DEVICE_FAULT : DEVICE_LOST;
  }
}

// The driver's message names the symptom; these say what the kernel did wrong.
static const char *meaning(enum cu_result result) {
  switch (result) {
  case CUDA_ERROR_ILLEGAL_ADDRESS:
    return "a kernel touched memory that is not its own (beyond a buffer's end?) or wrote to an input";
  case CUDA_ERROR_MISALIGNED_ADDRESS:
    return "a kernel's access was not aligned to its size";
  case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    return "a kernel ran an illegal instruction (trap, or one of another architecture)";
  case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    return "a kernel used an address of the wrong kind (shared, local or global)";
  case CUDA_ERROR_INVALID_PC:
    return "a kernel jumped to where no code is";
  case CUDA_ERROR_HARDWARE_STACK_ERROR:
    return "a kernel's stack overflowed or was overwritten";
  case CUDA_ERROR_ASSERT:
    return "an assert in a kernel failed";
  case CUDA_ERROR_LAUNCH_TIMEOUT:
    return "a kernel ran longer than the driver allows";
  case CUDA_ERROR_LAUNCH_FAILED:
    return "a kernel failed while it ran";
  case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
    return "too many threads, registers or bytes of shared memory for a block";
  case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
    return "a cooperative grid must fit on the device at once";
  case CUDA_ERROR_INVALID_CLUSTER_SIZE:
    return "the device does not allow clusters of this size";
  default:
    return NULL;
  }
}

void cuda_report(const struct device *d, struct device_report *report, enum device_event event, enum cu_result result,
                 const char *where) {
  char text[CUDA_RESULT_TEXT_BYTES];
  const char *words = meaning(result);
  report->event = event;
  cuda_result_text(d->cu, result, text);
  snprintf(report->detail, sizeof report->detail, "%.80s%s%s%s%.80s", where ? where : "", where ? ": " : "",
           words ? words : "", words ? "; " : "", text);
}
