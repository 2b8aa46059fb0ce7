#include "plan/subject.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

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

bool plan_set_title(struct plan *p, const struct plan_subject *subject, const struct plan_device *device,
                    const char *target, const char *toolchain) {
  p->task = arena_strdup(&p->arena, subject->task);
  p->workload = arena_strdup(&p->arena, subject->workload);
  p->device = device;
  p->target = arena_strdup(&p->arena, target);
  p->toolchain = arena_strdup(&p->arena, toolchain);
  return p->task && p->workload && p->target && p->toolchain;
}
