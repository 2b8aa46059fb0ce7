// SPDX-License-Identifier: Apache-2.0
#include "serve/hub.h"

void hub_init(struct hub *h) {
  *h = (struct hub){.generation = 1};
  h->first.next = h->first.previous = &h->first;
  pthread_mutex_init(&h->lock, NULL);
}

void hub_release(struct hub *h) {
  pthread_mutex_destroy(&h->lock);
}

uint64_t hub_generation(struct hub *h) {
  pthread_mutex_lock(&h->lock);
  uint64_t g = h->generation;
  pthread_mutex_unlock(&h->lock);
  return g;
}

bool hub_is_closed(struct hub *h) {
  pthread_mutex_lock(&h->lock);
  bool closed = h->closed;
  pthread_mutex_unlock(&h->lock);
  return closed;
}

bool hub_wait(struct hub *h, struct waiter *w, uint64_t generation) {
  pthread_mutex_lock(&h->lock);
  bool waits = !h->closed && h->generation == generation;
  if (waits) {
    w->previous = h->first.previous;
    w->next = &h->first;
    w->previous->next = w->next->previous = w;
    MHD_suspend_connection(w->connection);
  }
  pthread_mutex_unlock(&h->lock);
  return waits;
}

// With the lock held. The waiter may be gone as soon as its connection is resumed.
static void resume(struct waiter *w) {
  w->previous->next = w->next;
  w->next->previous = w->previous;
  MHD_resume_connection(w->connection);
}

// Resumes those of a job (0: any), and those whose deadline has come.
static void resume_some(struct hub *h, int64_t job, int64_t now_ns) {
  for (struct waiter *w = h->first.next, *next; w != &h->first; w = next) {
    next = w->next;
    if (job == 0 || w->job == job || w->deadline_ns <= now_ns)
      resume(w);
  }
}

void hub_wake(struct hub *h, int64_t job) {
  pthread_mutex_lock(&h->lock);
  h->generation++;
  resume_some(h, job, INT64_MIN);
  pthread_mutex_unlock(&h->lock);
}

void hub_tick(struct hub *h, int64_t now_ns) {
  pthread_mutex_lock(&h->lock);
  resume_some(h, -1, now_ns);
  pthread_mutex_unlock(&h->lock);
}

void hub_close(struct hub *h) {
  pthread_mutex_lock(&h->lock);
  h->closed = true;
  h->generation++;
  resume_some(h, 0, 0);
  pthread_mutex_unlock(&h->lock);
}
