// SPDX-License-Identifier: Apache-2.0
// Plans made in C, for tests of devices. One made_plan is about 200 KiB: static, or on the heap.
#ifndef TESTS_GPU_MADE_PLAN_H
#define TESTS_GPU_MADE_PLAN_H

#include <assert.h>
#include <string.h>

#include "plan/plan.h"

enum { MADE_BUFFERS = 128, MADE_STEPS = 2048, MADE_ARGUMENTS = 64, MADE_BYTES = 4096 };

struct made_plan {
  struct plan plan;
  struct plan_module module;
  struct plan_buffer buffers[MADE_BUFFERS];
  struct plan_step steps[MADE_STEPS];
  struct plan_argument arguments[MADE_ARGUMENTS];
  struct plan_pointer pointers[MADE_ARGUMENTS];
  uint8_t bytes[MADE_BYTES];
  int n_arguments, n_pointers, n_bytes;
};

static inline void made_begin(struct made_plan *m, const void *cubin, size_t n, const char *target) {
  memset(m, 0, sizeof *m);
  m->module = (struct plan_module){.name = "kernels.cu", .code = PLAN_CUBIN, .bytes = cubin, .size = n, .options = ""};
  m->plan = (struct plan){
      .task = "test", .workload = "", .device = &plan_device_cuda, .target = target, .toolchain = "nvrtc"};
  m->plan.modules = &m->module;
  m->plan.n_modules = 1;
  m->plan.buffers = m->buffers;
  m->plan.steps = m->steps;
}

static inline int made_buffer(struct made_plan *m, enum plan_role role, int index, uint64_t bytes, const void *data) {
  assert(m->plan.n_buffers < MADE_BUFFERS);
  m->buffers[m->plan.n_buffers] = (struct plan_buffer){
      .name = "buffer", .role = role, .index = index, .bytes = bytes, .alignment = 256, .data = data};
  return m->plan.n_buffers++;
}

static inline struct plan_step *made_step(struct made_plan *m, enum plan_step_kind kind) {
  assert(m->plan.n_steps < MADE_STEPS);
  struct plan_step *s = &m->steps[m->plan.n_steps++];
  *s = (struct plan_step){.kind = kind, .carveout = -1};
  return s;
}

static inline struct plan_step *made_launch(struct made_plan *m, const char *kernel, uint32_t grid, uint32_t block) {
  struct plan_step *s = made_step(m, PLAN_LAUNCH);
  s->kernel = kernel;
  for (int i = 0; i < 3; i++)
    s->grid[i] = s->block[i] = 1;
  s->grid[0] = grid;
  s->block[0] = block;
  s->arguments = &m->arguments[m->n_arguments];
  return s;
}

// Arguments of a step are added before the next step that has any.
static inline struct plan_argument *made_argument(struct made_plan *m, struct plan_step *s, const void *p, size_t n) {
  assert(m->n_arguments < MADE_ARGUMENTS && m->n_bytes + (int)n <= MADE_BYTES);
  struct plan_argument *a = &m->arguments[m->n_arguments++];
  *a = (struct plan_argument){.kind = PLAN_BYTES, .size = (uint32_t)n, .bytes = &m->bytes[m->n_bytes]};
  memcpy(&m->bytes[m->n_bytes], p, n);
  m->n_bytes += (int)n;
  s->n_arguments++;
  return a;
}

static inline void made_pointer(struct made_plan *m, struct plan_step *s, int buffer, int64_t offset) {
  uint64_t none = 0;
  struct plan_argument *a = made_argument(m, s, &none, sizeof none);
  struct plan_pointer *p = &m->pointers[m->n_pointers++];
  *p = (struct plan_pointer){.at = 0, .buffer = buffer, .offset = offset};
  a->pointers = p;
  a->n_pointers = 1;
}

static inline void made_int(struct made_plan *m, struct plan_step *s, int32_t v) {
  made_argument(m, s, &v, sizeof v);
}

static inline void made_long(struct made_plan *m, struct plan_step *s, int64_t v) {
  made_argument(m, s, &v, sizeof v);
}

static inline void made_float(struct made_plan *m, struct plan_step *s, float v) {
  made_argument(m, s, &v, sizeof v);
}

#endif
