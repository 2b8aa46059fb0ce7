// SPDX-License-Identifier: Apache-2.0
// A language model's server for tests: it answers requests by a script, and remembers what it was asked.
#ifndef SUPPORT_MODEL_SERVER_H
#define SUPPORT_MODEL_SERVER_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"

// One answer.
struct scripted {
  unsigned status;  // 0: 200
  const char *type; // NULL: application/json, or for a body that begins with "data:" or "event:" a stream; "": none
  const char *body;
  size_t length;   // of the body; 0: it is a text
  size_t repeat;   // the body so many times; 0: once
  size_t piece;    // sent in pieces of so many bytes; 0: whole
  int pause_ms;    // before each piece
  bool drop, hang; // at the end of the body: cut the connection; say nothing more
  const char *header, *value, *header2, *value2;
};

enum { SERVER_MOST_REQUESTS = 256 };
struct model_server {
  struct MHD_Daemon *daemon;
  const struct scripted *script; // request i gets script[i], and all after the last that one
  int n_script, n_requests;
  char *bodies[SERVER_MOST_REQUESTS];
  char path[256], authorization[256], api_key[256];
  pthread_mutex_t lock;
  char url[64];
};

struct scripted_body {
  const struct scripted *s;
  size_t length, at;
};

static ssize_t scripted_read(void *cls, uint64_t position, char *out, size_t most) {
  struct scripted_body *b = cls;
  size_t all = b->length * (b->s->repeat ? b->s->repeat : 1);
  if (position >= all) {
    if (b->s->hang)
      sleep(2);
    return b->s->drop ? MHD_CONTENT_READER_END_WITH_ERROR : MHD_CONTENT_READER_END_OF_STREAM;
  }
  if (b->s->pause_ms)
    usleep((useconds_t)b->s->pause_ms * 1000);
  size_t from = (size_t)position % b->length, n = b->length - from;
  n = n < most ? n : most;
  n = b->s->piece && b->s->piece < n ? b->s->piece : n;
  memcpy(out, b->s->body + from, n);
  return (ssize_t)n;
}

static enum MHD_Result scripted_answer(void *cls, struct MHD_Connection *c, const char *url, const char *method,
                                       const char *version, const char *upload, size_t *upload_size, void **state) {
  struct model_server *server = cls;
  struct buf *body = *state;
  (void)method;
  (void)version;
  if (!body)
    return (*state = calloc(1, sizeof(struct buf))) ? MHD_YES : MHD_NO;
  if (*upload_size) {
    buf_append(body, upload, *upload_size);
    *upload_size = 0;
    return MHD_YES;
  }
  pthread_mutex_lock(&server->lock);
  int i = server->n_requests++;
  const char *key = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Authorization");
  const char *api_key = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "x-api-key");
  snprintf(server->path, sizeof server->path, "%s", url);
  snprintf(server->authorization, sizeof server->authorization, "%s", key ? key : "");
  snprintf(server->api_key, sizeof server->api_key, "%s", api_key ? api_key : "");
  if (i < SERVER_MOST_REQUESTS)
    server->bodies[i] = strdup(buf_str(body));
  pthread_mutex_unlock(&server->lock);
  buf_release(body);
  const struct scripted *s = &server->script[i < server->n_script ? i : server->n_script - 1];
  struct scripted_body *reading = calloc(1, sizeof *reading);
  *reading = (struct scripted_body){.s = s, .length = s->length ? s->length : strlen(s->body)};
  struct MHD_Response *r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 65536, scripted_read, reading, free);
  bool stream = strncmp(s->body, "data:", 5) == 0 || strncmp(s->body, "event:", 6) == 0;
  const char *type = s->type ? s->type : stream ? "text/event-stream" : "application/json";
  if (type[0])
    MHD_add_response_header(r, "Content-Type", type);
  if (s->header)
    MHD_add_response_header(r, s->header, s->value);
  if (s->header2)
    MHD_add_response_header(r, s->header2, s->value2);
  enum MHD_Result result = MHD_queue_response(c, s->status ? s->status : 200, r);
  MHD_destroy_response(r);
  return result;
}

static void scripted_done(void *cls, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode code) {
  (void)cls;
  (void)c;
  (void)code;
  if (*state)
    buf_release(*state);
  free(*state);
  *state = NULL;
}

// On a free port of this machine; server->url is its base.
static void model_server_start(struct model_server *server, const struct scripted *script, int n) {
  memset(server, 0, sizeof *server);
  server->script = script;
  server->n_script = n;
  pthread_mutex_init(&server->lock, NULL);
  server->daemon =
      MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION, 0, NULL, NULL, scripted_answer,
                       server, MHD_OPTION_NOTIFY_COMPLETED, scripted_done, NULL, MHD_OPTION_END);
  if (!server->daemon)
    abort();
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT);
  snprintf(server->url, sizeof server->url, "http://127.0.0.1:%u", info->port);
}

static void model_server_stop(struct model_server *server) {
  MHD_stop_daemon(server->daemon);
  for (int i = 0; i < SERVER_MOST_REQUESTS; i++)
    free(server->bodies[i]);
  pthread_mutex_destroy(&server->lock);
}

#endif
