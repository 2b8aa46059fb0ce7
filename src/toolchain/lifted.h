// SPDX-License-Identifier: Apache-2.0
// Private to src/toolchain: plans of programs that run on the device while they are recorded: Python candidates
// (python_lift.c) and the libraries' baseline (library_lift.c). A worker carries the workload out twice, with other
// tensors at other addresses, and assay-lift.so records what is launched (lift/lift.h). Two recordings that are the
// same plan are the plan: then what is launched depends neither on data nor on addresses nor on what was called before.
//
// One worker records all workloads that are expected, one after another, and is gone before anything is checked or
// timed. It ends with the first one that fails; those after it get another worker when they are asked for.
#ifndef TOOLCHAIN_LIFTED_H
#define TOOLCHAIN_LIFTED_H

#include "toolchain/lift_worker.h"
#include "toolchain/program_private.h"
#include "toolchain/record/format.h"

struct lifted_program;
struct lifted_kind {
  const char *source_file; // the source's name in the worker's folder
  const char *call;        // what is recorded, for messages: "forward"
  const char *nothing;     // what it means that it launches nothing
  enum assay_status (*start_worker)(struct lifted_program *p, struct lift_worker **out, struct assay_error *err);
  void (*worker_is_gone)(struct lifted_program *p); // may be NULL
  // The worker ended before there was anything of the candidate: why, for the user, from what it printed.
  enum assay_status (*cannot_start)(const struct lifted_program *p, const char *printed, struct assay_error *err);
  // Whether the workload can be asked for; the report says why not. NULL: each can.
  bool (*takes)(struct lifted_program *p, const struct plan_subject *s, struct plan_report *report);
  void (*release)(struct lifted_program *p); // what is the kind's own; may be NULL
};

// A workload, and its recordings.
enum { LIFTS = 2, LIFTED_MOST_ITEMS = LIFT_WORKER_FDS / (2 * LIFTS) };
struct lift_item {
  struct plan_subject subject; // the program's own copy
  struct record_request *requests[LIFTS];
  size_t request_bytes[LIFTS];
  int fds[2 * LIFTS]; // request, log; request, log
  bool recorded;      // or tried: the logs say what came of it
};

// The first member of a kind's own structure, which is base_calloc'ed.
struct lifted_program {
  struct program base;
  const struct lifted_kind *kind;
  struct arena arena;
  const char *source, *toolchain, *source_name;
  size_t source_bytes;
  const struct assay_paths *paths; // borrowed
  const char *const *defines;
  int device_index;
  int64_t budget_ns, spent_ns; // as in struct program_options; by workers so far
  const struct sandbox_pauses *pauses;
  bool without_landlock;
  struct lift_item items[LIFTED_MOST_ITEMS];
  int n_items;
};

// Copies what all kinds need; false when memory fails. `p` is released by lifted_release in any case.
bool lifted_init(struct lifted_program *p, const struct lifted_kind *kind, const struct toolchain *toolchain,
                 const struct program_options *o, const char *source, size_t n);
const char *const *lifted_copy_list(const char *const *list, struct arena *a); // NULL-terminated; NULL: an empty one

// A worker's order to make what the source compiles as it is imported, and no workload.
enum assay_status lifted_make_order(const struct lifted_program *p, const char *candidate, struct buf *out,
                                    struct assay_error *err);
int64_t lifted_deadline_ns(const struct lifted_program *p); // of what begins now

// For struct toolchain_ops.
enum assay_status lifted_plan(struct program *base, const struct plan_subject *subject, struct plan *out,
                              struct plan_report *report, struct assay_error *err);
enum assay_status lifted_expect(struct program *base, const struct plan_subject *subjects, int n,
                                struct assay_error *err);
void lifted_release(struct program *base);

#endif
