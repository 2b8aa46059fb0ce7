// SPDX-License-Identifier: Apache-2.0
// What the recorder is asked: the device to pretend, and the tensors with their addresses.
#include "toolchain/record/read.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plan/names.h"

// One well-known board for each architecture. Clocks are the boards' maximum ones.
#define GIB ((uint64_t)1 << 30)
#define MIB (1u << 20)
#define KIB 1024u
static const struct record_device devices[] = {
    {.name = "Tesla T4",
     .sm = 75,
     .multiprocessors = 40,
     .clock_khz = 1590000,
     .memory_clock_khz = 5001000,
     .memory_bus_bits = 256,
     .l2_bytes = 4 * MIB,
     .memory_bytes = 16 * GIB,
     .shared_optin_bytes = 64 * KIB},
    {.name = "NVIDIA A100-SXM4-80GB",
     .sm = 80,
     .multiprocessors = 108,
     .clock_khz = 1410000,
     .memory_clock_khz = 1593000,
     .memory_bus_bits = 5120,
     .l2_bytes = 40 * MIB,
     .memory_bytes = 80 * GIB,
     .shared_optin_bytes = 163 * KIB},
    {.name = "NVIDIA GeForce RTX 3090",
     .sm = 86,
     .multiprocessors = 82,
     .clock_khz = 1695000,
     .memory_clock_khz = 9751000,
     .memory_bus_bits = 384,
     .l2_bytes = 6 * MIB,
     .memory_bytes = 24 * GIB,
     .shared_optin_bytes = 99 * KIB},
    {.name = "NVIDIA L40S",
     .sm = 89,
     .multiprocessors = 142,
     .clock_khz = 2520000,
     .memory_clock_khz = 9001000,
     .memory_bus_bits = 384,
     .l2_bytes = 96 * MIB,
     .memory_bytes = 48 * GIB,
     .shared_optin_bytes = 99 * KIB},
    {.name = "NVIDIA H100 80GB HBM3",
     .sm = 90,
     .multiprocessors = 132,
     .clock_khz = 1980000,
     .memory_clock_khz = 2619000,
     .memory_bus_bits = 5120,
     .l2_bytes = 50 * MIB,
     .memory_bytes = 80 * GIB,
     .shared_optin_bytes = 227 * KIB},
    {.name = "NVIDIA B200",
     .sm = 100,
     .multiprocessors = 148,
     .clock_khz = 1965000,
     .memory_clock_khz = 3996000,
     .memory_bus_bits = 8192,
     .l2_bytes = 126 * MIB,
     .memory_bytes = 180 * GIB,
     .shared_optin_bytes = 227 * KIB},
    {.name = "NVIDIA GeForce RTX 5090",
     .sm = 120,
     .multiprocessors = 170,
     .clock_khz = 2407000,
     .memory_clock_khz = 14001000,
     .memory_bus_bits = 512,
     .l2_bytes = 96 * MIB,
     .memory_bytes = 32 * GIB,
     .shared_optin_bytes = 99 * KIB},
};

enum assay_status record_device_of_target(const char *target, struct record_device *out, struct assay_error *err) {
  unsigned sm = 0;
  int end = 0;
  bool form = sscanf(target, "sm_%3u%n", &sm, &end) == 1 && strspn(target + end, "af") == strlen(target + end) &&
              strlen(target) < sizeof out->target;
  for (size_t i = 0; form && i < sizeof devices / sizeof *devices; i++)
    if (devices[i].sm == sm) {
      struct plan_sm of_sm = {0};
      plan_sm_of_target(target, &of_sm);
      *out = devices[i];
      out->max_threads = of_sm.max_threads;
      out->max_blocks = of_sm.max_blocks;
      out->registers = of_sm.registers;
      out->shared_bytes = of_sm.shared_bytes;
      snprintf(out->target, sizeof out->target, "%s", target);
      return ASSAY_OK;
    }
  return error_set(err, ASSAY_ERR_UNSUPPORTED,
                   "target \"%s\": host code can be recorded for sm_75, sm_80, sm_86, sm_89, sm_90, sm_100 and sm_120 "
                   "(with or without the a)",
                   target);
}

static bool place_tensor(const struct tensor_type *t, uint64_t address, struct record_tensor *out) {
  *out = (struct record_tensor){.address = address, .dtype = (int32_t)t->dtype, .rank = t->shape.rank};
  memcpy(out->dims, t->shape.dims, sizeof out->dims);
  return tensor_type_measure(t, &out->bytes) && out->bytes < RECORD_LAST_ADDRESS - address;
}

enum assay_status record_request_make(const struct plan_subject *subject, const struct record_device *device,
                                      struct arena *arena, struct record_request **out, size_t *bytes,
                                      struct assay_error *err) {
  return record_request_make_at(subject, device, RECORD_FIRST_ADDRESS, arena, out, bytes, err);
}

enum assay_status record_request_make_at(const struct plan_subject *subject, const struct record_device *device,
                                         uint64_t address, struct arena *arena, struct record_request **out,
                                         size_t *bytes, struct assay_error *err) {
  int n = subject->n_inputs + subject->n_outputs;
  if (subject->n_inputs < 0 || subject->n_outputs < 0 || n > RECORD_MAX_TENSORS)
    return error_set(err, ASSAY_ERR_LIMIT, "%d inputs and outputs: at most %d together can be recorded", n,
                     RECORD_MAX_TENSORS);
  *bytes = sizeof **out + (size_t)n * sizeof(struct record_tensor);
  struct record_request *r = arena_alloc(arena, *bytes);
  if (!r)
    return error_nomem(err, "the recorder's request");
  *r = (struct record_request){.magic = RECORD_MAGIC,
                               .n_inputs = (uint32_t)subject->n_inputs,
                               .n_outputs = (uint32_t)subject->n_outputs,
                               .device = *device};
  for (int i = 0; i < n; i++) {
    bool input = i < subject->n_inputs;
    int index = input ? i : i - subject->n_inputs;
    if (!place_tensor(input ? &subject->inputs[index] : &subject->outputs[index], address, &r->tensors[i]))
      return error_set(err, ASSAY_ERR_INVALID, "%s %d: neither its type nor its extents can be those of a buffer",
                       input ? "input" : "output", index);
    address = record_next_address(address, r->tensors[i].bytes);
  }
  r->first_free = address;
  *out = r;
  return ASSAY_OK;
}

bool record_describe_address(const struct record_request *r, uint64_t address, char *out, size_t size) {
  if (address < RECORD_FIRST_ADDRESS - RECORD_GAP_BYTES || address >= RECORD_LAST_ADDRESS)
    return false;
  for (uint32_t i = 0; i < r->n_inputs + r->n_outputs; i++) {
    const struct record_tensor *t = &r->tensors[i];
    bool input = i < r->n_inputs;
    // Half of the gap after it counts as near it: loops run past ends.
    if (address >= t->address && address < t->address + t->bytes + RECORD_GAP_BYTES / 2) {
      snprintf(out, size, "%s %" PRIu32 " + %" PRIu64 " bytes", input ? "input" : "output", input ? i : i - r->n_inputs,
               address - t->address);
      return true;
    }
  }
  snprintf(out, size, "memory that it allocated");
  return true;
}
