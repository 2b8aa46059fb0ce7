// Candidate source to launch plans. The source is compiled once, in a sandboxed builder without device and data; the
// program that comes of it makes a plan for any workload.
//
//   nvrtc   .cu with device code and directive lines, which say what to launch (toolchain/directive.h): NVRTC in a
//           builder forked from a warmed one; plans are made by trusted code, from the directives alone
//   nvcc    ordinary .cu with host code and <<<>>>, compiled by nvcc (or clang); its entry runs in a sandboxed builder
//           against our recording CUDA runtime, once for each workload
//   python  .py with a ModelNew: a worker runs it on the device, with memory and data that mean nothing, and its
//           launches are lifted (lift/lift.h), twice for each workload
//   opencl  .cl with directive lines, compiled for checking by the OpenCL implementation in a builder
//   library .library, a vendor's library by its name: a worker carries the task out with it, lifted likewise
#ifndef TOOLCHAIN_PROGRAM_H
#define TOOLCHAIN_PROGRAM_H

#include "plan/plan.h"
#include "toolchain/library.h"
#include "toolchain/python.h"
#include "toolchain/toolchain.h"

enum toolchain { TOOLCHAIN_NVRTC, TOOLCHAIN_NVCC, TOOLCHAIN_OPENCL, TOOLCHAIN_PYTHON, TOOLCHAIN_LIBRARY };
const char *toolchain_name(enum toolchain t);

// What a source asks for: nvrtc when a .cu has launch directives, nvcc when it has none, opencl for .cl, python for
// .py, library for .library. ASSAY_ERR_UNSUPPORTED for other endings.
enum assay_status toolchain_of(const char *path, const char *source, size_t n, enum toolchain *out,
                               struct assay_error *err);

// Where nvcc is and what it says of itself ("Cuda compilation tools, release 13.0, V13.0.88"): heap strings. It runs in
// `folder`, sandboxed. ASSAY_ERR_NOT_FOUND when there is none.
enum assay_status toolchain_ask_nvcc(const char *path_env, const char *folder, char **path, char **version,
                                     struct assay_error *err);

// The workload a plan is for: what names mean in directives, and what a host entry is called with.
struct plan_symbol {
  const char *name;
  int64_t value;
};
struct plan_subject {
  const char *task, *workload; // for the plan's title
  int n_symbols, n_inputs, n_outputs;
  const struct plan_symbol *symbols; // the task's dimensions
  const char *const *input_names, *const *output_names;
  const struct plan_tensor *inputs, *outputs;
  uint32_t static_inputs;     // bit i: input i is a weight (plans may prepare it once)
  const bool *statics;        // the same for all of them; may be NULL
  const char *init_arguments; // python: what the suite makes its module with, "K, N, (N,)"; may be NULL
  // library: the call as JSON (judge/library_call.h), or why there is none. Both NULL: not asked.
  const char *library_call, *library_refusal;
};

// A warmed builder, shared by many builds: a process that has NVRTC loaded and used, and forks for each build. NULL
// where there is none: a build then starts its own. Either dies with the *thread* that called builder_open or
// program_start (as every sandboxed child does).
struct builder;
struct builder_options {
  const char *program; // path of assay-builder
  const char *nvrtc;   // path of libnvrtc, or NULL: searched
  const char *temporary_dir;
};
enum assay_status builder_open(const struct builder_options *o, struct builder **out, struct assay_error *err);
void builder_close(struct builder *b); // NULL is fine

// Python workers that have imported PyTorch and wait for the next candidates, shared by many programs as the builder
// is; each serves one candidate. They begin with the first program_start, and die with the threads that started them.
// Any thread may start and plan programs.
struct python_standby;
enum assay_status python_standby_open(struct python_standby **out, struct assay_error *err);
void python_standby_close(struct python_standby *s); // NULL is fine
// Each candidate that takes a worker has the next one bring its device up meanwhile. Before something is timed, this waits
// until that is over.
void python_standby_settle(struct python_standby *s); // NULL is fine

struct program_options {
  enum toolchain toolchain;
  const char *target;         // "sm_90a"; opencl: "" (the first device)
  const char *const *defines; // NULL-terminated; may be NULL
  const char *name;           // the source's file name, for messages
  struct builder *builder;    // nvrtc, opencl; may be NULL
  struct builder_options builder_options;
  const char *compiler, *path_env; // nvcc: "nvcc" or "clang", and the PATH
  const char *include_dir;         // where assay/cuda.h is
  const char *recorder;            // nvcc: path of assay-recorder
  struct python_place python;      // python; borrowed for the program's life
  struct python_standby *standby;  // python; may be NULL; borrowed for the program's life
  struct library_place library;    // library; borrowed for the program's life
  int device_index;                // python, library: which GPU
  const char *folder;              // the build's own temporary folder
  int64_t timeout_ns, record_timeout_ns;
  size_t memory_bytes, file_bytes;
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
enum toolchain program_toolchain(const struct program *p);

// Why there is no plan: the candidate's doing, not the machine's.
enum plan_outcome {
  PLAN_MADE,
  PLAN_REFUSED, // host code did what cannot be recorded, or a directive does not evaluate; detail says what and the way
                // out
  PLAN_HOST_CRASHED, // host code ended by a signal or exited
  PLAN_HOST_TIMED_OUT,
  PLAN_INVALID, // plan_check refused it
  PLAN_RAISED,  // Python code raised an exception, or did not return the task's outputs
};
// Whose kernels a plan launches, where that is not plain.
enum plan_origin { PLAN_OWN, PLAN_LIBRARY, PLAN_PYTORCH, PLAN_ORIGINS };
struct plan_shares {
  bool known;
  int64_t launches[PLAN_ORIGINS], ns[PLAN_ORIGINS]; // as the worker saw it, which shares its process with the candidate
};
struct plan_report {
  enum plan_outcome outcome;
  char detail[512];
  struct plan_shares shares;
  char *log; // what host code printed; heap, may be NULL
};

// Workloads whose plans will be asked for: a toolchain may make them in one go with the first. They are copied.
enum assay_status program_expect(struct program *p, const struct plan_subject *subjects, int n,
                                 struct assay_error *err);

// The plan of this workload, checked against the subject and the target's limits.
enum assay_status program_plan(struct program *p, const struct plan_subject *subject, struct plan *out,
                               struct plan_report *report, struct assay_error *err);
void plan_report_release(struct plan_report *r);

#endif
