// SPDX-License-Identifier: Apache-2.0
#include "ops/window.h"

#include <string.h>

#define LARGEST ((int64_t)1 << 22) // of any attribute: times an extent it stays inside 64 bits

// An attribute with one value a spatial dimension (or two, for pads); absent: `fallback` everywhere.
static enum assay_status read_ints(const struct node *node, const char *name, int count, int64_t least,
                                   int64_t fallback, int64_t *values, struct assay_error *err) {
  const struct attr *a = node_attr(node, name);
  for (int i = 0; i < count; i++)
    values[i] = fallback;
  if (!a || a->count == 0)
    return ASSAY_OK;
  if (a->count != (size_t)count)
    return op_invalid(node, err, "%s has %d values, but the input calls for %d", name, (int)a->count, count);
  for (int i = 0; i < count; i++) {
    if (a->ints[i] < least || a->ints[i] > LARGEST)
      return op_invalid(node, err, "%s: %lld is not between %lld and 2^22", name, (long long)a->ints[i],
                        (long long)least);
    values[i] = a->ints[i];
  }
  return ASSAY_OK;
}

static enum assay_status read_common(const struct op_infer *c, const int64_t *kernel, struct window *w,
                                     struct assay_error *err) {
  const struct shape *x = &c->in[0]->shape;
  int64_t kernels[WINDOW_MAX_DIMS], strides[WINDOW_MAX_DIMS], dilations[WINDOW_MAX_DIMS], pads[2 * WINDOW_MAX_DIMS];
  memset(w, 0, sizeof *w);
  if (x->rank < 3)
    return op_invalid(c->node, err, "the input must have at least 3 dimensions (N, C, D1, ...), not %d", x->rank);
  w->n = x->rank - 2;
  enum assay_status status = read_ints(c->node, "kernel_shape", w->n, 1, 0, kernels, err);
  if (!status)
    status = read_ints(c->node, "strides", w->n, 1, 1, strides, err);
  if (!status)
    status = read_ints(c->node, "dilations", w->n, 1, 1, dilations, err);
  if (!status)
    status = read_ints(c->node, "pads", 2 * w->n, 0, 0, pads, err);
  for (int i = 0; i < w->n && !status; i++) {
    if (kernel && kernels[i] != 0 && kernels[i] != kernel[i])
      return op_invalid(c->node, err, "kernel_shape says %lld where the weights have %lld", (long long)kernels[i],
                        (long long)kernel[i]);
    w->d[i] = (struct window_dim){.in = x->dims[i + 2],
                                  .kernel = kernel ? kernel[i] : kernels[i],
                                  .stride = strides[i],
                                  .dilation = dilations[i],
                                  .pad_begin = pads[i],
                                  .pad_end = pads[w->n + i]};
    if (w->d[i].kernel < 1 || w->d[i].kernel > LARGEST)
      return op_invalid(c->node, err, "the kernel's extent %lld along spatial dimension %d makes no sense",
                        (long long)w->d[i].kernel, i);
  }
  return status;
}

// From the first to the last element that the window touches.
static int64_t reach(const struct window_dim *d) {
  return (d->kernel - 1) * d->dilation + 1;
}

static void split_padding(struct window_dim *d, int64_t total, bool larger_end) {
  total = total > 0 ? total : 0;
  d->pad_begin = larger_end ? total / 2 : total - total / 2;
  d->pad_end = total - d->pad_begin;
}

static enum assay_status known_auto_pad(const struct node *node, const char **out, struct assay_error *err) {
  static const char *const names[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
  *out = node_string(node, "auto_pad", "NOTSET");
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp(*out, names[i]) == 0)
      return ASSAY_OK;
  return op_invalid(node, err, "auto_pad = \"%s\" is none of NOTSET, SAME_UPPER, SAME_LOWER, VALID", *out);
}

// With ceil_mode the last window may hang over the end, but not begin in the padding after it.
static int64_t extent_out(const struct window_dim *d, bool ceil_mode) {
  int64_t room = d->in + d->pad_begin + d->pad_end - reach(d);
  if (room < 0)
    return 0;
  int64_t out = room / d->stride + 1;
  if (ceil_mode && room % d->stride != 0 && out * d->stride < d->in + d->pad_begin)
    out++;
  return out;
}

enum assay_status window_read(const struct op_infer *c, const int64_t *kernel, struct window *w,
                              struct assay_error *err) {
  const char *auto_pad;
  enum assay_status status = read_common(c, kernel, w, err);
  if (!status)
    status = known_auto_pad(c->node, &auto_pad, err);
  if (status)
    return status;
  bool ceil_mode = node_int(c->node, "ceil_mode", 0) != 0;
  for (int i = 0; i < w->n; i++) {
    struct window_dim *d = &w->d[i];
    if (strcmp(auto_pad, "VALID") == 0) {
      d->pad_begin = d->pad_end = 0;
    } else if (auto_pad[0] == 'S') {
      int64_t out = (d->in + d->stride - 1) / d->stride;
      split_padding(d, (out - 1) * d->stride + reach(d) - d->in, strcmp(auto_pad, "SAME_UPPER") == 0);
    }
    d->out = extent_out(d, ceil_mode);
    if (d->out < 1)
      return op_invalid(c->node, err,
                        "the window reaches over %lld elements, but spatial dimension %d has %lld with its padding",
                        (long long)reach(d), i, (long long)(d->in + d->pad_begin + d->pad_end));
  }
  return ASSAY_OK;
}

enum assay_status window_read_transposed(const struct op_infer *c, const int64_t *kernel, struct window *w,
                                         struct assay_error *err) {
  const char *auto_pad;
  int64_t extra[WINDOW_MAX_DIMS], wanted[WINDOW_MAX_DIMS] = {0};
  enum assay_status status = read_common(c, kernel, w, err);
  if (!status)
    status = known_auto_pad(c->node, &auto_pad, err);
  if (!status)
    status = read_ints(c->node, "output_padding", w->n, 0, 0, extra, err);
  if (status)
    return status;
  const struct attr *shape = node_attr(c->node, "output_shape");
  if (shape && shape->count > 0) {
    // Some models give the batch and channel extents too; only the spatial ones mean anything.
    if (shape->count != (size_t)w->n && shape->count != (size_t)w->n + 2)
      return op_invalid(c->node, err, "output_shape has %d values, but the input calls for %d", (int)shape->count,
                        w->n);
    for (int i = 0; i < w->n; i++)
      wanted[i] = shape->ints[shape->count - (size_t)w->n + (size_t)i];
  }
  for (int i = 0; i < w->n; i++) {
    struct window_dim *d = &w->d[i];
    int64_t whole = (d->in - 1) * d->stride + extra[i] + reach(d);
    if (shape && shape->count > 0)
      d->out = wanted[i];
    else if (auto_pad[0] == 'S')
      d->out = d->in * d->stride;
    else if (strcmp(auto_pad, "VALID") == 0)
      d->out = whole;
    else
      d->out = whole - d->pad_begin - d->pad_end;
    if ((shape && shape->count > 0) || auto_pad[0] == 'S')
      split_padding(d, whole - d->out, strcmp(auto_pad, "SAME_UPPER") == 0);
    else if (auto_pad[0] == 'V')
      d->pad_begin = d->pad_end = 0;
    if (d->in < 1 || d->out < 1 || d->out > SHAPE_MAX_ELEMENTS)
      return op_invalid(c->node, err, "spatial dimension %d would have %lld outputs; check pads and output_shape", i,
                        (long long)d->out);
  }
  return ASSAY_OK;
}

bool taps_forward(const struct window_dim *d, struct arena *arena, struct taps *t) {
  *t = (struct taps){.count = d->out, .start = 0, .step = 1, .in_step = d->stride, .in = d->in, .n = d->kernel};
  t->kernel = arena_calloc(arena, (size_t)d->kernel, sizeof *t->kernel);
  t->offset = arena_calloc(arena, (size_t)d->kernel, sizeof *t->offset);
  if (!t->kernel || !t->offset)
    return false;
  for (int64_t k = 0; k < d->kernel; k++) {
    t->kernel[k] = k;
    t->offset[k] = k * d->dilation - d->pad_begin;
  }
  return true;
}

bool taps_transposed(const struct window_dim *d, int64_t residue, struct arena *arena, struct taps *t) {
  *t = (struct taps){.start = residue, .step = d->stride, .in_step = 1, .in = d->in};
  t->count = residue < d->out ? (d->out - residue + d->stride - 1) / d->stride : 0;
  t->kernel = arena_calloc(arena, (size_t)d->kernel, sizeof *t->kernel);
  t->offset = arena_calloc(arena, (size_t)d->kernel, sizeof *t->offset);
  if (!t->kernel || !t->offset)
    return false;
  // Input i adds its product with tap k to output i * stride + k * dilation - pad_begin.
  for (int64_t k = 0; k < d->kernel; k++) {
    int64_t at = residue + d->pad_begin - k * d->dilation;
    if (at % d->stride == 0) {
      t->kernel[t->n] = k;
      t->offset[t->n++] = at / d->stride;
    }
  }
  return true;
}

void taps_range(const struct taps *t, int64_t i, int64_t begin, int64_t end, int64_t *from, int64_t *to) {
  int64_t offset = t->offset[i], step = t->in_step;
  int64_t first = offset >= 0 ? 0 : (-offset + step - 1) / step;
  int64_t beyond = offset >= t->in ? 0 : (t->in - 1 - offset) / step + 1;
  *from = first > begin ? first : begin;
  *from = *from < end ? *from : end; // a short range may lie outside altogether
  *to = beyond < end ? beyond : end;
  if (*to < *from)
    *to = *from;
}

int64_t taps_inside(const struct taps *t, int64_t q) {
  int64_t n = 0;
  for (int64_t i = 0; i < t->n; i++) {
    int64_t at = q * t->in_step + t->offset[i];
    n += at >= 0 && at < t->in;
  }
  return n;
}
