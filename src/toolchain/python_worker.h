// Private to src/toolchain: the process that hosts PyTorch on a GPU (worker.py lift). It imports PyTorch, which takes
// seconds and no device, and waits for its order; it serves one candidate and ends.
#ifndef TOOLCHAIN_PYTHON_WORKER_H
#define TOOLCHAIN_PYTHON_WORKER_H

#include "base/buf.h"
#include "sandbox/sandbox.h"
#include "toolchain/program.h"

struct python_worker;
struct python_worker_options {
  const struct python_place *python; // borrowed
  const char *path_env, *temporary_dir;
  int device_index;
  bool without_landlock;
};

// One that waits in `standby`, where it fits and lives, else a new one. `standby` may be NULL.
enum assay_status python_worker_start(struct python_standby *standby, const struct python_worker_options *o,
                                      struct python_worker **out, struct assay_error *err);
// Where it may read and write; borrowed.
const char *python_worker_folder(const struct python_worker *w);
// A text and at most 64 descriptors, once. ASSAY_ERR_ENVIRONMENT when it is gone.
enum { PYTHON_WORKER_FDS = 64 };
enum assay_status python_worker_order(struct python_worker *w, const struct buf *text, const int *fds, int n_fds,
                                      struct assay_error *err);
// Until its end, or the deadline; `text` gets what it printed, cleaned.
enum assay_status python_worker_wait(struct python_worker *w, int64_t deadline_ns, struct buf *text,
                                     struct sandbox_end *end, struct assay_error *err);
void python_worker_end(struct python_worker *w); // kills what is left of it; NULL is fine

// Starts workers there that wait for candidates to come, as many as the processors are good for. Without them a
// candidate waits longer, so there is no error.
void python_standby_fill(struct python_standby *s, const struct python_worker_options *o);

#endif
