// SPDX-License-Identifier: Apache-2.0
// Directive lines: the arguments of a launch as bytes and pointers.
#include <inttypes.h>
#include <string.h>

#include "toolchain/directive/private.h"

// An argument under construction. Aggregates grow it field by field.
struct image {
  uint8_t *bytes;
  size_t size, capacity;
  struct plan_pointer *pointers;
  size_t n_pointers, pointer_capacity;
};

static bool reserve(struct evaluation *e, struct image *m, size_t size) {
  while (m->capacity < size) {
    uint8_t *more = arena_grow(e->arena, m->bytes, m->size, &m->capacity, 1);
    if (!more)
      return false;
    m->bytes = more;
  }
  return true;
}

static size_t align_up(size_t n, size_t alignment) {
  return (n + alignment - 1) / alignment * alignment;
}

// Grows with zeros; false when it is too much.
static bool pad_to(struct evaluation *e, struct image *m, size_t size) {
  if (size > PLAN_MAX_ARGUMENT_BYTES || !reserve(e, m, size))
    return false;
  if (size > m->size)
    memset(m->bytes + m->size, 0, size - m->size);
  m->size = size;
  return true;
}

// Room for a field, where C would put it; its offset, or -1 when it is too much.
static int64_t place_field(struct evaluation *e, struct image *m, uint32_t size) {
  size_t at = align_up(m->size, size);
  return pad_to(e, m, at + size) ? (int64_t)at : -1;
}

static enum assay_status too_large(struct evaluation *e, struct place at) {
  return eval_error(e, at, "more than %d bytes in an argument: pass a pointer", PLAN_MAX_ARGUMENT_BYTES);
}

// The buffer that `x + E` begins with, as the leaf of the tree; NULL when it begins with something else.
static const struct expr *base_of(const struct expr *x) {
  while (x->op == EXPR_ADD || x->op == EXPR_SUB)
    x = x->a;
  return x->op == EXPR_NAME ? x : NULL;
}

static enum assay_status add_pointer(struct evaluation *e, struct image *m, const struct expr *x,
                                     const struct expr *base, int buffer) {
  int64_t elements = 0, bytes = 0;
  e->base = base;
  enum assay_status status = eval_integer(e, x, &elements);
  e->base = NULL;
  if (status == ASSAY_OK)
    status = eval_offset(e, x->at, buffer, elements, &bytes);
  if (status != ASSAY_OK)
    return status;
  int64_t at = place_field(e, m, 8);
  if (at < 0)
    return too_large(e, x->at);
  if (m->n_pointers == m->pointer_capacity) {
    struct plan_pointer *more = arena_grow(e->arena, m->pointers, m->n_pointers, &m->pointer_capacity, sizeof *more);
    if (!more)
      return eval_nomem(e);
    m->pointers = more;
  }
  m->pointers[m->n_pointers++] = (struct plan_pointer){.at = (uint32_t)at, .buffer = buffer, .offset = bytes};
  return ASSAY_OK;
}

static enum assay_status add_scalar(struct evaluation *e, struct image *m, const struct element_type *type,
                                    const struct expr *x) {
  uint8_t bytes[8];
  enum assay_status status = type_encode(e, type, x, bytes);
  if (status != ASSAY_OK)
    return status;
  int64_t at = place_field(e, m, type->size);
  if (at < 0)
    return too_large(e, x->at);
  memcpy(m->bytes + at, bytes, type->size);
  return ASSAY_OK;
}

// An integer without a type, as wide as the parameter. Whether the parameter has a sign is not known, so that both
// ranges are let through.
static enum assay_status add_integer(struct evaluation *e, struct image *m, const struct expr *x, uint32_t width) {
  int64_t v = 0;
  enum assay_status status = eval_integer(e, x, &v);
  if (status != ASSAY_OK)
    return status;
  if (width != 1 && width != 2 && width != 4 && width != 8)
    return eval_error(e, x->at,
                      width == DIRECTIVE_SIZE_UNKNOWN
                          ? "the width of this number is not known: write int(...), long(...), float(...)"
                          : "an integer for a parameter of %" PRIu32 " bytes: it wants a tensor_map, or a "
                            "struct as {...}",
                      width);
  if (width < 8 && (v < -(INT64_C(1) << (8 * width - 1)) || v >= INT64_C(1) << (8 * width)))
    return eval_error(e, x->at,
                      "%" PRId64 " does not fit into the kernel's parameter of %" PRIu32 " bytes: make it "
                      "long in the kernel",
                      v, width);
  int64_t at = place_field(e, m, width);
  if (at < 0)
    return too_large(e, x->at);
  for (uint32_t i = 0; i < width; i++)
    m->bytes[at + i] = (uint8_t)((uint64_t)v >> (8 * i));
  return ASSAY_OK;
}

static enum assay_status add_field(struct evaluation *e, struct image *m, const struct argument *a, uint32_t width);

// The alignment of a struct must be known before its first byte is placed: by the same walk without values.
static uint32_t alignment_of(const struct argument *a) {
  uint32_t most = 1;
  if (a->kind == ARGUMENT_TYPED)
    return a->type->size;
  if (a->kind != ARGUMENT_STRUCT)
    return 8; // pointers; integers without a type are refused in structs
  for (int i = 0; i < a->n; i++) {
    uint32_t one = alignment_of(a->fields[i]);
    most = one > most ? one : most;
  }
  return most;
}

static enum assay_status add_struct(struct evaluation *e, struct image *m, const struct argument *a) {
  uint32_t alignment = alignment_of(a);
  if (!pad_to(e, m, align_up(m->size, alignment)))
    return too_large(e, a->at);
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < a->n && status == ASSAY_OK; i++)
    status = add_field(e, m, a->fields[i], DIRECTIVE_SIZE_UNKNOWN);
  if (status != ASSAY_OK)
    return status;
  return pad_to(e, m, align_up(m->size, alignment)) ? ASSAY_OK : too_large(e, a->at);
}

static enum assay_status add_field(struct evaluation *e, struct image *m, const struct argument *a, uint32_t width) {
  const struct expr *base = a->kind == ARGUMENT_EXPR ? base_of(a->expr) : NULL;
  int buffer = base ? eval_find_buffer(e, base->name) : -1;
  switch (a->kind) {
  case ARGUMENT_STRUCT:
    return add_struct(e, m, a);
  case ARGUMENT_TYPED:
    return add_scalar(e, m, a->type, a->expr);
  case ARGUMENT_NULL:
    return place_field(e, m, 8) < 0 ? too_large(e, a->at) : ASSAY_OK;
  case ARGUMENT_LOCAL:
    return eval_error(e, a->at, "local(...) cannot stand in a struct");
  case ARGUMENT_EXPR:
    break;
  }
  if (base && buffer < 0 && eval_find_map(e, base->name))
    return eval_error(
        e, a->at, "the tensor_map %s must be a parameter of its own (const __grid_constant__ CUtensorMap)", base->name);
  return buffer >= 0 ? add_pointer(e, m, a->expr, base, buffer) : add_integer(e, m, a->expr, width);
}

static enum assay_status local_memory(struct evaluation *e, const struct argument *a, struct plan_argument *out) {
  int64_t bytes = 0;
  enum assay_status status = eval_integer(e, a->expr, &bytes);
  if (status != ASSAY_OK)
    return status;
  if (!e->opencl)
    return eval_error(e, a->at, "local(...) is for OpenCL: CUDA's shared memory is asked for with shared=");
  if (bytes < 1 || bytes > 16 << 20)
    return eval_error(e, a->at, "local memory of %" PRId64 " bytes: from 1 byte to 16 MiB", bytes);
  *out = (struct plan_argument){.kind = PLAN_LOCAL_MEMORY, .size = (uint32_t)bytes};
  return ASSAY_OK;
}

static enum assay_status fits(struct evaluation *e, const struct directive *d, int index, uint32_t size) {
  const struct directive_kernel *k = &e->kernels[d->kernel];
  uint32_t wanted = k->n_parameters < 0 ? DIRECTIVE_SIZE_UNKNOWN : k->sizes[index];
  const struct argument *a = d->arguments[index];
  if (wanted == DIRECTIVE_SIZE_UNKNOWN || wanted == size)
    return ASSAY_OK;
  if (wanted == DIRECTIVE_SIZE_LOCAL)
    return eval_error(e, a->at, "parameter %d of %s is local memory: write local(BYTES)", index + 1, d->name);
  if (size == DIRECTIVE_SIZE_LOCAL)
    return eval_error(e, a->at, "parameter %d of %s is not local memory", index + 1, d->name);
  return eval_error(e, a->at, "parameter %d of %s has %" PRIu32 " bytes, this argument %" PRIu32 "%s", index + 1,
                    d->name, wanted, size,
                    wanted == 128               ? ": it wants a tensor_map"
                    : size == 128               ? ": a tensor_map goes to a `const __grid_constant__ CUtensorMap`"
                    : a->kind == ARGUMENT_TYPED ? ": choose a type of that width"
                                                : "");
}

static enum assay_status eval_argument(struct evaluation *e, const struct directive *d, int index,
                                       struct plan_argument *out) {
  const struct directive_kernel *k = &e->kernels[d->kernel];
  const struct argument *a = d->arguments[index];
  struct image m = {0};
  bool name = a->kind == ARGUMENT_EXPR && a->expr->op == EXPR_NAME;
  const struct plan_tensor_map *map =
      name && eval_find_buffer(e, a->expr->name) < 0 ? eval_find_map(e, a->expr->name) : NULL;
  if (a->kind == ARGUMENT_LOCAL) {
    enum assay_status local = local_memory(e, a, out);
    return local == ASSAY_OK ? fits(e, d, index, DIRECTIVE_SIZE_LOCAL) : local;
  }
  if (map) {
    *out = (struct plan_argument){.kind = PLAN_TENSOR_MAP, .size = 128, .map = map};
    return fits(e, d, index, 128);
  }
  enum assay_status status = add_field(e, &m, a, k->n_parameters < 0 ? DIRECTIVE_SIZE_UNKNOWN : k->sizes[index]);
  if (status != ASSAY_OK)
    return status;
  *out = (struct plan_argument){.kind = PLAN_BYTES,
                                .size = (uint32_t)m.size,
                                .bytes = m.bytes,
                                .n_pointers = (int)m.n_pointers,
                                .pointers = m.pointers};
  return fits(e, d, index, (uint32_t)m.size);
}

enum assay_status eval_arguments(struct evaluation *e, const struct directive *d, struct plan_step *step) {
  const struct directive_kernel *k = &e->kernels[d->kernel];
  if (k->n_parameters >= 0 && k->n_parameters != d->n_arguments)
    return eval_error(e, d->at, "%s takes %d parameter%s, args= gives %d", d->name, k->n_parameters,
                      k->n_parameters == 1 ? "" : "s", d->n_arguments);
  struct plan_argument *list = arena_calloc(e->arena, (size_t)d->n_arguments + 1, sizeof *list);
  if (!list)
    return eval_nomem(e);
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < d->n_arguments && status == ASSAY_OK; i++)
    status = eval_argument(e, d, i, &list[i]);
  step->n_arguments = d->n_arguments;
  step->arguments = list;
  return status;
}
