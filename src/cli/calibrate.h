// SPDX-License-Identifier: Apache-2.0
// Private to src/cli: measuring a machine's peaks and keeping them in the store.
#ifndef CLI_CALIBRATE_H
#define CLI_CALIBRATE_H

#include "cli/judging.h"
#include "compute/compute.h"
#include "device/describe.h"

struct cli_calibration {
  struct store *store;
  const char *proc; // assay_paths.proc
  int threads;
  bool yes; // replace what is stored without asking
};

// Both: ASSAY_ERR_ENVIRONMENT where the machine is busy, or where what was measured is far from what is stored and
// nobody says that it is right.
enum assay_status cli_calibrate_cpu(const struct cli_calibration *c, struct assay_error *err);
enum assay_status cli_calibrate_cuda(const struct cli_calibration *c, struct compute *compute,
                                     const struct compute_description *d, struct assay_error *err);

#endif
