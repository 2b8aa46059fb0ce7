// SPDX-License-Identifier: Apache-2.0
// The queue of the judge as a service (src/serve): jobs, who asked for them, their verdicts, and what happened when.
// Its tables are in the store's file, so that a verdict and the end of its job are one transaction.
//
// A job is what one identity names: the hash of all that decides what its verdict means. However often it is
// submitted, it is one job, and `publication` has at most one verdict of it.
//
// A handle of the store is used by one thread at a time. Every function that changes something is one transaction, on
// disk when it returns (synchronous = FULL).
#ifndef STORE_QUEUE_H
#define STORE_QUEUE_H

#include <stddef.h>

#include "store/step.h"
#include "store/store.h"

enum {
  QUEUE_SCHEMA_VERSION = 1,
  QUEUE_IDENTITY = 65, // 64 hexadecimal digits and a NUL
  QUEUE_NAME = 128,
  QUEUE_WHY = 512,
  QUEUE_MOST_JOBS = 64, // of one submission
};

// X(ID, name as stored and shown, whether the job has ended)
#define QUEUE_STATES(X)                                                                                                \
  X(WAITING, "waiting", false)                                                                                         \
  X(RUNNING, "running", false)                                                                                         \
  X(DONE, "done", true)           /* it has a verdict */                                                               \
  X(CANCELLED, "cancelled", true) /* nobody wants it any more */                                                       \
  X(GIVEN_UP, "given_up", true)   /* the machine failed too often; submitting it again starts it again */

enum queue_state {
#define QUEUE_STATE_ID(id, name, ended) QUEUE_##id,
  QUEUE_STATES(QUEUE_STATE_ID)
#undef QUEUE_STATE_ID
      QUEUE_N_STATES
};
const char *queue_state_name(enum queue_state state);
bool queue_has_ended(enum queue_state state);

// Makes the tables where they are not yet there. ASSAY_ERR_UNSUPPORTED for those of a newer version.
enum assay_status queue_prepare(struct store *s, struct assay_error *err);

// A job to submit. Strings are borrowed.
struct queue_request {
  const char *identity, *device, *task, *workload;
  const char *name;     // of the candidate's file: its ending is its form
  const char *settings; // JSON
  const char *candidate_hash;
  struct store_bytes source;
  bool timed; // it needs its device for itself
};

struct queue_job {
  int64_t id;
  enum queue_state state;
  char identity[QUEUE_IDENTITY], device[32], task[QUEUE_NAME], workload[QUEUE_NAME], name[QUEUE_NAME],
      candidate_hash[QUEUE_IDENTITY];
  char why[QUEUE_WHY]; // the last fault of the machine; ""
  bool timed;
  int64_t attempt, faults;        // claims so far; of these, how many ended with a fault of the machine
  int64_t at_ns, end_ns, last_ns; // wall clock: submitted, ended (0: not yet), last change
  int64_t event;                  // number of its last event
  int64_t ahead;                  // waiting jobs before it on the same device; 0 where it does not wait
};

// Submits n jobs (at most QUEUE_MOST_JOBS) in one transaction, all or none, and sets jobs[i]. One that is known is
// joined; one that had been cancelled or given up, or whose verdict was deleted, waits again. ASSAY_ERR_LIMIT: more
// than most_waiting jobs would wait.
enum assay_status queue_submit(struct store *s, const char *submitter, const struct queue_request *r, int n,
                               int64_t most_waiting, struct queue_job *jobs, struct assay_error *err);

// Several submissions in one transaction, so that they share a commit: each is accepted or refused by itself, as above,
// and `status` says which. A failure to begin or to commit is returned, and nothing is accepted then.
struct queue_batch {
  const char *submitter;
  const struct queue_request *requests;
  int n;
  struct queue_job *jobs;
  enum assay_status status;
  struct assay_error error;
};
enum assay_status queue_submit_all(struct store *s, struct queue_batch *const *batches, int n, int64_t most_waiting,
                                   struct assay_error *err);

// ASSAY_ERR_NOT_FOUND.
enum assay_status queue_get(struct store *s, const char *identity, struct queue_job *out, struct assay_error *err);

// Calls visit for the newest jobs first, at most `most`; stops when it returns false.
typedef bool queue_visit(void *arg, const struct queue_job *job);
enum assay_status queue_each(struct store *s, int64_t most, queue_visit *visit, void *arg, struct assay_error *err);

// A job with what judging needs. Release with queue_work_release.
struct queue_work {
  struct queue_job job;
  char *settings, *source;
  size_t source_bytes;
};
void queue_work_release(struct queue_work *w);

// Takes the first job for a kind of device ("cuda") that waits, for one such device, the unit ("cuda:1"): the job's
// attempt goes up by one, and with it everybody who holds an earlier attempt has lost it. A timed job is alone on its
// unit. It is not taken while another one runs there, nothing overtakes it, and nothing starts next to it. *found is
// false when there is none.
struct queue_claimant {
  const char *device, *unit;
  int64_t owner; // the process
  bool ahead;    // it may have a job while another is tested on the unit: its claimants take turns there by themselves
};
enum assay_status queue_claim(struct store *s, const struct queue_claimant *who, struct queue_work *out, bool *found,
                              struct assay_error *err);

// Stores the verdict, publishes it as the identity's and ends the job, in one transaction. *published is false, and
// nothing is stored, when the job is no longer this attempt's: cancelled, or taken away.
enum assay_status queue_finish(struct store *s, const struct queue_job *job, const struct store_verdict *v,
                               bool *published, struct assay_error *err);

// The machine failed: the job waits again from `again_ns` on, or with `most_faults` faults is given up. Nothing where
// the job is no longer this attempt's. most_faults 0: it was not the machine's fault nor the job's (the server ends).
enum assay_status queue_put_back(struct store *s, int64_t id, int64_t attempt, const char *why, int64_t most_faults,
                                 int64_t again_ns, struct assay_error *err);

// The running job of a process that has ended; *found is false when it had none.
enum assay_status queue_of_owner(struct store *s, int64_t owner, struct queue_job *out, bool *found,
                                 struct assay_error *err);

// At the start of the only server of this store: what runs belongs to one that is dead, and waits again. *n: how many.
enum assay_status queue_recover(struct store *s, int64_t *n, struct assay_error *err);

// This submitter no longer wants the job. *ended: nobody else does, and it is cancelled, also while it runs.
// ASSAY_ERR_NOT_FOUND: it is not this submitter's; ASSAY_ERR_INVALID: it has ended.
enum assay_status queue_cancel(struct store *s, const char *identity, const char *submitter, bool *ended,
                               struct queue_job *out, struct assay_error *err);

// Calls visit for the identity's verdict. ASSAY_ERR_NOT_FOUND.
enum assay_status queue_verdict(struct store *s, const char *identity, store_visit *visit, void *arg,
                                struct assay_error *err);

// The source that a published verdict is of, heap (base_free); NULL: none, or the store never had a queue.
enum assay_status queue_source(struct store *s, int64_t verdict, char **source, size_t *n, struct assay_error *err);

// What happened to a job, in order; numbers go up over all jobs.
struct queue_event {
  int64_t number, at_ns, attempt;
  enum queue_state state; // that it came to
  const char *why;        // lives until the visitor returns
};
typedef bool queue_visit_event(void *arg, const struct queue_event *e);
enum assay_status queue_each_event(struct store *s, int64_t job, int64_t after, queue_visit_event *visit, void *arg,
                                   struct assay_error *err);

// Jobs of a device by state. *oldest_ns: wall clock at which the one that waits longest was submitted; 0: none waits.
struct queue_count {
  int64_t jobs[QUEUE_N_STATES];
  int64_t oldest_ns;
};
enum assay_status queue_count(struct store *s, const char *device, struct queue_count *out, struct assay_error *err);

#endif
