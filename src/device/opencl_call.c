// SPDX-License-Identifier: Apache-2.0
// One execution of a loaded plan. The steps wait for an event of ours until all of them are queued, so that the
// host's work between two launches is not in the time.
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "device/opencl_device.h"

bool opencl_is_memory(cl_int code) {
  return code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES || code == CL_OUT_OF_HOST_MEMORY;
}

void opencl_report(struct device_report *report, enum device_event event, cl_int code, const char *where) {
  char space[32];
  report->event = event;
  snprintf(report->detail, sizeof report->detail, "%.120s%s%s", where ? where : "", where ? ": " : "",
           opencl_error_name(code, space, sizeof space));
}

// What is under way: the steps [from, to), the first and the last step's events, and what went wrong where.
struct execution {
  struct device *d;
  cl_event gate, first, last; // gate: NULL when the steps need not wait
  cl_int result;
  int failed; // the step, -1: none
};

static cl_int set_arguments(struct device *d, const struct plan_step *s, const struct opencl_step *o, cl_kernel k) {
  const cl_mem *view = d->loaded->views + o->first_view;
  cl_int result = CL_SUCCESS;
  for (int i = 0; i < s->n_arguments && result == CL_SUCCESS; i++) {
    const struct plan_argument *a = &s->arguments[i];
    if (a->kind == PLAN_LOCAL_MEMORY)
      result = d->cl.SetKernelArg(k, (cl_uint)i, a->size, NULL);
    else if (a->n_pointers > 0)
      result = d->cl.SetKernelArg(k, (cl_uint)i, sizeof *view, view++);
    else
      result = d->cl.SetKernelArg(k, (cl_uint)i, a->size, a->bytes);
  }
  return result;
}

static cl_int queue_launch(struct execution *e, int i, cl_event *event) {
  struct device *d = e->d;
  const struct plan_step *s = &d->loaded->plan->steps[i];
  const struct opencl_step *o = &d->loaded->steps[i];
  cl_kernel k = d->loaded->kernels[o->kernel].kernel;
  size_t global[3], local[3];
  for (int n = 0; n < 3; n++) {
    local[n] = s->block[n];
    global[n] = (size_t)s->grid[n] * s->block[n];
  }
  cl_int result = set_arguments(d, s, o, k);
  if (result != CL_SUCCESS)
    return result;
  return d->cl.EnqueueNDRangeKernel(d->queue, k, 3, NULL, global, local, e->gate != NULL, e->gate ? &e->gate : NULL,
                                    event);
}

static cl_int queue_step(struct execution *e, int i, cl_event *event) {
  struct device *d = e->d;
  const struct plan_step *s = &d->loaded->plan->steps[i];
  const struct opencl_memory *memory = d->loaded->memory;
  const cl_event *wait = e->gate ? &e->gate : NULL;
  const cl_uint n_wait = e->gate != NULL;
  if (s->kind == PLAN_LAUNCH)
    return queue_launch(e, i, event);
  if (s->kind == PLAN_FILL)
    return d->cl.EnqueueFillBuffer(d->queue, memory[s->to.buffer].mem, &s->value, s->width, (size_t)s->to.offset,
                                   s->bytes, n_wait, wait, event);
  return d->cl.EnqueueCopyBuffer(d->queue, memory[s->from.buffer].mem, memory[s->to.buffer].mem, (size_t)s->from.offset,
                                 (size_t)s->to.offset, s->bytes, n_wait, wait, event);
}

static void queue_steps(struct execution *e, int from, int to) {
  for (int i = from; i < to && e->result == CL_SUCCESS; i++) {
    cl_event event = NULL;
    const struct plan_step *s = &e->d->loaded->plan->steps[i];
    if (s->kind != PLAN_LAUNCH && s->bytes == 0)
      continue;
    e->result = queue_step(e, i, &event);
    if (e->result != CL_SUCCESS) {
      e->failed = i;
      return;
    }
    if (!e->first) {
      e->first = event;
      continue;
    }
    if (e->last)
      e->d->cl.ReleaseEvent(e->last);
    e->last = event;
  }
}

static void queue_empty(struct execution *e) {
  const size_t one = 1;
  e->result = e->d->cl.EnqueueNDRangeKernel(e->d->queue, e->d->empty, 1, NULL, &one, &one, e->gate != NULL,
                                            e->gate ? &e->gate : NULL, &e->first);
}

// Waits for everything that was queued, even after a refusal: what is queued before it must be over.
static void finish(struct execution *e) {
  cl_int end = e->d->cl.Finish(e->d->queue), status = CL_SUCCESS;
  if (e->result != CL_SUCCESS)
    return;
  e->result = end;
  cl_event last = e->last ? e->last : e->first;
  if (end == CL_SUCCESS && last &&
      e->d->cl.GetEventInfo(last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL) == CL_SUCCESS &&
      status < 0)
    e->result = status;
}

static int64_t device_time(const struct execution *e) {
  cl_ulong start = 0, end = 0;
  if (!e->first)
    return 0;
  (void)e->d->cl.GetEventProfilingInfo(e->first, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL);
  (void)e->d->cl.GetEventProfilingInfo(e->last ? e->last : e->first, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
  return end > start ? (int64_t)(end - start) : 0;
}

static void drop_events(struct execution *e) {
  cl_event events[] = {e->gate, e->first, e->last};
  for (int i = 0; i < 3; i++)
    if (events[i])
      e->d->cl.ReleaseEvent(events[i]);
  e->gate = e->first = e->last = NULL;
}

// Steps [from, to) or what stands in their place, held back until they are queued.
static void run_held(struct execution *e, enum device_mode mode, int from, int to, int64_t *device_ns,
                     int64_t *called_ns) {
  enum { COMPLETE = 0 };
  struct device *d = e->d;
  e->gate = d->cl.CreateUserEvent(d->context, &e->result);
  if (e->gate && mode == DEVICE_EMPTY)
    queue_empty(e);
  else if (e->gate && mode != DEVICE_NULL)
    queue_steps(e, from, to);
  int64_t released = clock_monotonic_ns();
  if (e->gate)
    (void)d->cl.SetUserEventStatus(e->gate, COMPLETE);
  finish(e);
  *called_ns = clock_monotonic_ns() - released;
  *device_ns = device_time(e);
  drop_events(e);
}

static void run_freely(struct execution *e, int from, int to, int64_t *called_ns) {
  int64_t start = clock_monotonic_ns();
  queue_steps(e, from, to);
  finish(e);
  *called_ns = clock_monotonic_ns() - start;
  drop_events(e);
}

static void carry_out(struct execution *e, enum device_mode mode, struct device_times *times) {
  const struct plan *p = e->d->loaded->plan;
  int64_t unused = 0;
  if (mode == DEVICE_PREPARE || p->n_prepare == 0)
    opencl_memory_garbage(e->d, e->d->loaded);
  if (mode == DEVICE_PREPARE) {
    run_held(e, mode, 0, p->n_prepare, &times->prepare_ns, &unused);
    return;
  }
  if (e->result != CL_SUCCESS)
    return;
  // Hot: the judge has just written the inputs. The steps do not run once before: the timed run would then find its
  // answer already there.
  if (mode != DEVICE_HOT)
    opencl_memory_flush(e->d->loaded);
  if (mode == DEVICE_AS_CALLED)
    run_freely(e, p->n_prepare, p->n_steps, &times->called_ns);
  else
    run_held(e, mode, p->n_prepare, p->n_steps, &times->device_ns, &times->called_ns);
}

enum assay_status opencl_call(struct device *d, enum device_mode mode, struct device_report *report,
                              struct assay_error *err) {
  *report = (struct device_report){.event = DEVICE_OK};
  if (!d->loaded)
    return error_set(err, ASSAY_ERR_INVALID, "no plan is loaded");
  struct execution e = {.d = d, .failed = -1};
  carry_out(&e, mode, &report->times);
  if (e.result == CL_SUCCESS)
    return ASSAY_OK;
  char where[96] = "";
  const struct plan_step *s = e.failed >= 0 ? &d->loaded->plan->steps[e.failed] : NULL;
  if (s)
    snprintf(where, sizeof where, "step %d%s%.60s", e.failed, s->kind == PLAN_LAUNCH ? ", " : "",
             s->kind == PLAN_LAUNCH ? s->kernel : "");
  enum device_event event = opencl_is_memory(e.result) ? DEVICE_OUT_OF_MEMORY : s ? DEVICE_LAUNCH_FAILED : DEVICE_FAULT;
  report->times = (struct device_times){0};
  opencl_report(report, event, e.result, where[0] ? where : NULL);
  return ASSAY_OK;
}
