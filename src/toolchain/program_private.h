// SPDX-License-Identifier: Apache-2.0
// Private to src/toolchain: what a toolchain provides, and what all of them share.
#ifndef TOOLCHAIN_PROGRAM_PRIVATE_H
#define TOOLCHAIN_PROGRAM_PRIVATE_H

#include "toolchain/program.h"

// What a toolchain does. The functions are those of program.h; program.c dispatches to them, and does for all what is
// common: plan() need not call plan_check, which program_plan does afterwards.
struct toolchain_ops {
  bool uses_device;        // recording takes place in a worker that has the device
  bool wants_library_call; // plan_subject.library_call
  // Whether it can do something with this source; NULL: with any.
  bool (*takes)(const char *source, size_t n);
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

// In NAME_build.c, NAME_lift.c or directed.c.
#define TOOLCHAIN_OPS(name, ...) extern const struct toolchain_ops toolchain_ops_##name;
TOOLCHAINS(TOOLCHAIN_OPS)
#undef TOOLCHAIN_OPS

// The first members of a toolchain's own structures; start() and finish() fill them in.
struct program_build {
  const struct toolchain *toolchain;
};
struct program {
  const struct toolchain *toolchain;
  char target[32]; // "sm_90a"; opencl: ""
};

#endif
