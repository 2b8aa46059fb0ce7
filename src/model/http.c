// SPDX-License-Identifier: Apache-2.0
// Requests over HTTP, with retries as OpenAI's and Anthropic's own SDKs do them.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/printable.h"
#include "base/rng.h"
#include "model/address.h"
#include "model/exchange.h"
#include "model/limits.h"
#include "model/sse.h"
#include "model/wire.h"

enum { LEAST_REAL_KEY = 16 }; // a shorter one ("none", "ollama") keeps nobody out, and may be a word of any reply
enum { RAW_PER_TEXT = 64, MOST_ERROR_BYTES = 65536, MOST_FIELD_RETRIES = WIRE_FIELD_COUNT };
enum { MOST_DOUBLINGS = 4, MOST_BUSY_DOUBLINGS = 6 }; // of the time between retries; where a server is busy
static const int64_t GRACE_NS = 1000000000; // after the end of an answer, for the connection to be of use again
static const int64_t MOST_ASKED_WAIT_NS = 60000000000; // a longer retry-after is not waited for, unless the user does

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
  bool ended; // with `code`
  CURLcode code;
  int retries, field_retries;
  int64_t busy_ns;    // since when the server says "not now"; 0: it did not
  bool may_be_billed; // an earlier try reached the server
  unsigned sent;      // fields that this request had: others may have taught meanwhile what is refused
  int64_t retry_ns;   // when it is sent again; 0: it is under way
  const char *key;    // to be left out of messages
};

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
  t->too_long = t->got.text.len > t->most_bytes;
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
static bool is_success(long status) {
  return status >= 200 && status < 300;
}

static size_t on_bytes(char *bytes, size_t size, size_t count, void *arg) {
  struct exchange *x = arg;
  struct transfer *t = x->carrier;
  size_t n = size * count;
  long status = 0;
  curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
  if (t->raw_bytes == 0)
    t->streams = is_success(status) && is_stream(t, bytes, n);
  t->raw_bytes += n;
  t->too_long = t->too_long || t->raw_bytes > RAW_PER_TEXT * t->most_bytes;
  if (t->too_long)
    return 0;
  if (t->streams && t->n_events == 0 && t->plain.len < MOST_ERROR_BYTES) // it may be no stream after all
    buf_append(&t->plain, bytes, n);
  if (t->streams)
    return sse_feed(&t->sse, bytes, n, on_event, x) ? n : 0;
  t->last_content_ns = clock_monotonic_ns();
  t->too_long = t->plain.len + n > (is_success(status) ? 4 * t->most_bytes : (size_t)MOST_ERROR_BYTES);
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
  header(t, "Content-Type: application/json");
  header(t, "Expect:");
  if (t->wire == &wire_messages)
    header(t, "anthropic-version: 2023-06-01");
  if (!key)
    return;
  snprintf(line, sizeof line, t->wire == &wire_messages ? "x-api-key: %s" : "Authorization: Bearer %s", key);
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
  buf_clear(&t->plain);
  memset(&t->sse, 0, sizeof t->sse);
  t->got = (struct wire_reply){.usage = MODEL_USAGE_UNKNOWN};
  t->raw_bytes = t->n_events = 0;
  t->ended = t->malformed = t->too_long = t->streams = false;
}

static bool is_utf8(const char *text) {
  json_t *j = json_string(text);
  json_decref(j);
  return j != NULL;
}

// A cap is not lowered below the usual one, which the user gave.
static int64_t least_cap(const struct exchange *x, int64_t cap) {
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
  t->sent = t->wire->fields & ~*x->refused;
  if (*x->most_tokens > 0 && x->request.max_tokens > *x->most_tokens)
    x->request.max_tokens = least_cap(x, *x->most_tokens);
  json_t *j = t->wire->request(&x->request, *x->refused, !x->endpoint->no_stream);
  json_t *more = x->endpoint->fields ? json_loads(x->endpoint->fields, 0, NULL) : NULL;
  if (j && more)
    json_object_update(j, more);
  json_decref(more);
  free(t->body);
  t->body = j ? json_dumps(j, JSON_COMPACT) : NULL;
  json_decref(j);
  return t->body != NULL;
}

// Sends the request, the first time or again.
static void send_now(struct exchange *x, const struct model_client_options *o) {
  struct transfer *t = x->carrier;
  forget_reply(t);
  t->retry_ns = 0;
  t->last_content_ns = clock_monotonic_ns();
  x->deadline_ns = t->last_content_ns + o->whole_ns;
  if (!make_body(x)) {
    t->ended = true;
    exchange_fail(x, MODEL_FAILED, ASSAY_ERR_USAGE, "the prompt cannot be sent as JSON: it is not UTF-8");
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
  buf_release(&t->plain);
  free(t->body);
  base_free(t);
  x->carrier = NULL;
}

// It is sent at that time.
static void wait_until(struct exchange *x, int64_t ns) {
  struct transfer *t = x->carrier;
  t->retry_ns = ns;
  x->wake_ns = ns;
  x->deadline_ns = INT64_MAX;
}

static void http_start(struct exchange *x, const struct model_client_options *o) {
  struct transfer *t = x->carrier = base_calloc(1, sizeof *t);
  if (t) {
    t->wire = wire_of(x->endpoint);
    t->most_bytes = o->most_reply_bytes;
    t->key = x->endpoint->key;
    t->easy = curl_easy_init();
    t->url = address_of(&x->arena, x->endpoint->url, t->wire->path);
    put_headers(t, t->key);
  }
  if (!t || !t->easy || !t->url) {
    exchange_fail(x, MODEL_ENDED, ASSAY_ERR_NOMEM, "out of memory for a request");
    http_stop(x);
    return;
  }
  if (*x->hold_ns > clock_monotonic_ns())
    wait_until(x, *x->hold_ns);
  else
    send_now(x, o);
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

// --- what came of it

// The key in a text of the server's, which may echo it, becomes stars; a part of it that the text ends with, too.
static void hide_key(const struct transfer *t, char *text, size_t len) {
  enum { LEAST = 4 };
  size_t n = t->key ? strlen(t->key) : 0;
  for (char *at = text; n >= LEAST && at && (at = memmem(at, len - (size_t)(at - text), t->key, n));)
    memset(at, '*', n);
  for (size_t k = n ? n - 1 : 0; k >= LEAST; k--)
    if (k <= len && memcmp(text + len - k, t->key, k) == 0)
      memset(text + len - k, '*', k);
}

static void fail(struct exchange *x, enum model_failure failure, enum assay_status status, const char *what,
                 const char *said) {
  const struct transfer *t = x->carrier;
  char line[512];
  printable_line(said, line, sizeof line);
  exchange_fail(x, failure, status, "%s: %s%s%s", x->endpoint->url, what, line[0] ? ": " : "", line);
  hide_key(t, x->reply.error.message, strlen(x->reply.error.message));
}

static const char *header_of(const struct transfer *t, const char *name) {
  struct curl_header *h;
  return curl_easy_header(t->easy, name, 0, CURLH_HEADER, -1, &h) == CURLHE_OK ? h->value : NULL;
}

// What the server asks to wait; 0: nothing.
static int64_t asked_wait(const struct transfer *t) {
  const char *ms = header_of(t, "retry-after-ms");
  curl_off_t seconds = 0;
  double wait = ms ? strtod(ms, NULL) * 1e6 : 0;
  const char *after = header_of(t, "retry-after");
  if (wait <= 0 && after && strspn(after, "0123456789.") == strlen(after))
    wait = strtod(after, NULL) * 1e9;
  if (wait <= 0 && after) { // a date
    curl_easy_getinfo(t->easy, CURLINFO_RETRY_AFTER, &seconds);
    wait = (double)seconds * 1e9;
  }
  return wait > 0 && wait < 1e18 ? (int64_t)wait : 0;
}

// Nothing more is sent to the endpoint for so long.
static void hold(struct exchange *x, int64_t ns) {
  int64_t until = clock_monotonic_ns() + ns;
  *x->hold_ns = until > *x->hold_ns ? until : *x->hold_ns;
}

// Takes one of the calls that are left. Ask last: it is then sent.
static bool may_send_again(const struct exchange *x) {
  if (!x->request.spare_calls || atomic_fetch_sub(x->request.spare_calls, 1) > 0)
    return true;
  atomic_fetch_add(x->request.spare_calls, 1);
  return false;
}

// Whether it will be sent again; then it waits. `busy`: the server said "not now", and worked on nothing: that is
// waited for as long as the user allows. Else as often as the vendors' own libraries do it.
static bool retry_later(struct exchange *x, const struct model_client_options *o, bool busy) {
  struct transfer *t = x->carrier;
  int64_t now = clock_monotonic_ns(), asked = asked_wait(t);
  int most = busy ? MOST_BUSY_DOUBLINGS : MOST_DOUBLINGS;
  int64_t backoff = o->backoff_ns << (t->retries < most ? t->retries : most);
  // Those that failed together do not come again together.
  uint64_t noise = rng_mix64((uint64_t)x->start_ns ^ (uint64_t)x->request.tag << 20 ^ (uint64_t)t->retries);
  int64_t wait = asked ? asked : (int64_t)((double)backoff * (1 - 0.25 * rng_unit(noise)));
  t->busy_ns = t->busy_ns ? t->busy_ns : now;
  bool in_time = busy && now - t->busy_ns + wait <= o->wait_ns;
  if (!in_time && asked > MOST_ASKED_WAIT_NS && !busy)
    wait = asked = backoff;
  if (!in_time && (t->retries >= o->retries || wait > MOST_ASKED_WAIT_NS))
    return false;
  if (!may_send_again(x))
    return false;
  t->retries++;
  wait_until(x, now + wait);
  if (asked) // by the server, of everybody
    hold(x, asked);
  return true;
}

// An error about a field that can be left out: it is, and the endpoint is never sent it again.
static bool leave_out_field(struct exchange *x, const struct wire_error *e) {
  struct transfer *t = x->carrier;
  for (int i = 0; i < WIRE_FIELD_COUNT && t->field_retries < MOST_FIELD_RETRIES; i++) {
    if (!(t->sent & 1u << i) || !wire_error_is_field(e, wire_field_name((enum wire_field)i)))
      continue;
    *x->refused |= 1u << i;
    t->field_retries++;
    return true;
  }
  return false;
}

// A cap that was raised above the usual one, and is more than the model allows: a lower one is tried. The endpoint is
// not sent so large a one again.
static bool lower_cap(struct exchange *x) {
  int64_t lower = least_cap(x, x->request.max_tokens / 2);
  if (lower >= x->request.max_tokens || !may_send_again(x))
    return false;
  *x->most_tokens = lower;
  return true;
}

// What no server worked on costs nothing; what one may have begun has unknown costs.
static void bill_nothing(struct exchange *x) {
  const struct transfer *t = x->carrier;
  if (!t->may_be_billed)
    x->reply.usage = (struct model_usage){0};
}

// It said "not now" for longer than it is waited for.
static void fail_busy(struct exchange *x, const struct model_client_options *o, const char *what, const char *said) {
  const struct transfer *t = x->carrier;
  int64_t asked = asked_wait(t);
  char text[256];
  if (asked > 0 && asked > o->wait_ns)
    snprintf(text, sizeof text, "%s; it asks to wait %lld s: allow more with --server-wait, or run the command later",
             what, (long long)(asked / 1000000000));
  else
    snprintf(text, sizeof text, "%s, %d times in %lld s; allow more with --server-wait, ask less with --parallel", what,
             x->reply.calls, (long long)((clock_monotonic_ns() - t->busy_ns) / 1000000000));
  fail(x, MODEL_UNSERVED, ASSAY_ERR_ENVIRONMENT, text, said);
}

// An answer that is an error. Returns whether the exchange is over.
static bool take_error(struct exchange *x, const struct model_client_options *o, long status) {
  struct transfer *t = x->carrier;
  struct wire_error e;
  char what[128];
  const char *should = header_of(t, "x-should-retry");
  wire_read_error(buf_str(&t->plain), t->plain.len, &e);
  snprintf(what, sizeof what, "status %ld%s%s", status, e.kind[0] ? ", " : "", e.kind);
  bool cap = wire_error_is_cap(&e);
  bool request = status == 400 || status == 422; // it is what the server does not like
  if (request && (cap ? lower_cap(x) : leave_out_field(x, &e) && may_send_again(x))) {
    send_now(x, o);
    return false;
  }
  bool money = status == 402 || (status == 429 && wire_error_is_money(&e, buf_str(&t->plain)));
  bool servers = status == 408 || status == 409 || status == 429 || status >= 500; // not the request's own fault
  bool later = should ? strcmp(should, "true") == 0 : servers;
  bool busy = status == 429 || status == 503 || status == 529;
  if (!money && later && retry_later(x, o, busy))
    return false;
  bill_nothing(x);
  if (money)
    fail(x, MODEL_ENDED, ASSAY_ERR_ENVIRONMENT, "there is no money or quota left; add some and go on", e.message);
  else if (status == 401 || status == 403)
    fail(x, MODEL_ENDED, ASSAY_ERR_USAGE, "the key is missing or wrong; give it by --key-env or --key-file", e.message);
  else if (status == 404)
    fail(x, MODEL_ENDED, ASSAY_ERR_USAGE, "there is no such model or no such path; check --model and --endpoint",
         e.message);
  else if (status >= 300 && status < 400)
    fail(x, MODEL_ENDED, ASSAY_ERR_USAGE, "it redirects, which is not followed; give the address where it leads", what);
  else if (cap)
    fail(x, MODEL_FAILED, ASSAY_ERR_USAGE, "the model's replies cannot be so long; use a smaller --max-tokens",
         e.message);
  else if (status == 413 || wire_error_is_too_long(&e))
    fail(x, MODEL_FAILED, ASSAY_ERR_USAGE,
         "the prompt is too long for the model; use shorter --prompts, a smaller --max-tokens or another model",
         e.message);
  else if (later && busy)
    fail_busy(x, o, what, e.message);
  else
    fail(x, servers ? MODEL_UNSERVED : MODEL_FAILED, servers ? ASSAY_ERR_ENVIRONMENT : ASSAY_ERR_USAGE, what,
         e.message);
  return true;
}

static void keep_text(struct exchange *x) {
  struct transfer *t = x->carrier;
  x->reply.text = t->got.text;
  t->got.text = (struct buf){0};
  if (t->key && strlen(t->key) >= LEAST_REAL_KEY && x->reply.text.data)
    hide_key(t, x->reply.text.data, x->reply.text.len);
  x->reply.finish = t->got.finish;
  x->reply.usage = t->got.usage;
}

// How an answer begins that nobody understands.
static const char *beginning_of(const struct transfer *t, char text[200]) {
  enum { SHOWN = 80 };
  int n = t->plain.len < SHOWN ? (int)t->plain.len : SHOWN;
  snprintf(text, 200, n > 0 ? "it begins with \"%.*s\"" : "%.*s", n, buf_str(&t->plain));
  return text;
}

// A transfer that brought no whole answer. Returns whether the exchange is over.
static bool take_cut(struct exchange *x, const struct model_client_options *o) {
  struct transfer *t = x->carrier;
  // The only time-out that libcurl knows of is the one for connecting.
  bool reached = t->code != CURLE_COULDNT_CONNECT && t->code != CURLE_COULDNT_RESOLVE_HOST &&
                 t->code != CURLE_OPERATION_TIMEDOUT && t->code != CURLE_SSL_CONNECT_ERROR &&
                 t->code != CURLE_PEER_FAILED_VERIFICATION;
  bool nothing = t->got.text.len == 0 && (t->streams ? t->n_events == 0 : t->plain.len == 0);
  char begin[200];
  if (t->too_long)
    fail(x, MODEL_FAILED, ASSAY_ERR_LIMIT, "the reply is longer than it may be", "");
  else if (t->malformed && t->raw_bytes == 0)
    fail(x, MODEL_UNSERVED, ASSAY_ERR_ENVIRONMENT, "the answer is empty", "");
  else if (t->malformed)
    fail(x, MODEL_UNSERVED, ASSAY_ERR_ENVIRONMENT, "the reply is not JSON; check --endpoint", beginning_of(t, begin));
  else if (t->code == CURLE_OUT_OF_MEMORY || t->got.text.failed || t->plain.failed)
    fail(x, MODEL_UNSERVED, ASSAY_ERR_NOMEM, "out of memory", "");
  else if (nothing && retry_later(x, o, false)) { // nothing of an answer came, so that none is paid for twice
    t->may_be_billed = t->may_be_billed || reached;
    return false;
  } else if (!reached)
    fail(x, MODEL_ENDED, ASSAY_ERR_ENVIRONMENT, "the server cannot be reached; check --endpoint, or start it",
         curl_easy_strerror(t->code));
  else
    fail(x, MODEL_UNSERVED, ASSAY_ERR_ENVIRONMENT, "the connection was cut", curl_easy_strerror(t->code));
  keep_text(x);
  if (!reached)
    bill_nothing(x);
  return true;
}

// The whole of a 200. Returns whether the exchange is over.
static bool take_answer(struct exchange *x, const struct model_client_options *o) {
  struct transfer *t = x->carrier;
  char begin[200];
  if (t->streams && t->n_events == 0 && wire_take_whole(t->wire, &t->got, buf_str(&t->plain), t->plain.len))
    t->streams = false; // JSON, whatever its type says
  else if (t->streams)
    t->got.ended = t->got.ended || sse_left(&t->sse, "[DONE]");
  else
    t->malformed = !wire_take_whole(t->wire, &t->got, buf_str(&t->plain), t->plain.len);
  if (t->malformed)
    return take_cut(x, o);
  bool busy = strstr(t->got.kind, "overloaded") || strstr(t->got.kind, "rate_limit");
  if (t->got.failed && t->got.text.len == 0 && busy && retry_later(x, o, true))
    return false;
  if (t->got.failed)
    fail(x, wire_is_own_fault(&t->got) ? MODEL_FAILED : MODEL_UNSERVED, ASSAY_ERR_ENVIRONMENT,
         "the server ended its answer with an error", t->got.message);
  else if (!t->got.ended)
    fail(x, MODEL_UNSERVED, ASSAY_ERR_ENVIRONMENT, "the answer has no end: the connection was cut",
         t->streams ? "" : beginning_of(t, begin));
  keep_text(x);
  return true;
}

static bool http_go_on(struct exchange *x, const struct model_client_options *o, int64_t now_ns) {
  struct transfer *t = x->carrier;
  long status = 0;
  bool over = true;
  if (!t)
    return true;
  if (t->retry_ns) {
    if (now_ns < t->retry_ns)
      return false;
    send_now(x, o);
  }
  bool whole = t->streams && t->got.ended;
  x->wake_ns = t->last_content_ns + (whole && GRACE_NS < o->silence_ns ? GRACE_NS : o->silence_ns);
  if (!t->ended && whole && now_ns >= x->wake_ns)
    t->ended = true; // all is there, and the server does not close
  if (!t->ended && now_ns >= x->deadline_ns)
    fail(x, MODEL_FAILED, ASSAY_ERR_ENVIRONMENT, "no whole answer in time; allow more with --reply-timeout", "");
  else if (!t->ended && now_ns >= x->wake_ns)
    fail(x, MODEL_UNSERVED, ASSAY_ERR_ENVIRONMENT, "the server fell silent", "");
  else if (!t->ended)
    return false;
  if (x->reply.failure) { // out of time: what came is kept
    keep_text(x);
    http_stop(x);
    return true;
  }
  curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
  int64_t limited = limits_of(t->easy, clock_wall_ns());
  if (limited > 0)
    hold(x, limited < MOST_ASKED_WAIT_NS ? limited : MOST_ASKED_WAIT_NS);
  if (t->code != CURLE_OK && !whole)
    over = take_cut(x, o);
  else if (is_success(status))
    over = take_answer(x, o);
  else
    over = take_error(x, o, status);
  if (over)
    http_stop(x);
  return over;
}

const struct carrier_ops carrier_http = {http_start, http_fds, http_go_on, http_stop};
