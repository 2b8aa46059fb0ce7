// SPDX-License-Identifier: Apache-2.0
#include "task/given.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "task/safetensors.h"

// Elements that are converted at once, and bytes that are hashed at once.
enum { CHUNK = 2048, PIECE = 1 << 16 };

// The file is read and not mapped: where it becomes shorter meanwhile, that is an error and no signal.
struct source {
  char *path; // of messages
  int fd;
  uint64_t bytes;
};

struct given {
  struct source source;
  struct safetensors file;
  const struct safetensor **of_input; // NULL: drawn
  char hash[HASH_HEX_BYTES];
};

static void source_close(struct source *s) {
  if (s->path)
    close(s->fd);
  base_free(s->path);
  *s = (struct source){0};
}

static enum assay_status source_open(const char *path, struct source *out, struct assay_error *err) {
  struct stat st;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return error_set(err, errno == ENOENT ? ASSAY_ERR_NOT_FOUND : ASSAY_ERR_IO, "%s: %s", path, strerror(errno));
  enum assay_status status = ASSAY_OK;
  char *name = base_strndup(path, strlen(path));
  if (!name)
    status = error_nomem(err, "a file's name");
  else if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
    status =
        error_set(err, ASSAY_ERR_SYNTAX, "%s: this is no file of weights: it is empty or not a regular file", path);
  if (status) {
    close(fd);
    base_free(name);
    return status;
  }
  *out = (struct source){.path = name, .fd = fd, .bytes = (uint64_t)st.st_size};
  return ASSAY_OK;
}

static enum assay_status source_read(const struct source *s, uint64_t at, void *to, size_t n, struct assay_error *err) {
  for (size_t done = 0; done < n;) {
    ssize_t got = pread(s->fd, (char *)to + done, n - done, (off_t)(at + done));
    if (got < 0 && errno != EINTR)
      return error_set(err, ASSAY_ERR_IO, "%s: %s", s->path, strerror(errno));
    if (got == 0)
      return error_set(err, ASSAY_ERR_IO,
                       "%s: the file of weights had %llu bytes and was cut short while it was in use: judge again when "
                       "nobody writes to it",
                       s->path, (unsigned long long)s->bytes);
    done += got > 0 ? (size_t)got : 0;
  }
  return ASSAY_OK;
}

struct hashing {
  const struct source *source;
  uint64_t done;
  enum assay_status status;
  struct assay_error *err;
  unsigned char piece[PIECE];
};

static bool next_piece(void *arg, struct hash_part *part) {
  struct hashing *h = arg;
  const uint64_t left = h->source->bytes - h->done;
  const size_t n = left < PIECE ? (size_t)left : PIECE;
  if (n == 0 || h->status)
    return false;
  h->status = source_read(h->source, h->done, h->piece, n, h->err);
  h->done += n;
  *part = (struct hash_part){h->piece, n};
  return !h->status;
}

static enum assay_status source_hash(const struct source *s, char hex[HASH_HEX_BYTES], struct assay_error *err) {
  struct hashing h = {.source = s, .err = err};
  hash_sha256_pull_hex(next_piece, &h, hex);
  return h.status;
}

enum assay_status given_hash(const char *path, char hex[65], struct assay_error *err) {
  struct source s;
  enum assay_status status = source_open(path, &s, err);
  if (status)
    return status;
  status = source_hash(&s, hex, err);
  source_close(&s);
  return status;
}

static enum assay_status read_head(struct given *g, struct assay_error *err) {
  unsigned char length[SAFETENSORS_LENGTH_BYTES] = {0};
  const struct source *s = &g->source;
  size_t head, first = s->bytes < sizeof length ? (size_t)s->bytes : sizeof length;
  enum assay_status status = source_read(s, 0, length, first, err);
  if (!status)
    status = safetensors_head_bytes(length, s->bytes, s->path, &head, err);
  if (status)
    return status;
  void *bytes = base_alloc(head);
  status = bytes ? source_read(s, 0, bytes, head, err) : error_nomem(err, "a file's header");
  if (!status)
    status = safetensors_read(bytes, head, s->bytes, s->path, &g->file, err);
  base_free(bytes);
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
  source_close(&g->source);
  base_free(g);
}

enum assay_status task_take_weights(struct task *t, const char *path, const struct workload *w,
                                    struct assay_error *err) {
  struct given *g = base_calloc(1, sizeof *g);
  enum assay_status status = g ? source_open(path, &g->source, err) : error_nomem(err, "weights");
  if (!status)
    status = read_head(g, err);
  if (!status) {
    status = pair(t, w, g, err);
    if (status)
      error_prefix(err, status, "%s: ", path);
  }
  if (!status)
    status = source_hash(&g->source, g->hash, err);
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
  const struct safetensor *tensor = t->given && probe != PROBE_INTEGERS ? t->given->of_input[i] : NULL;
  return tensor && shape_equal(&tensor->shape, shape);
}

static enum dtype input_type(const struct task *t, int i) {
  return t->model.flat.values[t->model.flat.inputs[i]].dtype;
}

enum assay_status task_give(const struct task *t, int i, int64_t first, int64_t count, void *to,
                            struct assay_error *err) {
  const struct safetensor *tensor = t->given->of_input[i];
  const struct source *source = &t->given->source;
  const enum dtype from = tensor->dtype, type = input_type(t, i);
  const size_t size = dtype_bytes(from);
  const uint64_t at = tensor->at + (uint64_t)first * size;
  if (from == type)
    return source_read(source, at, to, (size_t)count * size, err);
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
    status = source_read(source, at + (uint64_t)done * size, raw.bytes, (size_t)n * size, err);
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
