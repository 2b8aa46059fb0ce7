// SPDX-License-Identifier: Apache-2.0
// Files from anybody: the first of a folder that names the task.
#include <stdlib.h>

#include "cli/maker.h"

static enum assay_status yield(const struct maker_request *r, struct maker_candidate *out, struct assay_error *err) {
  (void)err;
  if (!maker_file_of(r, NULL, out->file, sizeof out->file)) {
    snprintf(out->refusal, sizeof out->refusal, "no file of it is for this task");
    return ASSAY_OK;
  }
  char *whole = realpath(out->file, NULL);
  snprintf(out->label, sizeof out->label, "%s", whole ? whole : out->file);
  free(whole);
  return ASSAY_OK;
}

const struct maker maker_files = {
    .name = "files", .argument = "DIR|FILE", .what = "files that name the task in a comment", .yield = yield};
