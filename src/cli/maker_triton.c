// SPDX-License-Identifier: Apache-2.0
// Kernels in Triton, by hand: those of kernels/fusedops/triton, or of a folder. What Triton's autotuner prints of
// itself becomes trials.
#include <string.h>

#include "cli/maker.h"

static bool takes(const char *source, size_t n) {
  static const char word[] = "import triton";
  return memmem(source, n, word, sizeof word - 1) != NULL;
}

static enum assay_status yield(const struct maker_request *r, struct maker_candidate *out, struct assay_error *err) {
  char own[4096];
  struct maker_request asked = *r;
  (void)err;
  if (!r->argument[0]) {
    maker_own_folder(r, "triton", own, sizeof own);
    asked.argument = own;
  }
  maker_take_file(&asked, takes, "is a Triton kernel for this task", out);
  return ASSAY_OK;
}

const struct maker maker_triton = {.name = "triton",
                                   .argument = "[DIR]",
                                   .what = "Triton by hand, with its autotuner: kernels/fusedops/triton, or DIR",
                                   .log = "triton_text",
                                   .check = maker_check_path,
                                   .yield = yield};
