// SPDX-License-Identifier: Apache-2.0
// The site as verdicts come: a thread that has a child process make its pages again. Requests never wait for it: they
// read whole files, and the list of files is exchanged when the child has ended.
#ifndef SERVE_RENEW_H
#define SERVE_RENEW_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct server;

// When pages are made: as soon as nothing was judged for RENEW_QUIET_NS, at the latest RENEW_LATE_NS after a verdict,
// and not within RENEW_REST times as long as they took the last time: a large site does not take a whole processor.
// The first pages are made at once.
enum { RENEW_REST = 4 };
#define RENEW_QUIET_NS INT64_C(1000000000)
#define RENEW_LATE_NS INT64_C(30000000000)

struct renewal {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool started, closing, wanted;
  int64_t first_ns, last_ns; // of the verdicts since: monotonic
  int64_t rest_ns;           // not before
  pid_t child;               // 0: none runs
};

// Whether it is time to make the pages. `busy`: something is being judged.
bool renew_is_due(const struct renewal *r, bool busy, int64_t now_ns);

void renew_init(struct renewal *r);
void renew_release(struct renewal *r);
enum assay_status renew_start(struct server *s, struct assay_error *err);
void renew_want(struct server *s); // a verdict is new. Any thread
void renew_stop(struct server *s); // ends the child too: what it has made stays, the next one goes on

#endif
