// SPDX-License-Identifier: Apache-2.0
// What the backends share: memory kept for the next allocation, programs and kernels by name.
#include "compute/backend.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"

extern const char code_dialect[];

enum {
  BLOCK_BYTES = 512,     // sizes are rounded up to this,
  LARGE_BYTES = 2 << 20, // and beyond this size to this
  SLACK_DIVISOR = 8,     // a kept block serves a request if at most 1/8 of it would be idle
};

struct block {
  device_ptr address;
  size_t bytes;
  bool in_use;
};

struct program {
  const struct device_code *code;
  compute_program loaded;
};

struct kernel {
  const struct device_code *code;
  const char *name; // copied
  compute_kernel found;
};

struct compute {
  const struct compute_backend *backend;
  void *self;
  struct block *blocks;
  struct program *programs;
  struct kernel *kernels;
  size_t n_blocks, n_programs, n_kernels;
  size_t cap_blocks, cap_programs, cap_kernels;
  size_t in_use, kept, peak;
  compute_told *told; // NULL: nobody
  void *told_arg;
};

// Room for one more element; false when memory fails.
static bool grow(void *array, size_t n, size_t *capacity, size_t size) {
  void *old, *more;
  if (n < *capacity)
    return true;
  memcpy(&old, array, sizeof old);
  size_t wanted = *capacity ? *capacity * 2 : 16;
  if (!(more = base_realloc(old, wanted * size)))
    return false;
  memcpy(array, &more, sizeof more);
  *capacity = wanted;
  return true;
}

enum assay_status compute_make(const struct compute_backend *backend, void *self, struct compute **out,
                               struct assay_error *err) {
  struct compute *c = base_calloc(1, sizeof *c);
  if (!c) {
    backend->close(self);
    return error_nomem(err, "a computing device");
  }
  c->backend = backend;
  c->self = self;
  *out = c;
  return ASSAY_OK;
}

void *compute_self(struct compute *c, const struct compute_backend *backend) {
  return c->backend == backend ? c->self : NULL;
}

void compute_close(struct compute *c) {
  if (!c)
    return;
  for (size_t i = 0; i < c->n_programs; i++)
    c->backend->unload(c->self, c->programs[i].loaded);
  for (size_t i = 0; i < c->n_blocks; i++)
    c->backend->free(c->self, c->blocks[i].address);
  c->backend->close(c->self);
  for (size_t i = 0; i < c->n_kernels; i++)
    base_free((void *)c->kernels[i].name);
  base_free(c->blocks);
  base_free(c->programs);
  base_free(c->kernels);
  base_free(c);
}

bool compute_is_cuda(const struct compute *c) {
  return c->backend->cuda;
}

// ---- memory

// What is kept is shared by requests of about the same size; what is not has its own.
static size_t rounded(const struct compute *c, size_t bytes) {
  if (!c->backend->keeps)
    return bytes;
  size_t unit = bytes >= LARGE_BYTES ? LARGE_BYTES : BLOCK_BYTES;
  return bytes == 0 ? BLOCK_BYTES : (bytes + unit - 1) / unit * unit;
}

// The smallest kept block that fits, unless too much of it would lie idle.
static struct block *find_kept(struct compute *c, size_t bytes) {
  struct block *best = NULL;
  for (size_t i = 0; i < c->n_blocks; i++) {
    struct block *b = &c->blocks[i];
    if (!b->in_use && b->bytes >= bytes && b->bytes - bytes <= b->bytes / SLACK_DIVISOR &&
        (!best || b->bytes < best->bytes))
      best = b;
  }
  return best;
}

static enum assay_status no_memory(struct compute *c, size_t bytes, struct assay_error *err) {
  struct compute_memory m;
  compute_memory(c, &m);
  return error_set(err, ASSAY_ERR_NOMEM,
                   "the device has no room for %zu bytes: %zu of its %zu bytes are free, %zu are in use here", bytes,
                   m.available, m.total, m.in_use);
}

enum assay_status compute_alloc(struct compute *c, size_t bytes, device_ptr *out, struct assay_error *err) {
  if (bytes > SIZE_MAX / 2)
    return no_memory(c, bytes, err);
  size_t size = rounded(c, bytes);
  struct block *b = find_kept(c, size);
  if (b) {
    c->kept -= b->bytes;
  } else {
    if (!grow(&c->blocks, c->n_blocks, &c->cap_blocks, sizeof *c->blocks))
      return error_nomem(err, "the list of device memory");
    b = &c->blocks[c->n_blocks];
    b->bytes = size;
    enum assay_status status = c->backend->alloc(c->self, size, &b->address, err);
    if (status == ASSAY_ERR_NOMEM && c->kept) {
      compute_trim(c);
      b = &c->blocks[c->n_blocks];
      b->bytes = size;
      status = c->backend->alloc(c->self, size, &b->address, err);
    }
    if (status == ASSAY_ERR_NOMEM)
      return no_memory(c, bytes, err);
    if (status)
      return status;
    c->n_blocks++;
  }
  b->in_use = true;
  c->in_use += b->bytes;
  c->peak = c->in_use > c->peak ? c->in_use : c->peak;
  if (c->backend->poison)
    c->backend->poison(c->self, b->address, b->bytes);
  *out = b->address;
  return ASSAY_OK;
}

void compute_free(struct compute *c, device_ptr p) {
  if (!p)
    return;
  for (size_t i = 0; i < c->n_blocks; i++)
    if (c->blocks[i].address == p) {
      assert(c->blocks[i].in_use);
      c->in_use -= c->blocks[i].bytes;
      if (c->backend->keeps) {
        c->blocks[i].in_use = false;
        c->kept += c->blocks[i].bytes;
      } else {
        c->backend->free(c->self, p);
        c->blocks[i] = c->blocks[--c->n_blocks];
      }
      return;
    }
  assert(!"compute_free of memory that is not of this device");
}

void compute_trim(struct compute *c) {
  size_t kept = 0;
  for (size_t i = 0; i < c->n_blocks; i++) {
    if (c->blocks[i].in_use)
      c->blocks[kept++] = c->blocks[i];
    else
      c->backend->free(c->self, c->blocks[i].address);
  }
  c->n_blocks = kept;
  c->kept = 0;
}

void compute_memory(struct compute *c, struct compute_memory *out) {
  size_t available = 0, total = 0;
  c->backend->available(c->self, &available, &total);
  *out =
      (struct compute_memory){.available = available + c->kept, .total = total, .in_use = c->in_use, .peak = c->peak};
}

enum assay_status compute_upload(struct compute *c, device_ptr to, const void *from, size_t bytes,
                                 struct assay_error *err) {
  return bytes ? c->backend->upload(c->self, to, from, bytes, err) : ASSAY_OK;
}

enum assay_status compute_download(struct compute *c, void *to, device_ptr from, size_t bytes,
                                   struct assay_error *err) {
  return bytes ? c->backend->download(c->self, to, from, bytes, err) : ASSAY_OK;
}

enum assay_status compute_copy(struct compute *c, device_ptr to, device_ptr from, size_t bytes,
                               struct assay_error *err) {
  return bytes ? c->backend->copy(c->self, to, from, bytes, err) : ASSAY_OK;
}

enum assay_status compute_set32(struct compute *c, device_ptr to, uint32_t value, size_t words,
                                struct assay_error *err) {
  return words ? c->backend->set32(c->self, to, value, words, err) : ASSAY_OK;
}

// ---- programs

static enum assay_status join_texts(const struct device_code *code, struct buf *text, struct assay_error *err) {
  buf_puts(text, code_dialect);
  for (int i = 0; code->texts[i]; i++)
    buf_puts(text, code->texts[i]);
  return buf_status(text, err);
}

static enum assay_status find_program(struct compute *c, const struct device_code *code, compute_program *out,
                                      struct assay_error *err) {
  for (size_t i = 0; i < c->n_programs; i++)
    if (c->programs[i].code == code) {
      *out = c->programs[i].loaded;
      return ASSAY_OK;
    }
  if (!grow(&c->programs, c->n_programs, &c->cap_programs, sizeof *c->programs))
    return error_nomem(err, "the list of device programs");
  struct buf text = {0};
  struct program *p = &c->programs[c->n_programs];
  enum assay_status status = join_texts(code, &text, err);
  if (!status)
    status = c->backend->load(c->self, code, buf_str(&text), &p->loaded, err);
  buf_release(&text);
  if (status)
    return status;
  p->code = code;
  c->n_programs++;
  *out = p->loaded;
  return ASSAY_OK;
}

static enum assay_status find_kernel(struct compute *c, const struct device_code *code, const char *name,
                                     compute_kernel *out, struct assay_error *err) {
  for (size_t i = 0; i < c->n_kernels; i++)
    if (c->kernels[i].code == code && strcmp(c->kernels[i].name, name) == 0) {
      *out = c->kernels[i].found;
      return ASSAY_OK;
    }
  compute_program program = NULL;
  enum assay_status status = find_program(c, code, &program, err);
  if (status)
    return status;
  if (!grow(&c->kernels, c->n_kernels, &c->cap_kernels, sizeof *c->kernels))
    return error_nomem(err, "the list of kernels");
  struct kernel *k = &c->kernels[c->n_kernels];
  status = c->backend->find(c->self, program, name, &k->found, err);
  if (status)
    return error_prefix(err, status, "device code \"%s\": ", code->name);
  if (!(k->name = base_strndup(name, strlen(name))))
    return error_nomem(err, "the list of kernels");
  k->code = code;
  c->n_kernels++;
  *out = k->found;
  return ASSAY_OK;
}

enum assay_status compute_prepare(struct compute *c, const struct device_code *code, struct assay_error *err) {
  compute_program program = NULL;
  return find_program(c, code, &program, err);
}

enum assay_status compute_launch(struct compute *c, const struct device_code *code, const char *kernel, int64_t n,
                                 const void *args, size_t arg_bytes, struct assay_error *err) {
  compute_kernel k = NULL;
  if (n <= 0)
    return ASSAY_OK;
  enum assay_status status = find_kernel(c, code, kernel, &k, err);
  return status ? status : c->backend->launch(c->self, k, kernel, n, args, arg_bytes, err);
}

enum assay_status compute_launch_blocks(struct compute *c, const struct device_code *code, const char *kernel,
                                        const struct compute_blocks *b, const void *args, size_t arg_bytes,
                                        struct assay_error *err) {
  compute_kernel k = NULL;
  if (b->blocks <= 0)
    return ASSAY_OK;
  if (!c->backend->launch_blocks)
    return error_set(err, ASSAY_ERR_UNSUPPORTED, "%s is a kernel for a GPU", kernel);
  enum assay_status status = find_kernel(c, code, kernel, &k, err);
  return status ? status : c->backend->launch_blocks(c->self, k, kernel, b, args, arg_bytes, err);
}

enum assay_status compute_sync(struct compute *c, struct assay_error *err) {
  return c->backend->sync(c->self, err);
}

enum assay_status compute_map(struct compute *c, int fd, size_t bytes, device_ptr *out, struct assay_error *err) {
  if (!c->backend->map)
    return error_set(err, ASSAY_ERR_UNSUPPORTED, "only a GPU shares its memory with a runner");
  return c->backend->map(c->self, fd, bytes, out, err);
}

void compute_unmap(struct compute *c, device_ptr p, size_t bytes) {
  if (p && c->backend->unmap)
    c->backend->unmap(c->self, p, bytes);
}

void compute_tell(struct compute *c, compute_told *told, void *arg) {
  c->told = told;
  c->told_arg = arg;
}

void compute_waits(struct compute *c, bool waits) {
  if (c->told)
    c->told(c->told_arg, waits);
}
