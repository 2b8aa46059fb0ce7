// SPDX-License-Identifier: Apache-2.0
#include "task/given.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/hash.h"
#include "task/checkpoint.h"

// Elements that are converted at once, and names that a message has at most.
enum { CHUNK = 2048, NAMED = 3 };

struct given {
  struct checkpoint file;
  const struct safetensor **of_input; // NULL: drawn
  char hash[HASH_HEX_BYTES];
};

enum assay_status given_hash(const char *path, char hex[65], struct assay_error *err) {
  struct checkpoint c;
  enum assay_status status = checkpoint_open(path, &c, err);
  if (status)
    return status;
  status = checkpoint_hash(&c, hex, err);
  checkpoint_close(&c);
  return status;
}

// A name's character as inputs are called.
static char as_input(char c) {
  return c == '.' ? '_' : c;
}

// Whether the last characters of `name` are those of `end`, at the beginning of a word.
static bool ends_so(const char *name, const char *end) {
  size_t n = strlen(name), m = strlen(end);
  if (m > n || (m < n && as_input(name[n - m - 1]) != '_'))
    return false;
  for (size_t i = 0; i < m; i++)
    if (as_input(name[n - m + i]) != as_input(end[i]))
      return false;
  return true;
}

// How a tensor's name fits an input's: 2 the same, 1 one is the other's end, 0 not.
static int fits(const char *input, const char *tensor) {
  bool one = ends_so(input, tensor), other = ends_so(tensor, input);
  return one && other ? 2 : one || other ? 1 : 0;
}

// Whether both are the same bytes, as a tied one that was left out is the one that is there.
static bool is_same(const struct safetensor *a, const struct safetensor *b) {
  return a->file == b->file && a->at == b->at && a->bytes == b->bytes && a->dtype == b->dtype;
}

// The tensor that fits best; NULL if there is none. _INVALID: there are several.
static enum assay_status find_tensor(const struct safetensors *all, const char *input, const struct safetensor **out,
                                     struct assay_error *err) {
  const struct safetensor *best = NULL, *again = NULL;
  int most = 0;
  for (int i = 0; i < all->n; i++) {
    const struct safetensor *t = &all->tensors[i];
    int n = fits(input, t->name);
    if (n > most) {
      most = n;
      best = t;
      again = NULL;
    } else if (n == most && n > 0 && !is_same(best, t)) {
      again = t;
    }
  }
  if (again)
    return error_set(err, ASSAY_ERR_INVALID,
                     "for the input %s there are the tensors '%.100s' and '%.100s': write the file with one of them",
                     input, best->name, again->name);
  *out = best;
  return ASSAY_OK;
}

static void put_shape(char *text, size_t size, const struct shape *s) {
  size_t used = (size_t)snprintf(text, size, "[");
  for (int i = 0; i < s->rank && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, i ? ", %lld" : "%lld", (long long)s->dims[i]);
  if (used < size)
    snprintf(text + used, size - used, "]");
}

static enum assay_status check_tensor(const struct workload *w, const struct array *input, const char *name,
                                      const struct safetensor *tensor, struct assay_error *err) {
  char there[128], here[128];
  if (tensor->dtype == DTYPE_UNDEFINED)
    return error_set(err, ASSAY_ERR_INVALID,
                     "the tensor '%.100s' has a type that is not computed with: write it as F32, F16 or BF16",
                     tensor->name);
  if (dtype_is_float(tensor->dtype) != dtype_is_float(input->dtype))
    return error_set(err, ASSAY_ERR_INVALID, "the tensor '%.100s' has the type %s, which is not converted to %s's %s",
                     tensor->name, dtype_name(tensor->dtype), name, dtype_name(input->dtype));
  if (shape_equal(&tensor->shape, &input->shape))
    return ASSAY_OK;
  put_shape(there, sizeof there, &tensor->shape);
  put_shape(here, sizeof here, &input->shape);
  error_set(err, ASSAY_ERR_INVALID, "the tensor '%.100s' has the shape %s, the input %s has %s at the workload %s",
            tensor->name, there, name, here, w->name);
  if (strcmp(w->name, "full") == 0)
    return err->status;
  char said[sizeof err->message];
  snprintf(said, sizeof said, "%s", err->message);
  return error_set(err, ASSAY_ERR_INVALID, "%s; try --workload full", said);
}

// A table of the shape that no input has.
static const struct safetensor *unused_of_shape(const struct given *g, int n_inputs, const struct shape *shape) {
  for (int i = 0; i < g->file.of_all.n && shape->rank > 1; i++) {
    const struct safetensor *t = &g->file.of_all.tensors[i];
    bool used = !shape_equal(&t->shape, shape);
    for (int j = 0; j < n_inputs && !used; j++)
      used = g->of_input[j] == t;
    if (!used)
      return t;
  }
  return NULL;
}

// Which weights the file lacks, and what to do. first: one of them.
static enum assay_status missing(const struct task *t, const struct given *g, const struct array *inputs, int first,
                                 struct assay_error *err) {
  struct buf names = {0};
  int lacks = 0, weights = 0;
  for (int i = 0; i < t->n_inputs; i++) {
    weights += t->inputs[i].distribution.is_static;
    if (!t->inputs[i].distribution.is_static || g->of_input[i])
      continue;
    if (lacks++ < NAMED)
      buf_printf(&names, "%s%.100s", lacks > 1 ? ", " : "", t->inputs[i].name);
  }
  const struct safetensor *like = unused_of_shape(g, t->n_inputs, &inputs[first].shape);
  if (like)
    error_set(err, ASSAY_ERR_INVALID,
              "%d of the task's %d weights have no tensor there: %s%s; '%.100s' has the shape of %s: where the two are "
              "one (tied weights), write it under that name, too",
              lacks, weights, buf_str(&names), lacks > NAMED ? ", ..." : "", like->name, t->inputs[first].name);
  else
    error_set(err, ASSAY_ERR_INVALID,
              "%d of the task's %d weights have no tensor there: %s%s; among those there are is '%.100s'. "
              "safetensors.torch.save_file(dict(model.named_parameters()), FILE) writes a model's with their names",
              lacks, weights, buf_str(&names), lacks > NAMED ? ", ..." : "",
              g->file.of_all.n > 0 ? g->file.of_all.tensors[0].name : "(none)");
  if (names.failed)
    error_nomem(err, "a task's weights");
  buf_release(&names);
  return err->status;
}

static enum assay_status pair(const struct task *t, const struct workload *w, struct given *g,
                              struct assay_error *err) {
  struct arena arena = {0};
  struct array *inputs = arena_calloc(&arena, (size_t)t->n_inputs + 1, sizeof *inputs);
  g->of_input = base_calloc((size_t)t->n_inputs + 1, sizeof *g->of_input);
  enum assay_status status =
      inputs && g->of_input ? task_input_shapes(t, w, inputs, err) : error_nomem(err, "a task's weights");
  int first = -1; // without a tensor
  for (int i = 0; i < t->n_inputs && !status; i++) {
    if (!t->inputs[i].distribution.is_static)
      continue;
    status = find_tensor(&g->file.of_all, t->inputs[i].name, &g->of_input[i], err);
    if (!status && g->of_input[i])
      status = check_tensor(w, &inputs[i], t->inputs[i].name, g->of_input[i], err);
    else if (!status && first < 0)
      first = i;
  }
  if (!status && first >= 0)
    status = missing(t, g, inputs, first, err);
  arena_release(&arena);
  return status;
}

void given_release(struct given *g) {
  if (!g)
    return;
  checkpoint_close(&g->file);
  base_free(g->of_input);
  base_free(g);
}

enum assay_status task_take_weights(struct task *t, const char *path, const struct workload *w,
                                    struct assay_error *err) {
  struct given *g = base_calloc(1, sizeof *g);
  enum assay_status status = g ? checkpoint_open(path, &g->file, err) : error_nomem(err, "weights");
  if (!status) {
    status = pair(t, w, g, err);
    if (status)
      error_prefix(err, status, "%s: ", path);
  }
  if (!status)
    status = checkpoint_hash(&g->file, g->hash, err);
  if (status) {
    given_release(g);
    return status;
  }
  given_release(t->given);
  t->given = g;
  return ASSAY_OK;
}

const char *task_weights_hash(const struct task *t) {
  return t->given ? t->given->hash : "";
}

bool task_is_given(const struct task *t, int i, const struct shape *shape, enum probe probe) {
  const bool drawn = probe == PROBE_INTEGERS || probe == PROBE_OPPOSED; // which are nothing without their own weights
  const struct safetensor *tensor = t->given && !drawn ? t->given->of_input[i] : NULL;
  return tensor && shape_equal(&tensor->shape, shape);
}

static enum dtype input_type(const struct task *t, int i) {
  return t->model.flat.values[t->model.flat.inputs[i]].dtype;
}

enum assay_status task_give(const struct task *t, int i, int64_t first, int64_t count, void *to,
                            struct assay_error *err) {
  const struct safetensor *tensor = t->given->of_input[i];
  const struct checkpoint *file = &t->given->file;
  const enum dtype from = tensor->dtype, type = input_type(t, i);
  const size_t size = dtype_bytes(from);
  const uint64_t at = (uint64_t)first * size;
  if (from == type)
    return checkpoint_read(file, tensor, at, to, (size_t)count * size, err);
  enum assay_status status = ASSAY_OK;
  for (int64_t done = 0; done < count && !status; done += CHUNK) {
    int64_t n = count - done < CHUNK ? count - done : CHUNK;
    unsigned char *dst = (unsigned char *)to + (size_t)done * dtype_bytes(type);
    union {
      double f64;
      unsigned char bytes[CHUNK * sizeof(double)];
    } raw;
    double values[CHUNK];
    int64_t whole[CHUNK];
    status = checkpoint_read(file, tensor, at + (uint64_t)done * size, raw.bytes, (size_t)n * size, err);
    if (status)
      break;
    if (dtype_is_float(type)) {
      dtype_to_f64(from, raw.bytes, n, values);
      dtype_from_f64(type, values, n, dst);
    } else {
      dtype_to_i64(from, raw.bytes, n, whole);
      dtype_from_i64(type, whole, n, dst);
    }
  }
  return status;
}
