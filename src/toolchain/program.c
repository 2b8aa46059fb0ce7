// What all toolchains of device programs share.
#include "toolchain/program.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "toolchain/directive.h"
#include "toolchain/program_private.h"

static const struct toolchain_ops *const toolchains[] = {[TOOLCHAIN_NVRTC] = &nvrtc_toolchain,
                                                         [TOOLCHAIN_NVCC] = &nvcc_toolchain,
                                                         [TOOLCHAIN_OPENCL] = &opencl_toolchain,
                                                         [TOOLCHAIN_PYTHON] = &python_toolchain,
                                                         [TOOLCHAIN_LIBRARY] = &library_toolchain};

const char *toolchain_name(enum toolchain t) {
  return toolchains[t]->name;
}

static bool ends_in(const char *path, const char *ending) {
  size_t n = strlen(path), m = strlen(ending);
  return n > m && !strcmp(path + n - m, ending);
}

enum assay_status toolchain_of(const char *path, const char *source, size_t n, enum toolchain *out,
                               struct assay_error *err) {
  if (ends_in(path, ".cl"))
    *out = TOOLCHAIN_OPENCL;
  else if (ends_in(path, ".py"))
    *out = TOOLCHAIN_PYTHON;
  else if (ends_in(path, ".library"))
    *out = TOOLCHAIN_LIBRARY;
  else if (ends_in(path, ".cu"))
    *out = directive_launches(source, n) ? TOOLCHAIN_NVRTC : TOOLCHAIN_NVCC;
  else
    return error_set(err, ASSAY_ERR_UNSUPPORTED,
                     "%s: device programs are .cu (CUDA C++), .cl (OpenCL C), .py (PyTorch) or .library (a vendor's)",
                     path);
  return ASSAY_OK;
}

enum assay_status program_start(const struct program_options *o, const char *source, size_t n,
                                struct program_build **out, struct assay_error *err) {
  return toolchains[o->toolchain]->start(o, source, n, out, err);
}

enum assay_status program_finish(struct program_build *b, struct build_result *result, struct program **program,
                                 struct assay_error *err) {
  return b->ops->finish(b, result, program, err);
}

void program_cancel(struct program_build *b) {
  if (b)
    b->ops->cancel(b);
}

void program_release(struct program *p) {
  if (p)
    p->ops->release(p);
}

enum toolchain program_toolchain(const struct program *p) {
  int t = 0;
  while (toolchains[t] != p->ops)
    t++;
  return (enum toolchain)t;
}

// ---- plans

void plan_report_refuse(struct plan_report *r, enum plan_outcome outcome, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  vsnprintf(r->detail, sizeof r->detail, fmt, args);
  va_end(args);
  r->outcome = outcome;
}

void plan_report_release(struct plan_report *r) {
  base_free(r->log);
  memset(r, 0, sizeof *r);
}

bool plan_set_title(struct plan *p, const struct plan_subject *subject, const char *device, const char *target,
                    const char *toolchain) {
  p->task = arena_strdup(&p->arena, subject->task);
  p->workload = arena_strdup(&p->arena, subject->workload);
  p->device = arena_strdup(&p->arena, device);
  p->target = arena_strdup(&p->arena, target);
  p->toolchain = arena_strdup(&p->arena, toolchain);
  return p->task && p->workload && p->device && p->target && p->toolchain;
}

static enum assay_status check(const struct program *p, const struct plan_subject *s, const struct plan *plan,
                               struct assay_error *err) {
  const struct plan_expectation expected = {
      .n_inputs = s->n_inputs, .n_outputs = s->n_outputs, .inputs = s->inputs, .outputs = s->outputs};
  struct plan_limits limits = {.device = "opencl"};
  if (p->ops != &opencl_toolchain)
    plan_limits_of_target(p->target, &limits);
  return plan_check(plan, &limits, &expected, err);
}

enum assay_status program_expect(struct program *p, const struct plan_subject *subjects, int n,
                                 struct assay_error *err) {
  return p->ops->expect ? p->ops->expect(p, subjects, n, err) : ASSAY_OK;
}

enum assay_status program_plan(struct program *p, const struct plan_subject *subject, struct plan *out,
                               struct plan_report *report, struct assay_error *err) {
  struct plan plan = {0};
  struct assay_error why = {0};
  memset(report, 0, sizeof *report);
  enum assay_status status = p->ops->plan(p, subject, &plan, report, err);
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
