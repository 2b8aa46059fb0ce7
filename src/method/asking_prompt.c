// SPDX-License-Identifier: Apache-2.0
// The prompts of a step: what is shown of the steps before it, in the words of the texts.
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "method/making.h"
#include "method/template.h"

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

// --- whether the texts will do

static enum assay_status try_text(const struct engine_options *o, const char *kind, const char *value,
                                  struct assay_error *err) {
  static const char *const more[] = {"code", "feedback", "note", "variants", "idea"};
  const struct brief b = {value, value, value, value, value, value, value, value, value, value, value, 0};
  struct template_value values[BRIEF_VALUES + sizeof more / sizeof *more];
  struct buf out = {0};
  int n = brief_values(&b, o->form, values);
  for (size_t i = 0; i < sizeof more / sizeof *more; i++)
    values[n++] = (struct template_value){more[i], value};
  enum assay_status status = template_render(o->prompts, kind, values, n, &out, err);
  const char *text = buf_str(&out);
  if (!status && strspn(text, " \t\r\n") == out.len)
    status = error_set(err, ASSAY_ERR_SYNTAX, "%s/%s.txt says nothing, so that a model would be asked nothing",
                       o->prompts, kind);
  buf_release(&out);
  return status;
}

enum assay_status asking_check_texts(const struct engine_options *o, struct assay_error *err) {
  enum assay_status status = try_text(o, "system", "x", err);
  for (const char *const *kind = o->settings.method->kinds; *kind && !status; kind++) {
    status = try_text(o, *kind, "", err);
    if (!status)
      status = try_text(o, *kind, "x", err);
  }
  struct buf more = {0};
  if (!status && template_exists(o->prompts, "continue"))
    status = template_render(o->prompts, "continue", NULL, 0, &more, err);
  buf_release(&more);
  return status;
}

enum assay_status asking_render(struct engine *e, struct making *m, int64_t number, struct assay_error *err) {
  enum { MORE_VALUES = 5 };
  struct pending *p = making_pending(m, number);
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
