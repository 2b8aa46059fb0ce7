// SPDX-License-Identifier: Apache-2.0
// Tensors out of nothing but attributes and shapes, on a device.
#include "oracle/cuda/gpu_table.h"
#include "oracle/cuda/move.h"

#include <string.h>

#include "base/alloc.h"

// A tensor's elements as the oracle holds them; heap memory.
static enum assay_status words_of(const struct tensor *t, uint64_t **out, struct assay_error *err) {
  struct array a;
  enum assay_status status = array_from_tensor(t, &a, err);
  if (!status)
    *out = a.bits;
  return status;
}

// The one attribute that holds the value is checked by inference.
static const struct attr *value_of(const struct node *node) {
  static const char *const names[] = {"value", "value_float", "value_floats", "value_int", "value_ints"};
  const struct attr *a = NULL;
  for (int i = 0; i < 5 && !a; i++)
    a = node_attr(node, names[i]);
  return a;
}

static enum assay_status upload_words(struct gpu_eval *c, const void *words, struct assay_error *err) {
  int64_t n = shape_count(&c->out[0].shape);
  return n > 0 ? compute_upload(c->compute, c->out[0].data, words, (size_t)n * 8, err) : ASSAY_OK;
}

enum assay_status gpu_constant_eval(struct gpu_eval *c, struct assay_error *err) {
  const struct attr *a = value_of(c->node);
  if (!a->tensor)
    return upload_words(c, a->floats ? (const void *)a->floats : (const void *)a->ints, err);
  uint64_t *words = NULL;
  enum assay_status status = words_of(a->tensor, &words, err);
  if (!status)
    status = upload_words(c, words, err);
  base_free(words);
  return status;
}

enum assay_status gpu_constant_of_shape_eval(struct gpu_eval *c, struct assay_error *err) {
  const struct attr *value = node_attr(c->node, "value");
  uint64_t *word = NULL;
  enum assay_status status = value ? words_of(value->tensor, &word, err) : ASSAY_OK;
  if (!status)
    status = gpu_fill(c, c->out[0].data, shape_count(&c->out[0].shape), word ? *word : 0, err);
  base_free(word);
  return status;
}

// Start and end from a node's attributes, clamped to the rank.
static int bound(const struct node *node, const char *name, int rank, int fallback) {
  int64_t b = node_int(node, name, fallback);
  b += b < 0 ? rank : 0;
  return b < 0 ? 0 : b > rank ? rank : (int)b;
}

enum assay_status gpu_shape_eval(struct gpu_eval *c, struct assay_error *err) {
  const struct shape *x = &c->in[0]->shape;
  return upload_words(c, x->dims + bound(c->node, "start", x->rank, 0), err); // as many as the output has
}

enum assay_status gpu_size_eval(struct gpu_eval *c, struct assay_error *err) {
  int64_t n = shape_count(&c->in[0]->shape);
  return upload_words(c, &n, err);
}

enum assay_status gpu_eye_eval(struct gpu_eval *c, struct assay_error *err) {
  const struct shape *s = &c->out[0].shape;
  double one = 1;
  struct diagonal_args a = {.y = c->out[0].data,
                            .one = 1,
                            .count = shape_count(s),
                            .rows = s->dims[0],
                            .columns = s->dims[1],
                            .k = node_int(c->node, "k", 0)};
  if (dtype_is_float(c->out[0].dtype))
    memcpy(&a.one, &one, sizeof one);
  return compute_launch(c->compute, &gpu_move_program, "move_eye", a.count, &a, sizeof a, err);
}

enum assay_status gpu_range_eval(struct gpu_eval *c, struct assay_error *err) {
  struct range_args a = {.start = gpu_ref_of(c->in[0]),
                         .delta = gpu_ref_of(c->in[2]),
                         .arith = gpu_arith_of(&c->arith),
                         .y = c->out[0].data,
                         .count = shape_count(&c->out[0].shape)};
  return compute_launch(c->compute, &gpu_move_program, "move_range", a.count, &a, sizeof a, err);
}
