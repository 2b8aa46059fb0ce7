// What the recorder is asked: the device to pretend, and the tensors with their addresses.
#include "toolchain/record_read.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plan/names.h"

// One well-known board an architecture; limits of a multiprocessor from the CUDA C++ Programming Guide, "Technical
// Specifications per Compute Capability". Clocks are the boards' maximum ones.
#define GIB ((uint64_t)1 << 30)
#define MIB (1u << 20)
#define KIB 1024u
static const struct record_device devices[] = {
    {"Tesla T4", "", 75, 40, 1590000, 5001000, 256, 4 * MIB, 16 * GIB, 1024, 16, 65536, 64 * KIB, 64 * KIB},
    {"NVIDIA A100-SXM4-80GB", "", 80, 108, 1410000, 1593000, 5120, 40 * MIB, 80 * GIB, 2048, 32, 65536, 164 * KIB,
     163 * KIB},
    {"NVIDIA GeForce RTX 3090", "", 86, 82, 1695000, 9751000, 384, 6 * MIB, 24 * GIB, 1536, 16, 65536, 100 * KIB,
     99 * KIB},
    {"NVIDIA L40S", "", 89, 142, 2520000, 9001000, 384, 96 * MIB, 48 * GIB, 1536, 24, 65536, 100 * KIB, 99 * KIB},
    {"NVIDIA H100 80GB HBM3", "", 90, 132, 1980000, 2619000, 5120, 50 * MIB, 80 * GIB, 2048, 32, 65536, 228 * KIB,
     227 * KIB},
    {"NVIDIA B200", "", 100, 148, 1965000, 3996000, 8192, 126 * MIB, 180 * GIB, 2048, 32, 65536, 228 * KIB, 227 * KIB},
    {"NVIDIA GeForce RTX 5090", "", 120, 170, 2407000, 14001000, 512, 96 * MIB, 32 * GIB, 1536, 24, 65536, 100 * KIB,
     99 * KIB},
};

enum assay_status record_device_of_target(const char *target, struct record_device *out, struct assay_error *err) {
  unsigned sm = 0;
  int end = 0;
  bool form = sscanf(target, "sm_%3u%n", &sm, &end) == 1 && strspn(target + end, "af") == strlen(target + end) &&
              strlen(target) < sizeof out->target;
  for (size_t i = 0; form && i < sizeof devices / sizeof *devices; i++)
    if (devices[i].sm == sm) {
      *out = devices[i];
      snprintf(out->target, sizeof out->target, "%s", target);
      return ASSAY_OK;
    }
  return error_set(err, ASSAY_ERR_UNSUPPORTED,
                   "target \"%s\": host code can be recorded for sm_75, sm_80, sm_86, sm_89, sm_90, sm_100 and sm_120 "
                   "(with or without the a)",
                   target);
}

static bool place_tensor(const struct plan_tensor *t, uint64_t address, struct record_tensor *out) {
  *out = (struct record_tensor){.address = address, .dtype = t->dtype, .rank = t->rank};
  memcpy(out->dims, t->dims, sizeof out->dims);
  return plan_tensor_bytes(t, &out->bytes) && out->bytes < RECORD_LAST_ADDRESS - address;
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
    // The half of the gap behind it counts as its neighbourhood: loops run past ends.
    if (address >= t->address && address < t->address + t->bytes + RECORD_GAP_BYTES / 2) {
      snprintf(out, size, "%s %" PRIu32 " + %" PRIu64 " bytes", input ? "input" : "output", input ? i : i - r->n_inputs,
               address - t->address);
      return true;
    }
  }
  snprintf(out, size, "memory that it allocated");
  return true;
}
