// SPDX-License-Identifier: Apache-2.0
#include "device/nvml.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

struct entry {
  const char *symbol, *older; // older: the name before a renaming, NULL if there was none
  size_t offset;
};

static const struct entry entries[] = {
    {"nvmlInit_v2", NULL, offsetof(struct nvml, init)},
    {"nvmlShutdown", NULL, offsetof(struct nvml, shutdown)},
    {"nvmlErrorString", NULL, offsetof(struct nvml, error_string)},
    {"nvmlDeviceGetHandleByUUID", NULL, offsetof(struct nvml, handle_by_uuid)},
    {"nvmlDeviceGetClockInfo", NULL, offsetof(struct nvml, clock_info)},
    {"nvmlDeviceGetMaxClockInfo", NULL, offsetof(struct nvml, max_clock_info)},
    {"nvmlDeviceGetTemperature", NULL, offsetof(struct nvml, temperature)},
    {"nvmlDeviceGetPowerUsage", NULL, offsetof(struct nvml, power_usage)},
    {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons",
     offsetof(struct nvml, clocks_event_reasons)},
};

enum assay_status nvml_open(struct nvml *out, struct assay_error *err) {
  struct nvml n;
  void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "clocks and temperatures cannot be read: %s", dlerror());
  for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
    void *address = dlsym(library, entries[i].symbol);
    if (!address && entries[i].older)
      address = dlsym(library, entries[i].older);
    if (!address)
      return error_set(err, ASSAY_ERR_ENVIRONMENT,
                       "clocks and temperatures cannot be read: libnvidia-ml.so.1 has no %s; install a newer driver",
                       entries[i].symbol);
    memcpy((char *)&n + entries[i].offset, &address, sizeof address);
  }
  enum nvml_return result = n.init();
  if (result != NVML_SUCCESS)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "clocks and temperatures cannot be read: NVML does not start: %s",
                     n.error_string(result));
  *out = n;
  return ASSAY_OK;
}
