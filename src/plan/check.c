// SPDX-License-Identifier: Apache-2.0
// What can be known of a plan without the device. Nothing of a plan is believed: one that was parsed is well formed,
// one that a toolchain made in memory may not even be that.
#include "plan/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ALIGNMENT = 1 << 20, JUDGES_ALIGNMENT = 256 };

enum assay_status check_fail(struct checker *c, const char *place, int index, const char *fmt, ...) {
  char message[512];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(message, sizeof message, fmt, ap);
  va_end(ap);
  return error_set(c->err, ASSAY_ERR_INVALID, "%s[%d]: %s", place, index, message);
}

static bool is_judges(const struct plan_buffer *b) {
  return b->role == PLAN_INPUT || b->role == PLAN_OUTPUT;
}

uint64_t check_alignment(const struct plan_buffer *b) {
  return is_judges(b) && b->alignment < JUDGES_ALIGNMENT ? JUDGES_ALIGNMENT : b->alignment;
}

bool check_within(const struct checker *c, int buffer, int64_t offset, uint64_t bytes) {
  if (buffer < 0 || buffer >= c->p->n_buffers || offset < 0)
    return false;
  uint64_t size = c->p->buffers[buffer].bytes;
  return (uint64_t)offset <= size && bytes <= size - (uint64_t)offset;
}

enum assay_status check_mark(struct checker *c, int step, int buffer) {
  const struct plan_buffer *b = &c->p->buffers[buffer];
  if (step < c->p->n_prepare && b->role == PLAN_OUTPUT)
    return check_fail(c, "steps", step, "it prepares, and must not touch output %d", b->index);
  c->written[buffer] |= step >= c->p->n_prepare;
  return ASSAY_OK;
}

// --- the plan as a whole ---------------------------------------------------------------------------------------------

static enum assay_status check_counts(struct checker *c) {
  const struct plan *p = c->p;
  const struct {
    const char *what;
    int n, most;
  } counts[] = {{"modules", p->n_modules, PLAN_MAX_MODULES},
                {"buffers", p->n_buffers, PLAN_MAX_BUFFERS},
                {"steps", p->n_steps, PLAN_MAX_STEPS}};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    if (counts[i].n < 0 || counts[i].n > counts[i].most)
      return error_set(c->err, ASSAY_ERR_INVALID, "the plan has %d %s; at most %d are allowed", counts[i].n,
                       counts[i].what, counts[i].most);
  if (p->n_prepare < 0 || p->n_prepare > p->n_steps)
    return error_set(c->err, ASSAY_ERR_INVALID, "the plan prepares with %d of its %d steps", p->n_prepare, p->n_steps);
  return ASSAY_OK;
}

static bool is_cuda(const struct checker *c) {
  return c->p->device->dialect == PLAN_CUDA_LAUNCHES;
}

static enum assay_status check_device(struct checker *c) {
  const struct plan_device *device = c->p->device;
  const char *target = c->p->target ? c->p->target : "";
  char shown[PLAN_SHOWN_BYTES];
  struct plan_target of_plan = {0};
  if (!device || device->dialect == PLAN_NO_LAUNCHES)
    return error_set(c->err, ASSAY_ERR_INVALID, "the plan is for device %s; plans are for %s",
                     device ? device->name : "\"\"", plan_device_names(true, shown, sizeof shown));
  if (c->limits.device && c->limits.device != device)
    return error_set(c->err, ASSAY_ERR_INVALID, "the plan is for device %s, this one is %s", device->name,
                     c->limits.device->name);
  if (!is_cuda(c))
    return *target ? error_set(c->err, ASSAY_ERR_INVALID, "a plan for %s has no target", device->name) : ASSAY_OK;
  if (!plan_target_parse(target, &of_plan))
    return error_set(c->err, ASSAY_ERR_INVALID, "the plan's target \"%s\" is not of the form sm_90 or sm_90a",
                     plan_shown(target, shown));
  if (!c->limits.target)
    c->target = of_plan;
  else if (!plan_target_parse(c->limits.target, &c->target))
    return error_set(c->err, ASSAY_ERR_INVALID, "the device's target \"%s\" is not of the form sm_90 or sm_90a",
                     plan_shown(c->limits.target, shown));
  if (!plan_target_runs_on(of_plan, c->target))
    return error_set(c->err, ASSAY_ERR_INVALID, "the plan is for %s, the device is %s", target, c->limits.target);
  return ASSAY_OK;
}

// --- modules ---------------------------------------------------------------------------------------------------------

static enum assay_status check_cubin(struct checker *c, int index) {
  const struct plan_module *m = &c->p->modules[index];
  struct cubin_info *info = &c->cubins[index];
  enum assay_status status = cubin_read(m->bytes, m->size, &c->arena, info, c->err);
  if (status)
    return error_prefix(c->err, status, "modules[%d]: ", index);
  const struct plan_target code = {info->architecture, info->arch_specific ? 'a' : 0};
  if (c->target.number && !plan_target_runs_on(code, c->target))
    return check_fail(c, "modules", index, "code for sm_%" PRIu32 "%s does not run on sm_%" PRIu32, code.number,
                      code.variant ? "a" : "", c->target.number);
  return ASSAY_OK;
}

static enum assay_status check_module(struct checker *c, int index) {
  const struct plan_module *m = &c->p->modules[index];
  bool of_cuda = m->code == PLAN_CUBIN || m->code == PLAN_PTX;
  enum assay_status status = ASSAY_OK;
  if (!m->name || !*m->name)
    return check_fail(c, "modules", index, "it has no name");
  if ((unsigned)m->code > PLAN_SPIRV || !m->bytes || m->size == 0)
    return check_fail(c, "modules", index, "it has no code");
  if (of_cuda != is_cuda(c))
    return check_fail(c, "modules", index, "%s is not for %s", plan_code_names[m->code], c->p->device->name);
  if (plan_code_is_text(m->code) && (m->bytes[m->size] != 0 || memchr(m->bytes, 0, m->size) || !m->options))
    return check_fail(c, "modules", index, "a source text has one NUL, at its end, and options");
  if (m->code == PLAN_CUBIN)
    status = check_cubin(c, index);
  else if (m->code == PLAN_PTX)
    status = entries_of_ptx(m, &c->arena, &c->cubins[index], c->err);
  else if (m->code == PLAN_SPIRV)
    status = entries_of_spirv(m, &c->arena, &c->cubins[index], c->err);
  if (status)
    return m->code == PLAN_CUBIN ? status : error_prefix(c->err, status, "modules[%d]: ", index);
  cubin_sort(&c->cubins[index]);
  // A name that stands twice (once in a comment, say) says nothing of its parameters.
  struct cubin_kernel *kernels = (struct cubin_kernel *)c->cubins[index].kernels;
  for (int i = 1; i < c->cubins[index].n_kernels; i++)
    if (strcmp(kernels[i - 1].name, kernels[i].name) == 0)
      kernels[i - 1].n_parameters = kernels[i].n_parameters = -1;
  return ASSAY_OK;
}

static enum assay_status check_modules(struct checker *c) {
  size_t bytes = 0;
  c->cubins = arena_calloc(&c->arena, (size_t)c->p->n_modules + 1, sizeof *c->cubins);
  if (!c->cubins)
    return error_nomem(c->err, "the check of a plan");
  for (int i = 0; i < c->p->n_modules; i++) {
    if (c->p->modules[i].size > PLAN_MAX_MODULE_BYTES - bytes)
      return check_fail(c, "modules", i, "the plan has more than %zu bytes of code", PLAN_MAX_MODULE_BYTES);
    bytes += c->p->modules[i].size;
    enum assay_status status = check_module(c, i);
    if (status)
      return status;
  }
  return ASSAY_OK;
}

// --- buffers ---------------------------------------------------------------------------------------------------------

static enum assay_status check_buffer(struct checker *c, int index) {
  const struct plan_buffer *b = &c->p->buffers[index];
  uint64_t bytes = 0;
  if (!b->name || !*b->name)
    return check_fail(c, "buffers", index, "it has no name");
  if ((unsigned)b->role > PLAN_CONSTANT)
    return check_fail(c, "buffers", index, "its role is not known");
  if ((b->bytes == 0 && b->role != PLAN_INPUT) || b->bytes > INT64_MAX)
    return check_fail(c, "buffers", index, "it has %" PRIu64 " bytes", b->bytes);
  if (b->alignment == 0 || b->alignment & (b->alignment - 1) || b->alignment > MAX_ALIGNMENT)
    return check_fail(c, "buffers", index, "alignment %" PRIu32 " is not a power of two up to %d", b->alignment,
                      MAX_ALIGNMENT);
  if (is_judges(b) && b->alignment > JUDGES_ALIGNMENT)
    return check_fail(c, "buffers", index, "alignment %" PRIu32 "; inputs and outputs are aligned to %d", b->alignment,
                      JUDGES_ALIGNMENT);
  if (is_judges(b) && (b->index < 0 || !tensor_type_measure(&b->tensor, &bytes)))
    return check_fail(c, "buffers", index, "its tensor can have no size, or its index is negative");
  if (is_judges(b) && bytes != b->bytes)
    return check_fail(c, "buffers", index, "it has %" PRIu64 " bytes, its tensor %" PRIu64, b->bytes, bytes);
  if (b->zeroed && (b->role != PLAN_SCRATCH || !is_cuda(c)))
    return check_fail(c, "buffers", index, "only scratch of a plan for cuda can be zeroed");
  if (b->role == PLAN_CONSTANT && !b->data)
    return check_fail(c, "buffers", index, "a constant without data");
  return ASSAY_OK;
}

static enum assay_status check_twins(struct checker *c, int index) {
  const struct plan_buffer *b = &c->p->buffers[index];
  char shown[PLAN_SHOWN_BYTES];
  for (int i = 0; i < index; i++) {
    const struct plan_buffer *other = &c->p->buffers[i];
    if (strcmp(b->name, other->name) == 0)
      return check_fail(c, "buffers", index, "buffers[%d] is named \"%s\" too", i, plan_shown(b->name, shown));
    if (is_judges(b) && other->role == b->role && other->index == b->index)
      return check_fail(c, "buffers", index, "buffers[%d] is %s %d too", i, plan_role_names[b->role], b->index);
  }
  return ASSAY_OK;
}

static enum assay_status check_memory(struct checker *c) {
  uint64_t memory = 0, constants = 0;
  for (int i = 0; i < c->p->n_buffers; i++) {
    const struct plan_buffer *b = &c->p->buffers[i];
    if (b->role == PLAN_CONSTANT &&
        (b->bytes > PLAN_MAX_CONSTANT_BYTES || (constants += b->bytes) > PLAN_MAX_CONSTANT_BYTES))
      return check_fail(c, "buffers", i, "the plan has more than %zu bytes of constants", PLAN_MAX_CONSTANT_BYTES);
    if (!is_judges(b) && (__builtin_add_overflow(memory, b->bytes, &memory) ||
                          __builtin_add_overflow(memory, (uint64_t)b->alignment, &memory) ||
                          (c->limits.memory_bytes && memory > c->limits.memory_bytes))) {
      check_fail(c, "buffers", i,
                 "scratch and constants up to here take more memory than the device gives (%" PRIu64 " bytes)",
                 c->limits.memory_bytes);
      return ASSAY_ERR_LIMIT;
    }
  }
  return ASSAY_OK;
}

static enum assay_status check_buffers(struct checker *c) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < c->p->n_buffers && !status; i++) {
    status = check_buffer(c, i);
    if (!status)
      status = check_twins(c, i);
  }
  return status ? status : check_memory(c);
}

// --- what the plan must be for ---------------------------------------------------------------------------------------

static enum assay_status check_tensor(struct checker *c, int index, const struct tensor_type *wanted) {
  const struct plan_buffer *b = &c->p->buffers[index];
  char has[TENSOR_TYPE_TEXT_BYTES], wants[TENSOR_TYPE_TEXT_BYTES];
  if (tensor_type_equal(&b->tensor, wanted))
    return ASSAY_OK;
  return check_fail(c, "buffers", index, "it is %s, the workload's %s %d is %s", tensor_type_text(&b->tensor, has),
                    plan_role_names[b->role], b->index, tensor_type_text(wanted, wants));
}

static enum assay_status check_expectation(struct checker *c, const struct plan_expectation *e) {
  uint64_t outputs = 0; // found so far; no two buffers are the same one
  for (int i = 0; i < c->p->n_buffers; i++) {
    const struct plan_buffer *b = &c->p->buffers[i];
    if (!is_judges(b))
      continue;
    bool input = b->role == PLAN_INPUT;
    int n = input ? e->n_inputs : e->n_outputs;
    if (b->index >= n)
      return check_fail(c, "buffers", i, "it is %s %d; the workload has %d", plan_role_names[b->role], b->index, n);
    enum assay_status status = check_tensor(c, i, input ? &e->inputs[b->index] : &e->outputs[b->index]);
    if (status)
      return status;
    outputs += !input;
  }
  if (outputs != (uint64_t)e->n_outputs)
    return error_set(c->err, ASSAY_ERR_INVALID, "the plan has buffers for %" PRIu64 " of the workload's %d outputs",
                     outputs, e->n_outputs);
  return ASSAY_OK;
}

// --- steps -----------------------------------------------------------------------------------------------------------

static enum assay_status check_place(struct checker *c, int step, const char *which, const struct plan_place *place,
                                     bool written) {
  const struct plan_step *s = &c->p->steps[step];
  const char *name = plan_step_names[s->kind];
  char shown[PLAN_SHOWN_BYTES];
  if (place->buffer < 0 || place->buffer >= c->p->n_buffers)
    return check_fail(c, "steps", step, "%s: there is no buffer %d", name, place->buffer);
  const struct plan_buffer *b = &c->p->buffers[place->buffer];
  plan_shown(b->name, shown);
  if (s->bytes == 0)
    return check_fail(c, "steps", step, "%s: 0 bytes", name);
  if (!check_within(c, place->buffer, place->offset, s->bytes))
    return check_fail(c, "steps", step,
                      "%s: %" PRIu64 " bytes %s offset %" PRId64 " are not within buffer \"%s\" of %" PRIu64, name,
                      s->bytes, which, place->offset, shown, b->bytes);
  if (!written)
    return ASSAY_OK;
  if (b->role == PLAN_INPUT || b->role == PLAN_CONSTANT)
    return check_fail(c, "steps", step, "%s: writes to \"%s\", which is %s", name, shown,
                      b->role == PLAN_INPUT ? "an input" : "a constant");
  return check_mark(c, step, place->buffer);
}

static enum assay_status check_fill(struct checker *c, int step) {
  const struct plan_step *s = &c->p->steps[step];
  if (s->width != 1 && s->width != 2 && s->width != 4)
    return check_fail(c, "steps", step, "fill: width %" PRIu32 " is not 1, 2 or 4", s->width);
  if (s->bytes % s->width || (uint64_t)s->to.offset % s->width)
    return check_fail(c, "steps", step, "fill: bytes and offset must be multiples of the width %" PRIu32, s->width);
  if (s->width < 4 && s->value >> (8 * s->width))
    return check_fail(c, "steps", step, "fill: value %" PRIu32 " does not fit into %" PRIu32 " bytes", s->value,
                      s->width);
  enum assay_status status = check_place(c, step, "at", &s->to, true);
  if (!status && check_alignment(&c->p->buffers[s->to.buffer]) < s->width)
    return check_fail(c, "steps", step, "fill: the buffer is aligned to fewer bytes than the width %" PRIu32, s->width);
  return status;
}

static enum assay_status check_copy(struct checker *c, int step) {
  const struct plan_step *s = &c->p->steps[step];
  enum assay_status status = check_place(c, step, "from", &s->from, false);
  if (!status)
    status = check_place(c, step, "to", &s->to, true);
  if (status)
    return status;
  uint64_t to = (uint64_t)s->to.offset, from = (uint64_t)s->from.offset;
  if (s->to.buffer == s->from.buffer && (to > from ? to - from : from - to) < s->bytes)
    return check_fail(c, "steps", step, "copy: source and destination overlap");
  return ASSAY_OK;
}

static enum assay_status check_set_symbol(struct checker *c, int step) {
  const struct plan_step *s = &c->p->steps[step];
  char shown[PLAN_SHOWN_BYTES];
  if (!is_cuda(c))
    return check_fail(c, "steps", step, "set_symbol is CUDA's");
  if (s->module < 0 || s->module >= c->p->n_modules || !s->symbol || !*s->symbol)
    return check_fail(c, "steps", step, "set_symbol: there is no module %d, or no symbol is named", s->module);
  enum assay_status status = check_place(c, step, "from", &s->from, false);
  if (status)
    return status;
  if (c->p->buffers[s->from.buffer].role != PLAN_CONSTANT)
    return check_fail(c, "steps", step, "set_symbol: its bytes must come from a constant buffer");
  plan_shown(s->symbol, shown);
  if (s->to.offset < 0)
    return check_fail(c, "steps", step, "set_symbol: offset %" PRId64 " in \"%s\"", s->to.offset, shown);
  if (c->p->modules[s->module].code != PLAN_CUBIN)
    return ASSAY_OK; // the device finds out when it loads the module
  const struct cubin_symbol *symbol = cubin_find_symbol(&c->cubins[s->module], s->symbol);
  if (!symbol)
    return check_fail(c, "steps", step, "set_symbol: module %d has no variable \"%s\"", s->module, shown);
  if ((uint64_t)s->to.offset > symbol->bytes || s->bytes > symbol->bytes - (uint64_t)s->to.offset)
    return check_fail(c, "steps", step, "set_symbol: %" PRIu64 " bytes at %" PRId64 " of \"%s\", which has %" PRIu64,
                      s->bytes, s->to.offset, shown, symbol->bytes);
  return ASSAY_OK;
}

static enum assay_status check_step(struct checker *c, int step) {
  switch (c->p->steps[step].kind) {
  case PLAN_LAUNCH:
    return check_launch(c, step);
  case PLAN_FILL:
    return check_fill(c, step);
  case PLAN_COPY:
    return check_copy(c, step);
  case PLAN_SET_SYMBOL:
    return check_set_symbol(c, step);
  }
  return check_fail(c, "steps", step, "its kind is not known");
}

static enum assay_status check_steps(struct checker *c) {
  enum assay_status status = ASSAY_OK;
  c->written = arena_calloc(&c->arena, (size_t)c->p->n_buffers + 1, sizeof *c->written);
  if (!c->written)
    return error_nomem(c->err, "the check of a plan");
  for (int i = 0; i < c->p->n_steps && !status; i++)
    status = check_step(c, i);
  for (int i = 0; i < c->p->n_buffers && !status; i++)
    if (c->p->buffers[i].role == PLAN_OUTPUT && !c->written[i])
      status = check_fail(c, "buffers", i, "no step after the preparation mentions output %d, so nothing writes it",
                          c->p->buffers[i].index);
  return status;
}

enum assay_status plan_check(const struct plan *p, const struct plan_limits *limits,
                             const struct plan_expectation *expected, struct assay_error *err) {
  struct checker c = {.p = p, .err = err};
  if (limits)
    c.limits = *limits;
  enum assay_status status = check_counts(&c);
  if (!status)
    status = check_device(&c);
  if (!status)
    status = check_modules(&c);
  if (!status)
    status = check_buffers(&c);
  if (!status && expected)
    status = check_expectation(&c, expected);
  if (!status)
    status = check_steps(&c);
  arena_release(&c.arena);
  return status;
}
