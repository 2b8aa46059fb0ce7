// SPDX-License-Identifier: Apache-2.0
// What a run's tasks teach each other of its models (swarm). Steps come in any order of time, so that it is laid down
// what a choice knows: beside its own task's steps, of every task before it in the run's order, what came before that
// one's first choice, and its first choices: as many as the own task had, one for each model at most. A choice waits
// until they are done; after these few, tasks go on at their own pace. A task that ended or cannot go on is not waited
// for. What a choice went by is in the store (lesson), so that a run that goes on, and a replay, choose the same.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "method/making.h"
#include "store/step.h"

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

// How many of another task's choices count for the next one of this one.
static int64_t choices_that_count(const struct engine *e, const struct making *m) {
  return smaller(m->choices, e->o->settings.n_models);
}

// Whether the task is at its first choice: all that comes before is finished.
static bool is_at_a_choice(const struct engine *e, const struct making *m) {
  struct method_plan plans[METHOD_MOST_ROUND];
  const struct method_view v = making_view(e, m, m->n);
  return m->opened && m->n == m->first + m->n_round && m->rounds > 0 &&
         e->o->settings.method->next(&v, plans, METHOD_MOST_ROUND) > 0 && plans[0].learns;
}

static bool has_got_to(const struct engine *e, const struct making *m, int64_t choices) {
  if (m->done || m->stuck || m->stopped[0] || m->blocked.status)
    return true;
  const struct method_view v = making_view(e, m, m->n);
  int64_t n = e->o->settings.method->choices(&v);
  return n >= choices && (n > 0 || is_at_a_choice(e, m));
}

bool learning_is_ready(const struct engine *e, const struct making *m) {
  for (const struct making *other = e->tasks; other < m; other++)
    if (!has_got_to(e, other, choices_that_count(e, m)))
      return false;
  return true;
}

static void gather(const struct engine *e, const struct making *m, struct method_lesson *lessons) {
  for (const struct making *other = e->tasks; other && other < m; other++) {
    struct method_view v = making_view(e, other, other->n);
    v.n = steps_until_stop(&v, &e->o->enough);
    e->o->settings.method->teach(&v, choices_that_count(e, m), lessons);
  }
}

// "asked right timed gain priced usd;" of each model.
static bool read_lessons(const char *text, int n, struct method_lesson *out) {
  for (int i = 0; i < n; i++) {
    struct method_lesson *l = &out[i];
    long long asked, right, timed, priced;
    int used = 0;
    if (sscanf(text, "%lld %lld %lld %lf %lld %lf;%n", &asked, &right, &timed, &l->gain, &priced, &l->usd, &used) !=
            6 ||
        used == 0)
      return false;
    l->asked = asked;
    l->right = right;
    l->timed = timed;
    l->priced = priced;
    text += used;
  }
  return *text == '\0';
}

enum assay_status learning_recall(struct engine *e, struct making *m, struct method_lesson *lessons, bool *stored,
                                  struct assay_error *err) {
  char *text = NULL;
  const struct method_view v = making_view(e, m, m->first);
  m->choices = e->o->settings.method->choices(&v);
  enum assay_status status = store_get_lesson(e->o->store, e->o->run, m->task->name, m->first, &text, err);
  *stored = text != NULL;
  if (!status && text && !read_lessons(text, e->o->settings.n_models, lessons))
    status = error_set(err, ASSAY_ERR_CORRUPT, "run \"%s\", %s, step %lld: what its model was chosen by is no lesson",
                       e->o->run, m->task->name, (long long)m->first);
  if (!status && !text)
    gather(e, m, lessons);
  base_free(text);
  return status;
}

enum assay_status learning_keep(const struct engine *e, const struct making *m, const struct method_lesson *lessons,
                                struct assay_error *err) {
  struct buf text = {0};
  for (int i = 0; i < e->o->settings.n_models; i++) {
    const struct method_lesson *l = &lessons[i];
    buf_printf(&text, "%lld %lld %lld %.17g %lld %.17g;", (long long)l->asked, (long long)l->right, (long long)l->timed,
               l->gain, (long long)l->priced, l->usd);
  }
  enum assay_status status = buf_status(&text, err);
  if (!status)
    status = store_put_lesson(e->o->store, e->o->run, m->task->name, m->first, buf_str(&text), err);
  buf_release(&text);
  return status;
}
