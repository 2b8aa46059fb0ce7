// SPDX-License-Identifier: Apache-2.0
// Scenarios of tests/gpu/device.c: every kind of step, of memory and of launch. Part of device_scenarios.h.
#ifndef TESTS_GPU_DEVICE_STEPS_H
#define TESTS_GPU_DEVICE_STEPS_H

enum { N = 1024 };

// y = 1 + 2x (prepared, copied) + table + constant
static int all_kinds(struct runner *r) {
  static float k[N];
  for (int i = 0; i < N; i++)
    k[i] = (float)i * 0.5f;
  begin(r);
  int scaled = made_buffer(&made, PLAN_SCRATCH, 0, N * sizeof(float), NULL);
  int copied = made_buffer(&made, PLAN_SCRATCH, 0, N * sizeof(float), NULL);
  int constant = made_buffer(&made, PLAN_CONSTANT, 0, sizeof k, k);
  struct plan_step *s = made_launch(&made, "scale", N / 256, 256);
  made_pointer(&made, s, 0, 0);
  made_pointer(&made, s, scaled, 0);
  made_float(&made, s, 2.0f);
  made.plan.n_prepare = 1;
  s = made_step(&made, PLAN_SET_SYMBOL);
  s->symbol = "table";
  s->from = (struct plan_place){constant, 0};
  s->bytes = 256 * sizeof(float);
  s = made_step(&made, PLAN_FILL);
  *s =
      (struct plan_step){.kind = PLAN_FILL, .to = {1, 0}, .bytes = N * sizeof(float), .value = 0x3f800000u, .width = 4};
  s = made_step(&made, PLAN_COPY);
  *s = (struct plan_step){.kind = PLAN_COPY, .to = {copied, 0}, .from = {scaled, 0}, .bytes = N * sizeof(float)};
  s = made_launch(&made, "combine", N / 256, 256);
  made_pointer(&made, s, 1, 0);
  made_pointer(&made, s, copied, 0);
  made_pointer(&made, s, constant, 0);
  struct device_report report = load(r);
  int failures = expect("load", &report, DEVICE_OK);
  report = call(r, DEVICE_PREPARE);
  printf("    prepare %.2f us\n", (double)report.times.prepare_ns * 1e-3);
  failures += report.event != DEVICE_OK || report.times.prepare_ns <= 0;
  for (int mode = DEVICE_COLD; !failures && mode <= DEVICE_EMPTY; mode++) {
    report = call(r, (enum device_mode)mode);
    printf("    mode %d: device %.2f us, called %.2f us\n", mode, (double)report.times.device_ns * 1e-3,
           (double)report.times.called_ns * 1e-3);
    failures += report.event != DEVICE_OK || report.times.prepare_ns != 0;
  }
  return failures;
}

static bool is_combined(int output, size_t i, float value) {
  (void)output;
  return value == 1.0f + 2.0f * input_value(i) + (float)(i % 256) * 0.5f + (float)i * 0.5f;
}

// Scratch as it is at first, by a copy and by a fill of bytes over half of it.
static int garbage(struct runner *r) {
  begin(r);
  int scratch = made_buffer(&made, PLAN_SCRATCH, 0, 4096, NULL);
  struct plan_step *s = made_step(&made, PLAN_COPY);
  *s = (struct plan_step){.kind = PLAN_COPY, .to = {1, 0}, .from = {scratch, 0}, .bytes = 4096};
  s = made_step(&made, PLAN_FILL);
  *s = (struct plan_step){.kind = PLAN_FILL, .to = {2, 0}, .bytes = 2048, .value = 0x42, .width = 1};
  s = made_step(&made, PLAN_FILL);
  *s = (struct plan_step){.kind = PLAN_FILL, .to = {2, 2048}, .bytes = 2048, .value = 0x4243, .width = 2};
  return load_and_call(r, "garbage", DEVICE_OK);
}

static bool is_garbage(int output, size_t i, float value) {
  uint32_t word;
  memcpy(&word, &value, sizeof word);
  if (output == 0)
    return word == GARBAGE_NAN || word == GARBAGE_ORDINARY || word == GARBAGE_LARGE;
  return word == (i < 512 ? 0x42424242u : 0x42434243u);
}

// Shared memory as it is at first, on a block's whole SM.
static int left_in_shared(struct runner *r) {
  begin(r);
  struct plan_step *s = made_launch(&made, "read_shared", 1, 256);
  made_pointer(&made, s, 1, 0);
  s->shared_bytes = N * sizeof(float);
  return load_and_call(r, "shared memory", DEVICE_OK);
}

static bool is_left(int output, size_t i, float value) {
  uint32_t word;
  (void)output, (void)i;
  memcpy(&word, &value, sizeof word);
  return word == GARBAGE_ORDINARY;
}

// A value handed through 100 scratch buffers that lie in one mapping, then through 10 that have their own.
static int many_scratch(struct runner *r) {
  int failures = 0;
  for (int n = 100; n >= 10; n -= 90) {
    begin(r);
    int from = 0;
    for (int i = 0; i < n; i++) {
      int to = made_buffer(&made, PLAN_SCRATCH, 0, 4096, NULL);
      struct plan_step *s = made_step(&made, PLAN_COPY);
      *s = (struct plan_step){.kind = PLAN_COPY, .to = {to, 0}, .from = {from, 0}, .bytes = 4096};
      from = to;
    }
    struct plan_step *s = made_launch(&made, "scale", N / 256, 256);
    made_pointer(&made, s, from, 0);
    made_pointer(&made, s, 1, 0);
    made_float(&made, s, 2.0f);
    failures += load_and_call(r, n == 100 ? "100 scratch buffers" : "10 scratch buffers", DEVICE_OK);
    device_cuda.unload(r->device);
  }
  return failures;
}

static bool is_doubled(int output, size_t i, float value) {
  (void)output;
  return value == 2.0f * input_value(i);
}

static int dynamic_shared(struct runner *r) {
  begin(r);
  int n = (int)(r->board->in[0].bytes / sizeof(float));
  struct plan_step *s = made_launch(&made, "reverse", 1, 1024);
  made_pointer(&made, s, 0, 0);
  made_pointer(&made, s, 1, 0);
  made_int(&made, s, n);
  s->shared_bytes = (uint32_t)n * sizeof(float);
  s->carveout = 100;
  return load_and_call(r, "195 KiB of dynamic shared memory", DEVICE_OK);
}

static bool is_reversed(int output, size_t i, float value) {
  (void)output;
  return value == input_value(49999 - i);
}

// The driver must not wait for room while we hold the stream: the first call takes milliseconds, not the hold's limit.
static int local_memory(struct runner *r) {
  begin(r);
  struct plan_step *s = made_launch(&made, "local_memory", 1, 1024);
  made_pointer(&made, s, 0, 0);
  made_pointer(&made, s, 1, 0);
  made_int(&made, s, 3);
  struct device_report report = load(r);
  int64_t start = clock_monotonic_ns();
  if (report.event == DEVICE_OK)
    report = call(r, DEVICE_COLD);
  double ms = (double)(clock_monotonic_ns() - start) * 1e-6;
  printf("    first call %.2f ms\n", ms);
  return expect("16 KiB of local memory", &report, DEVICE_OK) + (ms > 100);
}

static int many_steps(struct runner *r) {
  int failures = 0;
  static const int counts[] = {1, 10, 100, 500, 2000};
  for (int k = 0; k < 5; k++) {
    begin(r);
    for (int i = 0; i < counts[k]; i++)
      made_launch(&made, "empty", 1, 32);
    struct device_report report = load(r);
    for (int i = 0; i < 5 && report.event == DEVICE_OK; i++)
      report = call(r, DEVICE_COLD);
    printf("    %4d empty kernels: %.2f us each, held until queued\n", counts[k],
           (double)report.times.device_ns * 1e-3 / counts[k]);
    if (report.event == DEVICE_OK)
      report = call(r, DEVICE_AS_CALLED);
    printf("    %4d empty kernels: %.2f us each, as called\n", counts[k],
           (double)report.times.called_ns * 1e-3 / counts[k]);
    failures += report.event != DEVICE_OK ? expect("many steps", &report, DEVICE_OK) : 0;
    device_cuda.unload(r->device);
  }
  return failures;
}

static bool has_clusters(struct runner *r) {
  struct device_facts f;
  device_cuda.facts(r->device, &f);
  return f.limits.max_cluster > 0;
}

static int launches(struct runner *r) {
  begin(r);
  if (!has_clusters(r)) {
    printf("    this GPU has no clusters\n");
    return 1;
  }
  struct plan_step *s = made_launch(&made, "cluster_ranks", N, 32);
  made_pointer(&made, s, 1, 0);
  s->cluster[0] = 16; // more than what is portable
  s->cluster[1] = s->cluster[2] = 1;
  int scratch = made_buffer(&made, PLAN_SCRATCH, 0, N * sizeof(float), NULL);
  s = made_launch(&made, "late", 1, N);
  made_pointer(&made, s, scratch, 0);
  made_long(&made, s, 100000);
  s->cooperative = true;
  s = made_launch(&made, "after", 1, N);
  made_pointer(&made, s, scratch, 0);
  made_pointer(&made, s, 2, 0);
  s->programmatic = true;
  return load_and_call(r, "clusters of 16, a cooperative and a programmatic launch", DEVICE_OK);
}

static bool is_launched(int output, size_t i, float value) {
  uint32_t word;
  memcpy(&word, &value, sizeof word);
  return word == (output == 0 ? (uint32_t)(i % 16 + 1600) : (uint32_t)(i * 3 + 1));
}

// The input is 100 rows of 64 floats.
static int tensor_map(struct runner *r) {
  static const struct plan_tensor_map map = {
      .buffer = 0,
      .data_type = 7, // float
      .rank = 2,
      .dims = {64, 100},
      .strides = {64 * sizeof(float)},
      .box = {16, 16},
      .element_strides = {1, 1},
  };
  begin(r);
  if (!has_clusters(r)) {
    printf("    this GPU has no tensor maps\n");
    return 1;
  }
  uint64_t none = 0;
  struct plan_step *s = made_launch(&made, "tile_by_map", 1, 256);
  struct plan_argument *a = made_argument(&made, s, &none, sizeof none);
  *a = (struct plan_argument){.kind = PLAN_TENSOR_MAP, .size = 128, .map = &map};
  made_pointer(&made, s, 1, 0);
  return load_and_call(r, "tensor map", DEVICE_OK);
}

static bool is_tile(int output, size_t i, float value) {
  (void)output;
  return value == input_value((4 + i / 16) * 64 + 8 + i % 16);
}

#endif
