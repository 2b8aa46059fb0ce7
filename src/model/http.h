// SPDX-License-Identifier: Apache-2.0
// Private to src/model: a request over HTTP on its way. http.c carries it, http_answer.c takes what came of it.
#ifndef MODEL_HTTP_H
#define MODEL_HTTP_H

#include "model/exchange.h"
#include "model/sse.h"
#include "model/wire.h"

enum { MOST_ERROR_BYTES = 65536 };
#define MOST_ASKED_WAIT_NS ((int64_t)60000000000) // a longer retry-after is not waited for, unless the user does

struct transfer {
  CURL *easy;
  struct curl_slist *headers;
  const struct wire *wire;
  char *url, *body;
  struct sse sse;
  struct wire_reply got;
  struct buf plain; // a body that is no stream
  size_t raw_bytes, most_bytes, n_events;
  int64_t last_content_ns; // a comment that keeps the connection open is no content
  bool streams, malformed, too_long;
  bool enough; // an error, whose rest is not read
  bool ended;  // with `code`
  CURLcode code;
  int retries, field_retries;
  int64_t busy_ns;  // since when the server says "not now"; 0: it did not
  unsigned sent;    // fields that this request had: others may have taught meanwhile what is refused
  int64_t retry_ns; // when it is sent again; 0: it is under way
  const char *key;  // to be left out of messages
};

// --- http.c

// Sends the request, the first time or again.
void http_send(struct exchange *x, const struct model_client_options *o);
// It is sent at that time.
void http_wait_until(struct exchange *x, int64_t ns);
bool http_is_success(long status); // some gateways answer with 201
// A cap is not lowered below the usual one, which the user gave.
int64_t http_least_cap(const struct exchange *x, int64_t cap);

// --- http_answer.c

// The reply has failed; `said` is the server's own words.
void http_fail(struct exchange *x, enum model_failure failure, enum assay_status status, const char *what,
               const char *said);
// Nothing more is sent to the endpoint for so long.
void http_hold(struct exchange *x, int64_t ns);
// What came becomes the reply's text.
void http_keep_text(struct exchange *x);
// A transfer that brought no whole answer, one that ended with a success, one with another status. They return whether
// the exchange is over; else it is sent again.
bool http_take_cut(struct exchange *x, const struct model_client_options *o);
bool http_take_answer(struct exchange *x, const struct model_client_options *o);
bool http_take_error(struct exchange *x, const struct model_client_options *o, long status);

#endif
