// SPDX-License-Identifier: Apache-2.0
// What tests/gpu/device.c carries out: each scenario is a process with buffers of these sizes, in elements of inputs
// that the judge filled.
#ifndef TESTS_GPU_DEVICE_SCENARIOS_H
#define TESTS_GPU_DEVICE_SCENARIOS_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "device/device.h"
#include "device/shared.h"
#include "made_plan.h"

enum { BOARD_BUFFERS = 3, BOARD_CODE = 1 << 20 };

// Memory of all processes of the test.
struct board {
  char target[16], uuid[64];
  size_t utility_bytes, cubin_bytes;
  struct device_buffer in[BOARD_BUFFERS], out[BOARD_BUFFERS];
  unsigned char utility[BOARD_CODE], cubin[BOARD_CODE];
};

struct runner {
  struct board *board;
  struct device *device;
  int n_in, n_out;
  int64_t open_ns;
  bool broken; // by a fault, as it should
};

struct scenario {
  const char *name;
  size_t in[BOARD_BUFFERS + 1], out[BOARD_BUFFERS + 1]; // bytes, ended by 0
  int (*runner)(struct runner *r);                      // returns how much was not as it must be
  bool (*right)(int output, size_t i, float value);     // NULL: any value is
  int64_t damage;                                       // where the first output's bands are damaged, 0: nowhere
};

static inline int count_sizes(const size_t *sizes) {
  int n = 0;
  while (sizes[n])
    n++;
  return n;
}

static inline float input_value(size_t i) {
  return (float)(int)(i * 2654435761u % 2001u) - 1000.0f;
}

static struct made_plan made; // of the process

// ---- helpers

// A plan without steps. Its first buffers are all inputs (from 0), then all outputs.
static struct made_plan *begin(struct runner *r) {
  made_begin(&made, r->board->cubin, r->board->cubin_bytes, r->board->target);
  for (int i = 0; i < r->n_in; i++)
    made_buffer(&made, PLAN_INPUT, i, r->board->in[i].bytes, NULL);
  for (int i = 0; i < r->n_out; i++)
    made_buffer(&made, PLAN_OUTPUT, i, r->board->out[i].bytes, NULL);
  return &made;
}

static struct device_report load(struct runner *r) {
  struct device_report report;
  struct assay_error err = {0};
  const struct device_work work = {&made.plan, r->n_in, r->n_out, r->board->in, r->board->out};
  if (device_cuda.load(r->device, &work, &report, &err)) {
    printf("    load: %s\n", err.message);
    exit(4);
  }
  return report;
}

static struct device_report call(struct runner *r, enum device_mode mode) {
  struct device_report report;
  struct assay_error err = {0};
  if (device_cuda.call(r->device, mode, &report, &err)) {
    printf("    call: %s\n", err.message);
    exit(4);
  }
  return report;
}

static int expect(const char *what, const struct device_report *report, enum device_event event) {
  printf("    %s: %s%s%s\n", what, device_event_name(report->event), report->detail[0] ? ": " : "", report->detail);
  return report->event != event;
}

// Loads the plan that was made and calls it once: both must go well up to `event`.
static int load_and_call(struct runner *r, const char *what, enum device_event event) {
  struct device_report report = load(r);
  if (report.event == DEVICE_OK) {
    report = call(r, DEVICE_COLD);
    if (report.event == DEVICE_FAULT)
      r->broken = true;
  }
  return expect(what, &report, event);
}

static int ascending(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

enum { CALLS = 40, REPEATS = 5 };

// The median of CALLS calls, REPEATS times; *spread: of these medians, relative. Prints a row.
static double medians(struct runner *r, const char *what, enum device_mode mode) {
  int64_t m[REPEATS], t[CALLS];
  for (int k = 0; k < REPEATS; k++) {
    for (int i = 0; i < CALLS; i++) {
      struct device_report report = call(r, mode);
      if (report.event != DEVICE_OK) {
        printf("    %s: %s\n", what, report.detail);
        exit(4);
      }
      t[i] = mode == DEVICE_AS_CALLED ? report.times.called_ns : report.times.device_ns;
    }
    qsort(t, CALLS, sizeof *t, ascending);
    m[k] = t[CALLS / 2];
  }
  qsort(m, REPEATS, sizeof *m, ascending);
  double us = (double)m[REPEATS / 2] * 1e-3;
  printf("    %-28s %9.2f us  spread of %d medians %5.2f %%  (last %d: %.2f .. %.2f)\n", what, us, REPEATS,
         100.0 * (double)(m[REPEATS - 1] - m[0]) / (double)(m[REPEATS / 2] ? m[REPEATS / 2] : 1), CALLS,
         (double)t[0] * 1e-3, (double)t[CALLS - 1] * 1e-3);
  return us;
}

// ---- right and wrong

static void add_vectors(int n) {
  struct plan_step *s = made_launch(&made, "vector_add", (uint32_t)(n + 255) / 256, 256);
  for (int i = 0; i < 3; i++)
    made_pointer(&made, s, i, 0);
  made_int(&made, s, n);
}

static int vector_add(struct runner *r) {
  struct device_facts f;
  device_cuda.facts(r->device, &f);
  snprintf(r->board->uuid, sizeof r->board->uuid, "%s", f.uuid);
  printf("    %s, %s, %s, %s\n    %d processors, %d kHz, %.1f GiB, L2 %.1f MiB, %u threads, %u shared, cluster %u\n",
         f.name, f.uuid, f.driver, f.target, f.processors, f.clock_khz, (double)f.memory_bytes / (1 << 30),
         (double)f.l2_bytes / (1 << 20), f.limits.max_threads, f.limits.max_shared_bytes, f.limits.max_cluster);
  begin(r);
  add_vectors((int)(r->board->out[0].bytes / sizeof(float)));
  int64_t start = clock_monotonic_ns();
  int failures = load_and_call(r, "vector add", DEVICE_OK);
  printf("    open %.0f ms, load and first call %.2f ms\n", (double)r->open_ns * 1e-6,
         (double)(clock_monotonic_ns() - start) * 1e-6);
  return failures;
}

static bool is_sum(int output, size_t i, float value) {
  (void)output;
  return value == 2.0f * input_value(i);
}

static int one_access(struct runner *r, const char *kernel, int buffer, int64_t index, enum device_event event) {
  begin(r);
  struct plan_step *s = made_launch(&made, kernel, 1, 1);
  made_pointer(&made, s, buffer, 0);
  if (strcmp(kernel, "misaligned") != 0)
    made_long(&made, s, index);
  if (strcmp(kernel, "read_at") == 0)
    made_pointer(&made, s, r->n_in, 0);
  return load_and_call(r, kernel, event);
}

static int write_input(struct runner *r) {
  return one_access(r, "write_at", 0, 5, DEVICE_FAULT);
}

static int write_writable_input(struct runner *r) {
  r->board->in[0].writable = 1; // what finds out that a fault was this and not something else
  int failures = one_access(r, "write_at", 0, 5, DEVICE_OK);
  device_cuda.unload(r->device);
  begin(r);
  struct plan_step *fill = made_step(&made, PLAN_FILL); // the judge will look
  *fill = (struct plan_step){.kind = PLAN_FILL, .to = {0, 5 * sizeof(float)}, .bytes = 4, .width = 4};
  float v = input_value(5);
  memcpy(&fill->value, &v, sizeof v);
  return failures + load_and_call(r, "put back", DEVICE_OK);
}

static int read_past_end(struct runner *r) {
  return one_access(r, "read_at", 0, (int64_t)(r->board->in[0].bytes / sizeof(float)), DEVICE_FAULT);
}

static int write_past_end(struct runner *r) {
  return one_access(r, "write_at", r->n_in, (int64_t)(r->board->out[0].bytes / sizeof(float)), DEVICE_FAULT);
}

static int write_before(struct runner *r) {
  return one_access(r, "write_at", r->n_in, -1, DEVICE_OK);
}

static int past_scratch(struct runner *r) {
  begin(r);
  int scratch = made_buffer(&made, PLAN_SCRATCH, 0, 4096, NULL);
  struct plan_step *s = made_launch(&made, "write_at", 1, 1);
  made_pointer(&made, s, scratch, 0);
  made_long(&made, s, 1024);
  return load_and_call(r, "one past the end of scratch", DEVICE_FAULT);
}

static int write_constant(struct runner *r) {
  static const float data[64] = {1};
  begin(r);
  int constant = made_buffer(&made, PLAN_CONSTANT, 0, sizeof data, data);
  struct plan_step *s = made_launch(&made, "write_at", 1, 1);
  made_pointer(&made, s, constant, 0);
  made_long(&made, s, 3);
  return load_and_call(r, "a write to a constant", DEVICE_FAULT);
}

static int misaligned(struct runner *r) {
  return one_access(r, "misaligned", r->n_in, 0, DEVICE_FAULT);
}

static int trap(struct runner *r) {
  begin(r);
  made_launch(&made, "trap", 1, 1);
  return load_and_call(r, "trap", DEVICE_FAULT);
}

// Refusals leave the device whole: a good plan runs after each.
static int refusals(struct runner *r) {
  static unsigned char broken[1024];
  int failures = 0, n = (int)(r->board->out[0].bytes / sizeof(float));
  for (int i = 0; i < 7; i++) {
    static const char *const what[] = {"a block of 2048 threads", "300 KiB of shared memory",  "no such kernel",
                                       "an argument too few",     "an argument of wrong size", "no cubin",
                                       "16 TiB of scratch"};
    static const enum device_event events[] = {DEVICE_LAUNCH_FAILED, DEVICE_LAUNCH_FAILED, DEVICE_LOAD_FAILED,
                                               DEVICE_LOAD_FAILED,   DEVICE_LOAD_FAILED,   DEVICE_LOAD_FAILED,
                                               DEVICE_OUT_OF_MEMORY};
    begin(r);
    add_vectors(n);
    if (i == 0)
      made.steps[0].block[0] = 2048;
    if (i == 1)
      made.steps[0].shared_bytes = 300 << 10;
    if (i == 2)
      made.steps[0].kernel = "vector_subtract";
    if (i == 3)
      made.steps[0].n_arguments--;
    if (i == 4)
      made.arguments[3].size = 2;
    if (i == 5) {
      made.module.bytes = broken;
      made.module.size = sizeof broken;
    }
    if (i == 6)
      made_buffer(&made, PLAN_SCRATCH, 0, (uint64_t)1 << 44, NULL);
    failures += load_and_call(r, what[i], events[i]);
    device_cuda.unload(r->device);
    begin(r);
    add_vectors(n);
    struct device_report report = load(r);
    if (report.event == DEVICE_OK)
      report = call(r, DEVICE_HOT);
    failures += report.event != DEVICE_OK ? expect("a good plan afterwards", &report, DEVICE_OK) : 0;
    device_cuda.unload(r->device);
  }
  return failures;
}
#include "device_steps.h"
#include "device_times.h"

static const struct scenario scenarios[] = {
    {"vector add", {4000012, 4000012}, {4000012}, vector_add, is_sum, 0},
    {"write to an input", {4096}, {4096}, write_input, NULL, 0},
    {"write to an input that may be written", {4096}, {4096}, write_writable_input, NULL, 0},
    {"read one element past an input", {4096}, {4096}, read_past_end, NULL, 0},
    {"write one element past an output", {4096}, {4096}, write_past_end, NULL, 0},
    {"write one element before an output", {4096}, {4096}, write_before, NULL, -1},
    {"write one element past scratch", {4096}, {4096}, past_scratch, NULL, 0},
    {"write to a constant", {4096}, {4096}, write_constant, NULL, 0},
    {"misaligned access", {4096}, {4096}, misaligned, NULL, 0},
    {"trap", {4096}, {4096}, trap, NULL, 0},
    {"refusals", {65536, 65536}, {65536}, refusals, is_sum, 0},
    {"steps of all kinds", {4096}, {4096}, all_kinds, is_combined, 0},
    {"garbage in scratch", {4096}, {4096, 4096}, garbage, is_garbage, 0},
    {"garbage in shared memory", {4096}, {4096}, left_in_shared, is_left, 0},
    {"many scratch buffers", {4096}, {4096}, many_scratch, is_doubled, 0},
    {"large dynamic shared memory", {200000}, {200000}, dynamic_shared, is_reversed, 0},
    {"local memory under a held stream", {4096}, {4096}, local_memory, NULL, 0},
    {"more steps than the queue holds", {4096}, {4096}, many_steps, NULL, 0},
    {"clusters, cooperative, programmatic", {4096}, {4096, 4096}, launches, is_launched, 0},
    {"tensor map", {25600}, {1024}, tensor_map, is_tile, 0},
    {"times", {(size_t)256 << 20}, {(size_t)256 << 20}, times, NULL, 0},
    {"stamps", {4096}, {4096}, stamps, NULL, 0},
    {"flush", {(size_t)20 << 20}, {4096}, flush, NULL, 0},
};
static const int n_scenarios = (int)(sizeof scenarios / sizeof *scenarios);

#endif
