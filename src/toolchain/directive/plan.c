// SPDX-License-Identifier: Apache-2.0
// Directive lines: the plan that they make of a workload.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "toolchain/directive/private.h"

enum { DEFAULT_ALIGNMENT = 256, MAX_ALIGNMENT = 1 << 20 };

enum assay_status eval_nomem(struct evaluation *e) {
  return error_nomem(e->err, "a plan");
}

const struct element_type *buffer_type(const struct plan_buffer *b) {
  return type_of_dtype(b->tensor.dtype);
}

int eval_find_buffer(const struct evaluation *e, const char *name) {
  for (int i = 0; i < e->n_buffers; i++)
    if (!strcmp(e->buffers[i].name, name))
      return i;
  return -1;
}

const struct plan_tensor_map *eval_find_map(const struct evaluation *e, const char *name) {
  for (int i = 0; i < e->n_maps; i++)
    if (!strcmp(e->maps[i].name, name))
      return e->maps[i].map;
  return NULL;
}

enum assay_status eval_offset(struct evaluation *e, struct place at, int buffer, int64_t elements, int64_t *bytes) {
  const struct plan_buffer *b = &e->buffers[buffer];
  uint32_t size = buffer_type(b)->size;
  if (elements < 0 || (uint64_t)elements > b->bytes / size)
    return eval_error(e, at, "%s + %" PRId64 " is outside of its %" PRIu64 " elements", b->name, elements,
                      b->bytes / size);
  *bytes = elements * (int64_t)size;
  return ASSAY_OK;
}

enum assay_status eval_place(struct evaluation *e, const struct place_expr *x, struct plan_place *out) {
  int64_t elements = 0;
  int buffer = eval_find_buffer(e, x->name);
  char known[300] = "", meant[96];
  struct nearest near = {.word = x->name};
  for (int i = 0; buffer < 0 && i < e->n_buffers; i++)
    nearest_offer(&near, e->buffers[i].name);
  for (int i = 0; buffer < 0 && i < e->n_buffers && i < 24; i++) {
    size_t used = strlen(known);
    snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", e->buffers[i].name);
  }
  if (buffer < 0)
    return eval_error(e, x->at, "no buffer is named `%s`%s: there are %s; `// assay: scratch %s float[...]` makes one",
                      x->name, nearest_text(&near, meant, sizeof meant), known, x->name);
  enum assay_status status = x->offset ? eval_integer(e, x->offset, &elements) : ASSAY_OK;
  if (status != ASSAY_OK)
    return status;
  out->buffer = buffer;
  return eval_offset(e, x->at, buffer, elements, &out->offset);
}

// ---- growing lists

static struct plan_step *new_step(struct evaluation *e, const struct directive *d, enum assay_status *status) {
  if (e->n_steps == PLAN_MAX_STEPS)
    return *status = eval_error(e, d->at, "more than %d steps", PLAN_MAX_STEPS), NULL;
  if ((size_t)e->n_steps == e->step_capacity) {
    struct plan_step *more = arena_grow(e->arena, e->steps, (size_t)e->n_steps, &e->step_capacity, sizeof *more);
    if (!more)
      return *status = eval_nomem(e), NULL;
    e->steps = more;
  }
  *status = ASSAY_OK;
  struct plan_step *s = &e->steps[e->n_steps++];
  memset(s, 0, sizeof *s);
  return s;
}

static enum assay_status add_buffer(struct evaluation *e, struct place at, const struct plan_buffer *b) {
  if (e->n_buffers == PLAN_MAX_BUFFERS)
    return eval_error(e, at, "more than %d buffers", PLAN_MAX_BUFFERS);
  if ((size_t)e->n_buffers == e->buffer_capacity) {
    struct plan_buffer *more =
        arena_grow(e->arena, e->buffers, (size_t)e->n_buffers, &e->buffer_capacity, sizeof *more);
    if (!more)
      return eval_nomem(e);
    e->buffers = more;
  }
  e->buffers[e->n_buffers++] = *b;
  return ASSAY_OK;
}

static enum assay_status add_tensor(struct evaluation *e, enum plan_role role, int index, const char *name,
                                    const struct tensor_type *t) {
  const struct place start = {1, 1};
  const struct element_type *type = type_of_dtype(t->dtype);
  const char *copy = arena_strdup(e->arena, name);
  uint64_t bytes = type ? type->size : 0;
  if (!copy)
    return eval_nomem(e);
  if (!type)
    return eval_error(e, start, "%s has elements of ONNX's type %d, which directives do not know", name, t->dtype);
  for (int i = 0; i < t->shape.rank; i++)
    if (t->shape.dims[i] < 0 || __builtin_mul_overflow(bytes, (uint64_t)t->shape.dims[i], &bytes) || bytes > INT64_MAX)
      return eval_error(e, start, "%s is too large", name);
  struct plan_buffer b = {
      .name = copy, .role = role, .index = index, .tensor = *t, .bytes = bytes, .alignment = DEFAULT_ALIGNMENT};
  return add_buffer(e, start, &b);
}

static enum assay_status add_tensors(struct evaluation *e) {
  const struct plan_subject *s = e->subject;
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < s->n_inputs && status == ASSAY_OK; i++)
    status = add_tensor(e, PLAN_INPUT, i, s->input_names[i], &s->inputs[i]);
  for (int i = 0; i < s->n_outputs && status == ASSAY_OK; i++)
    status = add_tensor(e, PLAN_OUTPUT, i, s->output_names[i], &s->outputs[i]);
  return status;
}

// ---- names

static enum assay_status eval_let(struct evaluation *e, const struct directive *d) {
  struct value v;
  for (int i = 0; i < e->n_lets; i++)
    if (!strcmp(e->lets[i].name, d->name))
      return eval_error(e, d->at, "%s has a value already: choose another name", d->name);
  for (int i = 0; i < e->subject->n_symbols; i++)
    if (!strcmp(e->subject->symbols[i].name, d->name))
      return eval_error(e, d->at, "%s is a dimension of the task: choose another name", d->name);
  enum assay_status status = eval_value(e, d->value, &v);
  if (status != ASSAY_OK)
    return status;
  if ((size_t)e->n_lets == e->let_capacity) {
    struct binding *more = arena_grow(e->arena, e->lets, (size_t)e->n_lets, &e->let_capacity, sizeof *more);
    if (!more)
      return eval_nomem(e);
    e->lets = more;
  }
  e->lets[e->n_lets++] = (struct binding){d->name, v};
  return ASSAY_OK;
}

static enum assay_status eval_scratch(struct evaluation *e, const struct directive *d) {
  int64_t count = 0, align = DEFAULT_ALIGNMENT;
  if (eval_find_buffer(e, d->name) >= 0 || eval_find_map(e, d->name))
    return eval_error(e, d->at, "the name %s is taken already", d->name);
  enum assay_status status = eval_integer(e, d->count, &count);
  if (status == ASSAY_OK && d->align)
    status = eval_integer(e, d->align, &align);
  if (status != ASSAY_OK)
    return status;
  if (count < 0 || count > INT64_MAX / 8 / (int64_t)d->type->size)
    return eval_error(e, d->count->at, "scratch of %" PRId64 " elements", count);
  if (align < 1 || align > MAX_ALIGNMENT || (align & (align - 1)))
    return eval_error(e, d->align->at, "an alignment of %" PRId64 ": powers of two up to %d are allowed", align,
                      MAX_ALIGNMENT);
  // A formula may come to nothing for a small workload, memory may not.
  count = count ? count : 1;
  struct plan_buffer b = {.name = arena_strdup(e->arena, d->name),
                          .role = PLAN_SCRATCH,
                          .tensor = {d->type->dtype, {.rank = 1, .dims = {count}}},
                          .bytes = (uint64_t)count * d->type->size,
                          .alignment = (uint32_t)align};
  return b.name ? add_buffer(e, d->at, &b) : eval_nomem(e);
}

// ---- steps

static enum assay_status eval_three(struct evaluation *e, const struct expr_list *list, const char *what, int64_t most,
                                    uint32_t out[3]) {
  for (int i = 0; i < 3; i++)
    out[i] = 1;
  for (int i = 0; i < list->n; i++) {
    int64_t v = 0;
    enum assay_status status = eval_integer(e, list->items[i], &v);
    if (status != ASSAY_OK)
      return status;
    if (v < 1 || v > most)
      return eval_error(e, list->items[i]->at, "%s.%c is %" PRId64 ": 1 to %" PRId64 " is allowed%s", what, "xyz"[i], v,
                        most, v == 0 ? " (leave the launch out with if=, or take max(1, ...))" : "");
    out[i] = (uint32_t)v;
  }
  return ASSAY_OK;
}

static enum assay_status eval_bounded(struct evaluation *e, const struct expr *x, const char *what, int64_t most,
                                      int64_t *out) {
  int64_t v = 0;
  enum assay_status status = eval_integer(e, x, &v);
  if (status == ASSAY_OK && (v < 0 || v > most))
    return eval_error(e, x->at, "%s is %" PRId64 ": 0 to %" PRId64 " is allowed", what, v, most);
  if (status == ASSAY_OK)
    *out = v;
  return status;
}

static enum assay_status no_cuda_words(struct evaluation *e, const struct directive *d) {
  const char *word = d->shared         ? "shared="
                     : d->cluster.n    ? "cluster="
                     : d->cooperative  ? "cooperative"
                     : d->programmatic ? "programmatic"
                     : d->carveout     ? "carveout="
                                       : NULL;
  if (!e->opencl || !word)
    return ASSAY_OK;
  return eval_error(e, d->at, "%s is for CUDA%s", word,
                    d->shared ? ": in OpenCL pass local(BYTES) as an argument" : "");
}

static enum assay_status eval_launch(struct evaluation *e, const struct directive *d) {
  int64_t shared = 0, carveout = -1;
  enum assay_status status;
  struct plan_step *s = new_step(e, d, &status);
  if (!s)
    return status;
  s->kind = PLAN_LAUNCH;
  s->kernel = arena_strdup(e->arena, e->kernels[d->kernel].symbol);
  s->label = arena_strdup(e->arena, d->name);
  s->cooperative = d->cooperative;
  s->programmatic = d->programmatic;
  if (!s->kernel || !s->label)
    return eval_nomem(e);
  status = no_cuda_words(e, d);
  if (status == ASSAY_OK)
    status = eval_three(e, &d->grid, "grid", INT32_MAX, s->grid);
  if (status == ASSAY_OK)
    status = eval_three(e, &d->block, "block", 1 << 16, s->block);
  if (status == ASSAY_OK && d->cluster.n > 0)
    status = eval_three(e, &d->cluster, "cluster", 16, s->cluster);
  if (status == ASSAY_OK && d->shared)
    status = eval_bounded(e, d->shared, "shared", 1 << 20, &shared);
  if (status == ASSAY_OK && d->carveout)
    status = eval_bounded(e, d->carveout, "carveout", 100, &carveout);
  s->shared_bytes = (uint32_t)shared;
  s->carveout = (int32_t)carveout;
  return status == ASSAY_OK ? eval_arguments(e, d, s) : status;
}

static enum assay_status not_an_input(struct evaluation *e, const struct place_expr *x, int buffer) {
  if (e->buffers[buffer].role != PLAN_INPUT)
    return ASSAY_OK;
  return eval_error(e, x->at, "%s is an input, which cannot be written", x->name);
}

// A count of elements after a place, as bytes.
static enum assay_status eval_count(struct evaluation *e, const struct expr *x, struct plan_place at, uint64_t *bytes) {
  const struct plan_buffer *b = &e->buffers[at.buffer];
  const uint32_t size = buffer_type(b)->size;
  const uint64_t left = b->bytes - (uint64_t)at.offset;
  int64_t count = (int64_t)(left / size);
  enum assay_status status = x ? eval_integer(e, x, &count) : ASSAY_OK;
  if (status == ASSAY_OK && (count < 0 || (uint64_t)count > left / size))
    return eval_error(e, x->at, "%" PRId64 " elements, but %s has %" PRIu64 " from there on", count, b->name,
                      left / size);
  *bytes = (uint64_t)count * size;
  return status;
}

static enum assay_status eval_fill(struct evaluation *e, const struct directive *d) {
  struct plan_place to;
  uint64_t bytes = 0;
  uint8_t pattern[8];
  enum assay_status status = eval_place(e, &d->to, &to);
  if (status == ASSAY_OK)
    status = not_an_input(e, &d->to, to.buffer);
  if (status == ASSAY_OK)
    status = eval_count(e, d->count, to, &bytes);
  if (status != ASSAY_OK)
    return status;
  const struct element_type *type = buffer_type(&e->buffers[to.buffer]);
  status = type_encode(e, type, d->value, pattern);
  if (status != ASSAY_OK || bytes == 0)
    return status;
  if (type->size == 8 && memcmp(pattern, pattern + 4, 4) != 0)
    return eval_error(e, d->value->at,
                      "a fill repeats 4 bytes: of %s only values like 0 and -1 can be filled in, "
                      "others need a kernel",
                      type->name);
  struct plan_step *s = new_step(e, d, &status);
  if (!s)
    return status;
  s->kind = PLAN_FILL;
  s->to = to;
  s->bytes = bytes;
  s->width = type->size == 8 ? 4 : type->size;
  for (uint32_t i = 0; i < s->width; i++)
    s->value |= (uint32_t)pattern[i] << (8 * i);
  return ASSAY_OK;
}

static enum assay_status eval_copy(struct evaluation *e, const struct directive *d) {
  struct plan_place to, from;
  uint64_t bytes = 0, again = 0;
  enum assay_status status = eval_place(e, &d->to, &to);
  if (status == ASSAY_OK)
    status = not_an_input(e, &d->to, to.buffer);
  if (status == ASSAY_OK)
    status = eval_place(e, &d->from, &from);
  if (status != ASSAY_OK)
    return status;
  const struct element_type *a = buffer_type(&e->buffers[to.buffer]), *b = buffer_type(&e->buffers[from.buffer]);
  if (a->size != b->size)
    return eval_error(e, d->from.at, "a copy does not convert: %s holds %s, %s holds %s", d->to.name, a->name,
                      d->from.name, b->name);
  status = eval_count(e, d->count, to, &bytes);
  if (status == ASSAY_OK)
    status = eval_count(e, d->count, from, &again);
  if (status != ASSAY_OK || bytes == 0)
    return status;
  struct plan_step *s = new_step(e, d, &status);
  if (!s)
    return status;
  s->kind = PLAN_COPY;
  s->to = to;
  s->from = from;
  s->bytes = bytes;
  return ASSAY_OK;
}

// ---- prepare

static enum assay_status eval_prepare(struct evaluation *e, const struct directive *d) {
  for (int i = 0; i < e->n_steps; i++) {
    const struct plan_step *s = &e->steps[i];
    int buffer = plan_call_buffer(s, e->buffers, e->subject);
    if (buffer >= 0)
      return eval_error(
          e, d->at, "what stands above `prepare` may use weights and scratch only: %s uses %s, which is %s",
          s->kind == PLAN_LAUNCH ? s->label
          : s->kind == PLAN_FILL ? "a fill"
                                 : "a copy",
          e->buffers[buffer].name, e->buffers[buffer].role == PLAN_INPUT ? "new in every call" : "an output");
  }
  e->n_prepare = e->n_steps;
  return ASSAY_OK;
}

// ---- all lines

static enum assay_status eval_require(struct evaluation *e, const struct directive *d) {
  struct value v;
  enum assay_status status = eval_value(e, d->value, &v);
  if (status == ASSAY_OK && (v.is_real ? v.real == 0 : v.integer == 0))
    return eval_error(e, d->at, "this workload is beyond the kernel: %s", d->sentence);
  return status;
}

static enum assay_status eval_line(struct evaluation *e, const struct directive *d) {
  struct value wanted = {.integer = 1};
  enum assay_status status = d->condition ? eval_value(e, d->condition, &wanted) : ASSAY_OK;
  if (status != ASSAY_OK || (wanted.is_real ? wanted.real == 0 : wanted.integer == 0))
    return status;
  switch (d->verb) {
  case VERB_LET:
    return eval_let(e, d);
  case VERB_SCRATCH:
    return eval_scratch(e, d);
  case VERB_LAUNCH:
    return eval_launch(e, d);
  case VERB_FILL:
    return eval_fill(e, d);
  case VERB_COPY:
    return eval_copy(e, d);
  case VERB_TENSOR_MAP:
    return eval_tensor_map(e, d);
  case VERB_PREPARE:
    return eval_prepare(e, d);
  case VERB_REQUIRE:
    return eval_require(e, d);
  }
  return ASSAY_OK;
}

enum assay_status directive_plan(const struct directive_set *set, const struct directive_kernel *kernels,
                                 const struct plan_subject *subject, struct plan *plan, struct assay_error *err) {
  struct evaluation e = {.set = set,
                         .kernels = kernels,
                         .subject = subject,
                         .arena = &plan->arena,
                         .err = err,
                         .opencl = plan->device->dialect == PLAN_OPENCL_LAUNCHES};
  enum assay_status status = add_tensors(&e);
  for (int i = 0; i < set->n && status == ASSAY_OK; i++)
    status = eval_line(&e, set->lines[i]);
  if (status != ASSAY_OK)
    return status;
  for (int i = 0; i < e.n_buffers; i++)
    if (e.buffers[i].role == PLAN_SCRATCH)
      e.buffers[i].tensor = (struct tensor_type){0}; // was for our own use; to a plan scratch is bytes
  plan->n_buffers = e.n_buffers;
  plan->buffers = e.buffers;
  plan->n_steps = e.n_steps;
  plan->steps = e.steps;
  plan->n_prepare = e.n_prepare;
  return ASSAY_OK;
}
