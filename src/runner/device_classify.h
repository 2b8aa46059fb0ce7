// SPDX-License-Identifier: Apache-2.0
// What the end of a device's runner means, and what its answers do.
#ifndef RUNNER_DEVICE_CLASSIFY_H
#define RUNNER_DEVICE_CLASSIFY_H

#include "runner/device_protocol.h"
#include "runner/runner.h"
#include "sandbox/sandbox.h"

// What the judge calls the buffers of the loaded plan.
struct device_name {
  enum plan_role role;
  int index;
  char name[40];
};
struct device_names {
  struct device_name *items;
  int n;
};
enum assay_status device_names_take(struct device_names *names, const struct plan *p, struct assay_error *err);
void device_names_release(struct device_names *names);

// A copy of what a dying runner noted.
struct device_notes {
  int32_t signal;
  uint32_t system_call, memory_exhausted;
  uint64_t address;
  int32_t n_places;
  struct device_place places[PLAN_MAX_BUFFERS];
};
void device_notes_take(struct device_notes *out, const struct device_control *c);

// From what the kernel says (end) and what the runner noted to an event.
void device_classify_end(const struct device_notes *notes, const struct sandbox_end *end,
                         const struct device_names *names, bool late, bool loading, struct runner_report *report);

// Whether a report is one that the runner gives: a known event, no negative time.
bool device_report_is_sound(const struct device_report *d);

// From the device's event to the runner's. ASSAY_ERR_ENVIRONMENT when the device is lost.
enum assay_status device_classify_report(const struct device_report *d, struct runner_report *report,
                                         struct assay_error *err);

#endif
