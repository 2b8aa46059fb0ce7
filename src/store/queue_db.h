// SPDX-License-Identifier: Apache-2.0
// Shared by the queue's own files.
#ifndef STORE_QUEUE_DB_H
#define STORE_QUEUE_DB_H

#include "store/db.h"
#include "store/queue.h"

// The columns of a job as queue_row() reads them.
#define QUEUE_COLUMNS                                                                                                  \
  "job.id, job.state, job.identity, job.device, job.task, job.workload, job.name, job.candidate_hash, job.why, "       \
  "job.timed, job.attempt, job.faults, job.at_ns, job.end_ns, job.last_ns, job.event"
enum { QUEUE_N_COLUMNS = 16 };

// ASSAY_ERR_CORRUPT for a state that is none.
enum assay_status queue_row(struct store *s, sqlite3_stmt *st, struct queue_job *out, struct assay_error *err);

// A statement with texts and numbers as parameters, texts first. Finish with queue_done.
struct queue_parameters {
  const char *texts[8]; // NULL after the last
  int64_t numbers[8];
  int n_numbers;
};
enum assay_status queue_start(struct store *s, const char *sql, const struct queue_parameters *p, sqlite3_stmt **out,
                              struct assay_error *err);
// Runs one without results. *changed (may be NULL): how many rows.
enum assay_status queue_run(struct store *s, const char *sql, const struct queue_parameters *p, int64_t *changed,
                            struct assay_error *err);
// The job that a statement finds. *found may be NULL: then ASSAY_ERR_NOT_FOUND.
enum assay_status queue_one(struct store *s, const char *sql, const struct queue_parameters *p, struct queue_job *out,
                            bool *found, struct assay_error *err);

// Within a transaction: brings the job to a state, and notes that as an event. `why` is what clients read.
enum assay_status queue_change(struct store *s, int64_t id, enum queue_state state, const char *why,
                               struct assay_error *err);

#endif
