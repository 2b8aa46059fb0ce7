// SPDX-License-Identifier: Apache-2.0
// The builder as the judge sees it: a child process (main_builder.c) that compiles. Private to src/toolchain.
#ifndef TOOLCHAIN_BUILDER_BUILDER_H
#define TOOLCHAIN_BUILDER_BUILDER_H

#include <limits.h>

#include "toolchain/builder/open.h"
#include "toolchain/builder/wire.h"
#include "toolchain/toolchain.h"

// How a builder is started. A warm one has NVRTC loaded and has compiled once; a cold one does that in its child.
enum builder_kind { BUILDER_WARM, BUILDER_COLD, BUILDER_FOR_OPENCL };
struct builder_start {
  enum builder_kind kind;
  const char *folder; // its own; NULL: makes one under p->temporary and removes it with the builder
  size_t file_bytes;
};
enum assay_status builder_spawn(const struct assay_paths *p, const struct builder_start *how, struct builder **out,
                                struct assay_error *err);

struct builder_limits {
  // CLOCK_MONOTONIC; later on a busy machine, where the child has not had the processor time till then.
  int64_t deadline_ns;
  int64_t cpu_seconds;
  size_t memory_bytes, file_bytes;
};
struct builder_job; // one request under way

// Sends the request and returns. The builder must live as long as the job. Any thread.
enum assay_status builder_submit(struct builder *b, const struct builder_request *r, const struct builder_limits *l,
                                 struct builder_job **out, struct assay_error *err);

// Waits for the child's end and takes its reply; frees the job. With build->outcome BUILD_OK *reply is set, its memory
// is the arena's; otherwise `diagnostics` in the arena says what happened.
struct builder_found {
  enum build_outcome outcome;
  const char *diagnostics; // the compiler's log as it was, and our message where the child did not finish
  const char *version;     // "" when there is none
  int64_t elapsed_ns, cpu_ns;
  struct builder_reply reply;
};
enum assay_status builder_collect(struct builder_job *j, struct arena *arena, struct builder_found *out,
                                  struct assay_error *err);
void builder_job_cancel(struct builder_job *j); // the child is killed; NULL is fine

// ---- in the builder itself

struct nvrtc;
// What the child does with a request: writes a reply and is done. These never fail: a failure is a reply.
void builder_compile_cuda(const struct nvrtc *nvrtc, const struct builder_request *r, struct buf *reply);
void builder_compile_opencl(const struct builder_request *r, struct buf *reply);

// Folders that the sources of CUDA may include from, in the order of -I; in the arena, NULL-terminated, only those that
// are there. `library` is NVRTC's path.
const char *const *builder_include_dirs(const char *library, struct arena *arena);

// The real path of the loaded NVRTC, NULL when it is not known.
const char *builder_library(const struct nvrtc *n, char path[PATH_MAX]);

// Serves the socket until its other end closes. Returns the process's exit code.
int builder_serve(enum builder_kind kind, const char *nvrtc_path);

#endif
