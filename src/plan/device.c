// SPDX-License-Identifier: Apache-2.0
#include "plan/device.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"

#define DEFINE(id, ...) const struct plan_device plan_device_##id = {.name = #id, __VA_ARGS__};
PLAN_DEVICES(DEFINE)

#define ADDRESS(id, ...) &plan_device_##id,
static const struct plan_device *const devices[] = {PLAN_DEVICES(ADDRESS) NULL};
enum { N_DEVICES = sizeof devices / sizeof *devices - 1 };

const struct plan_device *plan_device_at(int i) {
  return i >= 0 && i < N_DEVICES ? devices[i] : NULL;
}

const char *plan_device_names(bool plans, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (int i = 0; i < N_DEVICES && used < size; i++)
    if (!plans || devices[i]->dialect != PLAN_NO_LAUNCHES)
      used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", devices[i]->name);
  return text;
}

enum assay_status plan_device_parse(const char *name, const struct plan_device **out, struct assay_error *err) {
  char known[128], meant[64];
  struct nearest near = {.word = name};
  for (int i = 0; i < N_DEVICES; i++) {
    if (strcmp(devices[i]->name, name) == 0) {
      *out = devices[i];
      return ASSAY_OK;
    }
    nearest_offer(&near, devices[i]->name);
  }
  return error_set(err, ASSAY_ERR_USAGE, "there is no device %.60s%s; devices: %s", name,
                   nearest_text(&near, meant, sizeof meant), plan_device_names(false, known, sizeof known));
}
