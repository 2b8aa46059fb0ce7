// SPDX-License-Identifier: Apache-2.0
// Lines of JSON Lines (lines.h) that are a device's measured peaks: {"peaks": "peaks.cuda", "device": "NVIDIA H200",
// "bytes_per_s": 4.3e12, ...}. Their roofs are drawn wherever the run's verdicts are.
#ifndef REPORT_LINES_PEAKS_H
#define REPORT_LINES_PEAKS_H

#include <jansson.h>

#include "base/buf.h"
#include "store/store.h"

// Devices that verdicts name, as they do ("NVIDIA H200, driver 580.95"): those whose peaks are wanted. `facts`: a GPU's
// evidence, or what is said of a CPU's machine.
enum { LINES_MOST_DEVICES = 32 };
struct lines_devices {
  char names[LINES_MOST_DEVICES][256];
  int n;
};
void lines_add_device(struct lines_devices *d, const json_t *facts);

// Appends the store's peaks of these devices, a line each.
enum assay_status lines_write_peaks(struct store *s, const struct lines_devices *d, struct buf *out,
                                    struct assay_error *err);

bool lines_is_peaks(const json_t *object);
// Stores such a line, within a supply of store_put_all. ASSAY_ERR_INVALID where a member is none of peaks.
enum assay_status lines_take_peaks(struct store *s, json_t *object, struct assay_error *err);

#endif
