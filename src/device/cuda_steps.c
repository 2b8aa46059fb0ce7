// SPDX-License-Identifier: Apache-2.0
// Steps made ready: kernels and symbols looked up, parameters laid out with every pointer in its place, attributes set.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "device/cuda_device.h"

enum { DEFAULT_DYNAMIC_SHARED = 48 << 10, PORTABLE_CLUSTER = 8, TENSOR_MAP_BYTES = 128, TENSOR_MAP_ALIGNMENT = 128 };

// Where we are, for messages.
struct at {
  struct device *d;
  struct cuda_plan *l;
  int index;
  const struct plan_step *from;
  struct cuda_step *to;
  struct device_report *report;
};

static void place(const struct at *a, char *text, size_t size) {
  if (a->from->kind == PLAN_LAUNCH)
    snprintf(text, size, "step %d, %.60s", a->index, a->from->kernel);
  else
    snprintf(text, size, "step %d", a->index);
}

static void ASSAY_PRINTF(3, 4) refuse(const struct at *a, enum device_event event, const char *fmt, ...) {
  char where[96], what[144];
  place(a, where, sizeof where);
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(what, sizeof what, fmt, ap);
  va_end(ap);
  a->report->event = event;
  snprintf(a->report->detail, sizeof a->report->detail, "%s: %s", where, what);
}

// The event for a driver result while loading: memory and faults keep their own events, all else is a failed load.
static void refused(const struct at *a, enum cu_result r, const char *what, enum device_event otherwise) {
  char where[144], step[96];
  place(a, step, sizeof step);
  snprintf(where, sizeof where, "%s: %s", step, what);
  enum device_event event = cuda_event_of(r, true);
  cuda_report(a->d, a->report, event == DEVICE_LAUNCH_FAILED ? otherwise : event, r, where);
}

static uint64_t address_of(const struct at *a, const struct plan_place *p) {
  return a->l->addresses[p->buffer] + (uint64_t)p->offset;
}

// ---- a launch

static void *bytes_argument(const struct at *a, const struct plan_argument *arg) {
  unsigned char *bytes = arena_alloc(&a->l->arena, arg->size);
  if (!bytes)
    return NULL;
  memcpy(bytes, arg->bytes, arg->size);
  for (int i = 0; i < arg->n_pointers; i++) {
    const struct plan_pointer *p = &arg->pointers[i];
    uint64_t address = a->l->addresses[p->buffer] + (uint64_t)p->offset;
    memcpy(bytes + p->at, &address, sizeof address);
  }
  return bytes;
}

static void *tensor_map_argument(const struct at *a, const struct plan_argument *arg) {
  const struct plan_tensor_map *m = arg->map;
  char *room = arena_alloc(&a->l->arena, TENSOR_MAP_BYTES + TENSOR_MAP_ALIGNMENT);
  if (!room)
    return NULL;
  uintptr_t start = ((uintptr_t)room + TENSOR_MAP_ALIGNMENT - 1) / TENSOR_MAP_ALIGNMENT * TENSOR_MAP_ALIGNMENT;
  struct cu_tensor_map *map = (void *)(room + (start - (uintptr_t)room));
  struct plan_place where = {.buffer = m->buffer, .offset = m->offset};
  if (!a->d->cu->cuTensorMapEncodeTiled) {
    refuse(a, DEVICE_LOAD_FAILED, "the driver is too old for tensor maps");
    return map;
  }
  enum cu_result r = a->d->cu->cuTensorMapEncodeTiled(
      map, (enum cu_tensor_map_data_type)m->data_type, m->rank, (void *)(uintptr_t)address_of(a, &where), m->dims,
      m->strides, m->box, m->element_strides, (enum cu_tensor_map_interleave)m->interleave,
      (enum cu_tensor_map_swizzle)m->swizzle, (enum cu_tensor_map_l2_promotion)m->l2_promotion,
      (enum cu_tensor_map_oob_fill)m->oob_fill);
  if (r != CUDA_SUCCESS)
    refused(a, r, "cuTensorMapEncodeTiled", DEVICE_LOAD_FAILED);
  return map;
}

// The driver reads as many bytes of each parameter as the kernel declares: the plan must have exactly those.
static void check_parameters(const struct at *a) {
  size_t offset, bytes;
  if (!a->d->cu->cuFuncGetParamInfo)
    return; // a driver before 12.4; plan_check has read the cubin
  for (int i = 0; i < a->from->n_arguments; i++) {
    const struct plan_argument *arg = &a->from->arguments[i];
    size_t have = arg->kind == PLAN_TENSOR_MAP ? TENSOR_MAP_BYTES : arg->size;
    if (a->d->cu->cuFuncGetParamInfo(a->to->function, (size_t)i, &offset, &bytes) != CUDA_SUCCESS) {
      refuse(a, DEVICE_LOAD_FAILED, "the kernel takes %d arguments, the plan gives %d", i, a->from->n_arguments);
      return;
    }
    if (bytes != have) {
      refuse(a, DEVICE_LOAD_FAILED, "argument %d has %zu bytes in the kernel and %zu in the plan", i, bytes, have);
      return;
    }
  }
  if (a->d->cu->cuFuncGetParamInfo(a->to->function, (size_t)a->from->n_arguments, &offset, &bytes) == CUDA_SUCCESS)
    refuse(a, DEVICE_LOAD_FAILED, "the kernel takes more than the plan's %d arguments", a->from->n_arguments);
}

// Returns false only when memory fails.
static bool arguments(const struct at *a) {
  a->to->params = arena_calloc(&a->l->arena, (size_t)a->from->n_arguments + 1, sizeof *a->to->params);
  if (!a->to->params)
    return false;
  for (int i = 0; i < a->from->n_arguments && a->report->event == DEVICE_OK; i++) {
    const struct plan_argument *arg = &a->from->arguments[i];
    if (arg->kind == PLAN_LOCAL_MEMORY) {
      refuse(a, DEVICE_LOAD_FAILED, "argument %d is local memory, which CUDA does not have", i);
      return true;
    }
    a->to->params[i] = arg->kind == PLAN_TENSOR_MAP ? tensor_map_argument(a, arg) : bytes_argument(a, arg);
    if (!a->to->params[i])
      return false;
    a->to->param_bytes += arg->kind == PLAN_TENSOR_MAP ? TENSOR_MAP_BYTES : arg->size;
  }
  return true;
}

// Properties of the function, not of the launch: a function that several steps launch keeps the largest of the dynamic
// memories, and the last of the carveouts, which are only a hint.
static void function_attributes(const struct at *a) {
  const struct cuda_driver *cu = a->d->cu;
  const struct plan_step *s = a->from;
  CUfunction f = a->to->function;
  int allowed = DEFAULT_DYNAMIC_SHARED;
  if (cu->cuFuncGetAttribute(&allowed, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f) != CUDA_SUCCESS)
    allowed = 0;
  enum cu_result r = CUDA_SUCCESS;
  if ((int64_t)s->shared_bytes > allowed)
    r = cu->cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)s->shared_bytes);
  if (r != CUDA_SUCCESS) {
    char what[64];
    snprintf(what, sizeof what, "%u bytes of dynamic shared memory", s->shared_bytes);
    refused(a, r, what, DEVICE_LAUNCH_FAILED);
    return;
  }
  if (s->cluster[0] && s->cluster[0] * s->cluster[1] * s->cluster[2] > PORTABLE_CLUSTER)
    r = cu->cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
  if (r == CUDA_SUCCESS && s->carveout >= 0)
    r = cu->cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, s->carveout);
  if (r != CUDA_SUCCESS)
    refused(a, r, "attributes of the kernel", DEVICE_LAUNCH_FAILED);
}

static void configure(const struct at *a) {
  const struct plan_step *s = a->from;
  struct cuda_step *t = a->to;
  struct cu_launch_attribute *attribute = t->attributes;
  if (s->cluster[0]) {
    attribute->id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute->value.cluster_dim.x = s->cluster[0];
    attribute->value.cluster_dim.y = s->cluster[1];
    attribute++->value.cluster_dim.z = s->cluster[2];
  }
  if (s->cooperative) {
    attribute->id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attribute++->value.cooperative = 1;
  }
  // The first step of each part follows our own work and an event. There is no step of the plan to overlap with, and
  // the step must not start before the clock does.
  if (s->programmatic && a->index != 0 && a->index != a->l->plan->n_prepare) {
    attribute->id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute++->value.programmatic_stream_serialization_allowed = 1;
  }
  t->config = (struct cu_launch_config){
      .grid_x = s->grid[0],
      .grid_y = s->grid[1],
      .grid_z = s->grid[2],
      .block_x = s->block[0],
      .block_y = s->block[1],
      .block_z = s->block[2],
      .shared_bytes = s->shared_bytes,
      .stream = a->d->stream,
      .attrs = t->attributes,
      .n_attrs = (unsigned int)(attribute - t->attributes),
  };
}

static bool launch(const struct at *a) {
  enum cu_result r = a->d->cu->cuModuleGetFunction(&a->to->function, a->l->modules[a->from->module], a->from->kernel);
  if (r != CUDA_SUCCESS) {
    refused(a, r, "finding the kernel in its module", DEVICE_LOAD_FAILED);
    return true;
  }
  check_parameters(a);
  if (a->report->event == DEVICE_OK && !arguments(a))
    return false;
  if (a->report->event == DEVICE_OK)
    function_attributes(a);
  configure(a);
  return true;
}

// ---- the other steps

static void symbol(const struct at *a) {
  const struct plan_step *s = a->from;
  uint64_t address, size = 0;
  size_t bytes;
  enum cu_result r = a->d->cu->cuModuleGetGlobal(&address, &bytes, a->l->modules[s->module], s->symbol);
  if (r != CUDA_SUCCESS) {
    refused(a, r, "finding the symbol in its module", DEVICE_LOAD_FAILED);
    return;
  }
  size = bytes;
  if (s->to.offset < 0 || (uint64_t)s->to.offset > size || s->bytes > size - (uint64_t)s->to.offset) {
    refuse(a, DEVICE_LOAD_FAILED, "symbol %.60s has %llu bytes, the plan writes %llu at %lld", s->symbol,
           (unsigned long long)size, (unsigned long long)s->bytes, (long long)s->to.offset);
    return;
  }
  a->to->to = address + (uint64_t)s->to.offset;
  a->to->from = address_of(a, &s->from);
  a->to->count = s->bytes;
}

static bool prepare_step(const struct at *a) {
  const struct plan_step *s = a->from;
  a->to->kind = s->kind;
  switch (s->kind) {
  case PLAN_LAUNCH:
    return launch(a);
  case PLAN_FILL:
    a->to->to = address_of(a, &s->to);
    a->to->count = s->bytes / s->width;
    a->to->value = s->value;
    a->to->width = s->width;
    return true;
  case PLAN_COPY:
    a->to->to = address_of(a, &s->to);
    a->to->from = address_of(a, &s->from);
    a->to->count = s->bytes;
    return true;
  case PLAN_SET_SYMBOL:
    symbol(a);
    return true;
  }
  return true;
}

enum assay_status cuda_load_steps(struct device *d, struct cuda_plan *l, struct device_report *report,
                                  struct assay_error *err) {
  const struct plan *p = l->plan;
  l->steps = arena_calloc(&l->arena, (size_t)p->n_steps + 1, sizeof *l->steps);
  if (!l->steps)
    return error_nomem(err, "the steps of a plan");
  for (int i = 0; i < p->n_steps && report->event == DEVICE_OK; i++) {
    struct at a = {d, l, i, &p->steps[i], &l->steps[i], report};
    if (!prepare_step(&a))
      return error_nomem(err, "the arguments of a step");
  }
  return ASSAY_OK;
}
