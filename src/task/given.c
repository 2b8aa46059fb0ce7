// SPDX-License-Identifier: Apache-2.0
#include "task/given.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "task/safetensors.h"

enum { CHUNK = 2048 }; // elements that are converted at once

struct given {
  void *bytes; // the file, mapped
  size_t len;
  struct safetensors file;
  const struct safetensor **of_input; // NULL: drawn
  char hash[HASH_HEX_BYTES];
};

static enum assay_status map_file(const char *path, void **bytes, size_t *len, struct assay_error *err) {
  struct stat st;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return error_set(err, errno == ENOENT ? ASSAY_ERR_NOT_FOUND : ASSAY_ERR_IO, "%s: %s", path, strerror(errno));
  enum assay_status status = ASSAY_OK;
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
    status =
        error_set(err, ASSAY_ERR_SYNTAX, "%s: this is no file of weights: it is empty or not a regular file", path);
  void *at = status ? MAP_FAILED : mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (!status && at == MAP_FAILED)
    status = error_set(err, ASSAY_ERR_IO, "%s: cannot be mapped: %s", path, strerror(errno));
  close(fd);
  if (status)
    return status;
  *bytes = at;
  *len = (size_t)st.st_size;
  return ASSAY_OK;
}

enum assay_status given_hash(const char *path, char hex[65], struct assay_error *err) {
  void *bytes;
  size_t len;
  enum assay_status status = map_file(path, &bytes, &len, err);
  if (status)
    return status;
  hash_sha256_hex(bytes, len, hex);
  munmap(bytes, len);
  return ASSAY_OK;
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

// The tensor that fits best; NULL with an error if there is none, or several.
static const struct safetensor *find_tensor(const struct given *g, const char *input, struct assay_error *err) {
  const struct safetensor *best = NULL, *again = NULL;
  int most = 0;
  for (int i = 0; i < g->file.n; i++) {
    const struct safetensor *t = &g->file.tensors[i];
    int n = fits(input, t->name);
    if (n > most) {
      most = n;
      best = t;
      again = NULL;
    } else if (n == most && n > 0) {
      again = t;
    }
  }
  if (again) {
    error_set(err, ASSAY_ERR_INVALID, "for the input %s there are the tensors '%.100s' and '%.100s'", input, best->name,
              again->name);
    return NULL;
  }
  if (!best)
    error_set(err, ASSAY_ERR_INVALID, "there is no tensor for the input %s; among those there are is '%.100s'", input,
              g->file.n > 0 ? g->file.tensors[0].name : "(none)");
  return best;
}

static void put_shape(char *text, size_t size, const struct shape *s) {
  size_t used = (size_t)snprintf(text, size, "[");
  for (int i = 0; i < s->rank && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, i ? ", %lld" : "%lld", (long long)s->dims[i]);
  if (used < size)
    snprintf(text + used, size - used, "]");
}

static enum assay_status check_tensor(const struct task *t, const struct workload *w, const struct array *input, int i,
                                      const struct safetensor *tensor, struct assay_error *err) {
  char there[128], here[128];
  if (!tensor)
    return err->status;
  if (tensor->dtype == DTYPE_UNDEFINED || dtype_is_float(tensor->dtype) != dtype_is_float(input->dtype))
    return error_set(err, ASSAY_ERR_INVALID, "the tensor '%.100s' has a type that is not converted to %s", tensor->name,
                     dtype_name(input->dtype));
  if (shape_equal(&tensor->shape, &input->shape))
    return ASSAY_OK;
  put_shape(there, sizeof there, &tensor->shape);
  put_shape(here, sizeof here, &input->shape);
  return error_set(err, ASSAY_ERR_INVALID,
                   "the tensor '%.100s' has the shape %s, the input %s has %s at the workload %s; try --workload full",
                   tensor->name, there, t->inputs[i].name, here, w->name);
}

static enum assay_status pair(const struct task *t, const struct workload *w, struct given *g,
                              struct assay_error *err) {
  struct arena arena = {0};
  struct array *inputs = arena_calloc(&arena, (size_t)t->n_inputs + 1, sizeof *inputs);
  g->of_input = base_calloc((size_t)t->n_inputs + 1, sizeof *g->of_input);
  enum assay_status status =
      inputs && g->of_input ? task_input_shapes(t, w, inputs, err) : error_nomem(err, "a task's weights");
  for (int i = 0; i < t->n_inputs && !status; i++)
    if (t->inputs[i].distribution.is_static) {
      g->of_input[i] = find_tensor(g, t->inputs[i].name, err);
      status = check_tensor(t, w, &inputs[i], i, g->of_input[i], err);
    }
  arena_release(&arena);
  return status;
}

void given_release(struct given *g) {
  if (!g)
    return;
  safetensors_release(&g->file);
  base_free(g->of_input);
  if (g->bytes)
    munmap(g->bytes, g->len);
  base_free(g);
}

enum assay_status task_take_weights(struct task *t, const char *path, const struct workload *w,
                                    struct assay_error *err) {
  struct given *g = base_calloc(1, sizeof *g);
  enum assay_status status = g ? map_file(path, &g->bytes, &g->len, err) : error_nomem(err, "weights");
  if (!status)
    status = safetensors_read(g->bytes, g->len, path, &g->file, err);
  if (!status) {
    status = pair(t, w, g, err);
    if (status)
      error_prefix(err, status, "%s: ", path);
  }
  if (status) {
    given_release(g);
    return status;
  }
  hash_sha256_hex(g->bytes, g->len, g->hash);
  given_release(t->given);
  t->given = g;
  return ASSAY_OK;
}

const char *task_weights_hash(const struct task *t) {
  return t->given ? t->given->hash : "";
}

bool task_is_given(const struct task *t, int i, const struct shape *shape, enum probe probe) {
  const struct safetensor *tensor = t->given && probe != PROBE_INTEGERS ? t->given->of_input[i] : NULL;
  return tensor && shape_equal(&tensor->shape, shape);
}

static enum dtype input_type(const struct task *t, int i) {
  return t->model.flat.values[t->model.flat.inputs[i]].dtype;
}

void task_give(const struct task *t, int i, int64_t first, int64_t count, void *to) {
  const struct safetensor *tensor = t->given->of_input[i];
  const enum dtype from = tensor->dtype, type = input_type(t, i);
  const size_t size = dtype_bytes(from);
  const unsigned char *at = tensor->data + (size_t)first * size;
  if (from == type) {
    memcpy(to, at, (size_t)count * size);
    return;
  }
  for (int64_t done = 0; done < count; done += CHUNK) {
    int64_t n = count - done < CHUNK ? count - done : CHUNK;
    unsigned char *dst = (unsigned char *)to + (size_t)done * dtype_bytes(type);
    union {
      double f64;
      unsigned char bytes[CHUNK * sizeof(double)]; // elements in the file need not be aligned
    } raw;
    double values[CHUNK];
    int64_t whole[CHUNK];
    memcpy(raw.bytes, at + (size_t)done * size, (size_t)n * size);
    if (dtype_is_float(type)) {
      dtype_to_f64(from, raw.bytes, n, values);
      dtype_from_f64(type, values, n, dst);
    } else {
      dtype_to_i64(from, raw.bytes, n, whole);
      dtype_from_i64(type, whole, n, dst);
    }
  }
}
