// Private to src/toolchain: what a toolchain provides, and what all of them share.
#ifndef TOOLCHAIN_PROGRAM_PRIVATE_H
#define TOOLCHAIN_PROGRAM_PRIVATE_H

#include "toolchain/program.h"

// One row a toolchain. The functions are those of program.h; program.c dispatches to them, and does for all what is
// common: plan() need not call plan_check, which program_plan does afterwards.
struct toolchain_ops {
  const char *name;
  enum assay_status (*start)(const struct program_options *o, const char *source, size_t n, struct program_build **out,
                             struct assay_error *err);
  // Frees the build, whatever it returns.
  enum assay_status (*finish)(struct program_build *b, struct build_result *result, struct program **program,
                              struct assay_error *err);
  void (*cancel)(struct program_build *b);
  // With report->outcome PLAN_MADE, *out is set; with any other outcome it is left alone.
  enum assay_status (*plan)(struct program *p, const struct plan_subject *subject, struct plan *out,
                            struct plan_report *report, struct assay_error *err);
  // May be NULL.
  enum assay_status (*expect)(struct program *p, const struct plan_subject *subjects, int n, struct assay_error *err);
  void (*release)(struct program *p);
};

extern const struct toolchain_ops nvrtc_toolchain;   // builder_program.c, nvrtc_build.c
extern const struct toolchain_ops nvcc_toolchain;    // nvcc_build.c
extern const struct toolchain_ops python_toolchain;  // python_lift.c
extern const struct toolchain_ops library_toolchain; // library_lift.c
extern const struct toolchain_ops opencl_toolchain;  // builder_program.c, opencl_build.c

// The first members of a toolchain's own structures; start() and finish() fill them in.
struct program_build {
  const struct toolchain_ops *ops;
};
struct program {
  const struct toolchain_ops *ops;
  char target[32]; // "sm_90a"; opencl: ""
};

// Says why there is no plan.
void plan_report_refuse(struct plan_report *r, enum plan_outcome outcome, const char *fmt, ...) ASSAY_PRINTF(3, 4);

// The title of a plan: task, workload, device and target, in the plan's own arena. False when memory fails.
bool plan_set_title(struct plan *p, const struct plan_subject *subject, const char *device, const char *target,
                    const char *toolchain);

#endif
