// SPDX-License-Identifier: Apache-2.0
// Requests on their way: sent, stored before anything else happens, gone on with where they were cut off, and made
// again where their endpoint failed.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "method/budget.h"
#include "method/making.h"
#include "method/template.h"
#include "model/join.h"

// Where the row of a request for the rest of a reply stands while it is under way.
static int64_t row_number(int64_t number, bool rest) {
  return rest ? STORE_ASIDE_NUMBER - 1 - number : number;
}

// Before it is sent: a process that is killed leaves in the books what it may have cost at most. What an earlier try
// has cost stays there.
static enum assay_status reserve(struct engine *e, const struct making *m, const struct pending *p, int64_t number,
                                 bool rest, struct assay_error *err) {
  const struct store_step row = {.outcome = STORE_NO_REPLY,
                                 .run = e->o->run,
                                 .task = m->task->name,
                                 .kind = p->plan.kind,
                                 .model = e->o->models[p->plan.model].name,
                                 .finish = STORE_UNDER_WAY,
                                 .detail = "it was under way when the process ended",
                                 .code_hash = "",
                                 .feedback = "",
                                 .number = row_number(number, rest),
                                 .parent = p->plan.parent,
                                 .lane = p->plan.lane,
                                 .same_as = -1,
                                 .calls = 1,
                                 .input_tokens = budget_input(p),
                                 .output_tokens = budget_cap(e, p),
                                 .cached_tokens = -1,
                                 .reasoning_tokens = -1,
                                 .estimated = 1,
                                 .at_ns = clock_wall_ns(),
                                 .usd = NAN};
  enum assay_status status = store_put_aside(e->o->store, e->o->run, m->task->name, row.number, err);
  return status ? status : store_put_step(e->o->store, &row, err);
}

// A request is sent again, says the client's thread: it is in the books before that, with what those before may cost.
static enum assay_status note_retry(void *arg, const struct model_request *r, int calls, int unknown,
                                    struct assay_error *err) {
  const struct engine *e = arg;
  size_t bytes = strlen(r->system) + strlen(r->user) + (r->partial ? strlen(r->partial) : 0);
  const struct store_step retry = {.run = e->o->run,
                                   .task = e->o->tasks[r->tag >> 32].name,
                                   .number = row_number(r->tag & 0xffffffff, r->partial != NULL),
                                   .calls = calls,
                                   .input_tokens = (1 + unknown) * model_estimate_tokens(bytes),
                                   .output_tokens = (1 + unknown) * r->max_tokens};
  return store_put_retry(e->books, &retry, err);
}

// The request, and with `more` the one for the rest of the reply that is there.
static enum assay_status submit(struct engine *e, struct making *m, int64_t number, const char *more,
                                struct assay_error *err) {
  struct pending *p = making_pending(m, number);
  char task[256], step[64], model[256];
  const struct engine_model *to = &e->o->models[p->plan.model];
  snprintf(task, sizeof task, "ASSAY_TASK=%s", m->task->name);
  snprintf(step, sizeof step, "ASSAY_STEP=%lld", (long long)number);
  snprintf(model, sizeof model, "ASSAY_MODEL=%s", to->name);
  const struct model_request r = {.tag = (int64_t)(m - e->tasks) << 32 | number,
                                  .endpoint = to->endpoint,
                                  .model = to->name,
                                  .system = p->system,
                                  .user = p->prompt,
                                  .partial = more ? buf_str(&p->reply.text) : NULL,
                                  .more = more,
                                  .environment = {task, step, model},
                                  .temperature = p->plan.temperature,
                                  .max_tokens = budget_cap(e, p),
                                  .most_bytes = budget_most_bytes(e, p),
                                  .usual_max_tokens = e->o->max_tokens,
                                  .seed = e->o->settings.seed + (uint64_t)number,
                                  .spare_calls = e->o->budget.calls ? &e->spare_calls : NULL,
                                  .again = note_retry,
                                  .again_arg = e};
  enum assay_status status = reserve(e, m, p, number, more != NULL, err);
  if (!status)
    status = model_client_submit(e->o->client, &r, err);
  if (status)
    return status;
  e->under_way++;
  e->models[p->plan.model].under_way++;
  e->models[p->plan.model].asked = true;
  e->reserved_tokens += budget_tokens(e, p);
  e->reserved_usd += budget_usd(e, p);
  return ASSAY_OK;
}

enum assay_status asking_send(struct engine *e, struct making *m, int64_t number, bool *sent, struct assay_error *err) {
  struct pending *p = making_pending(m, number);
  *sent = false;
  if (!budget_takes(e, p))
    return ASSAY_OK;
  enum assay_status status = submit(e, m, number, NULL, err);
  if (status)
    return status;
  p->sent = *sent = true;
  e->asked++;
  return ASSAY_OK;
}

// Whether the code of a reply was cut off in its middle, and the rest can be asked for. Prose that was cut off is good
// enough.
static enum assay_status is_begun(const struct engine *e, const struct pending *p, bool *begun,
                                  struct assay_error *err) {
  struct model_extract x = {0};
  *begun = false;
  if (e->o->models[p->plan.model].program || !template_exists(e->o->prompts, "continue") || p->plan.prose ||
      p->reply.failure || p->reply.finish != MODEL_FINISH_LENGTH ||
      strcmp(p->row.detail ? p->row.detail : "", ASKING_CONTINUED) == 0)
    return ASSAY_OK;
  enum assay_status status = model_extract(buf_str(&p->reply.text), p->reply.text.len, p->reply.finish,
                                           &e->o->form->language, e->others, &x, err);
  *begun = !status && x.what == MODEL_CUT_OFF && x.begun;
  model_extract_release(&x);
  return status;
}

enum assay_status asking_continue(struct engine *e, struct making *m, int64_t number, struct assay_error *err) {
  struct pending *p = making_pending(m, number);
  struct buf more = {0};
  bool begun = false;
  enum assay_status status = is_begun(e, p, &begun, err);
  p->row.detail = "";
  p->partial_bytes = begun ? (int64_t)p->reply.text.len : 0;
  bool later = e->closing || (e->o->stop && *e->o->stop) || (e->models && e->models[p->plan.model].out);
  if (!status && begun && later)
    return ASSAY_OK; // the next process asks for it: the reply is stored as it is, and not used
  if (!status && begun && asking_can_serve(e, p) && budget_takes(e, p)) {
    status = template_render(e->o->prompts, "continue", NULL, 0, &more, err);
    if (!status)
      status = submit(e, m, number, buf_str(&more), err);
    p->continuing = !status;
    buf_release(&more);
  }
  if (!p->continuing && !status) {
    p->partial_bytes = 0;
    p->replied = true;
    e->waiting++;
  }
  return status;
}

// --- replies

void asking_row(const struct engine *e, const struct making *m, const struct pending *p, struct buf *prompt,
                struct store_step *out) {
  buf_printf(prompt, "%s\n%s", p->system, p->prompt);
  out->run = e->o->run;
  out->task = m->task->name;
  out->kind = p->plan.kind;
  out->model = e->o->models[p->plan.model].name;
  out->finish = model_finish_name(p->reply.finish);
  out->detail = out->code_hash = out->feedback = "";
  out->prompt = (struct store_bytes){buf_str(prompt), prompt->len};
  out->reply = (struct store_bytes){buf_str(&p->reply.text), p->reply.text.len};
  out->code = (struct store_bytes){0};
  out->parent = p->plan.parent;
  out->lane = p->plan.lane;
}

static void settle(struct engine *e, const struct pending *p, const struct model_reply *r) {
  e->most_model_ns = r->wall_ns > e->most_model_ns ? r->wall_ns : e->most_model_ns;
  if (r->calls == 0)
    atomic_fetch_add(&e->spare_calls, 1);
  e->reserved_tokens -= budget_tokens(e, p);
  e->reserved_usd -= budget_usd(e, p);
}

// What a reply cost, added to the step's numbers and to the run's. prompt_bytes: all that was sent.
static void add_cost(struct engine *e, struct pending *p, const struct model_reply *r, size_t prompt_bytes) {
  const struct model_usage *u = &r->usage;
  struct store_step *s = &p->row;
  bool estimated = u->input < 0 || u->output < 0;
  int64_t input = estimated ? model_estimate_tokens(prompt_bytes) : u->input;
  int64_t output = estimated ? model_estimate_tokens(r->text.len) : u->output;
  if (!r->failure && u->input > 0) // some count apart what they had read before
    context_note(&e->models[p->plan.model].context, prompt_bytes,
                 u->cached > u->input ? u->input + u->cached : u->input);
  double usd = r->unknown_calls ? NAN : model_price(e->o->models[p->plan.model].price, u);
  s->calls += r->calls;
  s->input_tokens += input;
  s->output_tokens += output;
  s->estimated = s->estimated || estimated;
  s->model_ns += r->wall_ns;
  s->cpu_ns += r->cpu_ns;
  p->usd = s->usd += usd;
  e->usd += isnan(usd) ? 0 : usd;
  if (isnan(usd))
    e->at_most_usd +=
        budget_at_most_usd(&e->o->models[p->plan.model], input, u->output < 0 ? budget_cap(e, p) : output, r->calls);
  e->without_price = e->without_price || isnan(usd);
  e->calls += r->calls;
  e->cpu_ns += r->cpu_ns;
  e->tokens += input + output;
}

// Sums of what servers may leave out.
static int64_t both(int64_t a, int64_t b) {
  return a < 0 ? b : b < 0 ? a : a + b;
}

// Makes and stores the row of a request that has ended.
static enum assay_status put_row(struct engine *e, struct making *m, int64_t number, struct assay_error *err) {
  struct pending *p = making_pending(m, number);
  struct store_step *s = &p->row;
  struct buf prompt = {0};
  *s = (struct store_step){0};
  asking_row(e, m, p, &prompt, s);
  s->outcome = p->reply.failure ? STORE_NO_REPLY : STORE_REPLIED;
  s->detail = p->reply.failure ? p->reply.error.message : "";
  s->number = number;
  s->same_as = p->reply.failure == MODEL_UNSERVED && p->reply.finish == MODEL_FINISH_UNSERVED ? number : -1;
  s->cached_tokens = p->reply.usage.cached;
  s->reasoning_tokens = p->reply.usage.reasoning;
  s->own_ns = p->own_ns;
  s->at_ns = clock_wall_ns();
  add_cost(e, p, &p->reply, prompt.len);
  enum assay_status status = buf_status(&prompt, err);
  if (!status)
    status = store_put_step(e->o->store, s, err);
  buf_release(&prompt);
  return status;
}

enum assay_status asking_store(struct engine *e, struct making *m, int64_t number, struct assay_error *err) {
  struct pending *p = making_pending(m, number);
  settle(e, p, &p->reply);
  enum assay_status status = put_row(e, m, number, err);
  return status ? status : asking_continue(e, m, number, err);
}

// --- endpoints that fail

enum { MOST_TRIES = 3, MOST_TRIES_IN_ALL = 9 }; // of a step in a process; each has the client's own retries

bool asking_can_serve(const struct engine *e, const struct pending *p) {
  return !e->models || (!e->models[p->plan.model].out && p->tries < MOST_TRIES);
}

// Whether a step is asked no more, as its server fails at it: it answers others, or failed in other processes, too.
static enum assay_status is_given_up(const struct engine *e, const struct making *m, int64_t number, bool *out,
                                     struct assay_error *err) {
  const struct pending *p = &m->round[number - m->first];
  int64_t before = 0;
  *out = false;
  if (p->reply.failure != MODEL_UNSERVED)
    return ASSAY_OK;
  enum assay_status status = store_count_tries(e->o->store, e->o->run, m->task->name, number, &before, err);
  *out = !status && ((p->tries >= MOST_TRIES && !e->models[p->plan.model].out) || before + 1 >= MOST_TRIES_IN_ALL);
  return status;
}

enum assay_status asking_return(struct engine *e, struct making *m, int64_t number, struct model_reply *reply,
                                struct assay_error *err) {
  struct pending *p = making_pending(m, number);
  settle(e, p, reply);
  p->reply = *reply;
  p->tries++;
  bool given_up;
  enum assay_status status = is_given_up(e, m, number, &given_up, err);
  p->reply.finish = given_up ? MODEL_FINISH_SERVER_FAILED : MODEL_FINISH_UNSERVED;
  if (!status)
    status = put_row(e, m, number, err);
  if (given_up && !status) { // an attempt without a reply
    p->replied = true;
    e->waiting++;
    return ASSAY_OK;
  }
  m->unserved = p->reply.error;
  model_reply_release(&p->reply);
  p->reply = (struct model_reply){0};
  p->row = (struct store_step){0};
  p->usd = NAN;
  p->sent = false;
  return status;
}

enum assay_status asking_leave_out(struct engine *e, struct making *m, int64_t number, struct assay_error *err) {
  struct pending *p = making_pending(m, number);
  const struct model_state *to = &e->models[p->plan.model];
  p->reply = (struct model_reply){.finish = MODEL_FINISH_UNSERVED, .failure = MODEL_UNSERVED, .error = to->why};
  p->reply.error.status = ASSAY_ERR_ENVIRONMENT;
  enum assay_status status = store_put_aside(e->o->store, e->o->run, m->task->name, number, err);
  if (!status)
    status = put_row(e, m, number, err);
  p->sent = p->replied = true;
  e->waiting++;
  return status;
}

// --- the rest of a reply

enum assay_status asking_join(struct engine *e, struct making *m, int64_t number, const struct model_reply *rest,
                              struct assay_error *err) {
  struct pending *p = making_pending(m, number);
  struct store_step *s = &p->row;
  struct buf prompt = {0};
  enum assay_status status = ASSAY_OK;
  bool unserved = model_is_unserved(rest->failure);
  settle(e, p, rest);
  s->cached_tokens = both(s->cached_tokens, rest->usage.cached);
  s->reasoning_tokens = both(s->reasoning_tokens, rest->usage.reasoning);
  add_cost(e, p, rest, strlen(p->system) + strlen(p->prompt) + p->reply.text.len);
  if (!rest->failure) { // else it stays cut off
    status = model_join(&p->reply.text, buf_str(&rest->text), rest->text.len, err);
    p->reply.finish = rest->finish;
  }
  p->continuing = false;
  p->partial_bytes = 0;
  p->replied = !unserved;
  e->waiting += !unserved;
  asking_row(e, m, p, &prompt, s);
  s->detail = unserved ? "" : ASKING_CONTINUED;
  if (!status)
    status = buf_status(&prompt, err);
  if (!status)
    status = store_put_step(e->o->store, s, err);
  if (!status)
    status = store_drop_step(e->o->store, e->o->run, m->task->name, row_number(number, true), err);
  buf_release(&prompt);
  if (status || !unserved)
    return status;
  p->tries++;
  m->unserved = rest->error;
  return asking_continue(e, m, number, err);
}
