// SPDX-License-Identifier: Apache-2.0
// A run once more, without a model and without a judge: replies and verdicts are those of the store, and everything
// that was made of them (which step comes next, its prompt, its code, what is said of it) must come out byte for byte
// as it is stored.
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "method/making.h"

struct replaying {
  struct engine *e;
  struct making *m;
  int64_t n;
  enum assay_status status;
  struct assay_error *err;
};

static enum assay_status differs(const struct engine *e, const struct store_step *s, const char *what,
                                 struct assay_error *err) {
  return error_set(
      err, ASSAY_ERR_CORRUPT,
      "run \"%s\", %s, step %lld: the %s is not the one that is stored; Assay, the prompts or the machine's "
      "peaks have changed since",
      e->o->run, s->task, (long long)s->number, what);
}

static bool same_bytes(const struct store_bytes *a, const struct store_bytes *b) {
  return a->len == b->len && memcmp(a->data ? a->data : "", b->data ? b->data : "", a->len) == 0;
}

enum assay_status replay_compare(const struct engine *e, const struct store_step *now, struct assay_error *err) {
  const struct store_step *then = e->expected;
  const char *what = NULL;
  if (strcmp(now->kind, then->kind) != 0)
    what = "kind";
  else if (strcmp(now->model, then->model) != 0)
    what = "model";
  else if (now->parent != then->parent || now->lane != then->lane)
    what = "parent";
  else if (!same_bytes(&now->prompt, &then->prompt))
    what = "prompt";
  else if (now->outcome != then->outcome || (now->same_as != then->same_as && now->outcome != STORE_NO_REPLY))
    what = "outcome";
  else if (!same_bytes(&now->code, &then->code) || strcmp(now->code_hash, then->code_hash) != 0)
    what = "code";
  else if (strcmp(now->feedback, then->feedback) != 0)
    what = "feedback";
  else if (strcmp(now->detail, then->detail) != 0)
    what = "detail";
  return what ? differs(e, then, what, err) : ASSAY_OK;
}

// Takes the stored reply as the answer to the step that the method asks for now.
static enum assay_status replay_one(struct engine *e, struct making *m, const struct store_step *s,
                                    struct assay_error *err) {
  enum assay_status status = making_plan(e, m, err);
  if (status)
    return status;
  if (m->done || s->number != m->n)
    return differs(e, s, "number", err);
  struct pending *p = &m->round[m->n - m->first];
  buf_append(&p->reply.text, s->reply.data, s->reply.len);
  p->reply.finish = model_finish_by_name(s->finish);
  if (s->outcome == STORE_NO_REPLY) {
    p->reply.failure = MODEL_FAILED;
    snprintf(p->reply.error.message, sizeof p->reply.error.message, "%s", s->detail);
  }
  p->row = *s;
  p->usd = s->usd;
  p->sent = p->replied = true;
  e->waiting++;
  e->expected = s;
  status = buf_status(&p->reply.text, err);
  if (!status)
    status = judging_commit(e, m, err);
  e->expected = NULL;
  return status;
}

static bool visit(void *arg, const struct store_step *s) {
  struct replaying *r = arg;
  if (s->outcome == STORE_FINAL || s->outcome == STORE_REPLIED || s->number < 0 ||
      strcmp(s->finish, STORE_UNDER_WAY) == 0)
    return true;
  r->status = replay_one(r->e, r->m, s, r->err);
  r->n++;
  return r->status == ASSAY_OK;
}

enum assay_status engine_replay(const struct engine_options *o, int64_t *steps, struct assay_error *err) {
  struct engine e = {.o = o};
  enum assay_status status = ASSAY_OK;
  *steps = 0;
  answer_form_others(o->form, e.others);
  for (int i = 0; i < o->n_tasks && !status; i++) {
    struct making m = {.task = &o->tasks[i], .opened = true};
    struct replaying r = {.e = &e, .m = &m, .err = err};
    status = brief_make(m.task->path, o->judging, &m.arena, &m.brief, err);
    if (!status)
      status = store_each_step(o->store, o->run, m.task->name, visit, &r, err);
    status = status ? status : r.status;
    *steps += r.n;
    making_release(&m);
  }
  if (!status && *steps == 0)
    status = error_set(err, ASSAY_ERR_NOT_FOUND, "the store has no steps of the run \"%s\" for these tasks", o->run);
  return status;
}

// --- what would be asked first

enum assay_status engine_first_prompt(const struct engine_options *o, const struct engine_task *task,
                                      struct buf *prompt, struct assay_error *err) {
  struct engine e = {.o = o};
  struct making m = {.task = task, .opened = true};
  enum assay_status status = brief_make(task->path, o->judging, &m.arena, &m.brief, err);
  if (!status)
    status = making_plan(&e, &m, err);
  if (!status && !m.done)
    buf_printf(prompt, "%s\n%s", m.round[0].system, m.round[0].prompt);
  making_release(&m);
  return status ? status : buf_status(prompt, err);
}
