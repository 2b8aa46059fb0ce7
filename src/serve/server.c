// SPDX-License-Identifier: Apache-2.0
// A server from its start to its end.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "serve/server.h"

enum { LISTEN_GRACE_MS = 300 };

// One server a store: two would time on one device at once. The lock goes with the process, however it ends.
static enum assay_status take_lock(struct server *s, struct assay_error *err) {
  char path[4200];
  snprintf(path, sizeof path, "%s.serve", s->o->store);
  s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (s->lock_fd < 0)
    return error_set(err, ASSAY_ERR_IO, "cannot open %s: %s", path, strerror(errno));
  if (flock(s->lock_fd, LOCK_EX | LOCK_NB) != 0)
    return error_set(err, ASSAY_ERR_BUSY, "another `assay serve` has the store %s; end it, or give another --store",
                     s->o->store);
  return ASSAY_OK;
}

static enum assay_status open_store(struct server *s, struct assay_error *err) {
  int64_t recovered = 0;
  enum assay_status status = store_open(s->o->store, &s->writer, err);
  if (!status)
    status = take_lock(s, err);
  if (!status)
    status = queue_prepare(s->writer, err);
  if (!status)
    status = queue_recover(s->writer, &recovered, err);
  if (!status)
    status = store_open(s->o->store, &s->reader, err);
  if (!status && recovered > 0)
    server_log(s, "recovered", json_pack("{s:I}", "jobs", (json_int_t)recovered));
  return status;
}

static void release(struct server *s) {
  tokens_close(s->tokens);
  site_close(s->site);
  store_close(s->reader);
  store_close(s->writer);
  if (s->lock_fd >= 0)
    close(s->lock_fd);
  hub_release(&s->hub);
  metrics_release(&s->metrics);
  renew_release(&s->renewal);
  pthread_mutex_destroy(&s->workers.lock);
  pthread_mutex_destroy(&s->submissions.lock);
  pthread_cond_destroy(&s->submissions.changed);
  pthread_mutex_destroy(&s->connections_lock);
  pthread_mutex_destroy(&s->read_lock);
  pthread_mutex_destroy(&s->write_lock);
  base_free(s);
}

enum assay_status serve_start(const struct serve_options *o, struct server **out, struct assay_error *err) {
  struct server *s = base_calloc(1, sizeof *s);
  if (!s)
    return error_nomem(err, "the server");
  s->o = o;
  s->lock_fd = -1;
  hub_init(&s->hub);
  metrics_init(&s->metrics);
  renew_init(&s->renewal);
  pthread_mutex_init(&s->workers.lock, NULL);
  pthread_mutex_init(&s->submissions.lock, NULL);
  pthread_cond_init(&s->submissions.changed, NULL);
  pthread_mutex_init(&s->connections_lock, NULL);
  pthread_mutex_init(&s->read_lock, NULL);
  pthread_mutex_init(&s->write_lock, NULL);
  enum assay_status status = o->token_file ? tokens_open(o->token_file, o->rate, &s->tokens, err) : ASSAY_OK;
  if (!status && o->site)
    status = site_open(o->site, &s->site, err);
  if (!status)
    status = open_store(s, err);
  if (!status)
    status = workers_start(s, err);
  if (!status)
    status = writer_start(s, err);
  if (!status)
    status = renew_start(s, err);
  if (!status)
    status = http_start(s, err);
  if (status) {
    hub_close(&s->hub);
    renew_stop(s);
    writer_stop(s);
    workers_stop(s, 0);
    release(s);
  } else {
    *out = s;
  }
  return status;
}

void serve_stop(struct server *s, int64_t limit_ns) {
  if (!s)
    return;
  int64_t until = clock_monotonic_ns() + limit_ns;
  server_log(s, "draining", json_object());
  s->draining = true;     // no more submissions; /readyz says so to who asks on a connection that is there
  workers_stop(s, until); // finished jobs still wake their followers
  writer_stop(s);         // what came before is committed
  renew_stop(s);
  hub_close(&s->hub); // the rest hears of the end
  MHD_socket listening = MHD_quiesce_daemon(s->daemon);
  usleep(LISTEN_GRACE_MS * 1000); // for the last answers to leave
  MHD_stop_daemon(s->daemon);
  if (listening != MHD_INVALID_SOCKET)
    close(listening);
  server_log(s, "ended", json_object());
  release(s);
}
