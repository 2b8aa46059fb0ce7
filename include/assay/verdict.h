// SPDX-License-Identifier: Apache-2.0
// What the judge says of a candidate.
#ifndef ASSAY_VERDICT_H
#define ASSAY_VERDICT_H

#include <stdbool.h>

// X(enumerator, code as stored and printed, what it means for the author of the kernel)
#define ASSAY_REASONS(X)                                                                                               \
  X(PASS, "pass", "every checked call was right")                                                                      \
  X(BUILD_FAILED, "build_failed", "the compiler rejected the source; see its messages")                                \
  X(BUILD_TIMEOUT, "build_timeout", "the compiler did not finish in its time")                                         \
  X(BUILD_LIMIT, "build_limit", "the compiler ran into its limit of memory, processes or output")                      \
  X(LOAD_FAILED, "load_failed", "the library or module cannot be loaded, or lacks assay_kernel or ModelNew")           \
  X(CRASHED, "crashed", "the kernel was ended by a signal")                                                            \
  X(EXITED, "exited", "the kernel ended its process instead of returning")                                             \
  X(UNRECORDABLE, "unrecordable", "the host code did what a launch plan cannot hold; the detail says what instead")    \
  X(INVALID_PLAN, "invalid_plan", "the launches do not fit the kernels, the buffers or the device's limits")           \
  X(LAUNCH_FAILED, "launch_failed", "the device refused to start a kernel")                                            \
  X(TIMEOUT, "timeout", "the kernel did not return in its time")                                                       \
  X(OUT_OF_MEMORY, "out_of_memory", "the kernel ran into its limit of memory")                                         \
  X(FORBIDDEN_CALL, "forbidden_call", "the kernel made a system call that kernels may not make")                       \
  X(OUT_OF_BOUNDS, "out_of_bounds", "the kernel read or wrote outside its buffers")                                    \
  X(WROTE_INPUT, "wrote_input", "the kernel wrote to an input")                                                        \
  X(LATE_WORK, "late_work", "the kernel returned while work of it was still running")                                  \
  X(UNWRITTEN, "unwritten", "the kernel left elements of an output unwritten")                                         \
  X(WRONG_CLASS, "wrong_class", "NaN or infinity where the answer is finite, or the other way round")                  \
  X(WRONG_VALUE, "wrong_value", "some elements are further from the answer than the contract allows")                  \
  X(LOW_PRECISION, "low_precision", "the errors are those of a lower precision than the contract's")                   \
  X(RAISED, "raised", "the Python code raised an exception, or did not return the task's outputs")                     \
  X(CHANGED_BEHAVIOUR, "changed_behaviour", "right when checked, wrong on a secretly verified timed call")             \
  X(JUDGE_FAILED, "judge_failed", "Assay could not judge: the machine failed, not the kernel")

enum assay_reason {
#define ASSAY_REASON_ENUM(name, code, text) ASSAY_REASON_##name,
  ASSAY_REASONS(ASSAY_REASON_ENUM)
#undef ASSAY_REASON_ENUM
};

// The code ("wrong_value") and the sentence; never NULL for a reason from the list.
const char *assay_reason_code(enum assay_reason reason);
const char *assay_reason_text(enum assay_reason reason);

// Whether the source did not build: the compiler rejected it, or ran into a limit.
bool assay_reason_is_of_build(enum assay_reason reason);

#endif
