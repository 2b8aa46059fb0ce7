// SPDX-License-Identifier: Apache-2.0
// The settings of a judgement, from the start of a command to its end.
#include <string.h>

#include "base/parallel.h"
#include "cli/interrupt.h"
#include "cli/judging.h"

enum assay_status cli_judging_init(struct cli_judging *j, struct assay_error *err) {
  memset(j, 0, sizeof *j);
  assay_judge_defaults(&j->options);
  j->options.paths = &j->paths.judge;
  for (int i = 0; i < CLI_DEVICES; i++)
    j->devices[i].device = plan_device_at(i);
  return cli_paths_find(&j->paths, err);
}

void cli_judging_finish(struct cli_judging *j, struct store *store) {
  struct assay_judge_options *o = &j->options;
  cli_interrupt_clean(j->paths.temporary);
  o->defines = j->defines.items;
  if (o->threads <= 0)
    o->threads = parallel_cpus();
  for (int i = 0; i < CLI_DEVICES; i++)
    if (j->devices[i].device->peaks)
      api_peaks(store, j->devices[i].device->peaks, &j->devices[i].peaks);
  if (j->device)
    o->device = j->device;
  for (int i = 0; i < CLI_DEVICES; i++)
    if (strcmp(j->devices[i].device->name, o->device) == 0)
      o->peaks = j->devices[i].peaks;
}

void cli_judging_close(struct cli_judging *j) {
  cli_baselines_close(j);
  cli_workbenches_leave(j);
  assay_answers_close(j->options.answers);
}
