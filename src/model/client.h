// SPDX-License-Identifier: Apache-2.0
// Asks language models: many requests at once, in a thread of the client's own, so that replies flow while kernels are
// built and judged.
//
//   struct model_client *c;
//   model_client_open(&options, &c, &err);
//   model_client_submit(c, &request, &err);
//   while (model_client_next(c, -1, &reply)) { ... model_reply_release(&reply); }
//   model_client_close(c);
//
// All functions are called from one thread.
#ifndef MODEL_CLIENT_H
#define MODEL_CLIENT_H

#include "model/model.h"

struct model_client;

// Where requests go. "exec:COMMAND" gives the prompt to /bin/sh -c COMMAND on its standard input and takes its standard
// output as the reply: an agent's command line, a script.
//
// "https://HOST/v1" speaks OpenAI's Chat Completions, as most servers do, or what `api` says; plain http is for servers
// that need no key, or are on this machine. The path of the interface is added where the URL lacks it.
struct model_endpoint {
  const char *url;
  const char
      *api; // "chat", "messages" (Anthropic), "responses" (OpenAI); NULL: messages for Anthropic's host, else chat
  const char *key; // NULL: none. Sent to this host alone; in no log, message, environment or argument list
  bool no_stream;
  const char *fields; // more fields of every request, a JSON object; NULL: none. Not of a program
  // Fields that the server has refused before, "temperature,seed"; NULL: none known.
  const char *refused;
};

struct model_client_options {
  const struct model_endpoint *endpoints; // strings are borrowed until the client is closed
  int n_endpoints;
  int parallel;             // requests under way at once; those that wait to be sent again do not count
  int64_t whole_ns;         // time for one request, each of its retries
  int64_t connect_ns;       // to reach the server
  int64_t silence_ns;       // without a byte of content; models think for minutes
  int64_t backoff_ns;       // before the first retry; doubled each time, at most 16 times as long
  int retries;              // of requests that were not answered, where the server may do so later
  int64_t wait_ns;          // in all, for a server that says "not now" (429, 503, 529), beyond these retries
  size_t most_reply_bytes;  // a longer reply has failed; of a server's, also one longer than its cap on tokens can be
  char *const *environment; // of programs; NULL-terminated, borrowed
  const char *authorities; // a file of certificates (PEM) that vouch for servers, in place of the system's; NULL: these
};
void model_client_defaults(struct model_client_options *o);

// Whether it is a program: "exec:COMMAND".
bool model_endpoint_is_program(const struct model_endpoint *e);

// ASSAY_ERR_USAGE for an endpoint that cannot be one, with what it looks like. Nothing is sent.
enum assay_status model_endpoint_check(const struct model_endpoint *e, struct assay_error *err);

enum assay_status model_client_open(const struct model_client_options *o, struct model_client **out,
                                    struct assay_error *err);
// Ends what is under way, unanswered. NULL is fine.
void model_client_close(struct model_client *c);

// Queues a request; it is sent when fewer than `parallel` are under way, and its endpoint has not yet its part of them:
// as many as each of those that were asked, so that one that hangs does not hold up the others. ASSAY_ERR_NOMEM.
enum assay_status model_client_submit(struct model_client *c, const struct model_request *r, struct assay_error *err);

// How many requests wait to be sent again.
int model_client_waiting(struct model_client *c);
// Nothing more is submitted for that endpoint: its part is the others'.
void model_client_leave(struct model_client *c, int endpoint);

// The next reply, in the order in which they come. Waits for it so long (-1: until there is one); false: there is none
// yet, or nothing is under way.
bool model_client_next(struct model_client *c, int64_t wait_ns, struct model_reply *out);

// The fields that an endpoint refused, as in model_endpoint, those that were known before included. Call it when
// nothing is under way. ASSAY_ERR_NOMEM.
enum assay_status model_client_refused(const struct model_client *c, int endpoint, struct buf *out,
                                       struct assay_error *err);

#endif
