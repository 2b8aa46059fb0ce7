// SPDX-License-Identifier: Apache-2.0
// Between the files of plan_check: what is known of a plan while it is checked.
#ifndef PLAN_CHECK_H
#define PLAN_CHECK_H

#include "plan/names.h"

// Whether code for `code` runs on a device of `device`: the same generation and no newer; "a" only on its own.
bool plan_target_runs_on(struct plan_target code, struct plan_target device);

struct checker {
  const struct plan *p;
  struct plan_limits limits;
  struct plan_target target; // of the device, or of the plan where no device is named
  struct arena arena;
  struct cubin_info *cubins; // by module; empty for other code
  bool *written;             // by buffer: a step after the preparation may write it
  struct assay_error *err;
};

// "steps[3]: " + message, ASSAY_ERR_INVALID.
enum assay_status check_fail(struct checker *c, const char *place, int index, const char *fmt, ...) ASSAY_PRINTF(4, 5);

// `bytes` bytes from `offset` on lie within the buffer.
bool check_within(const struct checker *c, int buffer, int64_t offset, uint64_t bytes);

// The alignment that the start of a buffer has at least.
uint64_t check_alignment(const struct plan_buffer *b);

// The kernels' names of a module that is not a cubin, not sorted.
enum assay_status entries_of_ptx(const struct plan_module *m, struct arena *arena, struct cubin_info *out,
                                 struct assay_error *err);
enum assay_status entries_of_spirv(const struct plan_module *m, struct arena *arena, struct cubin_info *out,
                                   struct assay_error *err);

// Puts kernels and symbols in the order of their names, which cubin_find and cubin_find_symbol rely on.
void cubin_sort(struct cubin_info *c);

// Notes that a step may write a buffer. What prepares must leave outputs alone: it runs once, they are judged after
// every call.
enum assay_status check_mark(struct checker *c, int step, int buffer);

enum assay_status check_launch(struct checker *c, int step);
enum assay_status check_map(struct checker *c, int step, int argument);

#endif
