// SPDX-License-Identifier: Apache-2.0
#include "method/making.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

struct method_view making_view(const struct engine *e, const struct making *m, int64_t n) {
  return (struct method_view){.settings = &e->o->settings, .steps = m->steps, .n = n};
}

struct pending *making_pending(struct making *m, int64_t number) {
  return &m->round[number - m->first];
}

bool making_is_ready(const struct making *m) {
  int64_t at = m->n - m->first;
  return !m->blocked.status && at < m->n_round && m->round[at].replied;
}

enum assay_status making_add(struct making *m, const struct made_step *s, struct assay_error *err) {
  if ((size_t)m->n == m->capacity) {
    size_t capacity = 2 * m->capacity + 16;
    struct made_step *more = base_realloc(m->steps, capacity * sizeof *more);
    if (!more)
      return error_nomem(err, "a task's steps");
    m->steps = more;
    m->capacity = capacity;
  }
  m->steps[m->n++] = *s;
  return ASSAY_OK;
}

void made_step_release(struct made_step *s) {
  base_free(s->hash);
  base_free(s->built);
  s->hash = s->built = NULL;
}

// --- what is said of a step

struct text_reading {
  struct step_text *out;
  bool found;
};

static bool read_text(void *arg, const struct store_step *s) {
  struct text_reading *r = arg;
  r->out->code = base_strndup(s->code.data, s->code.len);
  r->out->feedback = base_strndup(s->feedback, strlen(s->feedback));
  r->found = true;
  return false;
}

enum assay_status making_text(const struct engine *e, const struct making *m, int64_t number, struct step_text *out,
                              struct assay_error *err) {
  struct text_reading r = {.out = out};
  *out = (struct step_text){0};
  enum assay_status status = store_get_step(e->o->store, e->o->run, m->task->name, number, read_text, &r, err);
  if (!status && !r.found)
    status = error_set(err, ASSAY_ERR_CORRUPT, "run \"%s\", %s: step %lld is no longer in the store", e->o->run,
                       m->task->name, (long long)number);
  if (!status && (!out->code || !out->feedback))
    status = error_nomem(err, "a step's texts");
  if (status)
    step_text_release(out);
  return status;
}

void step_text_release(struct step_text *t) {
  base_free(t->code);
  base_free(t->feedback);
  *t = (struct step_text){0};
}

static void pending_release(struct pending *p) {
  base_free(p->prompt);
  base_free(p->system);
  model_reply_release(&p->reply);
}

static void round_release(struct making *m) {
  for (int64_t i = 0; i < m->n_round; i++)
    pending_release(&m->round[i]);
  base_free(m->round);
  m->round = NULL;
  m->n_round = 0;
}

void making_release(struct making *m) {
  for (int64_t i = 0; i < m->n; i++)
    made_step_release(&m->steps[i]);
  base_free(m->steps);
  round_release(m);
  arena_release(&m->arena);
}

// --- what is stored

struct reading {
  struct engine *e;
  struct making *m;
  enum assay_status status;
  struct assay_error *err;
};

static int model_index(const struct engine *e, const char *name) {
  for (int i = 0; i < e->o->settings.n_models; i++)
    if (strcmp(e->o->models[i].name, name) == 0)
      return i;
  return 0;
}

static bool read_step(void *arg, const struct store_step *s) {
  struct reading *r = arg;
  struct made_step made = {.number = s->number,
                           .parent = s->parent,
                           .lane = s->lane,
                           .same_as = s->same_as,
                           .verdict = s->verdict,
                           .model = model_index(r->e, s->model),
                           .outcome = s->outcome,
                           .time_ns = NAN,
                           .floor_ns = NAN,
                           .usd = s->usd};
  made.unserved = s->outcome == STORE_NO_REPLY && strcmp(s->finish, STORE_UNSERVED) == 0;
  made.given_up = s->outcome == STORE_NO_REPLY && strcmp(s->finish, STORE_SERVER_FAILED) == 0;
  made.lane = made.unserved ? STEP_NO_LANE : made.lane;
  made.same_as = s->outcome == STORE_NO_REPLY ? -1 : made.same_as;
  if (s->outcome == STORE_FINAL || strcmp(s->finish, STORE_UNDER_WAY) == 0)
    return true;
  if (s->outcome == STORE_REPLIED || s->number != r->m->n)
    return true; // the round takes it up
  if (s->verdict > 0)
    r->status = judging_read(r->e, s->verdict, &made, NULL, r->err);
  if (!r->status && s->code_hash[0] && !(made.hash = base_strndup(s->code_hash, strlen(s->code_hash))))
    r->status = error_nomem(r->err, "a task's steps");
  if (!r->status)
    r->status = making_add(r->m, &made, r->err);
  if (r->status)
    made_step_release(&made);
  return r->status == ASSAY_OK;
}

// Steps at the end that got no reply are asked again, but for those that were given up. They stay in the store until
// then, and what they have cost after that.
static void forget_unanswered(struct making *m) {
  while (m->n > 0 && m->steps[m->n - 1].outcome == STORE_NO_REPLY && !m->steps[m->n - 1].given_up)
    made_step_release(&m->steps[--m->n]);
}

// Two processes on one task would do the same work twice. The claim ends with the process.
static enum assay_status claim(struct engine *e, struct making *m, struct assay_error *err) {
  const struct store_verdict key = {.run = e->o->run,
                                    .task = m->task->name,
                                    .form = "make",
                                    .workload = "",
                                    .device = "",
                                    .candidate_hash = "",
                                    .settings_hash = ""};
  bool mine = false;
  enum assay_status status = store_claim(e->o->store, &key, &mine, err);
  if (!status && !mine)
    status = error_set(err, ASSAY_ERR_BUSY, "another process works on %s in run \"%s\"; wait for it, or use --run NAME",
                       m->task->name, e->o->run);
  return status;
}

enum assay_status making_recall(struct engine *e, struct making *m, struct assay_error *err) {
  struct reading r = {.e = e, .m = m, .err = err};
  enum assay_status status = store_each_step(e->o->store, e->o->run, m->task->name, read_step, &r, err);
  status = status ? status : r.status;
  if (!status)
    forget_unanswered(m);
  return status;
}

enum assay_status making_open(struct engine *e, struct making *m, struct assay_error *err) {
  enum assay_status status = claim(e, m, err);
  if (!status)
    status = brief_make(m->task->path, e->o->judging, &m->arena, &m->brief, err);
  if (!status)
    status = making_recall(e, m, err);
  m->opened = m->resumes = true;
  return status;
}

// A reply that was paid for before this process was started.
static bool take_reply(void *arg, const struct store_step *s) {
  struct reading *r = arg;
  struct making *m = r->m;
  int64_t i = s->number - m->first;
  struct pending *p = i >= 0 && i < m->n_round ? &m->round[i] : NULL;
  if (!p || s->outcome != STORE_REPLIED || s->number < m->n)
    return true;
  size_t n = strlen(p->system);
  if (s->prompt.len != n + 1 + strlen(p->prompt) || memcmp(s->prompt.data, p->system, n) != 0 ||
      memcmp(s->prompt.data + n + 1, p->prompt, strlen(p->prompt)) != 0) {
    r->status = error_set(r->err, ASSAY_ERR_USAGE,
                          "run \"%s\", %s, step %lld: the prompt is not the one that was sent: Assay or the machine's "
                          "peaks have changed since; use --run NAME for another run",
                          s->run, s->task, (long long)s->number);
    return false;
  }
  p->sent = true;
  p->usd = s->usd;
  p->row = *s;
  buf_append(&p->reply.text, s->reply.data, s->reply.len);
  p->reply.finish = model_finish_by_name(s->finish);
  r->status = buf_status(&p->reply.text, r->err);
  if (!r->status) // what was cut off is asked for its rest, as then
    r->status = asking_continue(r->e, m, s->number, r->err);
  return r->status == ASSAY_OK;
}

// --- rounds

// The task is done: what was given up in its last round is asked again, once. Rounds before it made others of what
// came.
static enum assay_status take_up(struct engine *e, struct making *m, bool *any, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int64_t i = m->last_first; i < m->n && e->models && e->o->ask_again && !m->taken_up && !status; i++) {
    struct made_step *s = &m->steps[i];
    if (!s->given_up)
      continue;
    status = store_take_up_step(e->o->store, e->o->run, m->task->name, i, err);
    s->given_up = false;
    s->unserved = *any = true;
    s->lane = STEP_NO_LANE;
  }
  m->taken_up = true;
  return status;
}

// What the method wants next, of the round that begins with step m->first; what it went by is kept. m->waits: it is to
// know of tasks that are not so far, and 0 plans.
static enum assay_status next_plans(struct engine *e, struct making *m, struct method_plan *plans, int *n,
                                    struct assay_error *err) {
  struct method_lesson lessons[METHOD_MOST_MODELS] = {{0}};
  const struct method *method = e->o->settings.method;
  struct method_view v = making_view(e, m, m->first);
  enum assay_status status = ASSAY_OK;
  bool stored = false;
  v.lessons = lessons;
  if (method->teach)
    status = learning_recall(e, m, lessons, &stored, err);
  *n = status ? 0 : method->next(&v, plans, METHOD_MOST_ROUND);
  bool chooses = *n > 0 && plans[0].learns && e->tasks && !stored && m->first >= m->n;
  m->waits = chooses && !learning_is_ready(e, m);
  if (m->waits)
    *n = 0;
  else if (chooses && !status)
    status = learning_keep(e, m, lessons, err);
  return status;
}

enum assay_status making_plan(struct engine *e, struct making *m, struct assay_error *err) {
  struct method_plan plans[METHOD_MOST_ROUND];
  int n = 0;
  if (m->done || m->n < m->first + m->n_round)
    return ASSAY_OK;
  // A run that goes on: the rounds that are finished come out as they did then.
  bool again;
  do {
    again = false;
    int64_t first = m->first + (m->rounds ? m->n_round : 0);
    round_release(m);
    m->first = first;
    enum assay_status status = next_plans(e, m, plans, &n, err);
    if (status)
      return status;
    m->n_round = n;
    m->round = base_calloc((size_t)n + 1, sizeof *m->round);
    if (!m->round) {
      m->n_round = 0;
      return error_nomem(err, "a round of requests");
    }
    for (int i = 0; i < n; i++)
      m->round[i] = (struct pending){.plan = plans[i], .usd = NAN};
    m->rounds++;
    m->last_first = n > 0 ? first : m->last_first;
    if (m->waits)
      return ASSAY_OK;
    status = n > 0 ? ASSAY_OK : take_up(e, m, &again, err);
    if (status)
      return status;
  } while (again || (n > 0 && m->first + n <= m->n));
  m->done = n == 0;
  enum assay_status status = ASSAY_OK;
  for (int64_t i = m->n; i < m->first + n && !status; i++)
    status = asking_render(e, m, i, err);
  struct reading r = {.e = e, .m = m, .err = err};
  if (!status && m->resumes) // only the first round of this process can have stored replies
    status = store_each_step(e->o->store, e->o->run, m->task->name, take_reply, &r, err);
  m->resumes = false;
  return status ? status : r.status;
}
