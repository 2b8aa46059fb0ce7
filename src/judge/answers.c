// SPDX-License-Identifier: Apache-2.0
// Answers are found by a text that names all they depend on: the task's file and form, the shapes, the probe, the key
// of the draw and the number of passes. The oldest go first; a bench judges a task's candidates one after another, so
// that what is needed is young.
#include "judge/answers.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "task/given.h"

struct kept {
  struct kept *next; // younger
  char *name;
  size_t bytes;
  struct oracle_answer answer;
};

struct assay_answers {
  pthread_mutex_t lock;
  size_t most_bytes, bytes;
  struct kept *oldest, *youngest;
};

enum assay_status assay_answers_open(size_t most_bytes, struct assay_answers **out, struct assay_error *err) {
  struct assay_answers *a = base_calloc(1, sizeof *a);
  if (!a)
    return error_nomem(err, "the oracle's answers");
  a->most_bytes = most_bytes;
  pthread_mutex_init(&a->lock, NULL);
  *out = a;
  return ASSAY_OK;
}

static void drop(struct kept *k) {
  oracle_answer_release(&k->answer);
  base_free(k->name);
  base_free(k);
}

void assay_answers_close(struct assay_answers *a) {
  if (!a)
    return;
  for (struct kept *k = a->oldest, *next; k; k = next) {
    next = k->next;
    drop(k);
  }
  pthread_mutex_destroy(&a->lock);
  base_free(a);
}

// Heap; NULL when memory fails.
static char *name_of(const struct task *t, const struct question *q, int replicas) {
  struct buf text;
  buf_init(&text);
  buf_printf(&text, "%s%s %s %d %d %llu %d %d", t->hash, task_weights_hash(t), t->contract.name, t->as_published,
             (int)q->probe, (unsigned long long)q->key, replicas, q->again);
  for (int i = 0; i < q->layout->n_in; i++) {
    const struct tensor_type *type = &q->layout->in[i];
    buf_printf(&text, " %d", (int)type->dtype);
    for (int d = 0; d < type->shape.rank; d++)
      buf_printf(&text, ",%lld", (long long)type->shape.dims[d]);
  }
  for (int i = 0; i < q->layout->workload->n; i++) // some shape no input
    buf_printf(&text, " %lld", (long long)q->layout->workload->bindings[i].value);
  if (!text.failed)
    return text.data;
  buf_release(&text);
  return NULL;
}

static size_t bytes_of(const struct oracle_answer *a) {
  size_t bytes = 0;
  for (int i = 0; i < a->n_outputs; i++)
    bytes += (size_t)shape_count(&a->y[i].shape) * (sizeof *a->y[i].bits + (a->sigma[i] ? sizeof *a->sigma[i] : 0));
  return bytes;
}

static bool copy_output(const struct oracle_answer *from, int o, struct oracle_answer *to) {
  size_t n = (size_t)shape_count(&from->y[o].shape);
  to->y[o] = from->y[o];
  to->y[o].bits = base_alloc(n * sizeof *to->y[o].bits + 1);
  to->sigma[o] = from->sigma[o] ? base_alloc(n * sizeof *to->sigma[o] + 1) : NULL;
  if (!to->y[o].bits || (from->sigma[o] && !to->sigma[o]))
    return false;
  memcpy(to->y[o].bits, from->y[o].bits, n * sizeof *to->y[o].bits);
  if (from->sigma[o])
    memcpy(to->sigma[o], from->sigma[o], n * sizeof *to->sigma[o]);
  return true;
}

static bool copy_answer(const struct oracle_answer *from, struct oracle_answer *to) {
  *to = (struct oracle_answer){.n_outputs = from->n_outputs, .representable = from->representable};
  to->y = base_calloc((size_t)from->n_outputs + 1, sizeof *to->y);
  to->sigma = base_calloc((size_t)from->n_outputs + 1, sizeof *to->sigma);
  bool whole = to->y && to->sigma;
  for (int i = 0; i < from->n_outputs && whole; i++)
    whole = copy_output(from, i, to);
  if (!whole)
    oracle_answer_release(to);
  return whole;
}

static const struct kept *find(const struct assay_answers *a, const char *name) {
  const struct kept *k = a->oldest;
  while (k && strcmp(k->name, name) != 0)
    k = k->next;
  return k;
}

bool answers_find(struct assay_answers *a, const struct task *t, struct question *q, int replicas) {
  char *name = name_of(t, q, replicas);
  if (!name)
    return false;
  pthread_mutex_lock(&a->lock);
  const struct kept *k = find(a, name);
  bool found = k && copy_answer(&k->answer, &q->answer);
  pthread_mutex_unlock(&a->lock);
  base_free(name);
  return found;
}

static void add(struct assay_answers *a, struct kept *k) {
  while (a->oldest && a->bytes + k->bytes > a->most_bytes) {
    struct kept *old = a->oldest;
    a->oldest = old->next;
    a->bytes -= old->bytes;
    drop(old);
  }
  if (a->oldest)
    a->youngest->next = k;
  else
    a->oldest = k;
  a->youngest = k;
  a->bytes += k->bytes;
}

void answers_keep(struct assay_answers *a, const struct task *t, const struct question *q, int replicas) {
  size_t bytes = bytes_of(&q->answer);
  struct kept *k = bytes <= a->most_bytes ? base_calloc(1, sizeof *k) : NULL;
  if (!k)
    return;
  k->bytes = bytes;
  k->name = name_of(t, q, replicas);
  if (!k->name || !copy_answer(&q->answer, &k->answer)) {
    drop(k);
    return;
  }
  pthread_mutex_lock(&a->lock);
  if (find(a, k->name)) // another thread was as quick
    drop(k);
  else
    add(a, k);
  pthread_mutex_unlock(&a->lock);
}
