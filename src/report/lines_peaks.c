// SPDX-License-Identifier: Apache-2.0
#include "report/lines_peaks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/lines_trial.h"
#include "report/plots.h"

void lines_add_device(struct lines_devices *d, const json_t *facts) {
  const char *gpu = json_string_value(json_object_get(facts, "device"));
  const char *name = gpu ? gpu : json_string_value(json_object_get(facts, "processor"));
  int i = 0;
  while (name && i < d->n && strcmp(d->names[i], name) != 0)
    i++;
  if (name && i == d->n && i < LINES_MOST_DEVICES && strlen(name) < sizeof d->names[0])
    strcpy(d->names[d->n++], name);
}

static const char *const keys[] = {"peaks", "peaks.cuda"}; // in the store, as plan/device.h has them
enum { N_KEYS = sizeof keys / sizeof *keys };

// ---- writing

struct writing {
  const struct lines_devices *devices;
  const char *key;
  struct buf *out;
};

static bool is_wanted(const struct lines_devices *d, const char *device) {
  bool is = false;
  for (int i = 0; i < d->n; i++)
    is = is || plot_peaks_name_is_of(device, d->names[i]);
  return is;
}

static bool write_peaks(void *arg, const char *machine, const char *value) {
  struct writing *w = arg;
  json_t *line = json_loads(value, 0, NULL);
  const char *device = json_string_value(json_object_get(line, "device"));
  (void)machine; // nobody's business
  if (device && is_wanted(w->devices, device)) {
    json_object_set_new(line, "peaks", json_string(w->key));
    lines_put(json_incref(line), json_object_size(line), w->out);
  }
  json_decref(line);
  return !w->out->failed;
}

enum assay_status lines_write_peaks(struct store *s, const struct lines_devices *d, struct buf *out,
                                    struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < N_KEYS && !status; i++) {
    struct writing w = {d, keys[i], out};
    status = store_each_machine(s, w.key, write_peaks, &w, err);
  }
  return status ? status : buf_status(out, err);
}

// ---- reading

bool lines_is_peaks(const json_t *object) {
  return json_object_get(object, "peaks") != NULL;
}

static bool is_key(const char *key) {
  bool is = false;
  for (int i = 0; i < N_KEYS && key; i++)
    is = is || strcmp(keys[i], key) == 0;
  return is;
}

enum assay_status lines_take_peaks(struct store *s, json_t *object, struct assay_error *err) {
  const char *kind = json_string_value(json_object_get(object, "peaks")), *name;
  const char *device = json_string_value(json_object_get(object, "device"));
  char machine[160];
  json_t *value;
  if (!is_key(kind))
    return error_set(err, ASSAY_ERR_INVALID, "peaks is to be \"peaks\" or \"peaks.cuda\"");
  if (!device || !device[0] || strlen(device) >= sizeof((struct assay_peaks *)0)->device)
    return error_set(err, ASSAY_ERR_INVALID, "device of peaks is to be the name of one");
  json_object_foreach(object, name, value) {
    const double x = json_number_value(value);
    if (value != json_object_get(object, "peaks") && value != json_object_get(object, "device") &&
        !(json_is_number(value) && isfinite(x) && x >= 0))
      return error_set(err, ASSAY_ERR_INVALID, "%s of peaks is to be a number from 0", name);
  }
  snprintf(machine, sizeof machine, "carried: %s", device); // no machine's identity begins so
  char *key = strdup(kind), *text = NULL;
  json_object_del(object, "peaks");
  text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
  enum assay_status status =
      key && text ? store_put_machine(s, machine, key, text, err) : error_nomem(err, "a device's peaks");
  free(text);
  free(key);
  return status;
}
