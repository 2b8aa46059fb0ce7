// SPDX-License-Identifier: Apache-2.0
// Private to src/serve: the server, and a request on its way through it.
#ifndef SERVE_SERVER_H
#define SERVE_SERVER_H

#include <stdatomic.h>

#include "base/buf.h"
#include "serve/hub.h"
#include "serve/metrics.h"
#include "serve/renew.h"
#include "serve/route.h"
#include "serve/serve.h"
#include "serve/site.h"
#include "serve/token.h"
#include "serve/workers.h"
#include "serve/writer.h"

struct connection;

struct server {
  const struct serve_options *o;
  int lock_fd; // held on a file next to the store: one server a store
  // Two handles of the store, so that nobody who reads waits for a commit. A handle's lock is held while it is used.
  struct store *reader, *writer;
  pthread_mutex_t read_lock, write_lock;
  struct tokens *tokens; // NULL: read only
  struct site *site;     // NULL: none
  struct MHD_Daemon *daemon;
  struct hub hub;
  struct metrics metrics;
  struct workers workers;
  struct writer submissions;
  struct renewal renewal;
  atomic_bool draining;
  atomic_ullong next_request; // its number, for logs
  pthread_mutex_t connections_lock;
  struct connection *connections;
};

// One request. libmicrohttpd calls for it several times: with the headers, with each piece of the body, and at its end.
struct call {
  struct server *server;
  struct MHD_Connection *connection;
  enum route route;
  char identity[QUEUE_IDENTITY]; // that the target names
  char *target;                  // as it was sent, where it is a page's; else NULL
  bool broken_target;            // it has characters that no resource's has
  bool foreign;                  // the target names a host that is none of ours
  bool begun;                    // the headers were looked at
  bool too_large;
  struct buf body;
  const char *submitter;
  const char *method;
  int64_t start_ns;
  int64_t deadline_ns; // of a long poll; 0: not yet known
  struct waiter waiter;
  struct submission *submission; // of a POST; NULL: not yet made
  unsigned code;                 // that was answered; 0: none
};

// reply.c: each answers the call, and returns what its handler returns. JSON is taken; NULL stands for no memory.
enum MHD_Result reply_bytes(struct call *c, unsigned code, const char *type, const char *bytes, size_t n);
enum MHD_Result reply_json(struct call *c, unsigned code, json_t *taken);
enum MHD_Result reply_created(struct call *c, unsigned code, const char *location, json_t *taken);
// An error as RFC 9457 has it. `retry_s` > 0 adds Retry-After; `extra`, with its value, is one more header or NULL.
struct problem {
  unsigned code;
  const char *detail;
  int retry_s;
  const char *header, *value;
};
enum MHD_Result reply_problem(struct call *c, const struct problem *p);
// What the store could not take: 503, and when to come back.
enum MHD_Result reply_not_stored(struct call *c, const struct assay_error *err);
// What a failed function means for a client.
enum MHD_Result reply_failure(struct call *c, const struct assay_error *err);
// A stream: `reader` makes its bytes. Takes `arg`, which `done` frees.
enum MHD_Result reply_stream(struct call *c, MHD_ContentReaderCallback reader, void *arg,
                             MHD_ContentReaderFreeCallback done);

// jobs.c, verdicts.c, events.c, pages.c: one function for each resource and method. Called when the request is whole;
// again when a connection that it suspended is resumed.
enum MHD_Result jobs_submit(struct call *c);
enum MHD_Result jobs_list(struct call *c);
enum MHD_Result jobs_get(struct call *c);
enum MHD_Result jobs_cancel(struct call *c);
enum MHD_Result events_get(struct call *c);
enum MHD_Result verdicts_get(struct call *c);
// A part of the evidence as it is published: a copy whose texts, however deep, have no paths of this machine. NULL:
// null.
json_t *verdicts_publish(const json_t *value);
enum MHD_Result pages_index(struct call *c);
enum MHD_Result pages_queue(struct call *c);
enum MHD_Result pages_site(struct call *c);
enum MHD_Result pages_metrics(struct call *c);
enum MHD_Result pages_openapi(struct call *c);
enum MHD_Result pages_health(struct call *c);
enum MHD_Result pages_ready(struct call *c);

json_t *job_json(const struct queue_job *job);
json_t *time_json(int64_t at_ns); // RFC 3339, UTC; null for 0

// http.c
enum assay_status http_start(struct server *s, struct assay_error *err);
void http_tick(struct server *s, int64_t now_ns); // closes connections whose time is over

// log.c: one line; `fields` is taken.
void server_log(const struct server *s, const char *event, json_t *fields);

#endif
