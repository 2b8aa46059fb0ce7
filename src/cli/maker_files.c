// SPDX-License-Identifier: Apache-2.0
// Files from anybody: the first of a folder that names the task.
#include "cli/maker.h"

static enum assay_status yield(const struct maker_request *r, struct maker_candidate *out, struct assay_error *err) {
  (void)err;
  maker_take_file(r, NULL, "is for this task", out);
  return ASSAY_OK;
}

const struct maker maker_files = {.name = "files",
                                  .argument = "DIR|FILE",
                                  .what = "files that name the task in a comment",
                                  .check = maker_check_path,
                                  .yield = yield};
