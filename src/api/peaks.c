// SPDX-License-Identifier: Apache-2.0
// What `assay doctor --calibrate` measured, on this machine and on those whose runs were carried here.
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "base/alloc.h"
#include "judge/machine.h"
#include "plan/device.h"

static void parse(const char *value, struct assay_peaks *out) {
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

void api_peaks(struct store *store, const char *key, struct assay_peaks *out) {
  const bool is_cpu = strcmp(key, plan_device_cpu.peaks) == 0;
  char *machine = machine_identity(!is_cpu), *value = NULL;
  struct assay_error ignored = {0};
  memset(out, 0, sizeof *out);
  if (store && machine && store_get_machine(store, machine, key, &value, &ignored) == ASSAY_OK)
    parse(value, out);
  if (is_cpu)
    out->device[0] = '\0';
  base_free(value);
  base_free(machine);
}

// --- of all devices

struct known {
  struct assay_peaks *all;
  int n;
  const char *own; // this machine
  // Of this machine, for records of a CPU that do not name theirs; "": records of GPUs are read.
  char processor[sizeof((struct assay_peaks *)0)->device];
  bool is_own[API_MOST_PEAKS];
};

// A device's peaks are those that this machine measured, else the greatest: a peak is the best of several tries.
static bool add_known(void *arg, const char *machine, const char *value) {
  struct known *k = arg;
  struct assay_peaks p = {0};
  const bool is_own = strcmp(machine, k->own) == 0;
  int i = 0;
  parse(value, &p);
  if (!p.device[0] && is_own)
    snprintf(p.device, sizeof p.device, "%s", k->processor);
  while (i < k->n && strcmp(k->all[i].device, p.device) != 0)
    i++;
  if (!p.device[0] || !(p.bytes_per_s > 0) || i == API_MOST_PEAKS)
    return true;
  if (i < k->n && !is_own && (k->is_own[i] || k->all[i].bytes_per_s >= p.bytes_per_s))
    return true;
  k->all[i] = p;
  k->is_own[i] = is_own;
  k->n += i == k->n;
  return true;
}

enum assay_status api_peaks_known(struct store *store, struct assay_peaks out[API_MOST_PEAKS], int *n,
                                  struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  struct known k = {.all = out};
  for (int i = 0; plan_device_at(i) && !status; i++) {
    const char *key = plan_device_at(i)->peaks;
    const bool is_cpu = plan_device_at(i) == &plan_device_cpu;
    char *own = key ? machine_identity(!is_cpu) : NULL;
    k.own = own ? own : "";
    k.processor[0] = '\0';
    if (is_cpu)
      machine_processor(k.processor, sizeof k.processor);
    if (key)
      status = store_each_machine(store, key, add_known, &k, err);
    base_free(own);
  }
  *n = k.n;
  return status;
}
