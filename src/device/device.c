// SPDX-License-Identifier: Apache-2.0
#include "device/device.h"

const char *device_event_name(enum device_event e) {
  switch (e) {
  case DEVICE_OK:
    return "ok";
  case DEVICE_LOAD_FAILED:
    return "load failed";
  case DEVICE_LAUNCH_FAILED:
    return "launch failed";
  case DEVICE_FAULT:
    return "fault";
  case DEVICE_OUT_OF_MEMORY:
    return "out of memory";
  case DEVICE_LOST:
    return "lost";
  }
  return "unknown";
}

const struct device_ops *device_of(const struct plan_device *device) {
#define ROW(id, ...) {&plan_device_##id, &device_##id},
  static const struct {
    const struct plan_device *device;
    const struct device_ops *ops;
  } rows[] = {PLAN_DEVICES_WITH_PLANS(ROW)};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].device == device)
      return rows[i].ops;
  return NULL;
}
