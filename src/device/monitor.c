// SPDX-License-Identifier: Apache-2.0
#include "device/monitor.h"

#include <stdio.h>

#include "base/alloc.h"
#include "device/nvml.h"

struct monitor {
  struct nvml nvml;
  nvmlDevice_t device;
  uint32_t max_sm_clock_mhz; // asking takes a millisecond; it never changes
};

enum assay_status monitor_open(struct monitor **out, struct assay_error *err) {
  struct monitor *m = base_calloc(1, sizeof *m);
  if (!m)
    return error_nomem(err, "the monitor of the GPU");
  enum assay_status status = nvml_open(&m->nvml, err);
  if (status)
    base_free(m);
  else
    *out = m;
  return status;
}

enum assay_status monitor_find(struct monitor *m, const char *uuid, struct assay_error *err) {
  enum nvml_return result = m->nvml.handle_by_uuid(uuid, &m->device);
  if (result != NVML_SUCCESS)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "NVML does not know the GPU %s: %s", uuid,
                     m->nvml.error_string(result));
  if (m->nvml.max_clock_info(m->device, NVML_CLOCK_SM, &m->max_sm_clock_mhz) != NVML_SUCCESS)
    m->max_sm_clock_mhz = 0;
  return ASSAY_OK;
}

void monitor_close(struct monitor *m) {
  if (m)
    m->nvml.shutdown();
  base_free(m);
}

static bool slows(uint64_t reasons) {
#define REASON(bit, name, slow)                                                                                        \
  if (slow && (reasons & bit))                                                                                         \
    return true;
  NVML_CLOCKS_EVENT_REASONS(REASON)
#undef REASON
  return false;
}

bool monitor_read(struct monitor *m, struct monitor_reading *out) {
  struct monitor_reading r = {0};
  unsigned long long reasons;
  if (!m || m->nvml.clock_info(m->device, NVML_CLOCK_SM, &r.sm_clock_mhz) != NVML_SUCCESS ||
      m->nvml.clocks_event_reasons(m->device, &reasons) != NVML_SUCCESS)
    return false;
  // Some boards do not report these. The other readings are still useful, and these stay 0.
  if (m->nvml.clock_info(m->device, NVML_CLOCK_MEM, &r.memory_clock_mhz) != NVML_SUCCESS)
    r.memory_clock_mhz = 0;
  if (m->nvml.temperature(m->device, NVML_TEMPERATURE_GPU, &r.temperature_c) != NVML_SUCCESS)
    r.temperature_c = 0;
  if (m->nvml.power_usage(m->device, &r.power_mw) != NVML_SUCCESS)
    r.power_mw = 0;
  r.max_sm_clock_mhz = m->max_sm_clock_mhz;
  r.throttle = reasons;
  r.slowed = slows(reasons);
  *out = r;
  return true;
}

static void add(char *text, size_t size, size_t *used, const char *name) {
  if (*used >= size)
    return;
  int n = snprintf(text + *used, size - *used, "%s%s", *used ? ", " : "", name);
  *used += n > 0 ? (size_t)n : 0;
}

void monitor_throttle_text(uint64_t reasons, char *text, size_t size) {
  size_t used = 0;
  uint64_t known = 0;
  if (size)
    text[0] = '\0';
#define REASON(bit, name, slow)                                                                                        \
  known |= bit;                                                                                                        \
  if (reasons & bit)                                                                                                   \
    add(text, size, &used, name);
  NVML_CLOCKS_EVENT_REASONS(REASON)
#undef REASON
  if (reasons & ~known) {
    char other[32];
    snprintf(other, sizeof other, "0x%llx", (unsigned long long)(reasons & ~known));
    add(text, size, &used, other);
  }
}
