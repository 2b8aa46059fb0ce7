// SPDX-License-Identifier: Apache-2.0
// NVIDIA's management library, reached by dlopen: the part of its interface that the monitor uses, declared here
// (names, values and meaning as in the "NVML API Reference").
#ifndef DEVICE_NVML_H
#define DEVICE_NVML_H

#include <stdint.h>

#include "base/error.h"

typedef struct nvmlDevice_st *nvmlDevice_t;

enum nvml_return { NVML_SUCCESS = 0 };
enum nvml_clock_type { NVML_CLOCK_GRAPHICS = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 };
enum { NVML_TEMPERATURE_GPU = 0 };

// Bits of nvmlDeviceGetCurrentClocksEventReasons.
#define NVML_CLOCKS_EVENT_REASONS(X)                                                                                   \
  X(0x1, "gpu_idle", false)                                                                                            \
  X(0x2, "applications_clocks_setting", false)                                                                         \
  X(0x4, "sw_power_cap", false)                                                                                        \
  X(0x8, "hw_slowdown", true)                                                                                          \
  X(0x10, "sync_boost", false)                                                                                         \
  X(0x20, "sw_thermal_slowdown", true)                                                                                 \
  X(0x40, "hw_thermal_slowdown", true)                                                                                 \
  X(0x80, "hw_power_brake_slowdown", true)                                                                             \
  X(0x100, "display_clock_setting", false)

struct nvml {
  enum nvml_return (*init)(void);
  enum nvml_return (*shutdown)(void);
  const char *(*error_string)(enum nvml_return);
  enum nvml_return (*handle_by_uuid)(const char *uuid, nvmlDevice_t *device);
  enum nvml_return (*clock_info)(nvmlDevice_t, enum nvml_clock_type, unsigned int *mhz);
  enum nvml_return (*max_clock_info)(nvmlDevice_t, enum nvml_clock_type, unsigned int *mhz);
  enum nvml_return (*temperature)(nvmlDevice_t, int sensor, unsigned int *celsius);
  enum nvml_return (*power_usage)(nvmlDevice_t, unsigned int *milliwatt);
  enum nvml_return (*clocks_event_reasons)(nvmlDevice_t, unsigned long long *reasons);
};

// Loads libnvidia-ml.so.1 and starts it; every entry is there on success. The library stays loaded.
enum assay_status nvml_open(struct nvml *out, struct assay_error *err);

#endif
