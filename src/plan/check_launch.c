// SPDX-License-Identifier: Apache-2.0
// Launches: the grid against the device, the arguments against the kernel.
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "plan/check.h"

enum { NEEDS_TARGET = 90, POINTER_BYTES = 8 };

struct launch_checker {
  struct checker *c;
  const struct plan_step *s;
  const struct cubin_kernel *kernel; // NULL: its module does not say
  int step;
};

// Names the step and the kernel in front of the message.
static enum assay_status fail(const struct launch_checker *k, const char *fmt, ...) ASSAY_PRINTF(2, 3);
static enum assay_status fail(const struct launch_checker *k, const char *fmt, ...) {
  char message[256], shown[PLAN_SHOWN_BYTES];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(message, sizeof message, fmt, ap);
  va_end(ap);
  return check_fail(k->c, "steps", k->step, "kernel %s: %s", plan_shown(k->s->kernel, shown), message);
}

static uint64_t product(const uint32_t v[3]) {
  uint64_t n = (uint64_t)v[0] * v[1];
  return __builtin_mul_overflow(n, (uint64_t)v[2], &n) ? UINT64_MAX : n;
}

static bool is_zero(const uint32_t v[3]) {
  return !v[0] && !v[1] && !v[2];
}

static bool is_cuda(const struct launch_checker *k) {
  return k->c->p->device->dialect == PLAN_CUDA_LAUNCHES;
}

static enum assay_status check_range(const struct launch_checker *k, const char *what, const uint32_t v[3],
                                     const uint32_t most[3]) {
  for (int i = 0; i < 3; i++) {
    if (v[i] == 0)
      return fail(k, "%s[%d] is 0", what, i);
    if (most[i] && v[i] > most[i])
      return fail(k, "%s[%d] is %" PRIu32 ", the device allows %" PRIu32, what, i, v[i], most[i]);
  }
  return ASSAY_OK;
}

static enum assay_status check_threads(const struct launch_checker *k) {
  const struct plan_limits *l = &k->c->limits;
  uint64_t threads = product(k->s->block);
  enum assay_status status = check_range(k, "grid", k->s->grid, l->max_grid);
  if (!status)
    status = check_range(k, "block", k->s->block, l->max_block);
  if (status)
    return status;
  if (l->max_threads && threads > l->max_threads)
    return fail(k, "a block of %" PRIu64 " threads; the device allows %" PRIu32, threads, l->max_threads);
  if (!k->kernel)
    return ASSAY_OK;
  if (k->kernel->max_threads && threads > k->kernel->max_threads)
    return fail(k, "a block of %" PRIu64 " threads; it was compiled for at most %" PRIu32 " (%" PRIu32 " registers)",
                threads, k->kernel->max_threads, k->kernel->registers);
  const uint32_t *b = k->kernel->block;
  if (!is_zero(b) && memcmp(b, k->s->block, sizeof k->s->block) != 0)
    return fail(k, "it was compiled for blocks of %" PRIu32 " x %" PRIu32 " x %" PRIu32 " threads", b[0], b[1], b[2]);
  return ASSAY_OK;
}

static enum assay_status check_shared(const struct launch_checker *k) {
  uint64_t fixed = k->kernel ? k->kernel->static_shared_bytes : 0, most = k->c->limits.max_shared_bytes;
  if (most && fixed + k->s->shared_bytes > most)
    return fail(k, "%" PRIu32 " bytes of dynamic and %" PRIu64 " of static shared memory; the device allows %" PRIu64,
                k->s->shared_bytes, fixed, most);
  if (!is_cuda(k) && k->s->shared_bytes)
    return fail(k, "dynamic shared memory is CUDA's; on %s it is an argument", k->c->p->device->name);
  return ASSAY_OK;
}

static enum assay_status check_cluster(const struct launch_checker *k) {
  const uint32_t *cluster = k->s->cluster, *grid = k->s->grid;
  if (is_zero(cluster))
    return ASSAY_OK;
  if (k->c->target.number && k->c->target.number < NEEDS_TARGET)
    return fail(k, "clusters need sm_90 or newer");
  uint64_t blocks = product(cluster);
  if (blocks == 0)
    return fail(k, "a cluster has no dimension of 0 blocks");
  if (k->c->limits.max_cluster && blocks > k->c->limits.max_cluster)
    return fail(k, "a cluster of %" PRIu64 " blocks; the device allows %" PRIu32, blocks, k->c->limits.max_cluster);
  for (int i = 0; i < 3; i++)
    if (grid[i] % cluster[i])
      return fail(k, "grid[%d] is %" PRIu32 ", no multiple of the cluster's %" PRIu32, i, grid[i], cluster[i]);
  const uint32_t *need = k->kernel ? k->kernel->cluster : NULL;
  if (need && !is_zero(need) && memcmp(need, cluster, sizeof k->s->cluster) != 0)
    return fail(k, "it was compiled for clusters of %" PRIu32 " x %" PRIu32 " x %" PRIu32 " blocks", need[0], need[1],
                need[2]);
  return ASSAY_OK;
}

// A programmatic launch may overlap what stands before it in the stream: a launch of the same plan, and never the
// judge's own work that makes the buffers ready.
static enum assay_status check_attributes(const struct launch_checker *k) {
  const struct plan *p = k->c->p;
  if (!is_cuda(k) && (k->s->cooperative || k->s->programmatic || !is_zero(k->s->cluster) || k->s->carveout != -1))
    return fail(k, "cooperative, programmatic, cluster and carveout are CUDA's");
  if (k->s->carveout < -1 || k->s->carveout > 100)
    return fail(k, "carveout %" PRId32 " is not a percentage", k->s->carveout);
  if (!k->s->programmatic)
    return ASSAY_OK;
  if (k->c->target.number && k->c->target.number < NEEDS_TARGET)
    return fail(k, "programmatic launches need sm_90 or newer");
  if (k->step == 0 || k->step == p->n_prepare)
    return fail(k, "the first step cannot be programmatic: there is no launch of the plan before it");
  if (p->steps[k->step - 1].kind != PLAN_LAUNCH)
    return fail(k, "a programmatic launch must follow a launch");
  return ASSAY_OK;
}

static enum assay_status check_pointer(const struct launch_checker *k, int argument, int index) {
  const struct plan_argument *a = &k->s->arguments[argument];
  const struct plan_pointer *q = &a->pointers[index];
  if (a->size < POINTER_BYTES || q->at > a->size - POINTER_BYTES)
    return fail(k, "arguments[%d].pointers[%d]: 8 bytes at %" PRIu32 " of an argument of %" PRIu32, argument, index,
                q->at, a->size);
  if (index && q->at < a->pointers[index - 1].at + POINTER_BYTES)
    return fail(k, "arguments[%d].pointers[%d]: overlaps the one before it, or stands out of order", argument, index);
  for (int i = 0; i < POINTER_BYTES; i++)
    if (a->bytes[q->at + (uint32_t)i])
      return fail(k, "arguments[%d].pointers[%d]: the bytes under a pointer must be zero", argument, index);
  if (!check_within(k->c, q->buffer, q->offset, 0))
    return fail(k, "arguments[%d].pointers[%d]: offset %" PRId64 " is outside buffer %d", argument, index, q->offset,
                q->buffer);
  return check_mark(k->c, k->step, q->buffer);
}

static enum assay_status check_bytes(const struct launch_checker *k, int index) {
  const struct plan_argument *a = &k->s->arguments[index];
  if (a->size == 0 || a->size > PLAN_MAX_ARGUMENT_BYTES || !a->bytes)
    return fail(k, "arguments[%d]: %" PRIu32 " bytes; a parameter has from 1 to %d", index, a->size,
                PLAN_MAX_ARGUMENT_BYTES);
  if (a->n_pointers < 0 || (uint32_t)a->n_pointers > a->size / POINTER_BYTES)
    return fail(k, "arguments[%d]: %d pointers do not fit into %" PRIu32 " bytes", index, a->n_pointers, a->size);
  // OpenCL hands over memory objects, which only stand for themselves.
  if (!is_cuda(k) && a->n_pointers && a->size != POINTER_BYTES)
    return fail(k, "arguments[%d]: a pointer inside a struct is CUDA's", index);
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < a->n_pointers && !status; i++)
    status = check_pointer(k, index, i);
  return status;
}

static enum assay_status check_argument(const struct launch_checker *k, int index) {
  const struct plan_argument *a = &k->s->arguments[index];
  enum assay_status status = ASSAY_OK;
  switch (a->kind) {
  case PLAN_BYTES:
    return check_bytes(k, index);
  case PLAN_TENSOR_MAP:
    if (!is_cuda(k))
      return fail(k, "arguments[%d]: tensor maps are CUDA's", index);
    status = check_map(k->c, k->step, index);
    return status ? status : check_mark(k->c, k->step, a->map->buffer);
  case PLAN_LOCAL_MEMORY:
    if (is_cuda(k))
      return fail(k, "arguments[%d]: local memory as an argument is OpenCL's; CUDA has shared_bytes", index);
    return a->size ? ASSAY_OK : fail(k, "arguments[%d]: local memory of 0 bytes", index);
  }
  return fail(k, "arguments[%d]: its kind is not known", index);
}

static enum assay_status check_arguments(const struct launch_checker *k) {
  const struct plan_step *s = k->s;
  uint64_t bytes = 0;
  int wanted = k->kernel ? k->kernel->n_parameters : -1;
  if (s->n_arguments < 0 || s->n_arguments > PLAN_MAX_ARGUMENTS)
    return fail(k, "%d arguments; at most %d are allowed", s->n_arguments, PLAN_MAX_ARGUMENTS);
  if (wanted >= 0 && s->n_arguments != wanted)
    return fail(k, "%d arguments; it has %d parameters", s->n_arguments, wanted);
  for (int i = 0; i < s->n_arguments; i++) {
    enum assay_status status = check_argument(k, i);
    if (status)
      return status;
    uint32_t size = s->arguments[i].kind == PLAN_TENSOR_MAP     ? 128
                    : s->arguments[i].kind == PLAN_LOCAL_MEMORY ? 0
                                                                : s->arguments[i].size;
    if (wanted >= 0 && size != k->kernel->parameters[i].size)
      return fail(k, "arguments[%d] has %" PRIu32 " bytes, the parameter %" PRIu32, i, size,
                  k->kernel->parameters[i].size);
    bytes += size;
  }
  if (bytes > PLAN_MAX_ARGUMENT_BYTES)
    return fail(k, "%" PRIu64 " bytes of arguments; at most %d are allowed", bytes, PLAN_MAX_ARGUMENT_BYTES);
  return ASSAY_OK;
}

enum assay_status check_launch(struct checker *c, int step) {
  struct launch_checker k = {.c = c, .s = &c->p->steps[step], .step = step};
  if (!k.s->kernel || !*k.s->kernel)
    return check_fail(c, "steps", step, "the launch names no kernel");
  if (k.s->module < 0 || k.s->module >= c->p->n_modules)
    return fail(&k, "there is no module %d", k.s->module);
  const struct plan_module *m = &c->p->modules[k.s->module];
  if (m->code != PLAN_OPENCL_C) { // macros can make a name: only its compiler knows
    char shown[PLAN_SHOWN_BYTES];
    k.kernel = cubin_find(&c->cubins[k.s->module], k.s->kernel);
    if (!k.kernel)
      return fail(&k, "module %d (%s) has no kernel of this name", k.s->module, plan_shown(m->name, shown));
  }
  enum assay_status status = check_threads(&k);
  if (!status)
    status = check_shared(&k);
  if (!status)
    status = check_attributes(&k);
  if (!status)
    status = check_cluster(&k);
  return status ? status : check_arguments(&k);
}
