// SPDX-License-Identifier: Apache-2.0
// The devices that candidates run on: one row each. Names are parsed where they come in (options, plans, the first
// message to a child) to a pointer to the row; all other code asks the row. Devices are compared by pointer.
#ifndef PLAN_DEVICE_H
#define PLAN_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

// How launches are written down in a plan, and which code its modules have.
enum plan_dialect {
  PLAN_NO_LAUNCHES,     // the device has no plans; candidates run as processes
  PLAN_CUDA_LAUNCHES,   // cubin and PTX for a target ("sm_90a"), shared memory, clusters, tensor maps, symbols
  PLAN_OPENCL_LAUNCHES, // OpenCL C and SPIR-V, no target; local memory is an argument
};

struct plan_device {
  const char *name; // as options, plans and stored verdicts have it
  enum plan_dialect dialect;
  bool gpu;          // the judge works there in a context of its own (compute/), and the processors are free meanwhile
  const char *peaks; // key of its measured peaks in the store (struct assay_peaks); NULL: times there are not ranked
};

// The rows: X(NAME, fields of struct plan_device...). Devices with plans have their functions in device/NAME.c.
#define PLAN_DEVICES_WITH_PLANS(X)                                                                                     \
  X(cuda, .dialect = PLAN_CUDA_LAUNCHES, .gpu = true, .peaks = "peaks.cuda")                                           \
  X(opencl, .dialect = PLAN_OPENCL_LAUNCHES)
#define PLAN_DEVICES(X)                                                                                                \
  X(cpu, .peaks = "peaks")                                                                                             \
  PLAN_DEVICES_WITH_PLANS(X)

#define PLAN_DEVICE_DECLARE(name, ...) extern const struct plan_device plan_device_##name;
PLAN_DEVICES(PLAN_DEVICE_DECLARE)
#undef PLAN_DEVICE_DECLARE

// ASSAY_ERR_USAGE names the devices that there are.
enum assay_status plan_device_parse(const char *name, const struct plan_device **out, struct assay_error *err);

// The i-th row, NULL behind the last.
const struct plan_device *plan_device_at(int i);

// "cpu, cuda, opencl"; with `plans` only those that carry out plans. Returns text.
const char *plan_device_names(bool plans, char *text, size_t size);

#endif
