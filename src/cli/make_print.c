// SPDX-License-Identifier: Apache-2.0
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "cli/json.h"
#include "cli/make.h"
#include "store/step.h"

enum assay_status make_dry_run(struct make *m, struct assay_error *err) {
  const struct engine_options *e = &m->engine;
  enum assay_status status = asking_check_texts(e, err);
  double input = 0, usd = 0, requests = (double)e->settings.method->most(&e->settings);
  for (int i = 0; i < e->n_tasks && !status; i++) {
    struct buf prompt = {0};
    status = engine_first_prompt(e, &e->tasks[i], &prompt, err);
    struct model_usage u = MODEL_USAGE_UNKNOWN;
    u.input = model_estimate_tokens(prompt.len);
    u.output = e->max_tokens;
    input += (double)u.input;
    for (int k = 0; k < e->settings.n_models; k++)
      usd += model_price(e->models[k].price, &u) / e->settings.n_models;
    if (prompt.data)
      printable(prompt.data);
    if (!status)
      printf("----- %s, first prompt, about %lld tokens -----\n%s\n", e->tasks[i].name, (long long)u.input,
             buf_str(&prompt));
    buf_release(&prompt);
  }
  if (status)
    return status;
  printf(
      "----- %d task%s, up to %g requests each: first prompts of about %.0f tokens together; replies of at most %lld "
      "tokens each; ",
      e->n_tasks, e->n_tasks == 1 ? "" : "s", requests, input, (long long)e->max_tokens);
  if (isnan(usd))
    printf("cost not known: there is no price of the model\n");
  else
    printf("at most about %.2f USD if later prompts are as long as the first and no reply is cut off\n",
           usd * requests);
  return ASSAY_OK;
}

static json_t *result_json(const struct engine_result *r) {
  return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:b, s:s?, s:s?, s:s?, s:I}", "task",
                   r->task, "steps", (json_int_t)r->steps, "asked", (json_int_t)r->asked, "code", (json_int_t)r->code,
                   "builds", (json_int_t)r->built, "right", (json_int_t)r->right, "best_step",
                   r->best >= 0 ? json_integer(r->best) : json_null(), "time_ns", cli_json_real(r->best_ns), "floor_ns",
                   cli_json_real(r->floor_ns), "final_right", r->final ? json_boolean(r->final_right) : json_null(),
                   "final_ns", cli_json_real(r->final_ns), "complete", r->complete, "blocked",
                   r->blocked.status ? r->blocked.message : NULL, "stopped", r->stopped[0] ? r->stopped : NULL,
                   "unserved", r->unserved.status ? r->unserved.message : NULL, "given_up", (json_int_t)r->given_up);
}

// A model as the user named it.
static const char *name_of(const struct make *m, int i) {
  return m->engine.models[i].name[0] ? m->engine.models[i].name : m->endpoints[i].url;
}

static void print_json(const struct make *m, const struct engine_summary *s, const struct store_cost *cost) {
  json_t *all = json_array();
  for (int i = 0; i < s->n; i++)
    json_array_append_new(all, result_json(&s->results[i]));
  json_t *absent = json_array(), *cut = json_array(), *lost;
  for (int i = 0; i < s->n_models; i++)
    if (s->absences[i].cut_prompts > 0)
      json_array_append_new(cut, json_pack("{s:s, s:I, s:I, s:I}", "model", name_of(m, i), "prompts",
                                           (json_int_t)s->absences[i].cut_prompts, "tokens",
                                           (json_int_t)s->absences[i].cut_tokens, "bytes",
                                           (json_int_t)s->absences[i].cut_bytes));
  for (int i = 0; i < s->n_models; i++)
    if (s->absences[i].why.status)
      json_array_append_new(absent, json_pack("{s:s, s:s}", "model", name_of(m, i), "why", s->absences[i].why.message));
  lost = json_pack("{s:I, s:I, s:o}", "calls", (json_int_t)cost->lost_calls, "tokens_at_most",
                   (json_int_t)cost->lost_tokens, "usd_at_most", cli_json_real(s->lost_usd));
  json_t *j = json_pack("{s:s, s:s, s:o, s:I, s:I, s:o, s:s, s:o, s:o, s:o}", "run", m->engine.run, "method",
                        m->engine.settings.method->name, "tasks", all, "calls", (json_int_t)cost->calls, "tokens",
                        (json_int_t)(cost->tokens - cost->lost_tokens), "usd",
                        cost->without_price ? json_null() : json_real(cost->usd), "ended", s->ended, "lost", lost,
                        "absent", absent, "cut_prompts", cut);
  cli_json_print(cli_json_of("make", j));
}

static void put_row(struct table *t, const struct engine_result *r) {
  char asked[24], code[24], built[24], right[24], step[24] = "-", time[32], floor[24] = "-", what[512] = "",
                                                  final[48] = "-", again[32];
  snprintf(asked, sizeof asked, "%lld", (long long)r->asked);
  snprintf(code, sizeof code, "%lld", (long long)r->code);
  snprintf(built, sizeof built, "%lld", (long long)r->built);
  snprintf(right, sizeof right, "%lld", (long long)r->right);
  if (r->best >= 0)
    snprintf(step, sizeof step, "%lld", (long long)r->best);
  if (isfinite(r->best_ns / r->floor_ns))
    snprintf(floor, sizeof floor, "%.1f", r->best_ns / r->floor_ns);
  if (r->final)
    snprintf(final, sizeof final, "%s%s", r->final_right ? "pass " : "wrong",
             r->final_right && !isnan(r->final_ns) ? cli_time_text(r->final_ns, again) : "");
  if (r->blocked.status)
    printable_line(r->blocked.message, what, sizeof what);
  else if (r->unserved.status)
    snprintf(what, sizeof what, "step %lld waits for its model", (long long)r->steps);
  else if (r->stopped[0])
    snprintf(what, sizeof what, "%s", r->stopped);
  else if (!r->complete)
    snprintf(what, sizeof what, "not complete");
  table_row(t, (const char *const[]){r->task, asked, code, built, right, step, cli_time_text(r->best_ns, time), floor,
                                     final, what});
}

// A run over a suite may end, for its budget or its endpoint, long before its last tasks.
static bool is_untouched(const struct engine_result *r) {
  return r->steps == 0 && !r->blocked.status && !r->stopped[0] && !r->complete;
}

static void print_table(const struct make *m, const struct engine_summary *s, const struct store_cost *cost) {
  static const char *const headers[] = {"task",      "asked",       "code",    "builds", "right",
                                        "best step", "time (cold)", "x floor", "final",  "what"};
  struct table *t = table_create(headers, 10, "lrrrrrrrrl");
  char run[512];
  int untouched = 0;
  int64_t given_up = 0;
  struct buf text;
  buf_init(&text);
  for (int i = 0; i < s->n && t; i++)
    if (is_untouched(&s->results[i]))
      untouched++;
    else
      put_row(t, &s->results[i]);
  if (t && untouched < s->n)
    table_print(t, stdout);
  table_destroy(t);
  if (untouched > 0)
    buf_printf(&text, "%s%d task%s no finished step yet\n", untouched < s->n ? "\n" : "", untouched,
               untouched == 1 ? " has" : "s have");
  buf_printf(&text, "\nrun \"%s\": %lld asked now, %lld judged now; in all %lld calls, %lld tokens, ",
             printable_line(m->engine.run, run, sizeof run), (long long)s->asked, (long long)s->judged,
             (long long)cost->calls, (long long)(cost->tokens - cost->lost_tokens));
  if (cost->without_price)
    buf_printf(&text, "cost not known\n");
  else
    buf_printf(&text, "%.4f USD\n", cost->usd);
  if (cost->lost_calls > 0) {
    buf_printf(&text,
               "%lld of these calls %s under way when the run was ended; what came of %s is not known: at most %lld "
               "tokens more",
               (long long)cost->lost_calls, cost->lost_calls == 1 ? "was" : "were",
               cost->lost_calls == 1 ? "it" : "them", (long long)cost->lost_tokens);
    buf_printf(&text, isnan(s->lost_usd) ? "\n" : ", %.4f USD\n", s->lost_usd);
  }
  buf_printf(&text, "kernels: %s\n", m->engine.folder);
  for (int i = 0; i < s->n; i++)
    given_up += s->results[i].given_up;
  if (given_up > 0)
    buf_printf(&text,
               "%lld attempts were given up: their server failed each time, which counts; --ask-again asks again\n",
               (long long)given_up);
  if (s->unanswered > 0)
    buf_printf(&text, "%lld request%s got no whole reply; the last: %s\n", (long long)s->unanswered,
               s->unanswered == 1 ? "" : "s", s->failure);
  for (int i = 0; i < s->n_models && s->n_models > 1; i++) // of one alone, the run's error says it
    if (s->absences[i].why.status)
      buf_printf(&text, "%s was not asked any more: %s; the same command asks it again\n", name_of(m, i),
                 s->absences[i].why.message);
  for (int i = 0; i < s->n_models; i++)
    if (s->absences[i].cut_prompts > 0)
      buf_printf(
          &text,
          "%s: the server seems to have cut %lld prompts: it counted %lld tokens of one with %lld bytes; give it a "
          "larger context (Ollama: OLLAMA_CONTEXT_LENGTH)\n",
          name_of(m, i), (long long)s->absences[i].cut_prompts, (long long)s->absences[i].cut_tokens,
          (long long)s->absences[i].cut_bytes);
  if (s->ended[0])
    buf_printf(&text, "ended: %s; a larger budget goes on from here\n", s->ended);
  cells_put(stdout, buf_str(&text));
  buf_release(&text);
}

int make_print(const struct make *m, const struct engine_summary *s) {
  struct store_cost cost = {0};
  struct assay_error ignored = {0};
  int code = CLI_PASS;
  store_sum_steps(m->store, m->engine.run, &cost, &ignored);
  if (m->judging.json)
    print_json(m, s, &cost);
  else
    print_table(m, s, &cost);
  for (int i = 0; i < s->n && code != CLI_ENVIRONMENT; i++)
    code = s->results[i].blocked.status || s->results[i].unserved.status                   ? CLI_ENVIRONMENT
           : s->results[i].best < 0 || (s->results[i].final && !s->results[i].final_right) ? CLI_FAIL
                                                                                           : code;
  for (int i = 0; i < s->n_models; i++)
    code = s->absences[i].why.status ? CLI_ENVIRONMENT : code;
  return code;
}
