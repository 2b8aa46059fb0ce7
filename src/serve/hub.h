// SPDX-License-Identifier: Apache-2.0
// Connections that wait for something to happen to a job: long polls and streams of events.
//
// libmicrohttpd never times a suspended connection out, and does not notice that its client has left: every wait has a
// deadline here. Whoever waits looks at the store first; what happens between the look and the wait is not missed,
// because the generation that was taken before the look is no longer the hub's.
#ifndef SERVE_HUB_H
#define SERVE_HUB_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <microhttpd.h>

struct waiter {
  struct waiter *next, *previous;
  struct MHD_Connection *connection;
  int64_t job, deadline_ns; // monotonic
};

struct hub {
  pthread_mutex_t lock;
  struct waiter first; // of a ring
  uint64_t generation;
  bool closed;
};

void hub_init(struct hub *h);
void hub_release(struct hub *h);

uint64_t hub_generation(struct hub *h);
bool hub_is_closed(struct hub *h);

// Suspends w->connection until something happens to w->job or its deadline comes. False, and not suspended: something
// has happened since `generation`, or the hub is closed; look again. Called in the connection's handler or reader only;
// the waiter must stay where it is until that is called again.
bool hub_wait(struct hub *h, struct waiter *w, uint64_t generation);

// Something happened to the job.
void hub_wake(struct hub *h, int64_t job);
// Resumes those whose deadline has come.
void hub_tick(struct hub *h, int64_t now_ns);
// Resumes all; nobody waits any more from here on.
void hub_close(struct hub *h);

#endif
