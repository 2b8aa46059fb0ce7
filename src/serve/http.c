// SPDX-License-Identifier: Apache-2.0
// The connections: what libmicrohttpd is told, what every request is asked before its resource sees it, and deadlines.
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "serve/microhttpd_door.h"
#include "base/thread.h"
#include "serve/server.h"

// A client that is answered while it still sends may lose the answer: what is a little too large is read to its end.
enum { THREADS = 2, MEMORY = 32 << 10, MOST_DROPPED = 4 * SERVE_MOST_BODY };
static const char TOO_LARGE[] = "the body is larger than 4 MiB";

// libmicrohttpd closes connections on which nothing moves. One that sends a byte now and then is closed here: a request
// has to be whole some time after its connection could begin it.
struct connection {
  struct connection *next, *previous;
  int fd;
  int64_t deadline_ns; // monotonic; 0: a request is whole and being answered
};

static void set_deadline(struct server *s, struct MHD_Connection *c, int64_t deadline_ns) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  struct connection *own = info ? info->socket_context : NULL;
  pthread_mutex_lock(&s->connections_lock);
  if (own)
    own->deadline_ns = deadline_ns;
  pthread_mutex_unlock(&s->connections_lock);
}

static int64_t in_time(const struct server *s) {
  return clock_monotonic_ns() + (int64_t)s->o->timeout_s * 1000000000;
}

static void on_connection(void *arg, struct MHD_Connection *c, void **context,
                          enum MHD_ConnectionNotificationCode code) {
  struct server *s = arg;
  pthread_mutex_lock(&s->connections_lock);
  struct connection *own = *context;
  if (code == MHD_CONNECTION_NOTIFY_STARTED) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    own = base_calloc(1, sizeof *own);
    *context = own;
    if (own) {
      own->fd = info ? (int)info->connect_fd : -1;
      own->deadline_ns = in_time(s);
      own->next = s->connections;
      if (own->next)
        own->next->previous = own;
      s->connections = own;
    }
  } else if (own) {
    if (own->next)
      own->next->previous = own->previous;
    *(own->previous ? &own->previous->next : &s->connections) = own->next;
    base_free(own);
  }
  pthread_mutex_unlock(&s->connections_lock);
}

void http_tick(struct server *s, int64_t now_ns) {
  pthread_mutex_lock(&s->connections_lock);
  for (struct connection *c = s->connections; c; c = c->next)
    if (c->deadline_ns > 0 && c->deadline_ns < now_ns) {
      shutdown(c->fd, SHUT_RDWR); // its thread sees the end; the number stays taken until on_connection
      c->deadline_ns = 0;
    }
  pthread_mutex_unlock(&s->connections_lock);
}

// --- what a request is asked

static const char *header_of(const struct call *c, const char *name) {
  return MHD_lookup_connection_value(c->connection, MHD_HEADER_KIND, name);
}

// The name in "name:port"; brackets of IPv6 stay.
static size_t name_length(const char *host) {
  return host[0] == '[' ? strcspn(host, "]") + (strchr(host, ']') != NULL) : strcspn(host, ":");
}

// A web page of a stranger can have its own name point to this address (DNS rebinding): the name that the client used
// has to be one of ours.
static bool is_known_host(const struct server *s, const char *host) {
  static const char *const own[] = {"localhost", "127.0.0.1", "[::1]", NULL};
  size_t n = host ? name_length(host) : 0;
  const char *port = host ? host + n : "";
  if (n == 0 || (*port && (*port != ':' || strspn(port + 1, "0123456789") != strlen(port + 1))))
    return false;
  for (int i = 0; own[i]; i++)
    if (strlen(own[i]) == n && strncasecmp(own[i], host, n) == 0)
      return true;
  for (int i = 0; i < s->o->n_hosts; i++)
    if (strlen(s->o->hosts[i]) == n && strncasecmp(s->o->hosts[i], host, n) == 0)
      return true;
  return false;
}

// Browsers say which site's page sends the request. It has to be ours: the host that is asked.
static bool is_own_origin(const char *origin, const char *host) {
  const char *name = strstr(origin, "://");
  return name && strcasecmp(name + 3, host) == 0;
}

static bool is_json(const char *type) {
  static const char name[] = "application/json";
  return type && strncasecmp(type, name, sizeof name - 1) == 0 && strchr("; \t", type[sizeof name - 1]) != NULL;
}

static int method_bit(const char *method) {
  return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0 ? METHOD_GET
         : strcmp(method, "POST") == 0                             ? METHOD_POST
         : strcmp(method, "DELETE") == 0                           ? METHOD_DELETE
                                                                   : 0;
}

// The same text, which outlives the request.
static const char *method_name(const char *method) {
  static const char *const names[] = {"GET", "HEAD", "POST", "DELETE"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i], method) == 0)
      return names[i];
  return "other";
}

// Sets p for a request that changes something, where it may not.
static bool may_not_change(struct call *c, struct problem *p) {
  const char *given = header_of(c, "Authorization");
  const struct server *s = c->server;
  if (!s->tokens) {
    *p = (struct problem){.code = 403, .detail = "this server is read only: it was started without --token-file"};
    return true;
  }
  c->submitter = given && strncasecmp(given, "Bearer ", 7) == 0 ? tokens_find(s->tokens, given + 7) : NULL;
  if (!c->submitter)
    *p = (struct problem){.code = 401,
                          .detail = "this needs a token that the server knows: Authorization: Bearer TOKEN",
                          .header = "WWW-Authenticate",
                          .value = "Bearer"};
  else if (s->draining)
    *p = (struct problem){.code = 503, .detail = "the server is ending", .retry_s = 5};
  return p->code != 0;
}

// What a proxy in front may read otherwise than libmicrohttpd does: then one sees an end of the request, or a host,
// where the other does not (RFC 9112, 3.2 and 6.3).
struct framing {
  int hosts, lengths, codings;
  bool other_coding, odd_name;
};

static enum MHD_Result look_at_header(void *arg, enum MHD_ValueKind kind, const char *key, const char *value) {
  struct framing *f = arg;
  (void)kind;
  f->hosts += strcasecmp(key, "Host") == 0;
  f->lengths += strcasecmp(key, "Content-Length") == 0;
  if (strcasecmp(key, "Transfer-Encoding") == 0) {
    f->codings++;
    f->other_coding = f->other_coding || !value || strcasecmp(value, "chunked") != 0;
  }
  f->odd_name = f->odd_name || key[strcspn(key, " \t")] != '\0';
  return MHD_YES;
}

// Why the request is no clear one; NULL: it is.
static const char *unclear(const struct call *c) {
  struct framing f = {0};
  MHD_get_connection_values(c->connection, MHD_HEADER_KIND, look_at_header, &f);
  return f.hosts > 1                 ? "a request names one Host"
         : f.lengths + f.codings > 1 ? "a request says once how long it is: one Content-Length, or Transfer-Encoding"
         : f.other_coding            ? "a body comes with its Content-Length or as Transfer-Encoding: chunked"
         : f.odd_name                ? "a header's name ends with its colon"
                                     : NULL;
}

// Whether the request is refused for what its headers say.
static bool is_refused(struct call *c, struct problem *p) {
  const char *host = header_of(c, "Host"), *origin = header_of(c, "Origin"), *odd = unclear(c);
  int method = method_bit(c->method);
  if (c->broken_target)
    *p = (struct problem){.code = 400, .detail = "a path here has letters, digits and \"-._~/\", and no escapes"};
  else if (odd)
    *p = (struct problem){.code = 400, .detail = odd};
  else if (c->foreign || !is_known_host(c->server, host))
    *p =
        (struct problem){.code = 403, .detail = "this server is not known by that name; it can be started with --host"};
  else if (origin && !is_own_origin(origin, host))
    *p = (struct problem){.code = 403, .detail = "pages of other sites may not use this server"};
  else if (c->route == ROUTE_NONE)
    *p = (struct problem){.code = 404, .detail = "there is nothing at that path; /v1/openapi.json lists what there is"};
  else if (!(route_methods(c->route) & method))
    *p = (struct problem){.code = 405,
                          .detail = "this resource does not have that method",
                          .header = "Allow",
                          .value = route_allow(c->route)};
  if (p->code != 0 || method == METHOD_GET)
    return p->code != 0;
  const char *length = header_of(c, "Content-Length"), *coding = header_of(c, "Content-Encoding");
  if (may_not_change(c, p))
    return true;
  if (method == METHOD_POST && !is_json(header_of(c, "Content-Type")))
    *p = (struct problem){.code = 415, .detail = "the body has to be application/json"};
  else if (coding && strcasecmp(coding, "identity") != 0)
    *p = (struct problem){.code = 415,
                          .detail = "the body comes as it is, without Content-Encoding",
                          .header = "Accept-Encoding",
                          .value = "identity"};
  else if (length && (strlen(length) > 18 || strtoll(length, NULL, 10) > MOST_DROPPED))
    *p = (struct problem){.code = 413, .detail = TOO_LARGE};
  return p->code != 0;
}

// --- the road of a request

static const struct resource {
  enum route route;
  int method;
  enum MHD_Result (*answer)(struct call *c);
} resources[] = {
    {ROUTE_INDEX, METHOD_GET, pages_index},     {ROUTE_HEALTH, METHOD_GET, pages_health},
    {ROUTE_READY, METHOD_GET, pages_ready},     {ROUTE_METRICS, METHOD_GET, pages_metrics},
    {ROUTE_OPENAPI, METHOD_GET, pages_openapi}, {ROUTE_JOBS, METHOD_GET, jobs_list},
    {ROUTE_JOBS, METHOD_POST, jobs_submit},     {ROUTE_JOB, METHOD_GET, jobs_get},
    {ROUTE_JOB, METHOD_DELETE, jobs_cancel},    {ROUTE_EVENTS, METHOD_GET, events_get},
    {ROUTE_VERDICT, METHOD_GET, verdicts_get},  {ROUTE_QUEUE, METHOD_GET, pages_queue},
    {ROUTE_SITE, METHOD_GET, pages_site},
};

static enum MHD_Result answer(struct call *c) {
  int method = method_bit(c->method);
  for (size_t i = 0; i < sizeof resources / sizeof *resources; i++)
    if (resources[i].route == c->route && resources[i].method == method)
      return resources[i].answer(c);
  return MHD_NO; // is_refused() lets none of these through
}

// "http://HOST/PATH" is a target, too (RFC 9112, 3.2.2). Its host has to be one of ours, as the header's has.
static const char *path_of(struct call *c, const char *target) {
  static const char scheme[] = "http://";
  char host[256] = "";
  if (strncasecmp(target, scheme, sizeof scheme - 1) != 0)
    return target;
  const char *name = target + sizeof scheme - 1;
  size_t n = strcspn(name, "/?");
  if (n < sizeof host)
    snprintf(host, sizeof host, "%.*s", (int)n, name);
  c->foreign = !is_known_host(c->server, host);
  return name[n] == '/' ? name + n : "/";
}

// The target comes here before it is decoded: decoding makes "../" of "..%2f", and ends the text at "%00".
static void *on_target(void *arg, const char *target, struct MHD_Connection *connection) {
  struct call *c = base_calloc(1, sizeof *c);
  if (!c)
    return NULL;
  c->server = arg;
  c->connection = connection;
  c->start_ns = clock_monotonic_ns();
  c->method = "other";
  target = path_of(c, target);
  c->route = route_find(target, c->identity);
  if (c->server->site && (c->route == ROUTE_NONE || c->route == ROUTE_INDEX) &&
      site_type(c->server->site, target, c->start_ns)) {
    c->target = base_strndup(target, strlen(target));
    c->route = c->target ? ROUTE_SITE : c->route;
  }
  c->broken_target = target[strcspn(target, "%?\\")] != '\0' && target[strcspn(target, "%?\\")] != '?';
  return c;
}

// A piece of the body. What comes after too much of it is dropped; a client that goes on and on is cut off.
static enum MHD_Result take_piece(struct call *c, const char *data, size_t *n) {
  size_t most = c->too_large ? MOST_DROPPED : SERVE_MOST_BODY;
  if (c->body.len + *n > most) {
    if (c->too_large)
      return MHD_NO;
    c->too_large = true;
  }
  if (!c->too_large)
    buf_append(&c->body, data, *n);
  else
    c->body.len += *n; // counted only
  *n = 0;
  return MHD_YES;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *data, size_t *n, void **context) {
  struct call *c = *context;
  struct problem p = {0};
  (void)url;
  (void)version;
  (void)arg;
  if (!c)
    return MHD_NO;
  if (!c->begun) {
    c->begun = true;
    c->method = method_name(method);
    return is_refused(c, &p) ? reply_problem(c, &p) : MHD_YES;
  }
  if (*n > 0)
    return take_piece(c, data, n);
  set_deadline(c->server, connection, 0);
  if (c->too_large)
    return reply_problem(c, &(struct problem){.code = 413, .detail = TOO_LARGE});
  if (c->body.failed)
    return reply_json(c, 500, NULL);
  return answer(c);
}

static void on_end(void *arg, struct MHD_Connection *connection, void **context, enum MHD_RequestTerminationCode code) {
  struct server *s = arg;
  struct call *c = *context;
  (void)code;
  *context = NULL;
  if (!c)
    return;
  if (c->code != 0) {
    metrics_request(&s->metrics, c->route, c->method, c->code);
    server_log(s, "request",
               json_pack("{s:s, s:s, s:i, s:f, s:s?, s:I}", "route", route_name(c->route), "method", c->method,
                         "status", (int)c->code, "ms", (double)(clock_monotonic_ns() - c->start_ns) / 1e6, "submitter",
                         c->submitter, "request", (json_int_t)atomic_fetch_add(&s->next_request, 1)));
  }
  set_deadline(s, connection, in_time(s)); // for the next one of this connection
  if (c->too_large)
    c->body.len = 0;
  buf_release(&c->body);
  submission_destroy(c->submission);
  base_free(c->target);
  base_free(c);
}

static void on_error(void *arg, const char *format, va_list ap) {
  char text[512];
  vsnprintf(text, sizeof text, format, ap);
  text[strcspn(text, "\n")] = '\0';
  server_log(arg, "http", json_pack("{s:s}", "message", text));
}

// The socket: an address, no name that somebody would have to look up.
static enum assay_status find_address(const struct serve_options *o, struct sockaddr_storage *out,
                                      struct assay_error *err) {
  const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
  struct addrinfo *found = NULL;
  char port[16];
  snprintf(port, sizeof port, "%d", o->port);
  int e = getaddrinfo(o->address, port, &hints, &found);
  if (e)
    return error_set(err, ASSAY_ERR_USAGE, "--address %s: %s; give a numeric address such as 127.0.0.1", o->address,
                     gai_strerror(e));
  memcpy(out, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return ASSAY_OK;
}

enum assay_status http_start(struct server *s, struct assay_error *err) {
  const struct serve_options *o = s->o;
  struct sockaddr_storage address = {0};
  enum assay_status status = microhttpd_load(err);
  if (!status)
    status = find_address(o, &address, err);
  if (status)
    return status;
  unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | MHD_USE_ITC;
  flags |= address.ss_family == AF_INET6 ? MHD_USE_IPv6 : 0;
  errno = 0;
  s->daemon = MHD_start_daemon(
      flags, (uint16_t)o->port, NULL, NULL, on_request, s, MHD_OPTION_EXTERNAL_LOGGER, on_error, s,
      MHD_OPTION_URI_LOG_CALLBACK, on_target, s, MHD_OPTION_NOTIFY_COMPLETED, on_end, s, MHD_OPTION_NOTIFY_CONNECTION,
      on_connection, s, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address, MHD_OPTION_THREAD_POOL_SIZE, THREADS,
      MHD_OPTION_THREAD_STACK_SIZE, THREAD_STACK_BYTES, MHD_OPTION_CONNECTION_LIMIT, (unsigned)o->connections,
      MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned)o->connections_per_address, MHD_OPTION_CONNECTION_TIMEOUT,
      (unsigned)o->timeout_s, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY, MHD_OPTION_END);
  if (!s->daemon)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot listen on %s port %d: %s; give another --port", o->address,
                     o->port, errno ? strerror(errno) : "libmicrohttpd does not say why");
  return ASSAY_OK;
}

int serve_port(const struct server *s) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
  return info ? info->port : 0;
}
