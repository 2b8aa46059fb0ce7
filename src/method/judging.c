// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/printable.h"
#include "method/feedback.h"
#include "method/making.h"

// --- verdicts

struct look {
  struct engine *e;
  struct made_step *s;
  char **feedback; // NULL: not wanted
  enum assay_status status;
  struct assay_error *err;
};

// Of the evidence only this is wanted, which is a line of it. Heap; NULL: it is not known. False: no memory.
static bool read_built(const struct store_verdict *v, char **out) {
  static const char key[] = "\"built_sha256\": \"";
  const char *at = strstr(v->evidence, key);
  size_t n = at ? strspn(at + strlen(key), "0123456789abcdef") : 0;
  *out = n == HASH_HEX_BYTES - 1 ? base_strndup(at + strlen(key), n) : NULL;
  return *out || n != HASH_HEX_BYTES - 1;
}

static bool see_verdict(void *arg, const struct store_verdict *v) {
  struct look *l = arg;
  struct buf text = {0};
  l->s->reason = v->reason;
  l->s->right = v->reason == ASSAY_REASON_PASS && !store_is_suspicious(v);
  l->s->time_ns = l->s->right && v->time_ns > 0 ? v->time_ns : NAN;
  l->s->floor_ns = v->floor_ns > 0 ? v->floor_ns : NAN;
  base_free(l->s->built);
  if (!read_built(v, &l->s->built))
    l->status = error_nomem(l->err, "what the judge found");
  if (!l->status && l->feedback)
    l->status = feedback_write(v, l->e->o->rungs, &text, l->err);
  if (!l->status && l->feedback && !(*l->feedback = base_strndup(buf_str(&text), text.len)))
    l->status = error_nomem(l->err, "what the judge found");
  buf_release(&text);
  return false;
}

enum assay_status judging_read(struct engine *e, int64_t verdict, struct made_step *s, char **feedback,
                               struct assay_error *err) {
  struct look l = {.e = e, .s = s, .feedback = feedback, .err = err};
  enum assay_status status = store_get(e->o->store, verdict, see_verdict, &l, err);
  return status ? status : l.status;
}

// --- a kernel

// kernelbench/1/19 is level_1_problem_19_sample_4_kernel.c, as KernelBench's tools have it; others are named after the
// task. Nothing of a reply is in a name.
void judging_path(const struct engine *e, const struct making *m, int64_t number, char *path, size_t size) {
  int level, problem, end = 0;
  size_t used = (size_t)snprintf(path, size, "%s/", e->o->folder);
  if (sscanf(m->task->name, "kernelbench/%d/%d%n", &level, &problem, &end) == 2 && !m->task->name[end]) {
    snprintf(path + used, size - used, "level_%d_problem_%d_sample_%lld_kernel%s", level, problem, (long long)number,
             e->o->form->ending);
    return;
  }
  for (const char *c = m->task->name; *c && used + 1 < size; c++)
    path[used++] = *c == '/' ? '_' : *c;
  snprintf(path + used, size - used, "_step_%lld%s", (long long)number, e->o->form->ending);
}

// The step whose verdict holds for the same source; that of one which was itself built to the same as an earlier one is
// the earlier one's. NULL: none.
static const struct made_step *same_code(const struct making *m, const char *hash) {
  for (int64_t i = 0; i < m->n; i++) {
    const struct made_step *s = &m->steps[i];
    if (step_has_verdict(s) && s->hash && strcmp(s->hash, hash) == 0)
      return s->outcome == STORE_JUDGED ? s : &m->steps[s->same_as];
  }
  return NULL;
}

// The first step that was built to the same, by another source; NULL: none.
static const struct made_step *same_built(const struct making *m, const char *built) {
  for (int64_t i = 0; i < m->n && built && built[0]; i++)
    if (m->steps[i].outcome == STORE_JUDGED && m->steps[i].built && strcmp(m->steps[i].built, built) == 0)
      return &m->steps[i];
  return NULL;
}

static int64_t known_number(const void *arg, const char *built) {
  const struct made_step *s = same_built(arg, built);
  return s ? s->number : -1;
}

// The strings by which a verdict is found.
struct key {
  struct arena arena;
  struct store_verdict v;
  bool whole;
};

static bool copy_key(void *arg, const struct store_verdict *v) {
  struct key *k = arg;
  const char *from[] = {v->run, v->task, v->form, v->workload, v->device, v->settings_hash, v->candidate};
  const char **to[] = {&k->v.run,    &k->v.task,          &k->v.form,     &k->v.workload,
                       &k->v.device, &k->v.settings_hash, &k->v.candidate};
  k->whole = true;
  for (size_t i = 0; i < sizeof from / sizeof *from; i++)
    k->whole = (*to[i] = arena_strdup(&k->arena, from[i])) && k->whole;
  return false;
}

// The verdict of an earlier step with the same code, as that of this step's own file.
static enum assay_status share_verdict(struct engine *e, int64_t earlier, const char *path,
                                       const struct store_bytes *code, int64_t *verdict, struct assay_error *err) {
  char hash[HASH_HEX_BYTES];
  struct key k = {.whole = false};
  hash_sha256_hex(code->data, code->len, hash);
  enum assay_status status = store_get(e->o->store, earlier, copy_key, &k, err);
  if (!status && !k.whole)
    status = error_nomem(err, "a verdict");
  if (!status)
    status = store_share(e->o->store, &k.v, path, hash, verdict, err);
  arena_release(&k.arena);
  return status;
}

static void count_judgement(struct engine *e, const struct engine_candidate *c, struct store_step *stored) {
  stored->build_ns = c->build_ns;
  stored->judge_ns = c->judge_ns;
  e->most_judge_ns = c->judge_ns > e->most_judge_ns ? c->judge_ns : e->most_judge_ns;
  stored->cpu_ns += c->cpu_ns;
  stored->gpu_ns = c->gpu_ns;
  e->cpu_ns += c->cpu_ns;
  e->gpu_ns += c->gpu_ns;
  e->most_cpu_ns = c->cpu_ns > e->most_cpu_ns ? c->cpu_ns : e->most_cpu_ns;
  e->most_gpu_ns = c->gpu_ns > e->most_gpu_ns ? c->gpu_ns : e->most_gpu_ns;
}

// Writes the kernel's file, and has it judged unless its source or what is built of it was before: *earlier.
static enum assay_status find_verdict(struct engine *e, struct making *m, struct made_step *s,
                                      struct store_step *stored, const struct made_step **earlier,
                                      struct assay_error *err) {
  char path[4096];
  struct engine_candidate c = {.task = m->task, .file = path, .known = known_number, .known_arg = m, .same_as = -1};
  judging_path(e, m, s->number, path, sizeof path);
  enum assay_status status = file_write(path, stored->code.data, stored->code.len, err);
  if (!status && !*earlier)
    status = e->o->judge(e->o->judge_arg, &c, err);
  if (!status && c.same_as >= 0)
    *earlier = &m->steps[c.same_as];
  if (!status && *earlier)
    status = share_verdict(e, (*earlier)->verdict, path, &stored->code, &c.verdict, err);
  s->verdict = c.verdict;
  count_judgement(e, &c, stored);
  e->judged += !*earlier && !status;
  return status;
}

// A reply that becomes a step.
struct work {
  struct model_extract x;
  struct made_step *s;
  struct store_step *stored;
  char *feedback; // heap; NULL: nothing is said of it
};

static enum assay_status judge_code(struct engine *e, struct making *m, struct work *w, struct assay_error *err) {
  struct made_step *s = w->s;
  const struct made_step *earlier = same_code(m, s->hash);
  enum assay_status status = ASSAY_OK;
  if (e->expected)
    s->verdict = e->expected->verdict;
  else
    status = find_verdict(e, m, s, w->stored, &earlier, err);
  if (!status)
    status = judging_read(e, s->verdict, s, &w->feedback, err);
  if (!status && e->expected && !earlier)
    earlier = same_built(m, s->built);
  s->outcome = earlier ? STORE_DUPLICATE : STORE_JUDGED;
  s->same_as = earlier ? earlier->number : -1;
  return status;
}

// --- a reply

static const enum store_outcome outcomes[] = {[MODEL_CODE] = STORE_JUDGED,
                                              [MODEL_NO_CODE] = STORE_NO_CODE,
                                              [MODEL_CUT_OFF] = STORE_CUT_OFF,
                                              [MODEL_REFUSED] = STORE_REFUSED,
                                              [MODEL_WRONG_LANGUAGE] = STORE_WRONG_LANGUAGE};

static enum assay_status work_on_code(struct engine *e, struct making *m, const struct pending *p, struct work *w,
                                      struct assay_error *err) {
  struct model_extract *x = &w->x;
  struct made_step *s = w->s;
  char hash[HASH_HEX_BYTES];
  const struct answer_form *f = e->o->form;
  enum assay_status status =
      model_extract(buf_str(&p->reply.text), p->reply.text.len, p->reply.finish, &f->language, e->others, x, err);
  if (status)
    return status;
  s->outcome = outcomes[x->what];
  if (x->what != MODEL_CODE)
    return ASSAY_OK;
  w->stored->code = (struct store_bytes){buf_str(&x->code), x->code.len};
  status = model_code_hash(buf_str(&x->code), x->code.len, f->hash_comments, hash, err);
  if (!status && !(s->hash = base_strndup(hash, strlen(hash))))
    status = error_nomem(err, "a kernel");
  return status ? status : judge_code(e, m, w, err);
}

// An answer in prose is kept as the step's text.
static enum assay_status work_on_prose(const struct pending *p, struct work *w, struct assay_error *err) {
  enum assay_status status = model_prose(buf_str(&p->reply.text), p->reply.text.len, &w->x.code, err);
  w->s->outcome = w->x.code.len ? STORE_TEXT : STORE_NO_CODE;
  w->stored->code = (struct store_bytes){buf_str(&w->x.code), w->x.code.len};
  return status;
}

static enum assay_status work_on_reply(struct engine *e, struct making *m, const struct pending *p, struct made_step *s,
                                       struct store_step *stored, struct assay_error *err) {
  struct work w = {.s = s, .stored = stored};
  char detail[1024];
  int64_t start = clock_monotonic_ns();
  enum assay_status status = ASSAY_OK;
  if (p->reply.failure)
    s->outcome = STORE_NO_REPLY;
  else if (p->plan.prose)
    status = work_on_prose(p, &w, err);
  else
    status = work_on_code(e, m, p, &w, err);
  printable_line(p->reply.failure ? p->reply.error.message : w.x.detail, detail, sizeof detail);
  if (!status) {
    stored->outcome = s->outcome;
    stored->detail = detail;
    stored->code_hash = s->hash ? s->hash : "";
    stored->feedback = w.feedback ? w.feedback : "";
    stored->same_as = s->same_as;
    stored->verdict = s->verdict;
    stored->own_ns += clock_monotonic_ns() - start - stored->judge_ns;
    status = e->expected ? replay_compare(e, stored, err) : store_put_step(e->o->store, stored, err);
  }
  base_free(w.feedback);
  model_extract_release(&w.x);
  return status;
}

enum assay_status judging_commit(struct engine *e, struct making *m, struct assay_error *err) {
  struct pending *p = &m->round[m->n - m->first];
  struct made_step s = {.number = m->n,
                        .parent = p->plan.parent,
                        .lane = p->plan.lane,
                        .same_as = -1,
                        .model = p->plan.model,
                        .time_ns = NAN,
                        .floor_ns = NAN,
                        .usd = p->usd};
  s.unserved = p->reply.failure && p->reply.finish == MODEL_FINISH_UNSERVED;
  s.given_up = p->reply.failure && p->reply.finish == MODEL_FINISH_SERVER_FAILED;
  s.lane = s.unserved ? STEP_NO_LANE : s.lane;
  struct store_step stored = p->row; // the numbers
  struct buf prompt = {0};
  asking_row(e, m, p, &prompt, &stored);
  enum assay_status status = buf_status(&prompt, err);
  if (!status)
    status = work_on_reply(e, m, p, &s, &stored, err);
  if (!status)
    status = making_add(m, &s, err);
  buf_release(&prompt);
  if (status) {
    made_step_release(&s);
    return status;
  }
  e->waiting--;
  model_reply_release(&p->reply);
  p->reply = (struct model_reply){0};
  return ASSAY_OK;
}
