// SPDX-License-Identifier: Apache-2.0
// Private to src/toolchain: a process with a GPU, in which assay-lift.so records what is launched (lift/lift.h):
// worker.py for Python candidates, assay-library for the libraries' baseline. It waits for its order, serves one
// candidate and ends.
#ifndef TOOLCHAIN_LIFT_WORKER_H
#define TOOLCHAIN_LIFT_WORKER_H

#include "base/buf.h"
#include "sandbox/sandbox.h"
#include "toolchain/program.h"

struct lift_worker;
struct lift_command {
  char *const *argv, *const *envp;
  const char *const *read_paths; // in addition to the driver's
  bool without_landlock;
};

// Its folder and memory for its command; then the process. Strings of the command need not outlive the call.
enum assay_status lift_worker_create(const char *temporary_dir, struct lift_worker **out, struct assay_error *err);
enum assay_status lift_worker_spawn(struct lift_worker *w, const struct lift_command *c, struct assay_error *err);
// Where it may read and write; borrowed.
const char *lift_worker_folder(const struct lift_worker *w);
struct arena *lift_worker_arena(struct lift_worker *w); // until its end
// Whether it still waits for its order.
bool lift_worker_waits(struct lift_worker *w);
// Lets a worker that waits open its device: its order is the next. A worker that does not know of this
// (assay-library) must not be roused.
void lift_worker_rouse(struct lift_worker *w);
// Waits until one that was roused has done so, for so long at most; at once for others.
void lift_worker_settle(struct lift_worker *w, int64_t most_ns);
// A text and at most 64 descriptors, once. ASSAY_ERR_ENVIRONMENT when it cannot be sent.
enum { LIFT_WORKER_FDS = 64 };
enum assay_status lift_worker_order(struct lift_worker *w, const struct buf *text, const int *fds, int n_fds,
                                    struct assay_error *err);
// Until its end, or the deadline, but for the time that it stands still (`pauses`, NULL: never); `text` gets what it
// printed, cleaned.
enum assay_status lift_worker_wait(struct lift_worker *w, const struct sandbox_pauses *pauses, int64_t deadline_ns,
                                   struct buf *text, struct sandbox_end *end, struct assay_error *err);
void lift_worker_end(struct lift_worker *w); // kills what is left of it; NULL is fine

#endif
