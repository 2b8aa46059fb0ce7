#include "device/device.h"

#include <string.h>

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

const struct device_ops *device_by_name(const char *name) {
  static const struct device_ops *const devices[] = {&device_cuda, &device_opencl};
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
    if (strcmp(devices[i]->name, name) == 0)
      return devices[i];
  return NULL;
}
