// SPDX-License-Identifier: Apache-2.0
#include "runner/device_classify.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "runner/classify.h"

enum assay_status device_names_take(struct device_names *names, const struct plan *p, struct assay_error *err) {
  device_names_release(names);
  names->items = base_calloc((size_t)p->n_buffers + 1, sizeof *names->items);
  if (!names->items)
    return error_nomem(err, "the names of a plan's buffers");
  names->n = p->n_buffers;
  for (int i = 0; i < p->n_buffers; i++) {
    struct device_name *n = &names->items[i];
    n->role = p->buffers[i].role;
    n->index = p->buffers[i].index;
    snprintf(n->name, sizeof n->name, "%s", p->buffers[i].name);
  }
  return ASSAY_OK;
}

void device_names_release(struct device_names *names) {
  base_free(names->items);
  *names = (struct device_names){0};
}

void device_notes_take(struct device_notes *out, const struct device_control *c) {
  *out = (struct device_notes){.signal = c->signal,
                               .system_call = c->system_call,
                               .memory_exhausted = c->memory_exhausted,
                               .address = c->address,
                               .n_places = c->n_places};
  if (out->n_places < 0 || out->n_places > PLAN_MAX_BUFFERS)
    out->n_places = 0;
  memcpy(out->places, c->places, sizeof out->places);
}

// "input 0 (x)", "scratch partial"
static void name_buffer(const struct device_name *n, char *text, size_t size) {
  if (n->role == PLAN_INPUT || n->role == PLAN_OUTPUT)
    snprintf(text, size, "%s %d (%s)", n->role == PLAN_INPUT ? "input" : "output", n->index, n->name);
  else
    snprintf(text, size, "%s %s", n->role == PLAN_SCRATCH ? "scratch" : "constant", n->name);
}

// An address in a buffer's own memory: only what is read-only faults there.
static void describe_inside(uint64_t address, const struct device_place *p, const struct device_name *n,
                            struct runner_report *report) {
  char name[80];
  name_buffer(n, name, sizeof name);
  report->event = n->role == PLAN_INPUT && !p->writable ? RUNNER_WROTE_INPUT : RUNNER_CRASHED;
  snprintf(report->detail, sizeof report->detail, "wrote to %s at byte %lld; %s", name,
           (long long)(address - p->base - p->offset),
           p->writable ? "the memory could not be had" : "inputs and constants are read-only");
}

static void describe_outside(uint64_t address, const struct device_place *p, const struct device_name *n,
                             struct runner_report *report) {
  char name[80];
  uint64_t start = p->base + p->offset;
  name_buffer(n, name, sizeof name);
  report->event = RUNNER_OUT_OF_BOUNDS;
  if (address < start)
    snprintf(report->detail, sizeof report->detail, "touched memory %llu bytes before the start of %s",
             (unsigned long long)(start - address), name);
  else
    snprintf(report->detail, sizeof report->detail, "touched memory %llu bytes after the end of %s",
             (unsigned long long)(address - (start + p->bytes)), name);
}

// Which buffer an address belongs to, its guards included. False: none.
static bool describe_address(const struct device_notes *notes, const struct device_names *names,
                             struct runner_report *report) {
  const uint64_t address = notes->address;
  for (int i = 0; i < notes->n_places && i < names->n; i++) {
    const struct device_place *p = &notes->places[i];
    uint64_t end = p->base + p->map_bytes;
    if (p->base == 0 || address + DEVICE_GUARD_BYTES < p->base || address >= end + DEVICE_GUARD_BYTES)
      continue;
    if (address >= p->base && address < end)
      describe_inside(address, p, &names->items[i], report);
    else
      describe_outside(address, p, &names->items[i], report);
    return true;
  }
  return false;
}

void device_classify_end(const struct device_notes *notes, const struct sandbox_end *end,
                         const struct device_names *names, bool late, bool loading, struct runner_report *report) {
  const bool segment = end->signal == SIGSEGV || end->signal == SIGBUS;
  memset(report, 0, sizeof *report);
  report->signal = end->signal;
  if (!late && segment && notes->signal == end->signal && describe_address(notes, names, report))
    return;
  // The rest is as with kernels in C; which have no buffers here, so that no address is theirs.
  const struct runner_control hints = {.signal = notes->signal,
                                       .system_call = notes->system_call,
                                       .address = notes->address,
                                       .memory_exhausted = notes->memory_exhausted};
  classify_end(&hints, end, &(struct buffer_list){0}, late, loading, report);
}

bool device_report_is_sound(const struct device_report *d) {
  return d->event >= DEVICE_OK && d->event <= DEVICE_LOST && d->times.device_ns >= 0 && d->times.called_ns >= 0 &&
         d->times.outside_ns >= 0 && d->times.prepare_ns >= 0;
}

enum assay_status device_classify_report(const struct device_report *d, struct runner_report *report,
                                         struct assay_error *err) {
  static const enum runner_event events[] = {
      [DEVICE_OK] = RUNNER_OK,
      [DEVICE_LOAD_FAILED] = RUNNER_LOAD_FAILED,
      [DEVICE_LAUNCH_FAILED] = RUNNER_LAUNCH_FAILED,
      // The judge asks again with inputs that may be written, to tell such writes from addresses out of bounds.
      [DEVICE_FAULT] = RUNNER_CRASHED,
      [DEVICE_OUT_OF_MEMORY] = RUNNER_OUT_OF_MEMORY,
  };
  char detail[sizeof d->detail];
  memcpy(detail, d->detail, sizeof detail);
  detail[sizeof detail - 1] = '\0';
  memset(report, 0, sizeof *report);
  if (!device_report_is_sound(d))
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "the device's runner gave an answer that makes no sense");
  if (d->event == DEVICE_LOST)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "the device does not answer any more: %s", detail);
  report->event = events[d->event];
  snprintf(report->detail, sizeof report->detail, "%s", detail);
  return ASSAY_OK;
}
