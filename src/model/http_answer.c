// SPDX-License-Identifier: Apache-2.0
// What came of a request over HTTP, and whether it is sent again: as OpenAI's and Anthropic's own SDKs do it.
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/printable.h"
#include "base/rng.h"
#include "model/http.h"

enum { LEAST_REAL_KEY = 16 }; // a shorter one ("none", "ollama") keeps nobody out, and may be a word of any reply
#define NO_SUCH_PLACE "there is no such model or no such path; check --model and --endpoint"
enum { MOST_FIELD_RETRIES = WIRE_FIELD_COUNT };
enum { MOST_DOUBLINGS = 4, MOST_BUSY_DOUBLINGS = 6 }; // of the time between retries; where a server is busy

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

void http_fail(struct exchange *x, enum model_failure failure, enum assay_status status, const char *what,
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
void http_hold(struct exchange *x, int64_t ns) {
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
  http_wait_until(x, now + wait);
  if (asked) // by the server, of everybody
    http_hold(x, asked);
  return true;
}

// An error about a field that can be left out: it is, and the endpoint is never sent it again.
static bool leave_out_field(struct exchange *x, const struct wire_error *e) {
  struct transfer *t = x->carrier;
  for (int i = 0; i < WIRE_FIELD_COUNT && t->field_retries < MOST_FIELD_RETRIES; i++) {
    if (!(t->sent & 1u << i) || !wire_error_is_field(e, (enum wire_field)i))
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
  int64_t lower = http_least_cap(x, x->request.max_tokens / 2);
  if (lower >= x->request.max_tokens || !may_send_again(x))
    return false;
  *x->most_tokens = lower;
  return true;
}

// What no server worked on costs nothing; what one may have begun has unknown costs.
static void bill_nothing(struct exchange *x) {
  if (x->reply.unknown_calls == 0)
    x->reply.usage = (struct model_usage){0};
}

// It said "not now" for longer than it is waited for.
static void fail_busy(struct exchange *x, const struct model_client_options *o, const char *what, const char *said) {
  const struct transfer *t = x->carrier;
  int64_t asked = asked_wait(t);
  char text[256];
  x->reply.waited = true;
  if (asked > 0 && asked > o->wait_ns)
    snprintf(text, sizeof text, "%s; it asks to wait %lld s: allow more with --server-wait, or run the command later",
             what, (long long)(asked / 1000000000));
  else
    snprintf(text, sizeof text, "%s, %d times in %lld s; allow more with --server-wait, ask less with --parallel", what,
             x->reply.calls, (long long)((clock_monotonic_ns() - t->busy_ns) / 1000000000));
  http_fail(x, MODEL_UNSERVED, ASSAY_ERR_ENVIRONMENT, text, said);
}

// The model was not asked, as a filter refused the prompt: that is an answer, too.
static void take_refusal(struct exchange *x, const char *said) {
  struct transfer *t = x->carrier;
  buf_clear(&t->got.text);
  buf_puts(&t->got.text, said);
  t->got.finish = MODEL_FINISH_REFUSED;
  http_keep_text(x);
  bill_nothing(x);
}

// An answer that is an error. Returns whether the exchange is over.
bool http_take_error(struct exchange *x, const struct model_client_options *o, long status) {
  struct transfer *t = x->carrier;
  struct wire_error e;
  char what[128];
  const char *should = header_of(t, "x-should-retry"), *to;
  wire_read_error(buf_str(&t->plain), t->plain.len, &e);
  snprintf(what, sizeof what, "status %ld%s%s", status, e.kind[0] ? ", " : "", e.kind);
  bool cap = wire_error_is_cap(&e);
  bool request = status == 400 || status == 422; // it is what the server does not like
  bool refused = request || status == 403;
  if (request && (cap ? lower_cap(x) : leave_out_field(x, &e) && may_send_again(x))) {
    http_send(x, o);
    return false;
  }
  if (refused && wire_error_is_refusal(&e)) { // by a filter before the model
    take_refusal(x, e.message);
    return true;
  }
  bool money = status == 402 || (status == 429 && wire_error_is_money(&e, buf_str(&t->plain))) ||
               (refused && wire_error_is_money(&e, e.message)); // Anthropic says so with status 400
  // A day's quota that is used up, unless the server says how long to wait: some count the last 24 hours.
  bool told = asked_wait(t) || strcasestr(e.message, "try again in") || (should && strcmp(should, "true") == 0);
  money = money || (status == 429 && !told && wire_error_is_of_the_day(&e, buf_str(&t->plain)));
  bool servers = status == 408 || status == 409 || status == 429 || status >= 500; // not the request's own fault
  bool later = should ? strcmp(should, "true") == 0 : servers;
  bool busy = status == 429 || status == 503 || status == 529;
  if (!money && later && retry_later(x, o, busy))
    return false;
  bill_nothing(x);
  to = header_of(t, "location");
  if (money)
    http_fail(x, MODEL_ENDED, ASSAY_ERR_ENVIRONMENT,
              "there is no money or quota left; add some, or come back when it is renewed, and go on", e.message);
  else if (status == 403)
    http_fail(x, MODEL_ENDED, ASSAY_ERR_USAGE,
              "not allowed (403): what the key (--key-env, --key-file) or this place may not do", e.message);
  else if (status == 401 || (request && wire_error_is_key(&e)))
    http_fail(x, MODEL_ENDED, ASSAY_ERR_USAGE, "the key is missing or wrong; give it by --key-env or --key-file",
              e.message);
  else if (status == 404 || (request && wire_error_is_place(e.kind, e.message)))
    http_fail(x, MODEL_ENDED, ASSAY_ERR_USAGE, NO_SUCH_PLACE, e.message);
  else if (status >= 300 && status < 400)
    http_fail(x, MODEL_ENDED, ASSAY_ERR_USAGE, "it redirects, which is not followed; give the address where it leads",
              to ? to : what);
  else if (cap)
    http_fail(x, MODEL_FAILED, ASSAY_ERR_USAGE, "the model's replies cannot be so long; use a smaller --max-tokens",
              e.message);
  else if (status == 413 || wire_error_is_too_long(&e))
    http_fail(x, MODEL_FAILED, ASSAY_ERR_USAGE,
              "the prompt is too long for the model; use shorter --prompts, a smaller --max-tokens or another model",
              e.message);
  else if (later && busy)
    fail_busy(x, o, what, e.message);
  else
    http_fail(x, servers ? MODEL_UNSERVED : MODEL_FAILED, servers ? ASSAY_ERR_ENVIRONMENT : ASSAY_ERR_USAGE, what,
              e.message);
  return true;
}

void http_keep_text(struct exchange *x) {
  struct transfer *t = x->carrier;
  bool called = t->got.text.len == 0 && t->got.called.len > 0;
  struct buf *text = called ? &t->got.called : &t->got.text;
  x->reply.text = *text;
  *text = (struct buf){0};
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
bool http_take_cut(struct exchange *x, const struct model_client_options *o) {
  struct transfer *t = x->carrier;
  // The only time-out that libcurl knows of is the one for connecting.
  bool reached = t->code != CURLE_COULDNT_CONNECT && t->code != CURLE_COULDNT_RESOLVE_HOST &&
                 t->code != CURLE_OPERATION_TIMEDOUT && t->code != CURLE_SSL_CONNECT_ERROR &&
                 t->code != CURLE_PEER_FAILED_VERIFICATION && t->code != CURLE_SSL_CACERT_BADFILE;
  bool nothing = t->got.text.len == 0 && (t->streams ? t->n_events == 0 : t->plain.len == 0);
  char begin[200];
  if (t->too_long)
    http_fail(x, MODEL_FAILED, ASSAY_ERR_LIMIT, "the reply is longer than it may be", "");
  else if (t->malformed && t->raw_bytes == 0)
    http_fail(x, MODEL_UNSERVED, ASSAY_ERR_ENVIRONMENT, "the answer is empty", "");
  else if (t->malformed)
    http_fail(x, MODEL_UNSERVED, ASSAY_ERR_ENVIRONMENT, "the reply is not JSON; check --endpoint",
              beginning_of(t, begin));
  else if (t->code == CURLE_OUT_OF_MEMORY || t->got.text.failed || t->plain.failed)
    http_fail(x, MODEL_UNSERVED, ASSAY_ERR_NOMEM, "out of memory", "");
  else if (t->code == CURLE_PEER_FAILED_VERIFICATION)
    http_fail(x, MODEL_ENDED, ASSAY_ERR_ENVIRONMENT,
              "no authority that is known here vouches for the server's certificate; name a file of certificates in "
              "SSL_CERT_FILE that does, or write the name that the certificate is for in --endpoint",
              curl_easy_strerror(t->code));
  else if (t->code == CURLE_SSL_CACERT_BADFILE)
    http_fail(x, MODEL_ENDED, ASSAY_ERR_ENVIRONMENT, "SSL_CERT_FILE (or CURL_CA_BUNDLE) names no file of certificates",
              o->authorities ? o->authorities : "");
  else if (nothing && retry_later(x, o, false)) { // nothing of an answer came, so that none is paid for twice
    x->reply.unknown_calls += reached;
    return false;
  } else if (!reached)
    http_fail(x, MODEL_ENDED, ASSAY_ERR_ENVIRONMENT, "the server cannot be reached; check --endpoint, or start it",
              curl_easy_strerror(t->code));
  else
    http_fail(x, MODEL_UNSERVED, ASSAY_ERR_ENVIRONMENT, "the connection was cut", curl_easy_strerror(t->code));
  http_keep_text(x);
  if (!reached)
    bill_nothing(x);
  return true;
}

// The whole of a 200. Returns whether the exchange is over.
bool http_take_answer(struct exchange *x, const struct model_client_options *o) {
  struct transfer *t = x->carrier;
  char begin[200];
  if (t->streams && t->n_events == 0 && wire_take_whole(t->wire, &t->got, buf_str(&t->plain), t->plain.len))
    t->streams = false; // JSON, whatever its type says
  else if (t->streams)
    t->got.ended = t->got.ended || sse_left(&t->sse, "[DONE]");
  else
    t->malformed = !wire_take_whole(t->wire, &t->got, buf_str(&t->plain), t->plain.len);
  if (t->malformed)
    return http_take_cut(x, o);
  static const char *const not_now[] = {"429", "503", "529"};
  bool busy = strstr(t->got.kind, "overloaded") || strstr(t->got.kind, "rate_limit");
  for (size_t i = 0; i < sizeof not_now / sizeof *not_now; i++)
    busy = busy || strcmp(t->got.kind, not_now[i]) == 0;
  if (t->got.failed && t->got.text.len == 0 && busy && retry_later(x, o, true))
    return false;
  if (t->got.failed && wire_error_is_place(t->got.kind, t->got.message)) // LM Studio says so with status 200
    http_fail(x, MODEL_ENDED, ASSAY_ERR_USAGE, NO_SUCH_PLACE, t->got.message);
  else if (t->got.failed)
    http_fail(x, wire_is_own_fault(&t->got) ? MODEL_FAILED : MODEL_UNSERVED, ASSAY_ERR_ENVIRONMENT,
              "the server ended its answer with an error", t->got.message);
  else if (!t->got.ended && !t->streams && t->got.text.len == 0)
    http_fail(x, MODEL_UNSERVED, ASSAY_ERR_ENVIRONMENT,
              "the answer is JSON, but none that this interface has; check --endpoint and --api",
              beginning_of(t, begin));
  else if (!t->got.ended)
    http_fail(x, MODEL_UNSERVED, ASSAY_ERR_ENVIRONMENT, "the answer has no end: the connection was cut",
              t->streams ? "" : beginning_of(t, begin));
  http_keep_text(x);
  return true;
}
