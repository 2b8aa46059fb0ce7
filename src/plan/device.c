// SPDX-License-Identifier: Apache-2.0
#include "plan/device.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/choice.h"

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
  const char *names[N_DEVICES + 1] = {NULL};
  char all[64];
  for (int i = 0; i < N_DEVICES; i++)
    names[i] = devices[i]->name;
  if (strcasecmp(name, "gpu") == 0) // one letter from cpu, which is not meant
    return error_set(err, ASSAY_ERR_USAGE, "a device is one of %s, not '%s'; did you mean cuda?",
                     plan_device_names(false, all, sizeof all), name);
  int found = choice_of("a device is", names, name, err);
  if (found < 0)
    return ASSAY_ERR_USAGE;
  *out = devices[found];
  return ASSAY_OK;
}
