// SPDX-License-Identifier: Apache-2.0
// /v1/jobs/ID/events: what happens to a job, as server-sent events. Ids are the numbers of the queue's events, so that
// a client that comes back with Last-Event-ID misses none, also over a restart of the server.
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "serve/server.h"

static const int64_t PING_NS = 15000000000;

struct stream {
  struct server *server;
  struct waiter waiter;
  struct buf out; // to be sent, from `sent` on
  size_t sent;
  int64_t last; // number of the last event in it
  int64_t ping_ns;
  bool over;
};

static bool put_event(void *arg, const struct queue_event *e) {
  struct stream *t = arg;
  json_t *j = json_pack("{s:s, s:I, s:s?}", "state", queue_state_name(e->state), "attempt", (json_int_t)e->attempt,
                        "why", e->why[0] ? e->why : NULL);
  if (j)
    json_object_set_new(j, "at", time_json(e->at_ns));
  char *text = j ? json_dumps(j, JSON_SORT_KEYS | JSON_COMPACT) : NULL;
  json_decref(j);
  buf_printf(&t->out, "id: %lld\nevent: %s\ndata: %s\n\n", (long long)e->number, queue_state_name(e->state),
             text ? text : "{}");
  free(text);
  t->last = e->number;
  t->over = queue_has_ended(e->state); // of the last one: a job may be started again
  return true;
}

// Puts what is new into `out`; false: the store failed.
static bool look(struct stream *t) {
  struct server *s = t->server;
  struct assay_error err = {0};
  pthread_mutex_lock(&s->read_lock);
  enum assay_status status = queue_each_event(s->reader, t->waiter.job, t->last, put_event, t, &err);
  pthread_mutex_unlock(&s->read_lock);
  int64_t now = clock_monotonic_ns();
  if (t->out.len == 0 && !t->over && hub_is_closed(&s->hub)) {
    buf_puts(&t->out, "event: shutdown\ndata: {}\n\n");
    t->over = true;
  }
  if (t->out.len == 0 && !t->over && now >= t->ping_ns)
    buf_puts(&t->out, ": ping\n\n");
  if (t->out.len > 0)
    t->ping_ns = now + PING_NS;
  return !status && !t->out.failed;
}

static ssize_t read_stream(void *arg, uint64_t position, char *to, size_t most) {
  struct stream *t = arg;
  (void)position;
  while (t->sent == t->out.len) {
    buf_clear(&t->out);
    t->sent = 0;
    if (t->over)
      return MHD_CONTENT_READER_END_OF_STREAM;
    uint64_t generation = hub_generation(&t->server->hub);
    if (!look(t))
      return MHD_CONTENT_READER_END_WITH_ERROR;
    t->waiter.deadline_ns = t->ping_ns;
    if (t->out.len == 0 && !t->over && hub_wait(&t->server->hub, &t->waiter, generation))
      return 0;
  }
  size_t n = t->out.len - t->sent;
  n = n < most ? n : most;
  if (n > 0)
    memcpy(to, t->out.data + t->sent, n);
  t->sent += n;
  return (ssize_t)n;
}

static void free_stream(void *arg) {
  struct stream *t = arg;
  buf_release(&t->out);
  base_free(t);
}

// Last-Event-ID; 0 where there is none, or no number.
static int64_t last_of(struct call *c) {
  const char *text = MHD_lookup_connection_value(c->connection, MHD_HEADER_KIND, "Last-Event-ID");
  size_t n = text ? strlen(text) : 0;
  return n > 0 && n < 19 && strspn(text, "0123456789") == n ? strtoll(text, NULL, 10) : 0;
}

enum MHD_Result events_get(struct call *c) {
  struct server *s = c->server;
  struct assay_error err = {0};
  struct queue_job job;
  pthread_mutex_lock(&s->read_lock);
  enum assay_status status = queue_get(s->reader, c->identity, &job, &err);
  pthread_mutex_unlock(&s->read_lock);
  if (status)
    return reply_failure(c, &err);
  struct stream *t = base_calloc(1, sizeof *t);
  if (!t)
    return reply_json(c, 500, NULL);
  t->server = s;
  t->waiter.connection = c->connection;
  t->waiter.job = job.id;
  t->last = last_of(c);
  t->over = queue_has_ended(job.state) && t->last >= job.event; // it has seen all
  t->ping_ns = clock_monotonic_ns() + PING_NS;
  buf_puts(&t->out, "retry: 2000\n\n");
  return reply_stream(c, read_stream, t, free_stream);
}
