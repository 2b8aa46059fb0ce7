// SPDX-License-Identifier: Apache-2.0
// One execution of a loaded plan.
//
// A timed part is held back on the device until all of it is queued (up to a bound: the queue is finite, and waiting
// for room in it would never end), so that the host's latency between two launches is not in the time.
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "device/cuda_device.h"

enum { HELD_PARAM_BYTES = 256 << 10, ATTEMPTS = 3 };

static enum cu_result queue_step(struct device *d, struct cuda_step *s) {
  const struct cuda_driver *cu = d->cu;
  switch (s->kind) {
  case PLAN_LAUNCH:
    return cu->cuLaunchKernelEx(&s->config, s->function, s->params, NULL);
  case PLAN_FILL:
    if (s->width == 4)
      return cu->cuMemsetD32Async(s->to, s->value, s->count, d->stream);
    if (s->width == 2)
      return cu->cuMemsetD16Async(s->to, (unsigned short)s->value, s->count, d->stream);
    return cu->cuMemsetD8Async(s->to, (unsigned char)s->value, s->count, d->stream);
  case PLAN_COPY:
  case PLAN_SET_SYMBOL:
    return cu->cuMemcpyDtoDAsync(s->to, s->from, s->count, d->stream);
  }
  return CUDA_ERROR_INVALID_VALUE;
}

// Whether the gate must open before step i is queued.
static bool queue_is_full(const struct cuda_step *s, int queued, uint32_t *bytes) {
  *bytes += s->param_bytes;
  return queued >= DEVICE_HELD_STEPS || *bytes > HELD_PARAM_BYTES;
}

// Queues steps [from, to). *failed: the step that was refused. held: the gate is closed, and opened when it must be.
static enum cu_result queue_steps(struct device *d, int from, int to, bool *held, int *failed) {
  uint32_t bytes = 0;
  for (int i = from; i < to; i++) {
    struct cuda_step *s = &d->loaded->steps[i];
    if (*held && queue_is_full(s, i - from, &bytes)) {
      cuda_let_go(d);
      *held = false;
    }
    enum cu_result r = queue_step(d, s);
    if (r != CUDA_SUCCESS) {
      *failed = i;
      return r;
    }
  }
  return CUDA_SUCCESS;
}

static enum cu_result queue_empty(struct device *d) {
  return d->cu->cuLaunchKernel(d->empty, 1, 1, 1, 32, 1, 1, 0, d->stream, NULL, NULL);
}

static enum cu_result elapsed(struct device *d, CUevent start, CUevent end, int64_t *ns) {
  float ms = 0;
  enum cu_result r = d->cu->cuEventElapsedTime(&ms, start, end);
  *ns = (int64_t)((double)ms * 1e6 + 0.5);
  return r;
}

// The steps that depend on weights only, timed separately.
static enum cu_result prepare(struct device *d, struct device_times *times, int *failed) {
  const struct cuda_driver *cu = d->cu;
  bool held = false;
  if (d->loaded->plan->n_prepare == 0)
    return CUDA_SUCCESS;
  enum cu_result r = cu->cuEventRecord(d->prepare_start, d->stream);
  if (r == CUDA_SUCCESS)
    r = queue_steps(d, 0, d->loaded->plan->n_prepare, &held, failed);
  if (r == CUDA_SUCCESS)
    r = cu->cuEventRecord(d->prepare_end, d->stream);
  if (r == CUDA_SUCCESS)
    r = cu->cuStreamSynchronize(d->stream);
  return r == CUDA_SUCCESS ? elapsed(d, d->prepare_start, d->prepare_end, &times->prepare_ns) : r;
}

static enum cu_result steps_of(struct device *d, enum device_mode mode, bool *held, int *failed) {
  if (mode == DEVICE_NULL)
    return CUDA_SUCCESS;
  if (mode == DEVICE_EMPTY)
    return queue_empty(d);
  return queue_steps(d, d->loaded->plan->n_prepare, d->loaded->plan->n_steps, held, failed);
}

// The timed part by the device's clock. The gate opens whatever happens: a stream left waiting would never end.
static enum cu_result timed_on_device(struct device *d, enum device_mode mode, struct device_times *times,
                                      int *failed) {
  const struct cuda_driver *cu = d->cu;
  enum cu_result r = cuda_hold(d);
  bool held = r == CUDA_SUCCESS;
  int64_t released = clock_monotonic_ns();
  if (r == CUDA_SUCCESS)
    r = cu->cuEventRecord(d->start, d->stream);
  if (r == CUDA_SUCCESS)
    r = steps_of(d, mode, &held, failed);
  times->let_go_early = !held;
  if (r == CUDA_SUCCESS)
    r = cu->cuEventRecord(d->end, d->stream);
  if (r == CUDA_SUCCESS)
    r = cuda_stamp(d);
  if (held) {
    cuda_let_go(d);
    released = clock_monotonic_ns();
  }
  enum cu_result end = cu->cuStreamSynchronize(d->stream);
  times->called_ns = clock_monotonic_ns() - released;
  if (end == CUDA_SUCCESS && r == CUDA_SUCCESS)
    end = cuda_confirm(d, &times->outside_ns);
  // A fault shows in the next call of the driver. So a refused step is reported only when there was no fault.
  if (end != CUDA_SUCCESS)
    return end;
  return r == CUDA_SUCCESS ? elapsed(d, d->start, d->end, &times->device_ns) : r;
}

// As a caller sees it: launches one after the other into an idle stream, without events.
static enum cu_result timed_as_called(struct device *d, struct device_times *times, int *failed) {
  bool held = false;
  enum cu_result r = d->cu->cuStreamSynchronize(d->stream);
  int64_t start = clock_monotonic_ns();
  if (r == CUDA_SUCCESS)
    r = queue_steps(d, d->loaded->plan->n_prepare, d->loaded->plan->n_steps, &held, failed);
  enum cu_result end = d->cu->cuStreamSynchronize(d->stream);
  times->called_ns = clock_monotonic_ns() - start;
  return end != CUDA_SUCCESS ? end : r;
}

static enum cu_result once(struct device *d, enum device_mode mode, struct device_times *times, int *failed) {
  enum cu_result r = mode == DEVICE_HOT ? cuda_warm(d) : cuda_flush(d);
  const bool steps = mode != DEVICE_NULL && mode != DEVICE_EMPTY;
  if (r == CUDA_SUCCESS && steps && !d->loaded->called) {
    d->loaded->called = true;
    r = cuda_leave_in_shared(d);
  }
  if (r != CUDA_SUCCESS)
    return r;
  return mode == DEVICE_AS_CALLED ? timed_as_called(d, times, failed) : timed_on_device(d, mode, times, failed);
}

static enum cu_result carry_out(struct device *d, enum device_mode mode, struct device_times *times, int *failed) {
  enum cu_result r = CUDA_SUCCESS;
  if (mode == DEVICE_PREPARE)
    return prepare(d, times, failed);
  // Where the gate opened by itself the host was blocked, as happens when the driver has to make room for a kernel's
  // first launch. The steps give the same again, and by then there is room.
  for (int attempt = 0; r == CUDA_SUCCESS && attempt < ATTEMPTS; attempt++) {
    times->repeated = attempt > 0;
    r = once(d, mode, times, failed);
    if (mode == DEVICE_AS_CALLED || !cuda_hold_failed(d))
      break;
  }
  return r;
}

// Where it went wrong, as far as that is known. A refused step is known. A fault shows after everything was queued, so
// the kernel is known only if there is just one. text may stay empty.
static void place(const struct plan *p, enum device_event event, int failed, char *text, size_t size) {
  const char *kernel = NULL;
  if (event == DEVICE_LAUNCH_FAILED && failed >= 0) {
    const struct plan_step *s = &p->steps[failed];
    snprintf(text, size, "step %d%s%.60s", failed, s->kind == PLAN_LAUNCH ? ", " : "",
             s->kind == PLAN_LAUNCH ? s->kernel : "");
  }
  if (event != DEVICE_FAULT)
    return;
  for (int i = 0; i < p->n_steps; i++) {
    if (p->steps[i].kind != PLAN_LAUNCH)
      continue;
    if (kernel && strcmp(kernel, p->steps[i].kernel) != 0)
      return;
    kernel = p->steps[i].kernel;
  }
  if (kernel)
    snprintf(text, size, "%.60s", kernel);
}

enum assay_status cuda_call(struct device *d, enum device_mode mode, struct device_report *report,
                            struct assay_error *err) {
  int failed = -1;
  *report = (struct device_report){.event = DEVICE_OK};
  if (!d->loaded && mode != DEVICE_NULL && mode != DEVICE_EMPTY)
    return error_set(err, ASSAY_ERR_INVALID, "no plan is loaded");
  enum cu_result r = d->cu->cuCtxSetCurrent(d->context);
  if (r == CUDA_SUCCESS)
    r = carry_out(d, mode, &report->times, &failed);
  if (r == CUDA_SUCCESS)
    return ASSAY_OK;
  enum device_event event = cuda_event_of(r, failed >= 0);
  char where[96] = "";
  if (d->loaded)
    place(d->loaded->plan, event, failed, where, sizeof where);
  report->times = (struct device_times){0};
  cuda_report(d, report, event, r, where[0] ? where : NULL);
  return ASSAY_OK;
}
