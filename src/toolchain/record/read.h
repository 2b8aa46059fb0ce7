// SPDX-License-Identifier: Apache-2.0
// Private to src/toolchain: from the recorder's log to a plan.
#ifndef TOOLCHAIN_RECORD_READ_H
#define TOOLCHAIN_RECORD_READ_H

#include <stddef.h>
#include <stdint.h>

#include "plan/subject.h"
#include "toolchain/record/format.h"

// The device of a target that host code shall see: "sm_90a" is an H100 SXM, and so on. ASSAY_ERR_UNSUPPORTED for a
// target whose limits are not in the table.
enum assay_status record_device_of_target(const char *target, struct record_device *out, struct assay_error *err);

// The request for a subject: a whole struct record_request with its tensors, in the arena. ASSAY_ERR_INVALID for a
// tensor whose type or extents are not valid.
enum assay_status record_request_make(const struct plan_subject *subject, const struct record_device *device,
                                      struct arena *arena, struct record_request **out, size_t *bytes,
                                      struct assay_error *err);

// The same with tensors from this address on.
enum assay_status record_request_make_at(const struct plan_subject *subject, const struct record_device *device,
                                         uint64_t address, struct arena *arena, struct record_request **out,
                                         size_t *bytes, struct assay_error *err);

// RECORD_ONE_OF_TWO: words inside structs that would be pointers to nowhere are doubts of the plan (plan_doubt), which
// plan_difference resolves. RECORD_ALONE: they are refused.
enum record_reading { RECORD_ALONE, RECORD_ONE_OF_TWO };

// What a log is a recording of.
struct record_context {
  enum record_reading reading;
  const struct record_request *request;
  const struct plan_subject *subject;
  const char *target, *toolchain; // "sm_90a"; for the plan's title
  const char *source_name;        // what modules are called; copied
};

// Builds the plan of a finished log (n bytes with the header). The log is untrusted: whatever is wrong with it is a
// refusal in the report, with outcome PLAN_REFUSED; with PLAN_MADE the plan is set. A status other than ASSAY_OK means
// that memory is exhausted. Does not look at how the recorder ended.
enum assay_status record_read(const uint8_t *log, size_t n, const struct record_context *context, struct plan *out,
                              struct plan_report *report, struct assay_error *err);

// "input 0 + 16 bytes", for an address of the device that lies in one of the request's tensors or elsewhere in the
// range of device addresses; false for every other address.
bool record_describe_address(const struct record_request *request, uint64_t address, char *out, size_t size);

#endif
