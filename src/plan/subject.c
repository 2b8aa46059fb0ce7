// SPDX-License-Identifier: Apache-2.0
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

static bool is_of_call(const struct plan_buffer *b, const struct plan_subject *subject) {
  bool is_static = b->role == PLAN_INPUT && subject->statics && subject->statics[b->index];
  return b->role != PLAN_SCRATCH && b->role != PLAN_CONSTANT && !is_static;
}

int plan_call_buffer(const struct plan_step *s, const struct plan_buffer *buffers, const struct plan_subject *subject) {
  if (s->kind == PLAN_FILL || s->kind == PLAN_COPY)
    if (is_of_call(&buffers[s->to.buffer], subject))
      return s->to.buffer;
  if (s->kind == PLAN_COPY || s->kind == PLAN_SET_SYMBOL)
    if (is_of_call(&buffers[s->from.buffer], subject))
      return s->from.buffer;
  for (int a = 0; a < s->n_arguments; a++) {
    const struct plan_argument *x = &s->arguments[a];
    if (x->kind == PLAN_TENSOR_MAP && is_of_call(&buffers[x->map->buffer], subject))
      return x->map->buffer;
    for (int p = 0; p < x->n_pointers; p++)
      if (is_of_call(&buffers[x->pointers[p].buffer], subject))
        return x->pointers[p].buffer;
  }
  return -1;
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
