// SPDX-License-Identifier: Apache-2.0
// What all toolchains of device programs share.
#include "toolchain/program.h"

#include <stdio.h>
#include <string.h>

#include "base/choice.h"
#include "toolchain/directive/directive.h"
#include "toolchain/program_private.h"

#define DEFINE(id, its_ending, its_language, its_device, ...)                                                          \
  const struct toolchain toolchain_##id = {.name = #id,                                                                \
                                           .ending = its_ending,                                                       \
                                           .language = its_language,                                                   \
                                           .device = &plan_device_##its_device,                                        \
                                           .ops = &toolchain_ops_##id};
TOOLCHAINS(DEFINE)

#define ADDRESS(id, ...) &toolchain_##id,
static const struct toolchain *const toolchains[] = {TOOLCHAINS(ADDRESS)};
enum { N_TOOLCHAINS = sizeof toolchains / sizeof *toolchains };

bool toolchain_uses_device(const struct toolchain *t) {
  return t->ops->uses_device;
}

bool toolchain_wants_library_call(const struct toolchain *t) {
  return t->ops->wants_library_call;
}

static bool ends_in(const char *path, const char *ending) {
  size_t n = strlen(path), m = strlen(ending);
  return n > m && !strcmp(path + n - m, ending);
}

enum assay_status toolchain_of(const char *path, const char *source, size_t n, const struct toolchain **out,
                               struct assay_error *err) {
  for (int i = 0; i < N_TOOLCHAINS; i++) {
    const struct toolchain *t = toolchains[i];
    if (ends_in(path, t->ending) && (!t->ops->takes || t->ops->takes(source, n))) {
      *out = t;
      return ASSAY_OK;
    }
  }
  char known[256] = "";
  for (size_t i = 0, used = 0; i < N_TOOLCHAINS && used < sizeof known; i++)
    if (i == 0 || strcmp(toolchains[i]->ending, toolchains[i - 1]->ending) != 0)
      used += (size_t)snprintf(known + used, sizeof known - used, "%s%s (%s)", used ? ", " : "", toolchains[i]->ending,
                               toolchains[i]->language);
  return error_set(err, ASSAY_ERR_UNSUPPORTED, "%s: device programs are %s", path, known);
}

// Whether its ending has others, so that there is something to choose.
static bool is_choice(const struct toolchain *t) {
  int n = 0;
  for (int i = 0; i < N_TOOLCHAINS; i++)
    n += strcmp(toolchains[i]->ending, t->ending) == 0;
  return n > 1;
}

enum assay_status toolchain_parse(const char *name, const struct toolchain **out, struct assay_error *err) {
  const struct toolchain *choices[N_TOOLCHAINS];
  const char *names[N_TOOLCHAINS + 1] = {NULL};
  int n = 0;
  for (int i = 0; i < N_TOOLCHAINS; i++)
    if (is_choice(toolchains[i])) {
      choices[n] = toolchains[i];
      names[n++] = toolchains[i]->name;
    }
  int found = choice_of("a toolchain to choose is", names, name, err);
  if (found < 0)
    return ASSAY_ERR_USAGE;
  *out = choices[found];
  return ASSAY_OK;
}

enum assay_status program_start(const struct program_options *o, const char *source, size_t n,
                                struct program_build **out, struct assay_error *err) {
  return o->toolchain->ops->start(o, source, n, out, err);
}

enum assay_status program_finish(struct program_build *b, struct build_result *result, struct program **program,
                                 struct assay_error *err) {
  return b->toolchain->ops->finish(b, result, program, err);
}

void program_cancel(struct program_build *b) {
  if (b)
    b->toolchain->ops->cancel(b);
}

void program_release(struct program *p) {
  if (p)
    p->toolchain->ops->release(p);
}

const struct toolchain *program_toolchain(const struct program *p) {
  return p->toolchain;
}

// ---- plans

static enum assay_status check(const struct program *p, const struct plan_subject *s, const struct plan *plan,
                               struct assay_error *err) {
  const struct plan_expectation expected = {
      .n_inputs = s->n_inputs, .n_outputs = s->n_outputs, .inputs = s->inputs, .outputs = s->outputs};
  struct plan_limits limits = {.device = p->toolchain->device};
  if (p->toolchain->device->dialect == PLAN_CUDA_LAUNCHES)
    plan_limits_of_target(p->target, &limits);
  return plan_check(plan, &limits, &expected, err);
}

enum assay_status program_expect(struct program *p, const struct plan_subject *subjects, int n,
                                 struct assay_error *err) {
  return p->toolchain->ops->expect ? p->toolchain->ops->expect(p, subjects, n, err) : ASSAY_OK;
}

enum assay_status program_plan(struct program *p, const struct plan_subject *subject, struct plan *out,
                               struct plan_report *report, struct assay_error *err) {
  struct plan plan = {0};
  struct assay_error why = {0};
  memset(report, 0, sizeof *report);
  enum assay_status status = p->toolchain->ops->plan(p, subject, &plan, report, err);
  if (status != ASSAY_OK || report->outcome != PLAN_MADE)
    return status;
  status = check(p, subject, &plan, &why);
  if (status == ASSAY_OK) {
    *out = plan;
    return ASSAY_OK;
  }
  plan_release(&plan);
  if (status != ASSAY_ERR_INVALID && status != ASSAY_ERR_LIMIT)
    return error_set(err, status, "%s", why.message);
  plan_report_refuse(report, PLAN_INVALID, "%.500s", why.message);
  return ASSAY_OK;
}
