// SPDX-License-Identifier: Apache-2.0
// Private to src/model: one request on its way, and what carries it.
#ifndef MODEL_EXCHANGE_H
#define MODEL_EXCHANGE_H

#include <curl/curl.h>

#include "base/arena.h"
#include "model/client.h"

struct exchange {
  struct exchange *next; // of its list: queued, under way, or done
  struct arena arena;    // of the request's strings
  struct model_request request;
  const struct model_endpoint *endpoint;
  struct model_reply reply;
  CURLM *multi;         // the client's
  unsigned *refused;    // fields that the endpoint does not take; the client's
  int64_t *most_tokens; // a larger cap than this was refused; 0: none was; the client's
  int64_t *hold_ns;     // until then nothing is sent to the endpoint: its limits are used up; the client's
  int64_t start_ns, deadline_ns;
  bool waits;      // until wake_ns, to be sent: it takes no place of those under way
  int64_t wake_ns; // when it wants to go on without anything happening; INT64_MAX: never
  void *carrier;   // what is under way; NULL: not started
};

// A way to carry a request. All functions are called from the client's thread.
struct carrier_ops {
  // Begins. Failures end up in the reply.
  void (*start)(struct exchange *x, const struct model_client_options *o);
  // Adds the descriptors to wait for; returns how many (at most CARRIER_MOST_FDS).
  int (*fds)(const struct exchange *x, struct curl_waitfd *out);
  // Does what can be done without waiting. True: the reply is there, or has failed, and the carrier is gone.
  bool (*go_on)(struct exchange *x, const struct model_client_options *o, int64_t now_ns);
  void (*stop)(struct exchange *x); // ends it before its time
};
enum { CARRIER_MOST_FDS = 4 };
extern const struct carrier_ops carrier_exec, carrier_http;

// A transfer of this exchange has ended: what curl_multi_info_read() said.
void http_ended(struct exchange *x, CURLcode code);
// ASSAY_ERR_USAGE for an endpoint that is no URL, or would send a key where others can read it.
enum assay_status http_check(const struct model_endpoint *e, struct assay_error *err);

// The reply has failed, with this message.
void exchange_fail(struct exchange *x, enum model_failure failure, enum assay_status status, const char *fmt, ...)
    ASSAY_PRINTF(4, 5);

#endif
