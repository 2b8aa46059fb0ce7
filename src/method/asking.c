// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "method/making.h"
#include "method/template.h"
#include "model/join.h"

static struct pending *pending_of(struct making *m, int64_t number) {
  return &m->round[number - m->first];
}

// What the prompt says about a step that brought no kernel of its own.
static void put_note(const struct making *m, const struct method_plan *plan, struct buf *out) {
  const struct made_step *s = plan->note >= 0 ? &m->steps[plan->note] : NULL;
  if (!s)
    return;
  switch (s->outcome) {
  case STORE_DUPLICATE:
    buf_puts(out, s->hash && m->steps[s->same_as].hash && strcmp(m->steps[s->same_as].hash, s->hash) == 0
                      ? "Your last answer was code that you had given before. Try something else."
                      : "Your last answer is built to the same program as code that you had given before. Try "
                        "something else.");
    break;
  case STORE_CUT_OFF:
    buf_puts(out, "Your last answer ended before its code did. Be brief, and give the code first.");
    break;
  case STORE_WRONG_LANGUAGE:
    buf_puts(out, "Your last answer was not in the form that is asked for. Use that form.");
    break;
  default:
    buf_puts(out, "Your last answer had no code block. Answer with one code block that holds the whole file.");
  }
}

// The code of a block ends with its last line.
static const char *end_of_code(const char *code) {
  return code[0] && code[strlen(code) - 1] == '\n' ? "" : "\n";
}

// Other attempts, each with what the judge found.
static enum assay_status put_variants(const struct engine *e, const struct making *m, const struct method_plan *plan,
                                      struct buf *out, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < plan->n_shown && !status; i++) {
    struct step_text s;
    status = making_text(e, m, plan->shown[i], &s, err);
    if (status)
      break;
    buf_printf(out, "%s```%s\n%s%s```\n%s", i ? "\n" : "", e->o->form->tag, s.code, end_of_code(s.code), s.feedback);
    step_text_release(&s);
  }
  return status;
}

static char *copy_of(const struct buf *b) {
  return b->failed ? NULL : base_strndup(buf_str(b), b->len);
}

enum assay_status asking_render(struct engine *e, struct making *m, int64_t number, struct assay_error *err) {
  enum { MORE_VALUES = 5 };
  struct pending *p = pending_of(m, number);
  struct template_value values[BRIEF_VALUES + MORE_VALUES];
  struct buf code = {0}, note = {0}, variants = {0}, system = {0}, user = {0};
  int64_t start = clock_monotonic_ns();
  struct step_text parent = {0}, idea = {0};
  enum assay_status status = ASSAY_OK;
  if (p->plan.parent >= 0)
    status = making_text(e, m, p->plan.parent, &parent, err);
  if (!status && p->plan.idea >= 0)
    status = making_text(e, m, p->plan.idea, &idea, err);
  if (parent.code && parent.code[0])
    buf_printf(&code, "%s%s", parent.code, end_of_code(parent.code));
  put_note(m, &p->plan, &note);
  if (!status)
    status = put_variants(e, m, &p->plan, &variants, err);
  int n = brief_values(&m->brief, e->o->form, values);
  values[n++] = (struct template_value){"code", buf_str(&code)};
  values[n++] = (struct template_value){"feedback", parent.feedback ? parent.feedback : ""};
  values[n++] = (struct template_value){"note", buf_str(&note)};
  values[n++] = (struct template_value){"variants", buf_str(&variants)};
  values[n++] = (struct template_value){"idea", idea.code ? idea.code : ""};
  if (!status && (code.failed || note.failed || variants.failed))
    status = error_nomem(err, "a prompt");
  if (!status)
    status = template_render(e->o->prompts, "system", values, n, &system, err);
  if (!status)
    status = template_render(e->o->prompts, p->plan.kind, values, n, &user, err);
  if (!status) {
    p->system = copy_of(&system);
    p->prompt = copy_of(&user);
    p->own_ns = clock_monotonic_ns() - start;
    if (!p->system || !p->prompt)
      status = error_nomem(err, "a prompt");
  }
  step_text_release(&parent);
  step_text_release(&idea);
  buf_release(&code);
  buf_release(&note);
  buf_release(&variants);
  buf_release(&system);
  buf_release(&user);
  return status;
}

// --- budgets

static int64_t cap_of(const struct engine *e, const struct pending *p) {
  return e->o->max_tokens << p->plan.cap_doublings;
}

static int64_t expected_input(const struct pending *p) {
  return model_estimate_tokens(strlen(p->system) + strlen(p->prompt) + (size_t)p->partial_bytes);
}

static int64_t expected_tokens(const struct engine *e, const struct pending *p) {
  return expected_input(p) + cap_of(e, p);
}

// What it may cost at most; 0 where the price is not known.
static double expected_usd(const struct engine *e, const struct pending *p) {
  const struct model_usage u = {
      .input = expected_input(p), .cached = -1, .written = -1, .output = cap_of(e, p), .reasoning = -1};
  double usd = model_price(e->o->models[p->plan.model].price, &u);
  return isnan(usd) ? 0 : usd;
}

// What a request of unknown cost may have cost at most, to a budget; 0 where the price is not known either.
static double at_most_usd(const struct engine_model *to, int64_t input, int64_t output, int64_t calls) {
  const struct model_usage u = {.input = input, .cached = -1, .written = -1, .output = output, .reasoning = -1};
  double usd = model_price(to->price, &u);
  return isnan(usd) ? 0 : usd * (double)(calls > 1 ? calls : 1);
}

static bool add_unknown(void *arg, const struct store_step *s) {
  struct engine *e = arg;
  const struct engine_options *o = e->o;
  bool lost = strcmp(s->finish, STORE_UNDER_WAY) == 0;
  if (lost) {
    e->lost_calls += s->calls;
    e->lost_tokens += s->input_tokens + s->output_tokens;
  }
  for (int i = 0; i < o->settings.n_models && isnan(s->usd); i++)
    if (strcmp(o->models[i].name, s->model) == 0) {
      int64_t calls = s->calls > 1 ? s->calls : 1, said = s->output_tokens / calls;
      int64_t output = said > o->max_tokens ? said : o->max_tokens;
      double usd = at_most_usd(&o->models[i], s->input_tokens / calls, lost ? s->output_tokens : output, calls);
      e->at_most_usd += usd;
      e->lost_usd += lost ? (o->models[i].price ? usd : NAN) : 0;
      break;
    }
  return true;
}

enum assay_status asking_recall(struct engine *e, struct assay_error *err) {
  struct store_cost spent = {0};
  enum assay_status status = store_sum_steps(e->o->store, e->o->run, &spent, err);
  e->calls = spent.calls;
  e->tokens = spent.tokens;
  e->usd = spent.usd;
  e->cpu_ns = spent.cpu_ns;
  e->gpu_ns = spent.gpu_ns;
  e->without_price = spent.without_price > 0;
  atomic_store(&e->spare_calls, e->o->budget.calls - e->calls);
  if (!status && (spent.lost_calls > 0 || (e->o->budget.usd > 0 && e->without_price)))
    status = store_each_step(e->o->store, e->o->run, NULL, add_unknown, e, err);
  return status;
}

// How long it takes at most until all is done: the longest request, and then one judgement after the other.
static int64_t expected_wall_ns(const struct engine *e, int64_t steps) {
  return e->most_model_ns + steps * e->most_judge_ns;
}

// Whether so much time was used up, with `steps` more reserved.
static bool is_used_up(int64_t budget_ns, int64_t used_ns, int64_t most_ns, int64_t steps) {
  return budget_ns > 0 && (used_ns >= budget_ns || used_ns + steps * most_ns > budget_ns);
}

static void say_no_calls(struct engine *e) {
  snprintf(e->why, sizeof e->why, "the budget of %lld calls is used up", (long long)e->o->budget.calls);
}

// Whether one more request is within the budget, with what others under way may cost at most (reserved 1) or without
// (0); else e->why says which part is used up.
static bool is_within(struct engine *e, const struct pending *p, int reserved) {
  const struct engine_budget *b = &e->o->budget;
  int64_t steps = 1 + reserved * (e->under_way + e->waiting);
  double used_usd = e->usd + e->at_most_usd;
  int64_t wall_ns = clock_monotonic_ns() - e->start_ns;
  if (b->calls && atomic_load(&e->spare_calls) < 1)
    say_no_calls(e);
  else if (b->tokens && e->tokens + reserved * e->reserved_tokens + expected_tokens(e, p) > b->tokens)
    snprintf(e->why, sizeof e->why,
             "the budget of %lld tokens is used up: %lld are left, and a request may take %lld with this --max-tokens",
             (long long)b->tokens, (long long)(b->tokens > e->tokens ? b->tokens - e->tokens : 0),
             (long long)expected_tokens(e, p));
  else if (b->usd > 0 && used_usd + reserved * e->reserved_usd + expected_usd(e, p) > b->usd)
    snprintf(e->why, sizeof e->why,
             "the budget of %g USD %s: %.3g are left, and a request may cost %.3g with this --max-tokens", b->usd,
             e->at_most_usd > 0 ? "may be used up, as some replies' cost is not known" : "is used up",
             b->usd > used_usd ? b->usd - used_usd : 0, expected_usd(e, p));
  else if (b->wall_ns && wall_ns + expected_wall_ns(e, steps) > b->wall_ns)
    snprintf(e->why, sizeof e->why, "the budget of %lld s %s", (long long)(b->wall_ns / 1000000000),
             wall_ns > b->wall_ns ? "is used up" : "has no room for one more request and its judgement");
  else if (is_used_up(b->cpu_ns, e->cpu_ns, e->most_cpu_ns, steps))
    snprintf(e->why, sizeof e->why, "the budget of %g s of processors is used up", (double)b->cpu_ns / 1e9);
  else if (is_used_up(b->gpu_ns, e->gpu_ns, e->most_gpu_ns, steps))
    snprintf(e->why, sizeof e->why, "the budget of %g s of the GPU is used up", (double)b->gpu_ns / 1e9);
  else
    return true;
  return false;
}

// Others' retries, in the client's thread, may have taken the last one.
static bool take_call(struct engine *e) {
  if (e->o->budget.calls == 0 || atomic_fetch_sub(&e->spare_calls, 1) > 0)
    return true;
  atomic_fetch_add(&e->spare_calls, 1);
  say_no_calls(e);
  return false;
}

// Takes a call of the budget where one more request may be sent now. Where only what is under way may be too much, it
// may cost less than it may at most: that is waited for. Else the run ends.
static bool affordable(struct engine *e, const struct pending *p) {
  if (is_within(e, p, 1) && take_call(e))
    return true;
  bool goes_on = e->under_way > 0;
  for (int i = 0; i < e->o->n_tasks && !goes_on; i++)
    goes_on = making_is_ready(&e->tasks[i]);
  if (!goes_on || !is_within(e, p, 0))
    e->ended = e->why;
  return false;
}

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
                                 .input_tokens = expected_input(p),
                                 .output_tokens = cap_of(e, p),
                                 .cached_tokens = -1,
                                 .reasoning_tokens = -1,
                                 .estimated = 1,
                                 .at_ns = clock_wall_ns(),
                                 .usd = NAN};
  enum assay_status status = store_put_aside(e->o->store, e->o->run, m->task->name, row.number, err);
  return status ? status : store_put_step(e->o->store, &row, err);
}

// The request, and with `more` the one for the rest of the reply that is there.
static enum assay_status submit(struct engine *e, struct making *m, int64_t number, const char *more,
                                struct assay_error *err) {
  struct pending *p = pending_of(m, number);
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
                                  .max_tokens = cap_of(e, p),
                                  .usual_max_tokens = e->o->max_tokens,
                                  .seed = e->o->settings.seed + (uint64_t)number,
                                  .spare_calls = e->o->budget.calls ? &e->spare_calls : NULL};
  enum assay_status status = reserve(e, m, p, number, more != NULL, err);
  if (!status)
    status = model_client_submit(e->o->client, &r, err);
  if (status)
    return status;
  e->under_way++;
  e->reserved_tokens += expected_tokens(e, p);
  e->reserved_usd += expected_usd(e, p);
  return ASSAY_OK;
}

enum assay_status asking_send(struct engine *e, struct making *m, int64_t number, bool *sent, struct assay_error *err) {
  struct pending *p = pending_of(m, number);
  *sent = false;
  if (!affordable(e, p))
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
  if (!template_exists(e->o->prompts, "continue") || p->plan.prose || p->reply.failure ||
      p->reply.finish != MODEL_FINISH_LENGTH || strcmp(p->row.detail ? p->row.detail : "", ASKING_CONTINUED) == 0)
    return ASSAY_OK;
  enum assay_status status = model_extract(buf_str(&p->reply.text), p->reply.text.len, p->reply.finish,
                                           &e->o->form->language, e->others, &x, err);
  *begun = !status && x.what == MODEL_CUT_OFF && x.begun;
  model_extract_release(&x);
  return status;
}

enum assay_status asking_continue(struct engine *e, struct making *m, int64_t number, struct assay_error *err) {
  struct pending *p = pending_of(m, number);
  struct buf more = {0};
  bool begun = false;
  enum assay_status status = is_begun(e, p, &begun, err);
  p->row.detail = "";
  p->partial_bytes = begun ? (int64_t)p->reply.text.len : 0;
  bool later = e->closing || (e->o->stop && *e->o->stop) || !asking_can_serve(e, p);
  if (!status && begun && later)
    return ASSAY_OK; // the next process asks for it: the reply is stored as it is, and not used
  if (!status && begun && asking_can_serve(e, p) && affordable(e, p)) {
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
  e->reserved_tokens -= expected_tokens(e, p);
  e->reserved_usd -= expected_usd(e, p);
}

// What a reply cost, added to the step's numbers and to the run's. prompt_bytes: all that was sent.
static void add_cost(struct engine *e, struct pending *p, const struct model_reply *r, size_t prompt_bytes) {
  const struct model_usage *u = &r->usage;
  struct store_step *s = &p->row;
  bool estimated = u->input < 0 || u->output < 0;
  int64_t input = estimated ? model_estimate_tokens(prompt_bytes) : u->input;
  int64_t output = estimated ? model_estimate_tokens(r->text.len) : u->output;
  double usd = model_price(e->o->models[p->plan.model].price, u);
  s->calls += r->calls;
  s->input_tokens += input;
  s->output_tokens += output;
  s->estimated = s->estimated || estimated;
  s->model_ns += r->wall_ns;
  s->cpu_ns += r->cpu_ns;
  p->usd = s->usd += usd;
  e->usd += isnan(usd) ? 0 : usd;
  if (isnan(usd))
    e->at_most_usd += at_most_usd(&e->o->models[p->plan.model], input, u->output < 0 ? cap_of(e, p) : output, r->calls);
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
  struct pending *p = pending_of(m, number);
  struct store_step *s = &p->row;
  struct buf prompt = {0};
  *s = (struct store_step){0};
  asking_row(e, m, p, &prompt, s);
  s->outcome = p->reply.failure ? STORE_NO_REPLY : STORE_REPLIED;
  s->detail = p->reply.failure ? p->reply.error.message : "";
  s->number = number;
  s->same_as = -1;
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
  struct pending *p = pending_of(m, number);
  settle(e, p, &p->reply);
  enum assay_status status = put_row(e, m, number, err);
  return status ? status : asking_continue(e, m, number, err);
}

// --- endpoints that fail

enum { MOST_TRIES = 3 }; // of a step, each with the client's own retries

bool asking_can_serve(const struct engine *e, const struct pending *p) {
  return !e->models || (!e->models[p->plan.model].out && p->tries < MOST_TRIES);
}

enum assay_status asking_return(struct engine *e, struct making *m, int64_t number, struct model_reply *reply,
                                struct assay_error *err) {
  struct pending *p = pending_of(m, number);
  settle(e, p, reply);
  p->reply = *reply;
  p->reply.finish = MODEL_FINISH_UNSERVED;
  m->unserved = reply->error;
  enum assay_status status = put_row(e, m, number, err);
  model_reply_release(&p->reply);
  p->reply = (struct model_reply){0};
  p->row = (struct store_step){0};
  p->usd = NAN;
  p->sent = false;
  p->tries++;
  return status;
}

enum assay_status asking_leave_out(struct engine *e, struct making *m, int64_t number, struct assay_error *err) {
  struct pending *p = pending_of(m, number);
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
  struct pending *p = pending_of(m, number);
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
