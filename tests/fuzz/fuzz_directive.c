// SPDX-License-Identifier: Apache-2.0
// modules: toolchain/directive
// Directive lines: any bytes give a consistent plan, or an error with a place; never a crash, never an endless
// loop.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "toolchain/directive/directive.h"

static const struct plan_symbol symbols[] = {{"M", 100}, {"N", 33}, {"K", 0}};
static const char *const input_names[] = {"x", "w"}, *const output_names[] = {"y"};
static const struct tensor_type inputs[] = {{DTYPE_FLOAT, {2, {100, 64}}}, {DTYPE_BFLOAT16, {2, {33, 64}}}},
                                outputs[] = {{DTYPE_INT64, {1, {33}}}};

static void need(bool holds) {
  if (!holds)
    __builtin_trap();
}

static void check_place(const struct plan *p, int buffer, int64_t offset, uint64_t bytes) {
  need(buffer >= 0 && buffer < p->n_buffers && offset >= 0);
  need((uint64_t)offset <= p->buffers[buffer].bytes && bytes <= p->buffers[buffer].bytes - (uint64_t)offset);
}

static void check_argument(const struct plan *p, const struct plan_argument *a) {
  unsigned sum = 0;
  if (a->kind == PLAN_TENSOR_MAP)
    check_place(p, a->map->buffer, a->map->offset, 0);
  for (uint32_t i = 0; a->kind == PLAN_BYTES && i < a->size; i++)
    sum += a->bytes[i];
  for (int i = 0; i < a->n_pointers; i++) {
    check_place(p, a->pointers[i].buffer, a->pointers[i].offset, 0);
    need(a->pointers[i].at + 8 <= a->size && (i == 0 || a->pointers[i].at >= a->pointers[i - 1].at + 8));
    for (int b = 0; b < 8; b++)
      need(a->bytes[a->pointers[i].at + b] == 0);
  }
  need(sum < UINT32_MAX);
}

static void check_plan(const struct plan *p) {
  need(p->n_buffers >= 3 && p->n_prepare <= p->n_steps);
  for (int i = 0; i < p->n_steps; i++) {
    const struct plan_step *s = &p->steps[i];
    if (s->kind != PLAN_LAUNCH)
      check_place(p, s->to.buffer, s->to.offset, s->bytes);
    if (s->kind == PLAN_COPY)
      check_place(p, s->from.buffer, s->from.offset, s->bytes);
    for (int a = 0; a < s->n_arguments; a++)
      check_argument(p, &s->arguments[a]);
  }
}

// All kernels have a parameter list that is there, or none.
static void plan_with(const struct directive_set *set, bool known, const struct plan_device *device) {
  static const uint32_t sizes[] = {8, 4, 8, DIRECTIVE_SIZE_LOCAL, 128, 1, DIRECTIVE_SIZE_UNKNOWN, 24};
  struct directive_kernel kernels[DIRECTIVE_MAX_LINES];
  const struct plan_subject subject = {.n_symbols = 3,
                                       .n_inputs = 2,
                                       .n_outputs = 1,
                                       .symbols = symbols,
                                       .input_names = input_names,
                                       .output_names = output_names,
                                       .inputs = inputs,
                                       .outputs = outputs,
                                       .statics = (const bool[]){false, true}};
  struct plan plan = {.device = device};
  struct assay_error err = {0};
  plan.arena.limit_bytes = DIRECTIVE_ARENA_BYTES;
  for (int i = 0; i < set->n_kernels; i++)
    kernels[i] = (struct directive_kernel){"k", known ? i % 9 : -1, sizes};
  enum assay_status status = directive_plan(set, kernels, &subject, &plan, &err);
  if (status == ASSAY_OK)
    check_plan(&plan);
  else
    need(err.message[0] && plan.n_steps == 0);
  arena_release(&plan.arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct arena arena;
  struct directive_set set;
  struct assay_error err = {0};
  arena_init(&arena, DIRECTIVE_ARENA_BYTES);
  if (directive_parse("a.cu", (const char *)data, size, &arena, &set, &err) == ASSAY_OK) {
    need(!set.launches || directive_launches((const char *)data, size));
    plan_with(&set, false, &plan_device_cuda);
    plan_with(&set, true, &plan_device_cuda);
    plan_with(&set, true, &plan_device_opencl);
  } else {
    need(err.message[0] != '\0');
  }
  arena_release(&arena);
  return 0;
}
