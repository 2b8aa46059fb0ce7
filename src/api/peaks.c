// SPDX-License-Identifier: Apache-2.0
// What `assay doctor --calibrate` measured on this machine.
#include <jansson.h>
#include <string.h>

#include "base/alloc.h"
#include "judge/machine.h"
#include "plan/device.h"
#include "api/api.h"

void api_peaks(struct store *store, const char *key, struct assay_peaks *out) {
  char *machine = machine_identity(strcmp(key, plan_device_cpu.peaks) != 0), *value = NULL;
  struct assay_error ignored = {0};
  memset(out, 0, sizeof *out);
  if (store && machine && store_get_machine(store, machine, key, &value, &ignored) == ASSAY_OK) {
    json_t *p = json_loads(value, 0, NULL);
    const char *device = json_string_value(json_object_get(p, "device"));
    json_t *read = json_object_get(p, "read_bytes_per_s"); // the name in older stores, which knew only CPUs
    out->bytes_per_s = json_number_value(read ? read : json_object_get(p, "bytes_per_s"));
    out->read_bytes_per_s = json_number_value(json_object_get(p, "read_only_bytes_per_s"));
    out->write_bytes_per_s = json_number_value(json_object_get(p, "write_only_bytes_per_s"));
    out->flops_per_s = json_number_value(json_object_get(p, "flops_per_s"));
    out->contraction_flops_per_s = json_number_value(json_object_get(p, "contraction_flops_per_s"));
    out->tf32_flops_per_s = json_number_value(json_object_get(p, "tf32"));
    out->half_flops_per_s = json_number_value(json_object_get(p, "half_flops_per_s"));
    out->cache_bytes = json_number_value(json_object_get(p, "cache_bytes"));
    snprintf(out->device, sizeof out->device, "%s", device ? device : "");
    json_decref(p);
  }
  base_free(value);
  base_free(machine);
}

void api_peaks_named(struct store *store, const char *key, struct assay_peaks *out) {
  api_peaks(store, key, out);
  char *machine = out->device[0] || !(out->bytes_per_s > 0) ? NULL : machine_json();
  json_t *j = machine ? json_loads(machine, 0, NULL) : NULL;
  const char *processor = json_string_value(json_object_get(j, "processor"));
  if (processor)
    snprintf(out->device, sizeof out->device, "%s", processor);
  json_decref(j);
  base_free(machine);
}
