// SPDX-License-Identifier: Apache-2.0
// What came of a request over HTTP, and whether it is sent again: as OpenAI's and Anthropic's own SDKs do it.
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/printable.h"
#include "base/rng.h"
#include "model/http.h"
#include "model/limits.h"

enum { LEAST_REAL_KEY = 16 }; // a shorter one ("none", "ollama") keeps nobody out, and may be a word of any reply
#define NO_SUCH_PLACE "there is no such model or no such path; check --model and --endpoint"
#define TOO_LONG "the prompt is too long for the model; use shorter --prompts, a smaller --max-tokens or another model"
#define PROXY_ASKS "the proxy asks who you are (407); write https_proxy=http://NAME:PASSWORD@HOST:PORT"
#define NO_MONEY "there is no money or quota left; add some, or come back when it is renewed, and go on"
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

// What the server asks to wait, by its headers; 0: nothing.
static int64_t told_wait(const struct transfer *t) {
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

// Likewise, and in words.
static int64_t asked_wait(const struct transfer *t) {
  int64_t told = told_wait(t);
  return told || t->plain.len == 0 ? told : limits_in_words_ns(buf_str(&t->plain));
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

// What an answer that is an error says.
struct refusal {
  long status;
  struct wire_error e;
  bool large;   // for the key's limit a minute: it is so later, too
  bool cap;     // the cap on tokens is too large
  bool request; // it is what the server does not like
  bool refused; // likewise, or who asks
  bool money, servers, later, busy;
};

static bool is_money(const struct transfer *t, const struct refusal *r, bool again) {
  const char *body = buf_str(&t->plain);
  // A day's quota that is used up, unless the server says how long to wait: some count the last 24 hours.
  bool told = told_wait(t) || strcasestr(r->e.message, "try again in") || again;
  if (r->status == 429)
    return wire_error_is_money(&r->e, body) || (!told && wire_error_is_of_the_day(&r->e, body));
  // Anthropic says so with status 400, Fireworks with 412.
  return r->status == 402 || ((r->refused || r->status == 412) && wire_error_is_money(&r->e, r->e.message));
}

static void read_refusal(const struct transfer *t, long status, struct refusal *r) {
  const char *should = header_of(t, "x-should-retry");
  bool again = should && strcmp(should, "true") == 0;
  *r = (struct refusal){.status = status};
  wire_read_error(buf_str(&t->plain), t->plain.len, &r->e);
  bool role = status == 500 && wire_error_is_system(&r->e); // llama.cpp's, of a template that fails
  r->large = status == 429 && wire_error_is_too_large(&r->e);
  r->cap = r->large || wire_error_is_cap(&r->e);
  r->request = status == 400 || status == 422 || r->large || role;
  r->refused = r->request || status == 403;
  r->money = is_money(t, r, again);
  // Not the request's own fault. 424 is TGI's, of a generation that failed, 498 Groq's, of a lack of room.
  r->servers =
      status == 408 || status == 409 || status == 424 || status == 429 || status >= 498 || wire_error_is_crash(&r->e);
  r->later = !r->money && !r->large && (should ? again : r->servers);
  r->busy = status == 429 || status == 498 || status == 503 || status == 529;
}

// No retry helps: says what does.
static void fail_refused(struct exchange *x, const struct model_client_options *o, const struct refusal *r) {
  const struct transfer *t = x->carrier;
  const char *said = r->e.message, *to = header_of(t, "location");
  char what[128];
  snprintf(what, sizeof what, "status %ld%s%s", r->status, r->e.kind[0] ? ", " : "", r->e.kind);
  if (r->money)
    http_fail(x, MODEL_ENDED, ASSAY_ERR_ENVIRONMENT, NO_MONEY, said);
  else if (r->status == 403)
    http_fail(x, MODEL_ENDED, ASSAY_ERR_USAGE,
              "not allowed (403): what the key (--key-env, --key-file) or this place may not do", said);
  else if (r->status == 401 || (r->request && wire_error_is_key(&r->e)))
    http_fail(x, MODEL_ENDED, ASSAY_ERR_USAGE, "the key is missing or wrong; give it by --key-env or --key-file", said);
  else if (r->status == 404 || (r->request && wire_error_is_place(r->e.kind, said)))
    http_fail(x, MODEL_ENDED, ASSAY_ERR_USAGE, NO_SUCH_PLACE, said);
  else if (r->status == 407)
    http_fail(x, MODEL_ENDED, ASSAY_ERR_USAGE, PROXY_ASKS, said);
  else if (r->status >= 300 && r->status < 400)
    http_fail(x, MODEL_ENDED, ASSAY_ERR_USAGE, "it redirects, which is not followed; give the address where it leads",
              to ? to : what);
  else if (r->large)
    http_fail(x, MODEL_FAILED, ASSAY_ERR_USAGE,
              "it is more than the key may use in a minute; use a smaller --max-tokens or shorter --prompts", said);
  else if (r->cap)
    http_fail(x, MODEL_FAILED, ASSAY_ERR_USAGE, "the model's replies cannot be so long; use a smaller --max-tokens",
              said);
  else if (r->status == 413 || (!r->busy && wire_error_is_too_long(&r->e)))
    http_fail(x, MODEL_FAILED, ASSAY_ERR_USAGE, TOO_LONG, said);
  else if (r->later && r->busy)
    fail_busy(x, o, what, said);
  else
    http_fail(x, r->servers ? MODEL_UNSERVED : MODEL_FAILED, r->servers ? ASSAY_ERR_ENVIRONMENT : ASSAY_ERR_USAGE, what,
              said);
}

// An answer that is an error. Returns whether the exchange is over.
bool http_take_error(struct exchange *x, const struct model_client_options *o, long status) {
  struct refusal r;
  read_refusal(x->carrier, status, &r);
  if (r.request && (r.cap ? lower_cap(x) : leave_out_field(x, &r.e) && may_send_again(x))) {
    http_send(x, o);
    return false;
  }
  if (r.refused && wire_error_is_refusal(&r.e)) { // by a filter before the model
    take_refusal(x, r.e.message);
    return true;
  }
  x->reply.unknown_calls += status == 504 || status == 524; // a gateway gave up, the model behind it may not have
  if (r.later && retry_later(x, o, r.busy))
    return false;
  bill_nothing(x);
  fail_refused(x, o, &r);
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
  long proxy = 0; // what a proxy said to the wish to be connected, which went no further
  curl_easy_getinfo(t->easy, CURLINFO_HTTP_CONNECTCODE, &proxy);
  bool refused = proxy >= 300;
  reached = reached && !refused;
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
  else if (proxy == 407)
    http_fail(x, MODEL_ENDED, ASSAY_ERR_USAGE, PROXY_ASKS, "");
  else if (nothing && retry_later(x, o, false)) { // nothing of an answer came, so that none is paid for twice
    x->reply.unknown_calls += reached;
    return false;
  } else if (refused)
    http_fail(x, MODEL_ENDED, ASSAY_ERR_ENVIRONMENT,
              "the proxy (https_proxy) does not connect to the server; name the host in no_proxy if it needs none",
              curl_easy_strerror(t->code));
  else if (!reached)
    http_fail(x, MODEL_ENDED, ASSAY_ERR_ENVIRONMENT, "the server cannot be reached; check --endpoint, or start it",
              curl_easy_strerror(t->code));
  else
    http_fail(x, MODEL_UNSERVED, ASSAY_ERR_ENVIRONMENT, "the connection was cut", curl_easy_strerror(t->code));
  http_keep_text(x);
  if (!reached)
    bill_nothing(x);
  return true;
}

// An error within a 200, before the answer, in its place or after it was begun. Returns whether the exchange is over.
static bool take_failed_answer(struct exchange *x, const struct model_client_options *o) {
  static const char *const not_now[] = {"429", "503", "529"};
  struct transfer *t = x->carrier;
  struct wire_error e = {{0}, {0}, {0}};
  memcpy(e.kind, t->got.kind, sizeof e.kind);
  memcpy(e.message, t->got.message, sizeof e.message);
  bool money = strcmp(e.kind, "402") == 0 || wire_error_is_money(&e, e.message);
  bool busy = strstr(e.kind, "overloaded") || strstr(e.kind, "rate_limit");
  for (size_t i = 0; i < sizeof not_now / sizeof *not_now; i++)
    busy = busy || strcmp(e.kind, not_now[i]) == 0;
  if (t->got.text.len == 0 && busy && !money && retry_later(x, o, true))
    return false;
  if (money) // OpenRouter, whose status was sent before its provider's
    http_fail(x, MODEL_ENDED, ASSAY_ERR_ENVIRONMENT, NO_MONEY, e.message);
  else if (wire_error_is_place(e.kind, e.message)) // LM Studio says so with status 200
    http_fail(x, MODEL_ENDED, ASSAY_ERR_USAGE, NO_SUCH_PLACE, e.message);
  else if (wire_error_is_too_long(&e) && t->got.text.len == 0)
    http_fail(x, MODEL_FAILED, ASSAY_ERR_USAGE, TOO_LONG, e.message);
  else
    http_fail(x, wire_is_own_fault(&t->got) ? MODEL_FAILED : MODEL_UNSERVED, ASSAY_ERR_ENVIRONMENT,
              "the server ended its answer with an error", e.message);
  http_keep_text(x);
  return true;
}

// Nobody was asked with a prompt of no tokens, or answered with a text of none: what some servers write that do not
// count, or not what they had read before.
static void forget_no_counts(struct wire_reply *r) {
  r->usage.input = r->usage.input == 0 ? -1 : r->usage.input;
  r->usage.output = r->usage.output == 0 && r->text.len + r->called.len > 0 ? -1 : r->usage.output;
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
  if (t->got.failed)
    return take_failed_answer(x, o);
  if (!t->got.ended && !t->streams && t->got.text.len == 0)
    http_fail(x, MODEL_UNSERVED, ASSAY_ERR_ENVIRONMENT,
              "the answer is JSON, but none that this interface has; check --endpoint and --api",
              beginning_of(t, begin));
  else if (!t->got.ended)
    http_fail(x, MODEL_UNSERVED, ASSAY_ERR_ENVIRONMENT, "the answer has no end: the connection was cut",
              t->streams ? "" : beginning_of(t, begin));
  forget_no_counts(&t->got);
  http_keep_text(x);
  return true;
}
