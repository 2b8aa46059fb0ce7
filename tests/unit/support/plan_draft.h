// SPDX-License-Identifier: Apache-2.0
// Plans of a few steps, written down in a test.
#ifndef TEST_PLAN_DRAFT_H
#define TEST_PLAN_DRAFT_H

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "plan/plan.h"

enum { DRAFT_BUFFERS = 8, DRAFT_STEPS = 12, DRAFT_ARGUMENTS = 8 };

struct draft {
  struct plan plan;
  struct plan_module module;
  struct plan_buffer buffers[DRAFT_BUFFERS];
  struct plan_step steps[DRAFT_STEPS];
  struct plan_argument arguments[DRAFT_STEPS][DRAFT_ARGUMENTS];
  struct plan_pointer pointers[DRAFT_STEPS][DRAFT_ARGUMENTS];
  uint8_t bytes[DRAFT_STEPS][DRAFT_ARGUMENTS][8];
};

static inline void draft_init(struct draft *d, const char *source, const char *options) {
  memset(d, 0, sizeof *d);
  d->module = (struct plan_module){.name = "test.cl",
                                   .code = PLAN_OPENCL_C,
                                   .bytes = (const uint8_t *)source,
                                   .size = strlen(source),
                                   .options = options};
  d->plan = (struct plan){.task = "test",
                          .workload = "",
                          .device = &plan_device_opencl,
                          .target = "",
                          .toolchain = "opencl",
                          .n_modules = 1,
                          .modules = &d->module,
                          .buffers = d->buffers,
                          .steps = d->steps};
}

// Returns the buffer's number; of inputs and outputs each kind is counted from 0. `n` floats.
static inline int draft_buffer(struct draft *d, enum plan_role role, const char *name, int64_t n, const float *data) {
  int index = 0, i = d->plan.n_buffers++;
  assert(i < DRAFT_BUFFERS);
  for (int k = 0; k < i; k++)
    index += d->buffers[k].role == role;
  d->buffers[i] = (struct plan_buffer){.name = name,
                                       .role = role,
                                       .bytes = (uint64_t)n * sizeof(float),
                                       .alignment = 256,
                                       .data = (const uint8_t *)data};
  if (role == PLAN_INPUT || role == PLAN_OUTPUT) {
    d->buffers[i].index = index;
    d->buffers[i].tensor = (struct tensor_type){DTYPE_FLOAT, {1, {n}}};
  }
  return i;
}

// A launch in one dimension. What the arguments are is said by letters: b a buffer (int), o a buffer and an offset in
// bytes (int, int), i an int, f a float (double), l bytes of local memory (int).
static inline void draft_launch(struct draft *d, const char *kernel, uint32_t groups, uint32_t items, const char *kinds,
                                ...) {
  int i = d->plan.n_steps++;
  va_list ap;
  assert(i < DRAFT_STEPS && strlen(kinds) <= DRAFT_ARGUMENTS);
  d->steps[i] = (struct plan_step){.kind = PLAN_LAUNCH,
                                   .kernel = kernel,
                                   .grid = {groups, 1, 1},
                                   .block = {items, 1, 1},
                                   .carveout = -1,
                                   .n_arguments = (int)strlen(kinds),
                                   .arguments = d->arguments[i]};
  va_start(ap, kinds);
  for (int k = 0; kinds[k]; k++) {
    struct plan_argument *a = &d->arguments[i][k];
    uint8_t *bytes = d->bytes[i][k];
    *a = (struct plan_argument){.kind = PLAN_BYTES, .size = 4, .bytes = bytes};
    if (kinds[k] == 'b' || kinds[k] == 'o') {
      struct plan_pointer *p = &d->pointers[i][k];
      p->buffer = va_arg(ap, int);
      p->offset = kinds[k] == 'o' ? va_arg(ap, int) : 0;
      a->size = 8;
      a->n_pointers = 1;
      a->pointers = p;
    } else if (kinds[k] == 'i') {
      int value = va_arg(ap, int);
      memcpy(bytes, &value, sizeof value);
    } else if (kinds[k] == 'f') {
      float value = (float)va_arg(ap, double);
      memcpy(bytes, &value, sizeof value);
    } else {
      *a = (struct plan_argument){.kind = PLAN_LOCAL_MEMORY, .size = (uint32_t)va_arg(ap, int)};
    }
  }
  va_end(ap);
}

static inline void draft_fill(struct draft *d, int buffer, int64_t offset, uint64_t bytes, uint32_t value,
                              uint32_t width) {
  assert(d->plan.n_steps < DRAFT_STEPS);
  d->steps[d->plan.n_steps++] = (struct plan_step){
      .kind = PLAN_FILL, .to = {buffer, offset}, .bytes = bytes, .value = value, .width = width, .carveout = -1};
}

static inline void draft_copy(struct draft *d, int to, int64_t to_offset, int from, int64_t from_offset,
                              uint64_t bytes) {
  assert(d->plan.n_steps < DRAFT_STEPS);
  d->steps[d->plan.n_steps++] = (struct plan_step){
      .kind = PLAN_COPY, .to = {to, to_offset}, .from = {from, from_offset}, .bytes = bytes, .carveout = -1};
}

#endif
