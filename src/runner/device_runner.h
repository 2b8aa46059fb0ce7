// SPDX-License-Identifier: Apache-2.0
// The child that executes launch plans on a device, seen from the judge.
//
// The process (assay-device-runner) is our code and holds one device context with the current call's inputs
// (read-only for kernels), poisoned outputs and scratch; nothing from which an answer follows. On a CPU device (PoCL)
// kernels are code in its address space: it is locked down before it runs any, and nothing it says is believed beyond
// "look now" and the times, which are not ranked there.
#ifndef RUNNER_DEVICE_RUNNER_H
#define RUNNER_DEVICE_RUNNER_H

#include "device/device.h"
#include "device/shared.h"
#include "runner/runner.h"

struct device_runner_options {
  const char *program;              // path of assay-device-runner
  const struct plan_device *device; // one that carries out plans
  int index;
  const char *folder; // its own temporary folder
  int64_t open_timeout_ns, load_timeout_ns, call_timeout_ns;
};

struct device_runner;

// Starts the process and opens the device. _begin returns at once, so that the judge can do other things meanwhile;
// _wait finishes it, with the utility code (device/utility.h; NULL for opencl). ASSAY_ERR_ENVIRONMENT with the device's
// error message.
enum assay_status device_runner_begin(const struct device_runner_options *o, struct device_runner **out,
                                      struct assay_error *err);
enum assay_status device_runner_wait(struct device_runner *r, const void *utility, size_t utility_bytes,
                                     struct assay_error *err);
void device_runner_close(struct device_runner *r); // kills and frees; NULL is fine
void device_runner_end(struct device_runner *r);   // kills and returns at once: taking a context down takes a while
const struct device_facts *device_runner_facts(const struct device_runner *r);
// "", or what of the sandbox is not in force because the device does not work under it; for the verdict.
const char *device_runner_weakness(const struct device_runner *r);

// Loads a plan with these buffers, one for each input and output of the task. The candidate's failure is in
// the report with ASSAY_OK: after anything but RUNNER_OK the process is gone, and only device_runner_close is left to
// do. Where kernels run in the process (PoCL) it is locked down from here on, and another load starts another process.
enum assay_status device_runner_load(struct device_runner *r, const struct plan *p,
                                     const struct shared_buffers *buffers, bool inputs_writable,
                                     struct runner_report *report, struct assay_error *err);

// One execution. report->elapsed_ns: device time (DEVICE_AS_CALLED: as called); *times: all of them; *wall_ns: the
// judge's own clock around the exchange.
enum assay_status device_runner_call(struct device_runner *r, enum device_mode mode, struct runner_report *report,
                                     struct device_times *times, int64_t *wall_ns, struct assay_error *err);

// What kernels printed (printf) since the log was cleared, cut at 64 KiB. Borrowed.
const char *device_runner_log(struct device_runner *r);
void device_runner_clear_log(struct device_runner *r);

#endif
