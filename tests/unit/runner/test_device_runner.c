// SPDX-License-Identifier: Apache-2.0
// The runner of plans, with OpenCL on the CPU: what plans compute, and what happens to those that do wrong.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "plan_draft.h"
#include "runner/device_runner.h"
#include "sandbox/sandbox.h"

enum { N = 1000, PATTERN = 0x7fc0dead };

struct bench {
  char *folder;
  struct device_runner *r;
  struct shared_memory in[2], out[1];
  struct runner_report report;
  struct device_times times;
  int64_t wall_ns;
  struct assay_error err;
};

#define ADD_KERNEL                                                                                                     \
  "__kernel void add(__global const float *x, __global const float *y, __global float *z, int n) {\n"                  \
  "  int i = get_global_id(0);\n"                                                                                      \
  "  if (i < n) z[i] = x[i] + y[i];\n"                                                                                 \
  "}\n"

static const char add_kernel[] = ADD_KERNEL;

static const char kernels[] = ADD_KERNEL
    "__kernel void part(__global const float *x, __global float *part, __local float *mine, int n) {\n"
    "  int i = get_global_id(0), k = get_local_id(0);\n"
    "  mine[k] = i < n ? x[i] : 0;\n"
    "  for (int step = get_local_size(0) / 2; step > 0; step /= 2) {\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (k < step) mine[k] += mine[k + step];\n"
    "  }\n"
    "  if (k == 0) part[get_group_id(0)] = mine[0];\n"
    "}\n"
    "__kernel void total(__global const float *part, int n, __global float *z) {\n"
    "  float sum = 0;\n"
    "  for (int i = 0; i < n; i++) sum += part[i];\n"
    "  z[0] = sum;\n"
    "}\n"
    "__kernel void scale(__global const float *x, __global const float *w, float a, __global float *z) {\n"
    "  int i = get_global_id(0);\n"
    "  z[i] = a * x[i] * w[i];\n"
    "}\n"
    "__kernel void poke(__global float *p, int i) { p[i] = 1; }\n"
    "__kernel void peek(__global const float *p, int i, __global float *z) { z[0] = p[i]; }\n"
    "__kernel void endless(__global float *z) { for (;;) z[0] = z[0] + 1; }\n"
    "__kernel void says(__global float *z) { printf(\"group %d says %s\\n\", (int)get_group_id(0), \"hello\"); z[0] = "
    "1; }\n"
#if defined(__x86_64__)
    "__kernel void calls(__global float *z, int number) {\n"
    "  long result = number;\n"
    "  __asm__ volatile(\"syscall\" : \"+a\"(result) : \"D\"(0), \"S\"(0), \"d\"(0) : \"rcx\", \"r11\", \"memory\");\n"
    "  z[0] = result;\n"
    "}\n"
    "__kernel void grabs(__global float *z, int gib) {\n"
    "  long result = 9;\n"
    "  __asm__ volatile(\"movq $0x4022, %%r10; movq $-1, %%r8; xorq %%r9, %%r9; syscall\" : \"+a\"(result)\n"
    "                   : \"D\"(0), \"S\"((long)gib << 30), \"d\"(3) : \"rcx\", \"r8\", \"r9\", \"r10\", \"r11\", "
    "\"memory\");\n"
    "  z[0] = result < 0 && result > -4096 ? 1 : 2;\n"
    "}\n"
#endif
    "__kernel void divides(__global float *z, int n) { z[0] = 7 / (n - 1); }\n";

static struct device_runner_options options_of(const struct bench *b) {
  return (struct device_runner_options){.program = ASSAY_BINARY_DIR "/assay-device-runner",
                                        .device = &plan_device_opencl,
                                        .folder = b->folder,
                                        .open_timeout_ns = 30000000000,
                                        .load_timeout_ns = 60000000000,
                                        .call_timeout_ns = 20000000000};
}

static void start_with(struct bench *b, const struct device_runner_options *o) {
  if (device_runner_begin(o, &b->r, &b->err) || device_runner_wait(b->r, NULL, 0, &b->err))
    fail_msg("%s", b->err.message);
}

static void start(struct bench *b) {
  struct device_runner_options o = options_of(b);
  start_with(b, &o);
}

// The folder is that of all tests, as it is that of all candidates of a bench: what one of them has compiled, the next
// need not.
static int setup_folder(void **state) {
  struct assay_error err;
  char *folder = NULL;
  if (sandbox_folder_make("/tmp", &folder, &err))
    return -1;
  *state = folder;
  return 0;
}

static int teardown_folder(void **state) {
  sandbox_folder_remove(*state);
  free(*state);
  return 0;
}

static int setup(void **state) {
  static struct bench b;
  b = (struct bench){.folder = *state};
  for (int i = 0; i < 3; i++)
    assert_int_equal(shared_create(NULL, N * sizeof(float), i < 2 ? &b.in[i] : &b.out[0], &b.err), ASSAY_OK);
  *state = &b;
  return 0;
}

static int teardown(void **state) {
  struct bench *b = *state;
  device_runner_close(b->r);
  for (int i = 0; i < 3; i++)
    shared_release(i < 2 ? &b->in[i] : &b->out[0]);
  *state = b->folder;
  return 0;
}

// Fresh inputs and poisoned outputs.
static void fill(struct bench *b, float base) {
  float values[N];
  for (int i = 0; i < 2; i++) {
    for (int k = 0; k < N; k++)
      values[k] = base + (float)(i + 1) * (float)k;
    assert_int_equal(shared_poison(&b->in[i], PATTERN, false, &b->err), ASSAY_OK);
    assert_int_equal(shared_write(&b->in[i], values, &b->err), ASSAY_OK);
  }
  assert_int_equal(shared_poison(&b->out[0], PATTERN, true, &b->err), ASSAY_OK);
}

static void load(struct bench *b, const struct draft *d, bool inputs_writable) {
  const struct shared_buffers buffers = {2, 1, b->in, b->out};
  if (device_runner_load(b->r, &d->plan, &buffers, inputs_writable, &b->report, &b->err))
    fail_msg("%s", b->err.message);
}

static void call(struct bench *b, enum device_mode mode) {
  if (device_runner_call(b->r, mode, &b->report, &b->times, &b->wall_ns, &b->err))
    fail_msg("%s", b->err.message);
}

static const float *output(struct bench *b) {
  static float values[N];
  assert_int_equal(shared_read(&b->out[0], values, &b->err), ASSAY_OK);
  return values;
}

static void expect_ok(const struct bench *b) {
  if (b->report.event != RUNNER_OK)
    fail_msg("%s: %s", runner_event_name(b->report.event), b->report.detail);
}

static void expect(const struct bench *b, enum runner_event event, const char *words) {
  if (b->report.event != event || !strstr(b->report.detail, words))
    fail_msg("%s: %s, not %s with \"%s\"", runner_event_name(b->report.event), b->report.detail,
             runner_event_name(event), words);
}

// The three buffers of every test, numbered 0, 1, 2: inputs x and y, output z.
static void draft(struct draft *d, const char *source) {
  draft_init(d, source, "");
  draft_buffer(d, PLAN_INPUT, "x", N, NULL);
  draft_buffer(d, PLAN_INPUT, "y", N, NULL);
  draft_buffer(d, PLAN_OUTPUT, "z", N, NULL);
}

static void draft_add(struct draft *d) {
  draft(d, add_kernel);
  draft_launch(d, "add", 4, 256, "bbbi", 0, 1, 2, N);
}

static void check_sum(struct bench *b, float base) {
  const float *z = output(b);
  bool intact;
  int64_t distance;
  for (int k = 0; k < N; k++)
    if (z[k] != 2 * base + 3 * (float)k)
      fail_msg("element %d is %g", k, (double)z[k]);
  assert_int_equal(shared_check_bands(&b->out[0], PATTERN, &intact, &distance, &b->err), ASSAY_OK);
  assert_true(intact);
}

static void test_add(void **state) {
  struct bench *b = *state;
  struct draft d;
  start(b);
  const struct device_facts *f = device_runner_facts(b->r);
  assert_true(f->processors > 0 && f->memory_bytes > 0 && f->limits.max_threads > 0 && f->name[0]);
  assert_int_equal(f->is_gpu, 0);
  assert_string_equal(device_runner_weakness(b->r), "");
  draft_add(&d);
  load(b, &d, false);
  expect_ok(b);
  for (int i = 0; i < 5; i++) {
    fill(b, (float)i);
    call(b, (enum device_mode)(i % 3));
    expect_ok(b);
    check_sum(b, (float)i);
    assert_true(b->report.elapsed_ns > 0 && b->report.elapsed_ns < b->wall_ns);
    assert_true(b->times.called_ns > 0);
  }
}

static void test_protocol_alone(void **state) {
  struct bench *b = *state;
  struct draft d;
  start(b);
  draft_add(&d);
  load(b, &d, false);
  fill(b, 1);
  call(b, DEVICE_NULL);
  expect_ok(b);
  call(b, DEVICE_EMPTY);
  expect_ok(b);
  assert_true(b->times.device_ns > 0);
  uint32_t first;
  memcpy(&first, output(b), sizeof first);
  assert_int_equal(first, PATTERN); // nothing of the plan was carried out
}

static void test_runs_away(void **state) {
  struct bench *b = *state;
  struct draft d;
  struct device_runner_options o = options_of(b);
  o.call_timeout_ns = 500000000;
  start_with(b, &o);
  draft(&d, kernels);
  draft_launch(&d, "endless", 1, 1, "b", 2);
  load(b, &d, false);
  expect_ok(b);
  fill(b, 0);
  int64_t begin = clock_monotonic_ns();
  call(b, DEVICE_COLD);
  expect(b, RUNNER_TIMED_OUT, "in time");
  assert_true(clock_monotonic_ns() - begin < 5000000000);
}

static void test_prints(void **state) {
  struct bench *b = *state;
  struct draft d;
  start(b);
  draft(&d, kernels);
  draft_launch(&d, "says", 2, 1, "b", 2);
  load(b, &d, false);
  expect_ok(b);
  fill(b, 0);
  call(b, DEVICE_COLD);
  expect_ok(b);
  assert_non_null(strstr(device_runner_log(b->r), "group 0 says hello\n"));
  assert_non_null(strstr(device_runner_log(b->r), "group 1 says hello\n"));
}

static void test_build_error(void **state) {
  struct bench *b = *state;
  struct draft d;
  start(b);
  draft(&d, "__kernel void add(__global float *z) {\n  z[0] = undeclared;\n}\n");
  draft_launch(&d, "add", 1, 1, "b", 2);
  load(b, &d, false);
  expect(b, RUNNER_LOAD_FAILED, "undeclared");
  assert_non_null(strstr(device_runner_log(b->r), "undeclared"));
}

// Reduction by groups with local memory into scratch, then by one work-item; and places inside buffers.
static void test_reduction(void **state) {
  struct bench *b = *state;
  struct draft d;
  start(b);
  draft(&d, kernels);
  int partial = draft_buffer(&d, PLAN_SCRATCH, "partial", 8, NULL);
  draft_launch(&d, "part", 8, 128, "bbli", 0, partial, 128 * (int)sizeof(float), N);
  draft_launch(&d, "total", 1, 1, "bio", partial, 8, 2, 5 * (int)sizeof(float));
  load(b, &d, false);
  expect_ok(b);
  for (int i = 0; i < 3; i++) {
    fill(b, (float)i);
    call(b, DEVICE_COLD);
    expect_ok(b);
    assert_true(output(b)[5] == (float)(N * i + N * (N - 1) / 2));
    assert_true(isnan(output(b)[4]) && isnan(output(b)[6]));
  }
}

// How many programs' code is kept in the folder. spoil: truncates all of it.
static int kept(struct bench *b, bool spoil) {
  char pattern[256];
  glob_t files = {0};
  int n = 0;
  snprintf(pattern, sizeof pattern, "%s/*", b->folder);
  assert_int_equal(glob(pattern, 0, NULL, &files), 0);
  for (size_t i = 0; i < files.gl_pathc; i++)
    if (strlen(strrchr(files.gl_pathv[i], '/') + 1) == HASH_HEX_BYTES - 1) {
      n++;
      assert_true(!spoil || truncate(files.gl_pathv[i], 1000) == 0);
    }
  globfree(&files);
  return n;
}

// Sizes of groups and of grids, some of them demanded by the kernel: all machine code is there when the process is
// locked down, whatever the plan launches. So it is when the code is one that an earlier process has kept; and where
// that is damaged, it is made again.
static void test_sizes(void **state) {
  static const char source[] =
      ADD_KERNEL "__kernel __attribute__((reqd_work_group_size(8, 1, 1)))\n"
                 "void eight(__global float *z) { z[get_global_id(0)] += get_local_size(0); }\n"
                 "__kernel void grown(__global float *z, __local float *own) {\n"
                 "  own[get_local_id(0)] = get_local_size(0);\n"
                 "  barrier(CLK_LOCAL_MEM_FENCE);\n"
                 "  if (get_global_id(0) < 16) z[get_global_id(0)] -= own[get_local_size(0) - 1 - get_local_id(0)];\n"
                 "}\n";
  static const uint32_t sizes[][2] = {{302, 217}, {255, 257}, {256, 256}, {300, 256}, {4, 256}, {1, 1000}};
  struct bench *b = *state;
  struct draft d;
  start(b);
  draft(&d, source);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    draft_launch(&d, "add", sizes[i][0], sizes[i][1], "bbbi", 0, 1, 2, N);
  draft_launch(&d, "eight", 2, 8, "b", 2);
  draft_launch(&d, "grown", 4096, 8, "bl", 2, 32);
  int before = kept(b, false), after = before + 1;
  for (int i = 0; i < 3; i++) {
    load(b, &d, false);
    expect_ok(b);
    fill(b, 1);
    call(b, DEVICE_COLD);
    expect_ok(b);
    check_sum(b, 1);
    assert_int_equal(kept(b, i == 1), after);
  }
}

// What a source includes may have changed.
static void test_not_kept(void **state) {
  struct bench *b = *state;
  struct draft d;
  int before = kept(b, false);
  start(b);
  draft(&d, "#if 0\n#include \"add.h\"\n#endif\n__kernel void add(__global float *z) {}\n");
  draft_launch(&d, "add", 1, 1, "b", 2);
  load(b, &d, false);
  expect_ok(b);
  assert_int_equal(kept(b, false), before);
}

// Each of these ends the process; the next one starts another.
struct fault {
  const char *kernel, *kinds;
  int buffer, index;
  enum runner_event event;
  const char *words;
};

static const struct fault faults[] = {
    {"poke", "bi", 2, N + 24 + 5, RUNNER_OUT_OF_BOUNDS, "after the end of output 0 (z)"},
    {"poke", "bi", 2, -N - 200, RUNNER_OUT_OF_BOUNDS, "before the start of output 0 (z)"},
    {"poke", "bi", 0, 7, RUNNER_WROTE_INPUT, "wrote to input 0 (x) at byte 28"},
    {"poke", "bi", 1, N + 1000, RUNNER_OUT_OF_BOUNDS, "after the end of input 1 (y)"},
    {"poke", "bi", 2, 1 << 29, RUNNER_CRASHED, "SEGV"},
#if defined(__x86_64__)
    {"calls", "bi", 2, 57 /* fork */, RUNNER_FORBIDDEN_CALL, "fork"},
    {"calls", "bi", 2, 41 /* socket */, RUNNER_FORBIDDEN_CALL, "socket"},
    {"calls", "bi", 2, 231 /* exit_group */, RUNNER_EXITED, "code 0"},
#endif
};
enum { N_FAULTS = sizeof faults / sizeof *faults };

static void run_fault(struct bench *b, const struct fault *f) {
  struct draft d;
  draft(&d, kernels);
  draft_launch(&d, f->kernel, 1, 1, f->kinds, f->buffer, f->index);
  draft_fill(&d, 2, 0, 4, 0, 4);
  load(b, &d, false);
  expect_ok(b);
  fill(b, 0);
  call(b, DEVICE_COLD);
  expect(b, f->event, f->words);
}

static void test_faults(void **state) {
  struct bench *b = *state;
  for (int i = 0; i < N_FAULTS; i++) {
    start(b);
    run_fault(b, &faults[i]);
    device_runner_close(b->r);
    b->r = NULL;
  }
}

// Where inputs may be written, a write to one does not fault; the judge sees it in the data.
static void test_writable_inputs(void **state) {
  struct bench *b = *state;
  struct draft d;
  float x[N];
  start(b);
  draft(&d, kernels);
  draft_launch(&d, "poke", 1, 1, "bi", 0, 7);
  draft_launch(&d, "poke", 1, 1, "bi", 2, 7);
  load(b, &d, true);
  expect_ok(b);
  fill(b, 10);
  call(b, DEVICE_COLD);
  expect_ok(b);
  assert_int_equal(shared_read(&b->in[0], x, &b->err), ASSAY_OK);
  assert_true(x[7] == 1 && x[8] == 18);
}

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
static void test_memory(void **state) {
  static const struct { int gib, result; } tries[] = {{1, 2}, {64, 1}};
  struct bench *b = *state;
  struct draft d;
  start(b);
  for (int i = 0; i < 2; i++) {
    draft(&d, kernels);
    draft_launch(&d, "grabs", 1, 1, "bi", 2, tries[i].gib);
    load(b, &d, false);
    fill(b, 0);
    call(b, DEVICE_COLD);
    expect_ok(b);
    assert_true(output(b)[0] == (float)tries[i].result);
  }
}
#endif

// As on a GPU: no fault, and no particular quotient.
static void test_division_by_zero(void **state) {
  struct bench *b = *state;
  struct draft d;
  start(b);
  draft(&d, kernels);
  draft_launch(&d, "divides", 1, 1, "bi", 2, 1);
  load(b, &d, false);
  fill(b, 0);
  call(b, DEVICE_COLD);
  expect_ok(b);
}

// Fifty plans, honest ones and others, each judged for itself.
static void test_many(void **state) {
  struct bench *b = *state;
  struct draft d;
  int64_t restart_ns = 0, reload_ns = 0;
  int restarts = 0, reloads = 0;
  start(b);
  for (int i = 0; i < 50; i++) {
    if (i % 3 == 2) {
      run_fault(b, &faults[i / 3 % N_FAULTS]);
      int64_t begin = clock_monotonic_ns();
      device_runner_close(b->r);
      start(b);
      restart_ns += clock_monotonic_ns() - begin;
      restarts++;
      continue;
    }
    int64_t begin = clock_monotonic_ns();
    draft_add(&d);
    load(b, &d, false);
    reload_ns += clock_monotonic_ns() - begin;
    reloads++;
    expect_ok(b);
    fill(b, (float)i);
    call(b, DEVICE_COLD);
    expect_ok(b);
    check_sum(b, (float)i);
  }
  print_message("a new process: %.1f ms; a load, half of them with a new process, the code compiled: %.1f ms\n",
                1e-6 * (double)restart_ns / restarts, 1e-6 * (double)reload_ns / reloads);
}

#if defined(__SANITIZE_ADDRESS__)
// A driver and its compiler are not our code, and leak much in libraries that are unloaded at the end.
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) {
  return 1;
}
#endif

int main(void) {
  struct assay_error err = {0};
  struct device *probe = NULL;
  setenv("POCL_CACHE_DIR", ASSAY_BINARY_DIR "/pocl-cache", 1); // of this process; runners have their own
  if (device_opencl.open(&(struct device_options){0}, &probe, &err)) {
    print_message("skipped: %s\n", err.message);
    return 77;
  }
  device_opencl.close(probe);
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_add, setup, teardown),
    cmocka_unit_test_setup_teardown(test_reduction, setup, teardown),
    cmocka_unit_test_setup_teardown(test_sizes, setup, teardown),
    cmocka_unit_test_setup_teardown(test_not_kept, setup, teardown),
    cmocka_unit_test_setup_teardown(test_protocol_alone, setup, teardown),
    cmocka_unit_test_setup_teardown(test_runs_away, setup, teardown),
    cmocka_unit_test_setup_teardown(test_prints, setup, teardown),
    cmocka_unit_test_setup_teardown(test_build_error, setup, teardown),
    cmocka_unit_test_setup_teardown(test_faults, setup, teardown),
    cmocka_unit_test_setup_teardown(test_writable_inputs, setup, teardown),
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
    cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
#endif
    cmocka_unit_test_setup_teardown(test_division_by_zero, setup, teardown),
    cmocka_unit_test_setup_teardown(test_many, setup, teardown),
  };
  return cmocka_run_group_tests(tests, setup_folder, teardown_folder);
}
