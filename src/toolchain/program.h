// SPDX-License-Identifier: Apache-2.0
// Candidate source to launch plans. The source is compiled once, in a sandboxed builder without device and data; the
// program that comes of it makes a plan for any workload.
#ifndef TOOLCHAIN_PROGRAM_H
#define TOOLCHAIN_PROGRAM_H

#include "assay/paths.h"
#include "plan/device.h"
#include "plan/subject.h"
#include "toolchain/builder/open.h"
#include "toolchain/library.h"
#include "toolchain/python.h"
#include "toolchain/toolchain.h"

// The toolchains: X(NAME, ending, language, device, python), one row each. Of those with the same ending, the first
// that takes the source makes its plans.
//
//   nvrtc   device code with directive lines, which say what to launch (directive/directive.h): NVRTC in a builder
//           forked from a warmed one; plans are made by trusted code, from the directives alone
//   nvcc    ordinary CUDA with host code and <<<>>>, compiled by nvcc (or clang); its entry runs in a sandboxed builder
//           against our recording CUDA runtime, once for each workload
//   opencl  device code with directive lines, compiled for checking by the OpenCL implementation in a builder
//   python  a module with a ModelNew: a worker runs it on the device, with memory and data that mean nothing, and its
//           launches are lifted (lift/lift.h), twice for each workload
//   library a vendor's library by its name: a worker carries the task out with it; its launches are lifted likewise
//
// python: the candidate is a Python module, which can also run as a process where there is no plan.
#define TOOLCHAINS(X)                                                                                                  \
  X(nvrtc, ".cu", "CUDA C++", cuda, false)                                                                             \
  X(nvcc, ".cu", "CUDA C++", cuda, false)                                                                              \
  X(opencl, ".cl", "OpenCL C", opencl, false)                                                                          \
  X(python, ".py", "PyTorch", cuda, true)                                                                              \
  X(library, ".library", "a vendor's library", cuda, false)

struct toolchain {
  const char *name, *ending, *language;
  const struct plan_device *device; // that its plans are for
  const struct toolchain_ops *ops;  // program_private.h
};
#define TOOLCHAIN_DECLARE(name, ...) extern const struct toolchain toolchain_##name;
TOOLCHAINS(TOOLCHAIN_DECLARE)
#undef TOOLCHAIN_DECLARE

// The toolchain for a source, by the ending of its path and by the text: a .cu with launch directives is for nvrtc, one
// without them for nvcc. ASSAY_ERR_UNSUPPORTED for other endings.
enum assay_status toolchain_of(const char *path, const char *source, size_t n, const struct toolchain **out,
                               struct assay_error *err);

// A toolchain that a caller may choose: one whose ending has others. ASSAY_ERR_USAGE names those.
enum assay_status toolchain_parse(const char *name, const struct toolchain **out, struct assay_error *err);

bool toolchain_uses_device(const struct toolchain *t);        // recording takes place in a worker that has it
bool toolchain_wants_library_call(const struct toolchain *t); // its plans need plan_subject.library_call

// Where nvcc is and what it says of itself ("Cuda compilation tools, release 13.0, V13.0.88"): heap strings. It runs in
// `folder`, sandboxed. ASSAY_ERR_ENVIRONMENT when there is none.
enum assay_status toolchain_ask_nvcc(const char *path_env, const char *folder, char **path, char **version,
                                     struct assay_error *err);

// Python workers that have imported PyTorch and wait for the next candidates, shared by many programs as the builder
// is; each serves one candidate. They begin with the first program_start, and die with the threads that started them.
// Any thread may start and plan programs.
struct python_standby;
enum assay_status python_standby_open(struct python_standby **out, struct assay_error *err);
void python_standby_close(struct python_standby *s); // NULL is fine
// Each candidate that takes a worker has the next one bring its device up meanwhile. Before something is timed, this
// waits until that is over.
void python_standby_settle(struct python_standby *s); // NULL is fine

struct program_options {
  const struct toolchain *toolchain;
  const char *target;              // "sm_90a"; opencl: "" (the first device)
  const char *const *defines;      // NULL-terminated; may be NULL
  const char *name;                // the source's file name, for messages
  struct builder *builder;         // nvrtc, opencl; may be NULL
  const struct assay_paths *paths; // borrowed for the program's life
  const char *compiler;            // nvcc: "nvcc" or a path
  struct python_place python;      // python; borrowed for the program's life
  struct python_standby *standby;  // python; may be NULL; borrowed for the program's life
  struct library_place library;    // library; borrowed for the program's life
  int device_index;                // python, library: which GPU
  const char *folder;              // the build's own temporary folder
  int64_t timeout_ns, record_timeout_ns;
  int64_t budget_ns;                   // python, library: for all recordings together; 0: no limit
  const struct sandbox_pauses *pauses; // python, library: of recordings; may be NULL; borrowed for the program's life
  size_t memory_bytes, file_bytes;
  bool hasty; // nvrtc, nvcc of CUDA 12.8 or later: optimise little, for plans that nobody runs
};

struct program;       // a built candidate
struct program_build; // one at work

// As build_start/build_finish. In *result, `library` stays NULL; *program is set when the outcome is BUILD_OK.
enum assay_status program_start(const struct program_options *o, const char *source, size_t n,
                                struct program_build **out, struct assay_error *err);
enum assay_status program_finish(struct program_build *b, struct build_result *result, struct program **program,
                                 struct assay_error *err);
void program_cancel(struct program_build *b); // NULL is fine
void program_release(struct program *p);      // NULL is fine

// What the program was made by.
const struct toolchain *program_toolchain(const struct program *p);

// Workloads whose plans will be asked for: a toolchain may make them in one go with the first. They are copied.
enum assay_status program_expect(struct program *p, const struct plan_subject *subjects, int n,
                                 struct assay_error *err);

// The plan of this workload, checked against the subject and the target's limits.
enum assay_status program_plan(struct program *p, const struct plan_subject *subject, struct plan *out,
                               struct plan_report *report, struct assay_error *err);

#endif
