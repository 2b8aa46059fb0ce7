// SPDX-License-Identifier: Apache-2.0
#include "sandbox/gpu_visible.h"

#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 128 };

static struct { const char *devices, *order; } environment;

void gpu_visible_from(const char *devices, const char *order) {
  environment.devices = devices;
  environment.order = order;
}

// Entry `index` of a list with commas; its length, 0 where the list ends before.
static size_t entry(const char *list, int index, const char **out) {
  for (; index > 0; index--) {
    list = strchr(list, ',');
    if (!list)
      return 0;
    list++;
  }
  list += strspn(list, " ");
  *out = list;
  return strcspn(list, ", ");
}

void gpu_visible(int index, struct gpu_visible *out) {
  const char *visible = environment.devices, *order = environment.order, *name = "";
  size_t n = visible ? entry(visible, index, &name) : 0;
  if (!visible)
    snprintf(out->devices, sizeof out->devices, "CUDA_VISIBLE_DEVICES=%d", index);
  else
    snprintf(out->devices, sizeof out->devices, "CUDA_VISIBLE_DEVICES=%.*s", n < NAME_BYTES ? (int)n : 0, name);
  snprintf(out->order, sizeof out->order, "CUDA_DEVICE_ORDER=%.32s", order ? order : "FASTEST_FIRST");
}
