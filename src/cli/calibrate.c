// SPDX-License-Identifier: Apache-2.0
// assay doctor --calibrate: a machine's peaks, measured when it is quiet, and kept when they are believable.
#include "cli/calibrate.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "device/monitor.h"
#include "judge/load.h"
#include "judge/machine.h"

// Peaks are the best of several rounds: another measurement of a quiet machine is not this far away.
static const double FAR = 1.5;

// "reads 3.1 GB/s where 11 GB/s are stored" for the first rate of two records that is far from the other's; "": none.
static void find_far(const json_t *now, const json_t *then, char *text, size_t size) {
  static const struct {
    const char *key, *verb, *unit;
  } rates[] = {{"read_bytes_per_s", "reads", "B"}, {"bytes_per_s", "moves", "B"}, {"flops_per_s", "computes", "FLOP"}};
  text[0] = '\0';
  for (size_t i = 0; i < sizeof rates / sizeof *rates && !text[0]; i++) {
    double x = json_number_value(json_object_get(now, rates[i].key));
    double y = json_number_value(json_object_get(then, rates[i].key));
    char a[32], b[32];
    if (x > 0 && y > 0 && fmax(x / y, y / x) > FAR)
      snprintf(text, size, "it %s %s/s where %s/s are stored", rates[i].verb, cli_count_text(x, rates[i].unit, a),
               cli_count_text(y, rates[i].unit, b));
  }
}

// Of another device, records of one machine are not compared.
static enum assay_status agree(const json_t *now, const char *stored, bool yes, struct assay_error *err) {
  char far[160], question[256];
  json_t *then = json_loads(stored, 0, NULL);
  const char *device = json_string_value(json_object_get(now, "device"));
  const char *other = json_string_value(json_object_get(then, "device"));
  bool same = !device || !other || strcmp(device, other) == 0;
  find_far(now, same ? then : NULL, far, sizeof far);
  json_decref(then);
  snprintf(question, sizeof question, "%s. Replace that?", far);
  if (!far[0] || cli_confirm(yes, question))
    return ASSAY_OK;
  return error_set(
      err, ASSAY_ERR_ENVIRONMENT,
      "%s: that is far from what was measured before, which is kept. Measure again when nothing else runs, "
      "or store it with --yes",
      far);
}

// Stores a record, unless it is far from the one before and nobody wants it. Takes `now`.
static enum assay_status keep(const struct cli_calibration *c, const char *key, json_t *now, struct assay_error *err) {
  struct assay_error ignored = {0};
  char *machine = machine_identity(strcmp(key, plan_device_cpu.peaks) != 0), *stored = NULL,
       *text = now ? json_dumps(now, JSON_SORT_KEYS) : NULL;
  enum assay_status status = machine && text ? ASSAY_OK : error_nomem(err, "the peaks");
  if (!status && store_get_machine(c->store, machine, key, &stored, &ignored) == ASSAY_OK)
    status = agree(now, stored, c->yes, err);
  if (!status)
    status = store_set_machine(c->store, machine, key, text, err);
  base_free(stored);
  base_free(machine);
  free(text);
  json_decref(now);
  return status;
}

enum assay_status cli_calibrate_cpu(const struct cli_calibration *c, struct assay_error *err) {
  struct machine_peaks p;
  struct load_look before, after;
  char text[256];
  load_look(c->proc, &before);
  enum assay_status status = machine_measure(c->threads, &p, err);
  load_look(c->proc, &after);
  if (status)
    return status;
  struct assay_load load = load_between(&before, &after);
  if (load_is_felt(&load))
    return error_set(err, ASSAY_ERR_ENVIRONMENT,
                     "the machine is too busy to be measured (%s): nothing was stored; measure when nothing else runs",
                     load_text(&load, text, sizeof text));
  machine_processor(text, sizeof text);
  return keep(c, plan_device_cpu.peaks,
              json_pack("{s:s, s:f, s:f}", "device", text, "read_bytes_per_s", p.read_bytes_per_s, "flops_per_s",
                        p.flops_per_s),
              err);
}

// Contractions at the accuracy of fp32 may use the tensor cores: three tf32 products give one of fp32.
enum assay_status cli_calibrate_cuda(const struct cli_calibration *c, struct compute *compute,
                                     const struct compute_description *d, struct assay_error *err) {
  struct device_peaks p = {0};
  enum assay_status status = peaks_measure(compute, &p, err);
  if (status)
    return status;
  json_t *j = json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "device", d->name,
                        "bytes_per_s", p.copy_bytes_per_s, "flops_per_s", p.fp32_flops, "contraction_flops_per_s",
                        fmax(p.fp32_flops, p.tf32_flops / 3), "half_flops_per_s", fmax(p.bf16_flops, p.fp16_flops),
                        "cache_bytes", (double)d->cache_bytes, "read_only_bytes_per_s", p.read_bytes_per_s,
                        "write_only_bytes_per_s", p.write_bytes_per_s, "fp32", p.fp32_flops, "tf32", p.tf32_flops,
                        "bf16", p.bf16_flops, "fp16", p.fp16_flops, "fp64", p.fp64_flops);
  return keep(c, plan_device_cuda.peaks, j, err);
}
