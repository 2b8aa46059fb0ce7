// SPDX-License-Identifier: Apache-2.0
// The memory of a plan on a device that is the processor: buffers are pages of this process, with nothing mapped in
// front of and after them, and inputs and constants are mapped without the right to write.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cache_flush.h"
#include "base/rng.h"
#include "device/garbage.h"
#include "device/opencl_device.h"

// OpenCL's guarantee to kernels: a buffer begins where its largest vector (long16) may.
enum { LEAST_ALIGNMENT = 128 };

static uint64_t round_up(uint64_t n, uint64_t to) {
  return (n + to - 1) / to * to;
}

// Reserves a mapping of map_bytes with its guards.
static bool reserve(struct opencl_memory *m, uint64_t map_bytes, uint64_t alignment) {
  uint64_t guard = alignment > DEVICE_GUARD_BYTES ? alignment : DEVICE_GUARD_BYTES;
  uint64_t total = map_bytes + 2 * guard + alignment;
  void *p = mmap(NULL, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    return false;
  m->reserved = p;
  m->reserved_bytes = total;
  m->place.base = round_up((uint64_t)(uintptr_t)p + guard, alignment);
  m->place.map_bytes = map_bytes;
  return true;
}

static unsigned char *at(const struct opencl_memory *m, uint64_t offset) {
  return (unsigned char *)(uintptr_t)m->place.base + offset;
}

static bool map_shared(struct opencl_memory *m, const struct device_buffer *b, uint64_t page) {
  if (b->map_bytes % page != 0 || b->offset > b->map_bytes || b->bytes > b->map_bytes - b->offset)
    return errno = EINVAL, false;
  if (!reserve(m, b->map_bytes, page))
    return false;
  m->place.offset = b->offset;
  m->place.bytes = b->bytes;
  m->place.writable = b->writable;
  int rights = b->writable ? PROT_READ | PROT_WRITE : PROT_READ;
  return mmap(at(m, 0), b->map_bytes, rights, MAP_SHARED | MAP_FIXED | MAP_POPULATE, b->fd, 0) != MAP_FAILED;
}

// Scratch and constants: the data ends, up to its alignment, where the mapping ends.
static bool map_own(struct opencl_memory *m, const struct plan_buffer *b, uint64_t page) {
  uint64_t alignment = b->alignment > LEAST_ALIGNMENT ? b->alignment : LEAST_ALIGNMENT;
  uint64_t aligned = round_up(b->bytes, alignment), map_bytes = round_up(aligned, page);
  if (!reserve(m, map_bytes, alignment > page ? alignment : page))
    return false;
  m->place.offset = map_bytes - aligned;
  m->place.bytes = b->bytes;
  m->place.writable = b->role == PLAN_SCRATCH;
  if (mmap(at(m, 0), map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
    return false;
  if (b->role == PLAN_SCRATCH)
    return true;
  memcpy(at(m, m->place.offset), b->data, b->bytes);
  return mprotect(at(m, 0), map_bytes, PROT_READ) == 0;
}

static cl_mem wrap(struct device *d, const struct opencl_memory *m, uint64_t offset, cl_int *result) {
  // An offset at the end leaves nothing to wrap, but still needs an address: one byte, which cannot be touched.
  uint64_t bytes = m->place.bytes > offset ? m->place.bytes - offset : 1;
  cl_ulong access = m->place.writable ? CL_MEM_READ_WRITE : CL_MEM_READ_ONLY;
  return d->cl.CreateBuffer(d->context, access | CL_MEM_USE_HOST_PTR, bytes, at(m, m->place.offset + offset), result);
}

static enum assay_status make_one(struct device *d, struct opencl_plan *l, int i, const struct device_buffer *shared,
                                  struct device_report *report, struct assay_error *err) {
  const struct plan_buffer *b = &l->plan->buffers[i];
  struct opencl_memory *m = &l->memory[i];
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  cl_int result;
  bool mapped = shared ? map_shared(m, shared, page) : map_own(m, b, page);
  if (!mapped && shared)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot map buffer %s of %llu bytes: %s", b->name,
                     (unsigned long long)shared->map_bytes, strerror(errno));
  if (!mapped) {
    report->event = DEVICE_OUT_OF_MEMORY;
    snprintf(report->detail, sizeof report->detail, "%s %.60s of %llu bytes: %s",
             b->role == PLAN_SCRATCH ? "scratch" : "constant", b->name, (unsigned long long)b->bytes, strerror(errno));
    return ASSAY_OK;
  }
  m->mem = wrap(d, m, 0, &result);
  if (!m->mem) {
    char where[96];
    snprintf(where, sizeof where, "buffer %.60s", b->name);
    opencl_report(report, opencl_is_memory(result) ? DEVICE_OUT_OF_MEMORY : DEVICE_LOAD_FAILED, result, where);
  }
  return ASSAY_OK;
}

enum assay_status opencl_memory_make(struct device *d, struct opencl_plan *l, const struct device_work *work,
                                     struct device_report *report, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  l->memory = arena_calloc(&l->arena, (size_t)l->plan->n_buffers, sizeof *l->memory);
  if (!l->memory)
    return error_nomem(err, "the buffers of a plan");
  for (int i = 0; i < l->plan->n_buffers && !status && report->event == DEVICE_OK; i++) {
    const struct plan_buffer *b = &l->plan->buffers[i];
    const struct device_buffer *shared = NULL;
    if (b->role == PLAN_INPUT && b->index < work->n_in)
      shared = &work->in[b->index];
    if (b->role == PLAN_OUTPUT && b->index < work->n_out)
      shared = &work->out[b->index];
    if (!shared && (b->role == PLAN_INPUT || b->role == PLAN_OUTPUT))
      return error_set(err, ASSAY_ERR_INVALID, "the plan's buffer %s is %s %d, of which there is none", b->name,
                       b->role == PLAN_INPUT ? "input" : "output", b->index);
    if (shared && shared->bytes != b->bytes)
      return error_set(err, ASSAY_ERR_INVALID, "the plan's buffer %s has %llu bytes, the judge's %llu", b->name,
                       (unsigned long long)b->bytes, (unsigned long long)shared->bytes);
    status = make_one(d, l, i, shared, report, err);
  }
  return status;
}

void opencl_memory_drop(struct device *d, struct opencl_plan *l) {
  for (int i = 0; l->memory && i < l->plan->n_buffers; i++) {
    if (l->memory[i].mem)
      d->cl.ReleaseMemObject(l->memory[i].mem);
    if (l->memory[i].reserved)
      munmap(l->memory[i].reserved, l->memory[i].reserved_bytes);
  }
  l->memory = NULL;
}

// Other numbers every time, so that nothing can be kept in scratch from one call to the next. In turn any bits, and
// numbers of one kind (garbage.h): any bits have about every magnitude, and a sum with them is not like one.
void opencl_memory_garbage(struct device *d, struct opencl_plan *l) {
  const uint64_t call = d->garbage_calls++;
  const uint64_t kind = garbage_word(call) * UINT64_C(0x100000001);
  const uint64_t free_bits = garbage_word(call) == GARBAGE_NAN ? UINT64_MAX : UINT64_C(0x007f007f007f007f);
  for (int i = 0; i < l->plan->n_buffers; i++) {
    const struct opencl_memory *m = &l->memory[i];
    if (l->plan->buffers[i].role != PLAN_SCRATCH)
      continue;
    unsigned char *p = at(m, 0);
    for (uint64_t k = 0; k < m->place.map_bytes; k += sizeof d->garbage) {
      uint64_t word = (rng_mix64(d->garbage++) & free_bits) | (kind & ~free_bits);
      memcpy(p + k, &word, sizeof word);
    }
  }
}

void opencl_memory_flush(const struct opencl_plan *l) {
  for (int i = 0; i < l->plan->n_buffers; i++)
    cache_flush(at(&l->memory[i], l->memory[i].place.offset), l->memory[i].place.bytes);
}

bool opencl_views_init(struct opencl_plan *l, size_t n) {
  l->table_size = 16;
  while (l->table_size < 2 * n)
    l->table_size *= 2;
  l->table = arena_calloc(&l->arena, l->table_size, sizeof *l->table);
  return l->table != NULL;
}

cl_mem opencl_view(struct device *d, struct opencl_plan *l, int buffer, int64_t offset, cl_int *result) {
  *result = CL_SUCCESS;
  if (offset == 0)
    return l->memory[buffer].mem;
  size_t i = (size_t)rng_mix64((uint64_t)buffer << 48 ^ (uint64_t)offset) & (l->table_size - 1);
  struct opencl_view *v = &l->table[i];
  while (v->mem && (v->buffer != buffer || v->offset != offset)) {
    i = (i + 1) & (l->table_size - 1);
    v = &l->table[i];
  }
  if (!v->mem)
    *v = (struct opencl_view){buffer, offset, wrap(d, &l->memory[buffer], (uint64_t)offset, result)};
  return v->mem;
}

void opencl_views_drop(struct device *d, struct opencl_plan *l) {
  for (size_t i = 0; l->table && i < l->table_size; i++)
    if (l->table[i].mem)
      d->cl.ReleaseMemObject(l->table[i].mem);
  l->table = NULL;
}
