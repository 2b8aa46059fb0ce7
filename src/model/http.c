// SPDX-License-Identifier: Apache-2.0
// Requests over HTTP, as libcurl carries them. What came of one is looked at in http_answer.c.
#include "model/http.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "model/address.h"
#include "model/limits.h"

enum { RAW_PER_TEXT = 64, WHOLE_PER_TEXT = 2 };
enum { LEAST_MOST_BYTES = 1 << 20, MOST_TOKEN_BYTES = 64 };

// --- endpoints

enum assay_status http_check(const struct model_endpoint *e, struct assay_error *err) {
  return address_check(e->url, e->key, err);
}

static const struct wire *wire_of(const struct model_endpoint *e) {
  static const struct wire *const all[] = {&wire_chat, &wire_messages, &wire_responses};
  if (e->api)
    return wire_by_name(e->api);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (address_ends_with(e->url, all[i]->path))
      return all[i];
  return strstr(e->url, "://api.anthropic.com") ? &wire_messages : &wire_chat;
}

// --- one transfer

static bool on_event(void *arg, const char *event, const char *data, size_t n) {
  struct exchange *x = arg;
  struct transfer *t = x->carrier;
  if (t->got.ended) // what comes after the end is no part of the answer
    return true;
  t->last_content_ns = clock_monotonic_ns();
  t->n_events++;
  t->malformed = !wire_take_event(t->wire, &t->got, event, data, n);
  t->too_long = t->got.text.len + t->got.called.len + t->got.thought_bytes > t->most_bytes;
  return !t->malformed && !t->too_long && !t->got.text.failed;
}

// By the type of the answer, or where that says nothing of the kind, by how it begins.
static bool is_stream(const struct transfer *t, const char *bytes, size_t n) {
  static const char *const types[] = {"text/event-stream", "application/json"};
  static const char *const words[] = {"data:", "event:", "id:", "retry:", ": "};
  const char *type = NULL;
  curl_easy_getinfo(t->easy, CURLINFO_CONTENT_TYPE, &type);
  for (size_t i = 0; type && i < 2; i++)
    if (strncasecmp(type, types[i], strlen(types[i])) == 0)
      return i == 0;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (n >= strlen(words[i]) && memcmp(bytes, words[i], strlen(words[i])) == 0)
      return true;
  return false;
}

// Some gateways answer with 201.
bool http_is_success(long status) {
  return status >= 200 && status < 300;
}

static size_t on_bytes(char *bytes, size_t size, size_t count, void *arg) {
  struct exchange *x = arg;
  struct transfer *t = x->carrier;
  size_t n = size * count;
  long status = 0;
  curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
  if (t->raw_bytes == 0)
    t->streams = http_is_success(status) && is_stream(t, bytes, n);
  t->raw_bytes += n;
  t->too_long = t->too_long || t->raw_bytes > RAW_PER_TEXT * t->most_bytes;
  if (t->too_long)
    return 0;
  if (t->streams && t->n_events == 0 && t->plain.len < MOST_ERROR_BYTES) // it may be no stream after all
    buf_append(&t->plain, bytes, n);
  if (t->streams) {
    bool taken = sse_feed(&t->sse, bytes, n, on_event, x);
    bool endless = t->sse.line.len + t->sse.data.len > WHOLE_PER_TEXT * t->most_bytes; // an event without an end
    t->too_long = t->too_long || endless || (!taken && !t->malformed && !t->got.text.failed);
    taken = taken && !endless;
    return taken ? n : 0;
  }
  t->last_content_ns = clock_monotonic_ns();
  if (!http_is_success(status) && t->plain.len + n > MOST_ERROR_BYTES) { // what it says stands at its beginning
    t->enough = true;
    return 0;
  }
  t->too_long = t->plain.len + n > WHOLE_PER_TEXT * t->most_bytes;
  if (!t->too_long)
    buf_append(&t->plain, bytes, n);
  return t->too_long || t->plain.failed ? 0 : n;
}

static void header(struct transfer *t, const char *line) {
  struct curl_slist *more = curl_slist_append(t->headers, line);
  t->headers = more ? more : t->headers;
}

static void put_headers(struct transfer *t, const char *key) {
  char line[4096];
  const char *form = t->wire == &wire_messages  ? "x-api-key: %s"
                     : address_is_azure(t->url) ? "api-key: %s"
                                                : "Authorization: Bearer %s";
  header(t, "Content-Type: application/json");
  header(t, "Expect:");
  if (t->wire == &wire_messages)
    header(t, "anthropic-version: 2023-06-01");
  if (!key)
    return;
  snprintf(line, sizeof line, form, key);
  header(t, line);
  explicit_bzero(line, sizeof line);
}

static void set_up(struct exchange *x, const struct model_client_options *o) {
  struct transfer *t = x->carrier;
  CURL *c = t->easy;
  curl_easy_setopt(c, CURLOPT_URL, t->url);
  curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, strncmp(t->url, "http:", 5) == 0 ? "http" : "https");
  curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);                   // a key goes to its host alone
  curl_easy_setopt(c, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE); // nor to a proxy
  if (address_is_loopback(t->url))
    curl_easy_setopt(c, CURLOPT_NOPROXY, "*");              // what is for this machine does not leave it
  curl_easy_setopt(c, CURLOPT_ACCEPT_ENCODING, "identity"); // libcurl unpacks what is packed all the same
  curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
  // On a connection that was used before libcurl sends a request again by itself, which nobody has in the books.
  curl_easy_setopt(c, CURLOPT_FRESH_CONNECT, 1L);
  curl_easy_setopt(c, CURLOPT_FORBID_REUSE, 1L);
  if (o->authorities)
    curl_easy_setopt(c, CURLOPT_CAINFO, o->authorities);
  curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)(o->connect_ns / 1000000));
  curl_easy_setopt(c, CURLOPT_HTTPHEADER, t->headers);
  curl_easy_setopt(c, CURLOPT_POSTFIELDS, t->body);
  curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(t->body));
  curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_bytes);
  curl_easy_setopt(c, CURLOPT_WRITEDATA, x);
  curl_easy_setopt(c, CURLOPT_PRIVATE, x);
  curl_easy_setopt(c, CURLOPT_USERAGENT, "assay/" ASSAY_VERSION);
}

static void forget_reply(struct transfer *t) {
  sse_release(&t->sse);
  buf_release(&t->got.text);
  buf_release(&t->got.called);
  buf_clear(&t->plain);
  memset(&t->sse, 0, sizeof t->sse);
  t->got = (struct wire_reply){.usage = MODEL_USAGE_UNKNOWN};
  t->raw_bytes = t->n_events = 0;
  t->enough = t->ended = t->malformed = t->too_long = t->streams = false;
}

static bool is_utf8(const char *text) {
  json_t *j = json_string(text);
  json_decref(j);
  return j != NULL;
}

// A cap is not lowered below the usual one, which the user gave.
int64_t http_least_cap(const struct exchange *x, int64_t cap) {
  int64_t usual = x->request.usual_max_tokens > 0 ? x->request.usual_max_tokens : x->request.max_tokens;
  return cap > usual ? cap : usual;
}

// jansson leaves out what is not UTF-8: a request without its prompt would be paid for.
static bool make_body(struct exchange *x) {
  struct transfer *t = x->carrier;
  if (x->request.partial && (!is_utf8(x->request.partial) || !is_utf8(x->request.more)))
    return false;
  if (!is_utf8(x->request.model) || !is_utf8(x->request.system) || !is_utf8(x->request.user))
    return false;
  bool streamed = !x->endpoint->no_stream && !(*x->refused & 1u << WIRE_STREAM);
  t->sent = (t->wire->fields | (streamed ? 1u << WIRE_STREAM : 0)) & ~*x->refused;
  if (*x->most_tokens > 0 && x->request.max_tokens > *x->most_tokens)
    x->request.max_tokens = http_least_cap(x, *x->most_tokens);
  json_t *j = t->wire->request(&x->request, *x->refused, streamed);
  json_t *more = x->endpoint->fields ? json_loads(x->endpoint->fields, 0, NULL) : NULL;
  if (j && more)
    json_object_update(j, more);
  json_decref(more);
  free(t->body);
  t->body = j ? json_dumps(j, JSON_COMPACT) : NULL;
  json_decref(j);
  return t->body != NULL;
}

// Before it is sent again, its sender has it in the books. False: it cannot.
static bool note_again(struct exchange *x) {
  struct assay_error err = {0};
  if (x->reply.calls == 0 || !x->request.again ||
      x->request.again(x->request.again_arg, &x->request, x->reply.calls + 1, x->reply.unknown_calls, &err) == ASSAY_OK)
    return true;
  exchange_fail(x, MODEL_UNSERVED, err.status, "%s", err.message);
  return false;
}

// Sends the request, the first time or again.
void http_send(struct exchange *x, const struct model_client_options *o) {
  struct transfer *t = x->carrier;
  forget_reply(t);
  t->retry_ns = 0;
  x->waits = false;
  t->last_content_ns = clock_monotonic_ns();
  x->deadline_ns = t->last_content_ns + o->whole_ns;
  if (!make_body(x)) {
    t->ended = true;
    exchange_fail(x, MODEL_FAILED, ASSAY_ERR_USAGE, "the prompt cannot be sent as JSON: it is not UTF-8");
    return;
  }
  if (!note_again(x)) {
    t->ended = true;
    return;
  }
  x->reply.calls++;
  set_up(x, o);
  curl_multi_add_handle(x->multi, t->easy);
}

static void http_stop(struct exchange *x) {
  struct transfer *t = x->carrier;
  if (!t)
    return;
  if (t->easy) {
    curl_multi_remove_handle(x->multi, t->easy);
    curl_easy_cleanup(t->easy);
  }
  curl_slist_free_all(t->headers);
  sse_release(&t->sse);
  buf_release(&t->got.text);
  buf_release(&t->got.called);
  buf_release(&t->plain);
  free(t->body);
  base_free(t);
  x->carrier = NULL;
}

// It is sent at that time.
void http_wait_until(struct exchange *x, int64_t ns) {
  struct transfer *t = x->carrier;
  t->retry_ns = ns;
  x->waits = true;
  x->wake_ns = ns;
  x->deadline_ns = INT64_MAX;
}

// So many bytes at most has a reply's text: no more than its tokens can be, so that many at once find room.
static size_t most_bytes(const struct exchange *x, const struct model_client_options *o) {
  int64_t tokens = x->request.max_tokens;
  int64_t most = tokens <= 0 || tokens > INT32_MAX ? INT64_MAX : tokens * MOST_TOKEN_BYTES;
  most = most < LEAST_MOST_BYTES ? LEAST_MOST_BYTES : most;
  return (uint64_t)most < o->most_reply_bytes ? (size_t)most : o->most_reply_bytes;
}

static void http_start(struct exchange *x, const struct model_client_options *o) {
  struct transfer *t = x->carrier = base_calloc(1, sizeof *t);
  if (t) {
    t->wire = wire_of(x->endpoint);
    t->most_bytes = most_bytes(x, o);
    t->key = x->endpoint->key;
    t->easy = curl_easy_init();
    t->url = address_of(&x->arena, x->endpoint->url, t->wire->path);
    if (t->url)
      put_headers(t, t->key);
  }
  if (!t || !t->easy || !t->url) {
    exchange_fail(x, MODEL_ENDED, ASSAY_ERR_NOMEM, "out of memory for a request");
    http_stop(x);
    return;
  }
  if (*x->hold_ns > clock_monotonic_ns())
    http_wait_until(x, *x->hold_ns);
  else
    http_send(x, o);
}

static int http_fds(const struct exchange *x, struct curl_waitfd *out) {
  (void)x;
  (void)out;
  return 0; // libcurl adds its own
}

void http_ended(struct exchange *x, CURLcode code) {
  struct transfer *t = x->carrier;
  curl_multi_remove_handle(x->multi, t->easy);
  t->ended = true;
  t->code = code;
}

static bool http_go_on(struct exchange *x, const struct model_client_options *o, int64_t now_ns) {
  struct transfer *t = x->carrier;
  long status = 0;
  bool over = true;
  if (!t)
    return true;
  if (t->retry_ns) {
    if (now_ns < *x->hold_ns && t->retry_ns < *x->hold_ns) // the limits of others' requests are its own
      http_wait_until(x, *x->hold_ns);
    if (now_ns < t->retry_ns)
      return false;
    http_send(x, o);
  }
  bool whole = t->streams && t->got.ended;
  x->wake_ns = t->last_content_ns + o->silence_ns;
  t->ended = t->ended || whole; // all is there, whether the server closes or not
  if (!t->ended && now_ns >= x->deadline_ns)
    http_fail(x, MODEL_FAILED, ASSAY_ERR_ENVIRONMENT, "no whole answer in time; allow more with --reply-timeout", "");
  else if (!t->ended && now_ns >= x->wake_ns) {
    x->reply.waited = true;
    http_fail(x, MODEL_UNSERVED, ASSAY_ERR_ENVIRONMENT, "the server fell silent", "");
  } else if (!t->ended)
    return false;
  if (x->reply.failure) { // out of time: what came is kept
    http_keep_text(x);
    http_stop(x);
    return true;
  }
  curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
  int64_t limited = limits_of(t->easy, clock_wall_ns());
  if (limited > 0)
    http_hold(x, limited < MOST_ASKED_WAIT_NS ? limited : MOST_ASKED_WAIT_NS);
  if (t->code != CURLE_OK && !whole && !t->enough)
    over = http_take_cut(x, o);
  else if (http_is_success(status))
    over = http_take_answer(x, o);
  else
    over = http_take_error(x, o, status);
  if (over)
    http_stop(x);
  return over;
}

const struct carrier_ops carrier_http = {http_start, http_fds, http_go_on, http_stop};
