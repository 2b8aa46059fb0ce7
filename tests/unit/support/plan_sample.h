// SPDX-License-Identifier: Apache-2.0
// A plan that is right in every respect and has one of everything, for tests that spoil it: the kernels of
// tests/fuzz/corpus/cubin/small.cu.
#ifndef PLAN_SAMPLE_H
#define PLAN_SAMPLE_H

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "plan/plan.h"

static inline void sample_cubin(struct arena *arena, const char *name, struct plan_module *m) {
  char path[512], *bytes;
  struct assay_error err = {0};
  snprintf(path, sizeof path, ASSAY_SOURCE_DIR "/tests/fuzz/corpus/cubin/%s", name);
  if (file_read(path, 1 << 20, &bytes, &m->size, &err))
    fail_msg("%s", err.message);
  m->bytes = memcpy(arena_alloc(arena, m->size), bytes, m->size);
  base_free(bytes);
}

// One parameter of `size` bytes; pointers are {at, buffer, offset}, n of them.
static inline struct plan_argument sample_argument(struct arena *arena, uint32_t size, const void *bytes, int n,
                                                   const struct plan_pointer *pointers) {
  struct plan_argument a = {.kind = PLAN_BYTES, .size = size, .n_pointers = n};
  a.bytes = arena_alloc(arena, size);
  if (bytes)
    memcpy((void *)a.bytes, bytes, size);
  a.pointers = memcpy(arena_calloc(arena, (size_t)n + 1, sizeof *pointers), pointers, (size_t)n * sizeof *pointers);
  return a;
}

#define SAMPLE_POINTERS(...)                                                                                           \
  (int)(sizeof((struct plan_pointer[]){__VA_ARGS__}) / sizeof(struct plan_pointer)), (struct plan_pointer[]) {         \
    __VA_ARGS__                                                                                                        \
  }

enum { SAMPLE_X, SAMPLE_Y, SAMPLE_PARTIAL, SAMPLE_TABLE, SAMPLE_BUFFERS };

static inline void sample_buffers(struct plan *p) {
  static const float table[4] = {0.5f, 1, 2, 4};
  p->n_buffers = SAMPLE_BUFFERS;
  p->buffers = arena_calloc(&p->arena, SAMPLE_BUFFERS, sizeof *p->buffers);
  const struct tensor_type t = {DTYPE_FLOAT, {2, {4, 8}}};
  p->buffers[SAMPLE_X] = (struct plan_buffer){"x", PLAN_INPUT, 0, t, 128, 256, NULL, false};
  p->buffers[SAMPLE_Y] = (struct plan_buffer){"y", PLAN_OUTPUT, 0, t, 128, 256, NULL, false};
  p->buffers[SAMPLE_PARTIAL] =
      (struct plan_buffer){.name = "partial", .role = PLAN_SCRATCH, .bytes = 4096, .alignment = 512, .zeroed = true};
  p->buffers[SAMPLE_TABLE] =
      (struct plan_buffer){"table", PLAN_CONSTANT, 0, {0}, sizeof table, 16, (const uint8_t *)table, false};
}

static inline void sample_launch(struct plan *p, int step, const char *kernel, uint32_t grid, uint32_t block,
                                 int n_arguments) {
  struct plan_step *s = &p->steps[step];
  *s = (struct plan_step){.kind = PLAN_LAUNCH, .kernel = kernel, .grid = {grid, 1, 1}, .block = {block, 1, 1}};
  s->carveout = -1;
  s->n_arguments = n_arguments;
  s->arguments = arena_calloc(&p->arena, (size_t)n_arguments, sizeof *s->arguments);
}

static inline void sample_steps(struct plan *p) {
  static const int32_t n = 32, turn_n[6] = {0, 0, 0, 0, 32, 0};
  static const struct plan_tensor_map map = {.buffer = SAMPLE_PARTIAL,
                                             .data_type = 7, // float
                                             .rank = 2,
                                             .dims = {16, 64},
                                             .strides = {64},
                                             .box = {16, 8},
                                             .element_strides = {1, 1},
                                             .swizzle = 2,
                                             .l2_promotion = 2};
  p->n_steps = 6;
  p->n_prepare = 1;
  p->steps = arena_calloc(&p->arena, 6, sizeof *p->steps);
  p->steps[0] = (struct plan_step){
      .kind = PLAN_SET_SYMBOL, .symbol = "coef", .from = {SAMPLE_TABLE, 0}, .bytes = 16, .carveout = -1};
  p->steps[1] = (struct plan_step){
      .kind = PLAN_FILL, .to = {SAMPLE_PARTIAL, 0}, .bytes = 4096, .value = 0xff, .width = 1, .carveout = -1};
  sample_launch(p, 2, "scale", 1, 128, 3);
  struct plan_argument *a = (struct plan_argument *)p->steps[2].arguments;
  a[0] = sample_argument(&p->arena, 8, NULL, SAMPLE_POINTERS({.at = 0, .buffer = SAMPLE_X, .offset = 0}));
  a[1] = sample_argument(&p->arena, 8, NULL, SAMPLE_POINTERS({.at = 0, .buffer = SAMPLE_PARTIAL, .offset = 512}));
  a[2] = sample_argument(&p->arena, 4, &n, 0, (const struct plan_pointer *)&n);
  sample_launch(p, 3, "turn", 1, 64, 1);
  p->steps[3].label = "turn around";
  p->steps[3].programmatic = true;
  p->steps[3].shared_bytes = 1024;
  a = (struct plan_argument *)p->steps[3].arguments;
  a[0] = sample_argument(
      &p->arena, 24, turn_n,
      SAMPLE_POINTERS({.at = 0, .buffer = SAMPLE_PARTIAL, .offset = 512}, {.at = 8, .buffer = SAMPLE_Y, .offset = 0}));
  sample_launch(p, 4, "tile", 2, 32, 2);
  p->steps[4].cluster[0] = 2;
  p->steps[4].cluster[1] = p->steps[4].cluster[2] = 1;
  p->steps[4].cooperative = true;
  p->steps[4].carveout = 50;
  a = (struct plan_argument *)p->steps[4].arguments;
  a[0] = (struct plan_argument){.kind = PLAN_TENSOR_MAP, .size = 128, .map = &map};
  a[1] = sample_argument(&p->arena, 8, NULL, SAMPLE_POINTERS({.at = 0, .buffer = SAMPLE_PARTIAL, .offset = 0}));
  p->steps[5] = (struct plan_step){
      .kind = PLAN_COPY, .to = {SAMPLE_Y, 64}, .from = {SAMPLE_PARTIAL, 512}, .bytes = 64, .carveout = -1};
}

static inline void sample_plan(struct plan *p) {
  memset(p, 0, sizeof *p);
  p->task = "sample";
  p->workload = "M=4, N=8";
  p->device = &plan_device_cuda;
  p->target = "sm_90a";
  p->toolchain = "nvcc 13.0";
  p->n_modules = 1;
  p->modules = arena_calloc(&p->arena, 1, sizeof *p->modules);
  *p->modules = (struct plan_module){.name = "small.cu", .code = PLAN_CUBIN};
  sample_cubin(&p->arena, "small_sm90a.cubin", p->modules);
  sample_buffers(p);
  sample_steps(p);
}

#endif
