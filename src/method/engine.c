// SPDX-License-Identifier: Apache-2.0
// The loop: requests go out as long as there is room, replies are stored as they come, and become steps in the order of
// their numbers.
#include "method/engine.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "method/budget.h"
#include "method/making.h"

enum { MOST_FAILURES = 3 };                  // requests in a row that get no reply: the endpoint is down
enum { MOST_STORED = 256 };                  // replies that wait for one before them
static const int64_t LOOK_UP_NS = 200000000; // at most so long until a stop is seen
static const int64_t SHOWN_EVERY_NS = 1000000000;

static bool stopped(const struct engine *e) {
  return e->ended || (e->o->stop && *e->o->stop);
}

// --- which task is next

// How many steps of the round come before the last one that was sent.
static int64_t before_last_sent(const struct making *m) {
  int64_t n = 0;
  for (int64_t i = 0; i < m->n_round; i++)
    n = m->round[i].sent ? i : n;
  return n;
}

// Of several models each has its part of what may be under way, so that one that hangs does not hold up the others.
static bool has_room(const struct engine *e, const struct pending *p) {
  int n = 0;
  for (int i = 0; i < e->o->settings.n_models; i++)
    n += e->models[i].asked && !e->models[i].out;
  return n < 2 || e->models[p->plan.model].under_way < (e->o->ahead + n - 1) / n;
}

// The first step of the round that is to be sent, can be, and was not; -1: none. Of a task that needs no more, only
// what an earlier process left out before a reply that is paid for.
static int64_t next_unsent(const struct engine *e, const struct making *m) {
  int64_t end = m->stopped[0] ? before_last_sent(m) : m->n_round;
  for (int64_t i = m->n - m->first; i < end; i++)
    if (!m->round[i].sent && asking_can_serve(e, &m->round[i]) && has_room(e, &m->round[i]))
      return m->first + i;
  return -1;
}

// Whether any other step of the round was or can be served.
static bool round_goes_on(const struct engine *e, const struct making *m) {
  for (int64_t i = 0; i < m->n_round; i++) {
    const struct pending *p = &m->round[i];
    if (m->first + i < m->n ? !m->steps[m->first + i].unserved : p->sent || asking_can_serve(e, p))
      return true;
  }
  return false;
}

// Whether the steps before the round were left out, and that model's are among them.
static bool was_left_out(const struct making *m, int model) {
  for (int64_t i = m->first - 1; i >= 0 && m->steps[i].unserved; i--)
    if (m->steps[i].model == model)
      return true;
  return false;
}

// The next step of a task waits for a model that is not asked any more. It is left out where others go on: those of
// its round, or, once for each model, whatever the method wants then.
static enum assay_status leave_out(struct engine *e, struct making *m, bool *any, struct assay_error *err) {
  int64_t at = m->n - m->first;
  if (!m->opened || m->done || m->blocked.status || m->stopped[0] || at >= m->n_round || m->round[at].sent ||
      !e->models[m->round[at].plan.model].out)
    return ASSAY_OK;
  if (!round_goes_on(e, m) && was_left_out(m, m->round[at].plan.model))
    return ASSAY_OK;
  *any = true;
  return asking_leave_out(e, m, m->n, err);
}

// Whether its next round is not to be planned yet, for the sake of what other tasks will teach.
static bool waits_for_others(const struct engine *e, const struct making *m) {
  return m->waits && !learning_is_ready(e, m);
}

// Whether the task needs more, by what came of it. What was sent is finished.
static void look_for_stop(const struct engine *e, struct making *m) {
  const struct method_view v = making_view(e, m, m->n);
  if (!m->stopped[0] && !steps_stop(&v, &e->o->enough, m->stopped, sizeof m->stopped))
    return;
  bool waits = false;
  for (int64_t i = m->n - m->first; i < m->n_round; i++)
    waits = waits || m->round[i].sent;
  m->done = m->done || (m->rounds > 0 && !waits);
}

// How many requests of a task were made or are under way, as a new process finds it too.
static int64_t begun(const struct engine *e, const struct making *m) {
  const struct method_view v = making_view(e, m, m->n);
  int64_t n = steps_served(&v);
  for (int64_t i = m->n - m->first; i < m->n_round; i++)
    n += m->round[i].sent;
  return n;
}

static double need(const struct engine *e, const struct making *m) {
  const struct method_view v = making_view(e, m, m->n);
  return steps_need(&v, begun(e, m), m->brief.floor_ns);
}

// The task whose next request goes out; NULL: none has one. Opens tasks and plans rounds.
static enum assay_status pick(struct engine *e, struct making **out, struct assay_error *err) {
  struct making *best = NULL;
  enum assay_status status = ASSAY_OK;
  *out = NULL;
  for (int i = 0; i < e->o->n_tasks && !status; i++) {
    struct making *m = &e->tasks[i];
    if (m->done || m->blocked.status)
      continue;
    if (!m->opened && making_open(e, m, &m->blocked) != ASSAY_OK)
      continue;
    if (m->rounds == 0 && m->n > 0) { // what an earlier process did counts as in that one
      status = making_plan(e, m, err);
      look_for_stop(e, m);
    }
    if (status || m->done || waits_for_others(e, m) || (next_unsent(e, m) < 0 && m->n < m->first + m->n_round))
      continue; // it waits for replies, or for other tasks
    if (!best || need(e, m) > need(e, best))
      best = m;
    if (m->rounds == 0)
      break; // nothing needs it more, and the tasks behind it need not be opened yet
  }
  if (best && next_unsent(e, best) < 0)
    status = making_plan(e, best, err);
  if (best && !status)
    look_for_stop(e, best);
  if (best && (best->done || next_unsent(e, best) < 0))
    best = NULL;
  *out = best;
  return status;
}

static bool is_open(const struct engine *e, const struct making *m) {
  return !m->done && !m->blocked.status && !waits_for_others(e, m) &&
         (next_unsent(e, m) >= 0 || m->n == m->first + m->n_round);
}

static bool any_open(const struct engine *e) {
  for (int i = 0; i < e->o->n_tasks; i++)
    if (is_open(e, &e->tasks[i]))
      return true;
  return false;
}

// Nothing is under way and nothing can be: where tasks wait for others, those are not waited for any more. False: none
// waits for one that is not known to be stuck.
static bool wait_no_longer(struct engine *e) {
  bool any = false;
  for (int i = 0; i < e->o->n_tasks && !any_open(e); i++) {
    struct making *m = &e->tasks[i];
    if (m->done || m->stuck || waits_for_others(e, m))
      continue;
    m->stuck = any = true;
  }
  return any && any_open(e);
}

// Whether another request may be sent. Those that wait to be sent again let others go meanwhile, as often as there are
// places; replies that are stored, and wait for one before them, are no work yet.
static bool may_send(const struct engine *e) {
  int waiting = model_client_waiting(e->o->client), ready = 0;
  waiting = waiting < e->o->ahead ? waiting : e->o->ahead;
  for (int i = 0; i < e->o->n_tasks; i++) {
    const struct making *m = &e->tasks[i];
    for (int64_t k = m->n - m->first; !m->blocked.status && k < m->n_round && m->round[k].replied; k++)
      ready++;
  }
  return e->under_way - waiting + ready < e->o->ahead && e->waiting < MOST_STORED;
}

static enum assay_status send_more(struct engine *e, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  bool sent = true; // else it waits for what is under way
  while (!status && sent && !stopped(e) && may_send(e) && any_open(e)) {
    struct making *m;
    status = pick(e, &m, err);
    if (!status && m)
      status = asking_send(e, m, next_unsent(e, m), &sent, err);
  }
  return status;
}

// --- replies

// The whole run; m: with a task, or NULL.
static struct engine_progress progress_of(const struct engine *e, const struct making *m) {
  struct engine_progress p = {.task = "",
                              .index = -1,
                              .what = "",
                              .verdict = "",
                              .best_ns = NAN,
                              .n_tasks = e->o->n_tasks,
                              .under_way = e->under_way,
                              .waiting = model_client_waiting(e->o->client),
                              .calls = e->calls,
                              .tokens = e->tokens - e->lost_tokens,
                              .usd = e->without_price ? NAN : e->usd};
  for (int i = 0; i < e->o->n_tasks; i++) {
    const struct method_view v = making_view(e, &e->tasks[i], e->tasks[i].n);
    int64_t best = steps_best(&v, -1);
    p.tasks_right += best >= 0;
    if (m == &e->tasks[i] && best >= 0)
      p.best_ns = m->steps[best].time_ns;
  }
  for (int i = 0; i < e->o->settings.n_models; i++)
    p.cut_prompts += e->models[i].context.n_cut;
  return p;
}

static void show(const struct engine *e, const struct making *m, const char *what) {
  if (!e->o->progress)
    return;
  struct engine_progress p = progress_of(e, m);
  p.task = m->task->name;
  p.index = (int)(m - e->tasks);
  p.task_calls = p.step = m->n;
  p.what = what;
  p.finished = strcmp(what, "asking") == 0;
  for (int64_t i = 0; i < m->n; i++)
    p.task_usd += m->steps[i].usd;
  if (m->n > 0)
    p.verdict = step_has_verdict(&m->steps[m->n - 1]) ? assay_reason_code(m->steps[m->n - 1].reason)
                                                      : store_outcome_name(m->steps[m->n - 1].outcome);
  e->o->progress(e->o->progress_arg, &p);
}

// Nothing happens but that replies are waited for: that it goes on is shown once a second.
static void show_waiting(const struct engine *e, int64_t *shown_ns) {
  int64_t now = clock_monotonic_ns();
  if (!e->o->progress || now - *shown_ns < SHOWN_EVERY_NS)
    return;
  *shown_ns = now;
  struct engine_progress p = progress_of(e, NULL);
  e->o->progress(e->o->progress_arg, &p);
}

static bool all_are_out(const struct engine *e) {
  for (int i = 0; i < e->o->settings.n_models; i++)
    if (!e->models[i].out)
      return false;
  return true;
}

static enum assay_status take_in(struct engine *e, struct model_reply *reply, struct assay_error *err) {
  struct making *m = &e->tasks[reply->tag >> 32];
  int64_t number = reply->tag & 0xffffffff;
  struct pending *p = &m->round[number - m->first];
  struct model_state *to = &e->models[p->plan.model];
  enum assay_status status;
  e->under_way--;
  to->under_way--;
  to->answered = to->answered || !reply->failure;
  to->several = reply->failure && to->failures > 0 && (to->several || to->failing != reply->tag);
  to->failing = reply->tag;
  to->failures = reply->failure ? to->failures + 1 : 0;
  if (reply->failure)
    to->why = reply->error;
  bool of_one_step = to->answered && !to->several; // it answers others: the step is given up, and it is asked on
  bool in_vain = reply->waited && !to->answered && e->o->settings.n_models > 1; // one long wait is enough of it
  to->out = to->out || reply->failure == MODEL_ENDED || in_vain || (to->failures >= MOST_FAILURES && !of_one_step);
  if (to->out)
    model_client_leave(e->o->client, e->o->models[p->plan.model].endpoint);
  e->answered += !reply->failure;
  e->unanswered += reply->failure != MODEL_ANSWERED;
  if (reply->failure)
    e->last_failure = reply->error;
  if (p->continuing) {
    status = asking_join(e, m, number, reply, err);
    buf_release(&reply->text);
  } else if (model_is_unserved(reply->failure)) {
    status = asking_return(e, m, number, reply, err);
  } else {
    p->reply = *reply;
    status = asking_store(e, m, number, err);
  }
  if (!status && reply->failure && all_are_out(e)) {
    *err = reply->error;
    status = reply->error.status;
  }
  return status;
}

// Works on the next step of any task whose reply is there. *any: there was one.
static enum assay_status commit_one(struct engine *e, bool *any, struct assay_error *err) {
  *any = false;
  for (int i = 0; i < e->o->n_tasks; i++) {
    struct making *m = &e->tasks[i];
    int64_t at = m->n - m->first;
    if (!making_is_ready(m))
      continue;
    *any = true;
    show(e, m, "judging");
    struct assay_error why = {0};
    enum assay_status status = judging_commit(e, m, &why);
    if (status == ASSAY_OK) {
      show(e, m, "asking");
      look_for_stop(e, m);
      return ASSAY_OK;
    }
    if (status == ASSAY_ERR_NOMEM || status == ASSAY_ERR_INTERRUPTED || status == ASSAY_ERR_CORRUPT) {
      *err = why;
      return status;
    }
    m->blocked = why; // this task cannot be judged here; its replies are kept
    for (int64_t k = at; k < m->n_round; k++)
      e->waiting -= m->round[k].replied;
    return ASSAY_OK;
  }
  return ASSAY_OK;
}

static enum assay_status loop(struct engine *e, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  struct model_reply reply;
  int64_t shown_ns = 0;
  for (;;) {
    bool any = false;
    status = send_more(e, err);
    while (!status && model_client_next(e->o->client, 0, &reply))
      status = take_in(e, &reply, err);
    for (int i = 0; i < e->o->n_tasks && !status && !stopped(e); i++) // what came may have been a model's last failure
      status = leave_out(e, &e->tasks[i], &any, err);
    if (!status)
      status = commit_one(e, &any, err);
    bool idle = !status && !any && e->under_way == 0;
    if (status || (idle && (stopped(e) || (!any_open(e) && !wait_no_longer(e)))))
      return status;
    if (!any && e->under_way > 0) {
      show_waiting(e, &shown_ns);
      if (model_client_next(e->o->client, LOOK_UP_NS, &reply))
        status = take_in(e, &reply, err);
    }
    if (status)
      return status;
  }
}

// After an error: what was sent is paid for, so the replies are waited for and stored.
static void keep_replies(struct engine *e) {
  struct model_reply reply;
  struct assay_error ignored = {0};
  e->closing = true;
  while (e->under_way > 0 && model_client_next(e->o->client, -1, &reply))
    take_in(e, &reply, &ignored);
}

static void count_step(const struct made_step *s, struct engine_result *r) {
  bool judged = step_has_verdict(s);
  r->given_up += s->given_up;
  r->asked += s->outcome != STORE_TEXT && !s->unserved;
  r->code += judged;
  r->built += judged && !assay_reason_is_of_build(s->reason);
  r->right += judged && s->right;
}

static void fill_summary(struct engine *e, struct engine_summary *out) {
  out->asked = e->asked;
  out->judged = e->judged;
  out->unanswered = e->unanswered;
  snprintf(out->failure, sizeof out->failure, "%s", e->last_failure.message);
  out->lost_calls = e->lost_calls;
  out->lost_tokens = e->lost_tokens;
  out->lost_usd = e->lost_usd;
  for (int i = 0; i < out->n_models; i++) {
    const struct context_seen *seen = &e->models[i].context;
    out->absences[i] = (struct engine_absence){.model = e->o->models[i].name,
                                               .cut_prompts = seen->n_cut,
                                               .cut_tokens = seen->cut_tokens,
                                               .cut_bytes = (int64_t)seen->cut_bytes};
    if (e->models[i].out)
      out->absences[i].why = e->models[i].why;
  }
  out->ended = "";
  if (e->ended) {
    snprintf(out->why, sizeof out->why, "%s", e->why);
    out->ended = out->why;
  }
  for (int i = 0; i < e->o->n_tasks; i++) {
    struct making *m = &e->tasks[i];
    struct assay_error ignored = {0};
    if (!m->opened && !m->blocked.status) // this process did not get to it, but others may have
      making_recall(e, m, &ignored);
    const struct method_view v = making_view(e, m, m->n);
    struct engine_result *r = &out->results[i];
    *r = (struct engine_result){.task = m->task->name,
                                .steps = m->n,
                                .best = steps_best(&v, -1),
                                .best_ns = NAN,
                                .final_ns = NAN,
                                .floor_ns = m->opened ? m->brief.floor_ns : NAN,
                                .complete = m->done,
                                .blocked = m->blocked};
    if (!m->done && !m->stopped[0] && m->n < m->first + m->n_round && !asking_can_serve(e, &m->round[m->n - m->first]))
      r->unserved = m->unserved.status ? m->unserved : e->models[m->round[m->n - m->first].plan.model].why;
    snprintf(r->stopped, sizeof r->stopped, "%s", m->stopped);
    for (int64_t k = 0; k < m->n; k++)
      count_step(&m->steps[k], r);
    if (r->best >= 0) {
      r->best_ns = m->steps[r->best].time_ns;
      r->verdict = m->steps[r->best].verdict;
    }
  }
}

// One that cannot be judged here is said to be so, and the others are judged.
static void judge_finals(struct engine *e, struct engine_summary *out) {
  for (int i = 0; i < out->n && !(e->o->stop && *e->o->stop); i++) {
    struct making *m = &e->tasks[i];
    struct engine_result *r = &out->results[i];
    if (r->best < 0 || r->blocked.status || !m->opened || (!m->done && !e->ended))
      continue;
    show(e, m, "judging the winner");
    final_judge(e, m, r, &r->blocked);
  }
}

enum assay_status engine_run(const struct engine_options *o, struct engine_summary *out, struct assay_error *err) {
  struct engine e = {.o = o, .start_ns = clock_monotonic_ns()};
  size_t n_models = (size_t)o->settings.n_models;
  *out = (struct engine_summary){.n = o->n_tasks, .n_models = o->settings.n_models, .ended = ""};
  e.tasks = base_calloc((size_t)o->n_tasks + 1, sizeof *e.tasks);
  e.models = base_calloc(n_models + 1, sizeof *e.models);
  out->results = base_calloc((size_t)o->n_tasks + 1, sizeof *out->results);
  out->absences = base_calloc(n_models + 1, sizeof *out->absences);
  if (!e.tasks || !e.models || !out->results || !out->absences) {
    base_free(e.tasks);
    base_free(e.models);
    out->n = out->n_models = 0;
    return error_nomem(err, "a run");
  }
  for (int i = 0; i < o->n_tasks; i++)
    e.tasks[i].task = &o->tasks[i];
  answer_form_others(o->form, e.others);
  enum assay_status status = store_open_again(o->store, &e.books, err);
  if (!status)
    status = budget_recall(&e, err);
  if (!status)
    status = loop(&e, err);
  if (!status && e.unanswered > 0 && e.answered == 0) { // no run at all, however few requests it has
    *err = e.last_failure;
    status = err->status;
  }
  if (status)
    keep_replies(&e);
  fill_summary(&e, out);
  if (!status && o->finals && !(o->stop && *o->stop))
    judge_finals(&e, out);
  for (int i = 0; i < o->n_tasks; i++)
    making_release(&e.tasks[i]);
  store_close(e.books);
  base_free(e.tasks);
  base_free(e.models);
  return status;
}

void engine_summary_release(struct engine_summary *s) {
  base_free(s->results);
  base_free(s->absences);
  s->results = NULL;
  s->absences = NULL;
}
