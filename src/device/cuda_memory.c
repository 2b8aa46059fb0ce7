// SPDX-License-Identifier: Apache-2.0
// Memory of the CUDA device: every buffer in a mapping of its own, with address space before and after it where there
// is nothing, so that one element too far is a fault and not somebody else's data.
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "device/cuda_device.h"
#include "device/garbage.h"

// Up to so many scratch buffers (and as many constants) get a mapping each, of at least a granule (2 MiB). Where there
// are more they lie one after the other in one mapping: between them are bands of garbage only, which a kernel can
// overrun without a fault - into its own scratch. The judge's buffers always have their own.
enum { OWN_MAPPINGS = 64, BAND_BYTES = 256 };

// The stream of numbers that choose what scratch holds, apart from those that confirm.
static const uint64_t GARBAGE_STREAM = (uint64_t)1 << 32;

static uint64_t round_up(uint64_t n, uint64_t to) {
  return (n + to - 1) / to * to;
}

// Where this buffer's mapping is kept, or a free place for it; NULL: it is not to be kept, or there is no room.
static struct cuda_kept *find_kept(struct device *d, const struct device_buffer *b) {
  struct cuda_kept *place = NULL;
  for (int i = 0; i < KEPT_MAPPINGS && b->id; i++) {
    struct cuda_kept *k = &d->kept[i];
    if (k->id == b->id && k->writable == (b->writable != 0) && k->mapping.bytes == b->map_bytes)
      return k;
    if (!k->id && !place)
      place = k;
  }
  return place;
}

// What was kept for plans before this one and is not among its buffers goes first: it holds memory.
static void drop_kept(struct device *d, const struct device_work *work) {
  for (int i = 0; i < KEPT_MAPPINGS; i++) {
    struct cuda_kept *k = &d->kept[i];
    bool wanted = false;
    for (int j = 0; j < work->n_in + work->n_out && k->id && !wanted; j++) {
      const struct device_buffer *b = j < work->n_in ? &work->in[j] : &work->out[j - work->n_in];
      wanted = b->id == k->id && k->writable == (b->writable != 0) && k->mapping.bytes == b->map_bytes;
    }
    if (k->id && !wanted) {
      cuda_unmap(d, &k->mapping);
      *k = (struct cuda_kept){0};
    }
  }
}

// One of the judge's. That it cannot be mapped is not the candidate's fault.
static enum assay_status map_judges(struct device *d, struct cuda_plan *l, int buffer, const struct device_buffer *b,
                                    struct device_report *report, struct assay_error *err) {
  if (b->map_bytes == 0 || b->map_bytes % d->granule || b->offset > b->map_bytes || b->bytes > b->map_bytes - b->offset)
    return error_set(err, ASSAY_ERR_INVALID, "buffer %d does not lie in whole granules of %zu bytes", buffer,
                     d->granule);
  if (b->bytes != l->plan->buffers[buffer].bytes)
    return error_set(err, ASSAY_ERR_INVALID, "buffer '%s' has %llu bytes, the plan says %llu",
                     l->plan->buffers[buffer].name, (unsigned long long)b->bytes,
                     (unsigned long long)l->plan->buffers[buffer].bytes);
  struct cuda_mapping own, *m = &own;
  struct cuda_kept *kept = find_kept(d, b);
  enum cu_result r = CUDA_SUCCESS;
  if (kept && kept->id == b->id)
    m = &kept->mapping;
  else
    r = cuda_map_import(d, b, &own);
  if (r != CUDA_SUCCESS) {
    cuda_report(d, report, cuda_event_of(r, false), r, "mapping a buffer of the judge");
    return ASSAY_OK;
  }
  l->addresses[buffer] = m->address + b->offset;
  if (kept)
    *kept = (struct cuda_kept){.id = b->id, .writable = b->writable != 0, .mapping = *m};
  else
    l->mappings[l->n_mappings++] = own;
  return ASSAY_OK;
}

struct role {
  enum plan_role role;
  int count;
  uint64_t pooled_bytes; // of all of them, one after the other
};

static uint64_t alignment_of(const struct plan_buffer *b) {
  return b->alignment > BAND_BYTES ? b->alignment : BAND_BYTES;
}

static struct role survey(const struct plan *p, enum plan_role role) {
  struct role s = {.role = role};
  for (int i = 0; i < p->n_buffers; i++)
    if (p->buffers[i].role == role) {
      s.count++;
      s.pooled_bytes = round_up(s.pooled_bytes + BAND_BYTES, alignment_of(&p->buffers[i])) + p->buffers[i].bytes;
    }
  return s;
}

static enum cu_result fill(struct device *d, const struct cuda_mapping *m) {
  const uint32_t word = d->loaded->garbage;
  return d->cu->cuMemsetD32Async(m->address, word, m->bytes / sizeof word, d->stream);
}

static enum cu_result one_mapping_each(struct device *d, struct cuda_plan *l, enum plan_role role) {
  for (int i = 0; i < l->plan->n_buffers; i++) {
    const struct plan_buffer *b = &l->plan->buffers[i];
    if (b->role != role)
      continue;
    struct cuda_mapping *m = &l->mappings[l->n_mappings];
    enum cu_result r = cuda_map_new(d, b->bytes, alignment_of(b), m, &l->addresses[i]);
    if (r == CUDA_SUCCESS && d->loads % 2 == 0) // every other load nothing lies before it, otherwise nothing behind it
      l->addresses[i] = m->address;
    if (r == CUDA_SUCCESS)
      r = fill(d, &l->mappings[l->n_mappings++]);
    if (r != CUDA_SUCCESS)
      return r;
  }
  return CUDA_SUCCESS;
}

static enum cu_result one_mapping_for_all(struct device *d, struct cuda_plan *l, const struct role *s) {
  struct cuda_mapping *m = &l->mappings[l->n_mappings];
  uint64_t start, at = 0;
  // The mapping's start is a multiple of the granule, and so of every alignment (at most 1 MiB).
  enum cu_result r = cuda_map_new(d, s->pooled_bytes, BAND_BYTES, m, &start);
  if (r != CUDA_SUCCESS)
    return r;
  l->n_mappings++;
  for (int i = 0; i < l->plan->n_buffers; i++) {
    const struct plan_buffer *b = &l->plan->buffers[i];
    if (b->role != s->role)
      continue;
    at = round_up(at + BAND_BYTES, alignment_of(b));
    l->addresses[i] = m->address + at;
    at += b->bytes;
  }
  return fill(d, m);
}

static enum cu_result map_role(struct device *d, struct cuda_plan *l, enum plan_role role) {
  struct role s = survey(l->plan, role);
  enum cu_result r = CUDA_SUCCESS;
  if (s.count > 0)
    r = s.count <= OWN_MAPPINGS ? one_mapping_each(d, l, role) : one_mapping_for_all(d, l, &s);
  for (int i = 0; r == CUDA_SUCCESS && i < l->plan->n_buffers; i++)
    if (l->plan->buffers[i].role == role && l->plan->buffers[i].zeroed)
      r = d->cu->cuMemsetD8Async(l->addresses[i], 0, l->plan->buffers[i].bytes, d->stream);
  return r;
}

// Constants hold their data before anything runs, and nothing can write them afterwards.
static enum cu_result map_constants(struct device *d, struct cuda_plan *l) {
  int first = l->n_mappings;
  enum cu_result r = map_role(d, l, PLAN_CONSTANT);
  for (int i = 0; r == CUDA_SUCCESS && i < l->plan->n_buffers; i++)
    if (l->plan->buffers[i].role == PLAN_CONSTANT)
      r = d->cu->cuMemcpyHtoDAsync(l->addresses[i], l->plan->buffers[i].data, l->plan->buffers[i].bytes, d->stream);
  if (r == CUDA_SUCCESS)
    r = d->cu->cuStreamSynchronize(d->stream);
  for (int i = first; r == CUDA_SUCCESS && i < l->n_mappings; i++)
    r = cuda_map_protect(d, &l->mappings[i], false);
  return r;
}

enum assay_status cuda_map_buffers(struct device *d, struct cuda_plan *l, const struct device_work *work,
                                   struct device_report *report, struct assay_error *err) {
  const struct plan *p = l->plan;
  enum assay_status status = ASSAY_OK;
  l->garbage = garbage_word(rng_secret(d->secret, GARBAGE_STREAM) + d->loads++);
  drop_kept(d, work);
  for (int i = 0; i < p->n_buffers && !status && report->event == DEVICE_OK; i++) {
    const struct plan_buffer *b = &p->buffers[i];
    if (b->role != PLAN_INPUT && b->role != PLAN_OUTPUT)
      continue;
    const int n = b->role == PLAN_INPUT ? work->n_in : work->n_out;
    if (b->index < 0 || b->index >= n)
      return error_set(err, ASSAY_ERR_INVALID, "the plan's buffer '%s' is number %d of its kind, and there are %d",
                       b->name, b->index, n);
    status = map_judges(d, l, i, b->role == PLAN_INPUT ? &work->in[b->index] : &work->out[b->index], report, err);
  }
  if (status || report->event != DEVICE_OK)
    return status;
  enum cu_result r = map_role(d, l, PLAN_SCRATCH);
  if (r == CUDA_SUCCESS)
    r = map_constants(d, l);
  if (r != CUDA_SUCCESS)
    cuda_report(d, report, cuda_event_of(r, false), r, "making the plan's scratch and constants");
  return ASSAY_OK;
}
