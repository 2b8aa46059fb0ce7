// SPDX-License-Identifier: Apache-2.0
// The processes that judge. A worker claims jobs from the queue by itself and says on its standard output, a line each,
//   claim JOB ATTEMPT
//   ready JOB                (it is built, and waits for its turn on the device)
//   test JOB NS              (from then on, of the monotonic clock, it is tested; nobody else is on the device)
//   left JOB NS              (until then: the device is free)
//   done JOB REASON NS...    (one for each of SERVE_STAGES)
//   back JOB                 (a fault of the machine: it waits again, or was given up)
//   lost JOB                 (cancelled or taken away meanwhile: its verdict is not published)
// It looks at the queue whenever a byte comes on its standard input, and ends, when it has no job, with the input.
#ifndef SERVE_WORKERS_H
#define SERVE_WORKERS_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "serve/serve.h"

struct server;

enum { WORKER_LINE = 256 };

struct worker {
  pid_t pid; // 0: none runs
  int to, from;
  char line[WORKER_LINE];
  size_t used;
  int64_t job, since_ns; // since: monotonic; job 0: it has none, as far as it has said
  int64_t busy_ns;       // since when it is on the device; 0: it is not
  bool waits;            // for its turn there
  bool too_long;         // it was ended, for what it had took longer than a judgement may
  int64_t restart_ns;    // not before
  int failures;          // ends in a row without a verdict between them
};

struct workers {
  pthread_mutex_t lock;
  struct worker items[SERVE_MOST_UNITS];
  pthread_t keeper;
  int wake; // an eventfd
  bool started, closing;
  atomic_bool poked;
};

enum assay_status workers_start(struct server *s, struct assay_error *err);
// There is something to do. Any thread.
void workers_poke(struct server *s);
// Ends the worker that has this job, if one has it.
void workers_end_job(struct server *s, int64_t job);
// Lets all finish, at most until `limit_ns` (monotonic), then ends those that are left.
void workers_stop(struct server *s, int64_t limit_ns);
int workers_running(struct server *s); // how many processes there are

#endif
