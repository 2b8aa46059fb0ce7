// SPDX-License-Identifier: Apache-2.0
// Private to src/toolchain: a compiler that is a program of its own, at work on one source in a sandboxed builder.
//
// A thread of its own waits for the compiler: the judge makes inputs and computes the oracle meanwhile, and the
// compiler must not stand still on a full pipe, outlive its deadline, or have its time measured by when somebody looks.
#ifndef TOOLCHAIN_COMPILE_H
#define TOOLCHAIN_COMPILE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "sandbox/sandbox.h"
#include "toolchain/toolchain.h"

#define COMPILE_LIBRARY "candidate.so" // what compilers are to make, in the build's folder

// The most compilers that a build of an extension starts at a time: of its 64 processes each takes a shell, a driver, a
// compiler and an assembler.
enum { COMPILE_MOST_JOBS = 14 };

// How many of them the memory that a build may take and the processors here have room for; at least 1.
int compile_jobs(int64_t together_bytes, int cpus);

// The most memory that all processes of a build may have together on a machine with so much (INT64_MAX: nobody knows).
// *machines: another machine would allow more, so what exceeds it says nothing of the candidate.
int64_t compile_together_bytes(int64_t total, bool *machines);

struct compile;

// What one compiler has of its own. Both functions are called by the waiting thread, and command() once more after it.
struct compile_way {
  const char *source_name;  // in the build's folder
  const char *version_mark; // the version is the line with this text, or NULL: the first one
  int processes;            // that the compiler needs at a time
  // The arguments, NULL-terminated, by compile_command(). NULL when memory fails.
  char **(*command)(struct compile *c);
  // After a failure: whether to try once more, with other arguments; it may begin the log anew. NULL: never.
  bool (*again)(struct compile *c);
  // A source of our own that everything which works here accepts. After a failure it is compiled in the same way: if it
  // fails too, the machine is at fault and not the candidate.
  const char *control;
};

struct compile {
  const struct compile_way *way;
  void *owner; // the structure that this one is part of
  struct arena arena;
  struct sandbox_policy policy;
  bool machines_limit; // of the memory of all processes together: see compile_together_bytes
  const char *name, *program, *include_dir, *library;
  const char *const *defines;
  char *const *envp;
  int64_t start_ns, deadline_ns;

  pthread_t waiter;
  pthread_mutex_t lock; // of the two below
  bool cancelled;
  int kill_fd; // a pidfd of the compiler at work, or -1

  // The waiter's findings, ours after it has been joined.
  enum assay_status status;
  struct assay_error err;
  struct sandbox_end end;
  struct buf log, version;
  int64_t end_ns, cpu_ns;
  bool built, control_failed;
  struct buf control_log; // why
};

// The clock begins here.
void compile_init(struct compile *c, const struct compile_way *way, void *owner, int64_t timeout_ns);
void compile_release(struct compile *c);

// Copies what the options lend, for the caller's strings may be gone before the compiler is; `program` is the
// compiler's path, in the arena. The policy may be added to afterwards.
enum assay_status compile_prepare(struct compile *c, const struct build_options *o, const char *program,
                                  struct assay_error *err);

// The arguments `front` (without those that are NULL), the defines, the arguments `back`; NULL when memory fails.
char **compile_command(struct compile *c, const char *const *front, size_t n_front, const char *const *back,
                       size_t n_back);

// Writes the source into the folder and starts the compiler.
enum assay_status compile_start(struct compile *c, const char *source, size_t n, struct assay_error *err);

// Waits for its end. In the result, `library` stays NULL. ASSAY_ERR_ENVIRONMENT: the compiler does not work here, for
// the control source neither.
enum assay_status compile_finish(struct compile *c, struct build_result *out, struct assay_error *err);

// What the compiler of a prepared build says of itself, one line; heap string. Instead of compile_start.
enum assay_status compile_ask_version(struct compile *c, char **version, struct assay_error *err);

// Ends the compiler that was started.
void compile_cancel(struct compile *c);

#endif
