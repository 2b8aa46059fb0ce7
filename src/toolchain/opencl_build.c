// OpenCL C with directive lines: compiled once to be checked; the plan carries the text.
#include <string.h>

#include "toolchain/builder_program.h"

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

static const struct directed_way way = {.ops = &opencl_toolchain,
                                        .language = BUILDER_OPENCL,
                                        .device = "opencl",
                                        .command = "opencl",
                                        .code = PLAN_OPENCL_C,
                                        .flags = flags,
                                        .complete = complete};

static enum assay_status start(const struct program_options *o, const char *source, size_t n,
                               struct program_build **out, struct assay_error *err) {
  return directed_start(&way, o, source, n, out, err);
}

static enum assay_status plan(struct program *p, const struct plan_subject *subject, struct plan *out,
                              struct plan_report *report, struct assay_error *err) {
  return directed_plan(&way, p, subject, out, report, err);
}

const struct toolchain_ops opencl_toolchain = {.name = "opencl",
                                               .start = start,
                                               .finish = directed_finish,
                                               .cancel = directed_cancel,
                                               .plan = plan,
                                               .release = directed_release};
