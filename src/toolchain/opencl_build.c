// SPDX-License-Identifier: Apache-2.0
// OpenCL C with directive lines: compiled once to be checked; the plan carries the text.
#include <string.h>

#include "toolchain/directed.h"

static const char *const *flags(const struct program_options *o, struct arena *a) {
  (void)o;
  return arena_calloc(a, 1, sizeof(char *));
}

static enum assay_status complete(struct directed_program *p, const struct builder_reply *reply, const char *source,
                                  size_t n, const char **refusal, struct assay_error *err) {
  (void)refusal;
  (void)err;
  p->kernels = reply->kernels;
  p->code = (const uint8_t *)source; // in the program's own arena
  p->code_bytes = n;
  return ASSAY_OK;
}

const struct directed_way opencl_way = {.toolchain = &toolchain_opencl,
                                        .language = BUILDER_OPENCL,
                                        .command = "opencl",
                                        .code = PLAN_OPENCL_C,
                                        .flags = flags,
                                        .complete = complete};
