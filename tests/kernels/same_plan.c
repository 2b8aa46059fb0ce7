// SPDX-License-Identifier: Apache-2.0
#include "same_plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "plan/names.h"

enum { UNKNOWN = -1 };

struct comparison {
  const struct plan *a, *b;
  int step;
  int b_of[PLAN_MAX_BUFFERS], a_of[PLAN_MAX_BUFFERS]; // which buffer of the other plan, or UNKNOWN
  char *what;
  size_t size;
};

__attribute__((format(printf, 2, 3))) static bool differs(const struct comparison *c, const char *fmt, ...) {
  int n = c->step < 0 ? 0 : snprintf(c->what, c->size, "step %d: ", c->step);
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(c->what + n, c->size - (size_t)n, fmt, ap);
  va_end(ap);
  return false;
}

// The first use of a buffer in either plan pairs it with a buffer of the other.
static bool same_buffer(struct comparison *c, int i, int j) {
  const struct plan_buffer *a = &c->a->buffers[i], *b = &c->b->buffers[j];
  if (c->b_of[i] == j && c->a_of[j] == i)
    return true;
  if (c->b_of[i] != UNKNOWN || c->a_of[j] != UNKNOWN)
    return differs(c, "buffer %s here is not the %s that it was before", a->name, b->name);
  if (a->role != b->role)
    return differs(c, "buffer %s is %s, %s is %s", a->name, plan_role_names[a->role], b->name,
                   plan_role_names[b->role]);
  if ((a->role == PLAN_INPUT || a->role == PLAN_OUTPUT) && a->index != b->index)
    return differs(c, "%s and %s are not the same tensor", a->name, b->name);
  if (a->bytes != b->bytes)
    return differs(c, "%s has %llu bytes, %s %llu", a->name, (unsigned long long)a->bytes, b->name,
                   (unsigned long long)b->bytes);
  if (a->role == PLAN_CONSTANT && memcmp(a->data, b->data, a->bytes) != 0)
    return differs(c, "the constants %s and %s hold other bytes", a->name, b->name);
  c->b_of[i] = j;
  c->a_of[j] = i;
  return true;
}

static bool same_place(struct comparison *c, int i, int64_t i_offset, int j, int64_t j_offset) {
  if (!same_buffer(c, i, j))
    return false;
  if (i_offset == j_offset)
    return true;
  return differs(c, "%s+%lld and %s+%lld", c->a->buffers[i].name, (long long)i_offset, c->b->buffers[j].name,
                 (long long)j_offset);
}

static bool same_map(struct comparison *c, const struct plan_tensor_map *a, const struct plan_tensor_map *b) {
  if (!same_place(c, a->buffer, a->offset, b->buffer, b->offset))
    return false;
  if (a->data_type != b->data_type || a->rank != b->rank)
    return differs(c, "tensor maps of type %u, rank %u and type %u, rank %u", a->data_type, a->rank, b->data_type,
                   b->rank);
  if (a->interleave != b->interleave || a->swizzle != b->swizzle || a->l2_promotion != b->l2_promotion ||
      a->oob_fill != b->oob_fill)
    return differs(c, "tensor maps with other modes (swizzle %u and %u, L2 %u and %u)", a->swizzle, b->swizzle,
                   a->l2_promotion, b->l2_promotion);
  for (uint32_t i = 0; i < a->rank; i++)
    if (a->dims[i] != b->dims[i] || a->box[i] != b->box[i] || a->element_strides[i] != b->element_strides[i] ||
        (i + 1 < a->rank && a->strides[i] != b->strides[i]))
      return differs(c, "tensor maps: dimension %u is %llu in boxes of %u, and %llu in boxes of %u (or the strides)", i,
                     (unsigned long long)a->dims[i], a->box[i], (unsigned long long)b->dims[i], b->box[i]);
  return true;
}

static bool same_argument(struct comparison *c, int index, const struct plan_argument *a,
                          const struct plan_argument *b) {
  if (a->kind != b->kind || a->size != b->size)
    return differs(c, "argument %d has %u bytes and %u bytes, or is of another kind", index, a->size, b->size);
  if (a->kind == PLAN_TENSOR_MAP)
    return same_map(c, a->map, b->map);
  if (a->kind != PLAN_BYTES)
    return true;
  if (a->n_pointers != b->n_pointers)
    return differs(c, "argument %d has %d and %d pointers", index, a->n_pointers, b->n_pointers);
  for (int i = 0; i < a->n_pointers; i++) {
    const struct plan_pointer *p = &a->pointers[i], *q = &b->pointers[i];
    if (p->at != q->at)
      return differs(c, "argument %d has pointers at bytes %u and %u", index, p->at, q->at);
    if (!same_place(c, p->buffer, p->offset, q->buffer, q->offset))
      return false;
  }
  if (memcmp(a->bytes, b->bytes, a->size) == 0)
    return true;
  long long x = 0, y = 0;
  memcpy(&x, a->bytes, a->size < sizeof x ? a->size : sizeof x);
  memcpy(&y, b->bytes, b->size < sizeof y ? b->size : sizeof y);
  return differs(c, "argument %d is %lld and %lld", index, x, y);
}

// A kernel without linkage gets a name that has the file's in it, which is not the same in two builds: the part that
// the author wrote is compared then.
static bool same_kernel(const struct plan_step *a, const struct plan_step *b) {
  if (strcmp(a->kernel, b->kernel) == 0)
    return true;
  const char *x = strstr(a->kernel, "__Z"), *y = strstr(b->kernel, "__Z");
  x = x ? x + 2 : a->kernel;
  y = y ? y + 2 : b->kernel;
  return strcmp(x, y) == 0;
}

static bool same_three(const struct comparison *c, const char *name, const uint32_t *a, const uint32_t *b,
                       uint32_t unsaid) {
  for (int i = 0; i < 3; i++)
    if ((a[i] ? a[i] : unsaid) != (b[i] ? b[i] : unsaid))
      return differs(c, "%s %u, %u, %u and %u, %u, %u", name, a[0], a[1], a[2], b[0], b[1], b[2]);
  return true;
}

static bool same_launch(struct comparison *c, const struct plan_step *a, const struct plan_step *b) {
  if (!same_kernel(a, b))
    return differs(c, "kernels %s and %s", a->kernel, b->kernel);
  // A cluster of one block is the same as no cluster.
  if (!same_three(c, "grid", a->grid, b->grid, 0) || !same_three(c, "block", a->block, b->block, 0) ||
      !same_three(c, "cluster", a->cluster, b->cluster, 1))
    return false;
  if (a->shared_bytes != b->shared_bytes)
    return differs(c, "%u and %u bytes of shared memory", a->shared_bytes, b->shared_bytes);
  if (a->cooperative != b->cooperative || a->programmatic != b->programmatic || a->carveout != b->carveout)
    return differs(c, "cooperative %d and %d, programmatic %d and %d, carveout %d and %d", a->cooperative,
                   b->cooperative, a->programmatic, b->programmatic, a->carveout, b->carveout);
  if (a->n_arguments != b->n_arguments)
    return differs(c, "%d and %d arguments", a->n_arguments, b->n_arguments);
  for (int i = 0; i < a->n_arguments; i++)
    if (!same_argument(c, i, &a->arguments[i], &b->arguments[i]))
      return false;
  return true;
}

static bool same_step(struct comparison *c, const struct plan_step *a, const struct plan_step *b) {
  if (a->kind != b->kind)
    return differs(c, "%s and %s", plan_step_names[a->kind], plan_step_names[b->kind]);
  if (a->kind == PLAN_LAUNCH)
    return same_launch(c, a, b);
  if (a->bytes != b->bytes)
    return differs(c, "%llu and %llu bytes", (unsigned long long)a->bytes, (unsigned long long)b->bytes);
  if (a->kind != PLAN_FILL && !same_place(c, a->from.buffer, a->from.offset, b->from.buffer, b->from.offset))
    return false;
  if (a->kind == PLAN_SET_SYMBOL)
    return strcmp(a->symbol, b->symbol) == 0 && a->to.offset == b->to.offset ? true : differs(c, "other variables");
  if (!same_place(c, a->to.buffer, a->to.offset, b->to.buffer, b->to.offset))
    return false;
  // Zero is zero in elements of any width.
  if (a->kind == PLAN_FILL && (a->value != b->value || (a->value && a->width != b->width)))
    return differs(c, "fills with 0x%x by %u and 0x%x by %u bytes", a->value, a->width, b->value, b->width);
  return true;
}

bool same_plan(const struct plan *a, const struct plan *b, char *what, size_t size) {
  struct comparison c = {.a = a, .b = b, .step = -1, .what = what, .size = size};
  for (int i = 0; i < PLAN_MAX_BUFFERS; i++)
    c.a_of[i] = c.b_of[i] = UNKNOWN;
  if (a->n_steps != b->n_steps || a->n_prepare != b->n_prepare)
    return differs(&c, "%d steps (%d prepare) and %d steps (%d prepare)", a->n_steps, a->n_prepare, b->n_steps,
                   b->n_prepare);
  for (c.step = 0; c.step < a->n_steps; c.step++)
    if (!same_step(&c, &a->steps[c.step], &b->steps[c.step]))
      return false;
  return true;
}
