// SPDX-License-Identifier: Apache-2.0
#include "serve/writer.h"

#include <string.h>

#include "base/thread.h"
#include "serve/server.h"

enum { MOST_AT_ONCE = 64 };

// The oldest that wait, taken out of the list; waits for some. 0: the writer is closed, and nothing is left.
static int take(struct writer *w, struct submission **out) {
  int n = 0;
  pthread_mutex_lock(&w->lock);
  while (!w->first && !w->closed)
    pthread_cond_wait(&w->changed, &w->lock);
  for (; w->first && n < MOST_AT_ONCE; n++) {
    out[n] = w->first;
    w->first = w->first->next;
  }
  if (!w->first)
    w->last = NULL;
  pthread_mutex_unlock(&w->lock);
  return n;
}

static void commit(struct server *s, struct submission **all, int n) {
  struct queue_batch *batches[MOST_AT_ONCE];
  struct assay_error err = {0};
  for (int i = 0; i < n; i++)
    batches[i] = &all[i]->batch;
  pthread_mutex_lock(&s->write_lock);
  enum assay_status status = queue_submit_all(s->writer, batches, n, s->o->most_waiting, &err);
  pthread_mutex_unlock(&s->write_lock);
  for (int i = 0; i < n && status; i++) {
    batches[i]->status = status;
    batches[i]->error = err;
  }
}

static void *run(void *arg) {
  struct server *s = arg;
  struct submission *all[MOST_AT_ONCE];
  for (int n; (n = take(&s->submissions, all)) > 0;) {
    commit(s, all, n);
    workers_poke(s);
    for (int i = 0; i < n; i++)
      MHD_resume_connection(all[i]->connection); // from here on it is the connection's again
  }
  return NULL;
}

enum assay_status writer_start(struct server *s, struct assay_error *err) {
  struct writer *w = &s->submissions;
  int e = thread_start(&w->thread, run, s);
  if (e)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot start the thread that writes: %s", strerror(e));
  w->started = true;
  return ASSAY_OK;
}

bool writer_put(struct server *s, struct submission *b, struct MHD_Connection *connection) {
  struct writer *w = &s->submissions;
  pthread_mutex_lock(&w->lock);
  bool open = !w->closed;
  if (open) {
    b->connection = connection;
    b->next = NULL;
    *(w->last ? &w->last->next : &w->first) = b;
    w->last = b;
    MHD_suspend_connection(connection);
    pthread_cond_signal(&w->changed);
  }
  pthread_mutex_unlock(&w->lock);
  return open;
}

void writer_stop(struct server *s) {
  struct writer *w = &s->submissions;
  if (!w->started)
    return;
  pthread_mutex_lock(&w->lock);
  w->closed = true;
  pthread_cond_signal(&w->changed);
  pthread_mutex_unlock(&w->lock);
  pthread_join(w->thread, NULL);
}
