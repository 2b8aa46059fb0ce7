// SPDX-License-Identifier: Apache-2.0
// The thread that commits submissions. Those that come while one commit is under way share the next, and no thread of
// the connections waits for a disk.
#ifndef SERVE_WRITER_H
#define SERVE_WRITER_H

#include <pthread.h>

#include <microhttpd.h>

#include "serve/request.h"

struct server;

struct submission_entry {
  struct serve_admission admission;
  char hash[QUEUE_IDENTITY], identity[QUEUE_IDENTITY];
};

// A submission on its way. Its connection is suspended while the writer has it.
struct submission {
  struct submission *next;
  struct MHD_Connection *connection;
  struct request request;
  struct queue_request *rows;
  struct queue_job *jobs;
  struct submission_entry *entries;
  struct queue_batch batch; // of rows and jobs; afterwards what came of it
};
void submission_destroy(struct submission *b); // NULL is fine

struct writer {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  struct submission *first, *last; // that wait, oldest first
  bool started, closed;
};

enum assay_status writer_start(struct server *s, struct assay_error *err);
// Suspends the connection, and resumes it when b->batch.status says what came of the submission. False: the writer has
// ended, nothing happened. Called by the connection's handler.
bool writer_put(struct server *s, struct submission *b, struct MHD_Connection *connection);
// Commits what is there, and ends.
void writer_stop(struct server *s);

#endif
