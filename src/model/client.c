// SPDX-License-Identifier: Apache-2.0
// The queue, and the thread that works on it.
#include "model/client.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include "model/exchange.h"
#include "model/wire.h"

enum { MOST_PARALLEL = 256, MOST_FDS = 1 + MOST_PARALLEL * CARRIER_MOST_FDS };
#define SECOND_NS ((int64_t)1000000000)
// libcurl looks at every transfer and at every descriptor for each event of one. Where many stream at once, their
// events are gathered for a moment: 64 streams of 50 events a second are 3,200 rounds a second otherwise.
enum { MANY = 4, GATHER_NS = 4000000 };

struct list {
  struct exchange *first, **end;
  int n;
};

struct model_client {
  struct model_client_options options;
  pthread_t thread;
  bool started;
  int wake; // an eventfd: something was queued, or the end
  pthread_mutex_t lock;
  pthread_cond_t answered;
  struct list queued, done; // under the lock
  int under_way;            // queued, sent and done ones that were not fetched; under the lock
  bool closing;             // under the lock
  int waiting;              // to be sent again; under the lock
  bool *shares;             // of each endpoint: it was asked, and still is; under the lock
  struct list active;       // the thread's, as is all below
  CURLM *multi;             // NULL: all endpoints are programs
  unsigned *refused;        // of each endpoint: bit i, enum wire_field i
  int64_t *holds;           // of each endpoint: exchange.h
  int64_t *most_tokens;     // likewise
};

static void list_init(struct list *l) {
  *l = (struct list){.end = &l->first};
}

static void put(struct list *l, struct exchange *x) {
  x->next = NULL;
  *l->end = x;
  l->end = &x->next;
  l->n++;
}

static struct exchange *take(struct list *l) {
  struct exchange *x = l->first;
  if (!x)
    return NULL;
  l->first = x->next;
  l->n--;
  if (!l->first)
    l->end = &l->first;
  return x;
}

static void list_move(struct list *from, struct list *to) {
  *to = *from;
  if (!to->first)
    to->end = &to->first;
}

void exchange_fail(struct exchange *x, enum model_failure failure, enum assay_status status, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  x->reply.failure = failure;
  x->reply.error.status = status;
  vsnprintf(x->reply.error.message, sizeof x->reply.error.message, fmt, args);
  va_end(args);
}

static void exchange_destroy(struct exchange *x) {
  model_reply_release(&x->reply);
  arena_release(&x->arena);
  base_free(x);
}

// --- endpoints

bool model_endpoint_is_program(const struct model_endpoint *e) {
  return strncmp(e->url, "exec:", 5) == 0;
}

static const struct carrier_ops *carrier_of(const struct model_endpoint *e) {
  return model_endpoint_is_program(e) ? &carrier_exec : &carrier_http;
}

enum assay_status model_endpoint_check(const struct model_endpoint *e, struct assay_error *err) {
  if (e->api && wire_check(e->api, err) != ASSAY_OK)
    return err->status;
  if (carrier_of(e) == &carrier_http)
    return http_check(e, err);
  if (strspn(e->url + 5, " \t") == strlen(e->url + 5))
    return error_set(err, ASSAY_ERR_USAGE,
                     "the endpoint exec: names no command; write for example 'exec:ollama run M'");
  return ASSAY_OK;
}

// --- the thread

static void wake(struct model_client *c) {
  uint64_t one = 1;
  ssize_t n = write(c->wake, &one, sizeof one);
  (void)n; // full only where the thread is awake anyway
}

static void finish(struct model_client *c, struct exchange *x) {
  x->reply.wall_ns = clock_monotonic_ns() - x->start_ns;
  pthread_mutex_lock(&c->lock);
  put(&c->done, x);
  pthread_cond_broadcast(&c->answered);
  pthread_mutex_unlock(&c->lock);
}

// How many of them are under way: of an endpoint, or of all (NULL).
static int count_under_way(const struct model_client *c, const struct model_endpoint *endpoint) {
  int n = 0;
  for (const struct exchange *x = c->active.first; x; x = x->next)
    n += !x->waits && (!endpoint || x->endpoint == endpoint);
  return n;
}

// Whether one more of that endpoint may be under way. Under the lock.
static bool has_room(const struct model_client *c, const struct model_endpoint *endpoint) {
  int n = 0, most = c->options.parallel;
  for (int i = 0; i < c->options.n_endpoints; i++)
    n += c->shares[i];
  return count_under_way(c, NULL) < most && count_under_way(c, endpoint) < (n > 1 ? (most + n - 1) / n : most);
}

// The first that is queued and has room; NULL: none. Under the lock.
static struct exchange *take_next(struct model_client *c) {
  struct list rest;
  struct exchange *found = NULL;
  list_init(&rest);
  for (struct exchange *x; (x = take(&c->queued));)
    if (!found && has_room(c, x->endpoint))
      found = x;
    else
      put(&rest, x);
  list_move(&rest, &c->queued);
  return found;
}

// Starts what is queued, as far as there is room. False: the client is being closed.
static bool start_queued(struct model_client *c) {
  for (;;) {
    pthread_mutex_lock(&c->lock);
    bool closing = c->closing;
    struct exchange *x = closing ? NULL : take_next(c);
    pthread_mutex_unlock(&c->lock);
    if (!x)
      return !closing;
    x->start_ns = clock_monotonic_ns();
    x->deadline_ns = x->start_ns + c->options.whole_ns;
    x->wake_ns = INT64_MAX;
    x->multi = c->multi;
    x->refused = &c->refused[x->request.endpoint];
    x->hold_ns = &c->holds[x->request.endpoint];
    x->most_tokens = &c->most_tokens[x->request.endpoint];
    carrier_of(x->endpoint)->start(x, &c->options);
    put(&c->active, x);
  }
}

// Lets one go on, and puts it into a list unless it is over.
static void go_on(struct model_client *c, struct exchange *x, int64_t now, struct list *to, int64_t *next) {
  if (carrier_of(x->endpoint)->go_on(x, &c->options, now)) {
    finish(c, x);
    return;
  }
  *next = x->deadline_ns < *next ? x->deadline_ns : *next;
  *next = x->wake_ns < *next ? x->wake_ns : *next;
  put(to, x);
}

// Lets everything that is under way go on; returns when the next deadline is.
static int64_t go_on_all(struct model_client *c) {
  struct list rest, waiting;
  int64_t now = clock_monotonic_ns(), next = now + SECOND_NS;
  list_init(&rest);
  list_init(&waiting);
  for (struct exchange *x; (x = take(&c->active));)
    if (x->waits)
      put(&waiting, x);
    else
      go_on(c, x, now, &rest, &next);
  list_move(&rest, &c->active);
  int n = 0;
  for (struct exchange *x; (x = take(&waiting));) { // what has ended above has made room
    pthread_mutex_lock(&c->lock);
    bool due = x->wake_ns <= now, sent = due && has_room(c, x->endpoint);
    pthread_mutex_unlock(&c->lock);
    if (sent)
      go_on(c, x, now, &c->active, &next);
    else
      put(&c->active, x);
    next = !due && x->wake_ns < next ? x->wake_ns : next;
  }
  for (const struct exchange *x = c->active.first; x; x = x->next)
    n += x->waits;
  pthread_mutex_lock(&c->lock);
  c->waiting = n;
  pthread_mutex_unlock(&c->lock);
  return next;
}

// As curl_multi_poll() does, where there is no server to talk to.
static void poll_descriptors(struct curl_waitfd *fds, unsigned n, int ms) {
  struct pollfd polled[MOST_FDS];
  for (unsigned i = 0; i < n; i++)
    polled[i] = (struct pollfd){.fd = fds[i].fd, .events = fds[i].events & CURL_WAIT_POLLOUT ? POLLOUT : POLLIN};
  int ready = poll(polled, n, ms);
  for (unsigned i = 0; i < n; i++)
    fds[i].revents = ready > 0 && polled[i].revents ? fds[i].events : 0;
}

static void wait_for_something(struct model_client *c, int64_t until_ns) {
  struct curl_waitfd fds[MOST_FDS] = {{.fd = c->wake, .events = CURL_WAIT_POLLIN}};
  unsigned n = 1;
  int ready = 0;
  uint64_t ignored;
  for (struct exchange *x = c->active.first; x; x = x->next)
    n += (unsigned)carrier_of(x->endpoint)->fds(x, fds + n);
  int64_t ms = (until_ns - clock_monotonic_ns()) / 1000000 + 1;
  if (c->multi)
    curl_multi_poll(c->multi, fds, n, ms < 0 ? 0 : (int)ms, &ready);
  else
    poll_descriptors(fds, n, ms < 0 ? 0 : (int)ms);
  if (fds[0].revents && read(c->wake, &ignored, sizeof ignored) < 0 && errno != EAGAIN)
    return;
  if (ready > 0 && c->active.n >= MANY)
    clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = GATHER_NS}, NULL);
}

// Lets libcurl work, and tells exchanges of transfers that have ended.
static void transfer(struct model_client *c) {
  int running, left;
  const CURLMsg *message;
  if (!c->multi)
    return;
  curl_multi_perform(c->multi, &running);
  while ((message = curl_multi_info_read(c->multi, &left)))
    if (message->msg == CURLMSG_DONE) {
      char *x = NULL;
      CURLcode code = message->data.result;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &x);
      http_ended((struct exchange *)(void *)x, code);
    }
}

static void *work(void *arg) {
  struct model_client *c = arg;
  while (start_queued(c)) {
    transfer(c);
    int64_t next = go_on_all(c);
    pthread_mutex_lock(&c->lock);
    bool room = c->closing;
    for (const struct exchange *x = c->queued.first; x && !room; x = x->next)
      room = has_room(c, x->endpoint);
    pthread_mutex_unlock(&c->lock);
    if (!room)
      wait_for_something(c, next);
  }
  for (struct exchange *x; (x = take(&c->active));) {
    carrier_of(x->endpoint)->stop(x);
    exchange_destroy(x);
  }
  return NULL;
}

// --- the caller's side

void model_client_defaults(struct model_client_options *o) {
  *o = (struct model_client_options){.parallel = 4,
                                     .whole_ns = 600 * SECOND_NS,
                                     .connect_ns = 5 * SECOND_NS,
                                     .silence_ns = 300 * SECOND_NS,
                                     .backoff_ns = SECOND_NS / 2,
                                     .retries = 2,
                                     .wait_ns = 300 * SECOND_NS,
                                     .most_reply_bytes = (size_t)16 << 20,
                                     .environment = NULL};
}

// Programs alone need no libcurl.
static bool any_server(const struct model_client_options *o) {
  for (int i = 0; i < o->n_endpoints; i++)
    if (carrier_of(&o->endpoints[i]) == &carrier_http)
      return true;
  return false;
}

enum assay_status model_client_open(const struct model_client_options *o, struct model_client **out,
                                    struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < o->n_endpoints && !status; i++)
    status = model_endpoint_check(&o->endpoints[i], err);
  struct model_client *c = status ? NULL : base_calloc(1, sizeof *c);
  if (!c)
    return status ? status : error_nomem(err, "a client of language models");
  c->options = *o;
  c->options.parallel = o->parallel < 1 ? 1 : o->parallel > MOST_PARALLEL ? MOST_PARALLEL : o->parallel;
  c->wake = -1;
  list_init(&c->queued);
  list_init(&c->done);
  list_init(&c->active);
  pthread_mutex_init(&c->lock, NULL);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&c->answered, &attributes);
  pthread_condattr_destroy(&attributes);
  if (any_server(o)) {
    curl_global_init(CURL_GLOBAL_DEFAULT);
    c->multi = curl_multi_init();
  }
  c->refused = base_calloc((size_t)o->n_endpoints + 1, sizeof *c->refused);
  c->holds = base_calloc((size_t)o->n_endpoints + 1, sizeof *c->holds);
  c->most_tokens = base_calloc((size_t)o->n_endpoints + 1, sizeof *c->most_tokens);
  c->shares = base_calloc((size_t)o->n_endpoints + 1, sizeof *c->shares);
  for (int i = 0; i < o->n_endpoints && c->refused; i++)
    c->refused[i] = wire_fields_of(o->endpoints[i].refused);
  if ((!c->multi && any_server(o)) || !c->refused || !c->holds || !c->most_tokens || !c->shares) {
    model_client_close(c);
    return error_nomem(err, "a client of language models");
  }
  c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  int e = c->wake < 0 ? errno : thread_start(&c->thread, work, c);
  c->started = e == 0;
  if (e) {
    status = error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot start a thread for language models: %s", strerror(e));
    model_client_close(c);
    return status;
  }
  *out = c;
  return ASSAY_OK;
}

void model_client_close(struct model_client *c) {
  if (!c)
    return;
  pthread_mutex_lock(&c->lock);
  c->closing = true;
  pthread_mutex_unlock(&c->lock);
  if (c->started) {
    wake(c);
    pthread_join(c->thread, NULL);
  }
  for (struct exchange *x; (x = take(&c->queued)) || (x = take(&c->done));)
    exchange_destroy(x);
  if (c->wake >= 0)
    close(c->wake);
  curl_multi_cleanup(c->multi);
  base_free(c->refused);
  base_free(c->holds);
  base_free(c->most_tokens);
  base_free(c->shares);
  pthread_cond_destroy(&c->answered);
  pthread_mutex_destroy(&c->lock);
  base_free(c);
}

// A copy that lives as long as the exchange; false: no memory.
static bool copy_request(struct exchange *x, const struct model_request *r) {
  x->request = *r;
  x->request.model = arena_strdup(&x->arena, r->model ? r->model : "");
  x->request.system = arena_strdup(&x->arena, r->system ? r->system : "");
  x->request.user = arena_strdup(&x->arena, r->user ? r->user : "");
  bool whole = x->request.model && x->request.system && x->request.user;
  if (r->partial) {
    x->request.partial = arena_strdup(&x->arena, r->partial);
    x->request.more = arena_strdup(&x->arena, r->more);
    whole = whole && x->request.partial && x->request.more;
  }
  for (int i = 0; i < 4 && r->environment[i]; i++) {
    x->request.environment[i] = arena_strdup(&x->arena, r->environment[i]);
    whole = whole && x->request.environment[i];
  }
  return whole;
}

enum assay_status model_client_submit(struct model_client *c, const struct model_request *r, struct assay_error *err) {
  static const struct model_usage unknown = MODEL_USAGE_UNKNOWN;
  struct exchange *x = base_calloc(1, sizeof *x);
  if (!x || !copy_request(x, r)) {
    if (x)
      exchange_destroy(x);
    return error_nomem(err, "a request to a language model");
  }
  x->endpoint = &c->options.endpoints[r->endpoint];
  x->reply.tag = r->tag;
  x->reply.usage = unknown;
  pthread_mutex_lock(&c->lock);
  put(&c->queued, x);
  c->shares[r->endpoint] = true;
  c->under_way++;
  pthread_mutex_unlock(&c->lock);
  wake(c);
  return ASSAY_OK;
}

int model_client_waiting(struct model_client *c) {
  pthread_mutex_lock(&c->lock);
  int n = c->waiting;
  pthread_mutex_unlock(&c->lock);
  return n;
}

void model_client_leave(struct model_client *c, int endpoint) {
  pthread_mutex_lock(&c->lock);
  c->shares[endpoint] = false;
  pthread_mutex_unlock(&c->lock);
  wake(c);
}

bool model_client_next(struct model_client *c, int64_t wait_ns, struct model_reply *out) {
  int64_t until = clock_monotonic_ns() + wait_ns;
  struct timespec deadline = {.tv_sec = until / SECOND_NS, .tv_nsec = until % SECOND_NS};
  int e = 0;
  pthread_mutex_lock(&c->lock);
  while (c->under_way > 0 && !c->done.first && e != ETIMEDOUT)
    e = wait_ns < 0 ? pthread_cond_wait(&c->answered, &c->lock)
                    : pthread_cond_timedwait(&c->answered, &c->lock, &deadline);
  struct exchange *x = take(&c->done);
  c->under_way -= x != NULL;
  pthread_mutex_unlock(&c->lock);
  if (!x)
    return false;
  *out = x->reply;
  x->reply.text = (struct buf){0};
  exchange_destroy(x);
  return true;
}

enum assay_status model_client_refused(const struct model_client *c, int endpoint, struct buf *out,
                                       struct assay_error *err) {
  for (int i = 0; i < WIRE_FIELD_COUNT; i++)
    if (c->refused[endpoint] & 1u << i)
      buf_printf(out, "%s%s", out->len ? "," : "", wire_field_name((enum wire_field)i));
  return buf_status(out, err);
}
