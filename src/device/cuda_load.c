// SPDX-License-Identifier: Apache-2.0
// Loading a plan (memory, modules, steps), and unloading it.
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "device/cuda_device.h"
#include "device/garbage.h"

enum { LOG_BYTES = 4096 };

// The first line of the driver's compiler that says anything.
static void first_line(char *log) {
  size_t blank = strspn(log, " \t\r\n");
  memmove(log, log + blank, strlen(log + blank) + 1);
  log[strcspn(log, "\r\n")] = '\0';
}

static void load_module(struct device *d, struct cuda_plan *l, int i, struct device_report *report) {
  const struct plan_module *m = &l->plan->modules[i];
  char log[LOG_BYTES] = "";
  enum cu_jit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
  if (m->code != PLAN_CUBIN && m->code != PLAN_PTX) {
    report->event = DEVICE_LOAD_FAILED;
    snprintf(report->detail, sizeof report->detail, "module %.80s: neither cubin nor PTX", m->name);
    return;
  }
  enum cu_result r = d->cu->cuModuleLoadDataEx(&l->modules[i], m->bytes, 2, options, values);
  if (r == CUDA_SUCCESS)
    return;
  l->modules[i] = NULL;
  first_line(log);
  char where[160];
  snprintf(where, sizeof where, "module %.40s%s%.100s", m->name, log[0] ? ": " : "", log);
  enum device_event event = cuda_event_of(r, true);
  cuda_report(d, report, event == DEVICE_LAUNCH_FAILED ? DEVICE_LOAD_FAILED : event, r, where);
}

// The driver makes room for kernels' local memory when a kernel that needs more is first launched, and waits for the
// device to be idle before it does: never, while the stream is held. So room is made now. If that is refused, the
// launch reports it.
static void make_room(struct device *d, const struct cuda_plan *l, struct device_report *report) {
  size_t stack = 0;
  int most = 0;
  for (int i = 0; i < l->plan->n_steps; i++) {
    int local = 0;
    if (l->steps[i].function &&
        d->cu->cuFuncGetAttribute(&local, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, l->steps[i].function) == CUDA_SUCCESS)
      most = local > most ? local : most;
  }
  enum cu_result r = d->cu->cuCtxGetLimit(&stack, CU_LIMIT_STACK_SIZE);
  if (r == CUDA_SUCCESS && (size_t)most > stack)
    r = d->cu->cuCtxSetLimit(CU_LIMIT_STACK_SIZE, (size_t)most);
  if (r == CUDA_ERROR_OUT_OF_MEMORY)
    cuda_report(d, report, DEVICE_OUT_OF_MEMORY, r, "local memory for the plan's kernels");
}

// Shared memory is 0 in a fresh context, and later holds what the launch before left: a kernel that does not write what
// it reads may be right with that. So something else is left there before the plan's first steps, and right before its
// first call, as what runs between (flushing the caches, another process) leaves other things. (Not before each call:
// the next kernel may wait until the SM has divided its memory anew.)
enum cu_result cuda_leave_in_shared(struct device *d) {
  uint32_t number = GARBAGE_ORDINARY, bytes = d->facts.limits.max_shared_bytes, count = bytes / sizeof number;
  void *params[] = {&number, &count};
  return d->cu->cuLaunchKernel(d->leave, (unsigned int)d->facts.processors, 1, 1, 1024, 1, 1, bytes, d->stream, params,
                               NULL);
}

static enum assay_status tables(struct cuda_plan *l, struct assay_error *err) {
  const struct plan *p = l->plan;
  l->addresses = arena_calloc(&l->arena, (size_t)p->n_buffers + 1, sizeof *l->addresses);
  l->mappings = arena_calloc(&l->arena, (size_t)p->n_buffers + 1, sizeof *l->mappings);
  l->modules = arena_calloc(&l->arena, (size_t)p->n_modules + 1, sizeof *l->modules);
  return l->addresses && l->mappings && l->modules ? ASSAY_OK : error_nomem(err, "a loaded plan");
}

enum assay_status cuda_load(struct device *d, const struct device_work *work, struct device_report *report,
                            struct assay_error *err) {
  *report = (struct device_report){.event = DEVICE_OK};
  if (d->loaded)
    return error_set(err, ASSAY_ERR_INVALID, "a plan is loaded already");
  struct cuda_plan *l = base_calloc(1, sizeof *l);
  if (!l)
    return error_nomem(err, "a loaded plan");
  l->plan = work->plan;
  d->loaded = l;
  d->cu->cuCtxSetCurrent(d->context);
  enum assay_status status = tables(l, err);
  if (!status)
    status = cuda_map_buffers(d, l, work, report, err);
  for (int i = 0; !status && report->event == DEVICE_OK && i < l->plan->n_modules; i++)
    load_module(d, l, i, report);
  if (!status && report->event == DEVICE_OK)
    status = cuda_load_steps(d, l, report, err);
  if (!status && report->event == DEVICE_OK)
    make_room(d, l, report);
  if (!status && report->event == DEVICE_OK) {
    enum cu_result r = cuda_leave_in_shared(d);
    if (r == CUDA_SUCCESS)
      r = d->cu->cuStreamSynchronize(d->stream);
    if (r != CUDA_SUCCESS)
      cuda_report(d, report, cuda_event_of(r, false), r, "filling scratch and shared memory");
  }
  if (status || report->event != DEVICE_OK)
    cuda_unload(d);
  return status;
}

// After a fault every call fails, and the driver's memory goes with the process.
void cuda_unload(struct device *d) {
  struct cuda_plan *l = d->loaded;
  if (!l)
    return;
  d->cu->cuCtxSetCurrent(d->context);
  d->cu->cuStreamSynchronize(d->stream);
  for (int i = 0; l->modules && i < l->plan->n_modules; i++)
    if (l->modules[i])
      d->cu->cuModuleUnload(l->modules[i]);
  for (int i = 0; l->mappings && i < l->n_mappings; i++)
    cuda_unmap(d, &l->mappings[i]);
  arena_release(&l->arena);
  base_free(l);
  d->loaded = NULL;
}
