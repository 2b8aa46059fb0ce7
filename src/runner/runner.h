// SPDX-License-Identifier: Apache-2.0
// The child that runs a CPU candidate, seen from the judge.
//
// The runner is a small program of its own (assay-runner). It shares with the judge, through memfds, only the current
// call's inputs (read-only for it, sealed against writing), the outputs, and one control page. It is frozen (SIGSTOP)
// whenever it is not in a call: the judge writes fresh inputs and poison while nothing of the candidate can run.
// The judge's clock times the call: from the moment the start flag is set until the done flag is seen.
//
// A Python candidate may have a GPU (unlocked). Then its buffers are memory of the caller (runner_bind_shared), who
// also watches its work on the GPU.
#ifndef RUNNER_RUNNER_H
#define RUNNER_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/tensor_type.h"
#include "device/shared.h"
#include "plan/device.h"

enum { RUNNER_MAX_BUFFERS = 512 }; // inputs and outputs of a task together: a deep network has 300 weights

struct runner_python {
  const char *interpreter;          // path of a Python that has PyTorch
  const char *script, *library;     // paths of worker.py and assay-worker.so
  const char *const *read_paths;    // where the interpreter's own files are; NULL-terminated
  const char *const *defines;       // NAME or NAME=VALUE, names for the candidate; NULL-terminated, may be NULL
  int64_t start_timeout_ns;         // importing PyTorch takes seconds
  const struct plan_device *device; // where its tensors are
  // A device's driver needs what the lock-down forbids: the process is a SANDBOX_DEVICE (sandbox/gpu_python.h) without
  // system call filter and limit of addresses, compiles extensions itself, and nobody looks at its threads after a
  // call. The next four are for it alone.
  bool unlocked;
  const char *path_env;           // the PATH
  const char *const *environment; // more of its environment, NAME=VALUE; NULL-terminated, may be NULL
  int device_index;
  bool without_landlock;
};

struct runner_options {
  const char *program; // path of assay-runner
  const char *library; // the candidate's shared library
  // A Python candidate: `library` is its source, and the interpreter runs the worker in place of `program`. Borrowed
  // for runner_open. NULL: none.
  const struct runner_python *python;
  const char *folder; // its own temporary folder
  int threads;        // CPUs the kernel may use
  int64_t load_timeout_ns, call_timeout_ns;
  size_t memory_bytes; // beyond its buffers
};

enum runner_event {
  RUNNER_OK,
  RUNNER_LOAD_FAILED, // dlopen or the symbol; detail has the loader's message
  RUNNER_CRASHED,     // signal; detail names it and the address
  RUNNER_EXITED,      // the process ended without a signal
  RUNNER_TIMED_OUT,
  RUNNER_OUT_OF_MEMORY,
  RUNNER_FORBIDDEN_CALL, // detail names the system call
  RUNNER_OUT_OF_BOUNDS,  // a guard page was touched, or a guard band is damaged; detail says where
  RUNNER_WROTE_INPUT,
  RUNNER_LATE_WORK,     // threads of the candidate were still at work after it returned
  RUNNER_LAUNCH_FAILED, // a device refused a launch; detail has its error message
  RUNNER_UNRECORDABLE,  // there is no plan: the host code did what cannot be recorded
  RUNNER_INVALID_PLAN,  // the plan does not hold together
  RUNNER_RAISED,        // Python code raised an exception, or did not return the outputs; detail says what
};

// The result of starting, or of one call. After anything but RUNNER_OK the runner is gone (or ended by the judge):
// only runner_close is left to do.
struct runner_report {
  enum runner_event event;
  int signal;
  char detail[256];
  int64_t elapsed_ns; // of a call, by the judge's clock, round trip included (runner_overhead)
  int64_t arming_ns;  // of a call: from releasing the process until it is at the start line
  int64_t first_ns;   // of a call: processor time of the process's first thread from being let go until it was stopped
  int64_t charged_ns; // of a call: the part of elapsed_ns that is runner_charge()
  int64_t waited_ns;  // of a call without a kernel: for how long that thread, and the judge's, had no processor
  int64_t began_ns;   // of a call: when it began (clock_monotonic_ns), minus what reaching the start line is charged
};

struct runner;

// Starts a sandboxed runner, locked down, without the candidate. It can be bound and take null calls, which show what
// the protocol costs while nothing but trusted code is there.
enum assay_status runner_open(const struct runner_options *o, struct runner **out, struct assay_error *err);

enum runner_cache { RUNNER_COLD, RUNNER_HOT, RUNNER_CACHES };

// What a call without a kernel takes of these, where that is known; 0: it is not, and nothing is charged.
struct runner_usual {
  int64_t arming_ns, first_ns;
};

// What is added to a call's time. From the moment it is let go the candidate's process has the fresh inputs. What it
// takes to come to the start line beyond the runner's own share may be work done before the clock, and counts. Work of
// some microseconds fits into that share, where the machine makes it wait. But it takes processor time, and of that the
// runner needs little, and always the same: the time is at least what the process's first thread worked in all, less
// that.
int64_t runner_charge(const struct runner_usual *usual, int64_t arming_ns, int64_t first_ns, int64_t elapsed_ns);

// Loads the library. From now on runner_charge() is added to the time of a call. The candidate's failures are in
// *report, with ASSAY_OK.
enum assay_status runner_load(struct runner *r, const struct runner_usual usual[RUNNER_CACHES],
                              struct runner_report *report, struct assay_error *err);
void runner_close(struct runner *r); // kills and frees; NULL is fine

// The limit of addresses that the process should have, with its buffers, its threads' stacks and what it had mapped
// before the candidate; a limit of whoever started the judge may be narrower. 0: none was set.
size_t runner_wanted_bytes(const struct runner *r);

// Gives it buffers for these inputs and outputs (replacing earlier ones). Each buffer starts 64-byte aligned and ends
// (up to alignment, filled with canaries) at the end of a page after which nothing is mapped in the runner. Inputs for
// which runner_set_place said so begin at the start of a page instead, before which nothing is mapped.
// May be called at any time between calls. The process stays the same, so state that a candidate keeps across shapes
// shows.
enum assay_status runner_bind(struct runner *r, int n_in, const struct tensor_type *in, int n_out,
                              const struct tensor_type *out, struct runner_report *report, struct assay_error *err);

// The same with memory that the caller has, for an unlocked process: a GPU's, or ordinary memory. The caller poisons
// it, checks its bands and flushes the caches; calls do none of that.
enum assay_status runner_bind_shared(struct runner *r, const struct tensor_type *in, const struct tensor_type *out,
                                     const struct shared_buffers *memory, struct runner_report *report,
                                     struct assay_error *err);

// What the buffers of the next runner_bind are, as text for the worker (docs/python-candidates.md). ASSAY_ERR_LIMIT
// when it is too long.
enum assay_status runner_set_workload(struct runner *r, const char *text, struct assay_error *err);

// Where inputs of the next runner_bind lie.
void runner_set_place(struct runner *r, bool inputs_first);

// The judge's own writable mapping of a buffer, valid until the next bind or close. These three after runner_bind.
void *runner_input(struct runner *r, int i);
void *runner_output(struct runner *r, int i);

// Fills every output and every guard band with this 32-bit pattern.
void runner_poison(struct runner *r, uint32_t pattern);

// One call: flushes (cold: inputs and outputs leave every cache; hot: trusted code reads inputs once) and runs the
// kernel, then freezes the process again and checks guard bands. The outputs are then as they were when the kernel
// returned. `null_call` runs the whole protocol without the kernel: its elapsed_ns is the protocol's own cost.
enum assay_status runner_call(struct runner *r, enum runner_cache cache, bool null_call, struct runner_report *report,
                              struct assay_error *err);

// What the candidate wrote to stdout and stderr so far, cut at 64 KiB. Borrowed.
const char *runner_log(struct runner *r);

const char *runner_event_name(enum runner_event e);

#endif
