// SPDX-License-Identifier: Apache-2.0
// What the judge found, in words that a model can use: one issue, the first error first, short. What a candidate had a
// hand in (compiler messages, exceptions) is bounded and cannot end a quoted block.
#ifndef METHOD_FEEDBACK_H
#define METHOD_FEEDBACK_H

#include "base/buf.h"
#include "store/store.h"

// The rungs of the ladder: X(ID, name, what it says). Each can be left out, to measure what it is worth.
#define FEEDBACK_RUNGS(X)                                                                                              \
  X(COMPILE, "compile", "the compiler's first errors, with their lines")                                               \
  X(PLAN, "plan", "why there is no launch plan, or why it is not valid")                                               \
  X(FAULT, "fault", "crashes, timeouts, accesses out of bounds, exceptions")                                           \
  X(VALUES, "values", "wrong elements with index, expected and got, and the pattern")                                  \
  X(PROBE, "probe", "which inputs and which shape were asked")                                                         \
  X(CHEAT, "cheat", "what was not done honestly: late work, changed behaviour, whose kernels ran")                     \
  X(TIME, "time", "the time next to the least time and to baselines")                                                  \
  X(RATES, "rates", "bytes and operations a second that it reaches")                                                   \
  X(RESOURCES, "resources", "registers, local and shared memory of its kernels, and how many blocks fit an SM")

enum feedback_rung {
#define FEEDBACK_RUNG_ID(id, name, text) FEEDBACK_##id,
  FEEDBACK_RUNGS(FEEDBACK_RUNG_ID)
#undef FEEDBACK_RUNG_ID
      FEEDBACK_RUNG_COUNT
};

// "code" (nothing), "execution" (all but time and rates), "performance" (all), or a list of rungs: "compile,values".
// ASSAY_ERR_USAGE names them.
enum assay_status feedback_parse(const char *text, unsigned *rungs, struct assay_error *err);

// What the verdict says, by these rungs; nothing where they say nothing of it. At most FEEDBACK_MOST_BYTES.
enum { FEEDBACK_MOST_BYTES = 4000 };
enum assay_status feedback_write(const struct store_verdict *row, unsigned rungs, struct buf *out,
                                 struct assay_error *err);

#endif
